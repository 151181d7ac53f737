//! The two text encodings that the engine supports: UTF-16 (JavaScript) and UTF-8 (Rust).

use super::class::SURROGATE;

include!(concat!(env!("OUT_DIR"), "/table.rs"));

/// A code unit. The engine never cuts inside a character of either encoding.
pub(crate) trait Unit: Copy + Eq + Sized + 'static {
    /// U+2026.
    const ELLIPSIS: &'static [Self];

    /// Returns the unit's number; characters below U+0080 are one unit in both encodings.
    fn code(self) -> u32;
    fn ascii(byte: u8) -> Self;
    /// Returns the property byte of the character at `at`, and its length in units. `at` must be the start of a
    /// character in `text`.
    fn props(text: &[Self], at: usize) -> (u8, usize);
    /// Returns the character at `at`, which must be its start. A lone surrogate is returned as it is.
    fn character(text: &[Self], at: usize) -> u32;
    /// Returns the C1 control (U+0080–U+009F) at `at`, and its length in units; `None` for other characters.
    fn c1(text: &[Self], at: usize) -> Option<(u32, usize)>;
}

/// Returns the property byte of a character below U+10000 (surrogates have a class of their own).
#[inline(always)]
fn narrow(unit: u16) -> u8 {
    PAGES[usize::from(INDEX[usize::from(unit >> 8)])][usize::from(unit & 0xFF)]
}

#[inline(always)]
fn wide(code: u32) -> u8 {
    INDEX.get((code >> 8) as usize).map_or(1, |page| PAGES[usize::from(*page)][(code & 0xFF) as usize])
}

impl Unit for u16 {
    const ELLIPSIS: &'static [Self] = &[0x2026];

    #[inline(always)]
    fn code(self) -> u32 {
        u32::from(self)
    }

    #[inline(always)]
    fn ascii(byte: u8) -> Self {
        u16::from(byte)
    }

    #[inline(always)]
    fn props(text: &[Self], at: usize) -> (u8, usize) {
        let unit = text[at];
        let props = narrow(unit);
        if props >> 2 == SURROGATE { pair(text, at) } else { (props, 1) }
    }

    #[inline]
    fn character(text: &[Self], at: usize) -> u32 {
        let high = u32::from(text[at]);
        match text.get(at + 1) {
            Some(&low @ 0xDC00..=0xDFFF) if (0xD800..0xDC00).contains(&high) => {
                0x1_0000 + ((high - 0xD800) << 10) + (u32::from(low) - 0xDC00)
            }
            _ => high,
        }
    }

    #[inline(always)]
    fn c1(text: &[Self], at: usize) -> Option<(u32, usize)> {
        let code = u32::from(text[at]);
        (0x80..=0x9F).contains(&code).then_some((code, 1))
    }
}

/// Returns the property byte of a surrogate pair, or of a lone surrogate, which has the width of U+FFFD and its own
/// class, so that it can be removed.
fn pair(text: &[u16], at: usize) -> (u8, usize) {
    match u16::character(text, at) {
        code @ 0x1_0000.. => (wide(code), 2),
        _ => (SURROGATE << 2 | 1, 1),
    }
}

impl Unit for u8 {
    const ELLIPSIS: &'static [Self] = "…".as_bytes();

    #[inline(always)]
    fn code(self) -> u32 {
        u32::from(self)
    }

    #[inline(always)]
    fn ascii(byte: u8) -> Self {
        byte
    }

    #[inline(always)]
    fn props(text: &[Self], at: usize) -> (u8, usize) {
        let first = text[at];
        if first < 0x80 { (narrow(u16::from(first)), 1) } else { long(text, at) }
    }

    #[inline]
    fn character(text: &[Self], at: usize) -> u32 {
        let first = u32::from(text[at]);
        let tail = |offset: usize| u32::from(text.get(at + offset).copied().unwrap_or(0) & 0x3F);
        match first {
            0..=0x7F => first,
            0x80..=0xDF => (first & 0x1F) << 6 | tail(1),
            0xE0..=0xEF => (first & 0x0F) << 12 | tail(1) << 6 | tail(2),
            _ => (first & 0x07) << 18 | tail(1) << 12 | tail(2) << 6 | tail(3),
        }
    }

    #[inline(always)]
    fn c1(text: &[Self], at: usize) -> Option<(u32, usize)> {
        match (text[at], text.get(at + 1)) {
            (0xC2, Some(&second @ 0x80..=0x9F)) => Some((u32::from(second), 2)),
            _ => None,
        }
    }
}

/// Returns the property byte of a character of two to four bytes.
fn long(text: &[u8], at: usize) -> (u8, usize) {
    let length = match text[at] {
        0xC2..=0xDF => 2,
        0xE0..=0xEF => 3,
        _ => 4,
    };
    (wide(u8::character(text, at)), length)
}

/// Returns true if a line may end between two characters of a word, one of them wide: not before a closing mark, and not
/// after an opening one (UAX #14).
pub(crate) fn may_break_between(before: u32, after: u32) -> bool {
    let is_in = |ranges, code| char::from_u32(code).is_some_and(|c| contains(ranges, c));
    !is_in(NO_LINE_END, before) && !is_in(NO_LINE_START, after)
}

/// Returns true if one of the ranges, which are in order, contains the character.
pub(crate) fn contains(ranges: &[(char, char)], c: char) -> bool {
    let after = ranges.partition_point(|(first, _)| *first <= c);
    after.checked_sub(1).is_some_and(|range| c <= ranges[range].1)
}

/// Returns the number of printable ASCII units (U+0020 to U+007E) from `at` on.
#[inline]
pub(crate) fn printable_run<U: Unit>(text: &[U], at: usize) -> usize {
    let rest = &text[at..];
    let mut length = 0;
    // Sixteen units at a time without a branch, so that the compiler vectorises the loop.
    for chunk in rest.chunks_exact(16) {
        if !chunk.iter().fold(true, |all, unit| all & (unit.code().wrapping_sub(0x20) < 0x5F)) {
            break;
        }
        length += 16;
    }
    length + rest[length..].iter().take_while(|unit| unit.code().wrapping_sub(0x20) < 0x5F).count()
}
