//! The view of the whole conversation, on the terminal's other screen. What happens meanwhile is shown afterwards.

use std::sync::Arc;

use sinew_llm::message::AgentMessage;
use sinew_tui::{Line, Screen, Style, Viewer};

use super::Ui;
use crate::modes::interactive::blocks::DIM;
use crate::modes::interactive::conversation::Conversation;
use crate::modes::interactive::mailbox::Message;
use crate::modes::interactive::transcript;

/// A view that is open, and the screen that it is painted on.
pub(super) struct OpenViewer {
    viewer: Viewer,
    screen: Screen,
}

impl OpenViewer {
    /// Shows a note in place of the keys.
    pub(super) fn tell(&mut self, note: impl Into<String>) {
        self.viewer.tell(note);
    }
}

/// A prompt without the mark in front of it; anything else as it is.
fn without_mark(part: &str) -> String {
    let is_prompt = part.starts_with("› ");
    let lines = part
        .lines()
        .map(|line| if is_prompt { line.char_indices().nth(2).map_or("", |(at, _)| &line[at..]) } else { line });
    lines.collect::<Vec<_>>().join("\n")
}

impl Ui {
    /// Reads the conversation for a view of it. It comes as a message.
    pub(super) fn open_viewer(&mut self) {
        let (running, size) = (self.transcript.running_tools(&mut self.screen), self.tty.size());
        self.view_messages(move |messages| {
            let mut shown = Conversation::of(messages);
            running.iter().for_each(|(header, output)| shown.running(header, output));
            let first = shown.newest_call.unwrap_or(shown.lines.len());
            let (lines, prompts) = (Arc::new(shown.lines), Arc::new(shown.prompts));
            Viewer::new("conversation", lines, prompts, size, first).with_parts(Arc::new(shown.parts))
        });
    }

    /// Reads the source of prompts and answers for a view of it, from the newest prompt on.
    pub(super) fn open_source(&mut self) {
        let size = self.tty.size();
        self.view_messages(move |messages| {
            let Conversation { lines, prompts, parts, .. } = Conversation::source(messages);
            let first = prompts.last().copied().unwrap_or_default();
            Viewer::raw("source", Arc::new(lines), Arc::new(prompts), size, first).with_parts(Arc::new(parts))
        });
    }

    /// Lays a view of the messages out, on a thread of its own.
    fn view_messages(&self, lay: impl FnOnce(&[AgentMessage]) -> Viewer + Send + 'static) {
        let (control, mailbox) = (Arc::clone(&self.control), self.mailbox.clone());
        self.runtime.spawn_blocking(move || match control.messages() {
            Ok(messages) => mailbox.send(Message::Viewer(Box::new(lay(&messages)))),
            Err(error) => mailbox.send(Message::Failed { error: error.message, text: String::new() }),
        });
    }

    /// Shows the output of a command in the background, from its end on.
    pub(super) fn view_job(&mut self, id: &str) {
        let host = Arc::clone(&self.control.session().host);
        let (mailbox, size, id) = (self.mailbox.clone(), self.tty.size(), id.to_string());
        self.runtime.spawn_blocking(move || match host.job_output(&id) {
            Ok(output) if output.trim().is_empty() => {
                mailbox.send(Message::Notice(format!("job {id} said nothing yet")))
            }
            Ok(output) => {
                let lines: Vec<Line> = output.lines().map(|line| Line::plain(&sinew::term::sanitize(line))).collect();
                let last = lines.len();
                let viewer = Viewer::new(&format!("job {id}"), Arc::new(lines), Arc::default(), size, last);
                mailbox.send(Message::Viewer(Box::new(viewer)));
            }
            Err(error) => mailbox.send(Message::Notice(error)),
        });
    }

    /// Shows a view that was read.
    pub(super) fn show_viewer(&mut self, viewer: Viewer) {
        // The size has changed while it was laid out.
        let size = self.tty.size();
        if viewer.size() != size {
            let mailbox = self.mailbox.clone();
            self.runtime.spawn_blocking(move || mailbox.send(Message::Viewer(Box::new(viewer.resized(size)))));
            return;
        }
        if self.viewer.is_none() {
            // Its place is asked for there; the other screen has another one.
            if self.screen.is_resizing() || size != self.screen.size() {
                return self.notify("the size has just changed: ctrl+o again");
            }
            self.tty.enter_viewer();
        } else {
            self.tty.write(b"\x1b[H");
        }
        let screen = Screen::new(size, self.screen.options(), Arc::clone(self.screen.theme()));
        self.viewer = Some(OpenViewer { viewer, screen });
    }

    /// Gives a key to the view; false where none is open.
    pub(super) fn take_viewer_key(&mut self, key: &str, text: &str) -> bool {
        let Some(open) = &mut self.viewer else { return false };
        let part = if open.viewer.is_typing() { None } else { open.viewer.part() };
        match (key, part) {
            ("y", Some(part)) => self.copy_text(without_mark(&part)),
            ("p", Some(part)) => {
                transcript::line(&mut self.screen, &part, Style::PLAIN);
                self.notify("it stands in the transcript now, below everything");
            }
            _ => {
                if !open.viewer.key(key, text) {
                    self.close_viewer();
                }
            }
        }
        true
    }

    /// Closes the view and goes on with the transcript, which may have another size by now.
    pub(super) fn close_viewer(&mut self) {
        if self.viewer.take().is_some() {
            self.tty.leave_viewer();
            self.resize();
        }
    }

    /// Lays the view out for a new size of the terminal; false where none is open.
    pub(super) fn resize_viewer(&mut self) -> bool {
        let Some(open) = &self.viewer else { return false };
        let size = self.tty.size();
        if size != open.viewer.size() {
            let viewer = open.viewer.resized(size);
            let screen = Screen::new(size, self.screen.options(), Arc::clone(self.screen.theme()));
            self.tty.write(b"\x1b[H");
            self.viewer = Some(OpenViewer { viewer, screen });
        }
        true
    }

    /// Paints the view; false where none is open.
    pub(super) fn paint_viewer(&mut self) -> bool {
        let Some(open) = &mut self.viewer else { return false };
        open.screen.set_chrome(open.viewer.chrome());
        let frame = open.screen.paint();
        self.tty.write(&frame.bytes);
        true
    }

    /// Begins to record what the terminal is sent, from a whole screen on; ends the recording where there is one.
    pub(super) fn record(&mut self, file: &str) {
        if self.tty.end_record() {
            return self.notify("the recording is over");
        }
        let startup = &self.control.app.startup;
        let file = match file {
            "" => startup.paths.agent.join(format!("recording-{}.cast", self.control.app.clock.now())),
            file => startup.paths.cwd.join(file),
        };
        let text = match self.tty.record(&file) {
            Ok(()) => format!("recording into {}: /record ends it", file.display()),
            Err(error) => format!("{}: {error}", file.display()),
        };
        let frame = self.screen.reset();
        self.tty.write(&frame.bytes);
        transcript::line(&mut self.screen, &text, DIM);
    }
}
