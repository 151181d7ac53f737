//! From Enter to the agent: prompts on their way, commands, and taking back what has not begun.

use std::sync::Arc;

use sinew_agent::agent::Delivery;
use sinew_session::history::Prompt;
use sinew_tools::tool::Updates;
use sinew_tui::Style;

use super::Ui;
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
        let is_prompt = match submit::read(&text, submit::is_built_in) {
            Submission::Prompt => true,
            // It would change the session below a prompt that is on its way.
            Submission::Slash(name, _) => submit::changes_session(name) && self.outgoing.is_on_the_way(),
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
            let is_prompt = submit::read(text, submit::is_built_in) == Submission::Prompt;
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
        match submit::read(&text, submit::is_built_in) {
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
            Submission::Slash("redraw", what) => {
                if let Err(why) = self.redraw(what) {
                    self.take_message(Message::Failed { error: why, text });
                    return;
                }
            }
            Submission::Slash("transcript", _) => self.open_viewer(),
            Submission::Slash("raw", _) => self.open_source(),
            Submission::Slash("stash", _) => self.stash(),
            Submission::Slash("vim", "") => {
                self.turn_vi();
                match self.vi {
                    Some(_) => {
                        let key = self.keys.short(Action::Interrupt);
                        self.notify(format!("the keys of vi: {key} for commands"));
                    }
                    None => self.notify("the keys of emacs"),
                }
            }
            Submission::Slash("bg" | "background", _) => {
                if let Err(why) = self.go_behind() {
                    self.notify(why);
                }
            }
            Submission::Slash("todo", "edit") => self.edit_todo(),
            Submission::Slash("record", file) => self.record(file),
            Submission::Slash("hotkeys", _) => {
                let text = self.keys.help(self.input.has_kitty());
                transcript::line(&mut self.screen, &text, Style::PLAIN);
            }
            Submission::Slash("settings", place) if Target::named(place).is_some() => {
                self.changed.target = Target::named(place).unwrap_or_default();
                self.open(Topic::Settings);
            }
            Submission::Slash("tools", NOW) => self.open(Topic::Tools { now: true }),
            Submission::Slash("login", provider) if !provider.is_empty() => self.log_in(provider),
            Submission::Slash("theme", name) if !name.is_empty() => self.choose_theme(name),
            Submission::Slash(name, "") if Topic::of(name).is_some() => {
                if let Some(topic) = Topic::of(name) {
                    self.open(topic);
                }
            }
            Submission::Slash(name, arguments) => {
                let (name, arguments) = (name.to_string(), arguments.to_string());
                if name == "reload" {
                    self.read_keys();
                }
                self.run_slash(name, arguments);
            }
        }
        self.remember(text);
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

    /// Runs a slash command. It is not one of the tasks: changing the session waits until those have ended.
    pub(super) fn run_slash(&mut self, name: String, arguments: String) {
        if submit::changes_session(&name) {
            if self.outgoing.door() != Door::Open || self.outgoing.is_on_the_way() {
                return self.outgoing.push(format!("/{name} {arguments}"), Delivery::Steer);
            }
            self.outgoing.set_door(Door::Changing);
        }
        self.work_began();
        self.runtime.spawn(submit::slash(Arc::clone(&self.control), self.mailbox.clone(), name, arguments));
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
