//! File names in git's quotes: `"a/tab\there"`, `"gr\303\274n"`.

/// Parses a quoted name at the start of `text`. Returns the name and the text after the closing quote; `None` if the
/// quotes are not closed or an escape is unknown.
pub(crate) fn unquote(text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut rest = text.strip_prefix(b"\"")?;
    let mut name = Vec::new();
    loop {
        let (&byte, behind) = rest.split_first()?;
        rest = behind;
        match byte {
            b'"' => return Some((name, rest)),
            b'\n' => return None,
            b'\\' => {
                let (&escape, behind) = rest.split_first()?;
                rest = behind;
                name.push(match escape {
                    b'a' => 7,
                    b'b' => 8,
                    b't' => b'\t',
                    b'n' => b'\n',
                    b'v' => 11,
                    b'f' => 12,
                    b'r' => b'\r',
                    b'"' | b'\\' => escape,
                    b'0'..=b'3' => {
                        let (digits, behind) = rest.split_at_checked(2)?;
                        rest = behind;
                        octal(escape, digits)?
                    }
                    _ => return None,
                });
            }
            _ => name.push(byte),
        }
    }
}

fn octal(first: u8, digits: &[u8]) -> Option<u8> {
    let all = digits.iter().all(|digit| (b'0'..=b'7').contains(digit));
    all.then(|| digits.iter().fold(first - b'0', |sum, digit| sum * 8 + (digit - b'0')))
}

#[cfg(test)]
mod tests {
    use super::unquote;

    #[test]
    fn reads_the_names_that_git_quotes() {
        let check = |text: &str, expect: Option<(&[u8], &str)>| {
            let expect = expect.map(|(name, rest)| (name.to_vec(), rest.as_bytes()));
            assert_eq!(unquote(text.as_bytes()), expect, "{text}");
        };
        check(r#""a\tb\"\\" rest"#, Some((b"a\tb\"\\", " rest")));
        check(r#""gr\303\274n""#, Some(("grün".as_bytes(), "")));
        check(r#""open"#, None);
        check(r#""\9""#, None);
        check(r#""\40""#, None);
        check("bare", None);
    }
}
