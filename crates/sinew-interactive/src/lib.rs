//! The interactive mode, for a person at a terminal.
//!
//! | module | contents |
//! |---|---|
//! | `ui` | the thread of the screen: keys, messages, deadlines, painting, other programs on the terminal |
//! | `tty`, `outbox` | the terminal: raw mode, modes, bytes |
//! | `characters` | the characters that it can show |
//! | `record` | recordings of the output |
//! | `guard` | the process that restores the terminal if this one is killed |
//! | `mailbox` | messages to the thread of the screen |
//! | `transcript`, `blocks`, `reads` | events and messages as blocks of the screen |
//! | `submit` | executes texts of the user with the actions of `sinew-control` |
//! | `outgoing` | texts that were sent and not accepted by the agent yet |
//! | `panel`, `ask` | questions to the user |
//! | `picker`, `form` | panels that the user opens: lists and text fields |
//! | `choices`, `choosing`, `login` | the entries of those panels and their actions, and logins |
//! | `conversation` | the state that both faces share: sent texts, running work, logins, settings, commands, the exit |
//! | `terminal` | waiting for keys and messages |
//! | `conversation_text`, `report` | the whole conversation as lines, for the viewer; the report of `/debug` |
//! | `complete`, `copy` | completion of commands, files and paths; copying texts |
//! | `stash`, `history` | stashed drafts; the history of prompts |
//! | `todo` | the todo list as a text |
//! | `private_file` | files that the user requested |
//! | `demo`, `editor_file` | programs that use the terminal temporarily |
//! | `status`, `facts`, `status_command` | the status row and its contents |
//! | `announce` | title, progress and notifications of the terminal |
//! | `leaving`, `job`, `end_signal` | how the user left; the program as a job of the shell; the signal that ends it |
//! | `memory` | returning freed memory to the system |
//! | `keys` | the actions and their keys; `keybindings.json` |
//! | `linear` | the mode as plain lines, for screen readers and terminals without cursor movement |
//!
//! The screen has its own thread, which never waits for the agent, so that keys are handled while the agent works. It
//! uses the agent with the actions of `sinew-control`, as the other modes do. Empty on Windows.

#![cfg(unix)]

mod announce;
mod ask;
mod blocks;
mod characters;
mod choices;
mod choosing;
mod complete;
mod conversation;
mod conversation_text;
mod copy;
mod demo;
mod drafts;
mod editor_file;
mod end_signal;
mod facts;
mod form;
#[cfg(target_os = "linux")]
mod guard;
mod history;
mod job;
mod keys;
mod leaving;
mod linear;
mod login;
mod mailbox;
mod memory;
mod outbox;
mod outgoing;
mod panel;
mod pasting;
mod picker;
mod pictures;
mod private_file;
mod reads;
mod record;
mod report;
mod retry;
mod session_passages;
mod stash;
mod status;
mod status_command;
mod submit;
mod terminal;
mod todo;
mod transcript;
mod trust;
mod tty;
mod ui;

use std::any::Any;
use std::io;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use parking_lot::Mutex;
use sinew_agent::agent::{Snapshots, Subscriber};
use sinew_control::actions::{Control, View};
use sinew_control::app::{App, NoModel};
use sinew_control::ending::{END, close};
use sinew_control::failure::Failure;
use sinew_control::log::Timing;
use sinew_control::output;
use sinew_control::sessions;
use sinew_control::settings::{Tui, TuiMode};
use sinew_control::startup::Startup;
use sinew_tools::tool::Boxed;
use sinew_tui::{Depth, OutputUnit, Reflow, ScreenOptions};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use characters::CharacterProbe;
pub use end_signal::EndSignal;
use keys::Bindings;
pub use leaving::{ExitOutcome, SessionMove};
use mailbox::{Mailbox, Message};

