//! A standard input that can be written while the command runs.

use std::sync::Arc;

use parking_lot::{Condvar, Mutex};
use sinew_base::{CancelToken, Result};

/// The number of buffered bytes at which a writer waits for the command.
const ROOM: usize = 64 * 1024;

/// A pipe to the standard input of a command, written by one caller and closed by any.
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
    // True if the command does not read any more.
    gone: bool,
}

impl InputPipe {
    /// Creates a pipe without a reader; pass it to [`super::StreamOptions::input`].
    ///
    /// # Errors
    /// Never fails; the pipe of supervised shells needs a descriptor.
    pub fn new() -> Result<InputPipe> {
        Ok(InputPipe::default())
    }

    /// Writes all of `bytes`, and blocks while the buffer is full. Returns false if the pipe was closed, the command
    /// has ended or `cancel` was cancelled: the rest is then dropped.
    ///
    /// # Errors
    /// Never fails.
    pub fn write(&self, mut bytes: &[u8], cancel: &CancelToken) -> Result<bool> {
        let shared = Arc::clone(&self.shared);
        let _hook = cancel.on_cancel(move || {
            // The lock ensures that the writer is either before its check or already waiting.
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

    /// Closes the input: the command reads the end of the file. A blocked write returns false.
    pub fn close(&self) {
        self.shared.state.lock().closed = true;
        self.shared.changed.notify_all();
    }

    /// Waits for the next bytes for the command. `None` at the end.
    pub(super) fn take(&self) -> Option<Vec<u8>> {
        let mut state = self.shared.state.lock();
        while state.held.is_empty() && !state.closed && !state.gone {
            self.shared.changed.wait(&mut state);
        }
        let bytes = std::mem::take(&mut state.held);
        self.shared.changed.notify_all();
        (!bytes.is_empty() && !state.gone).then_some(bytes)
    }

    /// Records that the command does not read any more.
    pub(super) fn abandon(&self) {
        self.shared.state.lock().gone = true;
        self.shared.changed.notify_all();
    }
}
