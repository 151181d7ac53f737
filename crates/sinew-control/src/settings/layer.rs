//! Reads a layer of settings: a JSON object from a file or a variable. Values of the wrong type are skipped with a
//! warning.

use std::path::Path;

use serde_json::{Map, Value};
use sinew::base::{Error, ErrorCode};
use sinew_llm::models::plain_json;
use sinew_session::files;
use sinew_tools::GuardSettings;

use super::lookup;
use super::row::{Key, Scope};
use super::table::KEYS;
use super::{edit, values};

/// The origin of a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The user, or a trusted project, which may set everything.
    User,
    /// A project that is not trusted. It may change the display, and add rules that deny or ask.
    Project,
}

/// A layer after reading.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Layer {
    /// The values in force, including unknown keys.
    pub(crate) values: Map<String, Value>,
    /// Warnings about values that have no effect.
    pub(crate) warnings: Vec<String>,
    /// Values of a wrong type that may be security limits. If there are any, nothing may run.
    pub(crate) faults: Vec<String>,
    /// Keys that are missing in the table.
    pub(crate) unknown: Vec<String>,
    /// The values that would be in force if the project were trusted, by path.
    pub(crate) refused: Map<String, Value>,
}

/// Parses the text of a settings file: JSON with comments. `name` is used in messages.
///
/// # Errors
/// Returns an error with the position if the text is not a JSON object.
pub fn read(text: &str, name: &str, source: Source) -> Result<Layer, String> {
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
pub fn layer(values: Map<String, Value>, name: &str, source: Source) -> Layer {
    let mut out = Layer::default();
    let mut values = rename(values);
    out.warnings.extend(drop_removed(&mut values).into_iter().map(|text| format!("{name}: {text}")));
    let rules = (source == Source::Project).then(|| take_rules(&mut values)).flatten();
    out.values = walk(values, "", name, source, &mut out);
    out.values.extend(rules.map(|rules| (PERMISSIONS.to_string(), rules)));
    let early = without_effect(&out.values).into_iter().map(|text| format!("{name}: {text}"));
    out.warnings.extend(early);
    out
}

/// Returns warnings about keys that are not implemented yet, one per part of the program.
pub fn without_effect(values: &Map<String, Value>) -> Vec<String> {
    let mut parts: Vec<(&str, Vec<&str>)> = Vec::new();
    for Key { path, waits_for, .. } in KEYS.iter() {
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

/// Renames keys that have old names.
fn rename(mut values: Map<String, Value>) -> Map<String, Value> {
    if let Some(mode) = values.shift_remove("queueMode") {
        values.entry("steeringMode").or_insert(mode);
    }
    if let Some(Value::String(theme)) = values.get("theme").cloned() {
        values.insert("theme".into(), serde_json::json!({"dark": theme, "light": theme}));
    }
    values
}

/// Removes keys of earlier versions. Returns a warning for each.
fn drop_removed(values: &mut Map<String, Value>) -> Vec<String> {
    let mut warnings = Vec::new();
    for (path, instead) in lookup::REMOVED {
        let Some((section, key)) = path.split_once('.') else { continue };
        let section = values.get_mut(section).and_then(Value::as_object_mut);
        if section.and_then(|section| section.shift_remove(key)).is_some() {
            warnings.push(format!("{path} was removed and has no effect: {instead}"));
        }
    }
    warnings
}

const PERMISSIONS: &str = "permissions";

/// Removes the rules that apply without trust from a project's settings, and returns them. Rules that allow, and values
/// that are not lists of rules, stay.
fn take_rules(values: &mut Map<String, Value>) -> Option<Value> {
    let Value::Object(lists) = values.get_mut(PERMISSIONS)? else { return None };
    let is_counted = |key: &String| lookup::STRICTER.contains(&format!("{PERMISSIONS}.{key}").as_str());
    let (taken, rest): (Map<_, _>, Map<_, _>) =
        std::mem::take(lists).into_iter().partition(|(key, value)| is_counted(key) && !value.is_null());
    *lists = rest;
    if lists.is_empty() {
        values.shift_remove(PERMISSIONS);
    }
    (!taken.is_empty()).then_some(Value::Object(taken))
}

/// Prepends the rules of the lower layers to the lists of rules of a layer, so that it does not replace them. Null does
/// not reset rules.
pub fn add_below(below: &Map<String, Value>, layer: &mut Map<String, Value>) {
    for path in lookup::ADDED {
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
        // Null would reset everything that the user set below this key.
        let takes_back = value.is_null() && lookup::holds_guarded(&path);
        if source == Source::Project && (is_command || takes_back || lookup::is_guarded(&path)) {
            out.refused.insert(path, value);
            continue;
        }
        match (lookup::find(&path), lookup::is_parent(&path), value) {
            // Null resets the value of a lower layer.
            (_, _, Value::Null) => {
                kept.insert(key, Value::Null);
            }
            (_, _, Value::Object(inner)) if lookup::has_entries(&path) => {
                let inner = walk(inner, &path, name, source, out);
                kept.insert(key, Value::Object(inner));
            }
            (Some(known), _, value) => match known.kind.refusal(&value) {
                Some(expected) => {
                    let faults = if known.scope == Scope::Display { &mut out.warnings } else { &mut out.faults };
                    faults.push(format!("{name}: {path}: expected {expected}, got {value}"));
                }
                None => {
                    let faults = rule_faults(&path, &value).into_iter();
                    out.faults.extend(faults.map(|fault| format!("{name}: {path}: {fault}")));
                    kept.insert(key, value);
                }
            },
            (None, true, value) => out.faults.push(format!("{name}: {path}: expected an object, got {value}")),
            (None, false, value) => {
                if lookup::is_limit(&path) {
                    let near = lookup::nearest(&path).map(|near| format!("; did you mean {near}?")).unwrap_or_default();
                    out.faults.push(format!("{name}: {path}: unknown key{near}"));
                } else {
                    out.unknown.push(format!("{name}: {path}: unknown key"));
                }
                kept.insert(key, value);
            }
        }
    }
    kept
}

/// Returns the errors in a list of regular expressions that refuse commands.
fn rule_faults(path: &str, value: &Value) -> Vec<String> {
    let list = value.as_array().filter(|_| path == "bashGuard.deny");
    let rules = list.into_iter().flatten().filter_map(Value::as_str);
    rules.filter_map(|rule| Some(format!("\"{rule}\": {}", GuardSettings::rule_fault(rule)?))).collect()
}

/// Sets a key in a settings file and leaves the rest of its text unchanged, including comments. The file is read again
/// under a lock and replaced atomically, so changes of other processes are kept. `path` is checked against the table.
///
/// # Errors
/// Returns an error if the key is unknown, the value has the wrong type, the file is not JSON, or it cannot be written.
pub fn write(file: &Path, path: &str, value: &Value) -> Result<(), Error> {
    check(path, value)?;
    files::update(file, |old| {
        let text = old.unwrap_or_default();
        let wrong = |reason: String| Error::new(ErrorCode::InvalidData, format!("{}: {reason}", file.display()));
        // An invalid file is not changed.
        if !text.trim().is_empty() {
            serde_json::from_str::<Map<String, Value>>(&plain_json(text)).map_err(|error| wrong(error.to_string()))?;
        }
        edit::set(text, path, value).map_err(wrong)
    })
}

/// Removes a key and everything below it from a settings file, and leaves the rest of its text unchanged. A missing key
/// or file is not an error.
///
/// # Errors
/// Returns an error if the key is unknown, the file is not JSON, or it cannot be written.
pub fn unset(file: &Path, path: &str) -> Result<(), Error> {
    check(path, &Value::Null)?;
    if !lookup::is_known(path) {
        // Suggests the most similar key.
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
/// Returns an error if the key is unknown, or if the value has the wrong type.
pub fn check(path: &str, value: &Value) -> Result<(), Error> {
    let refusal = match lookup::find(path) {
        _ if value.is_null() => None,
        Some(known) => known.kind.refusal(value).map(|expected| format!("{path}: expected {expected}, got {value}")),
        None if !lookup::is_known(path) => Some(match lookup::nearest(path) {
            Some(near) => format!("{path}: unknown key; did you mean {near}?"),
            None => format!("{path}: unknown key"),
        }),
        None if lookup::is_parent(path) && !value.is_object() => {
            Some(format!("{path}: expected an object, got {value}"))
        }
        None => None,
    };
    match refusal {
        Some(reason) => Err(Error::new(ErrorCode::InvalidArgument, reason)),
        None => Ok(()),
    }
}
