//! The queue of a shell: one run at a time, in the order of requests.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::{Condvar, Mutex};
use sinew_base::{Aborted, CancelHandle, CancelToken};

#[derive(Debug, Default)]
pub(crate) struct RunQueue {
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
    // The first ticket has the turn.
    waiting: VecDeque<(u64, CancelHandle)>,
}

/// A ticket in the queue of a shell. Dropping it leaves the queue.
#[derive(Debug)]
pub struct Ticket {
    shared: Arc<Shared>,
    number: u64,
    abort: CancelToken,
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut queue = self.shared.queue.lock();
        queue.waiting.retain(|(number, _)| *number != self.number);
        self.shared.changed.notify_all();
    }
}

impl RunQueue {
    /// Returns a ticket at the end of the queue.
    pub(crate) fn line_up(&self) -> Ticket {
        let (handle, abort) = CancelHandle::new();
        let mut queue = self.shared.queue.lock();
        let number = queue.next;
        queue.next += 1;
        queue.waiting.push_back((number, handle));
        Ticket { shared: Arc::clone(&self.shared), number, abort }
    }

    /// Aborts the run that has the turn, if there is one. The returned function waits until its ticket is dropped.
    pub(crate) fn abort(&self) -> impl FnOnce() + Send + 'static {
        let shared = Arc::clone(&self.shared);
        let first = self.shared.queue.lock().waiting.front().cloned();
        if let Some((_, abort)) = &first {
            abort.cancel();
        }
        move || {
            let Some((number, _)) = first else { return };
            let mut queue = shared.queue.lock();
            while queue.waiting.iter().any(|(waiting, _)| *waiting == number) {
                shared.changed.wait(&mut queue);
            }
        }
    }
}

impl Ticket {
    /// Returns the token that is cancelled if the run of this ticket is aborted.
    pub(crate) fn abort(&self) -> &CancelToken {
        &self.abort
    }

    /// Waits for the turn.
    ///
    /// # Errors
    /// Returns [`Aborted`] if `cancel` is set first.
    pub(crate) fn wait(&self, cancel: &CancelToken) -> Result<(), Aborted> {
        let waker = Arc::clone(&self.shared);
        // The lock ensures that the waiter is either before its check or already waiting.
        let hook = cancel.on_cancel(move || {
            drop(waker.queue.lock());
            waker.changed.notify_all();
        });
        let mut queue = self.shared.queue.lock();
        let result = loop {
            if queue.waiting.front().is_some_and(|(number, _)| *number == self.number) {
                break Ok(());
            }
            if let Err(why) = cancel.check() {
                break Err(why);
            }
            match cancel.deadline() {
                Some(until) => {
                    self.shared.changed.wait_until(&mut queue, until);
                }
                None => self.shared.changed.wait(&mut queue),
            }
        };
        drop(queue);
        drop(hook);
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn turns_follow_the_order_of_requests_and_skip_cancelled_ones() {
        let queue = RunQueue::default();
        let first = queue.line_up();
        first.wait(&CancelToken::never()).unwrap();
        let (cancel_handle, cancel) = CancelHandle::new();
        let (out, order) = mpsc::channel();
        let mut threads = Vec::new();
        for (name, cancel) in [(1, CancelToken::never()), (2, cancel), (3, CancelToken::never())] {
            let (ticket, out) = (queue.line_up(), out.clone());
            threads.push(std::thread::spawn(move || {
                let taken = ticket.wait(&cancel);
                out.send((name, taken.is_ok())).unwrap();
            }));
        }
        cancel_handle.cancel();
        assert_eq!(order.recv().unwrap(), (2, false));
        drop(first);
        assert_eq!((order.recv().unwrap(), order.recv().unwrap()), ((1, true), (3, true)));
        for thread in threads {
            thread.join().unwrap();
        }
    }

    #[test]
    fn a_deadline_ends_the_wait() {
        let queue = RunQueue::default();
        let _first = queue.line_up();
        let cancel = CancelToken::never().with_timeout(std::time::Duration::from_millis(5));
        assert_eq!(queue.line_up().wait(&cancel).err(), Some(Aborted::Timeout));
    }

    #[test]
    fn an_abort_stops_the_running_ticket_and_waits_for_it() {
        let queue = RunQueue::default();
        queue.abort()();
        let (first, second) = (queue.line_up(), queue.line_up());
        std::thread::scope(|scope| {
            let aborting = scope.spawn(|| queue.abort()());
            while !first.abort().is_cancelled() {
                std::thread::yield_now();
            }
            assert!(!aborting.is_finished());
            drop(first);
            aborting.join().unwrap();
        });
        assert!(!second.abort().is_cancelled());
    }
}
