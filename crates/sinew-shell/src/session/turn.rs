//! One at a time, in the order of asking.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use sinew_base::{Aborted, Cancel};

#[derive(Debug, Default)]
pub(super) struct Turn {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Queue {
    next: u64,
    // The first one has the turn.
    waiting: VecDeque<u64>,
}

/// Having the turn. Dropping it passes it on.
#[derive(Debug)]
pub(super) struct Taken {
    shared: Arc<Shared>,
    number: u64,
}

impl Drop for Taken {
    fn drop(&mut self) {
        let mut queue = self.shared.lock();
        queue.waiting.retain(|number| *number != self.number);
        self.shared.changed.notify_all();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Turn {
    /// Waits for the turn.
    ///
    /// # Errors
    /// [`Aborted`] when `cancel` comes first; the place in the queue is given up then.
    pub(super) fn take(&self, cancel: &Cancel) -> Result<Taken, Aborted> {
        let shared = Arc::clone(&self.shared);
        let waker = Arc::clone(&self.shared);
        let mut queue = shared.lock();
        let number = queue.next;
        queue.next += 1;
        queue.waiting.push_back(number);
        let taken = Taken { shared: Arc::clone(&shared), number };
        drop(queue);
        // The lock makes sure that the waiter is either before its check or already waiting.
        let hook = cancel.on_cancel(move || {
            drop(waker.lock());
            waker.changed.notify_all();
        });
        let mut queue = shared.lock();
        let result = loop {
            if queue.waiting.front() == Some(&number) {
                break Ok(());
            }
            if let Err(why) = cancel.check() {
                break Err(why);
            }
            queue = match cancel.deadline() {
                Some(until) => {
                    let left = until.saturating_duration_since(Instant::now());
                    shared.changed.wait_timeout(queue, left).unwrap_or_else(PoisonError::into_inner).0
                }
                None => shared.changed.wait(queue).unwrap_or_else(PoisonError::into_inner),
            };
        };
        drop(queue);
        drop(hook);
        result.map(|()| taken)
    }

    /// Waits until `settled`, which can become true only when a turn is passed on.
    pub(super) fn wait_until(&self, settled: impl Fn() -> bool) {
        let mut queue = self.shared.lock();
        while !settled() {
            queue = self.shared.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sinew_base::Canceller;
    use std::sync::mpsc;

    #[test]
    fn turns_come_in_the_order_of_asking_and_a_cancelled_one_is_left_out() {
        let turn = Arc::new(Turn::default());
        let first = turn.take(&Cancel::never()).unwrap();
        let (canceller, cancel) = Canceller::new();
        let (out, order) = mpsc::channel();
        let mut threads = Vec::new();
        for (name, cancel) in [(1, Cancel::never()), (2, cancel), (3, Cancel::never())] {
            let before = turn.shared.lock().waiting.len();
            let (waiting, out) = (Arc::clone(&turn), out.clone());
            threads.push(std::thread::spawn(move || {
                let taken = waiting.take(&cancel);
                out.send((name, taken.is_ok())).unwrap();
            }));
            while turn.shared.lock().waiting.len() == before {
                std::thread::yield_now();
            }
        }
        canceller.cancel();
        assert_eq!(order.recv().unwrap(), (2, false));
        drop(first);
        assert_eq!((order.recv().unwrap(), order.recv().unwrap()), ((1, true), (3, true)));
        for thread in threads {
            thread.join().unwrap();
        }
    }

    #[test]
    fn a_deadline_ends_the_wait() {
        let turn = Turn::default();
        let _first = turn.take(&Cancel::never()).unwrap();
        let cancel = Cancel::never().with_timeout(std::time::Duration::from_millis(5));
        assert_eq!(turn.take(&cancel).err(), Some(Aborted::Timeout));
    }
}
