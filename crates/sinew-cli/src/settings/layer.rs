//! One layer of settings: a JSON object of a file or a variable. A value of the wrong type is left out and named.

use std::path::Path;

use serde_json::{Map, Value};
use sinew::base::{Error, ErrorCode};
use sinew_llm::models::plain_json;
use sinew_session::files;

use super::table::{self, Key, Scope};
use super::{edit, values};

/// The author of a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// The user, or a project that is trusted: everything may be set.
    User,
    /// A project that is not trusted: it changes how things look, and adds rules that deny or ask.
    Project,
}

/// A layer that was read.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Layer {
    /// The values that apply, with unknown keys.
    pub(crate) values: Map<String, Value>,
    /// Values that have no effect, each with the reason.
    pub(crate) warnings: Vec<String>,
    /// Values of a wrong type: what they were meant to limit is not known, so that nothing may run.
    pub(crate) faults: Vec<String>,
    /// Keys that the table does not hold.
    pub(crate) unknown: Vec<String>,
    /// Values that would apply if the project were trusted, by path.
    pub(crate) refused: Map<String, Value>,
}

/// Reads the text of a settings file: JSON with comments. `name` is used in the messages.
///
/// # Errors
/// The text is no JSON object; the message names the place.
pub(crate) fn read(text: &str, name: &str, source: Source) -> Result<Layer, String> {
    if text.trim().is_empty() {
        return Ok(Layer::default());
    }
    let value: Value = serde_json::from_str(&plain_json(text)).map_err(|error| {
        let reason = error.to_string();
        let reason = reason.split(" at line ").next().unwrap_or_default();
        format!("{name}:{}:{}: {reason}", error.line(), error.column())
    })?;
    let Value::Object(values) = value else { return Err(format!("{name}: expected an object")) };
    Ok(layer(values, name, source))
}

/// Checks an object against the table. `name` is used in the messages.
pub(crate) fn layer(values: Map<String, Value>, name: &str, source: Source) -> Layer {
    let mut out = Layer::default();
    let mut values = rename(values);
    let rules = (source == Source::Project).then(|| take_rules(&mut values)).flatten();
    out.values = walk(values, "", name, source, &mut out);
    out.values.extend(rules.map(|rules| (PERMISSIONS.to_string(), rules)));
    let early = without_effect(&out.values).into_iter().map(|text| format!("{name}: {text}"));
    out.warnings.extend(early);
    out
}

/// Warns of keys that nothing reads yet, a line for each part of the program that will.
pub(crate) fn without_effect(values: &Map<String, Value>) -> Vec<String> {
    let mut parts: Vec<(&str, Vec<&str>)> = Vec::new();
    for Key { path, waits_for, .. } in table::KEYS {
        let Some(part) = waits_for.filter(|_| values::find(values, path).is_some()) else { continue };
        match parts.iter_mut().find(|(known, _)| *known == part) {
            Some((_, paths)) => paths.push(path),
            None => parts.push((part, vec![path])),
        }
    }
    let text = |(part, paths): (&str, Vec<&str>)| {
        format!("{}: no effect yet: this version does not have {part}", paths.join(", "))
    };
    parts.into_iter().map(text).collect()
}

/// Reads older names of keys.
fn rename(mut values: Map<String, Value>) -> Map<String, Value> {
    if let Some(mode) = values.shift_remove("queueMode") {
        values.entry("steeringMode").or_insert(mode);
    }
    if let Some(Value::String(theme)) = values.get("theme").cloned() {
        values.insert("theme".into(), serde_json::json!({"dark": theme, "light": theme}));
    }
    values
}

const PERMISSIONS: &str = "permissions";

/// Removes from a project's settings the rules that count without trust. Rules that allow stay, and so does everything that is not
/// a list of rules.
fn take_rules(values: &mut Map<String, Value>) -> Option<Value> {
    let Value::Object(lists) = values.get_mut(PERMISSIONS)? else { return None };
    let is_counted = |key: &String| table::STRICTER.contains(&format!("{PERMISSIONS}.{key}").as_str());
    let (taken, rest): (Map<_, _>, Map<_, _>) =
        std::mem::take(lists).into_iter().partition(|(key, value)| is_counted(key) && !value.is_null());
    *lists = rest;
    if lists.is_empty() {
        values.shift_remove(PERMISSIONS);
    }
    (!taken.is_empty()).then_some(Value::Object(taken))
}

