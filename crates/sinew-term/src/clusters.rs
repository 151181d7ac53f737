//! Text as grapheme clusters with their cells.

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

/// Splits `text` into clusters, by the rules that [`visible_width`](crate::visible_width) counts by. Escape sequences,
/// controls and line ends are left out; a tab is a cluster of `tab_width` cells. No allocation.
pub fn clusters(text: &str, tab_width: usize) -> impl Iterator<Item = Cluster<'_>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < text.len() {
            let start = at;
            match item(text.as_bytes(), at, tab_width) {
                Item::Cluster { end, width, .. } => {
                    at = end;
                    return Some(Cluster { text: &text[start..end], start, width });
                }
                Item::Escape { end, .. } | Item::Control { end } | Item::Newline { end } => at = end,
            }
        }
        None
    })
}
