//! Telling beside the rows: the terminal, the user about it, and the command of the status.

use std::time::Instant;

use sinew_tui::{Characters, Depth, ScreenOptions};

use super::Ui;
use crate::modes::interactive::announce::State;
use crate::modes::interactive::blocks::NOTICE;
use crate::modes::interactive::mailbox::Message;
use crate::modes::interactive::pictures::Drawing;
use crate::modes::interactive::{characters, status_command, transcript};

impl Ui {
    /// Gives the command of the status what has changed.
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

    /// Tells the terminal something beside its screen.
    pub(super) fn tell_terminal(&mut self, text: &str) {
        let bytes = characters::limited(text, self.screen.options().characters);
        self.terminal.tty.write(bytes.as_bytes());
    }

    /// The way in which a terminal of this name shows pictures, if any.
    pub(super) fn drawing(&self, name: &str) -> Option<Drawing> {
        let environment = &self.conversation.control.app.startup.environment;
        let around = || Drawing::around_tmux(|name| environment.get(name));
        let drawing = Drawing::by_name(name).or_else(|| around().filter(|_| self.terminal.tty.passes()));
        // The number of a picture is a colour of its cells: all colours have to be there.
        drawing.filter(|drawing| *drawing == Drawing::Rows || self.screen.options().depth == Depth::True)
    }

    /// Takes the characters that the terminal shows.
    pub(super) fn take_characters(&mut self, characters: Characters) {
        self.screen.set_options(ScreenOptions { characters, ..self.screen.options() });
        self.warn_of_characters();
    }

    pub(super) fn warn_of_characters(&mut self) {
        if self.screen.options().characters == Characters::Ascii {
            let text = "! this terminal shows ASCII alone, and its locale names no UTF-8: other characters are ?";
            transcript::line(&mut self.screen, text, NOTICE);
        }
    }
}
