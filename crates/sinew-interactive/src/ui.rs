//! The thread of the screen: waits for keys, messages and deadlines, and paints. It never waits for the agent, and the
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
use sinew_control::actions::commands::InteractiveForm;
use sinew_control::config::USER;
use sinew_control::settings::Tui;
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
use super::conversation::{Conversation, ConversationInputs};
use super::history::PromptHistory;
use super::job;
use super::keys::{Action, Bindings};
use super::leaving::ExitOutcome;
use super::mailbox::{Inbox, Mailbox};
use super::outgoing::SendState;
use super::panel::{Panel, TYPING};
use super::stash::Stash;
use super::status::{self, Activity, Facts, NOTICE_TIME};
use super::status_command::StatusCommand;
use super::terminal::Terminal;
use super::transcript::{self, DisplayOptions, Transcript};
use super::tty::{TerminalUse, Tty};
use deadlines::Deadlines;
use opening::OpeningScreen;
use overlay::Overlay;
use sizes::Sizes;
use viewing::OpenViewer;

/// The time within which a second ctrl+c or Esc counts as a double press.
const TWICE: Duration = Duration::from_millis(500);
/// The interval at which panels and views that show running work are refreshed.
const SECOND: Duration = Duration::from_secs(1);
/// The time within which the second key of a chord must follow.
const CHORD: Duration = Duration::from_secs(2);

/// The inputs of the thread.
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
    /// The file of the resumed session.
    pub(super) resumed: Option<PathBuf>,
    /// The approximate number of rows to show of it.
    pub(super) rows: usize,
    /// Which parts are folded.
    pub(super) looks: DisplayOptions,
    /// True to omit the name, the model and hints.
    pub(super) is_quiet: bool,
    /// The file that records the output.
    pub(super) record: Option<PathBuf>,
    /// Notified when the first frame is on the terminal.
    pub(super) painted: oneshot::Sender<()>,
}

/// The colours of the terminal, and the selected theme.
#[derive(Default)]
struct Colours {
    /// The background and text colours of the terminal, if it reported them.
    background: Option<[u8; 3]>,
    foreground: Option<[u8; 3]>,
    /// The theme that was selected since the start.
    theme: Option<&'static str>,
}

/// The sources of the status row.
struct StatusSource {
    facts: Facts,
    command: StatusCommand,
    /// The display name of the directory.
    folder: String,
    /// Set while the facts are being read; true if something has changed meanwhile.
    reads: Option<bool>,
}

/// The screen: paints the conversation, and processes the user's input.
struct Ui {
    // Dropped, and therefore restored, before the history is written, which may take a while.
    terminal: Terminal,
    conversation: Conversation,
    screen: Screen,
    probe: CharacterProbe,
    /// The first key of a chord, and the time limit for the second one.
    chord: Option<(Key, Instant)>,
    editor: Editor,
    /// The vi keys; `None` if they are disabled.
    vi: Option<Vi>,
    stash: Stash,
    /// Set if the next character is a jump target; true to jump forward.
    jumps: Option<bool>,
    transcript: Transcript,
    /// The questions of the agent; the first one is shown.
    panels: VecDeque<Panel>,
    /// The panel that the user has opened. Questions wait until it is closed.
    overlay: Option<Overlay>,
    /// The time of the last refresh of a panel or a view that shows running work.
    refreshed: Option<Instant>,
    popup: Option<Popup>,
    /// The entry to select when the tree has been read.
    place: Option<Choice>,
    /// The view of the whole conversation, if it is open.
    viewer: Option<OpenViewer>,
    announcer: Announcer,
    /// Whether the terminal has the focus; `None` if it does not report that.
    has_focus: Option<bool>,
    status: StatusSource,
    colours: Colours,
    /// The settings of the screen.
    tui: Tui,
    notice: Option<(String, Instant)>,
    /// The time of the last key press, and its action.
    last_key: Option<Instant>,
    pressed: Option<(Option<Action>, Instant)>,
    sizes: Sizes,
}

