//! From Enter to the agent: prompts on their way, commands, and taking back what has not begun.

use sinew_agent::agent::Delivery;
use sinew_tools::tool::Updates;
use sinew_tui::Style;

use super::Ui;
use crate::control::commands::{Face, Row, Shared, Verb};
use crate::control::mcp::NOW;
use crate::modes::interactive::choices::Topic;
use crate::modes::interactive::drafts;
use crate::modes::interactive::keys::Action;
use crate::modes::interactive::mailbox::Message;
use crate::modes::interactive::panel::Panel;
use crate::modes::interactive::submit::{self, Submission};
use crate::modes::interactive::transcript;

impl Ui {
    /// Takes a text that was sent.
    pub(super) fn submit(&mut self, text: String, delivery: Delivery) {
        match self.conversation.submit(text, delivery) {
            Some(text) => self.carry_out(text),
            None => self.hand_over(),
        }
    }

    /// Hands over what waits, as far as it may go on.
    pub(super) fn hand_over(&mut self) {
        while let Some(text) = self.conversation.next() {
            self.carry_out(text);
        }
    }

    /// Does what a text asks for that is no prompt; a prompt that no model could answer comes back.
    fn carry_out(&mut self, text: String) {
        let (control, mailbox) = self.conversation.handles();
        match self.conversation.read(&text) {
            Submission::Nothing => return,
            Submission::Prompt => {
                self.editor.prepend(&text);
                return self.open(Topic::Login);
            }
            Submission::Shell { command, excluded } => {
                let block = self.transcript.begin_command(&mut self.screen, command);
                self.conversation.work_began();
                let command = command.to_string();
                self.conversation.begin(async move {
                    let shown = mailbox.clone();
                    let updates = Updates::new(move |output| shown.send(Message::CommandOutput(block, output)));
                    let run = control.bash(&command, excluded, updates).await.map_err(|error| error.message);
                    mailbox.send(Message::CommandEnded(block, run));
                });
            }
            Submission::Slash(row, arguments) => {
                if let Err(error) = self.command(row, arguments) {
                    return self.take_message(Message::Failed { error, text });
                }
            }
        }
        self.conversation.remember(text);
    }

    /// Does what a slash command asks for: what the screen does itself, else what runs elsewhere.
    ///
    /// # Errors
    /// The screen refuses it; its text goes back to the editor.
    fn command(&mut self, row: &'static Row, arguments: &str) -> Result<(), String> {
        match (row.verb, arguments) {
            (Verb::Redraw, what) => self.redraw(what)?,
            (Verb::Transcript, _) => self.open_viewer(),
            (Verb::Raw, _) => self.open_source(),
            (Verb::Stash, _) => self.stash(),
            (Verb::Vim, "") => {
                self.turn_vi();
                match self.vi {
                    Some(_) => {
                        let key = self.conversation.keys.short(Action::Interrupt);
                        self.notify(format!("the keys of vi: {key} for commands"));
                    }
                    None => self.notify("the keys of emacs"),
                }
            }
            (Verb::Background, _) => {
                if let Err(why) = self.go_behind() {
                    self.notify(why);
                }
            }
            (Verb::Todo, "edit") => self.edit_todo(),
            (Verb::Record, file) => self.record(file),
            (Verb::Shared(Shared::Help), _) => {
                let text = submit::help(&self.conversation.control, Face::Screen, &self.conversation.keys);
                transcript::line(&mut self.screen, &text, Style::PLAIN);
            }
            (Verb::Hotkeys, _) => {
                let text = self.conversation.keys.help(self.terminal.input.has_kitty());
                transcript::line(&mut self.screen, &text, Style::PLAIN);
            }
            (Verb::Settings, place) if self.conversation.keep_settings_in(place) => self.open(Topic::Settings),
            (Verb::Tools, NOW) => self.open(Topic::Tools { now: true }),
            (Verb::Login, provider) if !provider.is_empty() => self.log_in(provider),
            (Verb::Theme, name) if !name.is_empty() => self.choose_theme(name),
            _ => match row.panel {
                Some(panel) if arguments.is_empty() => self.open(Topic::of(panel)),
                _ => self.conversation.run(row, arguments.to_string()),
            },
        }
        Ok(())
    }

    /// Tells whether something goes on that Esc ends.
    pub(super) fn is_busy(&self) -> bool {
        self.conversation.is_busy() || self.conversation.is_at_work() || !self.panels.is_empty()
    }

    /// Ends what goes on, and takes back what was sent and has not begun, oldest first.
    pub(super) fn interrupt(&mut self) {
        self.panels.drain(..).for_each(Panel::refuse);
        let waiting = self.conversation.interrupt();
        if !waiting.is_empty() {
            self.editor.prepend(&waiting.join("\n\n"));
        }
    }

    /// Keeps what is being written and what was put aside, for whoever goes on with the session; without a session file it
    /// is in the history.
    pub(super) fn keep_draft(&mut self) {
        let aside = self.stash.take();
        let draft = self.editor.text();
        let (id, has_file) = {
            let open = self.conversation.control.session();
            let session = open.agent.session();
            (session.id().to_string(), session.path().is_some_and(|path| path.exists()))
        };
        aside.into_iter().for_each(|text| self.conversation.remember(text));
        let kept = if has_file {
            drafts::keep(&self.conversation.control.app.startup.paths.agent, &id, &draft)
        } else {
            Ok(())
        };
        if !draft.trim().is_empty() && (!has_file || kept.is_err()) {
            self.conversation.remember(draft);
        }
    }
}
