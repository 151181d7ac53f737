//! Cancellation: a flag that one side sets and many loops read, with an optional deadline.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use crate::Error;

/// How many items a loop over input of outside size may handle between two looks at its [`Cancel`].
pub const EVERY: u32 = 128;

/// Why an operation stopped early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aborted {
    /// Somebody asked for it.
    Signal,
    /// The time was up.
    Timeout,
}

impl fmt::Display for Aborted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Aborted::Signal => "Aborted: Signal",
            Aborted::Timeout => "Aborted: Timeout",
        })
    }
}

impl From<Aborted> for Error {
    fn from(aborted: Aborted) -> Error {
        Error::aborted(aborted)
    }
}

type Hook = Box<dyn FnOnce() + Send>;

#[derive(Default)]
struct Shared {
    set: AtomicBool,
    // Hooks wake whoever waits for something else than time: a socket, a condition variable.
    hooks: Mutex<Vec<(u64, Hook)>>,
    next: AtomicU64,
}

/// What a running operation looks at: cheap to clone and to read.
///
/// [`Cancel::check`] costs one relaxed load, and one clock read where there is a deadline.
#[derive(Clone, Default)]
pub struct Cancel {
    shared: Option<Arc<Shared>>,
    deadline: Option<Instant>,
}

/// The other end of a [`Cancel`]: sets it.
#[derive(Clone)]
pub struct Canceller {
    shared: Arc<Shared>,
}

impl Canceller {
    /// A pair that is not set yet.
    #[must_use]
    pub fn new() -> (Canceller, Cancel) {
        let shared = Arc::new(Shared::default());
        (Canceller { shared: Arc::clone(&shared) }, Cancel { shared: Some(shared), deadline: None })
    }

    /// Stops every operation that looks at the pair. Calling it again does nothing.
    pub fn cancel(&self) {
        let hooks = {
            let mut hooks = self.shared.hooks.lock().unwrap_or_else(PoisonError::into_inner);
            self.shared.set.store(true, Ordering::Release);
            std::mem::take(&mut *hooks)
        };
        for (_, hook) in hooks {
            hook();
        }
    }

    /// Whether [`Canceller::cancel`] was called.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.shared.set.load(Ordering::Acquire)
    }
}

impl fmt::Debug for Canceller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Canceller").field("cancelled", &self.is_cancelled()).finish()
    }
}

/// Takes the hook of [`Cancel::on_cancel`] back when dropped.
pub struct HookGuard {
    shared: Weak<Shared>,
    id: u64,
}

impl Drop for HookGuard {
    fn drop(&mut self) {
        if let Some(shared) = self.shared.upgrade() {
            let mut hooks = shared.hooks.lock().unwrap_or_else(PoisonError::into_inner);
            hooks.retain(|(id, _)| *id != self.id);
        }
    }
}

impl Cancel {
    /// One that nobody can set and that has no deadline.
    #[must_use]
    pub fn never() -> Cancel {
        Cancel::default()
    }

    /// The same, which also ends `timeout` from now; the earlier of two deadlines counts.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Cancel {
        // A time beyond what the clock can hold is no deadline.
        if let Some(at) = Instant::now().checked_add(timeout) {
            self.deadline = Some(self.deadline.map_or(at, |old| old.min(at)));
        }
        self
    }

    /// The same without its deadline: for what is left to do with the results once the time is up.
    #[must_use]
    pub fn without_timeout(mut self) -> Cancel {
        self.deadline = None;
        self
    }

    /// Whether the operation has to stop, and why. A signal beats a deadline.
    ///
    /// # Errors
    /// [`Aborted`] once the pair was set or the deadline has passed.
    pub fn check(&self) -> Result<(), Aborted> {
        if self.shared.as_ref().is_some_and(|shared| shared.set.load(Ordering::Acquire)) {
            return Err(Aborted::Signal);
        }
        match self.deadline {
            Some(at) if Instant::now() >= at => Err(Aborted::Timeout),
            _ => Ok(()),
        }
    }

    /// Whether [`Cancel::check`] would fail.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.check().is_err()
    }

    /// When the time is up, if ever.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Calls `hook` when the pair is set (at once if it is), on the thread that sets it. The deadline calls
    /// no hook: who waits passes it as the limit of the wait. Dropping the guard takes the hook back.
    pub fn on_cancel(&self, hook: impl FnOnce() + Send + 'static) -> HookGuard {
        let Some(shared) = &self.shared else {
            return HookGuard { shared: Weak::new(), id: 0 };
        };
        let mut hooks = shared.hooks.lock().unwrap_or_else(PoisonError::into_inner);
        if shared.set.load(Ordering::Acquire) {
            drop(hooks);
            hook();
            return HookGuard { shared: Weak::new(), id: 0 };
        }
        let id = shared.next.fetch_add(1, Ordering::Relaxed);
        hooks.push((id, Box::new(hook)));
        HookGuard { shared: Arc::downgrade(shared), id }
    }
}

impl fmt::Debug for Cancel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cancel").field("state", &self.check()).field("deadline", &self.deadline).finish()
    }
}

/// Looks at a [`Cancel`] once in [`EVERY`] steps, so that a tight loop pays a counter.
#[derive(Debug)]
pub struct Pace<'a> {
    cancel: &'a Cancel,
    left: u32,
}

impl<'a> Pace<'a> {
    /// A pace whose first step looks.
    #[must_use]
    pub fn new(cancel: &'a Cancel) -> Pace<'a> {
        Pace { cancel, left: 0 }
    }

    /// One item done.
    ///
    /// # Errors
    /// [`Aborted`] as [`Cancel::check`], at most [`EVERY`] items late.
    #[inline]
    pub fn step(&mut self) -> Result<(), Aborted> {
        if self.left == 0 {
            self.left = EVERY;
            self.cancel.check()?;
        }
        self.left -= 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    #[test]
    fn a_signal_beats_a_deadline() {
        let (canceller, cancel) = Canceller::new();
        let cancel = cancel.with_timeout(Duration::ZERO);
        assert_eq!(cancel.check(), Err(Aborted::Timeout));
        canceller.cancel();
        assert_eq!(cancel.check(), Err(Aborted::Signal));
    }

    #[test]
    fn hooks_run_once_and_can_be_taken_back() {
        let (canceller, cancel) = Canceller::new();
        let count = Arc::new(AtomicUsize::new(0));
        let add = |n: usize| {
            let count = Arc::clone(&count);
            move || {
                count.fetch_add(n, Ordering::Relaxed);
            }
        };
        let kept = cancel.on_cancel(add(1));
        drop(cancel.on_cancel(add(10)));
        canceller.cancel();
        canceller.cancel();
        let late = cancel.on_cancel(add(100));
        assert_eq!(count.load(Ordering::Relaxed), 101);
        drop((kept, late));
    }

    #[test]
    fn a_timeout_beyond_the_clock_is_no_deadline() {
        assert_eq!(Cancel::never().with_timeout(Duration::MAX).deadline(), None);
    }

    #[test]
    fn a_pace_looks_once_in_a_while() {
        let (canceller, cancel) = Canceller::new();
        let mut pace = Pace::new(&cancel);
        pace.step().unwrap();
        canceller.cancel();
        let late = (0..EVERY).take_while(|_| pace.step().is_ok()).count();
        assert_eq!(late, EVERY as usize - 1);
    }
}
