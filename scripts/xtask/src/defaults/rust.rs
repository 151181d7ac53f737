//! Reads the default values of a struct of the core from its source.

use std::collections::BTreeMap;

use super::Value;

/// The fields of the struct as its constructor sets them: `fn new`, `fn default` or `derive(Default)`.
pub(super) fn defaults(source: &str, name: &str) -> Result<BTreeMap<String, Value>, String> {
    let source = without_comments(source);
    for (head, constructor) in
        [(format!("impl Default for {name} "), "fn default("), (format!("impl {name} "), "fn new(")]
    {
        let Some(body) = source.find(&head).and_then(|at| braces(&source[at..])) else { continue };
        let Some(function) = body.find(constructor).map(|at| &body[at..]) else { continue };
        // Starts after the signature, which names the struct too.
        let block = braces(function).ok_or_else(|| format!("{constructor} of {name} has no body"))?;
        let fields = block.find(&format!("{name} {{")).and_then(|at| braces(&block[at..]));
        let fields = fields.ok_or_else(|| format!("{constructor} of {name} makes no {name} {{ … }}"))?;
        return Ok(values(&source, fields));
    }
    derived(&source, name)
}

/// The source without its line comments, which may contain braces and quotes.
fn without_comments(source: &str) -> String {
    let code = |line: &str| if line.trim_start().starts_with("//") { String::new() } else { format!("{line}\n") };
    source.lines().map(code).collect()
}

/// The text between the first brace and its closing brace.
fn braces(text: &str) -> Option<&str> {
    let start = text.find('{')?;
    let mut depth = 0;
    for (at, c) in text[start..].char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(&text[start + 1..start + at]);
        }
    }
    None
}

/// Splits a text at the commas outside of brackets.
fn parts(text: &str) -> Vec<&str> {
    let (mut depth, mut from, mut parts) = (0, 0, Vec::new());
    for (at, c) in text.char_indices() {
        match c {
            '(' | '{' | '[' | '<' => depth += 1,
            ')' | '}' | ']' => depth -= 1,
            '>' if !text[..at].ends_with(['-', '=']) => depth -= 1,
            ',' if depth == 0 => {
                parts.push(text[from..at].trim());
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text[from..].trim());
    parts.retain(|part| !part.is_empty());
    parts
}

fn values(source: &str, fields: &str) -> BTreeMap<String, Value> {
    // A left shift does not open a bracket.
    let fields = fields.replace("<<", "shl");
    // A field without a value has the value of the parameter.
    let pairs = parts(&fields).into_iter().filter_map(|part| part.split_once(": "));
    let read = |text: &str| value(source, text).unwrap_or_else(|| Value::Unread(text.to_owned()));
    pairs.map(|(field, text)| (field.trim().to_owned(), read(text.trim()))).collect()
}

/// The value of an expression; `None` if it is not a literal.
fn value(source: &str, text: &str) -> Option<Value> {
    if let Some(number) = number(source, text) {
        return Some(Value::Number(number));
    }
    if let Some(rest) = text.strip_prefix('"') {
        return rest.split_once('"').map(|(text, _)| Value::Text(text.to_owned()));
    }
    match text {
        "true" => return Some(Value::Bool(true)),
        "false" => return Some(Value::Bool(false)),
        "None" | "Vec::new()" => return Some(Value::Absent),
        _ => {}
    }
    let (_, variant) = text.rsplit_once("::").filter(|(path, _)| path.starts_with(|c: char| c.is_ascii_uppercase()))?;
    let is_name =
        variant.chars().all(|c| c.is_ascii_alphanumeric()) && variant.starts_with(|c: char| c.is_ascii_uppercase());
    is_name.then(|| Value::Text(camel_case(variant)))
}

/// The value of a number, a product or shift of numbers, a constant of the same file, or a time in milliseconds.
fn number(source: &str, text: &str) -> Option<u64> {
    let text = text.trim();
    for (head, factor) in [("Duration::from_secs(", 1000), ("Duration::from_millis(", 1)] {
        if let Some(inner) = text.strip_prefix(head).and_then(|rest| rest.strip_suffix(')')) {
            return Some(number(source, inner)? * factor);
        }
    }
    if let Some((left, right)) = text.split_once(" shl ").or_else(|| text.split_once(" << ")) {
        return Some(number(source, left)? << number(source, right)?);
    }
    if let Some((left, right)) = text.split_once(" * ") {
        return Some(number(source, left)? * number(source, right)?);
    }
    if !text.is_empty() && text.chars().all(|c| c.is_ascii_uppercase() || c == '_') {
        let at = source.find(&format!("const {text}: "))?;
        let (_, value) = source[at..].split_once(" = ")?;
        return number(source, value.split(';').next()?);
    }
    text.replace('_', "").parse().ok()
}

/// The fields of a struct that derives `Default`.
fn derived(source: &str, name: &str) -> Result<BTreeMap<String, Value>, String> {
    let missing = || format!("there is no constructor and no derived default of {name}");
    let at = source.find(&format!("pub struct {name} {{")).ok_or_else(missing)?;
    let attribute = source[..at].trim_end().rsplit("\n\n").next().unwrap_or_default();
    if !attribute.contains("Default") {
        return Err(missing());
    }
    let fields = braces(&source[at..]).ok_or_else(missing)?;
    let mut all = BTreeMap::new();
    for part in parts(fields) {
        let Some((field, kind)) = part.trim_start_matches("pub ").split_once(": ") else { continue };
        let value = match kind {
            "bool" => Value::Bool(false),
            "u32" | "usize" | "u64" => Value::Number(0),
            _ if kind.starts_with("Option<") || kind.starts_with("Vec<") => Value::Absent,
            // An alias of a list, or an enum of the same file with a default variant.
            _ => first_variant(source, kind).map_or(Value::Absent, Value::Text),
        };
        all.insert(field.to_owned(), value);
    }
    Ok(all)
}

/// The variant of an enum that is marked as its default.
fn first_variant(source: &str, name: &str) -> Option<String> {
    let at = source.find(&format!("pub enum {name} {{"))?;
    let (_, rest) = braces(&source[at..])?.split_once("#[default]")?;
    Some(camel_case(rest.trim_start().split(|c: char| !c.is_ascii_alphanumeric()).next()?))
}

fn camel_case(variant: &str) -> String {
    let mut chars = variant.chars();
    chars.next().map(|first| first.to_ascii_lowercase()).into_iter().chain(chars).collect()
}
