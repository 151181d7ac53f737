//! Parses incomplete JSON: the arguments of a tool call while they are streaming.

use serde_json::{Map, Value};

use crate::surrogate;

/// Parses as much as possible of `text`, the beginning of a JSON object: open strings, arrays and objects are closed; a
/// key without a value, a comma, an incomplete escape, and a number or word that may continue are dropped. Lone
/// surrogates become U+FFFD. Returns `{}` if nothing can be parsed.
///
/// For every prefix of a valid object the result is a prefix of its value: each string is a prefix, each array and
/// object contains the first items. Runs in linear time.
#[must_use]
pub fn parse(text: &str) -> Value {
    #[cfg(test)]
    {
        tests::PARSED.with(|count| count.set(count.get() + 1));
        tests::BYTES.with(|bytes| bytes.set(bytes.get() + text.len()));
    }
    let text = &*surrogate::replace(text);
    if let Ok(value @ Value::Object(_)) = serde_json::from_str(text) {
        return value;
    }
    match serde_json::from_str(&complete(text)) {
        Ok(value @ Value::Object(_)) => value,
        _ => Value::Object(Map::new()),
    }
}

/// Parses complete arguments: an object. Empty text and `null` mean `{}`. Lone surrogates become U+FFFD.
///
/// # Errors
/// Returns the reason if the text is not a JSON object.
pub fn parse_strict(text: &str) -> Result<Value, String> {
    #[cfg(test)]
    tests::PARSED.with(|count| count.set(count.get() + 1));
    if text.trim_ascii().is_empty() {
        return Ok(Value::Object(Map::new()));
    }
    match serde_json::from_str(&surrogate::replace(text)) {
        Ok(value @ Value::Object(_)) => Ok(value),
        Ok(Value::Null) => Ok(Value::Object(Map::new())),
        Ok(_) => Err("expected an object".to_string()),
        Err(error) => Err(error.to_string()),
    }
}

/// Parses the arguments that a server sent for a call, as [`parse_strict`] does. Some servers send the whole arguments
/// again after the pieces, or an empty object before them.
pub(crate) fn parse_sent(text: &str) -> Result<Value, String> {
    let strict = parse_strict(text);
    if strict.is_ok() {
        return strict;
    }
    let mut sent = Map::new();
    for value in serde_json::Deserializer::from_str(&surrogate::replace(text)).into_iter::<Value>() {
        match value {
            Ok(Value::Object(object)) if object.is_empty() || object == sent => {}
            Ok(Value::Object(object)) if sent.is_empty() => sent = object,
            _ => return strict,
        }
    }
    Ok(Value::Object(sent))
}

/// Returns true if `text` is a complete JSON object that has properties.
pub(crate) fn is_filled(text: &str) -> bool {
    // Most texts that are incomplete need no parser.
    text.trim_end().ends_with('}')
        && parse_strict(text).is_ok_and(|value| value.as_object().is_some_and(|object| !object.is_empty()))
}

/// Returns `text` up to the last position where it can be closed, with the closing characters. Control characters
/// inside strings, which models often forget to escape, are escaped.
fn complete(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = String::with_capacity(text.len() + 8);
    // The closing characters of the open arrays and objects, the innermost last.
    let mut open: Vec<char> = Vec::new();
    // True if a string at this position is a key.
    let mut key = false;
    // The length up to which `out` can be cut and closed with `open`.
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
                // A word at the end may continue, unless it is complete.
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

/// Copies the inside of a string from `at` on, without an incomplete escape at the end. Returns the position after it,
/// and whether it was closed.
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
                // A character after an invalid escape may be longer than a byte.
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

/// Returns the length of the escape at the start of `bytes`, with a surrogate pair as one; `None` if it is incomplete.
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
pub(crate) mod tests;
