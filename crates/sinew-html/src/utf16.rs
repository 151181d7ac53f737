//! UTF-16, as JavaScript holds it, to UTF-8.

/// The units as text; a surrogate without its other half is U+FFFD. Linear.
pub(crate) fn text(units: &[u16]) -> String {
    let mut out = String::with_capacity(units.len() + units.len() / 16);
    let mut rest = units;
    while !rest.is_empty() {
        let plain = ascii(rest, &mut out);
        rest = &rest[plain..];
        let other = rest.iter().position(|unit| *unit < 0x80).unwrap_or(rest.len());
        let decoded = char::decode_utf16(rest[..other].iter().copied());
        out.extend(decoded.map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)));
        rest = &rest[other..];
    }
    out
}

/// Units that are looked at together: the compiler does it with one instruction each.
const STEP: usize = 16;

/// Appends the ASCII that `units` begin with, and tells how many units it was.
fn ascii(units: &[u16], out: &mut String) -> usize {
    let mut done = 0;
    for step in units.as_chunks::<STEP>().0 {
        if step.iter().fold(0, |all, unit| all | unit) >= 0x80 {
            break;
        }
        let bytes = step.map(|unit| unit as u8);
        let Ok(text) = std::str::from_utf8(&bytes) else {
            break;
        };
        out.push_str(text);
        done += STEP;
    }
    let left = units[done..].iter().take_while(|unit| **unit < 0x80).map(|unit| char::from(*unit as u8));
    let before = out.len();
    out.extend(left);
    done + out.len() - before
}

#[cfg(test)]
mod tests {
    #[track_caller]
    fn check(units: &[u16]) {
        assert_eq!(super::text(units), String::from_utf16_lossy(units));
    }

    #[test]
    fn every_kind_of_text() {
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
    fn lone_surrogates_become_marks() {
        check(&[0xd83d]);
        check(&[0xde42, 0xd83d, 0x61]);
        check(&[0xd83d, 0xd83d, 0xde42]);
        check(&[0x61, 0xd83d, 0x62, 0xde42]);
    }
}
