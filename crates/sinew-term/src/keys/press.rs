//! A pressed key, and the other keys that the same bytes mean.

use super::id::{Key, Modifiers};

/// A sequence that is a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Press {
    /// The name of the key.
    pub(crate) key: Key,
    /// Other keys that the same sequence means: one with the same byte, the shifted symbol, the base layout.
    pub(crate) others: [Option<Key>; 3],
    pub(crate) released: bool,
}

impl Press {
    pub(crate) fn of(key: Key) -> Press {
        Press { key, others: [None; 3], released: false }
    }

    pub(super) fn with(mut self, other: Key) -> Press {
        if let Some(free) = self.others.iter_mut().find(|other| other.is_none()) {
            *free = Some(other);
        }
        self
    }

    /// This key, and all that `press` may be.
    pub(super) fn and(self, press: Press) -> Press {
        [Some(press.key)]
            .into_iter()
            .chain(press.others)
            .flatten()
            .filter(|key| *key != self.key)
            .fold(self, Press::with)
    }

    /// The same keys with more modifiers.
    pub(super) fn plus(mut self, modifiers: Modifiers) -> Press {
        self.key = self.key.held(modifiers);
        self.others.iter_mut().flatten().for_each(|other| *other = other.held(modifiers));
        self
    }
}
