//! The state that the caller's threads and the session's thread share while a program runs.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use sinew_base::{Error, ErrorCode, Result};

use crate::output::Waker;

/// Number of bytes that may wait to be typed: 16 MiB.
pub const INPUT_LIMIT: usize = 16 * 1024 * 1024;

/// Ends the program without the session's thread, which may be inside a slow callback.
type Killer = Box<dyn Fn() + Send>;
/// Tells the terminal its size.
type Resizer = Box<dyn Fn((u16, u16)) + Send>;

pub(super) struct Live {
    pub(super) wake: Waker,
    inner: Mutex<Inner>,
    // The program was started, or will never be.
    settled: Condvar,
}

/// The program of a session and its terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terminal {
    /// The process id of the program.
    pub pid: u32,
    /// The number of our end of the terminal. It is closed with the session.
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
    // Both are there from the program's start to its end.
    killer: Option<Killer>,
    resizer: Option<Resizer>,
}

impl Live {
    pub(super) fn new(size: (u16, u16)) -> Result<Arc<Live>> {
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
        Ok(Arc::new(Live { wake, inner: Mutex::new(inner), settled: Condvar::new() }))
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
        // What it has printed is still handed over.
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

    /// The program runs.
    pub(super) fn set_started(&self, terminal: Terminal) {
        self.inner.lock().started = Some(terminal);
        self.settled.notify_all();
    }

    /// The session is over.
    pub(super) fn set_over(&self) {
        self.inner.lock().over = true;
        self.settled.notify_all();
    }

    /// The program, if it was started.
    pub(super) fn started(&self) -> Option<Terminal> {
        self.inner.lock().started.clone()
    }

    /// The same; waits until it is known, at most for `most`.
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

    /// The program runs: what was asked for before is done now.
    pub(super) fn attach(&self, killer: Killer, resizer: Resizer) {
        let mut inner = self.inner.lock();
        resizer(inner.size);
        if inner.killed {
            killer();
        }
        inner.killer = Some(killer);
        inner.resizer = Some(resizer);
    }

    /// The program is over: nothing may be signalled or resized any more.
    pub(super) fn detach(&self) {
        let (killer, resizer) = {
            let mut inner = self.inner.lock();
            inner.queue = VecDeque::new();
            (inner.killer.take(), inner.resizer.take())
        };
        // They hold the terminal, and closing it takes a while on Windows: nobody should have to wait for the lock.
        drop((killer, resizer));
    }

    /// Hands the front of the queue to `write`, which tells how much it took.
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
