//! A running command on its own thread; callers may stop waiting for it.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};
use serde_json::{Value, json};
use sinew::base::{CancelHandle, CancelToken};
use sinew::shell::RunResult;
use tokio::sync::{Notify, watch};

use super::output::{Output, OutputExcerpt};
use crate::tool::{ToolError, ToolOutput, Updates, panic_text};

/// Output up to this size is reported at once; more output is reported at this interval.
const SMALL: u64 = 4 * 1024;
const UPDATE_EVERY: Duration = Duration::from_millis(100);

/// The work of a command: it passes its output to [`Command::push`] and ends soon after it is cancelled.
pub(crate) type Work = Box<dyn FnOnce(&Arc<Command>, &CancelToken) -> Result<RunResult, ToolError> + Send>;

/// How a command is run.
pub(crate) struct Start {
    /// The command as the model wrote it.
    pub(crate) command: String,
    /// The time limit; `None` means unlimited.
    pub(crate) seconds: Option<f64>,
    pub(crate) head: Option<usize>,
    pub(crate) tail: Option<usize>,
    pub(crate) output: Output,
    pub(crate) updates: Updates,
    /// Called at the end, before listeners are notified.
    pub(crate) after: Box<dyn FnOnce() + Send>,
    pub(crate) work: Work,
}

/// A command that was started.
pub(crate) struct Command {
    pub(crate) command: String,
    seconds: Option<f64>,
    began: Instant,
    cancel_handle: CancelHandle,
    live: Mutex<LiveState>,
    end: OnceLock<End>,
    over: watch::Sender<bool>,
    bell: OnceLock<Arc<Notify>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// The state that changes while it runs.
struct LiveState {
    /// `None` once the command has ended.
    output: Option<Output>,
    updates: Updates,
    reported: Option<Instant>,
}

/// The end of a command.
pub(crate) struct End {
    pub(crate) result: Result<RunResult, ToolError>,
    pub(crate) shown: OutputExcerpt,
    pub(crate) took: Duration,
}

impl Command {
    /// Starts the command.
    pub(crate) fn start(start: Start) -> Result<Arc<Command>, ToolError> {
        let Start { command, seconds, head, tail, output, updates, after, work } = start;
        let (cancel_handle, cancel) = CancelHandle::new();
        let cancel = match seconds {
            Some(seconds) => cancel.with_timeout(Duration::from_secs_f64(seconds)),
            None => cancel,
        };
        let this = Arc::new(Command {
            command,
            seconds,
            began: Instant::now(),
            cancel_handle,
            live: Mutex::new(LiveState { output: Some(output), updates, reported: None }),
            end: OnceLock::new(),
            over: watch::Sender::new(false),
            bell: OnceLock::new(),
            thread: Mutex::default(),
        });
        let running = Arc::clone(&this);
        let thread = std::thread::Builder::new().name("sinew-command".into()).spawn(move || {
            let result = catch_unwind(AssertUnwindSafe(|| work(&running, &cancel)));
            let crashed = |panic: Box<dyn std::any::Any + Send>| format!("crashed: {}", panic_text(&*panic));
            let result = result.unwrap_or_else(|panic| Err(ToolError::Failed(crashed(panic))));
            after();
            let output = running.live().output.take();
            let shown = output.map(|output| output.finish(head, tail)).unwrap_or_default();
            let _ = running.end.set(End { result, shown, took: running.began.elapsed() });
            running.over.send_replace(true);
            running.bell.get().inspect(|bell| bell.notify_one());
        });
        let thread = thread.map_err(|error| ToolError::Failed(format!("Failed to start a thread: {error}")))?;
        *this.thread.lock() = Some(thread);
        Ok(this)
    }

    /// Receives a chunk of the output, which may be split anywhere.
    pub(crate) fn push(&self, chunk: &str) -> ControlFlow<()> {
        let mut live = self.live();
        let LiveState { output: Some(output), updates, reported } = &mut *live else { return ControlFlow::Break(()) };
        output.push(chunk);
        if output.total() < SMALL || reported.is_none_or(|last| last.elapsed() >= UPDATE_EVERY) {
            *reported = Some(Instant::now());
            let details = Some(json!({"lines": output.lines()}));
            updates.send(ToolOutput { details, ..ToolOutput::text(output.glance()) });
        }
        ControlFlow::Continue(())
    }

