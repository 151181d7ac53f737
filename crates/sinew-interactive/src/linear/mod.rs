//! Linear mode: plain lines of text, for screen readers and for terminals without cursor movement.
//!
//! | module | contents |
//! |---|---|
//! | this one | the loop: keys or lines, messages, deadlines |
//! | `words` | events and messages as lines that begin with a word |
//! | `asked` | questions of the model and of rules, and their answers |
//! | `list`, `chosen` | numbered lists, the actions of their entries, requested lines |

mod asked;
mod chosen;
mod list;
mod words;

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sinew_agent::agent::Delivery;
use sinew_agent::event::Event;
use sinew_control::actions::commands::{InteractiveForm, Panel, Row, SharedCommand, Verb};
use sinew_control::actions::mcp::NOW;
use sinew_control::models::is_absent;
use sinew_tools::tool::Updates;
use sinew_tui::{Editor, EditorStyle, Event as Input, InputParser, Key, KeyPress, LinearOutput, OutputUnit};

use super::ask;
use super::choices::Topic;
use super::conversation::{Conversation, ConversationInputs};
use super::history::PromptHistory;
use super::job;
use super::keys::{Action, EditorState, KeyMeaning, Press};
use super::leaving::ExitOutcome;
use super::mailbox::Message;
use super::outgoing::{OutgoingQueue, SendState};
use super::pasting;
use super::stash::Stash;
use super::submit::{self, Submission};
use super::terminal::Terminal;
use super::tty::{TerminalUse, Tty};
use super::ui::Parts;
use asked::{OpenQuestion, Reply};
use chosen::InputRequest;
use list::Choices;
use words::Words;

/// The time after a key press during which output waits for the user to continue typing.
const HOLD: Duration = Duration::from_secs(3);
/// The key other than Enter that ends a line of the kernel: ctrl+c.
const INTERRUPT: char = '\x03';

/// The linear mode: prints the conversation, and processes the user's lines.
struct Linear {
    // Dropped, and therefore restored, before the history is written, which may take a while.
    terminal: Terminal,
    conversation: Conversation,
    output: LinearOutput,
    /// The first key of a chord.
    chord: Option<Key>,
    editor: Editor,
    stash: Stash,
    words: Words,
    asked: VecDeque<OpenQuestion>,
    choices: Option<Choices>,
    /// A requested line.
    wanted: Option<InputRequest>,
    /// The channel for lists that tasks load.
    listed: (std::sync::mpsc::Sender<Choices>, std::sync::mpsc::Receiver<Choices>),
    /// True if the terminal does not support cursor movement, so that the kernel edits lines.
    is_plain: bool,
    last_key: Option<Instant>,
    /// The time at which the current line was begun.
    begun: Option<Instant>,
    /// True if the last line was empty and ended with ctrl+d.
    has_ended: bool,
}

