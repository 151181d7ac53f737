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
struct Written {
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

/// Parses the text of a `secrets.json`: a list of entries, with comments. Messages contain `name`, but no values.
/// Invalid entries are skipped.
#[must_use]
pub fn read(text: &str, name: &str) -> (Vec<Entry>, Vec<String>) {
    if text.trim().is_empty() {
        return (Vec::new(), Vec::new());
    }
    let list = match serde_json::from_str(&plain_json(text)) {
        Ok(Value::Array(list)) => list,
        Ok(_) => return (Vec::new(), vec![format!("{name}: expected a list of entries; nothing of it is hidden")]),
        Err(error) => {
            let place = format!("{name}:{}:{}", error.line(), error.column());
            return (Vec::new(), vec![format!("{place}: not JSON; nothing of it is hidden")]);
        }
    };
    let mut warnings = Vec::new();
    let mut entries = Vec::new();
    for (index, value) in list.into_iter().enumerate() {
        match entry(value) {
            Ok(entry) => entries.push(entry),
            Err(reason) => warnings.push(format!("{name}: [{index}]: {reason}; it is not hidden")),
        }
    }
    (entries, warnings)
}

fn entry(value: Value) -> Result<Entry, &'static str> {
    // serde's own messages may quote a value.
    let written: Written =
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
