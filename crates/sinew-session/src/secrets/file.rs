//! Parses the text of a `secrets.json`.

use regex::Regex;
use serde::Deserialize;
use serde_json::Value;
use sinew_llm::models::plain_json;

/// A secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The value itself, or a regular expression that matches values.
    pub content: String,
    /// True if `content` is a regular expression.
    pub pattern: bool,
    /// True if its replacement is not reverted in answers.
    pub replace: bool,
    /// The replacement; `None` uses as many letters as the value has.
    pub replacement: Option<String>,
    /// The flags of the regular expression, for example `i`.
    pub flags: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SecretEntry {
    #[serde(rename = "type")]
    kind: Kind,
    content: String,
    #[serde(default)]
    mode: Mode,
    replacement: Option<String>,
    #[serde(default)]
    flags: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Plain,
    Regex,
}

#[derive(Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Mode {
    #[default]
    Obfuscate,
    Replace,
}

/// Parses the text of a `secrets.json`: a list of entries, with comments.
///
/// # Errors
/// Returns all faults if the text is not a list, or if an entry is invalid. They contain `name`, but no values.
pub fn read(text: &str, name: &str) -> Result<Vec<Entry>, Vec<String>> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    let list = match serde_json::from_str(&plain_json(text)) {
        Ok(Value::Array(list)) => list,
        Ok(_) => return Err(vec![format!("{name}: expected a list of entries")]),
        Err(error) => {
            return Err(vec![format!("{name}:{}:{}: not JSON", error.line(), error.column())]);
        }
    };
    let (mut entries, mut faults) = (Vec::new(), Vec::new());
    for (index, value) in list.into_iter().enumerate() {
        match entry(value) {
            Ok(entry) => entries.push(entry),
            Err(reason) => faults.push(format!("{name}: [{index}]: {reason}")),
        }
    }
    if faults.is_empty() { Ok(entries) } else { Err(faults) }
}

fn entry(value: Value) -> Result<Entry, &'static str> {
    // serde's own messages may quote a value.
    let written: SecretEntry =
        serde_json::from_value(value).map_err(|_| "expected type, content and perhaps mode, replacement, flags")?;
    if written.content.is_empty() {
        return Err("the content is empty");
    }
    // JavaScript's `g` requests all matches, which is always the case here.
    let flags: String = written.flags.chars().filter(|flag| *flag != 'g').collect();
    if !flags.chars().all(|flag| "imsux".contains(flag)) {
        return Err("unknown flags; use i, m, s, x");
    }
    let pattern = written.kind == Kind::Regex;
    if pattern {
        match Regex::new(&format!("(?{flags}:{})", written.content)) {
            Ok(regex) if regex.is_match("") => return Err("the expression matches the empty text"),
            Ok(regex) if regex.capture_names().flatten().any(|name| name.starts_with("entry")) => {
                return Err("the expression has a group whose name begins with entry");
            }
            Ok(_) => {}
            Err(_) => return Err("the expression is not valid"),
        }
    }
    Ok(Entry {
        content: written.content,
        pattern,
        replace: written.mode == Mode::Replace,
        replacement: written.replacement,
        flags,
    })
}
