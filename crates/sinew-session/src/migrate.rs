//! Converts older versions and other formats to version 3.

use serde_json::{Map, Value, json};

use super::entry::VERSION;
use crate::clock::{self, Clock};

type Object = Map<String, Value>;

/// Converts the lines of a file to version 3; `lines[0]` becomes the header. The lines of a flat file, which has no
/// header, get one. The second value is false if nothing had to change.
pub(super) fn to_current(mut lines: Vec<Object>, cwd: &str, clock: &dyn Clock) -> (Vec<Object>, bool) {
    let has_header = lines.first().is_some_and(|line| text(line, "type") == Some("session"));
    let mut version = VERSION;
    if has_header {
        version = lines[0].get("version").and_then(Value::as_u64).unwrap_or(1);
    } else {
        lines = flat(lines, cwd, clock);
    }
    if has_header && version >= VERSION {
        return (lines, false);
    }
    if version < 2 {
        link(&mut lines, clock);
    }
    if version < 3 {
        for line in &mut lines {
            if let Some(Value::Object(message)) = line.get_mut("message")
                && text(message, "role") == Some("hookMessage")
            {
                message.insert("role".into(), "custom".into());
            }
        }
    }
    lines[0].insert("version".into(), VERSION.into());
    (lines, true)
}

fn text<'a>(object: &'a Object, key: &str) -> Option<&'a str> {
    object.get(key).and_then(Value::as_str)
}

/// Returns eight hexadecimal digits for which `taken` is false.
pub(super) fn new_id(clock: &dyn Clock, taken: impl Fn(&str) -> bool) -> String {
    loop {
        let id = format!("{:08x}", clock.random() >> 32);
        if !taken(&id) {
            return id;
        }
    }
}

/// Version 1 is a list: each entry becomes the child of the previous one.
fn link(lines: &mut [Object], clock: &dyn Clock) {
    let mut ids: Vec<String> = Vec::with_capacity(lines.len());
    let mut last = Value::Null;
    // The header has index 0.
    ids.push(String::new());
    for line in lines.iter_mut().skip(1) {
        let id = match text(line, "id") {
            Some(id) => id.to_string(),
            None => new_id(clock, |id| ids.iter().any(|known| known == id)),
        };
        line.insert("id".into(), id.clone().into());
        line.insert("parentId".into(), std::mem::replace(&mut last, id.clone().into()));
        ids.push(id);
    }
    for line in lines.iter_mut() {
        if let Some(index) = line.remove("firstKeptEntryIndex").and_then(|index| index.as_u64())
            && let Some(id) = usize::try_from(index).ok().and_then(|index| ids.get(index))
        {
            line.insert("firstKeptEntryId".into(), id.clone().into());
        }
    }
}

/// Converts a flat file, which has one message per line, `{id, parentId, role, content, …}`, and no header.
fn flat(lines: Vec<Object>, cwd: &str, clock: &dyn Clock) -> Vec<Object> {
    let now = clock.now();
    let header = json!({"type": "session", "version": VERSION, "id": format!("{:016x}", clock.random()), "timestamp": clock::iso(now), "cwd": cwd});
    let mut result = vec![object(header)];
    let mut last = Value::Null;
    let mut taken: Vec<String> = Vec::new();
    for mut line in lines {
        let id = line.remove("id").and_then(|id| id.as_str().map(str::to_string));
        let id = id.unwrap_or_else(|| new_id(clock, |id| taken.iter().any(|known| known == id)));
        let parent = line.remove("parentId").unwrap_or_else(|| last.clone());
        let time = line.get("timestamp").and_then(Value::as_i64).unwrap_or(now);
        line.entry("timestamp").or_insert_with(|| time.into());
        let entry =
            json!({"type": "message", "id": id, "parentId": parent, "timestamp": clock::iso(time), "message": line});
        result.push(object(entry));
        last = id.clone().into();
        taken.push(id);
    }
    result
}

fn object(value: Value) -> Object {
    match value {
        Value::Object(object) => object,
        _ => Object::new(),
    }
}
