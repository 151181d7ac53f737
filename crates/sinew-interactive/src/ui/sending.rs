//! Submits the text in the editor: sends prompts, runs commands, and returns prompts that have not begun.

use sinew_agent::agent::Delivery;
use sinew_control::actions::commands::{InteractiveForm, Row, SharedCommand, Verb};
use sinew_control::actions::mcp::NOW;
use sinew_tools::tool::Updates;
use sinew_tui::Style;

use super::Ui;
use crate::choices::Topic;
use crate::drafts;
use crate::keys::Action;
use crate::mailbox::Message;
use crate::panel::Panel;
use crate::submit::{self, Submission};
use crate::transcript;

impl Ui {
    /// Submits a text.
    pub(super) fn submit(&mut self, text: String, delivery: Delivery) {
        match self.conversation.submit(text, delivery) {
            Some(text) => self.carry_out(text),
            None => self.hand_over(),
        }
    }

    /// Sends waiting prompts, as far as they may continue.
    pub(super) fn hand_over(&mut self) {
        while let Some(text) = self.conversation.next() {
            self.carry_out(text);
        }
    }

    /// Executes a text that is not a prompt. A prompt without a model returns to the editor.
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

    /// Executes a slash command: directly if the screen implements it, otherwise in the background.
    ///
    /// # Errors
    /// Returns an error if the screen refuses the command; its text then returns to the editor.
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
                        self.notify(format!("vi keys: {key} for commands"));
                    }
                    None => self.notify("emacs keys"),
                }
            }
            (Verb::Background, _) => {
                if let Err(why) = self.go_behind() {
                    self.notify(why);
                }
            }
            (Verb::Todo, "edit") => self.edit_todo(),
            (Verb::Record, file) => self.record(file),
            (Verb::Shared(SharedCommand::Help), _) => {
                let text = submit::help(&self.conversation.control, InteractiveForm::Screen, &self.conversation.keys);
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

    /// Returns true if work is running that Esc stops.
    pub(super) fn is_busy(&self) -> bool {
        self.conversation.is_busy() || self.conversation.is_at_work() || !self.panels.is_empty()
    }

    /// Stops the running work, and returns prompts that have not begun to the editor, oldest first.
    pub(super) fn interrupt(&mut self) {
        self.panels.drain(..).for_each(Panel::refuse);
        let waiting = self.conversation.interrupt();
        if !waiting.is_empty() {
            self.editor.prepend(&waiting.join("\n\n"));
        }
    }

    /// Stores the draft and the stashed drafts for the next process that continues the session; without a session file,
    /// in the history.
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
