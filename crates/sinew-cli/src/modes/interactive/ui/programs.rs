//! Other programs at the terminal: the shell while this one is stopped, the demo, an editor.

use std::collections::VecDeque;
use std::io;
use std::process::{Command, ExitStatus};

use super::Ui;
use crate::modes::interactive::demo::Demo;
use crate::modes::interactive::editor_file;
use crate::modes::interactive::mailbox::Message;

/// Stops the process and its group, and returns when it goes on; at once where a shell without job control would never let
/// it go on.
fn stop() {
    use rustix::process::{Signal, getpgrp, kill_process_group};
    // A signal to the group may be taken by any thread, while this one would go on and paint. So the others of the group
    // get it alone, and then this thread its own, by which the whole process stops before the call returns.
    // SAFETY: no handler is set: the signal is ignored, or does what it does by default.
    unsafe { libc::signal(libc::SIGTSTP, libc::SIG_IGN) };
    // Nobody else may be there.
    let _ = kill_process_group(getpgrp(), Signal::TSTP);
    // SAFETY: as above.
    unsafe {
        libc::signal(libc::SIGTSTP, libc::SIG_DFL);
        libc::raise(libc::SIGTSTP);
    }
}

impl Ui {
    /// Gives the terminal back and stops the process; returns when it goes on.
    pub(super) fn suspend(&mut self) {
        let bytes = self.screen.leave();
        self.tty.write(&bytes);
        self.tty.leave();
        stop();
        self.resume();
    }

    /// Takes the terminal again: others have had it.
    fn resume(&mut self) {
        if self.tty.enter().is_err() {
            self.exit = Some(143);
        }
        let size = self.tty.size();
        self.tty.record_size(size);
        self.screen.begin_epoch(size);
    }

    /// Gives the terminal to a program until it ends. What comes meanwhile is taken afterwards; a signal that ends this
    /// program ends the other one too.
    fn run_program(&mut self, command: &mut Command) -> io::Result<ExitStatus> {
        let bytes = self.screen.leave();
        self.tty.write(&bytes);
        self.tty.leave();
        let ended = self.wait_for(command);
        self.resume();
        let (ended, late) = ended;
        late.into_iter().for_each(|message| self.take_message(message));
        ended
    }

    fn wait_for(&mut self, command: &mut Command) -> (io::Result<ExitStatus>, VecDeque<Message>) {
        let mut late = VecDeque::new();
        let mut child = match command.spawn() {
            Ok(child) => child,
            Err(error) => return (Err(error), late),
        };
        let (pid, mailbox) = (rustix::process::Pid::from_child(&child), self.mailbox.clone());
        std::thread::spawn(move || mailbox.send(Message::ProgramEnded(child.wait())));
        loop {
            match self.inbox.messages.recv() {
                Ok(Message::ProgramEnded(ended)) => return (ended, late),
                Ok(Message::End(code)) => {
                    self.exit = Some(code);
                    // It may have ended this very moment.
                    let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
                }
                Ok(message) => late.push_back(message),
                // This side holds a sender.
                Err(error) => return (Err(io::Error::other(error)), late),
            }
        }
    }

    /// Plays the demo to its end.
    pub(super) fn play_demo(&mut self) {
        let played = Demo::prepare(self.control.app.clock.random()).and_then(|demo| {
            let mut command = demo.command()?;
            self.run_program(&mut command)
        });
        if let Err(error) = played {
            self.notify(format!("the demo did not start: {error}"));
        }
    }

    /// Opens the draft in the user's own editor; one that fails leaves it as it was.
    pub(super) fn edit_elsewhere(&mut self) {
        let environment = &self.control.app.startup.environment;
        let program = ["VISUAL", "EDITOR"].iter().find_map(|name| environment.get(name)).unwrap_or("vi").to_string();
        let written = editor_file::DraftFile::write(&self.editor.text(), self.control.app.clock.random());
        let edited = written.and_then(|file| {
            let status = self.run_program(&mut file.command(&program))?;
            if !status.success() {
                return Err(io::Error::other(format!("{program} ended with {status}: the draft is as it was")));
            }
            file.read()
        });
        match edited {
            Ok(text) if text.trim().is_empty() => self.notify("nothing was written: the draft is as it was"),
            Ok(text) => self.editor.set_text(text.trim_end()),
            Err(error) => self.notify(error.to_string()),
        }
    }
}