/// Runs linear mode until the user exits, a signal arrives or the terminal is closed.
///
/// # Errors
/// Returns an error if the terminal cannot be opened.
pub(super) fn run(parts: Parts, is_plain: bool, pace: OutputUnit) -> io::Result<ExitOutcome> {
    let Parts { runtime, mailbox, inbox, history, cwd, keys, first, painted, .. } = parts;
    drop(painted);
    let history = PromptHistory::open(history, mailbox.clone())?;
    let mut early = Vec::new();
    let (control, warnings) = loop {
        match inbox.messages.recv() {
            Ok(Message::Started(control, warnings)) => break (control, warnings),
            Ok(Message::End(code)) => return Ok(ExitOutcome::with(code)),
            Ok(message) => early.push(message),
            // Cannot occur, because this thread owns a sender.
            Err(_) => return Ok(ExitOutcome::with(1)),
        }
    };
    let mut tty = Tty::open(if is_plain { TerminalUse::Plain } else { TerminalUse::Line })?;
    if !is_plain {
        tty.guard();
    }
    let hides_thoughts = control.app.startup.settings.hide_thinking_block;
    let input = InputParser::new(std::env::var_os("SSH_CONNECTION").is_some());
    let words = Words::new(pace, hides_thoughts, keys.of_rows());
    let outgoing = OutgoingQueue::new(SendState::Ready);
    let beginning = ConversationInputs { control, runtime, mailbox, keys, history, cwd, outgoing };
    let mut linear = Linear {
        conversation: Conversation::new(InteractiveForm::Words, beginning),
        terminal: Terminal::new(tty, inbox, input),
        output: LinearOutput::new(is_plain),
        chord: None,
        editor: Editor::new(),
        stash: Stash::default(),
        words,
        asked: VecDeque::new(),
        choices: None,
        wanted: None,
        listed: std::sync::mpsc::channel(),
        is_plain,
        last_key: None,
        begun: None,
        has_ended: false,
    };
    linear.welcome(&warnings);
    early.into_iter().for_each(|message| linear.take_message(message));
    match first {
        Some(text) => {
            linear.output.say(&format!("You: {text}"));
            linear.submit(text, Delivery::Steer);
        }
        None => linear.output.say("Ready."),
    }
    let code = linear.serve();
    let bytes = linear.output.sent();
    linear.terminal.tty.write(bytes);
    let rest = linear.output.write(false, None);
    linear.terminal.tty.write(&rest);
    let (code, moved) = (code.unwrap_or(143), linear.conversation.leaving.moved.take());
    let behind = linear.conversation.leaving.goes_behind.then(|| b"\x07".to_vec());
    if behind.is_some() {
        let control = Arc::clone(&linear.conversation.control);
        // Restores the terminal to its original state.
        drop(linear);
        job::say_behind(&control);
        job::leave_terminal()?;
    }
    Ok(ExitOutcome { code, moved, behind })
}

impl Linear {
    fn serve(&mut self) -> io::Result<u8> {
        loop {
            while let Some(message) = self.terminal.next_message() {
                self.take_message(message);
            }
            while let Ok(choices) = self.listed.1.try_recv() {
                self.say_list(choices);
            }
            self.ask_next();
            if let Some(code) = self.conversation.leaving.code {
                return Ok(code);
            }
            let now = Instant::now();
            if let Some(events) = self.terminal.expire(now) {
                events.into_iter().for_each(|event| self.take_input(event));
                continue;
            }
            self.write(now, self.is_held(now));
            match self.terminal.wait(self.limit(now))? {
                // An empty line that ended with ctrl+d; a second one may mean that the terminal is closed.
                Some(bytes) if bytes.is_empty() => match self.is_plain && !std::mem::replace(&mut self.has_ended, true)
                {
                    true => self.leave(),
                    false => return Err(io::ErrorKind::UnexpectedEof.into()),
                },
                Some(bytes) if self.is_plain => {
                    let line = String::from_utf8_lossy(&bytes).into_owned();
                    self.take_line(&line);
                }
                Some(bytes) => {
                    let events = self.terminal.parse(&bytes);
                    events.into_iter().for_each(|event| self.take_input(event));
                }
                None => {}
            }
        }
    }

    /// Returns the time until the next deadline; `None` if there is none.
    fn limit(&self, now: Instant) -> Option<Duration> {
        let waiting = (self.output.is_waiting() && self.is_held(now)).then(|| self.last_key.map(|key| key + HOLD));
        let due = [self.terminal.due(), waiting.flatten()];
        due.into_iter().flatten().min().map(|due| due.saturating_duration_since(now))
    }

    /// Returns true if the user is typing, so that output waits.
    fn is_held(&self, now: Instant) -> bool {
        !self.editor.is_empty() && self.last_key.is_some_and(|key| now < key + HOLD)
    }

