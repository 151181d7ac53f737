//! Decodes the bytes of a page to text.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8};

/// The number of bytes in which a page may declare its encoding.
const HEAD: usize = 1_024;

/// Decodes `body`. A byte order mark has precedence, then the charset of `content_type`, then the declaration in HTML,
/// then UTF-8. Invalid bytes become U+FFFD.
pub(super) fn decode<'a>(body: &'a [u8], content_type: &str, html: bool) -> Cow<'a, str> {
    let told = value(content_type.as_bytes());
    let own = || html.then(|| value(&body[..body.len().min(HEAD)])).flatten();
    // The decoder detects the byte order mark here.
    let (text, _, _) = told.or_else(own).unwrap_or(UTF_8).decode(body);
    text
}

/// Returns the encoding after the first `charset=`; `None` if it is unknown.
fn value(text: &[u8]) -> Option<&'static Encoding> {
    let lower = text.to_ascii_lowercase();
    let at = memchr::memmem::find(&lower, b"charset")? + b"charset".len();
    let rest = lower[at..].trim_ascii_start().strip_prefix(b"=")?.trim_ascii_start();
    let rest = rest.strip_prefix(b"\"").or(rest.strip_prefix(b"'")).unwrap_or(rest);
    let end = rest.iter().position(|byte| b"\"'>;/ \t\r\n".contains(byte)).unwrap_or(rest.len());
    Encoding::for_label(&rest[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(body: &[u8], content_type: &str, expect: &str) {
        assert_eq!(decode(body, content_type, content_type.contains("html")), expect);
    }

    #[test]
    fn the_charset_comes_from_the_bom_the_header_or_the_page() {
        check(b"caf\xe9", "text/plain; charset=ISO-8859-1", "caf\u{e9}");
        check(b"\x93\x80\x94", "text/plain;charset=\"windows-1252\"", "\u{201c}\u{20ac}\u{201d}");
        check(b"\x82\xa0", "text/plain; Charset = shift_jis", "\u{3042}");
        check(b"\xef\xbb\xbfa", "text/plain; charset=latin1", "a");
        check(b"\xff\xfea\0b\0", "text/plain", "ab");
        check(b"a\0b\0", "text/plain; charset=utf-16le", "ab");
        check(b"<meta charset=latin1>\xe9", "text/html", "<meta charset=latin1>\u{e9}");
        check(b"<meta charset=latin1>\xc3\xa9", "text/html; charset=utf-8", "<meta charset=latin1>\u{e9}");
        check(b"charset=latin1 \xc3\xa9", "text/plain", "charset=latin1 \u{e9}");
        check(b"a\xffb", "text/plain; charset=nonsense", "a\u{fffd}b");
        check(b"", "", "");
    }
}
