//! Changes that can be undone and redone.

/// A replacement of a piece of text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Change {
    pub(super) at: usize,
    pub(super) removed: String,
    pub(super) inserted: String,
    /// The cursor before the change.
    pub(super) cursor: usize,
    /// Changes of one group are undone together.
    pub(super) group: usize,
}

/// The changes, oldest first, and how many of them are currently applied.
#[derive(Debug, Default)]
pub(super) struct UndoList {
    changes: Vec<Change>,
    done: usize,
    group: usize,
    /// True if all changes belong to the current group.
    is_held: bool,
}

/// The number of changes kept; older ones are removed.
const STEPS: usize = 1_000;

impl UndoList {
    /// Returns a number that changes with every new change.
    pub(super) fn len(&self) -> usize {
        self.done
    }

    /// Begins a group that includes all changes until it is released.
    pub(super) fn hold(&mut self) {
        self.split();
        self.is_held = true;
    }

    pub(super) fn release(&mut self) {
        self.is_held = false;
    }

    /// Begins another group.
    pub(super) fn split(&mut self) {
        self.group += 1;
    }

    pub(super) fn add(&mut self, mut change: Change, joins: bool) {
        self.changes.truncate(self.done);
        if joins
            && let Some(last) = self.changes.last_mut()
            && change.removed.is_empty()
            && last.at + last.inserted.len() == change.at
        {
            last.inserted.push_str(&change.inserted);
            return;
        }
        if !self.is_held {
            self.split();
        }
        change.group = self.group;
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

    /// Returns true if the next change to undo belongs to this group.
    pub(super) fn goes_back(&self, group: usize) -> bool {
        self.done > 0 && self.changes[self.done - 1].group == group
    }

    /// Returns true if the next change to redo belongs to this group.
    pub(super) fn goes_forward(&self, group: usize) -> bool {
        self.changes.get(self.done).is_some_and(|change| change.group == group)
    }

    pub(super) fn forward(&mut self) -> Option<Change> {
        let change = self.changes.get(self.done).cloned()?;
        self.done += 1;
        Some(change)
    }
}
