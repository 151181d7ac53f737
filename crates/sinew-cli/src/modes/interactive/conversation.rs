//! The conversation with the agent, below the screen and the mode in words: what was sent and is on its way, what goes on,
//! logins, the model of a single prompt, changed settings, commands, and the way out.
//!
//! A face paints or says it, asks the user, and gives it what they answer. It holds no part of the conversation itself.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use serde_json::Value;
use sinew_agent::agent::Delivery;
use sinew_agent::event::Event;
use sinew_llm::credentials::login::login_kind;
use sinew_llm::message::AgentMessage;
use sinew_session::history::Prompt;
use tokio::runtime::Handle;

use super::choices::{self, Choice, Entries, Topic};
use super::choosing::{self, ChangedSettings, Target};
use super::copy::{self, Copied};
use super::history::PromptHistory;
use super::keys::{self, Bindings};
use super::leaving::Leaving;
use super::login::{self, Running};
use super::mailbox::{Mailbox, Message};
use super::outgoing::{Door, Outgoing};
use super::pasting;
use super::submit::{self, Submission};
use crate::control::Control;
use crate::control::commands::{self, Face, Row, Verb};
use crate::control::model::Turn;
use crate::models::is_absent;
use crate::settings::Settings;

/// The conversation with the agent.
pub(super) struct Conversation {
    pub(super) control: Arc<Control>,
    pub(super) runtime: Handle,
    pub(super) mailbox: Mailbox,
    face: Face,
    pub(super) keys: Bindings,
    pub(super) history: PromptHistory,
    /// The folder of the prompts in the history.
    pub(super) cwd: String,
    /// The id of the session that is shown.
    pub(super) session: String,
    /// Texts that were sent and that the agent does not have yet.
    pub(super) outgoing: Outgoing,
    /// Texts that wait in the queues of the agent: those that steer the run, and those behind it.
    pub(super) queued: (Vec<String>, Vec<String>),
    /// Since when a run goes on.
    pub(super) running: Option<Instant>,
    /// Since when commands of the user and slash commands go on, and how many.
    at_work: Option<(Instant, usize)>,
    /// Provider and id of the model that answers again when the one of a single prompt has done so.
    lent: Option<(String, String)>,
    /// A login that goes on.
    login: Option<Running>,
    /// Settings that were changed since the start.
    pub(super) changed: ChangedSettings,
    /// The owner of the last copy, which serves the desktop for as long as it lives.
    clipboard: Option<sinew::clipboard::Clipboard>,
    pub(super) leaving: Leaving,
}

/// The beginning of a login.
pub(super) enum LoginStart {
    /// It goes on in a browser or by a code; steps come as messages.
    Begun,
    /// The provider has a key alone, which the user has to paste.
    NeedsKey,
    /// There is no such provider: what to say.
    Unknown(String),
}

/// The parts that a conversation begins with.
pub(super) struct Beginning {
    pub(super) control: Arc<Control>,
    pub(super) runtime: Handle,
    pub(super) mailbox: Mailbox,
    pub(super) keys: Bindings,
    pub(super) history: PromptHistory,
    pub(super) cwd: String,
    pub(super) outgoing: Outgoing,
}

impl Conversation {
    pub(super) fn new(face: Face, beginning: Beginning) -> Conversation {
        let Beginning { control, runtime, mailbox, keys, history, cwd, outgoing } = beginning;
        Conversation {
            control,
            runtime,
            mailbox,
            face,
            keys,
            history,
            cwd,
            session: String::new(),
            outgoing,
            queued: Default::default(),
            running: None,
            at_work: None,
            lent: None,
            login: None,
            changed: ChangedSettings::default(),
            clipboard: None,
            leaving: Leaving::default(),
        }
    }

    /// What work elsewhere needs: the verbs, and the way back.
    pub(super) fn handles(&self) -> (Arc<Control>, Mailbox) {
        (Arc::clone(&self.control), self.mailbox.clone())
    }

    /// Begins work that ends with the session.
    pub(super) fn begin(&self, work: impl Future<Output = ()> + Send + 'static) {
        let control = Arc::clone(&self.control);
        self.runtime.spawn(async move { control.tasks.begin(work).await });
    }

    /// Returns true if there is no model that could answer.
    pub(super) fn is_without_model(&self) -> bool {
        is_absent(&self.control.session().agent.model().model)
    }
}

