//! Determines which characters the terminal can show, from the locale and by asking the terminal.

use std::borrow::Cow;

use sinew_control::settings::SymbolPreset;
use sinew_tui::Characters;

/// Writes an invisible two-byte letter, requests the cursor position, and erases the letter.
pub(super) const QUESTION: &[u8] = b"\r\x1b[8m\xc3\xa9\x1b[m\x1b[6n\r\x1b[K";

/// The preferred characters, and whether the terminal was asked if it supports them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CharacterProbe {
    pub(super) wanted: Characters,
    pub(super) is_open: bool,
}

impl CharacterProbe {
    /// Returns the question that is necessary for a locale, and the characters to use until the terminal has answered.
    pub(super) fn new<'a>(
        variable: impl Fn(&str) -> Option<&'a str>,
        preset: SymbolPreset,
    ) -> (CharacterProbe, Characters) {
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(variable).unwrap_or_default();
        let plain: String = locale.chars().filter(|letter| *letter != '-').collect();
        let is_utf8 = plain.to_ascii_lowercase().contains("utf8");
        // These values say nothing about the terminal, because they are common in containers and services.
        let is_told = !matches!(locale, "" | "C" | "POSIX");
        let wanted = wanted(preset);
        let probe = CharacterProbe { wanted, is_open: !is_utf8 };
        (probe, if is_told && !is_utf8 { Characters::Ascii } else { wanted })
    }

    /// Processes the column of the cursor after the letter; returns `None` if no question is pending.
    pub(super) fn answer(&mut self, column: usize) -> Option<Characters> {
        // The terminal showed the two bytes as two characters.
        let is_ascii = column == 3;
        std::mem::take(&mut self.is_open).then_some(if is_ascii { Characters::Ascii } else { self.wanted })
    }
}

/// Returns the characters for a terminal that supports all of them.
pub(super) fn wanted(preset: SymbolPreset) -> Characters {
    match preset {
        SymbolPreset::Unicode | SymbolPreset::Nerd => Characters::All,
        SymbolPreset::Ascii => Characters::AsciiSymbols,
    }
}

/// Converts a text outside of the screen, such as the title, to the characters of the terminal.
pub(super) fn limited(text: &str, characters: Characters) -> Cow<'_, str> {
    match characters {
        Characters::Ascii if !text.is_ascii() => text.replace(|letter: char| !letter.is_ascii(), "?").into(),
        _ => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_terminal_is_asked_if_the_locale_is_ambiguous() {
        use Characters::{All, Ascii, AsciiSymbols};
        for (variables, asks, first) in [
            (&[("LANG", "de_DE.UTF-8")][..], false, All),
            (&[("LC_ALL", "C.utf8"), ("LANG", "C")], false, All),
            (&[], true, All),
            (&[("LANG", "C")], true, All),
            (&[("LC_ALL", "POSIX"), ("LANG", "en_US.UTF-8")], true, All),
            (&[("LANG", "de_DE.ISO-8859-1")], true, Ascii),
            (&[("LC_CTYPE", "ja_JP.eucJP"), ("LANG", "en_US.UTF-8")], true, Ascii),
            (&[("LANG", "de_DE@euro")], true, Ascii),
        ] {
            let find = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
            let (mut probe, characters) = CharacterProbe::new(find, SymbolPreset::Unicode);
            assert_eq!((probe.is_open, characters), (asks, first), "{variables:?}");
            assert_eq!(probe.answer(3), asks.then_some(Ascii), "two cells, {variables:?}");
            assert_eq!(probe.answer(2), None, "asked once");
            let (mut probe, _) = CharacterProbe::new(find, SymbolPreset::Ascii);
            assert_eq!(probe.answer(2), asks.then_some(AsciiSymbols), "{variables:?}");
        }
        assert_eq!(limited("● Größe", Ascii), "? Gr??e");
        assert_eq!(limited("● Größe", AsciiSymbols), "● Größe");
    }
}
