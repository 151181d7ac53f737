//! A lock on a value that one activity at a time may change.
//!
//! Starting an activity returns a permit with the value, which goes back when the permit is dropped. While no activity
//! has the value, other code can access it briefly, which does not prevent an activity from starting.

use std::ops::{Deref, DerefMut};

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::lifecycle::{Activity, IllegalMove, Move, State};

/// The value, the state of its activity, and the token that cancels the activity.
#[derive(Debug)]
pub(super) struct ActivityLock<T> {
    inner: Mutex<Inner<T>>,
    /// Notifies waiters that an activity has finished.
    finished: Notify,
}

#[derive(Debug)]
struct Inner<T> {
    state: State,
    /// The default value while a permit has the real one.
    value: T,
    is_taken: bool,
    /// Cancels the current activity, or cancelled the last one.
    cancel: CancellationToken,
    /// Cancels only the current compaction or wait.
    step: Option<CancellationToken>,
    /// The number of callers that wait to start an activity.
    waiting: usize,
    /// The number of finished activities.
    count: u64,
}

impl<T> Inner<T> {
    fn make(&mut self, attempted: Move) -> Result<(), IllegalMove> {
        self.state = self.state.after(attempted)?;
        Ok(())
    }

    /// Makes the move of a guard that is being dropped. The move is always legal, because the guard exists and a step
    /// cannot outlive its permit.
    fn must_make(&mut self, attempted: Move) {
        let made = self.make(attempted);
        debug_assert!(made.is_ok(), "{made:?}");
    }

    /// Returns whether no activity is running or reserved.
    fn is_idle(&self) -> bool {
        !self.is_taken && self.state != State::Reserved
    }
}

/// The right to change the value, until it is dropped.
#[derive(Debug)]
#[must_use = "the activity is over when its permit is dropped"]
pub(super) struct Permit<'a, T: Default> {
    lock: &'a ActivityLock<T>,
    value: T,
}

/// A compaction or a wait during an activity, until it is dropped.
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

    /// Starts an activity if none is running or reserved.
    ///
    /// # Errors
    /// Returns an error if an activity is running or reserved, or if the session is closed.
    pub(super) fn begin(&self, activity: Activity) -> Result<Permit<'_, T>, IllegalMove> {
        let mut inner = self.inner.lock();
        inner.make(Move::Begin(activity))?;
        Ok(self.permit(&mut inner))
    }

    /// Starts an activity if one may start and `take` returns work for it. `take` must not use this lock.
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

    /// Starts an activity as soon as the current one has finished, before any that is requested later.
    ///
    /// # Errors
    /// Returns an error if the session is closed.
    pub(super) async fn begin_next(&self, activity: Activity) -> Result<Permit<'_, T>, IllegalMove> {
        let mut waiter = Waiter { lock: self, is_counted: false };
        loop {
            let finished = self.finished.notified();
            tokio::pin!(finished);
            // Registered before the check, so that an end between check and wait is not missed.
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

    /// Calls `look` with the value; returns `None` while an activity has it.
    pub(super) fn peek<R>(&self, look: impl FnOnce(&mut T) -> R) -> Option<R> {
        let mut inner = self.inner.lock();
        (!inner.is_taken).then(|| look(&mut inner.value))
    }

    /// Returns whether an activity is running, or reserved for a waiting caller.
    pub(super) fn is_busy(&self) -> bool {
        !self.inner.lock().is_idle()
    }

    /// Returns the current state.
    pub(super) fn state(&self) -> State {
        self.inner.lock().state
    }

    /// Resolves when no activity is running, or one has finished since the call.
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

    /// Closes the session: no activity can start any more. A running one continues to its end.
    ///
    /// # Errors
    /// Returns an error if the session is closed already.
    pub(super) fn close(&self) -> Result<(), IllegalMove> {
        self.inner.lock().make(Move::Close)?;
        self.finished.notify_waiters();
        Ok(())
    }

    /// Starts a compaction or a wait. Its token can be cancelled alone and is cancelled with `cancel`.
    ///
    /// # Errors
    /// Returns an error if the state does not allow it.
    pub(super) fn step(&self, step: Move, cancel: &CancellationToken) -> Result<Step<'_, T>, IllegalMove> {
        let mut inner = self.inner.lock();
        inner.make(step)?;
        let token = cancel.child_token();
        inner.step = Some(token.clone());
        Ok(Step { lock: self, token })
    }

    /// Cancels only the compaction. Returns false if there is none.
    pub(super) fn cancel_compaction(&self) -> bool {
        self.cancel_step(|state| matches!(state, State::Compacting(_)))
    }

    /// Cancels the wait before a retry. Returns false if there is none.
    pub(super) fn cancel_retry(&self) -> bool {
        self.cancel_step(|state| state == State::Retrying)
    }

    fn cancel_step(&self, is_meant: impl FnOnce(State) -> bool) -> bool {
        let inner = self.inner.lock();
        let token = inner.step.clone().filter(|_| is_meant(inner.state));
        drop(inner);
        token.inspect(CancellationToken::cancel).is_some()
    }

    /// Cancels the current activity.
    pub(super) fn cancel(&self) {
        let token = self.token();
        token.cancel();
    }

    /// Returns the token of the current activity, or of the last one.
    pub(super) fn token(&self) -> CancellationToken {
        self.inner.lock().cancel.clone()
    }

    /// Replaces the token. Activities that [`ActivityLock::cancel`] has cancelled stay cancelled; later ones are not
    /// affected.
    pub(super) fn renew_token(&self) -> CancellationToken {
        let token = CancellationToken::new();
        self.inner.lock().cancel = token.clone();
        token
    }

    /// Returns the value and drops the lock.
    pub(super) fn into_value(self) -> T {
        self.inner.into_inner().value
    }
}

/// A caller that waits to start an activity.
struct Waiter<'a, T> {
    lock: &'a ActivityLock<T>,
    /// Whether it is included in `waiting`.
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
