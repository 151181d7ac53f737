//! Splits text into grapheme clusters with their widths.

use crate::text::unit::{AMBIGUOUS, contains};
use crate::text::walk::{Item, item};

/// A grapheme cluster of a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cluster<'a> {
    /// The characters of the cluster.
    pub text: &'a str,
    /// The byte offset of its start.
    pub start: usize,
    /// The width in cells; 0 for marks without a base character.
    pub width: usize,
}

/// Splits `text` into clusters, by the rules of [`visible_width`](crate::visible_width). Escape sequences (including
/// sized texts), controls and line ends are skipped; a tab is a cluster of `tab_width` cells. Does not allocate.
pub fn clusters(text: &str, tab_width: usize) -> impl Iterator<Item = Cluster<'_>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < text.len() {
            let start = at;
            match item(text.as_bytes(), at, tab_width) {
                Item::Cluster { end, width, .. } => {
                    at = end;
                    if text[start..].starts_with(['\x1b', '\u{9d}']) {
                        continue;
                    }
                    return Some(Cluster { text: &text[start..end], start, width });
                }
                Item::Escape { end, .. } | Item::Control { end } | Item::Newline { end } => at = end,
            }
        }
        None
    })
}

/// Counts the one-cell clusters that legacy East Asian terminals show in two cells: those that begin with a character
/// of ambiguous width (`±`, `…`, box drawing; letters such as `α` stay narrow, as terminals show them). Runs in linear
/// time and does not allocate.
pub fn count_ambiguous(text: &str) -> usize {
    let is_ambiguous = |c| contains(AMBIGUOUS, c);
    clusters(text, 1)
        .filter(|cluster| cluster.width == 1 && cluster.text.chars().next().is_some_and(is_ambiguous))
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ambiguous_characters_are_counted_by_cluster() {
        for (text, count) in [("abc", 0), ("±×÷", 3), ("±\u{301}你é", 1), ("\x1b[31mα\x1b[0m─", 1), ("😀", 0)]
        {
            assert_eq!(count_ambiguous(text), count, "{text:?}");
        }
    }
}
