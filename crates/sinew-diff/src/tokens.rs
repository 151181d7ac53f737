//! A text as pieces, and equal pieces as equal numbers.

use std::collections::HashMap;
use std::ops::Range;

use sinew_base::{CancelTicker, CancelToken, Error, ErrorCode, Result};
use unicode_segmentation::UnicodeSegmentation;

use crate::Unit;

/// The most pieces that a text may have.
pub const PIECES: usize = 4_000_000;

/// The pieces of a text: a number for each, and where it ends.
pub(crate) struct Pieces<'a> {
    text: &'a str,
    ends: Vec<usize>,
    pub(crate) ids: Vec<u32>,
}

impl<'a> Pieces<'a> {
    /// Splits two texts. Pieces of both that are equal have one number.
    pub(crate) fn pair(old: &'a str, new: &'a str, unit: Unit, cancel: &CancelToken) -> Result<(Self, Self)> {
        let mut numbers = HashMap::new();
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
        numbers: &mut HashMap<&'a str, u32>,
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
            // Two texts have at most twice the limit, which 32 bits hold.
            let next = numbers.len() as u32;
            ids.push(*numbers.entry(piece).or_insert(next));
        }
        Ok(Pieces { text, ends, ids })
    }

    fn end(&self, count: usize) -> usize {
        count.checked_sub(1).map_or(0, |last| self.ends[last])
    }

    /// Returns the text of neighbouring pieces.
    pub(crate) fn text(&self, range: Range<usize>) -> &'a str {
        &self.text[self.end(range.start)..self.end(range.end)]
    }
}

/// The lines of a text with their ends.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive('\n')
}

/// The words of a text and what stands between them. What Unicode takes for one word with a dot, a colon or an apostrophe
/// inside of it (`a.b`) is several here: in code they are.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split_word_bounds().flat_map(|word| {
        let mut rest = word;
        std::iter::from_fn(move || {
            let (piece, behind) = rest.split_at(piece_length(rest)?);
            rest = behind;
            Some(piece)
        })
    })
}

/// The length of the first piece of a word of Unicode; none where nothing is left of it.
fn piece_length(word: &str) -> Option<usize> {
    let is_mark = |c: char| c.is_ascii_punctuation() && c != '_';
    if is_mark(word.chars().next()?) {
        // What combines with the mark stays with it.
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
    fn words_are_those_of_programs_too() {
        check("", &[]);
        check("let a_b1 = x.y;", &["let", " ", "a_b1", " ", "=", " ", "x", ".", "y", ";"]);
        check("can't", &["can", "'", "t"]);
        check("a  b\r\nc\n", &["a", "  ", "b", "\r\n", "c", "\n"]);
        check("3.14 日本", &["3", ".", "14", " ", "日", "本"]);
        check("e\u{301}té 👩‍🚀!", &["e\u{301}té", " ", "👩‍🚀", "!"]);
        check("#\u{fe0f}\u{20e3}1\u{fe0f}\u{20e3}", &["#\u{fe0f}\u{20e3}", "1\u{fe0f}\u{20e3}"]);
    }

    #[test]
    fn lines_end_with_a_line_feed_alone() {
        assert_eq!(lines("a\r\nb\rc\n\nd").collect::<Vec<_>>(), ["a\r\n", "b\rc\n", "\n", "d"]);
    }

    #[test]
    fn a_text_of_too_many_pieces_is_refused() {
        let text = "\n".repeat(PIECES + 1);
        let error = Pieces::pair("", &text, Unit::Line, &CancelToken::never()).err().unwrap();
        assert_eq!(error.code(), ErrorCode::LimitExceeded);
        assert_eq!(error.message(), "diff: a text has more than 4000000 lines; compare parts of it");
        assert!(Pieces::pair("", &text[1..], Unit::Line, &CancelToken::never()).is_ok());
    }
}
