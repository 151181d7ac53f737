//! The text functions over UTF-16 code units. A lone surrogate counts as U+FFFD.

use crate::text::{cut, sanitize as clean, width, wrap as lines};
pub use cut::Ellipsis;

/// As [`crate::visible_width`].
pub fn visible_width(text: &[u16], tab_width: usize) -> usize {
    width::visible_width(text, tab_width)
}

/// As [`crate::wrap`]; the lines are joined by line feeds, which stand nowhere else.
pub fn wrap(text: &[u16], width: usize, tab_width: usize) -> Vec<u16> {
    lines::wrap(text, width, tab_width)
}

/// As [`crate::truncate`]; `None` when the text comes back unchanged.
pub fn truncate(text: &[u16], max: usize, ellipsis: Ellipsis, pad: bool, tab_width: usize) -> Option<Vec<u16>> {
    cut::truncate(text, max, ellipsis, pad, tab_width)
}

/// As [`crate::slice`]: the text and its cells.
pub fn slice(line: &[u16], start: usize, length: usize, strict: bool, tab_width: usize) -> (Vec<u16>, usize) {
    cut::slice(line, start, length, strict, tab_width)
}

/// As [`crate::segments`]: before and after, each with its cells.
pub fn segments(
    line: &[u16],
    before_end: usize,
    after_start: usize,
    after_length: usize,
    strict_after: bool,
    tab_width: usize,
) -> [(Vec<u16>, usize); 2] {
    cut::segments(line, before_end, (after_start, after_length), strict_after, tab_width)
}

/// As [`crate::sanitize`]; lone surrogates go too. `None` when the text comes back unchanged.
pub fn sanitize(text: &[u16]) -> Option<Vec<u16>> {
    clean::sanitize(text)
}
