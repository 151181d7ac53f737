//! The state that the caller's threads and the session's thread share while a program runs.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use sinew_base::{Error, ErrorCode, Result};

use crate::output::Waker;

/// The maximum number of queued input bytes: 16 MiB.
pub const INPUT_LIMIT: usize = 16 * 1024 * 1024;

/// Terminates the program without the session's thread, which may be inside a slow callback.
type Killer = Box<dyn Fn() + Send>;
/// Sets the size of the terminal.
type Resizer = Box<dyn Fn((u16, u16)) + Send>;

pub(super) struct LivePty {
    pub(super) wake: Waker,
    inner: Mutex<Inner>,
    // Notified once the program was started or failed to start.
    settled: Condvar,
}

/// The program of a session and its terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terminal {
    /// The process id of the program.
    pub pid: u32,
    /// The descriptor of our end of the terminal. It is closed with the session.
    pub fd: i32,
    /// The path of the program's end.
    pub name: String,
}

struct Inner {
    queue: VecDeque<u8>,
    size: (u16, u16),
    killed: bool,
    paused: bool,
    started: Option<Terminal>,
    over: bool,
    // Both are set while the program runs.
    killer: Option<Killer>,
    resizer: Option<Resizer>,
}

impl LivePty {
    pub(super) fn new(size: (u16, u16)) -> Result<Arc<LivePty>> {
        let wake = Waker::new().map_err(|error| Error::io("failed to start the PTY session", &error))?;
        let inner = Inner {
            queue: VecDeque::new(),
            size,
            killed: false,
            paused: false,
            started: None,
            over: false,
            killer: None,
            resizer: None,
        };
        Ok(Arc::new(LivePty { wake, inner: Mutex::new(inner), settled: Condvar::new() }))
    }

    pub(super) fn write(&self, data: &[u8]) -> Result<()> {
        let mut inner = self.inner.lock();
        let pending = inner.queue.len();
        if data.len() > INPUT_LIMIT - pending {
            let message = format!(
                "write: {pending} bytes of input wait for the program and {} more are over the limit of {INPUT_LIMIT}; \
                 look at pendingBytes before writing",
                data.len()
            );
            return Err(Error::new(ErrorCode::LimitExceeded, message));
        }
        inner.queue.extend(data);
        drop(inner);
        self.wake.wake();
        Ok(())
    }

    pub(super) fn resize(&self, size: (u16, u16)) {
        let mut inner = self.inner.lock();
        inner.size = size;
        if let Some(resizer) = &inner.resizer {
            resizer(size);
        }
    }

    pub(super) fn kill(&self) {
        let mut inner = self.inner.lock();
        inner.killed = true;
        // The program's remaining output is still delivered.
        inner.paused = false;
        if let Some(killer) = &inner.killer {
            killer();
        }
        drop(inner);
        self.wake.wake();
    }

    pub(super) fn is_killed(&self) -> bool {
        self.inner.lock().killed
    }

    pub(super) fn pause(&self, paused: bool) {
        let mut inner = self.inner.lock();
        inner.paused = paused && !inner.killed;
        drop(inner);
        self.wake.wake();
    }

    #[cfg(unix)]
    pub(super) fn is_paused(&self) -> bool {
        self.inner.lock().paused
    }

    /// Records that the program was started.
    pub(super) fn set_started(&self, terminal: Terminal) {
        self.inner.lock().started = Some(terminal);
        self.settled.notify_all();
    }

    /// Records that the session has ended.
    pub(super) fn set_over(&self) {
        self.inner.lock().over = true;
        self.settled.notify_all();
    }

    /// Returns the program; `None` if it was not started.
    pub(super) fn started(&self) -> Option<Terminal> {
        self.inner.lock().started.clone()
    }

    /// Does the same, but waits at most `most` until the program was started or failed to start.
    pub(super) fn wait_started(&self, most: Duration) -> Option<Terminal> {
        let until = Instant::now() + most;
        let mut inner = self.inner.lock();
        while inner.started.is_none() && !inner.over {
            if self.settled.wait_until(&mut inner, until).timed_out() {
                break;
            }
        }
        inner.started.clone()
    }

    pub(super) fn pending(&self) -> usize {
        self.inner.lock().queue.len()
    }

    pub(super) fn size(&self) -> (u16, u16) {
        self.inner.lock().size
    }

    /// Attaches a running program and applies earlier requests.
    pub(super) fn attach(&self, killer: Killer, resizer: Resizer) {
        let mut inner = self.inner.lock();
        resizer(inner.size);
        if inner.killed {
            killer();
        }
        inner.killer = Some(killer);
        inner.resizer = Some(resizer);
    }

    /// Detaches an ended program, which must not be signalled or resized any more.
    pub(super) fn detach(&self) {
        let (killer, resizer) = {
            let mut inner = self.inner.lock();
            inner.queue = VecDeque::new();
            (inner.killer.take(), inner.resizer.take())
        };
        // They own the terminal. Closing it is slow on Windows, so the lock must be released first.
        drop((killer, resizer));
    }

    /// Passes the front of the queue to `write`, which returns the number of bytes written.
    pub(super) fn type_with<E>(&self, write: impl FnOnce(&[u8]) -> Result<usize, E>) -> Result<(), E> {
        let mut inner = self.inner.lock();
        let (front, _) = inner.queue.as_slices();
        if !front.is_empty() {
            let count = write(front)?;
            inner.queue.drain(..count);
        }
        Ok(())
    }
}
