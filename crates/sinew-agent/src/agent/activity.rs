//! A value that one activity at a time holds.
//!
//! Whoever begins an activity gets a permit with the value; it goes back when the permit is dropped. Others may look at
//! it for a moment while nobody has it, which keeps nobody from beginning.

use std::ops::{Deref, DerefMut};

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::lifecycle::{Activity, IllegalMove, Move, State};

/// A value, the state of who works on it, and the token by which that is ended.
#[derive(Debug)]
pub(super) struct ActivityLock<T> {
    inner: Mutex<Inner<T>>,
    /// Tells everybody who waits that an activity has finished.
    finished: Notify,
}

#[derive(Debug)]
struct Inner<T> {
    state: State,
    /// The default while a permit has it.
    value: T,
    is_taken: bool,
    /// Ends what is under way, or has ended what was last.
    cancel: CancellationToken,
    /// Ends the compaction or the wait that is under way, and nothing else.
    step: Option<CancellationToken>,
    /// The number of those who wait for the end of an activity to begin their own.
    waiting: usize,
    /// Activities that have finished.
    count: u64,
}

impl<T> Inner<T> {
    fn make(&mut self, attempted: Move) -> Result<(), IllegalMove> {
        self.state = self.state.after(attempted)?;
        Ok(())
    }

    /// A move that a guard makes when it is dropped: that it exists makes the move legal, and a step does not outlive
    /// the permit beside which it was begun.
    fn must_make(&mut self, attempted: Move) {
        let made = self.make(attempted);
        debug_assert!(made.is_ok(), "{made:?}");
    }

    /// Nobody works on the value, nor is about to.
    fn is_idle(&self) -> bool {
        !self.is_taken && self.state != State::Reserved
    }
}

/// The right to work on the value, until it is dropped.
#[derive(Debug)]
#[must_use = "the activity is over when its permit is dropped"]
pub(super) struct Permit<'a, T: Default> {
    lock: &'a ActivityLock<T>,
    value: T,
}

/// A compaction or a wait inside an activity, until it is dropped.
#[derive(Debug)]
#[must_use = "the step is over when it is dropped"]
pub(super) struct Step<'a, T> {
    lock: &'a ActivityLock<T>,
    token: CancellationToken,
}

impl<T: Default> ActivityLock<T> {
    pub(super) fn new(value: T) -> ActivityLock<T> {
        let inner = Inner {
            state: State::default(),
            value,
            is_taken: false,
            cancel: CancellationToken::new(),
            step: None,
            waiting: 0,
            count: 0,
        };
        ActivityLock { inner: Mutex::new(inner), finished: Notify::new() }
    }

