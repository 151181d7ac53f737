//! Converts UTF-16, the string encoding of JavaScript, to UTF-8.

/// Returns UTF-16 code units as text; a lone surrogate becomes U+FFFD. Runs in linear time, several times as fast as
/// `String::from_utf16_lossy` on mostly ASCII text.
#[must_use]
pub fn utf16_text(units: &[u16]) -> String {
    let mut out = Vec::with_capacity(units.len() + units.len() / 16);
    let mut rest = units;
    while !rest.is_empty() {
        let plain = ascii(rest, &mut out);
        rest = &rest[plain..];
        let other = rest.iter().position(|unit| *unit < 0x80).unwrap_or(rest.len());
        for c in char::decode_utf16(rest[..other].iter().copied()) {
            let c = c.unwrap_or(char::REPLACEMENT_CHARACTER);
            out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        }
        rest = &rest[other..];
    }
    String::from_utf8(out).expect("characters were written here")
}

/// Decodes the content of a file in UTF-16, which begins with a byte order mark; the mark is removed, and so is an odd
/// byte at the end. Returns `None` for other content. Runs in linear time.
#[must_use]
pub fn utf16_file_text(content: &[u8]) -> Option<String> {
    let unit = match content {
        [0xff, 0xfe, ..] => u16::from_le_bytes,
        [0xfe, 0xff, ..] => u16::from_be_bytes,
        _ => return None,
    };
    let units: Vec<u16> = content[2..].as_chunks().0.iter().map(|pair| unit(*pair)).collect();
    Some(utf16_text(&units))
}

/// The number of code units checked together; the compiler vectorises the check.
const STEP: usize = 16;

/// Appends the leading ASCII of `units` to `out` and returns its length in code units.
fn ascii(units: &[u16], out: &mut Vec<u8>) -> usize {
    let before = out.len();
    for step in units.as_chunks::<STEP>().0 {
        if step.iter().fold(0, |all, unit| all | unit) >= 0x80 {
            break;
        }
        out.extend_from_slice(&step.map(|unit| unit as u8));
    }
    let left = units[out.len() - before..].iter().take_while(|unit| **unit < 0x80);
    out.extend(left.map(|unit| *unit as u8));
    out.len() - before
}

#[cfg(test)]
mod tests {
    #[track_caller]
    fn check(units: &[u16]) {
        assert_eq!(super::utf16_text(units), String::from_utf16_lossy(units));
    }

    #[test]
    fn converts_every_kind_of_text() {
        for text in [
            "",
            "a",
            "plain text, longer than one step of it",
            "é",
            "a 中 b 🙂 and more of it, and more 🙂",
            "\u{ffff}",
        ] {
            check(&text.encode_utf16().collect::<Vec<_>>());
        }
    }

    #[test]
    fn lone_surrogates_become_replacement_characters() {
        check(&[0xd83d]);
        check(&[0xde42, 0xd83d, 0x61]);
        check(&[0xd83d, 0xd83d, 0xde42]);
        check(&[0x61, 0xd83d, 0x62, 0xde42]);
    }
}
