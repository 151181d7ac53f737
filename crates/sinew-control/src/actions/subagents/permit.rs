//! Limits the number of children that work at the same time. A child that waits for its own children returns its permit
//! meanwhile, so that they cannot wait for each other; so does one that waits before it repeats a request.

use std::sync::Arc;

use parking_lot::Mutex;
use sinew_agent::agent::WorkPermit;
use sinew_tools::tool::Boxed;
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
#[derive(Debug)]
pub(super) struct ChildPermit {
    permits: Permits,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    permit: Option<OwnedSemaphorePermit>,
    /// The number of calls of the child that wait for its children, and of waits before a request.
    waits: usize,
}

impl ChildPermit {
    pub(super) fn new(permits: &Permits) -> ChildPermit {
        ChildPermit { permits: permits.clone(), state: Mutex::default() }
    }

    /// Waits for a permit.
    pub(super) async fn take(&self) {
        let permit = self.permits.acquire().await;
        self.state.lock().permit = permit;
    }

    /// Returns the permit for good.
    pub(super) fn release(&self) {
        self.state.lock().permit = None;
    }
}

impl WorkPermit for ChildPermit {
    fn pause(&self) {
        let state = &mut *self.state.lock();
        state.waits += 1;
        state.permit = None;
    }

    /// Waits for a permit, unless another call still waits.
    fn resume(&self) -> Boxed<'_, ()> {
        Box::pin(async {
            let is_last = {
                let state = &mut *self.state.lock();
                state.waits -= 1;
                state.waits == 0
            };
            if is_last {
                self.take().await;
            }
        })
    }
}
