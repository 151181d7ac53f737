//! Splits a text into pieces, with equal numbers for equal pieces.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::ops::Range;

use sinew_base::{CancelTicker, CancelToken, Error, ErrorCode, Result};
use unicode_segmentation::UnicodeSegmentation;

use crate::Unit;

/// The maximum number of pieces of a text.
pub const PIECES: usize = 4_000_000;

/// The pieces of a text: the number and the end of each.
pub(crate) struct Pieces<'a> {
    text: &'a str,
    ends: Vec<usize>,
    pub(crate) ids: Vec<u32>,
}

impl<'a> Pieces<'a> {
    /// Splits two texts. Equal pieces of both have the same number.
    pub(crate) fn pair(old: &'a str, new: &'a str, unit: Unit, cancel: &CancelToken) -> Result<(Self, Self)> {
        let mut numbers = HashMap::with_hasher(SeededState(RandomState::new().hash_one(0)));
        let mut split = |text: &'a str| match unit {
            Unit::Line => Pieces::new(text, lines(text), "lines", &mut numbers, cancel),
            Unit::Word => Pieces::new(text, words(text), "words", &mut numbers, cancel),
        };
        Ok((split(old)?, split(new)?))
    }

    fn new(
        text: &'a str,
        pieces: impl Iterator<Item = &'a str>,
        unit: &str,
        numbers: &mut HashMap<&'a str, u32, SeededState>,
        cancel: &CancelToken,
    ) -> Result<Pieces<'a>> {
        let (mut ends, mut ids, mut end) = (Vec::new(), Vec::new(), 0);
        let mut ticker = CancelTicker::new(cancel);
        for piece in pieces {
            ticker.step()?;
            if ids.len() == PIECES {
                let message = format!("diff: a text has more than {PIECES} {unit}; compare parts of it");
                return Err(Error::new(ErrorCode::LimitExceeded, message));
            }
            end += piece.len();
            ends.push(end);
            // Two texts have at most twice the limit, which fits in 32 bits.
            let next = numbers.len() as u32;
            ids.push(*numbers.entry(piece).or_insert(next));
        }
        Ok(Pieces { text, ends, ids })
    }

    fn end(&self, count: usize) -> usize {
        count.checked_sub(1).map_or(0, |last| self.ends[last])
    }

    /// Returns the text of consecutive pieces.
    pub(crate) fn text(&self, range: Range<usize>) -> &'a str {
        &self.text[self.end(range.start)..self.end(range.end)]
    }
}

/// Creates hashers with a random seed, so that no text can be crafted whose pieces all collide. The standard library's
/// hasher would need half of the splitting time.
struct SeededState(u64);

impl BuildHasher for SeededState {
    type Hasher = FoldingHasher;

    fn build_hasher(&self) -> FoldingHasher {
        FoldingHasher { seed: self.0, state: self.0 }
    }
}

/// Hashes eight bytes with one multiplication, whose upper half is folded into the lower one.
struct FoldingHasher {
    seed: u64,
    state: u64,
}

impl FoldingHasher {
    fn add(&mut self, word: u64) {
        let product = u128::from(self.state ^ word) * u128::from(self.seed | 0x9E37_79B9_7F4A_7C15);
        self.state = (product as u64) ^ (product >> 64) as u64;
    }
}

impl Hasher for FoldingHasher {
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        words.iter().for_each(|word| self.add(u64::from_le_bytes(*word)));
        self.add(rest.iter().fold(bytes.len() as u64, |word, byte| word << 8 | u64::from(*byte)));
    }

    /// Strings end with this byte; their length is already part of their hash.
    fn write_u8(&mut self, _: u8) {}

    fn finish(&self) -> u64 {
        self.state
    }
}

/// Returns the lines of a text, including their line ends.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive('\n')
}