    /// Requests the end of the command.
    pub(crate) fn cancel(&self) {
        self.cancel_handle.cancel();
    }

    /// Returns the handle that cancels it.
    pub(crate) fn cancel_handle(&self) -> CancelHandle {
        self.cancel_handle.clone()
    }

    /// Stops reporting its output; `bell` is notified at its end.
    pub(crate) fn detach(&self, bell: Arc<Notify>) {
        self.live().updates = Updates::none();
        let _ = self.bell.set(bell);
    }

    /// Waits for its end.
    pub(crate) async fn ended(&self) -> &End {
        loop {
            if let Some(end) = self.end() {
                return end;
            }
            // The sender lives as long as this command.
            let _ = self.over.subscribe().wait_for(|over| *over).await;
        }
    }

    /// Returns its result; `None` while it is running.
    pub(crate) fn end(&self) -> Option<&End> {
        self.end.get()
    }

    /// Waits until its thread has ended. Blocks.
    pub(crate) fn join(&self) {
        let thread = self.thread.lock().take();
        if let Some(thread) = thread {
            // A panic of the work is part of its result; the thread cannot fail otherwise.
            let _ = thread.join();
        }
    }

    /// Returns the end of its current output.
    pub(crate) fn glance(&self) -> String {
        match self.end() {
            Some(end) => end.shown.text.clone(),
            None => self.live().output.as_mut().map(Output::glance).unwrap_or_default(),
        }
    }

    /// Returns its running time.
    pub(crate) fn took(&self) -> Duration {
        self.end().map_or_else(|| self.began.elapsed(), |end| end.took)
    }

    /// Describes how it ended, unless it succeeded.
    pub(crate) fn ending(&self) -> Option<String> {
        match &self.end()?.result {
            Ok(result) => ending(result, self.seconds),
            Err(ToolError::Failed(text)) => Some(text.clone()),
            Err(ToolError::Aborted) => Some("Command aborted".into()),
        }
    }

    /// Returns the details of its result once it has ended.
    pub(crate) fn details(&self) -> Value {
        let Some(end) = self.end() else { return json!({}) };
        let millis = u64::try_from(end.took.as_millis()).unwrap_or(u64::MAX);
        let result = end.result.as_ref().ok();
        let mut details = json!({
            "cancelled": result.is_some_and(|result| result.cancelled),
            "timedOut": result.is_some_and(|result| result.timed_out),
            "durationMs": millis,
        });
        if let Some(code) = result.and_then(|result| result.exit_code) {
            details["exitCode"] = json!(code);
        }
        if let Some(truncation) = &end.shown.meta {
            details["meta"] = json!({"truncation": truncation});
        }
        details
    }

    fn live(&self) -> MutexGuard<'_, LiveState> {
        self.live.lock()
    }
}

/// Describes how a command ended, unless it succeeded.
fn ending(result: &RunResult, seconds: Option<f64>) -> Option<String> {
    if result.timed_out {
        return Some(format!("Command timed out after {} seconds", seconds.unwrap_or_default()));
    }
    if result.cancelled {
        return Some("Command aborted".into());
    }
    match (result.exit_code, result.signal) {
        (Some(0), _) => None,
        (Some(code), _) => Some(format!("Command exited with code {code}")),
        (None, Some(signal)) => Some(format!("Command killed by signal {}", number(signal))),
        (None, None) => Some("Command ended without an exit status".into()),
    }
}

/// Returns the number and the name of a signal.
fn number(signal: &str) -> String {
    const SIGNALS: [(&str, u8); 12] = [
        ("SIGHUP", 1),
        ("SIGINT", 2),
        ("SIGQUIT", 3),
        ("SIGILL", 4),
        ("SIGABRT", 6),
        ("SIGBUS", 7),
        ("SIGFPE", 8),
        ("SIGKILL", 9),
        ("SIGSEGV", 11),
        ("SIGPIPE", 13),
        ("SIGALRM", 14),
        ("SIGTERM", 15),
    ];
    let known = SIGNALS.iter().find(|(name, _)| *name == signal);
    known.map_or_else(|| signal.to_string(), |(name, number)| format!("{number} ({name})"))
}
