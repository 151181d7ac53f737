//! The text functions for UTF-16 code units. A lone surrogate is treated as U+FFFD.

use crate::text::{cut, sanitize as clean, width, wrap as lines};
pub use cut::Ellipsis;

/// Does the same as [`crate::visible_width`].
pub fn visible_width(text: &[u16], tab_width: usize) -> usize {
    width::visible_width(text, tab_width)
}

/// Does the same as [`crate::wrap`]; the lines are separated by line feeds, which do not occur inside lines.
pub fn wrap(text: &[u16], width: usize, tab_width: usize, cjk_rules: bool) -> Vec<u16> {
    lines::wrap(text, width, tab_width, cjk_rules)
}

/// Does the same as [`crate::truncate`]; `None` if the text is unchanged.
pub fn truncate(text: &[u16], max: usize, ellipsis: Ellipsis, pad: bool, tab_width: usize) -> Option<Vec<u16>> {
    cut::truncate(text, max, ellipsis, pad, tab_width)
}

/// Returns the common result of [`truncate`] for every text that starts with `start`; `None` if `start` does not
/// determine it. `start` must not end inside a surrogate pair.
pub fn truncate_start(start: &[u16], max: usize, ellipsis: Ellipsis, pad: bool, tab_width: usize) -> Option<Vec<u16>> {
    cut::truncate_start(start, max, ellipsis, pad, tab_width)
}

/// Does the same as [`crate::slice`] for several windows `(start, length, strict)` in one pass; returns texts with
/// their widths. The flag is true if every text that starts with `line` has the same result, provided that `line` does
/// not end inside a surrogate pair.
pub fn columns<const N: usize>(
    line: &[u16],
    windows: [(usize, usize, bool); N],
    tab_width: usize,
) -> ([(Vec<u16>, usize); N], bool) {
    cut::columns(line, windows, tab_width)
}

/// Does the same as [`crate::slice`]; returns the text and its width.
pub fn slice(line: &[u16], start: usize, length: usize, strict: bool, tab_width: usize) -> (Vec<u16>, usize) {
    let ([part], _) = columns(line, [(start, length, strict)], tab_width);
    part
}

/// Does the same as [`crate::segments`]; returns the parts before and after, each with its width.
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

/// Does the same as [`crate::sanitize`], and removes lone surrogates; `None` if the text is unchanged.
pub fn sanitize(text: &[u16]) -> Option<Vec<u16>> {
    clean::sanitize(text)
}
