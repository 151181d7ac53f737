//! From Enter to the agent: prompts on their way, commands, and taking back what has not begun.

use std::sync::Arc;

use sinew_agent::agent::Delivery;
use sinew_session::history::Prompt;
use sinew_tools::tool::Updates;
use sinew_tui::Style;

use super::Ui;
use crate::control::commands::{self, Face, Row, Shared, Verb};
use crate::control::mcp::NOW;
use crate::modes::interactive::choices::Topic;
use crate::modes::interactive::choosing::Target;
use crate::modes::interactive::drafts;
use crate::modes::interactive::keys::{self, Action, Bindings};
use crate::modes::interactive::mailbox::Message;
use crate::modes::interactive::outgoing::Door;
use crate::modes::interactive::panel::Panel;
use crate::modes::interactive::submit::{self, Submission};
use crate::modes::interactive::transcript;

impl Ui {
    /// Takes a text that was sent.
    pub(super) fn submit(&mut self, text: String, delivery: Delivery) {
        let is_prompt = match submit::read(&text, Face::Screen) {
            Submission::Prompt => true,
            // It would change the session below a prompt that is on its way.
            Submission::Slash(row, _) => row.changes_session() && self.outgoing.is_on_the_way(),
            _ => false,
        };
        if is_prompt || self.outgoing.door() != Door::Open {
            self.outgoing.push(text, delivery);
            return self.hand_over();
        }
        self.carry_out(text);
    }

    /// Hands over what waits, as far as it may go on.
    pub(super) fn hand_over(&mut self) {
        while let Some(text) = self.outgoing.first() {
            let is_prompt = submit::read(text, Face::Screen) == Submission::Prompt;
            if is_prompt && !self.is_without_model() {
                if let Some(given) = self.outgoing.give() {
                    self.remember(given.text.clone());
                    self.begin(submit::prompt(Arc::clone(&self.control), self.mailbox.clone(), given));
                }
            } else if let Some((text, _)) = self.outgoing.take_first() {
                self.carry_out(text);
            }
        }
    }

    /// Does what a text asks for that is no prompt; a prompt that no model could answer comes back.
    fn carry_out(&mut self, text: String) {
        let (control, mailbox) = (Arc::clone(&self.control), self.mailbox.clone());
        match submit::read(&text, Face::Screen) {
            Submission::Nothing => return,
            Submission::Prompt => {
                self.editor.prepend(&text);
                return self.open(Topic::Login);
            }
            Submission::Shell { command, excluded } => {
                let block = self.transcript.begin_command(&mut self.screen, command);
                self.work_began();
                let command = command.to_string();
                self.begin(async move {
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
        self.remember(text);
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
                        let key = self.keys.short(Action::Interrupt);
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
                let text = submit::help(&self.control, Face::Screen, &self.keys);
                transcript::line(&mut self.screen, &text, Style::PLAIN);
            }
            (Verb::Hotkeys, _) => {
                let text = self.keys.help(self.input.has_kitty());
                transcript::line(&mut self.screen, &text, Style::PLAIN);
            }
            (Verb::Settings, place) if Target::named(place).is_some() => {
                self.changed.target = Target::named(place).unwrap_or_default();
                self.open(Topic::Settings);
            }
            (Verb::Tools, NOW) => self.open(Topic::Tools { now: true }),
            (Verb::Login, provider) if !provider.is_empty() => self.log_in(provider),
            (Verb::Theme, name) if !name.is_empty() => self.choose_theme(name),
            (verb, arguments) => match row.panel {
                Some(panel) if arguments.is_empty() => self.open(Topic::of(panel)),
                _ => {
                    if verb == Verb::Reload {
                        self.read_keys();
                    }
                    self.run_row(row, arguments.to_string());
                }
            },
        }
        Ok(())
    }

    /// Keeps a text in the history.
    fn remember(&self, text: String) {
        let prompt = Prompt { prompt: text, created_at: self.control.app.clock.now(), cwd: self.cwd.clone() };
        self.history.add(prompt);
    }

    /// Reads the keys of the user anew.
    fn read_keys(&self) {
        let (mailbox, file) = (self.mailbox.clone(), self.control.app.startup.paths.agent.join(keys::FILE));
        self.runtime.spawn_blocking(move || mailbox.send(Message::Keys(Box::new(Bindings::read(&file)))));
    }

    /// Runs the first command of a verb.
    pub(super) fn run_slash(&mut self, verb: Verb, arguments: String) {
        if let Some(row) = commands::of_face(Face::Screen).find(|row| row.verb == verb) {
            self.run_row(row, arguments);
        }
    }

    /// Runs a slash command. It is not one of the tasks: changing the session waits until those have ended.
    fn run_row(&mut self, row: &'static Row, arguments: String) {
        if row.changes_session() {
            if self.outgoing.door() != Door::Open || self.outgoing.is_on_the_way() {
                return self.outgoing.push(format!("/{} {arguments}", row.name), Delivery::Steer);
            }
            self.outgoing.set_door(Door::Changing);
        }
        self.work_began();
        self.runtime.spawn(submit::slash(Arc::clone(&self.control), self.mailbox.clone(), row, arguments));
    }

    /// Tells whether something goes on that Esc ends.
    pub(super) fn is_busy(&self) -> bool {
        let (steering, follow_up) = &self.queued;
        // A question may come before the event that says that a run began.
        self.running.is_some()
            || self.at_work > 0
            || !self.panels.is_empty()
            || !self.outgoing.is_empty()
            || !steering.is_empty()
            || !follow_up.is_empty()
    }

    /// Ends what goes on, and takes back what was sent and has not begun, oldest first.
    pub(super) fn interrupt(&mut self) {
        self.panels.drain(..).for_each(Panel::refuse);
        let (waiting, is_one_on_the_way) = self.outgoing.take_back();
        if !waiting.is_empty() {
            self.editor.prepend(&waiting.join("\n\n"));
        }
        match is_one_on_the_way {
            // What is queued is older than that one: it comes back behind it, and so in front.
            true => submit::end_work(&self.control),
            false => self.end_run(),
        }
    }

    /// Ends the run and takes back what is queued for it.
    pub(super) fn end_run(&self) {
        self.begin(submit::take_back(Arc::clone(&self.control), self.mailbox.clone(), true));
    }

    /// Keeps in the history what was sent and reached nobody.
    pub(super) fn remember_outgoing(&self) {
        let texts: Vec<String> = self.outgoing.texts().map(|(text, _)| text.to_string()).collect();
        texts.into_iter().for_each(|text| self.remember(text));
    }

    /// Keeps what is being written and what was put aside, for whoever goes on with the session; without a session file it
    /// is in the history.
    pub(super) fn keep_draft(&mut self) {
        let aside = self.stash.take();
        let draft = self.editor.text();
        let (id, has_file) = {
            let open = self.control.session();
            let session = open.agent.session();
            (session.id().to_string(), session.path().is_some_and(|path| path.exists()))
        };
        aside.into_iter().for_each(|text| self.remember(text));
        let kept = if has_file { drafts::keep(&self.control.app.startup.paths.agent, &id, &draft) } else { Ok(()) };
        if !draft.trim().is_empty() && (!has_file || kept.is_err()) {
            self.remember(draft);
        }
    }
}
