//! A waker for systems where threads cannot wait for descriptors. Not yet compiled or run.

use std::io;

use parking_lot::{Condvar, Mutex};

/// Wakes a thread. A wake-up before the wait is not lost.
#[derive(Debug, Default)]
pub(crate) struct Waker {
    // Whether it was woken, and whether it was closed.
    state: Mutex<(bool, bool)>,
    changed: Condvar,
}

impl Waker {
    pub(crate) fn new() -> io::Result<Waker> {
        Ok(Waker::default())
    }

    pub(crate) fn wake(&self) {
        self.state.lock().0 = true;
        self.changed.notify_all();
    }

    /// Makes every wait return false.
    pub(crate) fn close(&self) {
        self.state.lock().1 = true;
        self.changed.notify_all();
    }

    /// Waits for the next wake-up. Returns false once it is closed.
    pub(crate) fn wait(&self) -> bool {
        let mut state = self.state.lock();
        while !state.0 && !state.1 {
            self.changed.wait(&mut state);
        }
        state.0 = false;
        !state.1
    }
}