/// Runs the interactive mode until the user exits.
///
/// # Errors
/// Returns an error if the agent cannot be started, or if there is no terminal.
pub async fn run(
    mut startup: Startup,
    mut warnings: Vec<String>,
    ending: &EndSignal,
    timing: &mut Timing,
) -> Result<ExitOutcome, Failure> {
    let no_terminal = |error: io::Error| Failure::failed(format!("failed to open the terminal: {error}"));
    let resumed = sessions::settle(&mut startup)?;
    let (mailbox, inbox) = mailbox::open().map_err(no_terminal)?;
    let words: Vec<&str> =
        startup.args.words.iter().map(String::as_str).filter(|word| !word.trim().is_empty()).collect();
    let face = FormOptions::of(&startup);
    let keys = Bindings::read(&startup.paths.agent.join(keys::FILE));
    warnings.extend(keys.faults.iter().cloned());
    let (painted, first_frame) = oneshot::channel();
    let preset = startup.settings.symbol_preset;
    let (probe, characters) = CharacterProbe::new(|name| startup.environment.get(name), preset);
    let parts = ui::Parts {
        runtime: Handle::current(),
        mailbox: mailbox.clone(),
        inbox,
        options: ScreenOptions { characters, ..screen_options(&startup) },
        probe,
        announcer: announce::Announcer::new(&startup),
        history: startup.paths.agent.join("history.jsonl"),
        cwd: startup.paths.cwd.display().to_string(),
        first: (!words.is_empty()).then(|| words.join(" ")),
        resumed,
        rows: startup.settings.tui.resume_rows,
        looks: transcript::DisplayOptions {
            hides_thoughts: startup.settings.hide_thinking_block,
            unfolds: false,
            pictures: None,
            keys: keys.of_rows(),
        },
        is_quiet: startup.settings.quiet_startup,
        keys,
        record: startup.environment.get("SINEW_TUI_RECORD").map(|file| startup.paths.cwd.join(file)),
        painted,
    };
    let watched = watch_signals(mailbox.clone(), ending.clone());
    let panics = CaughtPanics::begin();
    let (send, mut ended) = oneshot::channel();
    let thread = std::thread::Builder::new().name("screen".into()).spawn(move || {
        let ended = std::panic::catch_unwind(AssertUnwindSafe(|| face.run(parts)));
        // The receiver is below, and exists until this message arrives.
        let _ = send.send(ended);
    });
    thread.map_err(no_terminal)?;
    let begun = AssertUnwindSafe(async {
        // The first frame is shown before long files are read; linear mode has nothing to show.
        let _ = first_frame.await;
        timing.mark("first frame");
        let settings = startup.paths.agent.join("settings.json");
        let asker = Arc::new(ask::Asker { mailbox: mailbox.clone(), settings });
        let (app, open) = App::start_with(startup, Some(asker), NoModel::Waits, &mut warnings).await?;
        let events = Arc::new(EventForwarder { mailbox: mailbox.clone(), task: Mutex::default() });
        let control = Control::new(app, open, Some(events));
        control.enter(control.session()).await;
        timing.mark("ready");
        Ok(control)
    });
    let (begun, early) = tokio::select! {
        begun = begun.catch_unwind() => (Some(begun), None),
        ended = &mut ended => (None, Some(ended)),
    };
    let mut control = None;
    let mut failure = None;
    match begun {
        Some(Ok(Ok(begun))) => {
            control = Some(Arc::clone(&begun));
            let asks_trust = begun.app.startup.trust_is_open;
            mailbox.send(Message::Started(begun, warnings));
            if asks_trust {
                mailbox.send(Message::Submit("/trust".into()));
            }
        }
        Some(Ok(Err(reason))) => failure = Some(reason),
        Some(Err(panic)) => failure = Some(Failure::failed(format!("the start failed: {}", text_of(&*panic)))),
        None => {}
    }
    if failure.is_some() {
        mailbox.send(Message::End(1));
    }
    let ended = match early {
        Some(ended) => ended,
        None => ended.await,
    };
    watched.iter().for_each(JoinHandle::abort);
    let last = panics.end();
    if let Some(failure) = failure {
        return Err(failure);
    }
    let mut left = match ended {
        Ok(Ok(Ok(left))) => left,
        Ok(Ok(Err(error))) => return Err(no_terminal(error)),
        Ok(Err(panic)) => {
            output::tell(&format!("Error: the screen failed: {}", last.unwrap_or_else(|| text_of(&*panic))));
            ExitOutcome::with(1)
        }
        Err(_) => ExitOutcome::with(1),
    };
    if let (Some(control), Some(bytes)) = (&control, &left.behind) {
        left.code = job::see_to_its_end(control, ending, bytes).await.unwrap_or(left.code);
    }
    if let Some(control) = control {
        finish(&control, &left).await;
    }
    Ok(left)
}