/// Returns the words of a text and the text between them. A Unicode word with a dot, a colon or an apostrophe inside
/// (`a.b`) is split, as is usual in code. No word continues after a line end, so ASCII lines, which need no tables, are
/// split separately.
fn words(text: &str) -> impl Iterator<Item = &str> {
    lines(text).flat_map(|line| {
        let mut rest = line;
        let plain = std::iter::from_fn(move || {
            let (piece, behind) = rest.split_at(plain_length(rest)?);
            rest = behind;
            Some(piece)
        });
        let is_plain = line.is_ascii();
        let other = (!is_plain).then(|| line.split_word_bounds().flat_map(pieces)).into_iter().flatten();
        plain.take(if is_plain { usize::MAX } else { 0 }).chain(other)
    })
}

/// Returns the length of the first piece of an ASCII text: a word, a run of blanks, a line end, or one character;
/// `None` if the text is empty.
fn plain_length(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let run = |is_part: fn(&u8) -> bool| bytes.iter().take_while(|byte| is_part(byte)).count();
    match bytes.first()? {
        b' ' => Some(run(|byte| *byte == b' ')),
        b'\r' if bytes.get(1) == Some(&b'\n') => Some(2),
        _ => Some(run(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').max(1)),
    }
}

/// Returns the pieces of a Unicode word.
fn pieces(word: &str) -> impl Iterator<Item = &str> {
    let mut rest = word;
    std::iter::from_fn(move || {
        let (piece, behind) = rest.split_at(piece_length(rest)?);
        rest = behind;
        Some(piece)
    })
}

/// Returns the length of the first piece of a Unicode word; `None` if nothing is left.
fn piece_length(word: &str) -> Option<usize> {
    let is_mark = |c: char| c.is_ascii_punctuation() && c != '_';
    if is_mark(word.chars().next()?) {
        // Combining characters stay with their base.
        let next = word[1..].find(|c: char| c.is_ascii() || c.is_alphanumeric());
        return Some(next.map_or(word.len(), |at| at + 1));
    }
    Some(word.find(is_mark).unwrap_or(word.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &[&str]) {
        assert_eq!(words(text).collect::<Vec<_>>(), expect);
    }

    #[test]
    fn words_include_identifiers() {
        check("", &[]);
        check("let a_b1 = x.y;", &["let", " ", "a_b1", " ", "=", " ", "x", ".", "y", ";"]);
        check("can't", &["can", "'", "t"]);
        check("a  b\r\nc\n", &["a", "  ", "b", "\r\n", "c", "\n"]);
        check("3.14 日本", &["3", ".", "14", " ", "日", "本"]);
        check("e\u{301}té 👩‍🚀!", &["e\u{301}té", " ", "👩‍🚀", "!"]);
        check("#\u{fe0f}\u{20e3}1\u{fe0f}\u{20e3}", &["#\u{fe0f}\u{20e3}", "1\u{fe0f}\u{20e3}"]);
    }

    proptest::proptest! {
        #[test]
        fn ascii_lines_split_like_unicode_lines(text in "[ -~\t\r\n\x0b]{0,40}", more in "[a-z.: \r\néß日\u{301}\u{a0}\u{2028}]{0,20}") {
            let text = format!("{text}{more}");
            let expect: Vec<&str> = text.split_word_bounds().flat_map(pieces).collect();
            proptest::prop_assert_eq!(words(&text).collect::<Vec<_>>(), expect);
        }
    }

    #[test]
    fn only_line_feeds_end_lines() {
        assert_eq!(lines("a\r\nb\rc\n\nd").collect::<Vec<_>>(), ["a\r\n", "b\rc\n", "\n", "d"]);
    }

    #[test]
    fn rejects_a_text_with_too_many_tokens() {
        let text = "\n".repeat(PIECES + 1);
        let error = Pieces::pair("", &text, Unit::Line, &CancelToken::never()).err().unwrap();
        assert_eq!(error.code(), ErrorCode::LimitExceeded);
        assert_eq!(error.message(), "diff: a text has more than 4000000 lines; compare parts of it");
        assert!(Pieces::pair("", &text[1..], Unit::Line, &CancelToken::never()).is_ok());
    }
}
