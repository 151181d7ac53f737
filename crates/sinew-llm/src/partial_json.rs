//! Reads JSON that is still being written: the arguments of a tool call while they stream.

use serde_json::{Map, Value};

/// What can be read of `text`, the beginning of a JSON object: open strings, arrays and objects are
/// closed; a key without its value, a comma, half an escape, and a number or word that may go on are
/// left out. `{}` where nothing can be read.
///
/// For every beginning of a valid object the answer is a beginning of it in meaning: each string is a
/// prefix, each array and object holds the first items. Linear in `text`.
#[must_use]
pub fn parse(text: &str) -> Value {
    if let Ok(value @ Value::Object(_)) = serde_json::from_str(text) {
        return value;
    }
    match serde_json::from_str(&complete(text)) {
        Ok(value @ Value::Object(_)) => value,
        _ => Value::Object(Map::new()),
    }
}

/// Reads whole arguments: an object. Nothing at all, and `null`, mean `{}`.
///
/// # Errors
/// Why the text is not a JSON object.
pub fn parse_strict(text: &str) -> Result<Value, String> {
    if text.trim_ascii().is_empty() {
        return Ok(Value::Object(Map::new()));
    }
    match serde_json::from_str(text) {
        Ok(value @ Value::Object(_)) => Ok(value),
        Ok(Value::Null) => Ok(Value::Object(Map::new())),
        Ok(_) => Err("expected an object".to_string()),
        Err(error) => Err(error.to_string()),
    }
}

/// `text` up to the last place where it can be closed, with what closes it. Control characters inside
/// strings, which models forget to escape, are escaped.
fn complete(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = String::with_capacity(text.len() + 8);
    // What closes the open arrays and objects, the innermost last.
    let mut open: Vec<char> = Vec::new();
    // A string at this place is a key.
    let mut key = false;
    // `out` can be cut here and closed with `open`.
    let mut safe = 0;
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'{' | b'[' => {
                let object = bytes[at] == b'{';
                out.push(char::from(bytes[at]));
                open.push(if object { '}' } else { ']' });
                key = object;
                safe = out.len();
                at += 1;
            }
            b'}' | b']' => {
                out.push(char::from(bytes[at]));
                open.pop();
                safe = out.len();
                at += 1;
                if open.is_empty() {
                    break;
                }
            }
            b'"' => {
                out.push('"');
                let (next, closed) = copy_string(text, at + 1, &mut out);
                at = next;
                if closed || !key {
                    out.push('"');
                }
                if !key {
                    safe = out.len();
                }
            }
            b':' => {
                out.push(':');
                key = false;
                at += 1;
            }
            b',' => {
                out.push(',');
                key = open.last() == Some(&'}');
                at += 1;
            }
            b' ' | b'\t' | b'\n' | b'\r' => at += 1,
            _ => {
                let end =
                    bytes[at..].iter().position(|b| b",:]} \t\n\r\"[{".contains(b)).map_or(bytes.len(), |n| at + n);
                let word = &text[at..end];
                out.push_str(word);
                // A word at the end may go on, unless it is whole.
                if end < bytes.len() || matches!(word, "true" | "false" | "null") {
                    safe = out.len();
                }
                at = end;
            }
        }
    }
    out.truncate(safe);
    out.extend(open.iter().rev());
    out
}

/// Copies the inside of a string from `at` on, without an escape that the end of the text cuts. Answers
/// the place behind it, and whether its closing quote was there.
fn copy_string(text: &str, mut at: usize, out: &mut String) -> (usize, bool) {
    let bytes = text.as_bytes();
    loop {
        let plain = bytes[at..].iter().position(|&b| b == b'"' || b == b'\\' || b < 0x20);
        let stop = plain.map_or(bytes.len(), |n| at + n);
        out.push_str(&text[at..stop]);
        match bytes.get(stop) {
            None => return (stop, false),
            Some(b'"') => return (stop + 1, true),
            Some(b'\\') => {
                let Some(length) = escape_length(&bytes[stop..]) else {
                    return (bytes.len(), false);
                };
                // A letter that JSON does not know as an escape may be wider than a byte.
                let end = (stop + length..).find(|&end| text.is_char_boundary(end)).unwrap_or(bytes.len());
                out.push_str(&text[stop..end]);
                at = end;
            }
            Some(&control) => {
                out.push_str(&format!("\\u{control:04x}"));
                at = stop + 1;
            }
        }
    }
}

