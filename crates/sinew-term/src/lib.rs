//! Widths, wrapping and cutting of terminal text, and parsing of keys.
//!
//! ```
//! use sinew_term::{Ellipsis, TAB_WIDTH, matches_key, parse_key, truncate, visible_width, wrap};
//!
//! assert_eq!(visible_width("\x1b[31m日本\x1b[0m", TAB_WIDTH), 4);
//! assert_eq!(wrap("one two three", 8, TAB_WIDTH, true), ["one two", "three"]);
//! assert_eq!(truncate("a long title", 7, Ellipsis::Unicode, false, TAB_WIDTH), "a long…");
//! assert_eq!(parse_key("\x1b[1;5A", false).map(|key| key.to_string()).as_deref(), Some("ctrl+up"));
//! assert!(matches_key("\x03", "ctrl+c", false));
//! ```
//!
//! Pure functions. Text is passed as `&str` here and as UTF-16, JavaScript's encoding, in [`utf16`]; one engine
//! supports both. Every function runs in time linear in the text.
//!
//! Widths are counted per grapheme cluster: escape sequences (including broken ones) and controls have no width; wide
//! characters, emoji sequences, flags and keycaps have two cells; a tab has `tab_width` cells ([`TAB_WIDTH`] by
//! default). The only sequence with a width is a sized text (OSC 66, the text sizing protocol of kitty): `s` times `w`,
//! or times the width of its text if no width is set. It is one unit: wrapping and cutting treat it as a wide
//! character, and sanitizing removes all of it.

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

/// The default width of a tab in cells.
pub const TAB_WIDTH: usize = 3;

/// Returns the width of `text` in cells. Does not allocate.
pub fn visible_width(text: &str, tab_width: usize) -> usize {
    text::width::visible_width(text.as_bytes(), tab_width)
}

/// Wraps `text` into lines of at most `width` cells (0 means 1). Breaks between words, inside a word only if it is
/// longer than a line, and never inside a cluster or sequence; a cluster wider than `width` is a separate line.
///
/// Each line starts with the SGR state and link in effect at its start, and ends underline, strikethrough, overline and
/// link at its end. Spaces at a break are dropped, but an indent is kept: a word that does not fit next to it is
/// broken. `\n` and `\r\n` split lines; there is always at least one line.
///
/// With `cjk_rules`, a word with wide characters is not broken before a closing mark (`。`, `」`, `ー`) or after an opening
/// one (`「`), as UAX #14 demands, if another place is on the line.
pub fn wrap(text: &str, width: usize, tab_width: usize, cjk_rules: bool) -> Vec<String> {
    let lines = string(text::wrap::wrap(text.as_bytes(), width, tab_width, cjk_rules));
    lines.split('\n').map(str::to_string).collect()
}

/// Cuts `text` to `max` cells, including the ellipsis; returns it unchanged if it fits. A cut resets SGR and closes an
/// open link before the ellipsis. `pad` adds spaces up to exactly `max` cells.
pub fn truncate(text: &str, max: usize, ellipsis: Ellipsis, pad: bool, tab_width: usize) -> Cow<'_, str> {
    text::cut::truncate(text.as_bytes(), max, ellipsis, pad, tab_width)
        .map_or(Cow::Borrowed(text), |bytes| Cow::Owned(string(bytes)))
}

/// Columns of a line and their width.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Slice {
    /// The text, with the state at its start restored and everything closed at its end.
    pub text: String,
    /// Its width in cells.
    pub width: usize,
}

/// Returns the columns `[start, start + length)` of `line`. A wide cluster across the left edge is dropped; across the
/// right edge it is kept, unless `strict` is true.
pub fn slice(line: &str, start: usize, length: usize, strict: bool, tab_width: usize) -> Slice {
    let ([(bytes, width)], _) = text::cut::columns(line.as_bytes(), [(start, length, strict)], tab_width);
    Slice { text: string(bytes), width }
}

/// The parts of a line on both sides of an overlay.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Segments {
    /// The columns before the overlay.
    pub before: Slice,
    /// The columns after the overlay.
    pub after: Slice,
}

/// Returns the columns `[0, before_end)` and `[after_start, after_start + after_length)` of `line`, in one pass. A wide
/// cluster across `before_end` is dropped; across the right edge it is kept, unless `strict_after` is true.
pub fn segments(
    line: &str,
    before_end: usize,
    after_start: usize,
    after_length: usize,
    strict_after: bool,
    tab_width: usize,
) -> Segments {
    // A wide cluster that is partly under the overlay cannot be shown, so `before` is always strict.
    let windows = [(0, before_end, true), (after_start, after_length, strict_after)];
    let (parts, _) = text::cut::columns(line.as_bytes(), windows, tab_width);
    let [before, after] = parts.map(|(bytes, width)| Slice { text: string(bytes), width });
    Segments { before, after }
}

/// Removes escape sequences (including incomplete and C1 ones) and controls from `text`, except `\n` and `\t`.
pub fn sanitize(text: &str) -> Cow<'_, str> {
    text::sanitize::sanitize(text.as_bytes()).map_or(Cow::Borrowed(text), |bytes| Cow::Owned(string(bytes)))
}

/// Converts the engine's output, which is always cut between characters.
fn string(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("strings are cut between characters")
}
