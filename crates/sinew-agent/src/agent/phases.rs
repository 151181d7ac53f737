//! Whether an agent compacts or waits for another attempt, so that it can be shown and ended by itself.

use std::ops::Deref;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use tokio_util::sync::CancellationToken;

use super::session::AgentSession;

/// What is going on besides runs.
#[derive(Debug, Default)]
pub(super) struct Phases {
    compaction: Arc<Slot>,
    pause: Arc<Slot>,
}

/// The token of a phase, while it lasts.
#[derive(Debug, Default)]
struct Slot(Mutex<Option<CancellationToken>>);

impl Slot {
    fn lock(&self) -> MutexGuard<'_, Option<CancellationToken>> {
        self.0.lock()
    }

    fn begin(self: &Arc<Slot>, cancel: &CancellationToken) -> Phase {
        let token = cancel.child_token();
        *self.lock() = Some(token.clone());
        Phase { slot: Arc::clone(self), token }
    }

    fn end(&self) -> bool {
        self.lock().as_ref().inspect(|token| token.cancel()).is_some()
    }
}

/// A phase that lasts until this is dropped; it ends with the token that it was begun with, or alone.
#[derive(Debug)]
pub(super) struct Phase {
    slot: Arc<Slot>,
    token: CancellationToken,
}

impl Deref for Phase {
    type Target = CancellationToken;

    fn deref(&self) -> &CancellationToken {
        &self.token
    }
}

impl Drop for Phase {
    fn drop(&mut self) {
        *self.slot.lock() = None;
    }
}

impl Phases {
    /// The context is made smaller.
    pub(super) fn compaction(&self, cancel: &CancellationToken) -> Phase {
        self.compaction.begin(cancel)
    }

    /// A request waits to be sent again.
    pub(super) fn pause(&self, cancel: &CancellationToken) -> Phase {
        self.pause.begin(cancel)
    }
}

impl AgentSession {
    /// Whether the context is being made smaller.
    #[must_use]
    pub fn is_compacting(&self) -> bool {
        self.phases.compaction.lock().is_some()
    }

    /// Whether a request waits to be sent again.
    #[must_use]
    pub fn is_retrying(&self) -> bool {
        self.phases.pause.lock().is_some()
    }

    /// Ends a compaction and nothing else; false where there is none. The context stays as it is.
    pub fn abort_compaction(&self) -> bool {
        self.phases.compaction.end()
    }

    /// Ends the wait for another attempt: the run is over then. False where nothing waits.
    pub fn abort_retry(&self) -> bool {
        self.phases.pause.end()
    }
}
