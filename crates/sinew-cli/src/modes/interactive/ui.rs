//! The thread of the screen: it waits for keys, messages and deadlines, and paints. It never waits for the agent, and the
//! agent never waits for it.

mod completion;
mod deadlines;
mod editing;
mod input;
mod messages;
mod opening;
mod overlay;
mod programs;
mod resizing;
mod sending;
mod sizes;
mod telling;
mod viewing;

use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use sinew_agent::agent::Delivery;
use sinew_llm::message::AgentMessage;
use sinew_session::clock::{Clock, SystemClock};
use sinew_session::history::Prompt;
use sinew_tui::{
    Caret, CaretPlace, Chrome, Editor, EditorStyle, Key, Line, Row, Screen, ScreenOptions, Size, TextBlock, Vi,
};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::announce::{Announcer, State};
use super::blocks::{DIM, NOTICE};
use super::characters::CharacterProbe;
use super::choices::{Choice, Topic};
use super::complete::{self, Popup};
use super::conversation::{Beginning, Conversation};
use super::history::PromptHistory;
use super::job;
use super::keys::{Action, Bindings};
use super::leaving::Left;
use super::mailbox::{Inbox, Mailbox};
use super::outgoing::Door;
use super::panel::{Panel, TYPING};
use super::stash::Stash;
use super::status::{self, Activity, Facts, NOTICE_TIME};
use super::status_command::StatusCommand;
use super::terminal::Terminal;
use super::transcript::{self, Looks, Transcript};
use super::tty::{Manner, Tty};
use crate::config::USER;
use crate::control::commands::Face;
use crate::settings::Tui;
use deadlines::Deadlines;
use opening::Opening;
use overlay::Overlay;
use sizes::Sizes;
use viewing::OpenViewer;

/// Time in which a second ctrl+c or Esc counts as one with the first.
const TWICE: Duration = Duration::from_millis(500);
/// Time after which the panel of jobs is shown as it is then.
const SECOND: Duration = Duration::from_secs(1);
/// Time in which the second key of a chord counts as one.
const CHORD: Duration = Duration::from_secs(2);

/// The parts with which the thread starts.
pub(super) struct Parts {
    pub(super) runtime: Handle,
    pub(super) mailbox: Mailbox,
    pub(super) inbox: Inbox,
    pub(super) options: ScreenOptions,
    pub(super) probe: CharacterProbe,
    pub(super) announcer: Announcer,
    pub(super) history: PathBuf,
    pub(super) cwd: String,
    pub(super) keys: Bindings,
    /// The prompt of the command line.
    pub(super) first: Option<String>,
    /// The file of the session that goes on.
    pub(super) resumed: Option<PathBuf>,
    /// Rows of it which are shown again, about.
    pub(super) rows: usize,
    /// The parts that are folded.
    pub(super) looks: Looks,
    /// Name, model and hints are not written.
    pub(super) is_quiet: bool,
    /// The file that keeps what the terminal is sent.
    pub(super) record: Option<PathBuf>,
    /// Told when the first frame is on the terminal.
    pub(super) painted: oneshot::Sender<()>,
}

/// The colours of the terminal, and the theme that was chosen for them.
#[derive(Default)]
struct Colours {
    /// The terminal's background and text, where it has told them.
    background: Option<[u8; 3]>,
    foreground: Option<[u8; 3]>,
    /// The theme that was chosen since the start.
    theme: Option<&'static str>,
}

/// What the status row shows.
struct StatusSource {
    facts: Facts,
    command: StatusCommand,
    /// The folder, for people.
    folder: String,
    /// The facts are being read, and whether something has changed meanwhile.
    reads: Option<bool>,
}

