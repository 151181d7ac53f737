//! Other programs on the terminal: the shell while this one is stopped, the demo, an editor.

use std::collections::VecDeque;
use std::io;
use std::process::{Command, ExitStatus};

use super::Ui;
use crate::demo::Demo;
use crate::editor_file;
use crate::keys::Action;
use crate::mailbox::Message;
use crate::panel::Panel;
use crate::{job, todo, transcript};
use sinew_tui::Style;

impl Ui {
    /// Restores the terminal and stops the process; returns when it continues.
    pub(super) fn suspend(&mut self) {
        let bytes = self.screen.leave();
        self.terminal.tty.write(&bytes);
        self.terminal.tty.leave();
        job::stop();
        self.resume();
    }

    /// Takes over the terminal again after another program has used it.
    fn resume(&mut self) {
        if self.terminal.tty.enter().is_err() {
            self.conversation.leaving.code = Some(143);
        }
        let size = self.terminal.tty.size();
        self.terminal.tty.record_size(size);
        self.screen.begin_epoch(size);
    }

    /// Leaves the terminal and lets the run continue.
    ///
    /// # Errors
    /// Returns an error if there is no run, or if a question waits for the user.
    pub(super) fn go_behind(&mut self) -> Result<(), String> {
        let leave = self.conversation.keys.short(Action::Exit);
        self.conversation.go_behind(&leave)?;
        // Without the user, calls that need permission are refused.
        self.panels.drain(..).for_each(Panel::refuse);
        Ok(())
    }

    /// Runs a program on the terminal until it ends. Messages that arrive meanwhile are handled afterwards; a signal
    /// that ends this program ends the other one too.
    fn run_program(&mut self, command: &mut Command) -> io::Result<ExitStatus> {
        let bytes = self.screen.leave();
        self.terminal.tty.write(&bytes);
        self.terminal.tty.leave();
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
        let (pid, mailbox) = (rustix::process::Pid::from_child(&child), self.conversation.mailbox.clone());
        std::thread::spawn(move || mailbox.send(Message::ProgramEnded(child.wait())));
        loop {
            match self.terminal.inbox.messages.recv() {
                Ok(Message::ProgramEnded(ended)) => return (ended, late),
                Ok(Message::End(code)) => {
                    self.conversation.leaving.code = Some(code);
                    // The process may have ended just now.
                    let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
                }
                Ok(message) => late.push_back(message),
                // Cannot occur, because this thread owns a sender.
                Err(error) => return (Err(io::Error::other(error)), late),
            }
        }
    }

    /// Runs the demo until it ends.
    pub(super) fn play_demo(&mut self) {
        let played = Demo::prepare(self.conversation.control.app.clock.random()).and_then(|demo| {
            let mut command = demo.command()?;
            self.run_program(&mut command)
        });
        if let Err(error) = played {
            self.notify(format!("failed to start the demo: {error}"));
        }
    }

    /// Opens the draft in the user's external editor; if the editor fails, the draft is unchanged.
    pub(super) fn edit_elsewhere(&mut self) {
        match self.edited(&self.editor.text()) {
            Ok(text) if text.trim().is_empty() => self.notify("the text is empty: the draft is unchanged"),
            Ok(text) => self.editor.set_text(text.trim_end()),
            Err(error) => self.notify(format!("{error}: the draft is unchanged")),
        }
    }

    /// Opens the todo list in the user's external editor. An invalid text is opened again for correction.
    pub(super) fn edit_todo(&mut self) {
        let mut text = todo::draft(&self.conversation.control.session().host.todo_phases());
        loop {
            text = match self.edited(&text) {
                Ok(now) if now == text => return self.notify("the todo list is unchanged"),
                Ok(now) => now,
                Err(error) => return self.notify(format!("{error}: the todo list is unchanged")),
            };
            let set = todo::parse(&text)
                .and_then(|phases| self.conversation.control.set_todo(phases).map_err(|error| error.message));
            match set {
                Ok(phases) => return transcript::line(&mut self.screen, &todo::lines(&phases), Style::PLAIN),
                Err(_) if self.conversation.leaving.code.is_some() => return,
                Err(reason) => text = format!("<!-- {} -->\n{text}", reason.replace("-->", "→")),
            }
        }
    }

    /// Returns a text after the user has edited it in the external editor.
    fn edited(&mut self, text: &str) -> io::Result<String> {
        let environment = &self.conversation.control.app.startup.environment;
        let program = ["VISUAL", "EDITOR"].iter().find_map(|name| environment.get(name)).unwrap_or("vi").to_string();
        let file = editor_file::DraftFile::write(text, self.conversation.control.app.clock.random())?;
        let status = self.run_program(&mut file.command(&program))?;
        match status.success() {
            true => file.read(),
            false => Err(io::Error::other(format!("{program} ended with {status}"))),
        }
    }
}
