//! The header `WWW-Authenticate` of a server that requires a login (RFC 9110, 6750, 9728).

/// The parameters of a `Bearer` challenge. Each is `None` if the server did not send it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Challenge {
    /// The URL of the resource's metadata.
    pub resource_metadata: Option<String>,
    /// The scopes that the request needs, separated by spaces.
    pub scope: Option<String>,
    /// The error, such as `invalid_token` or `insufficient_scope`.
    pub error: Option<String>,
}

impl Challenge {
    /// Parses a header, or several joined by commas. Ignores everything except the parameters of `Bearer`.
    #[must_use]
    pub fn parse(header: &str) -> Challenge {
        let mut challenge = Challenge::default();
        let mut is_bearer = false;
        let mut rest = header;
        loop {
            rest = rest.trim_start_matches([' ', '\t', ',']);
            let end = rest.find([' ', '\t', ',', '=']).unwrap_or(rest.len());
            let (word, behind) = rest.split_at(end);
            if word.is_empty() && behind.is_empty() {
                return challenge;
            }
            let Some(value) = behind.trim_start_matches([' ', '\t']).strip_prefix('=') else {
                is_bearer = word.eq_ignore_ascii_case("bearer");
                rest = behind;
                continue;
            };
            let (value, behind) = read_value(value.trim_start_matches([' ', '\t']));
            rest = behind;
            let field = match word.to_ascii_lowercase().as_str() {
                "resource_metadata" => &mut challenge.resource_metadata,
                "scope" => &mut challenge.scope,
                "error" => &mut challenge.error,
                _ => continue,
            };
            if is_bearer && field.is_none() && !value.is_empty() {
                *field = Some(value);
            }
        }
    }
}

/// Reads a quoted or unquoted value; also returns the remaining text.
fn read_value(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([' ', '\t', ',']).unwrap_or(text.len());
        return (text[..end].to_string(), &text[end..]);
    };
    let mut value = String::new();
    let mut letters = quoted.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return (value, &quoted[at + 1..]),
            '\\' => value.extend(letters.next().map(|(_, letter)| letter)),
            letter => value.push(letter),
        }
    }
    (value, "")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(header: &str, metadata: Option<&str>, scope: Option<&str>, error: Option<&str>) {
        let found = Challenge::parse(header);
        let found = (found.resource_metadata.as_deref(), found.scope.as_deref(), found.error.as_deref());
        assert_eq!(found, (metadata, scope, error), "{header}");
    }

    #[test]
    fn parses_challenges() {
        check("", None, None, None);
        check("Bearer", None, None, None);
        check(r#"Bearer resource_metadata="https://a/b?c=d,e""#, Some("https://a/b?c=d,e"), None, None);
        check(r#"bearer Scope = "a b" , ERROR=insufficient_scope"#, None, Some("a b"), Some("insufficient_scope"));
        check(r#"Basic realm="x, scope=y", Bearer scope="a""#, None, Some("a"), None);
        check(r#"Bearer scope="a", Basic scope="b", error="c""#, None, Some("a"), None);
        check(r#"Bearer error="a\"b", scope="first", scope="second""#, None, Some("first"), Some("a\"b"));
        check(r#"Negotiate abc==, Bearer scope="unclosed"#, None, Some("unclosed"), None);
        check("Bearer =, =\"\", scope=", None, None, None);
    }

    proptest! {
        #[test]
        fn parsing_any_header_terminates(header in "[ ,=\"\\\\Bearscop\u{e9}]{0,40}") {
            let _ = Challenge::parse(&header);
        }

        #[test]
        fn quoted_values_round_trip(value in "[ -~]{1,40}") {
            let quoted = value.replace('\\', "\\\\").replace('"', "\\\"");
            let found = Challenge::parse(&format!("Bearer realm=x, scope=\"{quoted}\", error=e"));
            prop_assert_eq!((found.scope, found.error), (Some(value), Some("e".to_string())));
        }
    }
}
