//! The thread of the screen: it waits for keys, messages and deadlines, and paints. It never waits for the agent, and the
//! agent never waits for it.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use sinew_agent::agent::Delivery;
use sinew_agent::event::Event;
use sinew_session::history::{History, Prompt};
use sinew_tui::theme::{Theme, contrast};
use sinew_tui::{
    Caret, Chrome, Editor, EditorStyle, Event as Input, InputParser, Line, Reply, Row, Screen, ScreenOptions, Size,
    Style, TextBlock,
};
use tokio::runtime::Handle;

use super::blocks::{DIM, ERROR, NOTICE, ToolBlock};
use super::keys;
use super::mailbox::{Inbox, Mailbox, Message};
use super::panel::{Effect, Panel, TYPING};
use super::status::{self, Activity, Facts, NOTICE_TIME};
use super::submit::{self, Submission};
use super::transcript::{self, Transcript};
use super::tty::Tty;
use crate::control::Control;

/// Silence after the last change of size before the screen is laid out anew.
const SETTLE: Duration = Duration::from_millis(30);
/// How long the terminal may take to say where the cursor is.
const CURSOR: Duration = Duration::from_millis(150);
/// Time in which a second ctrl+c or Esc counts as one with the first.
const TWICE: Duration = Duration::from_millis(500);
/// Messages of a session that goes on which are shown again.
const SHOWN: usize = 40;

/// What the thread starts with.
pub(super) struct Parts {
    pub(super) control: Arc<Control>,
    pub(super) runtime: Handle,
    pub(super) mailbox: Mailbox,
    pub(super) inbox: Inbox,
    pub(super) options: ScreenOptions,
    pub(super) history: PathBuf,
    pub(super) cwd: String,
    pub(super) warnings: Vec<String>,
    /// The prompt of the command line.
    pub(super) first: Option<String>,
}

