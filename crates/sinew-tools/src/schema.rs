//! Validates arguments against a JSON Schema: the subset that tools use, with errors that a model can act on.
//!
//! Supported: `type`, `enum`, `const`, `properties`, `required`, `additionalProperties`, `items`, `minItems`,
//! `maxItems`, `minLength`, `maxLength`, `minimum`, `maximum`, `anyOf`, `oneOf`, `allOf`. Other keywords are ignored,
//! because the schema of an external server must not make its tool unusable.

use serde_json::{Map, Value};

/// The maximum number of errors in one result.
const MOST: usize = 20;
/// Values at a greater depth are not validated.
const DEEPEST: usize = 64;

/// Returns the errors of `value`, one line each: a JSON pointer and the problem. Empty if it is valid.
#[must_use]
pub fn validate(schema: &Value, value: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    check(schema, value, "", 0, &mut faults);
    faults.truncate(MOST);
    faults
}

fn check(schema: &Value, value: &Value, at: &str, depth: usize, faults: &mut Vec<String>) {
    let Value::Object(schema) = schema else { return };
    if depth > DEEPEST || faults.len() >= MOST {
        return;
    }
    let mut fault = |text: String| faults.push(format!("{}: {text}", if at.is_empty() { "/" } else { at }));
    if let Some(expected) = schema.get("type")
        && !types(expected).any(|name| is(name, value))
    {
        let names: Vec<&str> = types(expected).collect();
        return fault(format!("must be {}, not {}", names.join(" or "), name(value)));
    }
    if let Some(Value::Array(words)) = schema.get("enum")
        && !words.contains(value)
    {
        let words: Vec<String> = words.iter().map(Value::to_string).collect();
        fault(format!("must be one of {}", words.join(", ")));
    }
    if let Some(word) = schema.get("const")
        && word != value
    {
        fault(format!("must be {word}"));
    }
    match value {
        Value::Object(object) => members(schema, object, at, depth, faults),
        Value::Array(items) => {
            bounds(schema, "minItems", "maxItems", items.len() as f64, "items", &mut fault);
            if let Some(schema) = schema.get("items") {
                for (index, item) in items.iter().enumerate() {
                    check(schema, item, &format!("{at}/{index}"), depth + 1, faults);
                }
            }
        }
        Value::String(text) => {
            bounds(schema, "minLength", "maxLength", text.chars().count() as f64, "characters", &mut fault);
        }
        Value::Number(number) => {
            bounds(schema, "minimum", "maximum", number.as_f64().unwrap_or_default(), "", &mut fault);
        }
        _ => {}
    }
    choices(schema, value, at, depth, faults);
}

fn members(schema: &Map<String, Value>, object: &Map<String, Value>, at: &str, depth: usize, faults: &mut Vec<String>) {
    for key in schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str) {
        if !object.contains_key(key) {
            faults.push(format!("{at}/{}: is required", escape(key)));
        }
    }
    let properties = schema.get("properties").and_then(Value::as_object);
    for (key, value) in object {
        let place = format!("{at}/{}", escape(key));
        match properties.and_then(|properties| properties.get(key)) {
            Some(schema) => check(schema, value, &place, depth + 1, faults),
            None => match schema.get("additionalProperties") {
                Some(Value::Bool(false)) => {
                    let known: Vec<&str> = properties.into_iter().flat_map(Map::keys).map(String::as_str).collect();
                    faults.push(format!("{place}: is unknown; known are {}", known.join(", ")));
                }
                Some(schema @ Value::Object(_)) => check(schema, value, &place, depth + 1, faults),
                _ => {}
            },
        }
    }
}

fn choices(schema: &Map<String, Value>, value: &Value, at: &str, depth: usize, faults: &mut Vec<String>) {
    for part in schema.get("allOf").and_then(Value::as_array).into_iter().flatten() {
        check(part, value, at, depth + 1, faults);
    }
    for word in ["anyOf", "oneOf"] {
        let Some(Value::Array(parts)) = schema.get(word) else { continue };
        let mut best: Option<Vec<String>> = None;
        for part in parts {
            let mut tried = Vec::new();
            check(part, value, at, depth + 1, &mut tried);
            if best.as_ref().is_none_or(|best| tried.len() < best.len()) {
                best = Some(tried);
            }
        }
        faults.extend(best.unwrap_or_default());
    }
}

fn bounds(schema: &Map<String, Value>, low: &str, high: &str, value: f64, unit: &str, fault: &mut impl FnMut(String)) {
    let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
    if let Some(least) = schema.get(low).and_then(Value::as_f64)
        && value < least
    {
        fault(format!("must be at least {least}{unit}"));
    }
    if let Some(most) = schema.get(high).and_then(Value::as_f64)
        && value > most
    {
        fault(format!("must be at most {most}{unit}"));
    }
}

fn types(expected: &Value) -> impl Iterator<Item = &str> {
    let one = expected.as_str();
    let many = expected.as_array().into_iter().flatten().filter_map(Value::as_str);
    one.into_iter().chain(many)
}

fn is(name: &str, value: &Value) -> bool {
    match name {
        "integer" => value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        _ => true,
    }
}

fn name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Escapes a key for a JSON pointer.
fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn faults(schema: Value, value: Value, expected: &[&str]) {
        assert_eq!(validate(&schema, &value), expected);
    }

    #[test]
    fn schema_errors_name_the_path_and_the_problem() {
        let schema = json!({"type": "object", "additionalProperties": false, "required": ["path"], "properties": {
            "path": {"type": "string", "minLength": 1},
            "limit": {"type": "integer", "minimum": 1},
            "edits": {"type": "array", "maxItems": 1, "items": {"type": "object", "required": ["a/b"]}},
            "mode": {"enum": ["x", "y"]},
        }});
        faults(schema.clone(), json!({"path": "a", "limit": 2.0, "mode": "y"}), &[]);
        faults(
            schema.clone(),
            json!({"pth": "a"}),
            &["/path: is required", "/pth: is unknown; known are path, limit, edits, mode"],
        );
        faults(
            schema.clone(),
            json!({"path": "", "limit": 0}),
            &["/path: must be at least 1 characters", "/limit: must be at least 1"],
        );
        faults(
            schema.clone(),
            json!({"path": 3, "mode": "z"}),
            &["/path: must be string, not number", "/mode: must be one of \"x\", \"y\""],
        );
        faults(
            schema.clone(),
            json!({"path": "a", "edits": [{}, {}]}),
            &["/edits: must be at most 1 items", "/edits/0/a~1b: is required", "/edits/1/a~1b: is required"],
        );
        faults(schema, json!([]), &["/: must be object, not array"]);
    }

    #[test]
    fn any_of_reports_the_errors_of_the_closest_schema() {
        let schema = json!({"anyOf": [{"type": "string"}, {"type": "object", "required": ["a"], "properties": {"a": {"type": "number"}}}]});
        faults(schema.clone(), json!("x"), &[]);
        faults(schema.clone(), json!({"a": 1}), &[]);
        faults(schema, json!({"a": "x"}), &["/: must be string, not object"]);
    }
}
