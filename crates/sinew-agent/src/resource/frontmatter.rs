//! The YAML between two lines `---` at the start of a file.
//!
//! It is parsed into a limited number of JSON values, so that expanding aliases cause an error instead of using up the
//! memory.

use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// The maximum number of bytes of frontmatter.
const LONGEST: usize = 64 * 1024;
/// The maximum number of values of one frontmatter.
const VALUES: usize = 4_096;
/// The maximum number of bytes of its texts; aliases are counted at each use.
const TEXTS: usize = 256 * 1024;

/// A file, split into frontmatter and body.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Frontmatter {
    values: Map<String, Value>,
    /// The text after the frontmatter.
    pub(crate) body: String,
    /// Whether the file has a frontmatter, even an empty or invalid one.
    pub(super) present: bool,
}

impl Frontmatter {
    /// Returns a text. Numbers and booleans are converted to text.
    pub(crate) fn text(&self, key: &str) -> Option<String> {
        let text = match self.values.get(key)? {
            Value::String(text) => text.trim().to_string(),
            Value::Number(number) => number.to_string(),
            Value::Bool(flag) => flag.to_string(),
            _ => return None,
        };
        (!text.is_empty()).then_some(text)
    }

    /// Returns a list of texts; a single text becomes a list with one item.
    pub(crate) fn texts(&self, key: &str) -> Vec<String> {
        match self.values.get(key) {
            Some(Value::Array(list)) => list.iter().filter_map(|item| item.as_str().map(str::to_string)).collect(),
            Some(Value::String(text)) if !text.trim().is_empty() => vec![text.trim().to_string()],
            _ => Vec::new(),
        }
    }

    /// Returns the value of a key.
    pub(crate) fn value(&self, key: &str) -> Option<&Value> {
        self.values.get(key)
    }

    /// Returns all keys, in the order of the file.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &str> {
        self.values.keys().map(String::as_str)
    }

    /// Returns a boolean; false if the value is missing or of another type.
    pub(super) fn flag(&self, key: &str) -> bool {
        match self.values.get(key) {
            Some(Value::Bool(flag)) => *flag,
            Some(Value::String(text)) => text == "true",
            _ => false,
        }
    }
}

/// Parses a file. If it has no frontmatter, all of it is the body.
///
/// # Errors
/// Returns a one-line message if the frontmatter is not a YAML object within the limits.
pub(crate) fn strict(text: &str) -> Result<Frontmatter, String> {
    let (yaml, body) = split(text)?;
    let values = yaml.map_or_else(|| Ok(Map::new()), read)?;
    Ok(Frontmatter { values, body: body.to_string(), present: yaml.is_some() })
}

/// Does the same; if the YAML is invalid, it reads lines of `key: value` and returns the error as well.
pub(super) fn lenient(text: &str) -> (Frontmatter, Option<String>) {
    let (yaml, body) = match split(text) {
        Ok(parts) => parts,
        Err(fault) => return (Frontmatter { body: text.to_string(), ..Frontmatter::default() }, Some(fault)),
    };
    let (values, fault) = match yaml.map(read) {
        None => (Map::new(), None),
        Some(Ok(values)) => (values, None),
        Some(Err(fault)) => (lines(yaml.unwrap_or_default()), Some(fault)),
    };
    (Frontmatter { values, body: body.to_string(), present: yaml.is_some() }, fault)
}

/// Splits a file into the frontmatter, if there is one, and the body.
fn split(text: &str) -> Result<(Option<&str>, &str), String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = text.split_inclusive('\n');
    let Some(first) = lines.next().filter(|line| line.trim_end() == "---") else { return Ok((None, text)) };
    let mut end = first.len();
    for line in lines {
        if line.trim_end() == "---" {
            let body = &text[end + line.len()..];
            return Ok((Some(&text[first.len()..end]), body.trim_start_matches(['\n', '\r'])));
        }
        end += line.len();
        if end > LONGEST {
            return Err("the frontmatter is longer than 64 KB, or its line `---` at the end is missing".into());
        }
    }
    Err("the line `---` at the end of the frontmatter is missing".into())
}

fn read(yaml: &str) -> Result<Map<String, Value>, String> {
    let budget = Budget { values: Cell::new(VALUES), texts: Cell::new(TEXTS) };
    let read = Node(&budget).deserialize(serde_norway::Deserializer::from_str(yaml));
    match read.map_err(|error| format!("bad frontmatter: {}", error.to_string().lines().next().unwrap_or_default()))? {
        Value::Object(values) => Ok(values),
        Value::Null => Ok(Map::new()),
        _ => Err("bad frontmatter: expected keys with values".into()),
    }
}

/// Reads lines of `key: value`, and of `- item` below a key without a value.
fn lines(yaml: &str) -> Map<String, Value> {
    let unquoted = |text: &str| {
        let text = text.trim();
        let inner = ['"', '\''].iter().find_map(|quote| text.strip_prefix(*quote)?.strip_suffix(*quote));
        inner.unwrap_or(text).to_string()
    };
    let mut values = Map::new();
    let mut open: Option<String> = None;
    for line in yaml.lines().take(VALUES) {
        if let (Some(key), Some(item)) = (&open, line.trim_start().strip_prefix("- ")) {
            let list = values.entry(key.clone()).or_insert_with(|| Value::Array(Vec::new()));
            if let Value::Array(list) = list {
                list.push(unquoted(item).into());
            }
            continue;
        }
        let Some((key, value)) = line.split_once(':') else { continue };
        let is_key = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if key.is_empty() || !key.chars().all(is_key) {
            continue;
        }
        open = value.trim().is_empty().then(|| key.to_string());
        if open.is_none() {
            values.insert(key.to_string(), unquoted(value).into());
        }
    }
    values
}

struct Budget {
    values: Cell<usize>,
    texts: Cell<usize>,
}

/// Deserializes a value and subtracts its size from the budget.
#[derive(Clone, Copy)]
struct Node<'a>(&'a Budget);

impl Node<'_> {
    fn spend<E: Error>(self, text: usize) -> Result<(), E> {
        let (values, texts) = (self.0.values.get().checked_sub(1), self.0.texts.get().checked_sub(text));
        let (Some(values), Some(texts)) = (values, texts) else { return Err(E::custom("it contains too many values")) };
        self.0.values.set(values);
        self.0.texts.set(texts);
        Ok(())
    }

    fn one<E: Error>(self, value: impl Into<Value>) -> Result<Value, E> {
        self.spend(0)?;
        Ok(value.into())
    }
}

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a string, a number, a boolean, a list or keys with values")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        self.one(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        self.one(value)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        self.one(value)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        self.one(value)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        self.one(value)
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        self.spend(value.len())?;
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        self.spend(0)?;
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        self.spend(0)?;
        let mut map = Map::new();
        while let Some(key) = entries.next_key_seed(self)? {
            let value = entries.next_value_seed(self)?;
            let key = match key {
                Value::String(key) => key,
                key => key.to_string(),
            };
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}
