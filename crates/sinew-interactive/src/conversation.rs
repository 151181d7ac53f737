//! The state of the conversation that the screen and the linear mode share: sent messages, running work, logins, the
//! model of a single prompt, changed settings, commands, and the end.
//!
//! A face of the interactive mode displays this state, asks the user, and passes the answers on. It has no own state of
//! the conversation.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use serde_json::Value;
use sinew_agent::agent::Delivery;
use sinew_agent::event::Event;
use sinew_control::actions::Control;
use sinew_control::actions::commands::{self, InteractiveForm, Row, Verb};
use sinew_control::actions::model::Turn;
use sinew_control::models::is_absent;
use sinew_control::settings::{self, Applies, Settings};
use sinew_llm::credentials::login::login_kind;
use sinew_llm::message::AgentMessage;
use sinew_session::history::Prompt;
use tokio::runtime::Handle;

use super::choices::{self, Choice, Entries, Topic};
use super::choosing::{self, ChangedSettings, Target};
use super::copy::{self, CopyResult};
use super::history::PromptHistory;
use super::keys::{self, Bindings};
use super::leaving::ExitRequest;
use super::login::{self, RunningLogin};
use super::mailbox::{Mailbox, Message};
use super::outgoing::{OutgoingQueue, SendState};
use super::pasting;
use super::submit::{self, Submission};

/// The conversation with the agent.
pub(super) struct Conversation {
    pub(super) control: Arc<Control>,
    pub(super) runtime: Handle,
    pub(super) mailbox: Mailbox,
    face: InteractiveForm,
    pub(super) keys: Bindings,
    pub(super) history: PromptHistory,
    /// The directory for prompts in the history.
    pub(super) cwd: String,
    /// The id of the current session.
    pub(super) session: String,
    /// Messages that were sent but not accepted by the agent yet.
    pub(super) outgoing: OutgoingQueue,
    /// The agent's queued texts: those that steer the run, and those after it.
    pub(super) queued: (Vec<String>, Vec<String>),
    /// The start of the active run.
    pub(super) running: Option<Instant>,
    /// The start and the number of the running commands, of the user and slash commands.
    at_work: Option<(Instant, usize)>,
    /// The provider and id of the model to restore after a prompt with another model.
    lent: Option<(String, String)>,
    /// The login in progress.
    login: Option<RunningLogin>,
    /// The settings that were changed since the start.
    pub(super) changed: ChangedSettings,
    /// The owner of the last copied text, which must live as long as the desktop may paste it.
    clipboard: Option<sinew::clipboard::Clipboard>,
    pub(super) leaving: ExitRequest,
}

/// The first step of a login.
pub(super) enum LoginStart {
    /// The login continues in a browser or with a code; its steps arrive as messages.
    Begun,
    /// The provider only supports keys, so the user has to paste one.
    NeedsKey,
    /// The provider does not exist. Contains the message.
    Unknown(String),
}

/// The inputs of a new conversation.
pub(super) struct ConversationInputs {
    pub(super) control: Arc<Control>,
    pub(super) runtime: Handle,
    pub(super) mailbox: Mailbox,
    pub(super) keys: Bindings,
    pub(super) history: PromptHistory,
    pub(super) cwd: String,
    pub(super) outgoing: OutgoingQueue,
}

impl Conversation {
    pub(super) fn new(face: InteractiveForm, beginning: ConversationInputs) -> Conversation {
        let ConversationInputs { control, runtime, mailbox, keys, history, cwd, outgoing } = beginning;
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
            leaving: ExitRequest::default(),
        }
    }

    /// Returns what background work needs: the actions, and the channel for its messages.
    pub(super) fn handles(&self) -> (Arc<Control>, Mailbox) {
        (Arc::clone(&self.control), self.mailbox.clone())
    }

    /// Starts background work that ends with the session.
    pub(super) fn begin(&self, work: impl Future<Output = ()> + Send + 'static) {
        let control = Arc::clone(&self.control);
        self.runtime.spawn(async move { control.tasks.begin(work).await });
    }

    /// Returns true if no model is configured.
    pub(super) fn is_without_model(&self) -> bool {
        is_absent(&self.control.session().agent.model().model)
    }
}

