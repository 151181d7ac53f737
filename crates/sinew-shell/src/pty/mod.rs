//! Programs that need a terminal: a pseudo-terminal, its input and its output.
//!
//! One thread per running session sleeps until the terminal, the program or the caller needs it. With
//! [`PtyOptions::supervisor`] the program runs under the supervisor process: a closed socket tells the supervisor that
//! the host has ended, and it adopts and terminates every orphan of the session. Without a supervisor the program
//! itself gets a death signal (Linux), and its descendants are terminated as far as they can be found.

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

use live::LivePty;
pub use live::{INPUT_LIMIT, Terminal};
pub use options::{PtyEnd, PtyOptions, clamped};

use crate::output::Chunk;

#[derive(Default)]
enum State {
    #[default]
    New,
    Running(Arc<LivePty>),
    Over,
}

/// A pseudo-terminal session for one program at a time. Clones share it.
#[derive(Clone, Default)]
pub struct PtySession {
    state: Arc<Mutex<State>>,
}

impl PtySession {
    /// Creates a session without a program.
    #[must_use]
    pub fn new() -> PtySession {
        PtySession::default()
    }

    /// Starts a program. [`PtySession::write`], [`PtySession::resize`] and [`PtySession::kill`] work from now on.
    ///
    /// `on_chunk` receives the decoded output, at most once per [`crate::output::MERGE_INTERVAL`] or
    /// [`crate::output::MERGE_BYTES`]. Nothing is read while it runs, and if it returns `Break` the program is killed.
    /// `on_end` receives the result after the last chunk. Both run on the session's thread.
    ///
    /// `cancel` terminates the program as [`PtySession::kill`] does.
    ///
    /// # Errors
    /// Returns `PTY session already running`, or an error if there are no free threads or descriptors. If the program
    /// cannot be started, `on_end` receives the error.
    pub fn start(
        &self,
        options: PtyOptions,
        cancel: &CancelToken,
        mut on_chunk: impl FnMut(String) -> ControlFlow<()> + Send + 'static,
        on_end: impl FnOnce(Result<PtyEnd>) + Send + 'static,
    ) -> Result<()> {
        self.start_chunks(options, cancel, move |chunk| on_chunk(chunk.into_text()), on_end)
    }

    /// Does the same with chunks in the format of [`PtyOptions::encoding`].
    ///
    /// # Errors
    /// Returns the errors of [`PtySession::start`].
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
            let live = LivePty::new(clamped(options.cols, options.rows))?;
            *state = State::Running(Arc::clone(&live));
            live
        };
        let (session, cancel) = (self.clone(), cancel.clone());
        let thread = std::thread::Builder::new().name("sinew-pty".to_string()).spawn(move || {
            // A panic, for example of a callback, is an error of this session only.
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

    /// Does the same as [`PtySession::start`] and waits for the end.
    ///
    /// # Errors
    /// Returns the errors of [`PtySession::start`], and an error if the program cannot be started.
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

    /// Returns the columns and rows of the terminal; `None` if no program runs.
    #[must_use]
    pub fn size(&self) -> Option<(u16, u16)> {
        self.running().ok().map(|live| live.size())
    }

    /// Queues input. Never blocks: see [`PtySession::pending_bytes`].
    ///
    /// # Errors
    /// Returns `PTY session is not running`, or an error if more than [`INPUT_LIMIT`] bytes would be queued; the input
    /// is then dropped.
    pub fn write(&self, data: &[u8]) -> Result<()> {
        self.running()?.write(data)
    }

    /// Resizes the terminal, clamped as in [`clamped`]. Does nothing after the end.
    ///
    /// # Errors
    /// Returns `PTY session is not running` if no program was started.
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

    /// Terminates the program and all its descendants: `SIGHUP`, then `SIGTERM`, then `SIGKILL`. The session ends as
    /// cancelled. Does not wait for queued input or a slow callback.
    ///
    /// # Errors
    /// Returns `PTY session is not running` if no program is running.
    pub fn kill(&self) -> Result<()> {
        self.running()?.kill();
        Ok(())
    }

    /// Pauses or resumes reading the terminal. While paused, the program runs until the terminal's buffer is full, and
    /// a session whose program ends waits until it is resumed, killed or cancelled. Does nothing after the end.
    ///
    /// # Errors
    /// Returns `PTY session is not running` if no program was started.
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

    /// Returns the running program and its terminal; `None` before it is started.
    #[must_use]
    pub fn terminal(&self) -> Option<Terminal> {
        self.running().ok()?.started()
    }

    /// Does the same, but blocks until the program was started or failed to start, at most for `most`.
    #[must_use]
    pub fn wait_terminal(&self, most: Duration) -> Option<Terminal> {
        self.running().ok()?.wait_started(most)
    }

    /// Returns a function that waits as [`PtySession::wait_terminal`] does for the current program, and returns it even
    /// if it has ended in the meantime.
    pub fn terminal_waiter(&self) -> impl FnOnce(Duration) -> Option<Terminal> + Send + use<> {
        let live = self.running().ok();
        move |most| live?.wait_started(most)
    }

    /// Returns the number of queued input bytes; 0 without a program.
    #[must_use]
    pub fn pending_bytes(&self) -> usize {
        self.running().map_or(0, |live| live.pending())
    }

    fn running(&self) -> Result<Arc<LivePty>> {
        match &*self.state.lock() {
            State::Running(live) => Ok(Arc::clone(live)),
            State::New | State::Over => Err(not_running()),
        }
    }
}

/// Opens a terminal without a program: both ends, and the path of the program's end. The size is limited as in
/// [`clamped`].
///
/// # Errors
/// Returns an error if the system has no free terminals.
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
