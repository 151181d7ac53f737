//! Repairs common mistakes in the arguments of models: alternative names of keys, numbers as strings.

use serde::de::DeserializeOwned;
use serde_json::{Map, Number, Value};

use crate::tool::{Call, ToolError};

/// Alternative names of keys. An alias is only applied if the schema has the proper name and does not have the alias.
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
/// Values at a greater depth are not changed.
const DEEPEST: usize = 8;

/// Converts `value` to match `schema` where the intent is clear. Validation reports everything else.
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
        // Keys that the model chooses, such as names of variables.
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
            // Some models write null instead of omitting a key.
            Some(_) if value.is_null() => continue,
            Some(schema) => mend_at(schema, value.clone(), depth + 1),
            None => value.clone(),
        };
        mended.entry(name).or_insert(value);
    }
    mended
}

/// Returns the integer value of a number such as `5.0`; `None` if it has a fraction.
fn whole(number: &Number) -> Option<i64> {
    let value = number.as_f64().filter(|_| number.is_f64())?;
    #[allow(clippy::cast_possible_truncation, reason = "a value out of range becomes the nearest integer")]
    (value.fract() == 0.0).then_some(value as i64)
}

/// Parses a string if the schema expects another type; `None` if it does not parse.
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

/// Converts the arguments of a call to the tool's own type.
pub(super) fn parse<T: DeserializeOwned>(call: &Call) -> Result<T, ToolError> {
    // The arguments were validated, but a hook may have replaced them since.
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
    fn aliases_of_keys_are_accepted_if_the_key_is_missing() {
        check(json!({"file_path": "a", "cmd": "b"}), json!({"path": "a", "command": "b"}));
        check(json!({"filePath": "a", "path": "b"}), json!({"filePath": "a", "path": "b"}));
        check(json!({"pattern": "a", "search": "b"}), json!({"pattern": "a", "search": "b"}));
        check(
            json!({"edits": [{"old_str": "1", "new_string": "2", "replace_all": "true"}]}),
            json!({"edits": [{"oldText": "1", "newText": "2", "replaceAll": true}]}),
        );
    }

    #[test]
    fn strings_are_converted_if_the_schema_expects_another_type() {
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