    fn write(&mut self, now: Instant, held: bool) {
        if self.terminal.tty.is_behind() {
            return;
        }
        let style = EditorStyle {
            prompt: match &self.wanted {
                Some(_) => "Write: ",
                None if self.asked.is_empty() && self.choices.is_none() => "You: ",
                None => "Answer: ",
            }
            .into(),
            ..EditorStyle::default()
        };
        // Terminals differ in the effect of a backspace after the last column.
        let columns = self.terminal.tty.size().columns.max(3) - 1;
        let mut dots = Editor::new();
        let editor = match &self.wanted {
            Some(wanted) if wanted.is_hidden() => {
                dots.set_text(&"*".repeat(self.editor.text().chars().count()));
                &mut dots
            }
            _ => &mut self.editor,
        };
        let shown = editor.rows(columns, usize::MAX, &style);
        let is_open = self.conversation.running.is_none()
            || !self.editor.is_empty()
            || !self.asked.is_empty()
            || self.wanted.is_some();
        let bytes = self.output.write(held, is_open.then_some((&*shown.rows, shown.caret)));
        self.terminal.tty.write(&bytes);
        if let (Some(asked), false) = (self.asked.front_mut(), self.output.is_waiting()) {
            asked.was_said(now);
        }
    }

    fn welcome(&mut self, warnings: &[String]) {
        let model = self.conversation.control.session().agent.model().model;
        let answers = if is_absent(&model) { "no model yet".to_string() } else { format!("model {}", model.key()) };
        self.output.say(&format!("sinew {}, {answers}, in {}", env!("CARGO_PKG_VERSION"), self.conversation.cwd));
        if is_absent(&model) {
            self.output.say("No model is configured: /login lists how to set one up.");
        }
        self.output.say("Help: /help lists the commands, /status says what is running, /quit exits.");
        for warning in warnings {
            self.output.say(&format!("Warning: {warning}"));
        }
        self.say_session();
    }

    fn say_session(&mut self) {
        self.conversation.read_prompts();
        self.conversation.show_session();
        match self.conversation.control.messages() {
            Ok(messages) => self.words.session(&mut self.output, &messages),
            Err(error) => self.output.say(&format!("Error: {}", error.message)),
        }
    }

