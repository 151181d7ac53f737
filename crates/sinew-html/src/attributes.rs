//! Cuts the attributes of a tag down to a number that the tokenizer can compare with each other.
//!
//! For every attribute it looks whether the tag has one of that name already: a tag of a million attributes
//! would be half a billion steps.

/// How many attributes of a tag are kept.
const KEPT: usize = 64;

/// The page in parts, without the attributes that are too many. One part for an honest page. Linear.
pub(crate) fn limited(html: &str) -> Vec<&str> {
    let bytes = html.as_bytes();
    let mut parts = Vec::new();
    let mut from = 0;
    let mut at = 0;
    while let Some(found) = memchr::memchr(b'<', &bytes[at..]) {
        let tag = at + found + 1;
        at = tag;
        match bytes.get(tag) {
            Some(b'!') if bytes[tag..].starts_with(b"!--") => {
                at = memchr::memmem::find(&bytes[tag..], b"-->").map_or(bytes.len(), |end| tag + end);
            }
            Some(first) if first.is_ascii_alphabetic() || *first == b'/' => {
                let (end, surplus) = end_of_tag(bytes, tag);
                if let Some(surplus) = surplus {
                    parts.push(&html[from..surplus]);
                    from = end;
                }
                at = end.max(tag);
                let name = &bytes[tag..];
                for raw in [&b"script"[..], b"style"] {
                    if name.get(..raw.len()).is_some_and(|name| name.eq_ignore_ascii_case(raw)) {
                        at = end_of_raw(bytes, at, raw);
                    }
                }
            }
            _ => {}
        }
    }
    parts.push(&html[from..]);
    parts
}

/// Where the tag ends (at its `>`), and where the attributes begin that are too many.
fn end_of_tag(bytes: &[u8], start: usize) -> (usize, Option<usize>) {
    let mut at = start;
    let mut count = 0;
    let mut surplus = None;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'>' => return (at, surplus),
            // A quote begins a value only behind an equals sign.
            b'=' => {
                at += 1;
                while bytes.get(at).is_some_and(u8::is_ascii_whitespace) {
                    at += 1;
                }
                if let Some(&quote @ (b'"' | b'\'')) = bytes.get(at) {
                    at += 1;
                    at += memchr::memchr(quote, &bytes[at..]).map_or(bytes.len() - at, |end| end + 1);
                    // A name may follow the quote without a space.
                    count += 1;
                }
            }
            b' ' | b'\t' | b'\n' | b'\r' | 0x0c | b'/' => {
                at += 1;
                if !matches!(bytes.get(at), Some(b' ' | b'\t' | b'\n' | b'\r' | 0x0c | b'/' | b'>')) {
                    count += 1;
                }
            }
            _ => at += 1,
        }
        // Names and quoted values are both counted: twice as many as attributes at most.
        if count > 2 * KEPT && surplus.is_none() && at < bytes.len() && bytes[at].is_ascii() {
            surplus = Some(at);
        }
    }
    (bytes.len(), surplus)
}

/// Where the end tag of a script or style begins.
fn end_of_raw(bytes: &[u8], from: usize, name: &[u8]) -> usize {
    memchr::memmem::find_iter(&bytes[from..], b"</")
        .map(|found| from + found)
        .find(|&found| bytes.get(found + 2..found + 2 + name.len()).is_some_and(|end| end.eq_ignore_ascii_case(name)))
        .unwrap_or(bytes.len())
}
