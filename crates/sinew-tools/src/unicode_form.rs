//! Texts in another Unicode normalization form: the same characters, composed (NFC) or decomposed (NFD).

use std::ops::Range;

use icu_normalizer::properties::CanonicalCombiningClassMapBorrowed as CombiningClasses;
use icu_normalizer::{
    ComposingNormalizerBorrowed as ComposingNormalizer, DecomposingNormalizerBorrowed as DecomposingNormalizer,
};
use similar::{Algorithm, DiffTag, capture_diff_slices_deadline};

/// The forms that a text can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UnicodeForm {
    Composed,
    Decomposed,
    Mixed,
}

impl UnicodeForm {
    pub(super) fn of(text: &str) -> UnicodeForm {
        if text == composed(text) {
            UnicodeForm::Composed
        } else if text == decomposed(text) {
            UnicodeForm::Decomposed
        } else {
            UnicodeForm::Mixed
        }
    }

    /// Returns `text` in this form; unchanged for a mixed one.
    fn convert(self, text: &str) -> String {
        match self {
            UnicodeForm::Composed => composed(text),
            UnicodeForm::Decomposed => decomposed(text),
            UnicodeForm::Mixed => text.to_string(),
        }
    }
}

pub(super) fn composed(text: &str) -> String {
    ComposingNormalizer::new_nfc().normalize(text).into_owned()
}

fn decomposed(text: &str) -> String {
    DecomposingNormalizer::new_nfd().normalize(text).into_owned()
}

/// Splits a text into parts that compose independently of each other: characters with the marks that belong to them.
pub(super) fn clusters(text: &str) -> Vec<Range<usize>> {
    let classes = CombiningClasses::new();
    let mut out: Vec<Range<usize>> = Vec::new();
    for (at, character) in text.char_indices() {
        let end = at + character.len_utf8();
        let joins = |open: &Range<usize>| {
            if character.is_ascii() {
                return false;
            }
            let (before, own) = (&text[open.clone()], &text[at..end]);
            classes.get_u8(character) != 0 || composed(&text[open.start..end]) != composed(before) + &composed(own)
        };
        match out.last_mut() {
            Some(open) if joins(open) => open.end = end,
            _ => out.push(at..end),
        }
    }
    out
}

/// Returns `new`, the replacement of `old`, in which the characters of `old` that stay keep their form. The rest gets
/// the form of `old`.
pub(super) fn respelled(old: &str, new: &str) -> String {
    let parts = |text: &str| -> Vec<String> { clusters(text).into_iter().map(|part| text[part].to_string()).collect() };
    let (old_parts, new_parts, form) = (parts(old), parts(new), UnicodeForm::of(old));
    let mut out = String::new();
    for (before, after, is_same) in changes(&old_parts, &new_parts, composed) {
        match is_same {
            true => old_parts[before].iter().for_each(|part| out.push_str(part)),
            false => out.push_str(&form.convert(&new_parts[after].concat())),
        }
    }
    out
}

/// Returns the lines of a text in the form NFC, each with the line end `\n`.
pub(super) fn plain_lines(text: &str) -> String {
    let plain = composed(text).replace("\r\n", "\n");
    if plain.is_empty() || plain.ends_with('\n') { plain } else { plain + "\n" }
}

/// Returns `new`, the replacement of the text `old` that has [`plain_lines`], in which the lines of `old` that stay keep
/// their bytes. The rest gets the Unicode form of `old` and the line ends of the lines that they replace or follow.
pub(super) fn respelled_lines(old: &str, new: &str) -> String {
    let lines = |text: &str| -> Vec<String> { text.split_inclusive('\n').map(str::to_string).collect() };
    let (old_lines, new_lines, form) = (lines(old), lines(new), UnicodeForm::of(old));
    let mut end = line_end(old_lines.first().map_or("", String::as_str));
    let mut out = String::new();
    for (before, after, is_same) in changes(&old_lines, &new_lines, plain_lines) {
        for (index, line) in new_lines[after].iter().enumerate() {
            let there = old_lines[before.clone()].get(index);
            // The last line of the file may have no line end of its own.
            end = there.filter(|there| there.ends_with('\n')).map_or(end, |there| line_end(there));
            match there.filter(|_| is_same) {
                Some(there) => out.push_str(there.strip_suffix(line_end(there)).unwrap_or(there)),
                None => out.push_str(&form.convert(line.trim_end_matches('\n'))),
            }
            out.push_str(end);
        }
    }
    if !old.is_empty() && !old.ends_with('\n') {
        out.truncate(out.strip_suffix(end).map_or(out.len(), str::len));
    }
    out
}

/// Returns the ranges of parts that differ or stay: in `old`, in `new`, and whether they are equal as `plain`.
fn changes(
    old: &[String],
    new: &[String],
    plain: fn(&str) -> String,
) -> impl Iterator<Item = (Range<usize>, Range<usize>, bool)> {
    let plain = |parts: &[String]| -> Vec<String> { parts.iter().map(|part| plain(part)).collect() };
    let deadline = std::time::Instant::now() + std::time::Duration::from_millis(500);
    let ops = capture_diff_slices_deadline(Algorithm::Myers, &plain(old), &plain(new), Some(deadline));
    ops.into_iter().map(|op| (op.old_range(), op.new_range(), op.tag() == DiffTag::Equal))
}

fn line_end(line: &str) -> &'static str {
    if line.ends_with("\r\n") { "\r\n" } else { "\n" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_belong_to_the_character_before_them() {
        for (text, expect) in [
            ("ab", &["a", "b"][..]),
            ("e\u{301}\u{e9}x", &["e\u{301}", "\u{e9}", "x"]),
            ("\u{1112}\u{1161}\u{11ab}\u{1100}", &["\u{1112}\u{1161}\u{11ab}", "\u{1100}"]),
            ("\u{301}\n\u{301}", &["\u{301}", "\n\u{301}"]),
            ("\u{4e00}\u{4e01}", &["\u{4e00}", "\u{4e01}"]),
        ] {
            let parts: Vec<&str> = clusters(text).into_iter().map(|part| &text[part]).collect();
            assert_eq!(parts, expect, "{text:?}");
        }
    }

    #[test]
    fn characters_that_stay_keep_their_form() {
        assert_eq!(respelled("\u{e9} e\u{301} x", "e\u{301} \u{e9} y"), "\u{e9} e\u{301} y");
        assert_eq!(respelled("e\u{301}", "\u{e9}\u{f6}"), "e\u{301}o\u{308}");
        for (old, new, expect) in [
            ("\u{e9}\ne\u{301}\nx\n", "\u{e9}\n\u{e9}\ny\n", "\u{e9}\ne\u{301}\ny\n"),
            ("a\r\nb\nc\r\nd", "a\nx\nc\ny\n", "a\r\nx\nc\r\ny"),
            ("a\r\nb", "a\nb\nc\n", "a\r\nb\r\nc"),
            ("a\nb\r\n\r\r\n", "b\n\r\n", "b\r\n\r\r\n"),
            ("a", "", ""),
        ] {
            assert_eq!(respelled_lines(old, new), expect, "{old:?}");
        }
    }
}