    fn take_message(&mut self, message: Message) {
        match message {
            Message::Event(event) => self.take_event(&event),
            Message::Question(question, send) => self.asked.push_back(OpenQuestion::question(question, send)),
            Message::Approval(request, send) => {
                let (control, mailbox) = self.conversation.handles();
                if let Some((request, send)) = ask::preview(control, mailbox, &self.conversation.runtime, request, send)
                {
                    self.take_message(Message::Previewed(request, Vec::new(), send));
                }
            }
            Message::Previewed(request, changes, send) => {
                // The question may arrive before the event that starts the run.
                self.conversation.run_began();
                let file = self.conversation.control.app.startup.paths.agent.join("settings.json");
                self.asked.push_back(OpenQuestion::approval(&request, &changes, &file, send));
            }
            Message::Notice(text) => self.output.say(&format!("Note: {text}")),
            Message::Failed { error, text } => {
                self.output.say(&format!("Error: {error}"));
                self.give_back(&text);
            }
            Message::Accepted { number, runs } => {
                self.conversation.accepted(number, runs);
                self.hand_over();
            }
            Message::Returned(number) => {
                self.conversation.returned(number).inspect(|text| self.give_back(text));
                self.hand_over();
            }
            Message::ChangeEnded => {
                self.conversation.outgoing.end_change();
                self.hand_over();
            }
            Message::TakenBack(texts) => self.give_back(&texts.join("\n\n")),
            Message::Submit(text) => self.submit(text, Delivery::FollowUp),
            Message::Output(text) | Message::Changed(text) if text.is_empty() => {}
            Message::Output(text) | Message::Changed(text) => self.output.say(&text),
            Message::EditorText(text) => self.give_back(&text),
            Message::Prompts(Ok(prompts)) => self.editor.history().fill(prompts),
            Message::Prompts(Err(error)) => self.output.say(&format!("Note: failed to read the history: {error}")),
            Message::Copied(copied) => {
                let (text, _, bytes) = self.conversation.copied(copied);
                bytes.into_iter().for_each(|bytes| self.terminal.tty.write(&bytes));
                self.output.say(&text);
            }
            Message::Clipboard(Ok(clip)) => {
                pasting::put(&mut self.editor, clip, &self.conversation.control.app.startup.paths.cwd);
            }
            Message::Clipboard(Err(why)) => self.output.say(&format!("Note: {why}")),
            Message::Keys(keys) => {
                keys.faults.iter().for_each(|fault| self.output.say(&format!("Warning: {fault}")));
                self.words.keys = keys.of_rows();
                self.conversation.keys = *keys;
            }
            Message::LoginStep(step) => self.say_login(step),
            Message::LoggedIn { provider, result } => self.end_login(provider, result),
            Message::WorkEnded => self.conversation.work_ended(),
            Message::CommandEnded(..) | Message::Picture(..) | Message::Resized => {}
            // Only panels of the screen use these messages.
            Message::Entries(..)
            | Message::Preview(..)
            | Message::Candidates { .. }
            | Message::Facts(_)
            | Message::Status(_)
            | Message::CommandOutput(..)
            | Message::ModelChanged(_)
            | Message::Label { .. }
            | Message::Viewer(_)
            | Message::SubagentPassages { .. }
            | Message::Reviewed
            | Message::Searched(_)
            | Message::Shown(_)
            | Message::Started(..)
            | Message::ProgramEnded(_) => {}
            Message::SessionChanged(divider) => {
                self.asked.drain(..).for_each(OpenQuestion::refuse);
                // Clears the state of the previous session; its drafts are in the history.
                if self.conversation.change_session() {
                    self.choices = None;
                    self.stash.file(&mut self.editor);
                }
                self.output.say(&format!("Session: {divider}"));
                self.say_session();
                self.output.say("Ready.");
            }
            Message::Moved(moved) => {
                (self.conversation.leaving.code, self.conversation.leaving.moved) = (Some(0), Some(moved));
            }
            Message::End(code) => self.conversation.leaving.code = Some(code),
        }
    }

    /// Inserts a text before the current line; if the kernel edits the line, prints the text instead.
    fn give_back(&mut self, text: &str) {
        if self.is_plain {
            self.output.say(&format!("Not sent: {text}"));
        } else {
            self.editor.prepend(text);
        }
    }

    fn take_event(&mut self, event: &Event) {
        self.words.event(&mut self.output, event);
        let queued = self.conversation.queued_count();
        self.conversation.take_event(event);
        match event {
            Event::AgentSettled {} => self.ready(),
            Event::QueueUpdate { .. } if self.conversation.queued_count() > queued => {
                self.output.say(&format!("Queued: {} for the model", self.conversation.queued_count()));
            }
            _ => {}
        }
    }

    fn ready(&mut self) {
        self.output.say("Ready.");
        self.output.ring();
    }

    /// Prints the next question, after the previous ones were answered.
    fn ask_next(&mut self) {
        self.asked.retain(OpenQuestion::is_open);
        let count = self.asked.len();
        if let Some(asked) = self.asked.front_mut()
            && let Some(words) = asked.words(count)
        {
            self.choices = None;
            self.output.say(&words);
            self.output.ring();
        }
    }

    fn take_input(&mut self, input: Input) {
        match input {
            Input::Paste(text) => {
                self.note_key();
                pasting::paste(&mut self.editor, &text, &self.conversation.control.app.startup.paths.cwd);
            }
            Input::Key(press) => {
                if let Some(known) = self.known_key(&press) {
                    self.note_key();
                    self.take_key(known);
                }
            }
            _ => {}
        }
    }