/// The screen: it paints the conversation, and gives it what the user writes and chooses.
struct Ui {
    // It is given back before the history of the conversation is written, which may take a while.
    terminal: Terminal,
    conversation: Conversation,
    screen: Screen,
    probe: CharacterProbe,
    /// The key that has begun a chord, and until when the next one belongs to it.
    chord: Option<(Key, Instant)>,
    editor: Editor,
    /// The keys of vi, where they are wanted.
    vi: Option<Vi>,
    stash: Stash,
    /// The next character is one to jump to: forward, or back.
    jumps: Option<bool>,
    transcript: Transcript,
    /// Questions of the agent; the first is shown.
    panels: VecDeque<Panel>,
    /// The panel that the user has opened. Questions wait behind it.
    overlay: Option<Overlay>,
    /// The time at which the panel of jobs was brought up to date.
    jobs_shown: Option<Instant>,
    popup: Option<Popup>,
    /// The place that is marked when the tree has been read.
    place: Option<Choice>,
    /// The view of the whole conversation, where it is open.
    viewer: Option<OpenViewer>,
    announcer: Announcer,
    /// True if the user looks at this terminal, where it tells.
    has_focus: Option<bool>,
    status: StatusSource,
    colours: Colours,
    /// The settings of the screen.
    tui: Tui,
    notice: Option<(String, Instant)>,
    /// The last key, and what it called.
    last_key: Option<Instant>,
    pressed: Option<(Option<Action>, Instant)>,
    sizes: Sizes,
}

/// Runs the screen until the user leaves, a signal comes or the terminal is gone.
///
/// # Errors
/// The terminal cannot be opened.
pub(super) fn run(parts: Parts) -> io::Result<Left> {
    let Parts {
        runtime,
        mailbox,
        inbox,
        options,
        probe,
        announcer,
        history,
        cwd,
        keys,
        first,
        resumed,
        rows,
        looks,
        is_quiet,
        record,
        painted,
    } = parts;
    let mut tty = Tty::open(Manner::Screen)?;
    let recorded = record.as_deref().map_or(Ok(()), |file| tty.record(file));
    let mut opening = Opening::new(tty, options, probe, is_quiet, resumed.as_deref(), rows, looks);
    if let Some(text) = first {
        opening.outgoing.push(text, Delivery::Steer);
    }
    let history = PromptHistory::open(history, mailbox.clone())?;
    let (control, warnings) = match opening.wait(&inbox, &keys, painted) {
        Ok(started) => started,
        Err(code) => {
            for (text, _) in opening.outgoing.texts() {
                let prompt = Prompt { prompt: text.to_string(), created_at: SystemClock.now(), cwd: cwd.clone() };
                history.add(prompt);
            }
            opening.leave();
            return Ok(Left::with(code));
        }
    };
    let Opening { tty, screen, input, editor, probe, outgoing, said, messages, events, .. } = opening;
    let folder = status::folder_name(&cwd, std::env::home_dir().as_deref());
    let tui = control.app.startup.settings.tui.clone();
    let beginning = Beginning { control, runtime, mailbox, keys, history, cwd, outgoing };
    let mut ui = Ui {
        tui,
        conversation: Conversation::new(Face::Screen, beginning),
        terminal: Terminal::new(tty, inbox, input),
        screen,
        probe,
        chord: None,
        editor,
        vi: None,
        stash: Stash::default(),
        jumps: None,
        transcript: Transcript::new(looks),
        panels: VecDeque::new(),
        overlay: None,
        jobs_shown: None,
        popup: None,
        place: None,
        viewer: None,
        announcer,
        has_focus: None,
        status: StatusSource { facts: Facts::default(), command: StatusCommand::default(), folder, reads: None },
        colours: Colours::default(),
        notice: None,
        last_key: None,
        pressed: None,
        sizes: Sizes::new(options.keeps_length),
    };
    if let Err(error) = recorded {
        ui.notify(format!("nothing is recorded: {error}"));
    }
    ui.welcome(&warnings, said);
    if ui.conversation.is_without_model() {
        ui.open(Topic::Login);
    }
    messages.into_iter().for_each(|message| ui.take_message(message));
    events.into_iter().for_each(|event| ui.take_input(event));
    let code = ui.serve();
    ui.conversation.remember_outgoing();
    ui.keep_draft();
    if ui.viewer.take().is_some() {
        ui.terminal.tty.leave_viewer();
    }
    let bytes = ui.screen.leave();
    ui.terminal.tty.write(&bytes);
    let last = ui.announcer.end();
    ui.terminal.tty.write(last.as_bytes());
    // A terminal that is gone ends the program as its hangup does.
    let (code, moved) = (code.unwrap_or(143), ui.conversation.leaving.moved.take());
    let behind =
        ui.conversation.leaving.goes_behind.then(|| ui.announcer.notify("done", &ui.status.facts.title).into_bytes());
    if behind.is_some() {
        let control = Arc::clone(&ui.conversation.control);
        // The terminal is as it was found from here on.
        drop(ui);
        job::say_behind(&control);
        job::leave_terminal()?;
    }
    Ok(Left { code, moved, behind })
}

