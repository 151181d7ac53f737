//! Reads the keys of an interface and the defaults in their comments.

use super::Value;

/// The optional keys of an interface, in order, each with the text after "Default:", if there is any.
pub(super) fn options(source: &str, interface: &str) -> Result<Vec<(String, Option<String>)>, String> {
    let head = format!("export interface {interface} ");
    let at = source.find(&head).ok_or_else(|| format!("there is no interface {interface}"))?;
    let body = source[at..].split_once("{\n").ok_or_else(|| format!("{interface} has no body"))?.1;
    let body = body.split_once("\n}").ok_or_else(|| format!("{interface} does not end"))?.0;
    let mut comment = String::new();
    let mut keys = Vec::new();
    for line in body.lines().map(str::trim) {
        if line.starts_with("/**") {
            comment.clear();
        }
        if line.starts_with("/*") || line.starts_with('*') {
            comment.push_str(line.trim_start_matches(['/', '*']).trim_end_matches("*/").trim());
            comment.push(' ');
        } else if let Some((key, _)) = line.split_once("?:") {
            keys.push((key.to_owned(), stated(&comment)));
            comment.clear();
        } else {
            comment.clear();
        }
    }
    if keys.is_empty() { Err(format!("{interface} has no optional keys")) } else { Ok(keys) }
}

/// The text after "Default:" up to the end of the clause.
fn stated(comment: &str) -> Option<String> {
    let words = comment.split_once("Default: ")?.1;
    if let Some(rest) = words.strip_prefix('`') {
        return Some(format!("`{}`", rest.split('`').next()?));
    }
    // A comma between digits is part of a number.
    let bytes = words.as_bytes();
    let end = words.char_indices().find(|(at, c)| match c {
        ',' => !bytes.get(at + 1).is_some_and(u8::is_ascii_digit),
        '.' | ';' | ':' => bytes.get(at + 1).is_none_or(u8::is_ascii_whitespace),
        '(' => true,
        _ => false,
    });
    Some(words[..end.map_or(words.len(), |(at, _)| at)].trim().to_owned())
}

/// Parses the default in a comment.
pub(super) fn value(words: &str) -> Value {
    if let Some(text) = words.strip_prefix("`\"").and_then(|rest| rest.strip_suffix("\"`")) {
        return Value::Text(text.to_owned());
    }
    match words {
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        _ => words.replace(',', "").parse().map_or(Value::Absent, Value::Number),
    }
}