/// Stops all work, saves the session, and prints how to continue it.
async fn finish(control: &Control, left: &ExitOutcome) {
    let open = control.session();
    let quiet = async {
        control.quiet(&open).await;
        open.agent.shut_down().await;
    };
    // Work that takes longer is dropped.
    let _ = tokio::time::timeout(END, quiet).await;
    let (flushed, id, is_kept) = {
        let mut session = open.agent.session();
        (session.flush(), session.id().to_string(), session.path().is_some_and(|path| path.exists()))
    };
    if let Err(error) = flushed {
        output::tell(&format!("Warning: {error}"));
    }
    close(Arc::clone(&open.host), left.code).await;
    if is_kept && left.code < 128 && left.moved.is_none() && left.behind.is_none() {
        output::tell(&format!("Resume with: sinew -r {}", id.get(..8).unwrap_or(&id)));
    }
}

/// Forwards the events of the current session to the screen.
struct EventForwarder {
    mailbox: Mailbox,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl View for EventForwarder {
    fn snapshots(&self) -> Snapshots {
        Snapshots::Unread
    }

    fn follow(&self, mut events: Subscriber) -> Boxed<'_, ()> {
        Box::pin(async move {
            let mailbox = self.mailbox.clone();
            let task = tokio::spawn(async move {
                while let Some(event) = events.recv().await {
                    mailbox.send(Message::Event(event));
                }
            });
            let before = self.task.lock().replace(task);
            if let Some(before) = before {
                before.abort();
            }
        })
    }
}

/// Converts signals to messages: a new size, continuing after a stop, the end of the program.
fn watch_signals(mailbox: Mailbox, ending: EndSignal) -> Vec<JoinHandle<()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let to_end = mailbox.clone();
    let mut tasks = vec![tokio::spawn(async move { to_end.send(Message::End(ending.heard().await)) })];
    if let Ok(mut resized) = signal(SignalKind::window_change()) {
        tasks.push(tokio::spawn(async move {
            while resized.recv().await.is_some() {
                mailbox.send(Message::Resized);
            }
        }));
    }
    tasks
}

/// The two forms of the mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FormOptions {
    Screen,
    /// Plain lines. `plain` says that the terminal does not support cursor movement.
    Linear {
        plain: bool,
        pace: OutputUnit,
    },
}

impl FormOptions {
    fn of(startup: &Startup) -> FormOptions {
        let Startup { args, environment, settings, .. } = startup;
        let is_set = |name: &str| environment.get(name).is_some_and(|value| !value.is_empty() && value != "0");
        let plain = !environment.has_cursor();
        let asked = args.output.linear
            || is_set("SINEW_LINEAR")
            || is_set("ACCESSIBLE")
            || settings.tui.mode == TuiMode::Linear;
        if plain || asked {
            FormOptions::Linear { plain, pace: settings.tui.linear.stream }
        } else {
            FormOptions::Screen
        }
    }

    fn run(self, parts: ui::Parts) -> io::Result<ExitOutcome> {
        match self {
            FormOptions::Screen => ui::run(parts),
            FormOptions::Linear { plain, pace } => linear::run(parts, plain, pace),
        }
    }
}

/// Returns the features of the terminal, according to the environment, and the preferences of the user.
fn screen_options(startup: &Startup) -> ScreenOptions {
    let (environment, Tui { marks, links, .. }) = (&startup.environment, &startup.settings.tui);
    let has = |name: &str, words: &[&str]| {
        environment.get(name).is_some_and(|value| words.iter().any(|word| value.contains(word)))
    };
    let depth = match environment.colour(true) {
        false => Depth::None,
        true if has("COLORTERM", &["truecolor", "24bit"]) || environment.get("WT_SESSION").is_some() => Depth::True,
        true if has("TERM", &["256"]) => Depth::Indexed,
        true => Depth::Named,
    };
    let reflow = Reflow::by_environment(|name| environment.get(name));
    let keeps_length = environment.get("TMUX").is_some_and(|tmux| !tmux.is_empty());
    ScreenOptions { depth, marks: *marks, links: *links, reflow, keeps_length, ..ScreenOptions::default() }
}

/// Collects the messages of panics while the screen is active, which would otherwise be painted over.
struct CaughtPanics(Arc<Mutex<Option<String>>>);

impl CaughtPanics {
    fn begin() -> CaughtPanics {
        let last = Arc::new(Mutex::new(None));
        let kept = Arc::clone(&last);
        std::panic::set_hook(Box::new(move |info| {
            *kept.lock() = Some(info.to_string());
        }));
        CaughtPanics(last)
    }

    /// Returns the last message.
    fn end(self) -> Option<String> {
        drop(std::panic::take_hook());
        self.0.lock().take()
    }
}

fn text_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_string());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "it panicked".into())
}
