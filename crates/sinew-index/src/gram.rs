//! Grams: three consecutive bytes in lower case (A–Z only), and the set of grams in a document.

use std::fmt;

/// Three consecutive bytes of a text, with A–Z in lower case; the first byte is the most significant of the 24 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Gram(u32);

impl Gram {
    /// The gram of every document that contains U+212A (Kelvin sign) or U+017F (long s), the two characters outside
    /// ASCII that fold into it. No other text contains it, because its bytes are capitals.
    pub const FOLDS_TO_ASCII: Gram = Gram::raw(*b"AAA");

    /// The number of possible grams.
    pub const COUNT: usize = 1 << 24;

    const fn raw(bytes: [u8; 3]) -> Gram {
        Gram((bytes[0] as u32) << 16 | (bytes[1] as u32) << 8 | bytes[2] as u32)
    }

    /// Returns the folded gram of three bytes.
    pub const fn of(bytes: [u8; 3]) -> Gram {
        Gram::raw([fold(bytes[0]), fold(bytes[1]), fold(bytes[2])])
    }

    /// Returns the gram with this number; `None` if it is out of range. See [`Gram::number`].
    pub const fn from_number(number: u32) -> Option<Gram> {
        if number < Gram::COUNT as u32 { Some(Gram(number)) } else { None }
    }

    /// Returns the gram as a number less than [`Gram::COUNT`], ordered like its bytes.
    pub const fn number(self) -> u32 {
        self.0
    }

    /// Returns the three bytes.
    pub const fn bytes(self) -> [u8; 3] {
        [(self.0 >> 16) as u8, (self.0 >> 8) as u8, self.0 as u8]
    }
}

impl fmt::Display for Gram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.bytes().escape_ascii())
    }
}

/// Converts A–Z to lower case and leaves every other byte unchanged.
pub(crate) const fn fold(byte: u8) -> u8 {
    byte.to_ascii_lowercase()
}

/// Collects the grams of texts, one after another, in one reusable table of 2 MiB.
pub struct Grams {
    seen: Box<[u64]>,
    found: Vec<Gram>,
}

impl Default for Grams {
    fn default() -> Grams {
        Grams::new()
    }
}

impl Grams {
    /// Allocates the table.
    pub fn new() -> Grams {
        Grams { seen: vec![0; Gram::COUNT / 64].into_boxed_slice(), found: Vec::new() }
    }

    /// Returns the set of grams of `text` followed by a line end. Runs in linear time.
    pub fn of(&mut self, text: &[u8]) -> GramSet<'_> {
        self.with_next(text, b"")
    }

    /// Returns the grams of `text` followed by `next`: grams that begin in `text` and end in `next` belong to `text`. A
    /// line end follows both.
    pub fn with_next(&mut self, text: &[u8], next: &[u8]) -> GramSet<'_> {
        self.clear();
        let shift = |window: u32, byte: u8| (window << 8 | u32::from(fold(byte))) & 0xFF_FFFF;
        let (first, rest) = text.split_at(text.len().min(2));
        let mut window = first.iter().fold(0, |window, byte| shift(window, *byte));
        for &byte in rest {
            window = shift(window, byte);
            self.add(Gram(window));
        }
        let behind = next.iter().take(2).chain(b"\n\n").take(2);
        for (at, &byte) in (text.len()..).zip(behind) {
            window = shift(window, byte);
            if at >= 2 {
                self.add(Gram(window));
            }
        }
        // As bytes, both characters contain or begin grams of their own.
        let found = GramSet { seen: &self.seen, found: &self.found };
        if found.contains(Gram::raw(*b"\xE2\x84\xAA")) || found.contains_pair(*b"\xC5\xBF") {
            self.add(Gram::FOLDS_TO_ASCII);
        }
        GramSet { seen: &self.seen, found: &self.found }
    }

    fn add(&mut self, gram: Gram) {
        let (word, bit) = place(gram);
        if self.seen[word] & bit == 0 {
            self.seen[word] |= bit;
            self.found.push(gram);
        }
    }

    fn clear(&mut self) {
        for &gram in &self.found {
            self.seen[place(gram).0] = 0;
        }
        self.found.clear();
    }
}

fn place(gram: Gram) -> (usize, u64) {
    (gram.0 as usize / 64, 1 << (gram.0 % 64))
}

/// The grams of one text, valid until the next text is read.
#[derive(Clone, Copy)]
pub struct GramSet<'a> {
    seen: &'a [u64],
    found: &'a [Gram],
}

impl<'a> GramSet<'a> {
    /// Returns true if the text contains `gram`. Runs in constant time.
    pub fn contains(self, gram: Gram) -> bool {
        let (word, bit) = place(gram);
        self.seen[word] & bit != 0
    }

    /// Returns true if the text contains a gram that begins with these two folded bytes. Reads at most five words.
    pub fn contains_pair(self, pair: [u8; 2]) -> bool {
        let first = Gram::raw([pair[0], pair[1], 0]).0 as usize / 64;
        self.seen[first..first + 4].iter().any(|&word| word != 0)
    }

    /// Returns the grams, each once, in the order of the text.
    pub fn grams(self) -> &'a [Gram] {
        self.found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &[u8], next: &[u8], expect: &[&[u8; 3]]) {
        let mut grams = Grams::new();
        let mut found: Vec<[u8; 3]> = grams.with_next(text, next).grams().iter().map(|gram| gram.bytes()).collect();
        found.sort_unstable();
        let mut expect: Vec<[u8; 3]> = expect.iter().map(|gram| **gram).collect();
        expect.sort_unstable();
        assert_eq!(found, expect, "{text:?} before {next:?}");
    }

    #[test]
    fn every_byte_starts_one_gram() {
        check(b"", b"", &[]);
        check(b"a", b"", &[b"a\n\n"]);
        check(b"aB", b"", &[b"ab\n", b"b\n\n"]);
        check(b"abab", b"", &[b"aba", b"bab", b"ab\n", b"b\n\n"]);
        check(b"ab", b"CDE", &[b"abc", b"bcd"]);
        check(b"ab", b"c", &[b"abc", b"bc\n"]);
        check(b"\xFF\x00\xFF", b"", &[b"\xFF\x00\xFF", b"\x00\xFF\n", b"\xFF\n\n"]);
    }

    #[test]
    fn characters_that_fold_into_ascii_set_the_fold_gram() {
        let mut grams = Grams::new();
        for (text, expect) in [("5 \u{212A}", true), ("Mi\u{17F}t", true), ("AAA kelvin", false)] {
            assert_eq!(grams.of(text.as_bytes()).contains(Gram::FOLDS_TO_ASCII), expect, "{text}");
        }
    }

    #[test]
    fn grams_of_a_text_do_not_affect_the_next() {
        let mut grams = Grams::new();
        assert!(grams.of(b"abc").contains(Gram::of(*b"ABC")));
        let next = grams.of(b"xyz");
        assert!(!next.contains(Gram::of(*b"abc")) && !next.contains_pair(*b"ab"));
        assert!(next.contains_pair(*b"xy") && next.contains_pair(*b"yz") && next.contains_pair(*b"z\n"));
    }
}
