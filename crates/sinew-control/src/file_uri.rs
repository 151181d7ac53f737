//! Parses `file:` URLs, which editors and desktops use instead of paths.

/// Returns the path of a `file:` URL; `None` for other texts.
pub fn path_of(uri: &str) -> Option<String> {
    let rest = uri.strip_prefix("file://")?;
    let path = &rest[rest.find('/')?..];
    let path = path.split(['#', '?']).next().unwrap_or(path);
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let digits = after.get(..2).filter(|_| byte == b'%');
        let decoded = digits.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
        bytes.push(decoded.unwrap_or(byte));
        rest = if decoded.is_some() { &after[2..] } else { after };
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_file_urls() {
        for (uri, expect) in [
            ("file:///a/b.rs#L3", Some("/a/b.rs")),
            ("file:///a%20b/%C3%A4.rs", Some("/a b/ä.rs")),
            ("file://host/a%zz", Some("/a%zz")),
            ("file://host", None),
            ("file:///%ff", None),
            ("https://a/b", None),
        ] {
            assert_eq!(path_of(uri).as_deref(), expect, "{uri}");
        }
    }
}