impl Ui {
    fn serve(&mut self) -> io::Result<u8> {
        loop {
            self.take_messages();
            if let Some(code) = self.conversation.leaving.code {
                return Ok(code);
            }
            self.follow_deadlines();
            let more = self.paint();
            let limit = if more { Some(Duration::ZERO) } else { self.limit() };
            match self.terminal.wait(limit)? {
                Some(bytes) if bytes.is_empty() => return Err(io::ErrorKind::UnexpectedEof.into()),
                Some(bytes) => {
                    let events = self.terminal.parse(&bytes);
                    events.into_iter().for_each(|event| self.take_input(event));
                }
                None => {}
            }
        }
    }

    /// The time until something is due; none: nothing is.
    fn limit(&self) -> Option<Duration> {
        let deadlines = Deadlines {
            input: self.terminal.due(),
            sizes: self.sizes.due(),
            notice: self.notice.as_ref().map(|(_, until)| *until),
            chord: self.chord.map(|(_, until)| until),
            panel: self.panel_due(),
            status: self.status.command.due(),
            jobs: self.jobs_shown.filter(|_| self.shows_jobs()).map(|at| at + SECOND),
            // Nobody reads seconds of a terminal that he does not look at.
            step: self.step(),
            working_since: self
                .conversation
                .working_since()
                .filter(|_| self.has_focus != Some(false) && self.viewer.is_none()),
        };
        deadlines.limit(Instant::now())
    }

    fn follow_deadlines(&mut self) {
        let now = Instant::now();
        if let Some(events) = self.terminal.expire(now) {
            events.into_iter().for_each(|event| self.take_input(event));
        }
        if self.notice.as_ref().is_some_and(|(_, until)| now >= *until) {
            self.notice = None;
        }
        if self.jobs_shown.is_some_and(|at| now >= at + SECOND) {
            self.jobs_shown = Some(now);
            self.refresh_jobs();
        }
        if self.chord.is_some_and(|(_, until)| now >= until) {
            (self.chord, self.notice) = (None, None);
        }
        if self.panel_due().is_some_and(|due| now >= due)
            && let Some(panel) = self.panels.front_mut()
        {
            panel.focus(now);
            let key = self.conversation.keys.short(Action::Tab);
            self.notify(format!("keys go to the question now; {key}: back to the editor"));
        }
        self.follow_sizes(now);
    }

    /// The time at which a panel that appeared while somebody was typing gets the keys.
    fn panel_due(&self) -> Option<Instant> {
        let waits = self.overlay.is_none() && self.viewer.is_none() && self.panels.front().is_some_and(Panel::waits);
        waits.then(|| self.last_key.map_or_else(Instant::now, |last| last + TYPING))
    }

    /// Paints what changed; tells whether more is ready to scroll out.
    fn paint(&mut self) -> bool {
        // A terminal that is behind gets the newest state once it has taken the older one.
        if self.terminal.tty.is_behind() {
            return false;
        }
        self.panels.retain(Panel::is_open);
        // The terminal has its new size before the signal that tells of it: a frame for the old one would be read wrong.
        if !self.screen.is_resizing() && !self.sizes.asks && self.terminal.tty.size() != self.screen.size() {
            self.resize();
        }
        if self.paint_viewer() {
            return false;
        }
        let Size { columns, rows } = self.screen.size();
        let (now, step) = (Instant::now(), self.step());
        let style = EditorStyle {
            prompt: if self.editor.text().starts_with('!') { "! " } else { "› " }.into(),
            selection: self.vi.as_ref().and_then(|vi| vi.selection(&self.editor)),
            ..EditorStyle::default()
        };
        let shown = self.editor.rows(columns, (rows / 3).clamp(1, 12), &style);
        let activity = Activity {
            since: self.conversation.working_since(),
            what: match (self.panels.is_empty(), self.conversation.running) {
                (false, _) => "waits for you",
                (true, Some(_)) => self.transcript.activity(),
                (true, None) => "at work",
            },
            is_reading: self.conversation.outgoing.door() == Door::Reading,
            queued: self.conversation.queued_count(),
            step,
            keys: self.vi.as_ref().map(editing::told).unwrap_or_default(),
            notice: self.notice.as_ref().map(|(text, _)| text.as_str()),
        };
        let two = self.tui.status_rows > 1 && rows > 7;
        let status = status::rows(&activity, &self.status.facts, columns, two, now);
        let (cover, place) = self.cover(columns, (rows * 3 / 5).max(3));
        let caret = place.map(|(row, column)| Caret { place: CaretPlace::Cover, row, column });
        self.transcript.show_time(&mut self.screen, now, step);
        self.screen.set_chrome(Chrome {
            above: self.conversation.outgoing.rows(&self.conversation.queued, columns),
            cover,
            // Who is asked about a call wants to see what led to it.
            pushes: self.overlay.is_none() && !self.panels.is_empty(),
            status: if columns < 20 || rows < 6 { Vec::new() } else { status },
            editor: shown.rows,
            caret: caret.unwrap_or(Caret { row: shown.caret.0, column: shown.caret.1, ..Caret::default() }),
        });
        let state = match (self.conversation.running, self.panels.is_empty()) {
            (_, false) => State::Asking,
            (Some(_), true) => State::Working,
            (None, true) => State::Ready,
        };
        self.ask_status(state, columns, now);
        let told = self.announcer.tell(state, &self.status.facts.title);
        self.tell_terminal(&told);
        if !self.may_paint() {
            return false;
        }
        let frame = self.screen.paint();
        self.terminal.tty.write(&frame.bytes);
        frame.more
    }

