//! Changes that can be taken back and done again.

/// A piece of text that took the place of another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Change {
    pub(super) at: usize,
    pub(super) removed: String,
    pub(super) inserted: String,
    /// The cursor before the change.
    pub(super) cursor: usize,
    /// Changes of one group are taken back together.
    pub(super) group: usize,
}

/// The changes, oldest first, and how many of them hold at present.
#[derive(Debug, Default)]
pub(super) struct UndoList {
    changes: Vec<Change>,
    done: usize,
    group: usize,
    /// All that is changed belongs to the present group.
    is_held: bool,
}

/// Older changes are forgotten.
const STEPS: usize = 1_000;

impl UndoList {
    /// A number that changes with every change that is made.
    pub(super) fn len(&self) -> usize {
        self.done
    }

    /// Begins a group that takes all changes until it is released.
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

    /// Tells whether the change that would be taken back next belongs to this group.
    pub(super) fn goes_back(&self, group: usize) -> bool {
        self.done > 0 && self.changes[self.done - 1].group == group
    }

    /// Tells whether the change that would be done next belongs to this group.
    pub(super) fn goes_forward(&self, group: usize) -> bool {
        self.changes.get(self.done).is_some_and(|change| change.group == group)
    }

    pub(super) fn forward(&mut self) -> Option<Change> {
        let change = self.changes.get(self.done).cloned()?;
        self.done += 1;
        Some(change)
    }
}
