//! The right to work at the same time as others. A child that waits for its own children gives it back meanwhile, so that
//! they cannot wait for each other.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A limited number of places.
#[derive(Debug, Clone)]
pub(super) struct Places(Arc<Semaphore>);

impl Places {
    pub(super) fn new(count: usize) -> Places {
        Places(Arc::new(Semaphore::new(count.clamp(1, Semaphore::MAX_PERMITS))))
    }

    async fn acquire(&self) -> Option<OwnedSemaphorePermit> {
        // The semaphore is never closed.
        Arc::clone(&self.0).acquire_owned().await.ok()
    }
}

/// The place of one child.
#[derive(Debug, Default)]
pub(super) struct Place(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    permit: Option<OwnedSemaphorePermit>,
    /// The number of calls of the child that wait for its children.
    waits: usize,
}

impl Place {
    /// Waits for a place.
    pub(super) async fn take(&self, places: &Places) {
        let permit = places.acquire().await;
        self.0.lock().permit = permit;
    }

    /// Gives the place back for good.
    pub(super) fn leave(&self) {
        self.0.lock().permit = None;
    }

    /// Gives the place back while a call waits for children.
    pub(super) fn pause(&self) {
        let state = &mut *self.0.lock();
        state.waits += 1;
        state.permit = None;
    }

    /// Waits for a place after [`Place::pause`], unless another call still waits for children.
    pub(super) async fn resume(&self, places: &Places) {
        let is_last = {
            let state = &mut *self.0.lock();
            state.waits -= 1;
            state.waits == 0
        };
        if is_last {
            self.take(places).await;
        }
    }
}
