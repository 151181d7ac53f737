//! The set of letters of a path, which rejects most paths before their bytes are compared.

use crate::query::{Query, Word, is_separator};

/// One bit for each letter in either case, one per two digits, one for any other character except separators. Bytes
/// that are not ASCII may fold to any letter.
const BITS: [u32; 256] = {
    let mut table = [1 << 31; 256];
    let mut byte = 0;
    while byte < 256 {
        let c = byte as u8;
        if c.is_ascii_alphabetic() {
            table[byte] = 1 << (c.to_ascii_lowercase() - b'a');
        } else if c.is_ascii_digit() {
            table[byte] = 1 << (26 + (c - b'0') / 2);
        } else if is_separator(c as char) {
            table[byte] = 0;
        } else if !c.is_ascii() {
            table[byte] = u32::MAX;
        }
        byte += 1;
    }
    table
};

/// Returns the set of the letters in a path, for [`LetterFilter::admits`].
#[must_use]
pub fn letters_of(path: &[u8]) -> u32 {
    path.iter().fold(0, |set, byte| set | BITS[usize::from(*byte)])
}

/// The letters that a path needs to match a query.
#[derive(Debug)]
pub struct LetterFilter {
    /// The letters of each word, and how many of them may be missing.
    words: Vec<(u32, u32)>,
}

impl LetterFilter {
    /// Creates the filter of a query for a matcher with or without `typos`.
    #[must_use]
    pub fn new(query: &Query, typos: bool) -> LetterFilter {
        let needed = |word: &Word| {
            let ascii = word.plain().letters.iter().filter_map(|letter| u8::try_from(*letter).ok());
            let letters = ascii.filter(u8::is_ascii).fold(0, |set, byte| set | BITS[usize::from(byte)]);
            // An extra letter may be the only one of its kind; two swapped letters are both present.
            (letters, u32::from(typos && !word.typos.is_empty()))
        };
        LetterFilter { words: query.words.iter().map(needed).collect() }
    }

    /// Returns false if no path with these letters matches the query.
    #[must_use]
    pub fn admits(&self, letters: u32) -> bool {
        self.words.iter().all(|(needed, missing)| (needed & !letters).count_ones() <= *missing)
    }
}