/// The length of the escape at the start of `bytes`, a surrogate pair counted as one; None where the end
/// cuts it.
fn escape_length(bytes: &[u8]) -> Option<usize> {
    if *bytes.get(1)? != b'u' {
        return Some(2);
    }
    let hex = std::str::from_utf8(bytes.get(2..6)?).ok();
    let unit = hex.and_then(|hex| u16::from_str_radix(hex, 16).ok());
    if unit.is_some_and(|unit| (0xD800..0xDC00).contains(&unit)) {
        return bytes.get(11).map(|_| 12);
    }
    Some(6)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(text: &str, expect: Value) {
        assert_eq!(parse(text), expect, "{text}");
    }

    #[test]
    fn what_is_open_is_closed() {
        check(r#"{"a":[1,{"b":"c"#, json!({"a": [1, {"b": "c"}]}));
        check(r#"{"path":"src/"#, json!({"path": "src/"}));
        check(r#"{"a":1,"#, json!({"a": 1}));
        check(r#"{"a":1,"b"#, json!({"a": 1}));
        check(r#"{"a":1,"b":"#, json!({"a": 1}));
        check(r#"{"a":true"#, json!({"a": true}));
        check(r#"{"a":tru"#, json!({}));
        check(r#"{"a":"x\"#, json!({"a": "x"}));
        check(r#"{"a":"x\u00"#, json!({"a": "x"}));
        check(r#"{"a":"x\ud83d\ude"#, json!({"a": "x"}));
        check(r#"{"a":"x\ud83d\ude00"#, json!({"a": "x😀"}));
    }

    #[test]
    fn a_number_that_may_go_on_is_left_out() {
        check(r#"{"a":12"#, json!({}));
        check(r#"{"a":[12,3"#, json!({"a": [12]}));
        check(r#"{"a":12 "#, json!({"a": 12}));
    }

    #[test]
    fn what_is_no_object_is_an_empty_one() {
        for text in ["", "  ", "nonsense", "[1]", "\"a\"", "}{", "]", "{]", "{\"a\":\"\\é"] {
            let value = parse(text);
            assert!(value.is_object(), "{text}");
        }
        check("{\"a\":\"b\nc\"}", json!({"a": "b\nc"}));
        check("{\"a\":1}{\"b\":2}", json!({"a": 1}));
    }

    #[test]
    fn strict_reading_takes_objects_only() {
        assert_eq!(parse_strict(" "), Ok(json!({})));
        assert_eq!(parse_strict("null"), Ok(json!({})));
        assert_eq!(parse_strict("[1]"), Err("expected an object".into()));
        assert!(parse_strict("{\"a\":").is_err());
        assert!(parse_strict("{}{}").is_err());
    }

    /// Whether `part` says nothing that `whole` does not say.
    fn begins(part: &Value, whole: &Value) -> bool {
        match (part, whole) {
            (Value::String(part), Value::String(whole)) => whole.starts_with(part.as_str()),
            (Value::Array(part), Value::Array(whole)) => {
                part.len() <= whole.len() && part.iter().zip(whole).all(|(p, w)| begins(p, w))
            }
            (Value::Object(part), Value::Object(whole)) => {
                part.len() <= whole.len() && part.iter().zip(whole).all(|((pk, p), (wk, w))| pk == wk && begins(p, w))
            }
            _ => part == whole,
        }
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            (-1e9..1e9f64).prop_map(Value::from),
            "\\PC{0,12}".prop_map(Value::from),
            "[\"\\\\\n\t\u{1F600}é/]{0,6}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::btree_map("[a-z\"\\\\😀]{0,4}", inner, 0..5)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        #[test]
        fn every_beginning_reads_as_a_beginning(items in prop::collection::btree_map("[a-z]{1,3}", any_json(), 0..4), pretty: bool) {
            let whole = Value::Object(items.into_iter().collect());
            let text = if pretty { serde_json::to_string_pretty(&whole) } else { serde_json::to_string(&whole) }.unwrap();
            // Also as a writer that escapes all but ASCII.
            let ascii: String = text.chars().map(|c| if c.is_ascii() { c.to_string() } else {
                c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect()
            }).collect();
            for text in [text, ascii] {
                for end in (0..=text.len()).filter(|&end| text.is_char_boundary(end)) {
                    let part = parse(&text[..end]);
                    prop_assert!(begins(&part, &whole), "{} gave {part}", &text[..end]);
                }
                prop_assert_eq!(parse(&text), whole.clone());
            }
        }

        #[test]
        fn any_text_reads_as_an_object(text in "[\\PC{}\\[\\]\",:\\\\u0-9]{0,40}") {
            prop_assert!(parse(&text).is_object());
        }
    }
}