    /// Begins an activity where none is under way and nobody has waited longer.
    ///
    /// # Errors
    /// An activity is under way or the session is closed.
    pub(super) fn begin(&self, activity: Activity) -> Result<Permit<'_, T>, IllegalMove> {
        let mut inner = self.inner.lock();
        inner.make(Move::Begin(activity))?;
        Ok(self.permit(&mut inner))
    }

    /// Begins an activity where one may begin and `take` gives it something to do. `take` must not use this lock.
    pub(super) fn begin_with<R>(
        &self,
        activity: Activity,
        take: impl FnOnce() -> Option<R>,
    ) -> Option<(Permit<'_, T>, R)> {
        let mut inner = self.inner.lock();
        let next = inner.state.after(Move::Begin(activity)).ok()?;
        let taken = take()?;
        inner.state = next;
        Some((self.permit(&mut inner), taken))
    }

    /// Begins an activity as soon as the one that is under way has finished: before any other that comes meanwhile.
    ///
    /// # Errors
    /// The session is closed.
    pub(super) async fn begin_next(&self, activity: Activity) -> Result<Permit<'_, T>, IllegalMove> {
        let mut waiter = Waiter { lock: self, is_counted: false };
        loop {
            let finished = self.finished.notified();
            tokio::pin!(finished);
            // Registered before the look, so that an end between look and wait is not missed.
            finished.as_mut().enable();
            if let Some(permit) = waiter.attempt(activity)? {
                return Ok(permit);
            }
            finished.await;
        }
    }

    fn permit(&self, inner: &mut Inner<T>) -> Permit<'_, T> {
        inner.is_taken = true;
        Permit { lock: self, value: std::mem::take(&mut inner.value) }
    }

    /// Looks at the value for a moment; None while an activity has it.
    pub(super) fn peek<R>(&self, look: impl FnOnce(&mut T) -> R) -> Option<R> {
        let mut inner = self.inner.lock();
        (!inner.is_taken).then(|| look(&mut inner.value))
    }

    /// Returns whether an activity is under way, or about to begin for somebody who waits.
    pub(super) fn is_busy(&self) -> bool {
        !self.inner.lock().is_idle()
    }

    /// The state now.
    pub(super) fn state(&self) -> State {
        self.inner.lock().state
    }

    /// Resolves when no activity is under way, or one has finished since the call.
    pub(super) async fn idle(&self) {
        let before = self.inner.lock().count;
        loop {
            let finished = self.finished.notified();
            tokio::pin!(finished);
            finished.as_mut().enable();
            {
                let inner = self.inner.lock();
                if inner.is_idle() || inner.count != before {
                    return;
                }
            }
            finished.await;
        }
    }

    /// The session ends: no activity begins any more. One that is under way comes to its end.
    ///
    /// # Errors
    /// It has ended already.
    pub(super) fn close(&self) -> Result<(), IllegalMove> {
        self.inner.lock().make(Move::Close)?;
        self.finished.notify_waiters();
        Ok(())
    }

    /// Begins a compaction or a wait, which ends with `cancel` or alone.
    ///
    /// # Errors
    /// The state does not allow it.
    pub(super) fn step(&self, step: Move, cancel: &CancellationToken) -> Result<Step<'_, T>, IllegalMove> {
        let mut inner = self.inner.lock();
        inner.make(step)?;
        let token = cancel.child_token();
        inner.step = Some(token.clone());
        Ok(Step { lock: self, token })
    }

    /// Ends a compaction and nothing else; false where there is none.
    pub(super) fn cancel_compaction(&self) -> bool {
        self.cancel_step(|state| matches!(state, State::Compacting(_)))
    }

    /// Ends a wait for another attempt; false where there is none.
    pub(super) fn cancel_retry(&self) -> bool {
        self.cancel_step(|state| state == State::Retrying)
    }

    fn cancel_step(&self, is_meant: impl FnOnce(State) -> bool) -> bool {
        let inner = self.inner.lock();
        let token = inner.step.clone().filter(|_| is_meant(inner.state));
        drop(inner);
        token.inspect(CancellationToken::cancel).is_some()
    }

    /// Ends what is under way.
    pub(super) fn cancel(&self) {
        let token = self.token();
        token.cancel();
    }

    /// The token of what is under way, or was last.
    pub(super) fn token(&self) -> CancellationToken {
        self.inner.lock().cancel.clone()
    }

    /// A new token: what [`ActivityLock::cancel`] has ended before stays ended, what follows does not.
    pub(super) fn renew_token(&self) -> CancellationToken {
        let token = CancellationToken::new();
        self.inner.lock().cancel = token.clone();
        token
    }

    /// The value, once nobody uses the lock any more.
    pub(super) fn into_value(self) -> T {
        self.inner.into_inner().value
    }
}

/// Somebody who waits to begin.
struct Waiter<'a, T> {
    lock: &'a ActivityLock<T>,
    /// It is one of those for whom the next activity is reserved.
    is_counted: bool,
}

impl<'a, T: Default> Waiter<'a, T> {
    fn attempt(&mut self, activity: Activity) -> Result<Option<Permit<'a, T>>, IllegalMove> {
        let mut inner = self.lock.inner.lock();
        let begin = match inner.state {
            State::Reserved if self.is_counted => Move::Claim(activity),
            State::Active(_) | State::Compacting(_) | State::Retrying | State::Reserved => {
                if !self.is_counted {
                    self.is_counted = true;
                    inner.waiting += 1;
                }
                return Ok(None);
            }
            State::Idle | State::Closed => Move::Begin(activity),
        };
        inner.make(begin)?;
        Ok(Some(self.lock.permit(&mut inner)))
    }
}

impl<T> Drop for Waiter<'_, T> {
    fn drop(&mut self) {
        if !self.is_counted {
            return;
        }
        let mut inner = self.lock.inner.lock();
        inner.waiting -= 1;
        if inner.waiting == 0 && inner.state == State::Reserved {
            inner.must_make(Move::Withdraw);
            drop(inner);
            self.lock.finished.notify_waiters();
        }
    }
}

impl<T: Default> Deref for Permit<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: Default> DerefMut for Permit<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

impl<T: Default> Drop for Permit<'_, T> {
    fn drop(&mut self) {
        let mut inner = self.lock.inner.lock();
        inner.value = std::mem::take(&mut self.value);
        inner.is_taken = false;
        inner.count += 1;
        inner.must_make(Move::Finish);
        if inner.waiting > 0 && inner.state == State::Idle {
            inner.must_make(Move::Reserve);
        }
        drop(inner);
        self.lock.finished.notify_waiters();
    }
}

impl<T> Deref for Step<'_, T> {
    type Target = CancellationToken;

    fn deref(&self) -> &CancellationToken {
        &self.token
    }
}

impl<T> Drop for Step<'_, T> {
    fn drop(&mut self) {
        let mut inner = self.lock.inner.lock();
        inner.step = None;
        inner.must_make(Move::Resume);
    }
}

#[cfg(test)]
mod tests;