/// Texts on their way to the agent.
impl Conversation {
    /// Tells what a text asks for.
    pub(super) fn read<'a>(&self, text: &'a str) -> Submission<'a> {
        submit::read(text, self.face)
    }

    /// Takes a text that was sent. A command that may run at once comes back; the rest waits for [`Conversation::next`].
    pub(super) fn submit(&mut self, text: String, delivery: Delivery) -> Option<String> {
        let (waits, is_urgent) = match self.read(&text) {
            Submission::Prompt => (true, false),
            // It would change the session below a prompt that is on its way.
            Submission::Slash(row, _) => {
                (row.changes_session() && self.outgoing.is_on_the_way(), matches!(row.verb, Verb::Stop | Verb::Status))
            }
            _ => (false, false),
        };
        if (waits || self.outgoing.door() != Door::Open) && !is_urgent {
            self.outgoing.push(text, delivery);
            return None;
        }
        Some(text)
    }

    /// Hands prompts that wait to the agent, as far as they may go on. Gives the next text that the face has to do something
    /// about: a command, or on the screen a prompt that no model could answer.
    pub(super) fn next(&mut self) -> Option<String> {
        while let Some(text) = self.outgoing.first() {
            let is_prompt = submit::read(text, self.face) == Submission::Prompt;
            if !is_prompt || self.face == Face::Screen && self.is_without_model() {
                return self.outgoing.take_first().map(|(text, _)| text);
            }
            if let Some(given) = self.outgoing.give() {
                self.remember(given.text.clone());
                let (control, mailbox) = self.handles();
                self.begin(submit::prompt(control, mailbox, given));
            }
        }
        None
    }

    /// The agent has a prompt: in a queue, or in a run that has begun.
    pub(super) fn accepted(&mut self, number: u64, runs: bool) {
        if self.outgoing.accepted(number, runs) {
            self.end_run();
        }
    }

    /// A prompt did not reach the agent: its text, unless it was taken back before.
    pub(super) fn returned(&mut self, number: u64) -> Option<String> {
        let (text, is_interrupted) = self.outgoing.returned(number);
        if is_interrupted {
            self.end_run();
        }
        text
    }

    /// Keeps a text in the history.
    pub(super) fn remember(&self, text: String) {
        let prompt = Prompt { prompt: text, created_at: self.control.app.clock.now(), cwd: self.cwd.clone() };
        self.history.add(prompt);
    }

    /// Keeps in the history what was sent and reached nobody.
    pub(super) fn remember_outgoing(&self) {
        let texts: Vec<String> = self.outgoing.texts().map(|(text, _)| text.to_string()).collect();
        texts.into_iter().for_each(|text| self.remember(text));
    }
}

/// What goes on.
impl Conversation {
    /// Keeps what an event tells of the run and the queues.
    pub(super) fn take_event(&mut self, event: &Event) {
        match event {
            Event::AgentStart => self.run_began(),
            Event::AgentSettled {} => {
                self.outgoing.began();
                self.return_model();
                self.running = None;
            }
            Event::MessageStart { message: AgentMessage::User(_) } => self.outgoing.began(),
            Event::QueueUpdate { steering, follow_up } => self.queued = (steering.clone(), follow_up.clone()),
            _ => {}
        }
    }

    /// A run goes on. A question of it may come before the event that says so.
    pub(super) fn run_began(&mut self) {
        self.running.get_or_insert_with(Instant::now);
    }

    /// The number of texts in the queues of the agent.
    pub(super) fn queued_count(&self) -> usize {
        self.queued.0.len() + self.queued.1.len()
    }

    /// Returns true if a run goes on, or texts wait for one.
    pub(super) fn is_busy(&self) -> bool {
        self.running.is_some() || !self.outgoing.is_empty() || self.queued_count() > 0
    }

    /// Returns true if a command of the user or a slash command goes on.
    pub(super) fn is_at_work(&self) -> bool {
        self.at_work.is_some()
    }

    /// Since when a run or a command goes on; none where nothing does.
    pub(super) fn working_since(&self) -> Option<Instant> {
        self.running.or(self.at_work.map(|(since, _)| since))
    }

    /// Counts a command that has begun.
    pub(super) fn work_began(&mut self) {
        let (since, count) = self.at_work.unwrap_or_else(|| (Instant::now(), 0));
        self.at_work = Some((since, count + 1));
    }

    /// Counts a command that has ended.
    pub(super) fn work_ended(&mut self) {
        self.at_work = self.at_work.map(|(since, count)| (since, count - 1)).filter(|(_, count)| *count > 0);
    }

    /// Ends what goes on, and gives back what was sent and has not begun, oldest first.
    pub(super) fn interrupt(&mut self) -> Vec<String> {
        let (waiting, is_one_on_the_way) = self.outgoing.take_back();
        match is_one_on_the_way {
            // What is queued is older than that one: it comes back behind it, and so in front.
            true => submit::end_work(&self.control),
            false => self.end_run(),
        }
        waiting
    }

