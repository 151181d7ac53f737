//! Output outside of the rows: announcements by the terminal, and the status command.

use std::time::Instant;

use sinew_tui::{Characters, Depth, ScreenOptions};

use super::Ui;
use crate::announce::State;
use crate::blocks::NOTICE;
use crate::mailbox::Message;
use crate::pictures::Drawing;
use crate::{characters, status_command, transcript};

impl Ui {
    /// Starts the status command if its input has changed.
    pub(super) fn ask_status(&mut self, state: State, width: usize, now: Instant) {
        if !self.status.command.is_set() || self.status.facts.told.is_null() {
            return;
        }
        let mut input = self.status.facts.told.clone();
        input["thinking"] = self.conversation.control.session().agent.thinking().as_str().into();
        input["cwd"] = self.conversation.cwd.as_str().into();
        input["git"] = self.status.facts.branch.as_str().into();
        input["state"] = match state {
            State::Ready => "ready",
            State::Working => "working",
            State::Asking => "asking",
        }
        .into();
        input["width"] = width.into();
        let input = input.to_string();
        if let Some(command) = self.status.command.begin(&input, now) {
            let (mailbox, cwd) =
                (self.conversation.mailbox.clone(), self.conversation.control.app.startup.paths.cwd.clone());
            self.conversation.runtime.spawn(async move {
                mailbox.send(Message::Status(status_command::run(&command, &input, &cwd).await));
            });
        }
    }

    /// Writes a sequence that does not belong to the screen.
    pub(super) fn tell_terminal(&mut self, text: &str) {
        let bytes = characters::limited(text, self.screen.options().characters);
        self.terminal.tty.write(bytes.as_bytes());
    }

    /// Returns how a terminal with this name shows images; `None` if it does not support them.
    pub(super) fn drawing(&self, name: &str) -> Option<Drawing> {
        let environment = &self.conversation.control.app.startup.environment;
        let around = || Drawing::around_tmux(|name| environment.get(name));
        let drawing = Drawing::by_name(name).or_else(|| around().filter(|_| self.terminal.tty.passes()));
        // The id of an image is encoded as the colour of its cells, which requires true colour.
        drawing.filter(|drawing| *drawing == Drawing::Rows || self.screen.options().depth == Depth::True)
    }

    /// Applies the characters that the terminal can show.
    pub(super) fn take_characters(&mut self, characters: Characters) {
        self.screen.set_options(ScreenOptions { characters, ..self.screen.options() });
        self.warn_of_characters();
    }

    pub(super) fn warn_of_characters(&mut self) {
        if self.screen.options().characters == Characters::Ascii {
            let text = "! this terminal only shows ASCII, and its locale is not UTF-8: other characters are shown as ?";
            transcript::line(&mut self.screen, text, NOTICE);
        }
    }
}