/// Runs the screen until the user exits, a signal arrives or the terminal is closed.
///
/// # Errors
/// Returns an error if the terminal cannot be opened.
pub(super) fn run(parts: Parts) -> io::Result<ExitOutcome> {
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
    let mut tty = Tty::open(TerminalUse::Screen)?;
    let recorded = record.as_deref().map_or(Ok(()), |file| tty.record(file));
    let mut opening = OpeningScreen::new(tty, options, probe, is_quiet, resumed.as_deref(), rows, looks);
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
            return Ok(ExitOutcome::with(code));
        }
    };
    let OpeningScreen { tty, screen, input, editor, probe, outgoing, said, messages, events, .. } = opening;
    let folder = status::folder_name(&cwd, std::env::home_dir().as_deref());
    let tui = control.app.startup.settings.tui.clone();
    let beginning = ConversationInputs { control, runtime, mailbox, keys, history, cwd, outgoing };
    let mut ui = Ui {
        tui,
        conversation: Conversation::new(InteractiveForm::Screen, beginning),
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
        refreshed: None,
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
        ui.notify(format!("failed to record: {error}"));
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
    // A closed terminal ends the program like its hangup signal.
    let (code, moved) = (code.unwrap_or(143), ui.conversation.leaving.moved.take());
    let behind =
        ui.conversation.leaving.goes_behind.then(|| ui.announcer.notify("done", &ui.status.facts.title).into_bytes());
    if behind.is_some() {
        let control = Arc::clone(&ui.conversation.control);
        // Restores the terminal to its original state.
        drop(ui);
        job::say_behind(&control);
        job::leave_terminal()?;
    }
    Ok(ExitOutcome { code, moved, behind })
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

    /// Returns the time until the next deadline; `None` if there is none.
    fn limit(&self) -> Option<Duration> {
        let deadlines = Deadlines {
            input: self.terminal.due(),
            sizes: self.sizes.due(),
            notice: self.notice.as_ref().map(|(_, until)| *until),
            chord: self.chord.map(|(_, until)| until),
            panel: self.panel_due(),
            status: self.status.command.due(),
            work: self.refreshed.filter(|_| self.shows_work()).map(|at| at + SECOND),
            // The user does not need seconds while the terminal has no focus.
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
        if self.refreshed.is_some_and(|at| now >= at + SECOND) {
            self.refreshed = Some(now);
            self.refresh_work();
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

    /// Returns the time at which a panel that appeared during typing receives the focus.
    fn panel_due(&self) -> Option<Instant> {
        let waits = self.overlay.is_none() && self.viewer.is_none() && self.panels.front().is_some_and(Panel::waits);
        waits.then(|| self.last_key.map_or_else(Instant::now, |last| last + TYPING))
    }

    /// Paints the changes; returns true if more rows are ready to scroll out.
    fn paint(&mut self) -> bool {
        // While output is pending, no frame is created, so that the next one shows the newest state.
        if self.terminal.tty.is_behind() {
            return false;
        }
        self.panels.retain(Panel::is_open);
        // The terminal changes its size before the signal arrives, and a frame for the old size would be displayed
        // wrongly.
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
                (false, _) => "waiting for you",
                (true, Some(_)) => self.transcript.activity(),
                (true, None) => "working",
            },
            is_reading: self.conversation.outgoing.send_state() == SendState::Reading,
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
            // The rows before a question about a call remain visible.
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

    /// Returns the rows that cover the transcript, and the position of the cursor if it is in them.
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

    /// Returns the interval in seconds at which elapsed time is updated.
    fn step(&self) -> u64 {
        if self.tui.reduced_motion { 10 } else { 1 }
    }

    fn notify(&mut self, text: impl Into<String>) {
        if let Some(open) = &mut self.viewer {
            return open.tell(text);
        }
        self.notice = Some((text.into(), Instant::now() + NOTICE_TIME));
    }

    /// Shows the start screen. `said` are messages of the session that are on the screen already.
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
        // Only the user's own command is used, because a project's command was not chosen by the user.
        let command = own.filter(|_| self.tui.status_command.is_some());
        self.status.command = StatusCommand::new(command.as_ref().and_then(Value::as_str));
        let model = match self.conversation.is_without_model() {
            true => format!("no model yet: /login · {}", self.status.folder),
            false => format!("{} in {}", self.status.facts.model, self.status.folder),
        };
        if self.conversation.control.app.startup.settings.quiet_startup {
            // The status row shows the model.
        } else if !said.is_empty() {
            self.screen.push(TextBlock::new(&model, DIM));
        } else {
            self.screen.push_close(TextBlock::new(&model, DIM));
            let [interrupt, leave] =
                [Action::Interrupt, Action::Exit].map(|action| self.conversation.keys.short(action));
            let hint = format!("/help · @file · !command · {interrupt} interrupts · {leave} quits");
            self.screen.push_close(TextBlock::new(&hint, DIM));
        }
        // If the terminal has not answered yet, its answer triggers the warning.
        if !self.probe.is_open {
            self.warn_of_characters();
        }
        for warning in warnings {
            transcript::line(&mut self.screen, &format!("! {warning}"), NOTICE);
        }
        self.show_session(None, said);
    }
}
