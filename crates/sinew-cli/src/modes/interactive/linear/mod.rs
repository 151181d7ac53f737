//! Linear mode: everything in words, line by line, for screen readers and for terminals that know no cursor.
//!
//! | module | what it holds |
//! |---|---|
//! | this one | the loop: keys or lines, messages, deadlines |
//! | `words` | events and messages as lines that begin with a word |
//! | `asked` | questions of the model and of rules, and answers to them |
//! | `list`, `chosen` | numbered lists of which one entry is chosen, what it does, lines that are asked for |

mod asked;
mod chosen;
mod list;
mod words;

use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sinew_agent::agent::Delivery;
use sinew_agent::event::Event;
use sinew_llm::message::AgentMessage;
use sinew_session::history::Prompt;
use sinew_tools::tool::Updates;
use sinew_tui::{Editor, EditorStyle, Event as Input, InputParser, Key, KeyPress, LinearOutput, Pace};
use tokio::runtime::Handle;

use super::ask;
use super::choices::Topic;
use super::choosing::{ChangedSettings, Target};
use super::copy::Copied;
use super::history::PromptHistory;
use super::job;
use super::keys::{self, Action, Bindings, Meaning, Place, Press};
use super::leaving::{Left, Moved};
use super::login::Running;
use super::mailbox::{Inbox, Mailbox, Message};
use super::outgoing::{Door, Outgoing};
use super::pasting;
use super::stash::Stash;
use super::submit::{self, Submission};
use super::tty::{Manner, Tty};
use super::ui::Parts;
use crate::control::Control;
use crate::control::commands::{self, Face, Panel, Row, Shared, Verb};
use crate::control::mcp::NOW;
use crate::models::is_absent;
use asked::{OpenQuestion, Reply};
use chosen::Wanted;
use list::Choices;
use words::Words;

/// The time after a key in which lines wait for the user to go on.
const HOLD: Duration = Duration::from_secs(3);
/// The key that a kernel's line ends with besides Enter: ctrl+c.
const INTERRUPT: char = '\x03';

struct Linear {
    control: Arc<Control>,
    runtime: Handle,
    mailbox: Mailbox,
    inbox: Inbox,
    tty: Tty,
    output: LinearOutput,
    input: InputParser,
    keys: Bindings,
    /// The key that has begun a chord.
    chord: Option<Key>,
    editor: Editor,
    stash: Stash,
    words: Words,
    asked: VecDeque<OpenQuestion>,
    choices: Option<Choices>,
    /// A line that was asked for.
    wanted: Option<Wanted>,
    /// A login that goes on.
    login: Option<Running>,
    changed: ChangedSettings,
    /// Lists that are made by tasks come here.
    listed: (std::sync::mpsc::Sender<Choices>, std::sync::mpsc::Receiver<Choices>),
    history: PromptHistory,
    cwd: String,
    /// The id of the session that was said.
    session: String,
    is_running: bool,
    queued: usize,
    /// Texts that were sent and that the agent does not have yet.
    outgoing: Outgoing,
    /// The terminal knows no cursor: lines come whole.
    is_plain: bool,
    last_byte: Instant,
    last_key: Option<Instant>,
    /// The time at which the line that is being written was begun.
    begun: Option<Instant>,
    /// The last line was empty and ended by ctrl+d.
    has_ended: bool,
    /// The owner of the last copy, which serves the desktop for as long as it lives.
    clipboard: Option<sinew::clipboard::Clipboard>,
    exit: Option<u8>,
    /// The run goes on after the exit, without the terminal.
    goes_behind: bool,
    /// The folder in which the session goes on after the exit.
    moved: Option<Moved>,
}