    /// Ends the run and takes back what is queued for it.
    fn end_run(&self) {
        let (control, mailbox) = self.handles();
        self.begin(submit::take_back(control, mailbox, true));
    }

    /// Another session is current, or another place of it. True: it is another session than the one that is shown.
    pub(super) fn change_session(&mut self) -> bool {
        (self.running, self.lent, self.queued) = (None, None, Default::default());
        self.session != self.control.session().agent.session().id()
    }

    /// The current session is the one that is shown.
    pub(super) fn show_session(&mut self) {
        self.session = self.control.session().agent.session().id().to_string();
    }

    /// Lets the run go on without the terminal.
    ///
    /// # Errors
    /// There is no run, or a text is on its way: how to go on, where `leave` is the way out.
    pub(super) fn go_behind(&mut self, leave: &str) -> Result<(), String> {
        if !self.control.session().agent.is_running() {
            return Err(format!("no run goes on: {leave} leaves"));
        }
        if !self.outgoing.is_empty() {
            return Err("a text is on its way to the agent: try again when it is there".into());
        }
        (self.leaving.code, self.leaving.goes_behind) = (Some(0), true);
        Ok(())
    }
}

/// Commands.
impl Conversation {
    /// Runs the first command of a verb.
    pub(super) fn run_verb(&mut self, verb: Verb, arguments: String) {
        if let Some(row) = commands::of_face(self.face).find(|row| row.verb == verb) {
            self.run(row, arguments);
        }
    }

    /// Runs a slash command. It is not one of the tasks: changing the session waits until those have ended.
    pub(super) fn run(&mut self, row: &'static Row, arguments: String) {
        if row.changes_session() {
            if self.outgoing.door() != Door::Open || self.outgoing.is_on_the_way() {
                return self.outgoing.push(format!("/{} {arguments}", row.name), Delivery::Steer);
            }
            self.outgoing.set_door(Door::Changing);
        }
        if row.verb == Verb::Reload {
            self.read_keys();
        }
        self.work_began();
        let (control, mailbox) = self.handles();
        self.runtime.spawn(submit::slash(control, mailbox, row, arguments));
    }

    /// Reads the keys of the user anew. They come as a message.
    fn read_keys(&self) {
        let (mailbox, file) = (self.mailbox.clone(), self.control.app.startup.paths.agent.join(keys::FILE));
        self.runtime.spawn_blocking(move || mailbox.send(Message::Keys(Box::new(Bindings::read(&file)))));
    }

    /// Carries out what an entry of a list stands for, where that is a verb.
    pub(super) fn carry_out(&mut self, choice: Choice) {
        if matches!(choice, Choice::Place(_) | Choice::Branch(_)) {
            self.outgoing.set_door(Door::Changing);
        }
        let (control, mailbox) = self.handles();
        self.runtime.spawn(choosing::carry_out(control, mailbox, choice));
    }

    /// Reads the prompts of the folder for the arrow keys. The file may be long, or locked by another program.
    pub(super) fn read_prompts(&self) {
        let (prompts, mailbox, cwd) = (self.history.reader(), self.mailbox.clone(), self.cwd.clone());
        self.runtime.spawn_blocking(move || mailbox.send(Message::Prompts(prompts.texts(Path::new(&cwd)))));
    }

    /// Reads the clipboard of the desktop. Its content comes as a message.
    pub(super) fn read_clipboard(&self) {
        let (control, mailbox) = self.handles();
        self.runtime.spawn_blocking(move || mailbox.send(Message::Clipboard(pasting::read_clipboard(&control))));
    }

    /// Copies a text.
    pub(super) fn copy(&self, text: String) {
        let (control, mailbox) = self.handles();
        self.runtime.spawn_blocking(move || {
            mailbox.send(match copy::copy_text(&control, &text) {
                Ok(copied) => Message::Copied(copied),
                Err(error) => Message::Notice(error.message),
            });
        });
    }

    /// Keeps the owner of a copy that was made. Gives the line about it, whether that names a file, and what the terminal is to
    /// be sent.
    pub(super) fn copied(&mut self, copied: Copied) -> (String, bool, Option<Vec<u8>>) {
        let Copied { text, is_file, bytes, clipboard } = copied;
        self.clipboard = clipboard;
        (text, is_file, bytes)
    }
}

/// Models and logins.
impl Conversation {
    /// A model was chosen; `once`: for the next prompt alone.
    pub(super) fn lend_model(&mut self, once: bool) {
        let now = self.control.session().agent.model().model;
        let own = self.lent.take().or(Some((now.provider, now.id)));
        self.lent = own.filter(|_| once);
    }

