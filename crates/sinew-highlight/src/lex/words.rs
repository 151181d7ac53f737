//! Words with a fixed category, and their lookup table.

use crate::category::Category;

/// The kind of name that follows a word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Then {
    /// Any name.
    #[default]
    Any,
    /// A type.
    Type,
    /// A function.
    Function,
    /// A variable.
    Variable,
    /// A module: a path of names.
    Module,
}

/// The category of a word, and the kind of name that follows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    pub(crate) category: Category,
    pub(crate) then: Then,
}

/// One row of a word list: words separated by blanks.
pub(crate) type Row = (Category, Then, &'static str);

/// A hash table of words, open addressing, at most half full.
pub(crate) struct Words {
    slots: Vec<Option<(&'static [u8], Word)>>,
    mask: usize,
    longest: usize,
    fold: bool,
}

impl Words {
    /// Builds a case-sensitive table.
    pub(crate) fn new(rows: &[Row]) -> Self {
        Self::build(rows, false)
    }

    /// Builds a case-insensitive table from lower-case words.
    pub(crate) fn folded(rows: &[Row]) -> Self {
        Self::build(rows, true)
    }

    fn build(rows: &[Row], fold: bool) -> Self {
        let count: usize = rows.iter().map(|(_, _, words)| words.split_ascii_whitespace().count()).sum();
        let size = (count * 2 + 1).next_power_of_two();
        let mut table = Self { slots: vec![None; size], mask: size - 1, longest: 0, fold };
        for &(category, then, words) in rows {
            for word in words.split_ascii_whitespace() {
                table.longest = table.longest.max(word.len());
                let slot = table.slot(word.as_bytes());
                // The first row with a word decides.
                table.slots[slot].get_or_insert((word.as_bytes(), Word { category, then }));
            }
        }
        table
    }

    #[inline]
    pub(crate) fn get(&self, word: &[u8]) -> Option<Word> {
        if word.is_empty() || word.len() > self.longest {
            return None;
        }
        self.slots[self.slot(word)].map(|(_, word)| word)
    }

    /// Returns the slot of a word, or the free slot for it.
    #[inline]
    fn slot(&self, word: &[u8]) -> usize {
        let mut slot = hash(word) & self.mask;
        while let Some((stored, _)) = self.slots[slot] {
            if stored == word || self.fold && stored.eq_ignore_ascii_case(word) {
                break;
            }
            slot = (slot + 1) & self.mask;
        }
        slot
    }
}

/// Hashes the length, the first two bytes and the last one, ignoring case.
#[inline]
fn hash(word: &[u8]) -> usize {
    let first = (word[0] | 0x20) as usize;
    let second = (word[word.len() / 2] | 0x20) as usize;
    let last = (word[word.len() - 1] | 0x20) as usize;
    (first | second << 8 | last << 16 | word.len() << 24).wrapping_mul(0x9E37_79B1) >> 15
}
