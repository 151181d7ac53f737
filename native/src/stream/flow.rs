//! The values on their way to a callback.

use parking_lot::{Condvar, Mutex, MutexGuard};
use sinew::base::CancelToken;

/// The values on their way to a callback, and whether more may follow.
#[derive(Default)]
pub(crate) struct Flow {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
pub(crate) struct State {
    /// The number of values not yet passed to JavaScript.
    pub(super) waiting: usize,
    /// True if the callback has returned a promise that is not settled.
    pub(super) held: bool,
    /// True if the JavaScript thread is gone.
    pub(super) closed: bool,
}

impl Flow {
    pub(super) fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.lock());
        self.changed.notify_all();
    }

    /// Pauses or resumes the values.
    pub(crate) fn hold(&self, held: bool) {
        self.change(|state| state.held = held);
    }

    /// Stops all values: the JavaScript thread has ended.
    pub(crate) fn close(&self) {
        self.change(|state| state.closed = true);
    }

    /// Wakes waiting threads to check whether the call was cancelled.
    pub(crate) fn wake(&self) {
        self.change(|_| ());
    }

    /// Waits until `ready` returns true or the JavaScript thread is gone; a wait for a promise ends when `cancel` does.
    pub(super) fn wait(&self, cancel: &CancelToken, ready: impl Fn(&State) -> bool) -> MutexGuard<'_, State> {
        let mut state = self.state.lock();
        loop {
            if state.closed || ready(&state) || (state.held && cancel.is_cancelled()) {
                return state;
            }
            let deadline = cancel.deadline().filter(|_| state.held);
            match deadline {
                Some(at) => {
                    self.changed.wait_until(&mut state, at);
                }
                None => self.changed.wait(&mut state),
            }
        }
    }
}
