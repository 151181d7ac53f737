//! The table of calls that wait for an answer.

use std::collections::HashMap;

/// Gives out ids and keeps a `W` for each call until it is answered or given up, for instance the sender of a channel.
///
/// Every `W` that was handed in comes out once: by [`CallTable::take`] or by [`CallTable::close`].
#[derive(Debug)]
pub struct CallTable<W> {
    limit: usize,
    next: i64,
    waiting: HashMap<i64, W>,
}

/// The error of a call that finds the table full.
#[derive(Debug)]
pub struct TooManyCalls<W> {
    /// The value that was to be kept for the call.
    pub waiter: W,
    /// The number of calls that wait.
    pub waiting: usize,
}

impl<W> CallTable<W> {
    /// Makes a table for at most `limit` calls at a time.
    #[must_use]
    pub fn new(limit: usize) -> CallTable<W> {
        CallTable { limit, next: 1, waiting: HashMap::new() }
    }

    /// Returns an id that no call has or had. Ids begin at 1.
    pub fn fresh_id(&mut self) -> i64 {
        let id = self.next;
        self.next += 1;
        id
    }

    /// Takes a call into the table and returns its id, which is never used again.
    ///
    /// # Errors
    /// [`TooManyCalls`] when as many calls wait as the limit allows.
    pub fn register(&mut self, waiter: W) -> Result<i64, TooManyCalls<W>> {
        if self.waiting.len() >= self.limit {
            return Err(TooManyCalls { waiter, waiting: self.waiting.len() });
        }
        let id = self.fresh_id();
        self.waiting.insert(id, waiter);
        Ok(id)
    }

    /// Returns the value that is kept for a waiting call.
    #[must_use]
    pub fn get(&self, id: i64) -> Option<&W> {
        self.waiting.get(&id)
    }

    /// Ends a call and returns its value; none when it was answered or given up before.
    pub fn take(&mut self, id: i64) -> Option<W> {
        self.waiting.remove(&id)
    }

    /// Returns the number of calls that wait.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Ends all calls, oldest first.
    pub fn close(&mut self) -> Vec<(i64, W)> {
        let mut all: Vec<(i64, W)> = self.waiting.drain().collect();
        all.sort_by_key(|(id, _)| *id);
        all
    }
}
