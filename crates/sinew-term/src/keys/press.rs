//! A pressed key, and the other keys with the same bytes.

use super::id::{Key, Modifiers};

/// A sequence that is a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Press {
    /// The key.
    pub(crate) key: Key,
    /// Other keys with the same sequence: one with the same byte, the shifted symbol, the key in the base layout.
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

    /// Combines this key with all meanings of `press`.
    pub(super) fn and(self, press: Press) -> Press {
        [Some(press.key)]
            .into_iter()
            .chain(press.others)
            .flatten()
            .filter(|key| *key != self.key)
            .fold(self, Press::with)
    }

    /// Returns the same keys with additional modifiers.
    pub(super) fn plus(mut self, modifiers: Modifiers) -> Press {
        self.key = self.key.held(modifiers);
        self.others.iter_mut().flatten().for_each(|other| *other = other.held(modifiers));
        self
    }
}
