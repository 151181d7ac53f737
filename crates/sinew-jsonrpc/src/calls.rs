//! The table of pending calls.

use std::collections::HashMap;

/// Assigns ids and stores a `W` for each call until it is answered or cancelled, for example the sender of a channel.
///
/// Every `W` is returned exactly once: by [`CallTable::take`] or by [`CallTable::close`].
#[derive(Debug)]
pub struct CallTable<W> {
    limit: usize,
    next: i64,
    waiting: HashMap<i64, W>,
}

/// The error of a call if the table is full.
#[derive(Debug)]
pub struct TooManyCalls<W> {
    /// The value of the rejected call.
    pub waiter: W,
    /// The number of pending calls.
    pub waiting: usize,
}

impl<W> CallTable<W> {
    /// Creates a table for at most `limit` concurrent calls.
    #[must_use]
    pub fn new(limit: usize) -> CallTable<W> {
        CallTable { limit, next: 1, waiting: HashMap::new() }
    }

    /// Returns an unused id. Ids begin at 1.
    pub fn fresh_id(&mut self) -> i64 {
        let id = self.next;
        self.next += 1;
        id
    }

    /// Adds a call and returns its id, which is never used again.
    ///
    /// # Errors
    /// Returns [`TooManyCalls`] if the limit of pending calls is reached.
    pub fn register(&mut self, waiter: W) -> Result<i64, TooManyCalls<W>> {
        if self.waiting.len() >= self.limit {
            return Err(TooManyCalls { waiter, waiting: self.waiting.len() });
        }
        let id = self.fresh_id();
        self.waiting.insert(id, waiter);
        Ok(id)
    }

    /// Returns the value of a pending call; `None` if there is no such call.
    #[must_use]
    pub fn get(&self, id: i64) -> Option<&W> {
        self.waiting.get(&id)
    }

    /// Ends a call and returns its value; `None` if it was answered or cancelled before.
    pub fn take(&mut self, id: i64) -> Option<W> {
        self.waiting.remove(&id)
    }

    /// Returns the number of pending calls.
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
