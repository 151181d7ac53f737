//! Lone surrogates in JSON: JavaScript and Python write half a character as `\ud83d`, and `serde_json` then rejects the
//! whole text.

use std::borrow::Cow;

/// The range of surrogate code units: the first, and the one after the last.
const HIGH: u16 = 0xD800;
const LOW: u16 = 0xDC00;
const END: u16 = 0xE000;

/// The length of an escape such as `\ud83d`, in bytes.
const ESCAPE: usize = 6;

/// Returns JSON text in which each escape of a lone surrogate is replaced by `\ufffd`. Everything else is unchanged,
/// even if the text is invalid or truncated JSON; an incomplete escape at the end is kept. Runs in linear time.
#[must_use]
pub fn replace_lone_surrogates(json: &[u8]) -> Cow<'_, [u8]> {
    rewrite_lone_units(json, |unit, out| {
        let lone = (HIGH..END).contains(&unit);
        if lone {
            out.extend_from_slice(b"\\ufffd");
        }
        lone
    })
}

/// Calls `rewrite` with each escape `\uXXXX` in JSON text that is not part of a surrogate pair. `rewrite` appends the
/// replacement and returns true, or returns false to keep the escape. Runs in linear time.
#[must_use]
pub fn rewrite_lone_units(json: &[u8], mut rewrite: impl FnMut(u16, &mut Vec<u8>) -> bool) -> Cow<'_, [u8]> {
    let mut out = Vec::new();
    // The number of input bytes that are already in `out`.
    let mut done = 0;
    let mut at = 0;
    while let Some(more) = memchr::memchr(b'\\', &json[at..]) {
        at += more;
        let Some(unit) = escaped_unit(&json[at..]) else {
            // A backslash escapes the byte after it.
            at = json.len().min(at + 2);
            continue;
        };
        let rest = &json[at + ESCAPE..];
        if (HIGH..LOW).contains(&unit) {
            if escaped_unit(rest).is_some_and(|next| (LOW..END).contains(&next)) {
                at += 2 * ESCAPE;
                continue;
            }
            if may_become_escape(rest) {
                break;
            }
        }
        let before = out.len();
        out.extend_from_slice(&json[done..at]);
        if rewrite(unit, &mut out) {
            done = at + ESCAPE;
        } else {
            out.truncate(before);
        }
        at += ESCAPE;
    }
    if done == 0 {
        return Cow::Borrowed(json);
    }
    out.extend_from_slice(&json[done..]);
    Cow::Owned(out)
}

/// Returns the code unit of the escape `\uXXXX` at the start of `text`; `None` if there is no such escape.
fn escaped_unit(text: &[u8]) -> Option<u16> {
    let digits = text.get(..ESCAPE)?.strip_prefix(b"\\u")?;
    digits.iter().try_fold(0, |unit, digit| Some(unit << 4 | char::from(*digit).to_digit(16)? as u16))
}

/// Returns true if all of `rest` could be the beginning of an escape.
fn may_become_escape(rest: &[u8]) -> bool {
    rest.len() < ESCAPE
        && rest.iter().enumerate().all(|(at, byte)| match at {
            0 => *byte == b'\\',
            1 => *byte == b'u',
            _ => byte.is_ascii_hexdigit(),
        })
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::replace_lone_surrogates;

    #[track_caller]
    fn check(json: &str, expect: &str) {
        let replaced = replace_lone_surrogates(json.as_bytes());
        assert_eq!(String::from_utf8_lossy(&replaced), expect);
        assert_eq!(matches!(replaced, Cow::Borrowed(_)), json == expect, "{json}");
    }

    #[test]
    fn replaces_lone_surrogates_and_keeps_pairs() {
        check(r#"{"a":"Look: \ud83d"}"#, r#"{"a":"Look: \ufffd"}"#);
        check(r#"{"a":"\uDE00 fine","b\ud83d":1}"#, r#"{"a":"\ufffd fine","b\ufffd":1}"#);
        check(r#""\ud83d\ude00""#, r#""\ud83d\ude00""#);
        check(r#""\ud83d\ud83d\ude00\ude00""#, r#""\ufffd\ud83d\ude00\ufffd""#);
        check(r#""\ud83dx\ude00\ud83d\n""#, r#""\ufffdx\ufffd\ufffd\n""#);
        check(r#""\ud83d\u0041""#, r#""\ufffd\u0041""#);
    }

    #[test]
    fn keeps_text_that_only_looks_like_an_escape() {
        for json in
            [r#""\\ud83d""#, r#""\\\\ud83d \u00e9""#, r#""\u12""#, r#""\uzzzz""#, "\"ud83d 😀\"", "", "\\", "\\u"]
        {
            check(json, json);
        }
        check(r#""\\\ud83d""#, r#""\\\ufffd""#);
    }

    #[test]
    fn keeps_an_incomplete_escape_at_the_end() {
        for cut in ["\"\\ud83d", "\"\\ud83d\\", "\"\\ud83d\\u", "\"\\ud83d\\ude0"] {
            check(cut, cut);
        }
        check("\"\\ud83d\\ude0\"", "\"\\ufffd\\ude0\"");
    }
}
