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
    Caret, CaretPlace, Chrome, Editor, EditorStyle, InputParser, Key, Line, Row, Screen, ScreenOptions, Size,
    TextBlock, Vi,
};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::announce::{Announcer, State};
use super::blocks::{DIM, NOTICE};
use super::characters::CharacterProbe;
use super::choices::{Choice, Topic};
use super::choosing::ChangedSettings;
use super::complete::{self, Popup};
use super::history::PromptHistory;
use super::job;
use super::keys::{Action, Bindings};
use super::leaving::{Left, Moved};
use super::mailbox::{Inbox, Mailbox};
use super::outgoing::{Door, Outgoing};
use super::panel::Panel;
use super::stash::Stash;
use super::status::{self, Activity, Facts, NOTICE_TIME};
use super::status_command::StatusCommand;
use super::transcript::{self, Looks, Transcript};
use super::tty::{Manner, Tty};
use crate::config::USER;
use crate::control::Control;
use crate::models::is_absent;
use crate::settings::{DoubleEscape, Tui};
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

struct Ui {
    control: Arc<Control>,
    runtime: Handle,
    mailbox: Mailbox,
    inbox: Inbox,
    tty: Tty,
    screen: Screen,
    input: InputParser,
    probe: CharacterProbe,
    keys: Bindings,
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
    facts: Facts,
    status_command: StatusCommand,
    /// The id of the session that is shown.
    session: String,
    cwd: String,
    /// The same for people.
    folder: String,
    history: PromptHistory,
    /// The colours of the terminal's background and text, where it has told them.
    background: Option<[u8; 3]>,
    foreground: Option<[u8; 3]>,
    /// The theme that was chosen since the start.
    theme: Option<&'static str>,
    /// Provider and id of the model that answers again when the one of a single prompt has done so.
    lent: Option<(String, String)>,
    /// A login that goes on.
    login: Option<super::login::Running>,
    /// The copy that the desktop may ask for.
    clipboard: Option<sinew::clipboard::Clipboard>,
    /// The settings of the screen, and of Esc twice.
    tui: Tui,
    twice: DoubleEscape,
    /// Settings that were changed since the start.
    changed: ChangedSettings,
    queued: (Vec<String>, Vec<String>),
    running: Option<Instant>,
    /// Commands of the user and slash commands that go on, and since when one does.
    at_work: usize,
    at_work_since: Option<Instant>,
    /// Texts that were sent and that the agent does not have yet.
    outgoing: Outgoing,
    /// The facts of the status row are being read, and whether something has changed meanwhile.
    reads_facts: Option<bool>,
    notice: Option<(String, Instant)>,
    last_byte: Instant,
    /// The last key, and what it called.
    last_key: Option<Instant>,
    pressed: Option<(Option<Action>, Instant)>,
    sizes: Sizes,
    exit: Option<u8>,
    /// The run goes on after the exit, without the terminal.
    goes_behind: bool,
    /// The folder in which the session goes on after the exit.
    moved: Option<Moved>,
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
    let settings = &control.app.startup.settings;
    let mut ui = Ui {
        tui: settings.tui.clone(),
        twice: settings.double_escape_action,
        control,
        runtime,
        mailbox,
        inbox,
        tty,
        screen,
        input,
        probe,
        keys,
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
        facts: Facts::default(),
        status_command: StatusCommand::default(),
        session: String::new(),
        folder: status::folder_name(&cwd, std::env::home_dir().as_deref()),
        cwd,
        history,
        background: None,
        foreground: None,
        theme: None,
        lent: None,
        login: None,
        clipboard: None,
        changed: ChangedSettings::default(),
        queued: Default::default(),
        running: None,
        at_work: 0,
        at_work_since: None,
        outgoing,
        reads_facts: None,
        notice: None,
        last_byte: Instant::now(),
        last_key: None,
        pressed: None,
        sizes: Sizes::new(options.keeps_length),
        exit: None,
        goes_behind: false,
        moved: None,
    };
    if let Err(error) = recorded {
        ui.notify(format!("nothing is recorded: {error}"));
    }
    ui.welcome(&warnings, said);
    if ui.is_without_model() {
        ui.open(Topic::Login);
    }
    messages.into_iter().for_each(|message| ui.take_message(message));
    events.into_iter().for_each(|event| ui.take_input(event));
    let code = ui.serve();
    ui.remember_outgoing();
    ui.keep_draft();
    if ui.viewer.take().is_some() {
        ui.tty.leave_viewer();
    }
    let bytes = ui.screen.leave();
    ui.tty.write(&bytes);
    let last = ui.announcer.end();
    ui.tty.write(last.as_bytes());
    // A terminal that is gone ends the program as its hangup does.
    let (code, moved) = (code.unwrap_or(143), ui.moved.take());
    let behind = ui.goes_behind.then(|| ui.announcer.notify("done", &ui.facts.title).into_bytes());
    if behind.is_some() {
        let control = Arc::clone(&ui.control);
        // The terminal is as it was found from here on.
        drop(ui);
        job::say_behind(&control);
        job::leave_terminal()?;
    }
    Ok(Left { code, moved, behind })
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
                self.inbox.drain_wake(&mut buffer);
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
        let deadlines = Deadlines {
            input: self.input.patience().map(|patience| self.last_byte + patience),
            sizes: self.sizes.due(),
            notice: self.notice.as_ref().map(|(_, until)| *until),
            chord: self.chord.map(|(_, until)| until),
            status: self.status_command.due(),
            jobs: self.jobs_shown.filter(|_| self.shows_jobs()).map(|at| at + SECOND),
            // Nobody reads seconds of a terminal that he does not look at.
            step: self.step(),
            working_since: self.working_since().filter(|_| self.has_focus != Some(false) && self.viewer.is_none()),
        };
        deadlines.limit(Instant::now())
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
        if self.jobs_shown.is_some_and(|at| now >= at + SECOND) {
            self.jobs_shown = Some(now);
            self.refresh_jobs();
        }
        if self.chord.is_some_and(|(_, until)| now >= until) {
            (self.chord, self.notice) = (None, None);
        }
        self.follow_sizes(now);
    }

    /// Paints what changed; tells whether more is ready to scroll out.
    fn paint(&mut self) -> bool {
        // A terminal that is behind gets the newest state once it has taken the older one.
        if self.tty.is_behind() {
            return false;
        }
        self.panels.retain(Panel::is_open);
        // The terminal has its new size before the signal that tells of it: a frame for the old one would be read wrong.
        if !self.screen.is_resizing() && !self.sizes.asks && self.tty.size() != self.screen.size() {
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
            since: self.working_since(),
            what: match (self.panels.is_empty(), self.running) {
                (false, _) => "waits for you",
                (true, Some(_)) => self.transcript.activity(),
                (true, None) => "at work",
            },
            is_reading: self.outgoing.door() == Door::Reading,
            queued: self.queued.0.len() + self.queued.1.len(),
            step,
            keys: self.vi.as_ref().map(editing::told).unwrap_or_default(),
            notice: self.notice.as_ref().map(|(text, _)| text.as_str()),
        };
        let two = self.tui.status_rows > 1 && rows > 7;
        let status = status::rows(&activity, &self.facts, columns, two, now);
        let (cover, place) = self.cover(columns, (rows * 3 / 5).max(3));
        let caret = place.map(|(row, column)| Caret { place: CaretPlace::Cover, row, column });
        self.transcript.show_time(&mut self.screen, now, step);
        self.screen.set_chrome(Chrome {
            above: self.outgoing.rows(&self.queued, columns),
            cover,
            status: if columns < 20 || rows < 6 { Vec::new() } else { status },
            editor: shown.rows,
            caret: caret.unwrap_or(Caret { row: shown.caret.0, column: shown.caret.1, ..Caret::default() }),
        });
        let state = match (self.running, self.panels.is_empty()) {
            (_, false) => State::Asking,
            (Some(_), true) => State::Working,
            (None, true) => State::Ready,
        };
        self.ask_status(state, columns, now);
        let told = self.announcer.tell(state, &self.facts.title);
        self.tell_terminal(&told);
        if !self.may_paint() {
            return false;
        }
        let frame = self.screen.paint();
        self.tty.write(&frame.bytes);
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

    /// Since when a run or a command goes on; none where nothing does.
    fn working_since(&self) -> Option<Instant> {
        self.running.or(self.at_work_since)
    }

    /// Counts a command that has begun.
    fn work_began(&mut self) {
        self.at_work += 1;
        self.at_work_since.get_or_insert_with(Instant::now);
    }

    /// Counts a command that has ended.
    fn work_ended(&mut self) {
        self.at_work = self.at_work.saturating_sub(1);
        if self.at_work == 0 {
            self.at_work_since = None;
        }
    }

    fn begin(&self, work: impl Future<Output = ()> + Send + 'static) {
        let control = Arc::clone(&self.control);
        self.runtime.spawn(async move { control.tasks.begin(work).await });
    }

    /// Shows what is known of the agent. `said`: messages of the session that are on the screen already.
    fn welcome(&mut self, warnings: &[String], said: Vec<AgentMessage>) {
        self.refresh();
        self.apply_theme();
        self.take_tui();
        if self.tui.passthrough && self.screen.options().keeps_length {
            self.tty.set_passing();
        }
        self.take_editor();
        let layers = &self.control.app.startup.layers;
        let own = layers.iter().find(|(name, _)| *name == USER).map(|(_, values)| values.get("tui.statusCommand"));
        // A project's command is nobody's choice: where one is in force, it is the user's own.
        let command = own.filter(|_| self.tui.status_command.is_some());
        self.status_command = StatusCommand::new(command.as_ref().and_then(Value::as_str));
        let model = match self.is_without_model() {
            true => format!("no model yet: /login · {}", self.folder),
            false => format!("{} in {}", self.facts.model, self.folder),
        };
        if self.control.app.startup.settings.quiet_startup {
            // The status row has the model.
        } else if !said.is_empty() {
            self.screen.push(TextBlock::new(&model, DIM));
        } else {
            self.screen.push_close(TextBlock::new(&model, DIM));
            let [interrupt, leave] = [Action::Interrupt, Action::Exit].map(|action| self.keys.short(action));
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

    /// Tells whether there is no model that could answer.
    fn is_without_model(&self) -> bool {
        is_absent(&self.control.session().agent.model().model)
    }
}
