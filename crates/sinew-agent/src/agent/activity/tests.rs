use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use super::super::lifecycle::Activity::{Maintenance, Run};
use super::*;

fn lock() -> ActivityLock<Vec<u32>> {
    ActivityLock::new(vec![1])
}

/// Polls once without a waker: only the test decides when to poll again.
fn poll<F: Future>(future: std::pin::Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn one_activity_at_a_time_has_the_value() {
    let lock = lock();
    let mut permit = lock.begin(Run).unwrap();
    assert_eq!(lock.state(), State::Active(Run));
    permit.push(2);
    let refused = lock.begin(Maintenance).unwrap_err();
    assert_eq!(refused, IllegalMove { state: State::Active(Run), attempted: Move::Begin(Maintenance) });
    assert_eq!(lock.peek(|value| value.clone()), None);
    drop(permit);
    assert_eq!((lock.state(), lock.peek(|value| value.clone())), (State::Idle, Some(vec![1, 2])));
    assert_eq!(*lock.begin(Maintenance).unwrap(), [1, 2]);
    assert_eq!(lock.into_value(), [1, 2]);
}

#[test]
fn peeking_changes_the_value_and_blocks_no_activity() {
    let lock = lock();
    assert_eq!(lock.peek(|value| value.push(7)), Some(()));
    assert_eq!(*lock.begin(Run).unwrap(), [1, 7]);
}

#[test]
fn an_activity_without_work_does_not_begin() {
    let lock = lock();
    assert!(lock.begin_with(Run, || None::<()>).is_none());
    assert_eq!(lock.state(), State::Idle);
    let (permit, work) = lock.begin_with(Run, || Some("work")).unwrap();
    assert_eq!((work, lock.state()), ("work", State::Active(Run)));
    // `take` is not called if no activity may start.
    assert!(lock.begin_with(Run, || -> Option<()> { panic!("it was asked") }).is_none());
    drop(permit);
}

#[test]
fn waiting_callers_start_before_later_ones() {
    let lock = lock();
    let permit = lock.begin(Run).unwrap();
    let mut next = pin!(lock.begin_next(Maintenance));
    assert!(poll(next.as_mut()).is_pending());
    drop(permit);
    assert_eq!((lock.state(), lock.is_busy()), (State::Reserved, true));
    assert!(lock.begin(Run).is_err());
    assert_eq!(lock.peek(|value| value.len()), Some(1), "nobody has the value yet");
    let Poll::Ready(Ok(permit)) = poll(next.as_mut()) else { panic!("it still waits") };
    assert_eq!(lock.state(), State::Active(Maintenance));
    drop(permit);
    assert!(!lock.is_busy());
}

#[test]
fn all_waiting_callers_start_in_order() {
    let lock = lock();
    let permit = lock.begin(Run).unwrap();
    let (mut first, mut second) = (pin!(lock.begin_next(Maintenance)), pin!(lock.begin_next(Run)));
    assert!(poll(first.as_mut()).is_pending() && poll(second.as_mut()).is_pending());
    drop(permit);
    let Poll::Ready(Ok(permit)) = poll(first.as_mut()) else { panic!("it still waits") };
    assert!(poll(second.as_mut()).is_pending());
    drop(permit);
    assert_eq!(lock.state(), State::Reserved);
    let Poll::Ready(Ok(permit)) = poll(second.as_mut()) else { panic!("it still waits") };
    drop(permit);
    assert_eq!(lock.state(), State::Idle);
}

#[test]
fn a_dropped_waiter_blocks_no_activity() {
    let lock = lock();
    let permit = lock.begin(Run).unwrap();
    {
        let mut next = pin!(lock.begin_next(Maintenance));
        assert!(poll(next.as_mut()).is_pending());
        drop(permit);
        assert!(lock.begin(Run).is_err());
    }
    assert_eq!(lock.state(), State::Idle);
    drop(lock.begin(Run).unwrap());
}

#[test]
fn an_idle_lock_is_available_at_once() {
    let lock = lock();
    let Poll::Ready(Ok(permit)) = poll(pin!(lock.begin_next(Maintenance))) else { panic!("it waits") };
    drop(permit);
    assert!(poll(pin!(lock.idle())).is_ready());
}

#[test]
fn the_end_of_an_activity_is_seen_even_if_another_follows() {
    let lock = lock();
    let permit = lock.begin(Run).unwrap();
    let mut idle = pin!(lock.idle());
    assert!(poll(idle.as_mut()).is_pending());
    drop(permit);
    let permit = lock.begin(Run).unwrap();
    assert!(poll(idle.as_mut()).is_ready());
    assert!(poll(pin!(lock.idle())).is_pending());
    drop(permit);
}

#[test]
fn a_token_does_not_cancel_later_activities() {
    let lock = lock();
    let first = lock.renew_token();
    let beside = lock.token().child_token();
    lock.cancel();
    assert!(first.is_cancelled() && beside.is_cancelled() && lock.token().is_cancelled());
    let second = lock.renew_token();
    assert!(!second.is_cancelled() && !lock.token().is_cancelled());
}

#[test]
fn a_step_is_cancelled_alone_or_with_its_activity() {
    let lock = lock();
    assert!(lock.step(Move::Compact, &CancellationToken::new()).is_err(), "nothing is under way");
    let permit = lock.begin(Run).unwrap();
    let cancel = lock.renew_token();
    let step = lock.step(Move::Compact, &cancel).unwrap();
    assert_eq!(lock.state(), State::Compacting(Run));
    assert!(!lock.cancel_retry() && !step.is_cancelled());
    assert!(lock.cancel_compaction() && step.is_cancelled() && !cancel.is_cancelled());
    drop(step);
    assert!(!lock.cancel_compaction());
    let step = lock.step(Move::WaitForRetry, &cancel).unwrap();
    assert_eq!(lock.state(), State::Retrying);
    assert!(!lock.cancel_compaction() && lock.cancel_retry() && step.is_cancelled());
    drop(step);
    let step = lock.step(Move::WaitForRetry, &cancel).unwrap();
    lock.cancel();
    assert!(step.is_cancelled());
    drop(step);
    assert_eq!(lock.state(), State::Active(Run));
    drop(permit);
}

#[test]
fn a_closed_lock_starts_nothing_and_returns_the_value() {
    let lock = lock();
    let mut permit = lock.begin(Run).unwrap();
    let mut next = pin!(lock.begin_next(Maintenance));
    assert!(poll(next.as_mut()).is_pending());
    lock.close().unwrap();
    assert_eq!(lock.close().unwrap_err().state, State::Closed);
    let Poll::Ready(Err(refused)) = poll(next.as_mut()) else { panic!("it waits for what never comes") };
    assert_eq!(refused.state, State::Closed);
    let step = lock.step(Move::Compact, &CancellationToken::new()).unwrap();
    drop(step);
    permit.push(2);
    let mut idle = pin!(lock.idle());
    assert!(poll(idle.as_mut()).is_pending(), "the last activity has not finished");
    drop(permit);
    assert!(poll(idle.as_mut()).is_ready());
    assert!(lock.begin(Run).is_err());
    assert_eq!((lock.state(), lock.peek(|value| value.clone())), (State::Closed, Some(vec![1, 2])));
}
