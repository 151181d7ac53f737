//! Surrogate halves in a streaming answer.
//!
//! Servers split an answer between the two surrogates of a character and send each half as a separate escape: `"Look:
//! \ud83d"`, then `"\ude00 fine"`. A Rust string cannot contain a half, so [`mark`] encodes it as noncharacters, which
//! Unicode reserves for internal use, and [`join`] combines adjacent halves to characters.

use std::borrow::Cow;

use sinew_base::{replace_lone_surrogates, rewrite_lone_units};

/// Begins the marker of a half. Three [`NIBBLES`] follow: the half without its highest bits.
const MARK: char = '\u{FDD0}';

/// The first of sixteen noncharacters, each of which encodes four bits.
const NIBBLES: u32 = 0xFDE0;

/// The bits of a marker that represents a literal [`MARK`] sent by the server.
const LITERAL: u16 = 0xFFF;

/// The number of characters in a marker.
const MARK_CHARS: usize = 4;

/// The bits that all surrogates share.
const SURROGATE: u16 = 0xD800;

/// Returns JSON text with U+FFFD in place of each lone surrogate escape, for text without a continuation.
pub(crate) fn replace(json: &str) -> Cow<'_, str> {
    match replace_lone_surrogates(json.as_bytes()) {
        Cow::Borrowed(_) => Cow::Borrowed(json),
        Cow::Owned(bytes) => Cow::Owned(String::from_utf8(bytes).expect("only escapes were replaced")),
    }
}

/// Returns JSON text with a marker in place of each lone surrogate escape. Runs in linear time; borrowed if there is
/// none.
pub(crate) fn mark(json: &str) -> Cow<'_, str> {
    let literal =
        if json.contains(MARK) { Cow::Owned(json.replace(MARK, &marked(LITERAL))) } else { Cow::Borrowed(json) };
    let rewritten = rewrite_lone_units(literal.as_bytes(), |unit, out| {
        let bits = match unit {
            0xD800..=0xDFFF => unit - SURROGATE,
            0xFDD0 => LITERAL,
            _ => return false,
        };
        out.extend_from_slice(marked(bits).as_bytes());
        true
    });
    match rewritten {
        Cow::Borrowed(_) => literal,
        Cow::Owned(bytes) => Cow::Owned(String::from_utf8(bytes).expect("escapes and marks are whole characters")),
    }
}

fn marked(bits: u16) -> String {
    let nibble = |shift: u16| char::from_u32(NIBBLES + u32::from(bits >> shift & 0xF)).unwrap_or(MARK);
    [MARK, nibble(8), nibble(4), nibble(0)].iter().collect()
}

/// Returns the text without markers: adjacent halves become one character, a lone half becomes U+FFFD. A first half at
/// the end of the text is stored in `pending` and joined with the text of the next call.
pub(crate) fn join<'a>(pending: &mut Option<u16>, text: &'a str) -> Cow<'a, str> {
    if text.is_empty() || pending.is_none() && !text.contains(MARK) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 4);
    let mut rest = text;
    while let Some(at) = rest.find(MARK) {
        if at > 0 {
            flush(pending, &mut out);
            out.push_str(&rest[..at]);
        }
        rest = &rest[at..];
        let Some((bits, length)) = read_mark(rest) else {
            flush(pending, &mut out);
            out.push(MARK);
            rest = &rest[MARK.len_utf8()..];
            continue;
        };
        rest = &rest[length..];
        if bits == LITERAL {
            flush(pending, &mut out);
            out.push(MARK);
            continue;
        }
        let unit = SURROGATE + bits;
        let pair = pending.and_then(|first| char::decode_utf16([first, unit]).next()?.ok());
        if let Some(character) = pair {
            *pending = None;
            out.push(character);
        } else {
            flush(pending, &mut out);
            *pending = Some(unit).filter(|unit| *unit < 0xDC00);
            if pending.is_none() {
                out.push(char::REPLACEMENT_CHARACTER);
            }
        }
    }
    if !rest.is_empty() {
        flush(pending, &mut out);
        out.push_str(rest);
    }
    Cow::Owned(out)
}

/// Returns a complete text without markers.
pub(crate) fn unmark(text: &str) -> Cow<'_, str> {
    let mut pending = None;
    let joined = join(&mut pending, text);
    if pending.is_none() {
        return joined;
    }
    let mut whole = joined.into_owned();
    flush(&mut pending, &mut whole);
    Cow::Owned(whole)
}

fn flush(pending: &mut Option<u16>, out: &mut String) {
    if pending.take().is_some() {
        out.push(char::REPLACEMENT_CHARACTER);
    }
}

/// Returns the bits of the marker at the start of `text`, and its length in bytes; `None` if there is none.
fn read_mark(text: &str) -> Option<(u16, usize)> {
    let mut bits = 0;
    for nibble in text.chars().skip(1).take(MARK_CHARS - 1) {
        let nibble = u32::from(nibble).checked_sub(NIBBLES).filter(|nibble| *nibble < 16)?;
        bits = bits << 4 | nibble as u16;
    }
    let length = text.char_indices().nth(MARK_CHARS).map_or(text.len(), |(at, _)| at);
    let whole = length == MARK_CHARS * MARK.len_utf8();
    (whole && (bits == LITERAL || bits < 0x800)).then_some((bits, length))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns JSON of some UTF-16, with every unit beyond ASCII as an escape.
    fn escaped(units: &[u16]) -> String {
        let unit = |unit: &u16| match u8::try_from(*unit) {
            Ok(byte) if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
            _ => format!("\\u{unit:04x}"),
        };
        format!("\"{}\"", units.iter().map(unit).collect::<String>())
    }

    fn units() -> impl Strategy<Value = Vec<u16>> {
        let unit =
            prop_oneof![0x61..0x64_u16, 0xD83D..0xD83F_u16, 0xDE00..0xDE02_u16, 0xFDD0..0xFDD2_u16, any::<u16>()];
        prop::collection::vec(unit, 0..12)
    }

    proptest! {
        /// The joined text must equal `String::from_utf16_lossy`, wherever it was split.
        #[test]
        fn joins_text_that_arrives_in_pieces(pieces in prop::collection::vec(units(), 0..6)) {
            let whole = String::from_utf16_lossy(&pieces.concat());
            let (mut pending, mut joined) = (None, String::new());
            for piece in &pieces {
                let text: String = serde_json::from_str(&mark(&escaped(piece))).unwrap();
                joined.push_str(&join(&mut pending, &text));
            }
            flush(&mut pending, &mut joined);
            prop_assert_eq!(joined, whole);
        }

        #[test]
        fn keeps_text_without_escapes(text in "[a\u{FDD0}\u{FDE0}\u{FDED}\u{FFFD}😀]{0,12}") {
            let json = serde_json::to_string(&text).unwrap();
            let read: String = serde_json::from_str(&mark(&json)).unwrap();
            prop_assert_eq!(unmark(&read), text);
        }
    }

    #[test]
    fn borrows_json_without_lone_surrogates() {
        for json in ["{}", "{\"a\":\"\\ud83d\\ude00 \\u00e9 😀\"}"] {
            assert!(matches!(mark(json), Cow::Borrowed(_)), "{json}");
        }
    }
}
