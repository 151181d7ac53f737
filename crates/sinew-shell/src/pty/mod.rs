//! Programs that need a terminal: a pseudo-terminal, what is typed into it and what it prints.
//!
//! One thread per running session sleeps until the terminal, the program or the caller does something. The
//! program runs under the supervisor process where [`PtyOptions::supervisor`] names it: the supervisor is told of
//! the host's end by a closed socket, collects every orphan of the session and leaves none of them behind.
//! Without a supervisor the program itself gets a death signal (Linux), and what it started is ended as far as
//! descent leads.

mod live;
mod options;

#[cfg(unix)]
mod program;
#[cfg(unix)]
mod run;
#[cfg(unix)]
mod terminal;
#[cfg(windows)]
mod windows;
#[cfg(windows)]
use windows as run;

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use sinew_base::{CancelToken, Error, ErrorCode, Result};

use live::Live;
pub use live::{INPUT_LIMIT, Terminal};
pub use options::{PtyEnd, PtyOptions, clamped};

use crate::output::Chunk;

#[derive(Default)]
enum State {
    #[default]
    New,
    Running(Arc<Live>),
    Over,
}

/// A pseudo-terminal session: one program at a time. Clones share it.
#[derive(Clone, Default)]
pub struct PtySession {
    state: Arc<Mutex<State>>,
}

impl PtySession {
    /// A session without a program.
    #[must_use]
    pub fn new() -> PtySession {
        PtySession::default()
    }

    /// Starts a program. [`PtySession::write`], [`PtySession::resize`] and [`PtySession::kill`] work from now on.
    ///
    /// `on_chunk` gets the decoded output, at most once per [`crate::output::MERGE_INTERVAL`] or
    /// [`crate::output::MERGE_BYTES`]; while it runs nothing is read, and when it breaks off the program is
    /// killed. `on_end` gets the result after the last chunk. Both run on the session's thread.
    ///
    /// `cancel` ends the program as [`PtySession::kill`] does.
    ///
    /// # Errors
    /// `PTY session already running`; no thread or descriptor left. A program that cannot be started is an error
    /// of `on_end`.
    pub fn start(
        &self,
        options: PtyOptions,
        cancel: &CancelToken,
        mut on_chunk: impl FnMut(String) -> ControlFlow<()> + Send + 'static,
        on_end: impl FnOnce(Result<PtyEnd>) + Send + 'static,
    ) -> Result<()> {
        self.start_chunks(options, cancel, move |chunk| on_chunk(chunk.into_text()), on_end)
    }

    /// The same with chunks in the form that [`PtyOptions::encoding`] asks for.
    ///
    /// # Errors
    /// As [`PtySession::start`].
    pub fn start_chunks(
        &self,
        options: PtyOptions,
        cancel: &CancelToken,
        on_chunk: impl FnMut(Chunk) -> ControlFlow<()> + Send + 'static,
        on_end: impl FnOnce(Result<PtyEnd>) + Send + 'static,
    ) -> Result<()> {
        let live = {
            let mut state = self.state.lock();
            if matches!(*state, State::Running(_)) {
                return Err(Error::new(ErrorCode::InvalidState, "PTY session already running"));
            }
            let live = Live::new(clamped(options.cols, options.rows))?;
            *state = State::Running(Arc::clone(&live));
            live
        };
        let (session, cancel) = (self.clone(), cancel.clone());
        let thread = std::thread::Builder::new().name("sinew-pty".to_string()).spawn(move || {
            // A panic, of a callback for instance, is an error of this session alone.
            let end = catch_unwind(AssertUnwindSafe(|| run::run(&live, &options, &cancel, on_chunk)));
            let end = end.unwrap_or_else(|_| Err(Error::new(ErrorCode::Internal, "PTY session: a fault ended it")));
            *session.state.lock() = State::Over;
            live.set_over();
            on_end(end);
        });
        if let Err(error) = thread {
            *self.state.lock() = State::Over;
            return Err(Error::io("failed to start a thread for the PTY session", &error));
        }
        Ok(())
    }

