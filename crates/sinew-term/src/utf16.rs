//! The text functions over UTF-16 code units. A lone surrogate counts as U+FFFD.

use crate::text::{cut, sanitize as clean, width, wrap as lines};
pub use cut::Ellipsis;

/// As [`crate::visible_width`].
pub fn visible_width(text: &[u16], tab_width: usize) -> usize {
    width::visible_width(text, tab_width)
}

/// As [`crate::wrap`]; the lines are joined by line feeds, which are nowhere else.
pub fn wrap(text: &[u16], width: usize, tab_width: usize) -> Vec<u16> {
    lines::wrap(text, width, tab_width)
}

/// As [`crate::truncate`]; `None` when the text comes back unchanged.
pub fn truncate(text: &[u16], max: usize, ellipsis: Ellipsis, pad: bool, tab_width: usize) -> Option<Vec<u16>> {
    cut::truncate(text, max, ellipsis, pad, tab_width)
}

/// Returns the result of [`truncate`] for every text that starts with `start`, or `None` when `start` does not decide it. `start`
/// must not end inside a surrogate pair.
pub fn truncate_start(start: &[u16], max: usize, ellipsis: Ellipsis, pad: bool, tab_width: usize) -> Option<Vec<u16>> {
    cut::truncate_start(start, max, ellipsis, pad, tab_width)
}

/// As [`crate::slice`] for each of several windows `(start, length, strict)`, in one pass: texts and their cells. Also
/// whether every text that starts with `line` gives the same, if `line` does not end inside a surrogate pair.
pub fn columns<const N: usize>(
    line: &[u16],
    windows: [(usize, usize, bool); N],
    tab_width: usize,
) -> ([(Vec<u16>, usize); N], bool) {
    cut::columns(line, windows, tab_width)
}

/// As [`crate::slice`]: the text and its cells.
pub fn slice(line: &[u16], start: usize, length: usize, strict: bool, tab_width: usize) -> (Vec<u16>, usize) {
    let ([part], _) = columns(line, [(start, length, strict)], tab_width);
    part
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
    columns(line, [(0, before_end, true), (after_start, after_length, strict_after)], tab_width).0
}

/// As [`crate::sanitize`]; lone surrogates go too. `None` when the text comes back unchanged.
pub fn sanitize(text: &[u16]) -> Option<Vec<u16>> {
    clean::sanitize(text)
}
