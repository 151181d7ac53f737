//! Text as grapheme clusters with their cells.

use crate::text::unit::AMBIGUOUS;
use crate::text::walk::{Item, item};

/// A grapheme cluster of a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cluster<'a> {
    /// Its characters.
    pub text: &'a str,
    /// The byte where it begins.
    pub start: usize,
    /// The cells it takes; 0 for marks that stand alone.
    pub width: usize,
}

/// Splits `text` into clusters, by the rules that [`visible_width`](crate::visible_width) counts by. Escape sequences (sized
/// texts too), controls and line ends are left out; a tab is a cluster of `tab_width` cells. No allocation.
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

/// Counts the clusters of one cell that East Asian terminals of old show in two: those that begin with a character of
/// ambiguous width (`±`, `…`, lines of boxes; letters like `α` stay narrow, as terminals show them). Linear, no allocation.
pub fn count_ambiguous(text: &str) -> usize {
    let is_ambiguous = |c: char| {
        let after = AMBIGUOUS.partition_point(|(first, _)| *first <= c);
        after.checked_sub(1).is_some_and(|range| c <= AMBIGUOUS[range].1)
    };
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
