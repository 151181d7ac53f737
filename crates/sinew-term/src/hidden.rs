//! Invisible characters that change how text is read: they reorder letters, or encode text that only programs read.

use std::borrow::Cow;

/// The flags encoded with tags: England, Scotland and Wales. No terminal shows a glyph for other tag sequences.
const TAG_FLAGS: [&str; 3] = [
    "\u{1F3F4}\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}",
    "\u{1F3F4}\u{E0067}\u{E0062}\u{E0073}\u{E0063}\u{E0074}\u{E007F}",
    "\u{1F3F4}\u{E0067}\u{E0062}\u{E0077}\u{E006C}\u{E0073}\u{E007F}",
];

/// Returns true for a bidirectional control, a tag (U+E0000 and above) and a variation selector beyond the sixteen that
/// emoji use. Each of the latter two can encode a whole invisible text.
#[must_use]
pub fn is_hidden(c: char) -> bool {
    matches!(c, '\u{61C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{206F}')
        || is_tag(c)
        || is_variant(c)
}

/// Replaces each hidden character of `text` by `‹U+202E›`. Those of flags, and one variant of an ideograph, are kept,
/// because they are visible.
#[must_use]
pub fn reveal(text: &str) -> Cow<'_, str> {
    reveal_where(text, is_hidden)
}

/// Does the same as [`reveal`] for the hidden characters that `is_shown` selects.
#[must_use]
pub fn reveal_where(text: &str, is_shown: impl Fn(char) -> bool) -> Cow<'_, str> {
    // The possible first bytes of these characters; other characters that begin with them are checked and kept.
    if !text.bytes().any(|byte| matches!(byte, 0xD8 | 0xE2 | 0xF3)) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::new();
    let (mut at, mut done, mut before) = (0, 0, None);
    while let Some(c) = text[at..].chars().next() {
        let end = at + c.len_utf8();
        if let Some(flag) = TAG_FLAGS.iter().find(|flag| text[at..].starts_with(**flag)) {
            at += flag.len();
            before = None;
            continue;
        }
        if is_hidden(c) && is_shown(c) && !(is_variant(c) && before.is_some_and(is_ideograph)) {
            shown.push_str(&text[done..at]);
            shown.push_str(&format!("‹U+{:04X}›", u32::from(c)));
            done = end;
        }
        before = Some(c);
        at = end;
    }
    if done == 0 {
        return Cow::Borrowed(text);
    }
    shown.push_str(&text[done..]);
    Cow::Owned(shown)
}

fn is_tag(c: char) -> bool {
    matches!(c, '\u{E0000}'..='\u{E007F}')
}

fn is_variant(c: char) -> bool {
    matches!(c, '\u{E0100}'..='\u{E01EF}')
}

fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_are_shown() {
        for (text, expect) in [
            ("plain — “text” é 日本 👨‍👩‍👧 ❤\u{FE0F} שלום", None),
            ("user\u{202e}txt.exe", Some("user‹U+202E›txt.exe")),
            ("a\u{2066}b\u{2069}\u{200f}\u{61c}", Some("a‹U+2066›b‹U+2069›‹U+200F›‹U+061C›")),
            ("hi\u{E0041}\u{E007F}", Some("hi‹U+E0041›‹U+E007F›")),
            ("\u{E0001}", Some("‹U+E0001›")),
            // A flag is visible; a text hidden after another flag is not.
            (TAG_FLAGS[0], None),
            ("\u{1F3F4}\u{E0068}\u{E0069}\u{E007F}", Some("\u{1F3F4}‹U+E0068›‹U+E0069›‹U+E007F›")),
            // A variant of a name is visible; a text hidden after an emoji, or a second variant, is not.
            ("葛\u{E0100}城", None),
            ("葛\u{E0100}\u{E0101}", Some("葛\u{E0100}‹U+E0101›")),
            ("😀\u{E0141}\u{E0142}", Some("😀‹U+E0141›‹U+E0142›")),
        ] {
            assert_eq!(reveal(text), expect.unwrap_or(text), "{text:?}");
            assert_eq!(matches!(reveal(text), Cow::Owned(_)), expect.is_some(), "{text:?}");
        }
    }

    #[test]
    fn every_tag_is_shown() {
        for c in ('\u{E0000}'..='\u{E007F}').chain('\u{202A}'..='\u{202E}') {
            assert_eq!(reveal(&format!("a{c}b")), format!("a‹U+{:04X}›b", u32::from(c)));
        }
    }
}
