//! Cancellation: a flag that one side sets and many loops read, with an optional deadline.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::Error;

/// The maximum number of items that a loop over untrusted input may process between two checks of its [`CancelToken`].
pub const CHECK_INTERVAL: u32 = 128;

/// The reason why an operation stopped early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aborted {
    /// The caller cancelled the operation.
    Signal,
    /// The deadline passed.
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
    // Hooks wake threads that wait for something other than time: a socket or a condition variable.
    hooks: Mutex<Vec<(u64, Hook)>>,
    next: AtomicU64,
}

/// A flag that a running operation checks. Cloning and checking it are cheap.
///
/// [`CancelToken::check`] costs one relaxed load, plus one clock read if there is a deadline.
#[derive(Clone, Default)]
pub struct CancelToken {
    shared: Option<Arc<Shared>>,
    deadline: Option<Instant>,
}

/// The handle that cancels the [`CancelToken`]s created with it.
#[derive(Clone)]
pub struct CancelHandle {
    shared: Arc<Shared>,
}

impl CancelHandle {
    /// Creates a handle and its token; the token is not cancelled.
    #[must_use]
    pub fn new() -> (CancelHandle, CancelToken) {
        let shared = Arc::new(Shared::default());
        (CancelHandle { shared: Arc::clone(&shared) }, CancelToken { shared: Some(shared), deadline: None })
    }

    /// Cancels every operation that checks the token. Calling it again does nothing.
    pub fn cancel(&self) {
        let hooks = {
            let mut hooks = self.shared.hooks.lock();
            self.shared.set.store(true, Ordering::Release);
            std::mem::take(&mut *hooks)
        };
        for (_, hook) in hooks {
            hook();
        }
    }

    /// Returns true once [`CancelHandle::cancel`] was called.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.shared.set.load(Ordering::Acquire)
    }
}

impl fmt::Debug for CancelHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CancelHandle").field("cancelled", &self.is_cancelled()).finish()
    }
}

/// Removes the hook of [`CancelToken::on_cancel`] when dropped.
pub struct HookGuard {
    shared: Weak<Shared>,
    id: u64,
}

impl Drop for HookGuard {
    fn drop(&mut self) {
        if let Some(shared) = self.shared.upgrade() {
            let mut hooks = shared.hooks.lock();
            hooks.retain(|(id, _)| *id != self.id);
        }
    }
}

impl CancelToken {
    /// Returns a token that is never cancelled and has no deadline.
    #[must_use]
    pub fn never() -> CancelToken {
        CancelToken::default()
    }

    /// Adds a deadline `timeout` from now; of two deadlines, the earlier one applies.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> CancelToken {
        // A time that the clock cannot represent means no deadline.
        if let Some(at) = Instant::now().checked_add(timeout) {
            self.deadline = Some(self.deadline.map_or(at, |old| old.min(at)));
        }
        self
    }

    /// Removes the deadline, for work on the results that must still happen after the deadline.
    #[must_use]
    pub fn without_timeout(mut self) -> CancelToken {
        self.deadline = None;
        self
    }

    /// Fails with the reason if the operation has to stop. Cancellation has precedence over a deadline.
    ///
    /// # Errors
    /// Returns [`Aborted`] if the token is cancelled or the deadline has passed.
    pub fn check(&self) -> Result<(), Aborted> {
        if self.shared.as_ref().is_some_and(|shared| shared.set.load(Ordering::Acquire)) {
            return Err(Aborted::Signal);
        }
        match self.deadline {
            Some(at) if Instant::now() >= at => Err(Aborted::Timeout),
            _ => Ok(()),
        }
    }

    /// Returns true if [`CancelToken::check`] would fail.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.check().is_err()
    }

    /// Returns the deadline; `None` means no deadline.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Calls `hook` when the token is cancelled (at once if it already is), on the thread that cancels it. A deadline
    /// does not call the hook: pass [`CancelToken::deadline`] as the limit of the wait instead. Dropping the guard
    /// removes the hook.
    pub fn on_cancel(&self, hook: impl FnOnce() + Send + 'static) -> HookGuard {
        let Some(shared) = &self.shared else {
            return HookGuard { shared: Weak::new(), id: 0 };
        };
        let mut hooks = shared.hooks.lock();
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

impl fmt::Debug for CancelToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CancelToken").field("state", &self.check()).field("deadline", &self.deadline).finish()
    }
}

/// Checks a [`CancelToken`] once every [`CHECK_INTERVAL`] steps, so that a tight loop only pays for a counter.
#[derive(Debug)]
pub struct CancelTicker<'a> {
    cancel: &'a CancelToken,
    left: u32,
}

impl<'a> CancelTicker<'a> {
    /// Creates a ticker that checks in its first step.
    #[must_use]
    pub fn new(cancel: &'a CancelToken) -> CancelTicker<'a> {
        CancelTicker { cancel, left: 0 }
    }

    /// Checks now.
    ///
    /// # Errors
    /// Returns [`Aborted`] if [`CancelToken::check`] fails.
    pub fn check(&self) -> Result<(), Aborted> {
        self.cancel.check()
    }

    /// Counts one item.
    ///
    /// # Errors
    /// Returns [`Aborted`] if [`CancelToken::check`] fails, at most [`CHECK_INTERVAL`] items late.
    #[inline]
    pub fn step(&mut self) -> Result<(), Aborted> {
        if self.left == 0 {
            self.left = CHECK_INTERVAL;
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
    fn cancellation_has_precedence_over_a_deadline() {
        let (cancel_handle, cancel) = CancelHandle::new();
        let cancel = cancel.with_timeout(Duration::ZERO);
        assert_eq!(cancel.check(), Err(Aborted::Timeout));
        cancel_handle.cancel();
        assert_eq!(cancel.check(), Err(Aborted::Signal));
    }

    #[test]
    fn hooks_run_once_and_can_be_removed() {
        let (cancel_handle, cancel) = CancelHandle::new();
        let count = Arc::new(AtomicUsize::new(0));
        let add = |n: usize| {
            let count = Arc::clone(&count);
            move || {
                count.fetch_add(n, Ordering::Relaxed);
            }
        };
        let kept = cancel.on_cancel(add(1));
        drop(cancel.on_cancel(add(10)));
        cancel_handle.cancel();
        cancel_handle.cancel();
        let late = cancel.on_cancel(add(100));
        assert_eq!(count.load(Ordering::Relaxed), 101);
        drop((kept, late));
    }

    #[test]
    fn a_timeout_beyond_the_clock_means_no_deadline() {
        assert_eq!(CancelToken::never().with_timeout(Duration::MAX).deadline(), None);
    }

    #[test]
    fn a_ticker_checks_after_every_interval() {
        let (cancel_handle, cancel) = CancelHandle::new();
        let mut ticker = CancelTicker::new(&cancel);
        ticker.step().unwrap();
        cancel_handle.cancel();
        let late = (0..CHECK_INTERVAL).take_while(|_| ticker.step().is_ok()).count();
        assert_eq!(late, CHECK_INTERVAL as usize - 1);
    }
}
