//! Repair of the arguments that models often get wrong: other names of keys, numbers as strings.

use serde::de::DeserializeOwned;
use serde_json::{Map, Number, Value};

use crate::tool::{Call, ToolError};

/// Other names of keys. One is taken only where the schema has the right name and not this one.
const ALIASES: &[(&str, &str)] = &[
    ("file_path", "path"),
    ("filePath", "path"),
    ("old_str", "oldText"),
    ("old_string", "oldText"),
    ("search", "oldText"),
    ("new_str", "newText"),
    ("new_string", "newText"),
    ("replace", "newText"),
    ("replace_all", "replaceAll"),
    ("timeout_secs", "timeout"),
    ("cmd", "command"),
];
/// Deeper values are left as they are.
const DEEPEST: usize = 8;

/// `value` as `schema` wants it, as far as it can be told. What cannot be mended stays for the check to report.
pub(super) fn mend(schema: &Value, value: Value) -> Value {
    mend_at(schema, value, 0)
}

fn mend_at(schema: &Value, value: Value, depth: usize) -> Value {
    if depth > DEEPEST {
        return value;
    }
    match (schema["type"].as_str(), value) {
        (Some("object"), Value::Object(object)) => Value::Object(mend_object(schema, object, depth)),
        (Some("array"), Value::Array(items)) => {
            items.into_iter().map(|item| mend_at(&schema["items"], item, depth + 1)).collect()
        }
        (Some(wanted), Value::String(text)) => match read_as(wanted, &text) {
            Some(value) => mend_at(schema, value, depth + 1),
            None => Value::String(text),
        },
        (Some("string"), value @ (Value::Number(_) | Value::Bool(_))) => Value::String(value.to_string()),
        (Some("integer"), Value::Number(number)) => whole(&number).map_or(Value::Number(number), Value::from),
        (_, value) => value,
    }
}

fn mend_object(schema: &Value, object: Map<String, Value>, depth: usize) -> Map<String, Value> {
    let Some(properties) = schema["properties"].as_object() else {
        // Names that the model chooses, as those of variables.
        let schema = &schema["additionalProperties"];
        return object.into_iter().map(|(key, value)| (key, mend_at(schema, value, depth + 1))).collect();
    };
    let mut mended = Map::new();
    for (key, value) in &object {
        let other = ALIASES.iter().find(|(alias, _)| alias == key).map(|(_, name)| *name);
        let name = other.filter(|name| {
            properties.contains_key(*name) && !properties.contains_key(key) && !object.contains_key(*name)
        });
        let name = name.unwrap_or(key);
        let value = match properties.get(name) {
            // A model that leaves something out by writing null means its absence.
            Some(_) if value.is_null() => continue,
            Some(schema) => mend_at(schema, value.clone(), depth + 1),
            None => value.clone(),
        };
        mended.entry(name).or_insert(value);
    }
    mended
}

/// `5.0` as the whole number that it is.
fn whole(number: &Number) -> Option<i64> {
    let value = number.as_f64().filter(|_| number.is_f64())?;
    #[allow(clippy::cast_possible_truncation, reason = "what is out of range is as good as the nearest number in it")]
    (value.fract() == 0.0).then_some(value as i64)
}

/// A string as what it spells, where the schema wants no string.
fn read_as(wanted: &str, text: &str) -> Option<Value> {
    let text = text.trim();
    let value: Value = match wanted {
        "string" => return None,
        "boolean" => text.to_ascii_lowercase().parse::<bool>().ok()?.into(),
        _ => serde_json::from_str(text).ok()?,
    };
    let fits = match wanted {
        "integer" | "number" => value.is_number(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => value.is_boolean(),
    };
    fits.then_some(value)
}

/// The arguments of a call as the tool's own type.
pub(super) fn parse<T: DeserializeOwned>(call: &Call) -> Result<T, ToolError> {
    // The schema was checked before; a hook may have put something else in its place since.
    T::deserialize(&call.arguments).map_err(|error| ToolError::Failed(format!("Invalid arguments: {error}")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(value: Value, expect: Value) {
        let edit = json!({"type": "object", "properties": {
            "oldText": {"type": "string"}, "newText": {"type": "string"}, "replaceAll": {"type": "boolean"}}});
        let schema = json!({"type": "object", "properties": {
            "path": {"type": "string"}, "limit": {"type": "integer"}, "command": {"type": "string"},
            "env": {"type": "object", "additionalProperties": {"type": "string"}},
            "edits": {"type": "array", "items": edit}}});
        assert_eq!(mend(&schema, value), expect);
    }

    #[test]
    fn other_names_of_keys_are_taken_where_the_right_one_is_missing() {
        check(json!({"file_path": "a", "cmd": "b"}), json!({"path": "a", "command": "b"}));
        check(json!({"filePath": "a", "path": "b"}), json!({"filePath": "a", "path": "b"}));
        check(json!({"pattern": "a", "search": "b"}), json!({"pattern": "a", "search": "b"}));
        check(
            json!({"edits": [{"old_str": "1", "new_string": "2", "replace_all": "true"}]}),
            json!({"edits": [{"oldText": "1", "newText": "2", "replaceAll": true}]}),
        );
    }

    #[test]
    fn what_a_string_spells_is_read_where_no_string_is_wanted() {
        check(json!({"limit": "12", "path": "12"}), json!({"limit": 12, "path": "12"}));
        check(json!({"limit": "many"}), json!({"limit": "many"}));
        check(json!({"edits": "[{\"search\": \"1\"}]"}), json!({"edits": [{"oldText": "1"}]}));
        check(json!({"limit": null, "path": 7}), json!({"path": "7"}));
        check(json!({"limit": 5.0, "path": 1.5}), json!({"limit": 5, "path": "1.5"}));
        check(json!({"limit": "5.0"}), json!({"limit": 5}));
        check(json!({"env": {"A": 1, "cmd": true}}), json!({"env": {"A": "1", "cmd": "true"}}));
        check(json!({"limit": 1e30}), json!({"limit": i64::MAX}));
        check(json!({"limit": 2.5}), json!({"limit": 2.5}));
        check(json!("text"), json!("text"));
    }
}
