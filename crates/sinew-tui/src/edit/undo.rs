//! Changes that can be taken back and done again.

/// A piece of text that took the place of another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Change {
    pub(super) at: usize,
    pub(super) removed: String,
    pub(super) inserted: String,
    /// The cursor before the change.
    pub(super) cursor: usize,
}

/// The changes, oldest first, and how many of them hold at present.
#[derive(Debug, Default)]
pub(super) struct UndoList {
    changes: Vec<Change>,
    done: usize,
}

/// Older changes are forgotten.
const STEPS: usize = 1_000;

impl UndoList {
    /// A number that changes with every change that is made.
    pub(super) fn len(&self) -> usize {
        self.done
    }

    pub(super) fn add(&mut self, change: Change, joins: bool) {
        self.changes.truncate(self.done);
        if joins
            && let Some(last) = self.changes.last_mut()
            && change.removed.is_empty()
            && last.at + last.inserted.len() == change.at
        {
            last.inserted.push_str(&change.inserted);
            return;
        }
        if self.changes.len() == STEPS {
            self.changes.remove(0);
        }
        self.changes.push(change);
        self.done = self.changes.len();
    }

    pub(super) fn back(&mut self) -> Option<Change> {
        self.done = self.done.checked_sub(1)?;
        self.changes.get(self.done).cloned()
    }

    pub(super) fn forward(&mut self) -> Option<Change> {
        let change = self.changes.get(self.done).cloned()?;
        self.done += 1;
        Some(change)
    }
}