    /// Records the time of a key press, and of the beginning of a line.
    fn note_key(&mut self) {
        let now = Instant::now();
        self.last_key = Some(now);
        if self.editor.is_empty() {
            self.begun = Some(now);
        }
    }

    fn take_key(&mut self, press: Press<'_>) {
        let is_empty = self.editor.is_empty();
        match press {
            Press::Text(text) => self.editor.insert(text),
            Press::Action(Action::Paste) => self.conversation.read_clipboard(),
            Press::Action(Action::Interrupt | Action::Clear) if self.drop_wanted() => {
                self.conversation.end_login();
                self.output.say("Unchanged.");
            }
            Press::Action(Action::Stash) => {
                let text = self.stash.switch(&mut self.editor).text(&self.conversation.keys);
                self.output.say(&format!("Note: {text}"));
            }
            Press::Action(Action::Submit) => self.enter(Delivery::Steer),
            Press::Action(Action::FollowUp) => self.enter(Delivery::FollowUp),
            Press::Action(Action::Interrupt) => self.interrupt(),
            Press::Action(Action::Clear) if is_empty => self.interrupt(),
            Press::Action(Action::Clear) => drop(self.editor.clear()),
            Press::Action(Action::Exit) if is_empty => self.leave(),
            Press::Action(Action::Dequeue) if !self.conversation.outgoing.is_empty() => {
                self.conversation.outgoing.take_newest().inspect(|text| self.give_back(text));
            }
            Press::Action(Action::Dequeue) => {
                let (control, mailbox) = self.conversation.handles();
                self.conversation.begin(submit::take_back(control, mailbox, false));
            }
            Press::Action(action) => {
                if let Some(edit) = action.edit() {
                    self.editor.act(edit);
                }
            }
        }
    }

