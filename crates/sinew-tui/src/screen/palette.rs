//! The characters and colours that a terminal can show, and the replacements of the others.

use crate::text::style::Depth;

/// The characters that are shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Characters {
    /// All characters.
    #[default]
    All,
    /// All characters, but symbols of the interface are ASCII, because the user's font lacks them.
    AsciiSymbols,
    /// ASCII only, because the terminal does not support UTF-8. Each cell of another character is a `?`.
    Ascii,
}

/// The characters that a row is reduced to before it is painted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Palette {
    pub(super) depth: Depth,
    pub(super) characters: Characters,
}

/// The symbols of the interface with one cell, each followed by its ASCII form.
const SYMBOLS: &str = "›>‹<●*◌o○.✗x⋯~….·-•*–-−-─-│|┼+▌|■#→>↑^↓v×x";

impl Palette {
    /// Returns the text to show for a cluster of `width` cells. `foreign` is true in a row of external text.
    pub(super) fn shown(self, text: &str, width: usize, foreign: bool) -> &str {
        let is_ascii_only = self.characters == Characters::Ascii;
        if text.is_ascii() || self.characters == Characters::All || (foreign && !is_ascii_only) {
            return text;
        }
        match SYMBOLS.find(text).map(|at| at + text.len()) {
            // The ASCII form is one byte after the symbol.
            Some(at) => &SYMBOLS[at..=at],
            None if is_ascii_only => &"??"[..width.min(2)],
            None => text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_are_replaced_by_ascii_if_necessary() {
        fn shown(characters: Characters, text: &str, width: usize, foreign: bool) -> &str {
            Palette { depth: Depth::None, characters }.shown(text, width, foreign)
        }
        for (text, width, foreign, [all, symbols, ascii]) in [
            ("a", 1, false, ["a", "a", "a"]),
            ("●", 1, false, ["●", "*", "*"]),
            ("●", 1, true, ["●", "●", "*"]),
            ("…", 1, false, ["…", ".", "."]),
            ("é", 1, false, ["é", "é", "?"]),
            ("e\u{301}", 1, false, ["e\u{301}", "e\u{301}", "?"]),
            ("日", 2, true, ["日", "日", "??"]),
        ] {
            assert_eq!(shown(Characters::All, text, width, foreign), all);
            assert_eq!(shown(Characters::AsciiSymbols, text, width, foreign), symbols);
            assert_eq!(shown(Characters::Ascii, text, width, foreign), ascii);
        }
        let table: Vec<char> = SYMBOLS.chars().collect();
        for pair in table.chunks(2) {
            assert!(!pair[0].is_ascii() && pair[1].is_ascii_graphic(), "{pair:?}");
            let symbol = pair[0].to_string();
            assert_eq!(sinew_term::visible_width(&symbol, 1), 1, "{symbol}");
            assert_eq!(shown(Characters::Ascii, &symbol, 1, false), pair[1].to_string());
        }
    }
}