/// Adds what is below to the lists of rules of a layer, which so replaces none of them. Null takes nothing back.
pub(crate) fn add_below(below: &Map<String, Value>, layer: &mut Map<String, Value>) {
    for path in table::ADDED {
        let Some(Value::Array(old)) = values::find(below, path) else { continue };
        let Some((section, name)) = path.split_once('.') else { continue };
        let Some(own) = layer.get_mut(section) else { continue };
        if own.is_null() {
            *own = Value::Object(Map::new());
        }
        let Value::Object(own) = own else { continue };
        match own.get_mut(name) {
            Some(Value::Array(list)) => {
                let new = std::mem::take(list).into_iter().filter(|rule| !old.contains(rule));
                *list = old.iter().cloned().chain(new).collect();
            }
            Some(taken_back @ Value::Null) => *taken_back = Value::Array(old.clone()),
            _ => {}
        }
    }
}

fn walk(values: Map<String, Value>, prefix: &str, name: &str, source: Source, out: &mut Layer) -> Map<String, Value> {
    let mut kept = Map::new();
    for (key, value) in values {
        let path = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
        // A text that begins with `!` is a command whose output is the value.
        let is_command = value.as_str().is_some_and(|text| text.starts_with('!'));
        // Null takes back all that the user set below it.
        let takes_back = value.is_null() && table::holds_guarded(&path);
        if source == Source::Project && (is_command || takes_back || table::is_guarded(&path)) {
            out.refused.insert(path, value);
            continue;
        }
        match (table::find(&path), table::is_parent(&path), value) {
            // Null takes back the value of a layer below.
            (_, _, Value::Null) => {
                kept.insert(key, Value::Null);
            }
            (_, _, Value::Object(inner)) if table::has_entries(&path) => {
                let inner = walk(inner, &path, name, source, out);
                kept.insert(key, Value::Object(inner));
            }
            (Some(known), _, value) => match known.kind.refusal(&value) {
                Some(expected) => {
                    let faults = if known.scope == Scope::Display { &mut out.warnings } else { &mut out.faults };
                    faults.push(format!("{name}: {path}: expected {expected}, got {value}"));
                }
                None => {
                    kept.insert(key, value);
                }
            },
            (None, true, value) => out.faults.push(format!("{name}: {path}: expected an object, got {value}")),
            (None, false, value) => {
                out.unknown.push(format!("{name}: {path}: unknown key"));
                kept.insert(key, value);
            }
        }
    }
    kept
}

/// Sets one key in a settings file and leaves the rest of its text as it is, comments too. Changes that others made
/// meanwhile are kept: the file is read again under a lock and replaced whole. `path` is checked against the table.
///
/// # Errors
/// The key is not known, the value is of the wrong type, the file is not JSON or cannot be written.
pub(crate) fn write(file: &Path, path: &str, value: &Value) -> Result<(), Error> {
    check(path, value)?;
    files::update(file, |old| {
        let text = old.unwrap_or_default();
        let wrong = |reason: String| Error::new(ErrorCode::InvalidData, format!("{}: {reason}", file.display()));
        // A file that cannot be read is not made worse.
        if !text.trim().is_empty() {
            serde_json::from_str::<Map<String, Value>>(&plain_json(text)).map_err(|error| wrong(error.to_string()))?;
        }
        edit::set(text, path, value).map_err(wrong)
    })
}

/// Removes one key, or all below it, from a settings file and leaves the rest of its text as it is. A key that is not there,
/// and a file that is not there, are no errors.
///
/// # Errors
/// The key is not known, the file is not JSON or cannot be written.
pub(crate) fn unset(file: &Path, path: &str) -> Result<(), Error> {
    check(path, &Value::Null)?;
    if !table::is_known(path) {
        // Names its nearest one.
        check(path, &Value::Bool(true))?;
    }
    if !file.is_file() {
        return Ok(());
    }
    files::update(file, |old| {
        let text = old.unwrap_or_default();
        edit::unset(text, path)
            .map_err(|reason| Error::new(ErrorCode::InvalidData, format!("{}: {reason}", file.display())))
    })
}

/// Checks a value against the table.
///
/// # Errors
/// The key is not known, or the value is of the wrong type.
pub(crate) fn check(path: &str, value: &Value) -> Result<(), Error> {
    let refusal = match table::find(path) {
        _ if value.is_null() => None,
        Some(known) => known.kind.refusal(value).map(|expected| format!("{path}: expected {expected}, got {value}")),
        None if !table::is_known(path) => Some(match table::nearest(path) {
            Some(near) => format!("{path}: unknown key; did you mean {near}?"),
            None => format!("{path}: unknown key"),
        }),
        None if table::is_parent(path) && !value.is_object() => {
            Some(format!("{path}: expected an object, got {value}"))
        }
        None => None,
    };
    match refusal {
        Some(reason) => Err(Error::new(ErrorCode::InvalidArgument, reason)),
        None => Ok(()),
    }
}
