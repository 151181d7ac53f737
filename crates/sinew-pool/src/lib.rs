//! A separate thread pool, so that a search never blocks the pool of the host program (libuv has four threads).
//!
//! Threads start when there is work and exit after [`IDLE`] without work, so an idle program has none. A long job
//! shares its work with [`Pool::broadcast`]: the calling thread works too, and as many helpers join as are free. A job
//! therefore always makes progress, and jobs cannot deadlock on each other.

use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// The time after which an idle thread exits.
pub const IDLE: Duration = Duration::from_secs(5);

type Job = Box<dyn FnOnce() + Send>;

struct State {
    jobs: VecDeque<Job>,
    threads: usize,
    idle: usize,
}

struct Inner {
    state: Mutex<State>,
    wake: Condvar,
    size: usize,
    name: &'static str,
}

/// A thread pool; clones share its threads.
#[derive(Clone)]
pub struct Pool {
    inner: Arc<Inner>,
}

impl Pool {
    /// Creates a pool of at most `size` threads (at least one) named `name`. Starts no thread yet.
    #[must_use]
    pub fn new(name: &'static str, size: usize) -> Pool {
        let state = State { jobs: VecDeque::new(), threads: 0, idle: 0 };
        Pool { inner: Arc::new(Inner { state: Mutex::new(state), wake: Condvar::new(), size: size.max(1), name }) }
    }

    /// Creates a pool with one thread per processor core and at least two, so that one remains while another waits for
    /// a disk.
    #[must_use]
    pub fn for_machine(name: &'static str) -> Pool {
        Pool::new(name, std::thread::available_parallelism().map_or(2, |n| n.get()).max(2))
    }

    /// Returns the maximum number of threads.
    #[must_use]
    pub fn size(&self) -> usize {
        self.inner.size
    }

    /// Runs `job` on a thread of the pool, after the jobs queued before it. A panic ends only that job.
    pub fn spawn(&self, job: impl FnOnce() + Send + 'static) {
        let mut state = self.inner.state.lock();
        state.jobs.push_back(Box::new(job));
        if state.idle > 0 {
            drop(state);
            self.inner.wake.notify_one();
        } else if state.threads < self.inner.size {
            state.threads += 1;
            drop(state);
            let inner = Arc::clone(&self.inner);
            let started = std::thread::Builder::new().name(self.inner.name.to_string()).spawn(move || inner.work());
            if started.is_err() {
                // The system cannot start another thread: a running thread runs the job, or else the caller does.
                let mut state = self.inner.state.lock();
                state.threads -= 1;
                let job = if state.threads == 0 { state.jobs.pop_back() } else { None };
                drop(state);
                if let Some(job) = job {
                    let _ = catch_unwind(AssertUnwindSafe(job));
                }
            }
        }
    }

    /// Calls `work(0)` on the calling thread, and `work(1)`, `work(2)`… on up to `helpers` pool threads that become
    /// free in the meantime. Returns when all calls that have begun are finished; helpers that have not begun by then
    /// do not run.
    ///
    /// # Panics
    /// Resumes the first panic of `work` after all calls are finished.
    pub fn broadcast<F>(&self, helpers: usize, work: F)
    where
        F: Fn(usize) + Send + Sync,
    {
        if helpers == 0 {
            return work(0);
        }
        let gate = Arc::new(HelperGate::default());
        // SAFETY: the reference outlives every use of it. A helper only calls `work` between `enter` and `leave`,
        // `enter` fails once the gate is closed, and `close` below waits until all helpers have left. `Closer` also
        // closes the gate if `work(0)` panics.
        let shared: &'static (dyn Fn(usize) + Send + Sync) = unsafe {
            std::mem::transmute::<&(dyn Fn(usize) + Send + Sync), &'static (dyn Fn(usize) + Send + Sync)>(&work)
        };
        for index in 1..=helpers.min(self.size()) {
            let gate = Arc::clone(&gate);
            self.spawn(move || {
                if gate.enter() {
                    let result = catch_unwind(AssertUnwindSafe(|| shared(index)));
                    gate.leave(result.err());
                }
            });
        }
        struct Closer<'a>(&'a HelperGate);
        impl Drop for Closer<'_> {
            fn drop(&mut self) {
                self.0.close();
            }
        }
        let closer = Closer(&gate);
        work(0);
        drop(closer);
        let panic = gate.state.lock().panic.take();
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
    }
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pool").field("name", &self.inner.name).field("size", &self.inner.size).finish()
    }
}

impl Inner {
    fn work(&self) {
        let mut state = self.state.lock();
        loop {
            if let Some(job) = state.jobs.pop_front() {
                drop(state);
                // The job reports its own panic to its waiter; the thread continues.
                let _ = catch_unwind(AssertUnwindSafe(job));
                state = self.state.lock();
                continue;
            }
            state.idle += 1;
            let timeout = self.wake.wait_for(&mut state, IDLE);
            state.idle -= 1;
            if timeout.timed_out() && state.jobs.is_empty() {
                state.threads -= 1;
                return;
            }
        }
    }
}

#[derive(Default)]
struct HelperGateState {
    inside: usize,
    closed: bool,
    panic: Option<Box<dyn Any + Send>>,
}

#[derive(Default)]
struct HelperGate {
    state: Mutex<HelperGateState>,
    empty: Condvar,
}

impl HelperGate {
    fn enter(&self) -> bool {
        let mut state = self.state.lock();
        state.inside += usize::from(!state.closed);
        !state.closed
    }

    fn leave(&self, panic: Option<Box<dyn Any + Send>>) {
        let mut state = self.state.lock();
        state.inside -= 1;
        state.panic = state.panic.take().or(panic);
        self.empty.notify_all();
    }

    fn close(&self) {
        let mut state = self.state.lock();
        state.closed = true;
        while state.inside > 0 {
            self.empty.wait(&mut state);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;

    #[test]
    fn a_broadcast_shares_the_work_and_returns_when_it_is_done() {
        let pool = Pool::new("test", 3);
        let items: Vec<usize> = (0..10_000).collect();
        let next = AtomicUsize::new(0);
        let sum = AtomicUsize::new(0);
        pool.broadcast(3, |_| {
            while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                sum.fetch_add(*item, Ordering::Relaxed);
            }
        });
        assert_eq!(sum.into_inner(), 9_999 * 10_000 / 2);
    }

    #[test]
    fn broadcasts_inside_a_full_pool_finish() {
        let pool = Pool::new("test", 2);
        let (done, wait) = mpsc::channel();
        for _ in 0..8 {
            let (pool_again, done) = (pool.clone(), done.clone());
            pool.spawn(move || {
                pool_again.broadcast(2, |_| {});
                done.send(()).unwrap();
            });
        }
        for _ in 0..8 {
            wait.recv().unwrap();
        }
    }

    #[test]
    fn a_panic_of_a_helper_reaches_the_caller_and_the_pool_continues() {
        let pool = Pool::new("test", 1);
        let (helper_is_in, wait) = mpsc::channel();
        let wait = Mutex::new(wait);
        let result = catch_unwind(AssertUnwindSafe(|| {
            pool.broadcast(1, |index| {
                if index == 1 {
                    helper_is_in.send(()).unwrap();
                    std::panic::panic_any("lost");
                }
                wait.lock().recv().unwrap();
            });
        }));
        assert_eq!(*result.unwrap_err().downcast::<&str>().unwrap(), "lost");
        let (done, wait) = mpsc::channel();
        pool.spawn(move || done.send(7).unwrap());
        assert_eq!(wait.recv().unwrap(), 7);
    }
}