struct Ui {
    control: Arc<Control>,
    runtime: Handle,
    mailbox: Mailbox,
    inbox: Inbox,
    tty: Tty,
    screen: Screen,
    input: InputParser,
    editor: Editor,
    transcript: Transcript,
    panels: VecDeque<Panel>,
    facts: Facts,
    cwd: String,
    history: History,
    queued: (Vec<String>, Vec<String>),
    running: Option<Instant>,
    notice: Option<(String, Instant)>,
    last_byte: Instant,
    /// The last key, and the last ctrl+c or Esc.
    last_key: Option<Instant>,
    pressed: Option<(&'static str, Instant)>,
    resized: Option<Instant>,
    asked: Option<Instant>,
    exit: Option<u8>,
}

/// Runs the screen until the user leaves, a signal comes or the terminal is gone; gives the exit code.
///
/// # Errors
/// The terminal cannot be opened.
pub(super) fn run(parts: Parts) -> io::Result<u8> {
    let Parts { control, runtime, mailbox, inbox, options, history, cwd, warnings, first } = parts;
    let tty = Tty::open()?;
    let screen = Screen::new(tty.size(), options, Arc::new(Theme::default()));
    let mut ui = Ui {
        control,
        runtime,
        mailbox,
        inbox,
        tty,
        screen,
        input: InputParser::new(std::env::var_os("SSH_CONNECTION").is_some()),
        editor: Editor::new(),
        transcript: Transcript::default(),
        panels: VecDeque::new(),
        facts: Facts::default(),
        cwd,
        history: History::new(history),
        queued: Default::default(),
        running: None,
        notice: None,
        last_byte: Instant::now(),
        last_key: None,
        pressed: None,
        resized: None,
        asked: None,
        exit: None,
    };
    ui.welcome(&warnings);
    if let Some(text) = first {
        ui.submit(text, Delivery::Steer);
    }
    let code = ui.serve();
    let bytes = ui.screen.leave();
    ui.tty.write(&bytes);
    // A terminal that is gone ends the program as its hangup does.
    Ok(code.unwrap_or(143))
}

impl Ui {
    fn serve(&mut self) -> io::Result<u8> {
        let mut buffer = vec![0; 64 << 10];
        loop {
            self.take_messages();
            if let Some(code) = self.exit {
                return Ok(code);
            }
            self.follow_deadlines();
            let more = self.paint();
            let limit = if more { Some(Duration::ZERO) } else { self.limit() };
            let ready = self.tty.wait(&self.inbox.wake, limit)?;
            if ready.woken {
                // Only the fact that it came matters; an error is that there is no more.
                while (&self.inbox.wake).read(&mut buffer).is_ok_and(|count| count == buffer.len()) {}
            }
            if ready.input {
                match self.tty.read(&mut buffer)? {
                    Some([]) => return Err(io::ErrorKind::UnexpectedEof.into()),
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
    fn limit(&self) -> Option<Duration> {
        let now = Instant::now();
        let second = self.running.map(|since| {
            let passed = now.saturating_duration_since(since);
            now + Duration::from_secs(passed.as_secs() + 1) - passed
        });
        let due = [
            self.input.patience().map(|patience| self.last_byte + patience),
            self.resized.map(|at| at + SETTLE),
            self.asked.map(|at| at + CURSOR),
            self.notice.as_ref().map(|(_, until)| *until),
            second,
        ];
        due.into_iter().flatten().min().map(|due| due.saturating_duration_since(now))
    }

    fn follow_deadlines(&mut self) {
        let now = Instant::now();
        if self.input.patience().is_some_and(|patience| now >= self.last_byte + patience) {
            let events = self.input.expire();
            events.into_iter().for_each(|event| self.take_input(event));
        }
        if self.notice.as_ref().is_some_and(|(_, until)| now >= *until) {
            self.notice = None;
        }
        if self.resized.is_some_and(|at| now >= at + SETTLE) {
            (self.resized, self.asked) = (None, Some(now));
            self.input.await_cursor();
            let question = self.screen.ask_place();
            self.tty.write(question);
        } else if self.asked.is_some_and(|at| now >= at + CURSOR) {
            self.asked = None;
            let frame = self.screen.give_up_place();
            self.tty.write(&frame.bytes);
        }
    }

    fn resize(&mut self) {
        let size = self.tty.size();
        if size != self.screen.size() || self.screen.is_resizing() {
            self.screen.resize(size);
            (self.resized, self.asked) = (Some(Instant::now()), None);
        }
    }

    /// Paints what changed; tells whether more is ready to scroll out.
    fn paint(&mut self) -> bool {
        // A terminal that is behind gets the newest state once it has taken the older one.
        if self.tty.is_behind() {
            return false;
        }
        self.panels.retain(Panel::is_open);
        let Size { columns, rows } = self.screen.size();
        let now = Instant::now();
        let style = EditorStyle {
            prompt: if self.editor.text().starts_with('!') { "! " } else { "› " }.into(),
            ..EditorStyle::default()
        };
        let shown = self.editor.rows(columns, (rows / 3).clamp(1, 12), &style);
        let activity = Activity {
            since: self.running,
            what: self.transcript.activity(),
            queued: self.queued.0.len() + self.queued.1.len(),
            notice: self.notice.as_ref().map(|(text, _)| text.as_str()),
        };
        let status = status::row(&activity, &self.facts, columns, now);
        let waiting = self.panels.len();
        let cover = match self.panels.front_mut() {
            Some(panel) => {
                let mut cover = panel.rows(columns, (rows * 3 / 5).max(3));
                if waiting > 1 {
                    cover.push(Line::styled(&format!("1 of {waiting}"), DIM).into_row(columns));
                }
                cover
            }
            None => Vec::new(),
        };
        self.screen.set_chrome(Chrome {
            above: queue_rows(&self.queued, columns),
            cover,
            status: if columns < 20 || rows < 6 { Vec::new() } else { vec![status] },
            editor: shown.rows,
            caret: Caret { row: shown.caret.0, column: shown.caret.1, ..Caret::default() },
        });
        let frame = self.screen.paint();
        self.tty.write(&frame.bytes);
        frame.more
    }

    fn notify(&mut self, text: impl Into<String>) {
        self.notice = Some((text.into(), Instant::now() + NOTICE_TIME));
    }

    fn begin(&self, work: impl Future<Output = ()> + Send + 'static) {
        let control = Arc::clone(&self.control);
        self.runtime.spawn(async move { control.tasks.begin(work).await });
    }

    fn welcome(&mut self, warnings: &[String]) {
        let mut head = Line::styled("sinew ", Style::PLAIN.with(sinew_tui::Attrs::BOLD));
        head.push(env!("CARGO_PKG_VERSION"), DIM);
        self.refresh();
        let model = format!("{} in {}", self.facts.model, self.cwd);
        self.screen.push(TextBlock::new("", Style::PLAIN).with_prefix(head, Line::new()));
        self.screen.push_close(TextBlock::new(&model, DIM));
        self.screen.push_close(TextBlock::new("/help · @file · !command · esc interrupts · ctrl+d leaves", DIM));
        for warning in warnings {
            transcript::line(&mut self.screen, &format!("! {warning}"), NOTICE);
        }
        self.show_session();
    }

    /// Shows the last messages of the current session, and takes its prompts for the history.
    fn show_session(&mut self) {
        match self.history.search("", Path::new(&self.cwd)) {
            // Oldest first: the newest of this folder is the first that the arrow finds.
            Ok(prompts) => self.editor.history().fill(prompts.into_iter().rev().map(|prompt| prompt.prompt).collect()),
            Err(error) => self.notify(format!("the history was not read: {error}")),
        }
        match self.control.messages() {
            Ok(messages) => {
                let older = messages.len().saturating_sub(SHOWN);
                if older > 0 {
                    transcript::line(&mut self.screen, &format!("⋯ {older} earlier messages"), DIM);
                }
                messages[older..].iter().for_each(|message| transcript::show_message(&mut self.screen, message));
            }
            Err(error) => transcript::line(&mut self.screen, &format!("✗ {}", error.message), ERROR),
        }
    }

    /// Reads the facts of the status row anew.
    fn refresh(&mut self) {
        let open = self.control.session();
        let level = open.agent.thinking();
        let model = open.agent.model().model;
        self.facts.model = match model.reasoning {
            true => format!("{} ({})", model.key(), level.as_str()),
            false => model.key(),
        };
        self.facts.folder.clone_from(&self.cwd);
        if let Ok(stats) = self.control.stats() {
            self.facts.context = stats
                .context
                .filter(|usage| usage.context_window > 0)
                .map(|usage| usage.tokens * 100 / usage.context_window);
            self.facts.cost =
                if stats.counts.cost > 0.0 { format!("${:.2}", stats.counts.cost) } else { String::new() };
        }
    }

    fn take_messages(&mut self) {
        while let Ok(message) = self.inbox.messages.try_recv() {
            self.take_message(message);
        }
    }

    fn take_message(&mut self, message: Message) {
        let now = Instant::now();
        match message {
            Message::Event(event) => self.take_event(&event),
            Message::Question(question, send) => {
                self.panels.push_back(Panel::question(question, send, self.is_free(now), now))
            }
            Message::Permission(title, body, send) => {
                self.panels.push_back(Panel::permission(title, body, send, self.is_free(now), now));
            }
            Message::Notice(text) => self.notify(text),
            Message::Failed { error, text } => {
                transcript::line(&mut self.screen, &format!("✗ {error}"), ERROR);
                self.editor.prepend(&text);
            }
            Message::TakenBack(texts) => self.editor.prepend(&texts.join("\n\n")),
            Message::Output(text) => transcript::line(&mut self.screen, &text, Style::PLAIN),
            Message::CommandEnded(block, Ok(Some(run))) => transcript::end_command(&mut self.screen, block, &run),
            Message::CommandEnded(block, ended) => {
                if let Some(block) = self.screen.block::<ToolBlock>(block) {
                    block.finish_command(ended.err().unwrap_or_default(), None, None);
                }
            }
            Message::SessionChanged => {
                self.queued = Default::default();
                self.running = None;
                transcript::line(&mut self.screen, "── another session ──", DIM);
                self.show_session();
                self.refresh();
            }
            Message::Resized => self.resize(),
            Message::End(code) => self.exit = Some(code),
        }
    }

    fn take_event(&mut self, event: &Event) {
        self.transcript.show(&mut self.screen, event);
        match event {
            Event::AgentStart => self.running = self.running.or_else(|| Some(Instant::now())),
            Event::AgentSettled {} => {
                self.running = None;
                self.refresh();
            }
            Event::TurnEnd { .. } | Event::ModelFallback { .. } | Event::ModelPromoted { .. } => self.refresh(),
            Event::QueueUpdate { steering, follow_up } => self.queued = (steering.clone(), follow_up.clone()),
            _ => {}
        }
    }

    /// Tells whether a panel may take the keys at once: nobody is typing.
    fn is_free(&self, now: Instant) -> bool {
        self.editor.is_empty() && self.last_key.is_none_or(|last| now >= last + TYPING)
    }

    fn take_input(&mut self, input: Input) {
        match input {
            Input::Paste(text) => self.editor.paste(&text),
            Input::Reply(Reply::Cursor(row, column)) => {
                self.asked = None;
                let frame = self.screen.place(row, column);
                self.tty.write(&frame.bytes);
            }
            Input::Reply(Reply::KittyFlags(_)) => {
                self.tty.set_kitty();
                self.input.set_kitty(true);
            }
            Input::Reply(Reply::Mode(2026, 1 | 2)) => {
                let options = ScreenOptions { synchronized: true, ..self.screen.options() };
                self.screen.set_options(options);
            }
            Input::Reply(Reply::Background(color)) => {
                let is_light = contrast(color, [0; 3]) > contrast(color, [255; 3]);
                let theme = if is_light { Theme::light() } else { Theme::dark() };
                self.screen.set_theme(Arc::new(theme));
            }
            Input::Key(press) => {
                let key = press.key.to_string();
                self.take_key(&key, &press.text);
                self.last_key = Some(Instant::now());
            }
            Input::Reply(_) | Input::Focus(_) | Input::Unknown(_) => {}
        }
    }

    fn take_key(&mut self, key: &str, text: &str) {
        let now = Instant::now();
        if self.panels.front().is_some_and(|panel| panel.has_focus) && !key.starts_with("ctrl+c") {
            return self.take_panel_key(key, now);
        }
        match key {
            "tab" if !self.panels.is_empty() => {
                if let Some(panel) = self.panels.front_mut() {
                    panel.has_focus = true;
                }
            }
            "enter" => self.enter(Delivery::Steer),
            "alt+enter" | "ctrl+enter" | "ctrl+q" => self.enter(Delivery::FollowUp),
            "escape" => self.escape(now),
            "ctrl+c" => self.interrupt_or_clear(now),
            "ctrl+d" if self.editor.is_empty() => match self.running {
                Some(_) => self.notify("the model is at work: esc interrupts it"),
                None => self.exit = Some(0),
            },
            "alt+up" => self.begin(submit::take_back(Arc::clone(&self.control), self.mailbox.clone(), false)),
            "shift+tab" => {
                match self.control.cycle_thinking() {
                    Some(level) => self.notify(format!("thinking: {}", level.as_str())),
                    None => self.notify("this model does not think"),
                }
                self.refresh();
            }
            "ctrl+l" => {
                let frame = self.screen.reset();
                self.tty.write(&frame.bytes);
            }
            "ctrl+z" => self.suspend(),
            key => match keys::action(key) {
                Some(action) => drop(self.editor.act(action)),
                None if !text.is_empty() => self.editor.insert(text),
                None => {}
            },
        }
    }

    fn take_panel_key(&mut self, key: &str, now: Instant) {
        let Some(mut panel) = self.panels.pop_front() else { return };
        if key == "tab" {
            panel.has_focus = false;
            return self.panels.push_front(panel);
        }
        let (open, effect) = panel.key(key, now);
        self.panels.extend(open.into_iter().collect::<Vec<_>>());
        // The panel that stays is the first again.
        if effect == Effect::Stays {
            self.panels.rotate_right(1);
        }
        if effect == Effect::Stops {
            self.panels.drain(..).for_each(Panel::refuse);
            self.begin(submit::take_back(Arc::clone(&self.control), self.mailbox.clone(), true));
        } else if let Some(next) = self.panels.front_mut() {
            next.has_focus = true;
        }
    }

    fn enter(&mut self, delivery: Delivery) {
        if self.editor.is_empty() {
            return;
        }
        // Words of the user in answer to a question of the model.
        if let Some(panel) = self.panels.pop_front() {
            let text = self.editor.text();
            match panel.answer(text.trim()) {
                None => drop(self.editor.submit()),
                Some(panel) => {
                    self.panels.push_front(panel);
                    self.notify("a call waits for your permission: tab");
                }
            }
            return;
        }
        let text = self.editor.submit();
        self.submit(text, delivery);
    }

    fn submit(&mut self, text: String, delivery: Delivery) {
        let (control, mailbox) = (Arc::clone(&self.control), self.mailbox.clone());
        match submit::read(&text, submit::is_built_in) {
            Submission::Nothing => return,
            Submission::Prompt => self.begin(submit::prompt(control, mailbox, text.trim().to_string(), delivery)),
            Submission::Shell { command, excluded } => {
                let block = self.screen.push(ToolBlock::command(command));
                let command = command.to_string();
                self.begin(async move {
                    let run = control.bash(&command, excluded).await.map_err(|error| error.message);
                    mailbox.send(Message::CommandEnded(block, run));
                });
            }
            Submission::Slash("redraw", _) => {
                let frame = self.screen.reset();
                self.tty.write(&frame.bytes);
            }
            Submission::Slash(name, arguments) => {
                // Not one of the tasks: changing the session waits until those have ended.
                let (name, arguments) = (name.to_string(), arguments.to_string());
                self.runtime.spawn(submit::slash(control, mailbox, name, arguments));
            }
        }
        let prompt = Prompt { prompt: text, created_at: self.control.app.clock.now(), cwd: self.cwd.clone() };
        if let Err(error) = self.history.add(prompt) {
            self.notify(format!("the history was not written: {error}"));
        }
    }

    fn escape(&mut self, now: Instant) {
        if self.running.is_some() || !self.queued.0.is_empty() || !self.queued.1.is_empty() {
            self.begin(submit::take_back(Arc::clone(&self.control), self.mailbox.clone(), true));
            self.notify("interrupted");
        } else if self.is_second("escape", now) && !self.editor.is_empty() {
            self.editor.clear();
            self.notify("cleared: ctrl+- brings it back");
        }
    }

    fn interrupt_or_clear(&mut self, now: Instant) {
        self.control.abort_bash();
        if !self.editor.is_empty() {
            self.editor.clear();
            self.pressed = None;
            self.notify("cleared: ctrl+- brings it back");
        } else if self.running.is_some() {
            self.panels.drain(..).for_each(Panel::refuse);
            self.begin(submit::take_back(Arc::clone(&self.control), self.mailbox.clone(), true));
            self.notify("interrupted");
        } else if self.is_second("ctrl+c", now) {
            self.exit = Some(0);
        } else {
            self.notify("ctrl+c again leaves");
        }
    }

    /// Tells whether a key was pressed twice within a short time, and keeps that it was pressed.
    fn is_second(&mut self, key: &'static str, now: Instant) -> bool {
        let second = self.pressed.is_some_and(|(before, at)| before == key && now < at + TWICE);
        self.pressed = (!second).then_some((key, now));
        second
    }

    /// Gives the terminal back and stops the process; returns when it goes on.
    fn suspend(&mut self) {
        let bytes = self.screen.leave();
        self.tty.write(&bytes);
        self.tty.leave();
        // Stops here; a shell without job control does not stop anybody.
        let _ = rustix::process::kill_process_group(rustix::process::getpgrp(), rustix::process::Signal::TSTP);
        self.resume();
    }

    /// Takes the terminal again: others have had it.
    fn resume(&mut self) {
        if self.tty.enter().is_err() {
            self.exit = Some(143);
        }
        self.screen.begin_epoch(self.tty.size());
    }
}

/// Lays out the messages that wait for the model: how each is delivered, and its first line.
fn queue_rows((steering, follow_up): &(Vec<String>, Vec<String>), width: usize) -> Vec<Row> {
    let kinds = steering.iter().map(|text| ("steer", text)).chain(follow_up.iter().map(|text| ("then", text)));
    kinds
        .take(4)
        .map(|(kind, text)| {
            let first = text.lines().next().unwrap_or_default();
            Line::styled(&format!("{kind:5} {first}"), DIM).into_row(width)
        })
        .collect()
}
