//! Widths, wrapping and cutting of terminal text, and parsing of keys.
//!
//! ```
//! use sinew_term::{Ellipsis, TAB_WIDTH, matches_key, parse_key, truncate, visible_width, wrap};
//!
//! assert_eq!(visible_width("\x1b[31m日本\x1b[0m", TAB_WIDTH), 4);
//! assert_eq!(wrap("one two three", 8, TAB_WIDTH), ["one two", "three"]);
//! assert_eq!(truncate("a long title", 7, Ellipsis::Unicode, false, TAB_WIDTH), "a long…");
//! assert_eq!(parse_key("\x1b[1;5A", false).map(|key| key.to_string()).as_deref(), Some("ctrl+up"));
//! assert!(matches_key("\x03", "ctrl+c", false));
//! ```
//!
//! Pure functions. Text comes as `&str` here and as UTF-16, JavaScript's spelling, in [`utf16`]; one engine serves
//! both. Every function takes time linear in the text, whatever the text is.
//!
//! Cells are counted by grapheme cluster: escape sequences (also broken ones) and controls take none, wide
//! characters, emoji sequences, flags and keycaps take two, a tab takes `tab_width` ([`TAB_WIDTH`] by default). The one
//! sequence with cells is a sized text (OSC 66, the text sizing protocol of kitty): `s` times `w`, or times the cells of its
//! text where no width is given. It is one piece, which is wrapped and cut as a wide character is, and cleaning takes it out whole.

mod clusters;
mod hidden;
mod keys;
mod press;
mod stdin_buffer;
mod text;
pub mod utf16;

pub use clusters::{Cluster, clusters, count_ambiguous};
pub use hidden::{is_hidden, reveal, reveal_where};
pub use keys::{
    Key, KittyEvent, KittySequence, Modifiers, key_names, matches_key, matches_kitty_sequence, matches_legacy_sequence,
    parse_key, parse_kitty_sequence, resolve_key,
};
pub use press::{KeyPress, decode_key};
pub use stdin_buffer::{Input, StdinBuffer};
pub use text::cut::Ellipsis;

use std::borrow::Cow;

/// The cells of a tab unless told otherwise.
pub const TAB_WIDTH: usize = 3;

/// The cells of `text`. No allocation.
pub fn visible_width(text: &str, tab_width: usize) -> usize {
    text::width::visible_width(text.as_bytes(), tab_width)
}

/// Lines of at most `width` cells (0 is read as 1): broken at words, inside a word only when it is longer than a
/// line, never inside a cluster or sequence; a cluster wider than `width` is alone.
///
/// Each line opens again with the SGR state and link that hold where it starts, and ends underline, strikethrough, overline
/// and link at its end. Spaces at a break go, but an indent stays: a word that does not fit beside it breaks. `\n` and
/// `\r\n` split; there is always at least one line.
pub fn wrap(text: &str, width: usize, tab_width: usize) -> Vec<String> {
    let lines = string(text::wrap::wrap(text.as_bytes(), width, tab_width));
    lines.split('\n').map(str::to_string).collect()
}

/// `text` cut to `max` cells, the ellipsis included; unchanged when it fits. A cut resets SGR and closes an open
/// link before the ellipsis. `pad` fills with spaces to exactly `max`.
pub fn truncate(text: &str, max: usize, ellipsis: Ellipsis, pad: bool, tab_width: usize) -> Cow<'_, str> {
    text::cut::truncate(text.as_bytes(), max, ellipsis, pad, tab_width)
        .map_or(Cow::Borrowed(text), |bytes| Cow::Owned(string(bytes)))
}

/// Columns of a line and the cells they take.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Slice {
    /// The text, with the state at its start restored and nothing left open at its end.
    pub text: String,
    /// Its cells.
    pub width: usize,
}

/// Columns `[start, start + length)` of `line`. A wide cluster across the left edge is left out; across the right
/// edge it is kept, unless `strict`.
pub fn slice(line: &str, start: usize, length: usize, strict: bool, tab_width: usize) -> Slice {
    let ([(bytes, width)], _) = text::cut::columns(line.as_bytes(), [(start, length, strict)], tab_width);
    Slice { text: string(bytes), width }
}

/// The parts of a line left and right of an overlay.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Segments {
    /// Columns before the overlay.
    pub before: Slice,
    /// Columns behind it.
    pub after: Slice,
}

/// Columns `[0, before_end)` and `[after_start, after_start + after_length)` of `line`, in one pass. A wide cluster
/// across `before_end` is left out; across the right edge it is kept, unless `strict_after`.
pub fn segments(
    line: &str,
    before_end: usize,
    after_start: usize,
    after_length: usize,
    strict_after: bool,
    tab_width: usize,
) -> Segments {
    // A wide cluster half under the overlay cannot be shown: `before` is strict always.
    let windows = [(0, before_end, true), (after_start, after_length, strict_after)];
    let (parts, _) = text::cut::columns(line.as_bytes(), windows, tab_width);
    let [before, after] = parts.map(|(bytes, width)| Slice { text: string(bytes), width });
    Segments { before, after }
}

/// `text` without escape sequences (also incomplete and C1 ones) and controls, but with `\n` and `\t`.
pub fn sanitize(text: &str) -> Cow<'_, str> {
    text::sanitize::sanitize(text.as_bytes()).map_or(Cow::Borrowed(text), |bytes| Cow::Owned(string(bytes)))
}

/// The engine cuts between characters only.
fn string(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("pieces of a string, cut between characters")
}
