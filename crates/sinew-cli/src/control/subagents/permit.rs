//! Limits the number of children that work at the same time. A child that waits for its own children returns its permit
//! meanwhile, so that they cannot wait for each other.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The permits of a program's children.
#[derive(Debug, Clone)]
pub(super) struct Permits(Arc<Semaphore>);

impl Permits {
    pub(super) fn new(count: usize) -> Permits {
        Permits(Arc::new(Semaphore::new(count.clamp(1, Semaphore::MAX_PERMITS))))
    }

    async fn acquire(&self) -> Option<OwnedSemaphorePermit> {
        // The semaphore is never closed.
        Arc::clone(&self.0).acquire_owned().await.ok()
    }
}

/// The permit of one child.
#[derive(Debug, Default)]
pub(super) struct ChildPermit(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    permit: Option<OwnedSemaphorePermit>,
    /// The number of calls of the child that wait for its children.
    waits: usize,
}

impl ChildPermit {
    /// Waits for a permit.
    pub(super) async fn take(&self, permits: &Permits) {
        let permit = permits.acquire().await;
        self.0.lock().permit = permit;
    }

    /// Returns the permit for good.
    pub(super) fn release(&self) {
        self.0.lock().permit = None;
    }

    /// Returns the permit while a call waits for children.
    pub(super) fn pause(&self) {
        let state = &mut *self.0.lock();
        state.waits += 1;
        state.permit = None;
    }

    /// Waits for a permit after [`ChildPermit::pause`], unless another call still waits for children.
    pub(super) async fn resume(&self, permits: &Permits) {
        let is_last = {
            let state = &mut *self.0.lock();
            state.waits -= 1;
            state.waits == 0
        };
        if is_last {
            self.take(permits).await;
        }
    }
}