    /// Returns the press if it has an action or types a text; `None` if it has no effect, or begins a chord.
    fn known_key<'a>(&mut self, press: &'a KeyPress) -> Option<Press<'a>> {
        let before = self.chord.take();
        let place = EditorState { is_empty: self.editor.is_empty(), panel_waits: false };
        match self.conversation.keys.in_editor(place, before, press) {
            KeyMeaning::Action(action) => Some(Press::Action(action)),
            KeyMeaning::Text => Some(Press::Text(&press.text)),
            KeyMeaning::Begins(key) => {
                self.output.say(&format!("Note: {key} …"));
                self.chord = Some(key);
                None
            }
            KeyMeaning::Nothing => None,
        }
    }

    /// Processes a line from the kernel.
    fn take_line(&mut self, line: &str) {
        self.has_ended = false;
        if line.ends_with(INTERRUPT) {
            return self.interrupt();
        }
        // The beginning of the line is unknown, so the time of its last key is used.
        self.begun = Some(Instant::now());
        self.editor.set_text(line.trim_end_matches(['\n', '\r']));
        self.enter(Delivery::Steer);
    }

    fn leave(&mut self) {
        match self.conversation.running.is_some() {
            true => self.output.say("Note: the model is working, /stop interrupts it, /quit exits"),
            false => self.conversation.leaving.code = Some(0),
        }
    }

    fn interrupt(&mut self) {
        self.conversation.control.abort_bash();
        // A question may arrive before the event that starts the run.
        let is_busy = self.conversation.is_busy() || !self.asked.is_empty();
        self.asked.drain(..).for_each(OpenQuestion::refuse);
        if !is_busy {
            return self.output.say("Note: nothing is running, /quit exits");
        }
        self.output.say("Interrupted.");
        let waiting = self.conversation.interrupt();
        if !waiting.is_empty() {
            self.give_back(&waiting.join("\n\n"));
        }
    }

    fn enter(&mut self, delivery: Delivery) {
        if self.editor.is_empty() && self.wanted.is_none() {
            return;
        }
        let now = Instant::now();
        let begun = self.begun.take().unwrap_or(now);
        // Keys that arrived together with Enter were not shown yet.
        self.write(now, true);
        let bytes = self.output.sent();
        self.terminal.tty.write(bytes);
        self.last_key = None;
        if self.take_wanted() {
            return;
        }
        let text = self.editor.submit();
        if !text.trim_start().starts_with('/')
            && let Some(asked) = self.asked.pop_front()
        {
            let gate = Duration::from_millis(self.conversation.control.app.startup.settings.tui.approval_delay_ms);
            return match asked.answer(text.trim(), begun, gate) {
                Reply::Taken => self.output.say("Answered."),
                Reply::Stops => self.interrupt(),
                Reply::Wrong(asked, why) => {
                    self.output.say(&why);
                    self.asked.push_front(asked);
                }
            };
        }
        if let Some(chosen) = self.choices.take().and_then(|choices| choices.chosen(text.trim())) {
            return self.choose(chosen);
        }
        let is_command = matches!(self.conversation.read(&text), Submission::Slash(..));
        self.submit(text, delivery);
        if !is_command {
            self.stash.give_back(&mut self.editor);
        }
    }

    fn submit(&mut self, text: String, delivery: Delivery) {
        match self.conversation.submit(text, delivery) {
            Some(text) => self.carry_out(text),
            None => self.hand_over(),
        }
    }

    /// Sends waiting prompts, as far as they may continue.
    fn hand_over(&mut self) {
        while let Some(text) = self.conversation.next() {
            self.carry_out(text);
        }
    }

    /// Executes a text that is not a prompt.
    fn carry_out(&mut self, text: String) {
        let (control, mailbox) = self.conversation.handles();
        match self.conversation.read(&text) {
            Submission::Nothing | Submission::Prompt => return,
            Submission::Shell { command, excluded } => {
                self.output.say(&format!("Runs: {command}"));
                let command = command.to_string();
                self.conversation.begin(async move {
                    let ended = control.bash(&command, excluded, Updates::none()).await.map_err(|error| error.message);
                    mailbox.send(Message::Output(words::command_end(ended)));
                });
            }
            Submission::Slash(row, arguments) => self.command(row, arguments),
        }
        self.conversation.remember(text);
    }

    /// Executes a slash command: directly if this mode implements it, otherwise in the background.
    fn command(&mut self, row: &'static Row, arguments: &str) {
        match (row.verb, arguments) {
            (Verb::Background, _) => match self.conversation.go_behind("/quit") {
                Ok(()) => self.asked.drain(..).for_each(OpenQuestion::refuse),
                Err(why) => self.output.say(&format!("Note: {why}")),
            },
            (Verb::Stop, _) => self.interrupt(),
            (Verb::Status, _) => {
                let Conversation { control, running, .. } = &self.conversation;
                let text = words::status(control, running.is_some(), self.conversation.queued_count());
                self.output.say(&text);
            }
            (Verb::Stash, _) => {
                let text = self.stash.switch(&mut self.editor).text(&self.conversation.keys);
                self.output.say(&format!("Note: {text}"));
            }
            (Verb::Tools, NOW) => self.list(Topic::Tools { now: true }),
            (Verb::Login, provider) if !provider.is_empty() => self.log_in(provider),
            (Verb::Settings, place) if self.conversation.keep_settings_in(place) => self.list(Topic::Settings),
            (Verb::Shared(SharedCommand::Help), _) => {
                let text = submit::help(&self.conversation.control, InteractiveForm::Words, &self.conversation.keys);
                self.output.say(&text);
            }
            (Verb::Hotkeys, _) => {
                let text = self.conversation.keys.help(false);
                self.output.say(&text);
            }
            _ => match row.panel {
                // Jobs have their own numbers, and publishing should not be possible by a number.
                Some(panel) if arguments.is_empty() && !matches!(panel, Panel::Jobs | Panel::Share | Panel::Tasks) => {
                    self.list(Topic::of(panel));
                }
                _ => self.conversation.run(row, arguments.to_string()),
            },
        }
    }
}
