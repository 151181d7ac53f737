//! A work queue for work that generates more work: each thread keeps the tasks it finds and shares half of them when
//! another thread is idle.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use parking_lot::{Condvar, Mutex};
use sinew_base::Aborted;

/// Tasks that several threads process, including the tasks found on the way.
pub(super) struct WorkQueue<T> {
    idle_workers: AtomicUsize,
    stop: AtomicBool,
    shared: Mutex<Shared<T>>,
    wake: Condvar,
}

struct Shared<T> {
    tasks: Vec<T>,
    working: usize,
    aborted: Option<Aborted>,
}

impl<T> WorkQueue<T> {
    pub(super) fn new(tasks: Vec<T>) -> WorkQueue<T> {
        WorkQueue {
            idle_workers: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
            shared: Mutex::new(Shared { tasks, working: 0, aborted: None }),
            wake: Condvar::new(),
        }
    }

    /// Returns the error with which a thread ended the work early; `None` if all work was done.
    pub(super) fn into_aborted(self) -> Option<Aborted> {
        self.shared.into_inner().aborted
    }

    /// Calls `work` with each task until no thread has any left. `work` adds the tasks that it finds, the first to be
    /// done first. If it fails, all threads stop.
    pub(super) fn work(&self, mut work: impl FnMut(T, &mut Vec<T>) -> Result<(), Aborted>) {
        // Even if this thread panics, the others must not wait for it.
        struct PanicGuard<'a, T>(&'a WorkQueue<T>);
        impl<T> Drop for PanicGuard<'_, T> {
            fn drop(&mut self) {
                if std::thread::panicking() {
                    self.0.stop.store(true, Ordering::Relaxed);
                    // Locks first: a notification between another thread's check and its wait would be lost.
                    drop(self.0.shared.lock());
                    self.0.wake.notify_all();
                }
            }
        }
        let _leave = PanicGuard(self);
        let mut own: Vec<T> = Vec::new();
        while self.take(&mut own) {
            while let Some(task) = own.pop() {
                if self.stop.load(Ordering::Relaxed) {
                    own.clear();
                    break;
                }
                let known = own.len();
                if let Err(aborted) = work(task, &mut own) {
                    self.stop.store(true, Ordering::Relaxed);
                    self.shared.lock().aborted.get_or_insert(aborted);
                    own.clear();
                }
                // In path order, so that entries read together are stored together.
                let found = known.min(own.len());
                own[found..].reverse();
                if own.len() > 1 && self.idle_workers.load(Ordering::Relaxed) > 0 {
                    let half = own.len() / 2;
                    self.shared.lock().tasks.extend(own.drain(..half));
                    self.wake.notify_all();
                }
            }
        }
    }

    /// Waits for work; returns false once there will be none.
    fn take(&self, own: &mut Vec<T>) -> bool {
        let mut shared = self.shared.lock();
        // Every call of a thread but the first follows a time of work.
        if own.capacity() > 0 {
            shared.working -= 1;
        }
        loop {
            if self.stop.load(Ordering::Relaxed) || (shared.tasks.is_empty() && shared.working == 0) {
                drop(shared);
                self.wake.notify_all();
                return false;
            }
            if !shared.tasks.is_empty() {
                let share = shared.tasks.len().div_ceil(2);
                let at = shared.tasks.len() - share;
                own.reserve(share.max(8));
                own.extend(shared.tasks.drain(at..));
                shared.working += 1;
                return true;
            }
            self.idle_workers.fetch_add(1, Ordering::Relaxed);
            self.wake.wait(&mut shared);
            self.idle_workers.fetch_sub(1, Ordering::Relaxed);
        }
    }
}
