//! Deeply nested values: a recursive parser would reject the whole line, so values beyond a depth limit are removed.

use std::borrow::Cow;

use memchr::memchr2_iter;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::whole_characters;

/// The maximum nesting of objects and arrays, including the entry itself. `serde_json` supports 127, and an entry is
/// sent inside other objects.
pub(super) const DEEPEST: usize = 100;

/// The replacement of a deeper object or array.
const CUT: &str = "[Session persistence cut content nested more than 100 levels deep]";

/// Parses a line without values that are nested too deeply.
///
/// # Errors
/// Returns an error if it is not JSON of this type.
pub(super) fn parse<T: DeserializeOwned>(line: &[u8]) -> serde_json::Result<T> {
    whole_characters::from_slice(&without_deep(line))
}

/// Returns true if a line contains values that are nested too deeply.
pub(super) fn is_deep(line: &[u8]) -> bool {
    matches!(without_deep(line), Cow::Owned(_))
}

/// Replaces values that are nested too deeply by a text; returns the line unchanged if there are none, or if its
/// brackets are unbalanced. Runs in linear time without recursion.
pub(super) fn without_deep(line: &[u8]) -> Cow<'_, [u8]> {
    // Nearly every line has few brackets; a fast count includes those in strings.
    if memchr2_iter(b'{', b'[', line).nth(DEEPEST).is_none() {
        return Cow::Borrowed(line);
    }
    let mut shallow = Vec::new();
    // Everything before this offset is in `shallow`.
    let (mut done, mut depth, mut at) = (0, 0_usize, 0);
    while let Some(byte) = line.get(at) {
        match byte {
            b'"' => at = string_end(line, at + 1),
            b'{' | b'[' => {
                depth += 1;
                if depth == DEEPEST + 1 {
                    shallow.extend_from_slice(&line[done..at]);
                    shallow.extend_from_slice(format!("\"{CUT}\"").as_bytes());
                }
            }
            b'}' | b']' if depth == 0 => return Cow::Borrowed(line),
            b'}' | b']' => {
                if depth == DEEPEST + 1 {
                    done = at + 1;
                }
                depth -= 1;
            }
            _ => {}
        }
        at += 1;
    }
    if depth > 0 || done == 0 {
        return Cow::Borrowed(line);
    }
    shallow.extend_from_slice(&line[done..]);
    Cow::Owned(shallow)
}

/// Returns the offset of the quote that ends a string, or the end of the line.
fn string_end(line: &[u8], mut at: usize) -> usize {
    while let Some(byte) = line.get(at) {
        match byte {
            b'"' => break,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    at
}

/// Replaces an object or array at `level` by a text if it is too deep; returns true if it was.
pub(super) fn cut(value: &mut Value, level: usize) -> bool {
    let deep = level > DEEPEST && (value.is_array() || value.is_object());
    if deep {
        *value = CUT.into();
    }
    deep
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn nested(levels: usize, inner: &str) -> String {
        let open: String = (0..levels).map(|at| if at % 2 == 0 { "[" } else { "{\"a\":" }).collect();
        let close: String = (0..levels).rev().map(|at| if at % 2 == 0 { "]" } else { "}" }).collect();
        format!("{open}{inner}{close}")
    }

    /// Returns the maximum nesting of arrays and objects.
    fn depth(value: &Value) -> usize {
        match value {
            Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
            Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or(0),
            _ => 0,
        }
    }

    #[test]
    fn values_nested_too_deeply_are_cut_and_the_rest_stays() {
        for levels in [1, DEEPEST - 2, DEEPEST - 1, DEEPEST, 126, 127, 128, 1_000_000] {
            let line = format!(r#"{{"before":"]}}\"[","deep":{},"after":[1]}}"#, nested(levels, "\"x\""));
            let value: Value = parse(line.as_bytes()).unwrap();
            // One level is the line itself.
            let is_whole = levels < DEEPEST;
            assert_eq!(depth(&value), DEEPEST.min(levels + 1), "{levels}");
            assert_eq!((&value["before"], &value["after"]), (&json!("]}\"["), &json!([1])));
            assert_eq!(value.to_string().contains(CUT), !is_whole, "{levels}");
            assert_eq!(is_deep(line.as_bytes()), !is_whole, "{levels}");
            assert!(!is_whole || value.to_string().len() == line.len(), "{levels}");
        }
        // Brackets in strings and adjacent brackets do not add depth.
        let flat = format!(r#"{{"a":"{}","b":[{}0]}}"#, "[{".repeat(500), "[],{},".repeat(500));
        assert!(!is_deep(flat.as_bytes()) && parse::<Value>(flat.as_bytes()).is_ok());
    }

    #[test]
    fn invalid_json_is_refused() {
        for line in
            ["", "{", "}", "[}", "nul", &"[".repeat(1_000), &"]".repeat(1_000), &format!("{}x", nested(300, ""))]
        {
            assert!(parse::<Value>(line.as_bytes()).is_err(), "{line:.20}");
        }
    }

    proptest! {
        #[test]
        fn any_text_parses_within_the_depth_limit_or_fails(line in "[\\[\\]{}\",:a\\\\ ]{0,400}") {
            if let Ok(value) = parse::<Value>(line.as_bytes()) {
                prop_assert!(depth(&value) <= DEEPEST);
            }
        }
    }
}
