//! A waker for systems where threads cannot wait for descriptors. Not yet compiled or run.

use std::io;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Wakes a thread. A wake-up that comes before the wait is not lost.
#[derive(Debug, Default)]
pub(crate) struct Waker {
    // Woken, closed.
    state: Mutex<(bool, bool)>,
    changed: Condvar,
}

impl Waker {
    pub(crate) fn new() -> io::Result<Waker> {
        Ok(Waker::default())
    }

    pub(crate) fn wake(&self) {
        self.lock().0 = true;
        self.changed.notify_all();
    }

    /// Lets every wait return false.
    pub(crate) fn close(&self) {
        self.lock().1 = true;
        self.changed.notify_all();
    }

    /// Waits for the next wake-up. False once it is closed.
    pub(crate) fn wait(&self) -> bool {
        let mut state = self.lock();
        while !state.0 && !state.1 {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.0 = false;
        !state.1
    }

    fn lock(&self) -> MutexGuard<'_, (bool, bool)> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