    /// The rows that cover the transcript, and the place of the cursor in them, if it is there.
    fn cover(&mut self, columns: usize, height: usize) -> (Vec<Row>, Option<(usize, usize)>) {
        let theme = Arc::clone(self.screen.theme());
        if let Some(overlay) = &mut self.overlay {
            let (rows, caret) = overlay.rows(columns, height, &theme);
            return (rows, Some(caret));
        }
        let waiting = self.panels.len();
        if let Some(panel) = self.panels.front_mut() {
            let mut cover = panel.rows(columns, height, &theme);
            if waiting > 1 {
                cover.push(Line::styled(&format!("1 of {waiting}"), DIM).into_row(columns));
            }
            return (cover, None);
        }
        let popup = self.popup.as_ref().map(|popup| popup.list().rows(columns, complete::ROWS.min(height), &theme).0);
        (popup.unwrap_or_default(), None)
    }

    /// The seconds in which elapsed time moves on.
    fn step(&self) -> u64 {
        if self.tui.reduced_motion { 10 } else { 1 }
    }

    fn notify(&mut self, text: impl Into<String>) {
        if let Some(open) = &mut self.viewer {
            return open.tell(text);
        }
        self.notice = Some((text.into(), Instant::now() + NOTICE_TIME));
    }

    /// Shows what is known of the agent. `said`: messages of the session that are on the screen already.
    fn welcome(&mut self, warnings: &[String], said: Vec<AgentMessage>) {
        self.refresh();
        self.apply_theme();
        self.take_tui();
        if self.tui.passthrough && self.screen.options().keeps_length {
            self.terminal.tty.set_passing();
        }
        self.take_editor();
        let layers = &self.conversation.control.app.startup.layers;
        let own = layers.iter().find(|(name, _)| *name == USER).map(|(_, values)| values.get("tui.statusCommand"));
        // A project's command is nobody's choice: where one is in force, it is the user's own.
        let command = own.filter(|_| self.tui.status_command.is_some());
        self.status.command = StatusCommand::new(command.as_ref().and_then(Value::as_str));
        let model = match self.conversation.is_without_model() {
            true => format!("no model yet: /login · {}", self.status.folder),
            false => format!("{} in {}", self.status.facts.model, self.status.folder),
        };
        if self.conversation.control.app.startup.settings.quiet_startup {
            // The status row has the model.
        } else if !said.is_empty() {
            self.screen.push(TextBlock::new(&model, DIM));
        } else {
            self.screen.push_close(TextBlock::new(&model, DIM));
            let [interrupt, leave] =
                [Action::Interrupt, Action::Exit].map(|action| self.conversation.keys.short(action));
            let hint = format!("/help · @file · !command · {interrupt} interrupts · {leave} leaves");
            self.screen.push_close(TextBlock::new(&hint, DIM));
        }
        // Where the terminal has yet to answer, its answer tells.
        if !self.probe.is_open {
            self.warn_of_characters();
        }
        for warning in warnings {
            transcript::line(&mut self.screen, &format!("! {warning}"), NOTICE);
        }
        self.show_session(None, said);
    }
}