    /// Changes back from the model of a single prompt.
    fn return_model(&mut self) {
        let Some((provider, id)) = self.lent.take() else { return };
        let (control, mailbox) = self.handles();
        self.runtime.spawn(async move {
            mailbox.send(match control.set_model(&provider, &id).await {
                Ok(model) => Message::ModelChanged(model.key()),
                Err(error) => Message::Notice(error.message),
            });
        });
    }

    /// Changes to the next model, or to the one before.
    pub(super) fn cycle_model(&mut self, turn: Turn) {
        self.lent = None;
        let (control, mailbox) = self.handles();
        self.runtime.spawn(async move {
            mailbox.send(match control.cycle_model(turn).await {
                Ok(Some(change)) => Message::ModelChanged(change.model.key()),
                Ok(None) => Message::Notice("there is no other model: /login sets one up".into()),
                Err(error) => Message::Notice(error.message),
            });
        });
    }

    /// Begins a login at a provider.
    pub(super) fn log_in(&mut self, provider: &str) -> LoginStart {
        let registry = self.control.app.models.registry();
        let Some(entry) = registry.provider(provider) else {
            let known: Vec<&str> = registry.providers().iter().map(|entry| entry.id.as_str()).collect();
            return LoginStart::Unknown(format!("Provider not found: {provider}. Known: {}", known.join(", ")));
        };
        if login_kind(entry).is_none() {
            return LoginStart::NeedsKey;
        }
        let (control, mailbox) = self.handles();
        self.login = Some(login::begin(control, mailbox, &self.runtime, entry.clone()));
        LoginStart::Begun
    }

    /// Returns true while a login goes on.
    pub(super) fn is_logging_in(&self) -> bool {
        self.login.is_some()
    }

    /// Gives a login the address that the browser ended at; false where none goes on.
    pub(super) fn paste_address(&mut self, address: String) -> bool {
        self.login.as_mut().map(|login| login.paste(address)).is_some()
    }

    /// Keeps a key that was pasted.
    pub(super) fn keep_key(&self, provider: String, key: String) {
        let (control, mailbox) = self.handles();
        self.runtime.spawn(login::keep_key(control, mailbox, provider, key));
    }

    /// Ends the login that goes on, or forgets one that has ended; false where there is none.
    pub(super) fn end_login(&mut self) -> bool {
        self.login.take().is_some()
    }

    /// Changes to a provider that has just become reachable.
    pub(super) fn use_provider(&self, provider: String) {
        let (control, mailbox) = self.handles();
        self.runtime.spawn(login::use_provider(control, mailbox, provider));
    }
}

/// What the user chooses from, and settings.
impl Conversation {
    /// The entries of a list that are there at once; none: they are read elsewhere.
    pub(super) fn entries(&self, topic: Topic) -> Option<Entries> {
        let control = &self.control;
        Some(match topic {
            Topic::Login => choices::login(control),
            Topic::Logout => choices::stored(control),
            Topic::Providers => choices::providers(control),
            Topic::Models { .. } => choices::models(control),
            Topic::Thinking => choices::thinking(control),
            Topic::Settings => self.changed.entries(control),
            Topic::Theme => choices::themes(),
            Topic::Tools { now } => choices::tools(control, now),
            Topic::Jobs => choices::jobs(control),
            Topic::Redraw => choices::redraw(),
            Topic::Share => choices::share(control.share_command()),
            Topic::Sessions { .. } | Topic::Tree(_) | Topic::Branch | Topic::Values | Topic::History => return None,
        })
    }

    /// The title of a list.
    pub(super) fn title(&self, topic: Topic) -> &'static str {
        if topic == Topic::Settings { self.changed.title() } else { topic.title() }
    }

    /// All settings as they are in force.
    pub(super) fn settings(&self) -> Settings {
        self.changed.typed(&self.control)
    }

    /// Keeps a value where changes go now; tells where.
    ///
    /// # Errors
    /// The file cannot be written, the value does not fit, or it would not count there.
    pub(super) fn write_setting(&mut self, path: &'static str, value: Value) -> Result<String, String> {
        self.changed.write(&self.control, path, value)
    }

    /// Lets a setting of the agent count at once; false: it counts from the next start.
    pub(super) fn apply_setting(&self, path: &str) -> bool {
        self.changed.apply(&self.control, path)
    }

    /// Keeps changes of settings in the place of this name from now on; false where there is none.
    pub(super) fn keep_settings_in(&mut self, place: &str) -> bool {
        Target::named(place).inspect(|target| self.changed.target = *target).is_some()
    }
}
