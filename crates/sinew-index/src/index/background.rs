//! Reading in the background: one thread at low priority, which ends when all files are read.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};

use sinew_base::{CancelHandle, CancelToken};
use sinew_pool::Pool;

use super::{Index, Listing};
use crate::status::BuildPolicy;

/// The files from which on a folder is read unasked.
const FILES: usize = 5_000;
/// The searches from which on it is.
const SEARCHES: u64 = 2;
/// The files that must have changed, or be new, for another reading.
const CHANGED: usize = 256;
/// Steps by which the thread yields to others; 19 is the most.
const NICE: i32 = 10;

/// The thread, and what decides when it starts.
#[derive(Default)]
pub(super) struct Background {
    searches: u64,
    /// A reading was begun.
    begun: bool,
    running: Option<(CancelHandle, JoinHandle<()>)>,
}

impl Index {
    /// Notes that a search used a listing, and begins to read in the background where that will pay.
    pub fn note_search(self: &Arc<Self>, listing: &Listing) {
        if self.options.build == BuildPolicy::Never {
            return;
        }
        let mut background = self.background.lock();
        background.searches += 1;
        let searches = background.searches;
        if background.running.as_ref().is_some_and(|(_, thread)| !thread.is_finished()) {
            return;
        }
        let (files, unknown) = listing.files();
        let pays = match (self.options.build, background.begun) {
            (_, true) => unknown >= CHANGED && !self.status().full,
            (BuildPolicy::Always, false) => unknown > 0,
            (_, false) => searches >= SEARCHES && files >= FILES && unknown >= CHANGED,
        };
        if !pays {
            return;
        }
        let (handle, cancel) = CancelHandle::new();
        let index = Arc::clone(self);
        let thread = thread::Builder::new().name("sinew-index".to_string()).spawn(move || {
            // Where that is refused, it is as busy as others.
            let _ = rustix::process::setpriority_process(None, NICE);
            index.build_alone(&cancel);
        });
        // Without a thread files stay searched; the next search tries again.
        if let Ok(thread) = thread {
            background.begun = true;
            background.running = Some((handle, thread));
        }
    }

    /// Waits until the reading in the background has ended, if one goes on.
    pub fn join_background(&self) {
        let running = self.background.lock().running.take();
        if let Some((_, thread)) = running {
            // A panic of the thread was counted.
            let _ = thread.join();
        }
    }

    /// Ends the reading in the background without waiting for its thread.
    pub fn cancel_background(&self) {
        if let Some((handle, _)) = &self.background.lock().running {
            handle.cancel();
        }
    }

    /// Ends the reading in the background and waits for the end of its thread.
    pub(super) fn stop_background(&self) {
        self.cancel_background();
        self.join_background();
    }

    fn build_alone(&self, cancel: &CancelToken) {
        let built = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            // A pool of the calling thread alone.
            self.build(&Pool::new("sinew-index", 1), cancel)
        }));
        if built.is_err() {
            self.panics.fetch_add(1, Ordering::Relaxed);
        }
    }
}
