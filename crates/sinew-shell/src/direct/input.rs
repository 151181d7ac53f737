//! A standard input that is written while the command runs.

use std::sync::Arc;

use parking_lot::{Condvar, Mutex};
use sinew_base::{CancelToken, Result};

/// A writer that is faster than the command waits once so many bytes are held.
const ROOM: usize = 64 * 1024;

/// A pipe into the standard input of a command, written by one caller and closed by any.
#[derive(Debug, Default)]
pub struct InputPipe {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    held: Vec<u8>,
    closed: bool,
    // The command takes no more.
    gone: bool,
}

impl InputPipe {
    /// A pipe that nobody reads yet; hand it to [`super::StreamOptions::input`].
    ///
    /// # Errors
    /// None here: the pipe of the supervised shells needs a descriptor.
    pub fn new() -> Result<InputPipe> {
        Ok(InputPipe::default())
    }

    /// Writes all of `bytes`, and blocks while the command does not take them. Returns false once the pipe was closed,
    /// the command has ended or `cancel` was cancelled: nobody takes any more.
    ///
    /// # Errors
    /// None here.
    pub fn write(&self, mut bytes: &[u8], cancel: &CancelToken) -> Result<bool> {
        let shared = Arc::clone(&self.shared);
        let _hook = cancel.on_cancel(move || {
            // The lock makes sure that the writer is either before its check or already waiting.
            drop(shared.state.lock());
            shared.changed.notify_all();
        });
        let mut state = self.shared.state.lock();
        loop {
            if state.closed || state.gone || cancel.check().is_err() {
                return Ok(false);
            }
            let (now, later) = bytes.split_at(bytes.len().min(ROOM - state.held.len()));
            state.held.extend_from_slice(now);
            bytes = later;
            self.shared.changed.notify_all();
            if bytes.is_empty() {
                return Ok(true);
            }
            match cancel.deadline() {
                Some(until) => _ = self.shared.changed.wait_until(&mut state, until),
                None => self.shared.changed.wait(&mut state),
            }
        }
    }

    /// Ends the input: the command reads to its end. A write that waits returns false.
    pub fn close(&self) {
        self.shared.state.lock().closed = true;
        self.shared.changed.notify_all();
    }

    /// The next bytes for the command; waits for them. `None` at the end.
    pub(super) fn take(&self) -> Option<Vec<u8>> {
        let mut state = self.shared.state.lock();
        while state.held.is_empty() && !state.closed && !state.gone {
            self.shared.changed.wait(&mut state);
        }
        let bytes = std::mem::take(&mut state.held);
        self.shared.changed.notify_all();
        (!bytes.is_empty() && !state.gone).then_some(bytes)
    }

    /// The command takes no more.
    pub(super) fn abandon(&self) {
        self.shared.state.lock().gone = true;
        self.shared.changed.notify_all();
    }
}