/// Texts on their way to the agent.
impl Conversation {
    /// Parses a text of the user.
    pub(super) fn read<'a>(&self, text: &'a str) -> Submission<'a> {
        submit::read(text, self.face)
    }

    /// Submits a text. Returns a command that may run at once; other texts wait for [`Conversation::next`].
    pub(super) fn submit(&mut self, text: String, delivery: Delivery) -> Option<String> {
        let (waits, is_urgent) = match self.read(&text) {
            Submission::Prompt => (true, false),
            // The command would change the session while a prompt is being sent.
            Submission::Slash(row, _) => {
                (row.changes_session() && self.outgoing.is_on_the_way(), matches!(row.verb, Verb::Stop | Verb::Status))
            }
            _ => (false, false),
        };
        if (waits || self.outgoing.send_state() != SendState::Ready) && !is_urgent {
            self.outgoing.push(text, delivery);
            return None;
        }
        Some(text)
    }

    /// Sends waiting prompts to the agent, as far as they may continue. Returns the next text that the face must handle
    /// itself: a command, or on the screen a prompt without a model.
    pub(super) fn next(&mut self) -> Option<String> {
        while let Some(text) = self.outgoing.first() {
            let is_prompt = submit::read(text, self.face) == Submission::Prompt;
            if !is_prompt || self.face == InteractiveForm::Screen && self.is_without_model() {
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

    /// Records that the agent accepted a prompt, into a queue or for a run that has begun.
    pub(super) fn accepted(&mut self, number: u64, runs: bool) {
        if self.outgoing.accepted(number, runs) {
            self.end_run();
        }
    }

    /// Records that a prompt did not reach the agent. Returns its text, unless it was removed before.
    pub(super) fn returned(&mut self, number: u64) -> Option<String> {
        let (text, is_interrupted) = self.outgoing.returned(number);
        if is_interrupted {
            self.end_run();
        }
        text
    }

    /// Adds a text to the history.
    pub(super) fn remember(&self, text: String) {
        let prompt = Prompt { prompt: text, created_at: self.control.app.clock.now(), cwd: self.cwd.clone() };
        self.history.add(prompt);
    }

    /// Adds the texts to the history that were sent and not accepted.
    pub(super) fn remember_outgoing(&self) {
        let texts: Vec<String> = self.outgoing.texts().map(|(text, _)| text.to_string()).collect();
        texts.into_iter().for_each(|text| self.remember(text));
    }
}

/// Running work.
impl Conversation {
    /// Updates the state of the run and the queues after an event.
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

    /// Records that a run is active. A question of the run may arrive before the event that starts it.
    pub(super) fn run_began(&mut self) {
        self.running.get_or_insert_with(Instant::now);
    }

    /// Returns the number of texts in the agent's queues.
    pub(super) fn queued_count(&self) -> usize {
        self.queued.0.len() + self.queued.1.len()
    }

    /// Returns true if a run is active, or texts wait for one.
    pub(super) fn is_busy(&self) -> bool {
        self.running.is_some() || !self.outgoing.is_empty() || self.queued_count() > 0
    }

    /// Returns true if a command of the user or a slash command is running.
    pub(super) fn is_at_work(&self) -> bool {
        self.at_work.is_some()
    }

    /// Returns the start of the active run or command; `None` if there is none.
    pub(super) fn working_since(&self) -> Option<Instant> {
        self.running.or(self.at_work.map(|(since, _)| since))
    }

    /// Records that a command has begun.
    pub(super) fn work_began(&mut self) {
        let (since, count) = self.at_work.unwrap_or_else(|| (Instant::now(), 0));
        self.at_work = Some((since, count + 1));
    }

    /// Records that a command has ended.
    pub(super) fn work_ended(&mut self) {
        self.at_work = self.at_work.map(|(since, count)| (since, count - 1)).filter(|(_, count)| *count > 0);
    }

    /// Stops the running work, and returns the texts that were sent and have not begun, oldest first.
    pub(super) fn interrupt(&mut self) -> Vec<String> {
        let (waiting, is_one_on_the_way) = self.outgoing.take_back();
        match is_one_on_the_way {
            // Queued texts are older than that one, so they are returned later and inserted before it.
            true => submit::end_work(&self.control),
            false => self.end_run(),
        }
        waiting
    }

    /// Aborts the run and removes the texts queued for it.
    fn end_run(&self) {
        let (control, mailbox) = self.handles();
        self.begin(submit::take_back(control, mailbox, true));
    }

    /// Records that the current session or its current entry changed. Returns true if the session differs from the one
    /// that is shown.
    pub(super) fn change_session(&mut self) -> bool {
        (self.running, self.lent, self.queued) = (None, None, Default::default());
        self.session != self.control.session().agent.session().id()
    }

    /// Records that the current session is shown.
    pub(super) fn show_session(&mut self) {
        self.session = self.control.session().agent.session().id().to_string();
    }

    /// Lets the run continue without the terminal.
    ///
    /// # Errors
    /// Returns an error that says how to proceed if there is no run, or if a text is being sent. `leave` describes how
    /// to exit.
    pub(super) fn go_behind(&mut self, leave: &str) -> Result<(), String> {
        if !self.control.session().agent.is_running() {
            return Err(format!("no run is active: {leave} quits"));
        }
        if !self.outgoing.is_empty() {
            return Err("a message is being sent: try again in a moment".into());
        }
        (self.leaving.code, self.leaving.goes_behind) = (Some(0), true);
        Ok(())
    }
}

/// Commands.
impl Conversation {
    /// Runs the first command with this verb.
    pub(super) fn run_verb(&mut self, verb: Verb, arguments: String) {
        if let Some(row) = commands::of_face(self.face).find(|row| row.verb == verb) {
            self.run(row, arguments);
        }
    }

    /// Runs a slash command. It is not one of the background tasks, because a change of the session waits for the end
    /// of those.
    pub(super) fn run(&mut self, row: &'static Row, arguments: String) {
        if row.changes_session() {
            if self.outgoing.send_state() != SendState::Ready || self.outgoing.is_on_the_way() {
                return self.outgoing.push(format!("/{} {arguments}", row.name), Delivery::Steer);
            }
            self.outgoing.set_send_state(SendState::Changing);
        }
        if row.verb == Verb::Reload {
            self.read_keys();
        }
        self.work_began();
        let (control, mailbox) = self.handles();
        self.runtime.spawn(submit::slash(control, mailbox, row, arguments));
    }

    /// Reads the user's key bindings again. They arrive as a message.
    fn read_keys(&self) {
        let (mailbox, file) = (self.mailbox.clone(), self.control.app.startup.paths.agent.join(keys::FILE));
        self.runtime.spawn_blocking(move || mailbox.send(Message::Keys(Box::new(Bindings::read(&file)))));
    }

    /// Executes an entry of a list, if it is an action of `control`.
    pub(super) fn carry_out(&mut self, choice: Choice) {
        if matches!(choice, Choice::Place(_) | Choice::Branch(_)) {
            self.outgoing.set_send_state(SendState::Changing);
        }
        let (control, mailbox) = self.handles();
        self.runtime.spawn(choosing::carry_out(control, mailbox, choice));
    }

    /// Reads the prompts of the directory for the arrow keys, in the background because the file may be long or locked
    /// by another program.
    pub(super) fn read_prompts(&self) {
        let (prompts, mailbox, cwd) = (self.history.reader(), self.mailbox.clone(), self.cwd.clone());
        self.runtime.spawn_blocking(move || mailbox.send(Message::Prompts(prompts.texts(Path::new(&cwd)))));
    }

    /// Reads the clipboard of the desktop. Its content arrives as a message.
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

    /// Stores the owner of a copied text. Returns the line about it, whether the line names a file, and the bytes for
    /// the terminal.
    pub(super) fn copied(&mut self, copied: CopyResult) -> (String, bool, Option<Vec<u8>>) {
        let CopyResult { text, is_file, bytes, clipboard } = copied;
        self.clipboard = clipboard;
        (text, is_file, bytes)
    }
}

/// Models and logins.
impl Conversation {
    /// Records that a model was chosen; `once` means for the next prompt only.
    pub(super) fn lend_model(&mut self, once: bool) {
        let now = self.control.session().agent.model().model;
        let own = self.lent.take().or(Some((now.provider, now.id)));
        self.lent = own.filter(|_| once);
    }

    /// Restores the model after a prompt with another model.
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

    /// Changes to the next or previous model.
    pub(super) fn cycle_model(&mut self, turn: Turn) {
        self.lent = None;
        let (control, mailbox) = self.handles();
        self.runtime.spawn(async move {
            mailbox.send(match control.cycle_model(turn).await {
                Ok(Some(change)) => Message::ModelChanged(change.model.key()),
                Ok(None) => Message::Notice("there is no other model: use /login to set one up".into()),
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

    /// Returns true while a login is in progress.
    pub(super) fn is_logging_in(&self) -> bool {
        self.login.is_some()
    }

    /// Passes the URL at which the browser ended to the login; returns false if none is in progress.
    pub(super) fn paste_address(&mut self, address: String) -> bool {
        self.login.as_mut().map(|login| login.paste(address)).is_some()
    }

    /// Stores a pasted key.
    pub(super) fn keep_key(&self, provider: String, key: String) {
        let (control, mailbox) = self.handles();
        self.runtime.spawn(login::keep_key(control, mailbox, provider, key));
    }

    /// Cancels the login in progress, or removes one that has ended; returns false if there is none.
    pub(super) fn end_login(&mut self) -> bool {
        self.login.take().is_some()
    }

    /// Changes to a provider that was just configured.
    pub(super) fn use_provider(&self, provider: String) {
        let (control, mailbox) = self.handles();
        self.runtime.spawn(login::use_provider(control, mailbox, provider));
    }
}

/// Lists for the user, and settings.
impl Conversation {
    /// Returns the entries of a list that are available at once; `None` if they are read in the background.
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
            Topic::Tasks => choices::tasks(control),
            Topic::Findings => choices::findings(control),
            Topic::Redraw => choices::redraw(),
            Topic::Share => choices::share(control.share_command()),
            Topic::Sessions { .. } | Topic::Tree(_) | Topic::Branch | Topic::Values | Topic::History => return None,
        })
    }

    /// Returns the title of a list.
    pub(super) fn title(&self, topic: Topic) -> &'static str {
        if topic == Topic::Settings { self.changed.title() } else { topic.title() }
    }

    /// Returns all settings in force.
    pub(super) fn settings(&self) -> Settings {
        self.changed.typed(&self.control)
    }

    /// Stores a value in the selected place, and applies it if the agent can apply it at once. Returns a message about
    /// both.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written, the value is invalid, or it would have no effect there.
    pub(super) fn write_setting(&mut self, path: &'static str, value: Value) -> Result<String, String> {
        let place = self.changed.write(&self.control, path, value)?;
        if settings::applies(path) == Applies::Now {
            self.changed.apply(&self.control, path);
        }
        Ok(self.changed.message(path, &place))
    }

    /// Selects the place for changed settings by its name; returns false if it does not exist.
    pub(super) fn keep_settings_in(&mut self, place: &str) -> bool {
        Target::named(place).inspect(|target| self.changed.target = *target).is_some()
    }
}