/// Runs linear mode until the user leaves, a signal comes or the terminal is gone.
///
/// # Errors
/// The terminal cannot be opened.
pub(super) fn run(parts: Parts, is_plain: bool, pace: Pace) -> io::Result<Left> {
    let Parts { runtime, mailbox, inbox, history, cwd, keys, first, painted, .. } = parts;
    drop(painted);
    let history = PromptHistory::open(history, mailbox.clone())?;
    let mut early = Vec::new();
    let (control, warnings) = loop {
        match inbox.messages.recv() {
            Ok(Message::Started(control, warnings)) => break (control, warnings),
            Ok(Message::End(code)) => return Ok(Left::with(code)),
            Ok(message) => early.push(message),
            // This side holds a sender.
            Err(_) => return Ok(Left::with(1)),
        }
    };
    let mut tty = Tty::open(if is_plain { Manner::Plain } else { Manner::Line })?;
    if !is_plain {
        tty.guard();
    }
    let hides_thoughts = control.app.startup.settings.hide_thinking_block;
    let mut linear = Linear {
        control,
        runtime,
        mailbox,
        inbox,
        tty,
        output: LinearOutput::new(is_plain),
        input: InputParser::new(std::env::var_os("SSH_CONNECTION").is_some()),
        keys,
        chord: None,
        editor: Editor::new(),
        stash: Stash::default(),
        words: Words::new(pace, hides_thoughts),
        asked: VecDeque::new(),
        choices: None,
        wanted: None,
        login: None,
        changed: ChangedSettings::default(),
        listed: std::sync::mpsc::channel(),
        history,
        cwd,
        session: String::new(),
        is_running: false,
        queued: 0,
        outgoing: Outgoing::new(Door::Open),
        is_plain,
        last_byte: Instant::now(),
        last_key: None,
        begun: None,
        has_ended: false,
        clipboard: None,
        exit: None,
        goes_behind: false,
        moved: None,
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
    linear.tty.write(bytes);
    let rest = linear.output.write(false, None);
    linear.tty.write(&rest);
    let (code, moved) = (code.unwrap_or(143), linear.moved.take());
    let behind = linear.goes_behind.then(|| b"\x07".to_vec());
    if behind.is_some() {
        let control = Arc::clone(&linear.control);
        // The terminal is as it was found from here on.
        drop(linear);
        job::say_behind(&control);
        job::leave_terminal()?;
    }
    Ok(Left { code, moved, behind })
}

impl Linear {
    fn serve(&mut self) -> io::Result<u8> {
        let mut buffer = vec![0; 64 << 10];
        loop {
            while let Ok(message) = self.inbox.messages.try_recv() {
                self.take_message(message);
            }
            while let Ok(choices) = self.listed.1.try_recv() {
                self.say_list(choices);
            }
            self.ask_next();
            if let Some(code) = self.exit {
                return Ok(code);
            }
            let now = Instant::now();
            if self.input.patience().is_some_and(|patience| now >= self.last_byte + patience) {
                let events = self.input.expire();
                events.into_iter().for_each(|event| self.take_input(event));
                continue;
            }
            self.write(now, self.is_held(now));
            let ready = self.tty.wait(&self.inbox.wake, self.limit(now))?;
            if ready.woken {
                self.inbox.drain_wake(&mut buffer);
            }
            if ready.input {
                match self.tty.read(&mut buffer)? {
                    // An empty line that ctrl+d ended; a second one may be the end of the terminal.
                    Some([]) if self.is_plain && !std::mem::replace(&mut self.has_ended, true) => self.leave(),
                    Some([]) => return Err(io::ErrorKind::UnexpectedEof.into()),
                    Some(bytes) if self.is_plain => {
                        let line = String::from_utf8_lossy(bytes).into_owned();
                        self.take_line(&line);
                    }
                    Some(bytes) => {
                        self.last_byte = Instant::now();
                        let events = self.input.feed(bytes);
                        events.into_iter().for_each(|event| self.take_input(event));
                    }
                    None => {}
                }
            }
        }
    }

    /// The time until something is due; none: nothing is.
    fn limit(&self, now: Instant) -> Option<Duration> {
        let waiting = (self.output.is_waiting() && self.is_held(now)).then(|| self.last_key.map(|key| key + HOLD));
        let due = [self.input.patience().map(|patience| self.last_byte + patience), waiting.flatten()];
        due.into_iter().flatten().min().map(|due| due.saturating_duration_since(now))
    }

    /// Returns true if the user is writing, so that lines wait.
    fn is_held(&self, now: Instant) -> bool {
        !self.editor.is_empty() && self.last_key.is_some_and(|key| now < key + HOLD)
    }

    fn write(&mut self, now: Instant, held: bool) {
        if self.tty.is_behind() {
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
        // Behind the last column a step back goes to another place in each terminal.
        let columns = self.tty.size().columns.max(3) - 1;
        let mut dots = Editor::new();
        let editor = match &self.wanted {
            Some(wanted) if wanted.is_hidden() => {
                dots.set_text(&"*".repeat(self.editor.text().chars().count()));
                &mut dots
            }
            _ => &mut self.editor,
        };
        let shown = editor.rows(columns, usize::MAX, &style);
        let is_open = !self.is_running || !self.editor.is_empty() || !self.asked.is_empty() || self.wanted.is_some();
        let bytes = self.output.write(held, is_open.then_some((&*shown.rows, shown.caret)));
        self.tty.write(&bytes);
        if let (Some(asked), false) = (self.asked.front_mut(), self.output.is_waiting()) {
            asked.was_said(now);
        }
    }

    fn begin(&self, work: impl Future<Output = ()> + Send + 'static) {
        let control = Arc::clone(&self.control);
        self.runtime.spawn(async move { control.tasks.begin(work).await });
    }

    fn welcome(&mut self, warnings: &[String]) {
        let model = self.control.session().agent.model().model;
        let answers = if is_absent(&model) { "no model yet".to_string() } else { format!("model {}", model.key()) };
        self.output.say(&format!("sinew {}, {answers}, in {}", env!("CARGO_PKG_VERSION"), self.cwd));
        if is_absent(&model) {
            self.output.say("To get a model: /login lists the ways.");
        }
        self.output.say("Help: /help lists the commands, /status says what goes on, /quit leaves.");
        for warning in warnings {
            self.output.say(&format!("Warning: {warning}"));
        }
        self.say_session();
    }

    fn say_session(&mut self) {
        // The file may be long, or locked by another program.
        let (prompts, mailbox, cwd) = (self.history.reader(), self.mailbox.clone(), self.cwd.clone());
        self.runtime.spawn_blocking(move || mailbox.send(Message::Prompts(prompts.texts(Path::new(&cwd)))));
        self.session = self.control.session().agent.session().id().to_string();
        match self.control.messages() {
            Ok(messages) => self.words.session(&mut self.output, &messages),
            Err(error) => self.output.say(&format!("Error: {}", error.message)),
        }
    }

    fn take_message(&mut self, message: Message) {
        match message {
            Message::Event(event) => self.take_event(&event),
            Message::Question(question, send) => self.asked.push_back(OpenQuestion::question(question, send)),
            Message::Approval(request, send) => {
                let (control, mailbox) = (Arc::clone(&self.control), self.mailbox.clone());
                if let Some((request, send)) = ask::preview(control, mailbox, &self.runtime, request, send) {
                    self.take_message(Message::Previewed(request, Vec::new(), send));
                }
            }
            Message::Previewed(request, changes, send) => {
                // It may come before the event that says that the run began.
                self.is_running = true;
                let file = self.control.app.startup.paths.agent.join("settings.json");
                self.asked.push_back(OpenQuestion::approval(&request, &changes, &file, send));
            }
            Message::Notice(text) => self.output.say(&format!("Note: {text}")),
            Message::Failed { error, text } => {
                self.output.say(&format!("Error: {error}"));
                self.give_back(&text);
            }
            Message::Accepted { number, runs } => {
                if self.outgoing.accepted(number, runs) {
                    self.end_run();
                }
                self.hand_over();
            }
            Message::Returned(number) => {
                let (text, is_interrupted) = self.outgoing.returned(number);
                text.inspect(|text| self.give_back(text));
                if is_interrupted {
                    self.end_run();
                }
                self.hand_over();
            }
            Message::ChangeEnded => {
                self.outgoing.end_change();
                self.hand_over();
            }
            Message::TakenBack(texts) => self.give_back(&texts.join("\n\n")),
            Message::Output(text) | Message::Changed(text) if text.is_empty() => {}
            Message::Output(text) | Message::Changed(text) => self.output.say(&text),
            Message::EditorText(text) => self.give_back(&text),
            Message::Prompts(Ok(prompts)) => self.editor.history().fill(prompts),
            Message::Prompts(Err(error)) => self.output.say(&format!("Note: the history was not read: {error}")),
            Message::Copied(Copied { text, bytes, clipboard, .. }) => {
                bytes.into_iter().for_each(|bytes| self.tty.write(&bytes));
                self.clipboard = clipboard;
                self.output.say(&text);
            }
            Message::Clipboard(Ok(clip)) => {
                pasting::put(&mut self.editor, clip, &self.control.app.startup.paths.cwd);
            }
            Message::Clipboard(Err(why)) => self.output.say(&format!("Note: {why}")),
            Message::Keys(keys) => {
                keys.faults.iter().for_each(|fault| self.output.say(&format!("Warning: {fault}")));
                self.keys = *keys;
            }
            Message::LoginStep(step) => self.say_login(step),
            Message::LoggedIn { provider, result } => self.end_login(provider, result),
            Message::CommandEnded(..) | Message::Picture(..) | Message::Resized => {}
            // Only panels of the screen ask for these.
            Message::Entries(..)
            | Message::Preview(..)
            | Message::Candidates { .. }
            | Message::Facts(_)
            | Message::Status(_)
            | Message::WorkEnded
            | Message::CommandOutput(..)
            | Message::ModelChanged(_)
            | Message::Label { .. }
            | Message::Viewer(_)
            | Message::Searched(_)
            | Message::Shown(_)
            | Message::Started(..)
            | Message::ProgramEnded(_) => {}
            Message::SessionChanged(divider) => {
                self.is_running = false;
                self.asked.drain(..).for_each(OpenQuestion::refuse);
                // Nothing of the session that was left is seen in the next one; its drafts are in the history.
                if self.session != self.control.session().agent.session().id() {
                    self.choices = None;
                    self.queued = 0;
                    self.stash.file(&mut self.editor);
                }
                self.output.say(&format!("Session: {divider}"));
                self.say_session();
                self.output.say("Ready.");
            }
            Message::Moved(moved) => (self.exit, self.moved) = (Some(0), Some(moved)),
            Message::End(code) => self.exit = Some(code),
        }
    }

    /// Puts text back in front of what is written; where the kernel has the line, says it.
    fn give_back(&mut self, text: &str) {
        if self.is_plain {
            self.output.say(&format!("Not sent: {text}"));
        } else {
            self.editor.prepend(text);
        }
    }

    fn take_event(&mut self, event: &Event) {
        self.words.event(&mut self.output, event);
        match event {
            Event::AgentStart => self.is_running = true,
            Event::MessageStart { message: AgentMessage::User(_) } => self.outgoing.began(),
            Event::AgentSettled {} => {
                self.outgoing.began();
                self.is_running = false;
                self.ready();
            }
            Event::QueueUpdate { steering, follow_up } => {
                let queued = steering.len() + follow_up.len();
                if queued > self.queued {
                    self.output.say(&format!("Waits: {queued} for the model"));
                }
                self.queued = queued;
            }
            _ => {}
        }
    }

    fn ready(&mut self) {
        self.output.say("Ready.");
        self.output.ring();
    }

    /// Says the question that is next, once those before it are answered.
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
                pasting::paste(&mut self.editor, &text, &self.control.app.startup.paths.cwd);
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

    /// Keeps when a key was pressed, and when the line was begun.
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
            Press::Action(Action::Paste) => {
                let (control, mailbox) = (Arc::clone(&self.control), self.mailbox.clone());
                let read = move || mailbox.send(Message::Clipboard(pasting::read_clipboard(&control)));
                self.runtime.spawn_blocking(read);
            }
            Press::Action(Action::Interrupt | Action::Clear) if self.drop_wanted() => {
                self.login = None;
                self.output.say("Left as it was.");
            }
            Press::Action(Action::Stash) => {
                let text = self.stash.switch(&mut self.editor).text(&self.keys);
                self.output.say(&format!("Note: {text}"));
            }
            Press::Action(Action::Submit) => self.enter(Delivery::Steer),
            Press::Action(Action::FollowUp) => self.enter(Delivery::FollowUp),
            Press::Action(Action::Interrupt) => self.interrupt(),
            Press::Action(Action::Clear) if is_empty => self.interrupt(),
            Press::Action(Action::Clear) => drop(self.editor.clear()),
            Press::Action(Action::Exit) if is_empty => self.leave(),
            Press::Action(Action::Dequeue) if !self.outgoing.is_empty() => {
                self.outgoing.take_newest().inspect(|text| self.give_back(text));
            }
            Press::Action(Action::Dequeue) => {
                self.begin(submit::take_back(Arc::clone(&self.control), self.mailbox.clone(), false));
            }
            Press::Action(action) => {
                if let Some(edit) = action.edit() {
                    self.editor.act(edit);
                }
            }
        }
    }

    /// The meaning of a press; none where it calls nothing, or begins a chord.
    fn known_key<'a>(&mut self, press: &'a KeyPress) -> Option<Press<'a>> {
        let before = self.chord.take();
        let place = Place { is_empty: self.editor.is_empty(), panel_waits: false };
        match self.keys.in_editor(place, before, press) {
            Meaning::Action(action) => Some(Press::Action(action)),
            Meaning::Text => Some(Press::Text(&press.text)),
            Meaning::Begins(key) => {
                self.output.say(&format!("Note: {key} …"));
                self.chord = Some(key);
                None
            }
            Meaning::Nothing => None,
        }
    }

    /// Takes a line of the kernel.
    fn take_line(&mut self, line: &str) {
        self.has_ended = false;
        if line.ends_with(INTERRUPT) {
            return self.interrupt();
        }
        // A line that comes whole was begun some time before: its last key is what can be known.
        self.begun = Some(Instant::now());
        self.editor.set_text(line.trim_end_matches(['\n', '\r']));
        self.enter(Delivery::Steer);
    }

    fn leave(&mut self) {
        match self.is_running {
            true => self.output.say("Note: the model is at work, /stop interrupts it, /quit leaves"),
            false => self.exit = Some(0),
        }
    }

    fn interrupt(&mut self) {
        self.control.abort_bash();
        // A question may come before the event that says that a run began.
        let is_busy = self.is_running || self.queued > 0 || !self.asked.is_empty() || !self.outgoing.is_empty();
        self.asked.drain(..).for_each(OpenQuestion::refuse);
        if is_busy {
            self.output.say("Interrupted.");
            let (waiting, is_one_on_the_way) = self.outgoing.take_back();
            if !waiting.is_empty() {
                self.give_back(&waiting.join("\n\n"));
            }
            match is_one_on_the_way {
                // What is queued is older than that one: it comes back behind it, and so in front.
                true => submit::end_work(&self.control),
                false => self.end_run(),
            }
        } else {
            self.output.say("Note: nothing runs, /quit leaves");
        }
    }

    /// Ends the run and takes back what is queued for it.
    fn end_run(&self) {
        self.begin(submit::take_back(Arc::clone(&self.control), self.mailbox.clone(), true));
    }

    fn enter(&mut self, delivery: Delivery) {
        if self.editor.is_empty() && self.wanted.is_none() {
            return;
        }
        let now = Instant::now();
        let begun = self.begun.take().unwrap_or(now);
        // Keys that came together with Enter were not shown yet.
        self.write(now, true);
        let bytes = self.output.sent();
        self.tty.write(bytes);
        self.last_key = None;
        if self.take_wanted() {
            return;
        }
        let text = self.editor.submit();
        if !text.trim_start().starts_with('/')
            && let Some(asked) = self.asked.pop_front()
        {
            let gate = Duration::from_millis(self.control.app.startup.settings.tui.approval_delay_ms);
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
        let is_command = matches!(submit::read(&text, Face::Words), Submission::Slash(..));
        self.submit(text, delivery);
        if !is_command {
            self.stash.give_back(&mut self.editor);
        }
    }

    fn submit(&mut self, text: String, delivery: Delivery) {
        let is_prompt = match submit::read(&text, Face::Words) {
            Submission::Prompt => true,
            // It would change the session below a prompt that is on its way.
            Submission::Slash(row, _) => row.changes_session() && self.outgoing.is_on_the_way(),
            _ => false,
        };
        let is_stop = matches!(submit::read(&text, Face::Words), Submission::Slash(row, _) if matches!(row.verb, Verb::Stop | Verb::Status));
        if (is_prompt || self.outgoing.door() != Door::Open) && !is_stop {
            self.outgoing.push(text, delivery);
            return self.hand_over();
        }
        self.carry_out(text);
    }

    /// Hands over what waits, as far as it may go on.
    fn hand_over(&mut self) {
        while let Some(text) = self.outgoing.first() {
            if submit::read(text, Face::Words) != Submission::Prompt {
                self.outgoing.take_first().into_iter().for_each(|(text, _)| self.carry_out(text));
            } else if let Some(given) = self.outgoing.give() {
                self.remember(given.text.clone());
                self.begin(submit::prompt(Arc::clone(&self.control), self.mailbox.clone(), given));
            }
        }
    }

    /// Runs the first command of a verb.
    fn run_slash(&mut self, verb: Verb, arguments: String) {
        if let Some(row) = commands::of_face(Face::Words).find(|row| row.verb == verb) {
            self.run_row(row, arguments);
        }
    }

    /// Runs a command after which another session may be current.
    fn run_row(&mut self, row: &'static Row, arguments: String) {
        if row.changes_session() {
            self.outgoing.set_door(Door::Changing);
        }
        self.runtime.spawn(submit::slash(Arc::clone(&self.control), self.mailbox.clone(), row, arguments));
    }

    /// Does what a text asks for that is no prompt.
    fn carry_out(&mut self, text: String) {
        let (control, mailbox) = (Arc::clone(&self.control), self.mailbox.clone());
        match submit::read(&text, Face::Words) {
            Submission::Nothing | Submission::Prompt => return,
            Submission::Shell { command, excluded } => {
                self.output.say(&format!("Runs: {command}"));
                let command = command.to_string();
                self.begin(async move {
                    let ended = control.bash(&command, excluded, Updates::none()).await.map_err(|error| error.message);
                    mailbox.send(Message::Output(words::command_end(ended)));
                });
            }
            Submission::Slash(row, arguments) => self.command(row, arguments),
        }
        self.remember(text);
    }

    /// Does what a slash command asks for: what this mode does itself, else what runs elsewhere.
    fn command(&mut self, row: &'static Row, arguments: &str) {
        match (row.verb, arguments) {
            (Verb::Background, _) => match self.control.session().agent.is_running() {
                true if self.outgoing.is_empty() => {
                    self.asked.drain(..).for_each(OpenQuestion::refuse);
                    (self.exit, self.goes_behind) = (Some(0), true);
                }
                true => self.output.say("Note: a text is on its way to the agent: try again when it is there"),
                false => self.output.say("Note: no run goes on: /quit leaves"),
            },
            (Verb::Stop, _) => self.interrupt(),
            (Verb::Status, _) => self.output.say(&words::status(&self.control, self.is_running, self.queued)),
            (Verb::Stash, _) => {
                let text = self.stash.switch(&mut self.editor).text(&self.keys);
                self.output.say(&format!("Note: {text}"));
            }
            (Verb::Tools, NOW) => self.list(Topic::Tools { now: true }),
            (Verb::Login, provider) if !provider.is_empty() => self.log_in(provider),
            (Verb::Settings, place) if Target::named(place).is_some() => {
                self.changed.target = Target::named(place).unwrap_or_default();
                self.list(Topic::Settings);
            }
            (Verb::Shared(Shared::Help), _) => {
                let text = submit::help(&self.control, Face::Words, &self.keys);
                self.output.say(&text);
            }
            (Verb::Hotkeys, _) => {
                let text = self.keys.help(false);
                self.output.say(&text);
            }
            (verb, arguments) => match row.panel {
                // Jobs have numbers of their own, and nothing is published by a number.
                Some(panel) if arguments.is_empty() && !matches!(panel, Panel::Jobs | Panel::Share) => {
                    self.list(Topic::of(panel));
                }
                _ => {
                    if verb == Verb::Reload {
                        let file = self.control.app.startup.paths.agent.join(keys::FILE);
                        let mailbox = self.mailbox.clone();
                        let read = move || mailbox.send(Message::Keys(Box::new(Bindings::read(&file))));
                        self.runtime.spawn_blocking(read);
                    }
                    self.run_row(row, arguments.to_string());
                }
            },
        }
    }

    /// Keeps a text in the history.
    fn remember(&self, text: String) {
        let prompt = Prompt { prompt: text, created_at: self.control.app.clock.now(), cwd: self.cwd.clone() };
        self.history.add(prompt);
    }
}