    /// [`PtySession::start`] that waits for the end.
    ///
    /// # Errors
    /// Those of `start`, and a program that cannot be started.
    pub fn run(
        &self,
        options: PtyOptions,
        cancel: &CancelToken,
        on_chunk: impl FnMut(String) -> ControlFlow<()> + Send + 'static,
    ) -> Result<PtyEnd> {
        let (send, receive) = std::sync::mpsc::channel();
        self.start(options, cancel, on_chunk, move |end| {
            // The receiver below lives until this was sent.
            let _ = send.send(end);
        })?;
        receive.recv().unwrap_or_else(|_| Err(Error::new(ErrorCode::Internal, "PTY session ended without a result")))
    }

    /// Queues what is typed. Never blocks: see [`PtySession::pending_bytes`].
    ///
    /// # Errors
    /// `PTY session is not running`; more than [`INPUT_LIMIT`] bytes waiting, of which then none is queued.
    pub fn write(&self, data: &[u8]) -> Result<()> {
        self.running()?.write(data)
    }

    /// Gives the terminal another size, clamped to 20–400 columns and 5–200 rows. Does nothing after the end.
    ///
    /// # Errors
    /// `PTY session is not running` when nothing was ever started.
    pub fn resize(&self, cols: u32, rows: u32) -> Result<()> {
        match &*self.state.lock() {
            State::New => Err(not_running()),
            State::Running(live) => {
                live.resize(clamped(cols, rows));
                Ok(())
            }
            State::Over => Ok(()),
        }
    }

    /// Ends the program and all that descends from it: hang-up and `SIGTERM`, soon after `SIGKILL`. The session
    /// ends as cancelled. It does not wait behind queued input or a slow callback.
    ///
    /// # Errors
    /// `PTY session is not running`.
    pub fn kill(&self) -> Result<()> {
        self.running()?.kill();
        Ok(())
    }

    /// Stops reading the terminal, or goes on. While it is paused the program runs until the terminal holds no more, and a
    /// session whose program ends waits: [`PtySession::kill`] and `cancel` end that. Does nothing after the end.
    ///
    /// # Errors
    /// `PTY session is not running` when nothing was ever started.
    pub fn pause(&self, paused: bool) -> Result<()> {
        match &*self.state.lock() {
            State::New => Err(not_running()),
            State::Running(live) => {
                live.pause(paused);
                Ok(())
            }
            State::Over => Ok(()),
        }
    }

    /// The running program and its terminal, once it was started.
    #[must_use]
    pub fn terminal(&self) -> Option<Terminal> {
        self.running().ok()?.started()
    }

    /// The same; blocks until the program was started or could not be, at most for `most`.
    #[must_use]
    pub fn wait_terminal(&self, most: Duration) -> Option<Terminal> {
        self.running().ok()?.wait_started(most)
    }

    /// Returns what waits as [`PtySession::wait_terminal`] does for the program of now, and knows it also when it has ended
    /// meanwhile.
    pub fn terminal_waiter(&self) -> impl FnOnce(Duration) -> Option<Terminal> + Send + use<> {
        let live = self.running().ok();
        move |most| live?.wait_started(most)
    }

    /// Number of bytes that wait to be typed; 0 without a program.
    #[must_use]
    pub fn pending_bytes(&self) -> usize {
        self.running().map_or(0, |live| live.pending())
    }

    fn running(&self) -> Result<Arc<Live>> {
        match &*self.state.lock() {
            State::Running(live) => Ok(Arc::clone(live)),
            State::New | State::Over => Err(not_running()),
        }
    }
}

/// Both ends of a new terminal without a program, and the path of the program's end. A size as of [`clamped`].
///
/// # Errors
/// When the system has no terminal left.
#[cfg(unix)]
pub fn open_pair(cols: u32, rows: u32) -> Result<(std::os::fd::OwnedFd, std::os::fd::OwnedFd, String)> {
    let failed = |error: std::io::Error| Error::io("open: failed to open a terminal", &error);
    let (master, slave) = terminal::open().map_err(failed)?;
    terminal::resize(&master, clamped(cols, rows)).map_err(failed)?;
    let name = terminal::name(&master).map_err(failed)?;
    Ok((master, slave, name))
}

impl std::fmt::Debug for PtySession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PtySession").field("running", &self.running().is_ok()).finish()
    }
}

fn not_running() -> Error {
    Error::new(ErrorCode::InvalidState, "PTY session is not running")
}
