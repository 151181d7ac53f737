//! Converts the input schemas of tools to a form that every provider accepts.

use serde_json::{Map, Value, json};

/// Keywords whose value may be null.
const MAY_BE_NULL: [&str; 3] = ["default", "const", "example"];
/// Keywords whose value is a map from names to schemas.
const MAPS: [&str; 5] = ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];
/// Keywords whose value is a list of schemas that must not be empty.
const LISTS: [&str; 4] = ["anyOf", "oneOf", "allOf", "prefixItems"];
/// Keywords whose value is a schema. `additionalProperties` and its kin may be a boolean for every provider.
const SCHEMAS: [&str; 7] = ["items", "contains", "propertyNames", "not", "if", "then", "else"];
const OPEN: [&str; 4] = ["additionalProperties", "additionalItems", "unevaluatedProperties", "unevaluatedItems"];

/// Converts a tool's input schema to a form that every provider accepts: an object with properties. Keywords with values
/// that JSON Schema does not allow are removed, and `true` as the schema of a property becomes `{}`, at every depth.
/// Returns `None` if a provider would reject the schema, and the whole request with it: for alternatives at the top
/// level, external references or endless nesting.
#[must_use]
pub fn provider_schema(schema: &Value) -> Option<Value> {
    const DEPTH: usize = 64;
    const NODES: usize = 10_000;
    let mut nodes = 0;
    if !fits(schema, DEPTH, &mut nodes, NODES) {
        return None;
    }
    let mut members = match schema {
        Value::Object(members) => valid_members(members),
        Value::Null | Value::Bool(true) => Map::new(),
        _ => return None,
    };
    let kind = members.get("type").cloned().unwrap_or_else(|| "object".into());
    let alternatives = ["oneOf", "anyOf", "allOf", "not", "enum", "const", "if", "$ref"];
    if kind != "object" || alternatives.iter().any(|key| members.contains_key(*key)) {
        return None;
    }
    members.insert("type".to_string(), kind);
    members.entry("properties").or_insert_with(|| json!({}));
    members.remove("$schema");
    Some(Value::Object(members))
}

/// Returns true if a schema is small enough and has no external references.
fn fits(schema: &Value, depth: usize, nodes: &mut usize, most: usize) -> bool {
    *nodes += 1;
    if depth == 0 || *nodes > most {
        return false;
    }
    match schema {
        Value::Object(members) => members.iter().all(|(key, value)| {
            let local = key != "$ref" || value.as_str().is_none_or(|target| target.starts_with('#'));
            local && fits(value, depth - 1, nodes, most)
        }),
        Value::Array(items) => items.iter().all(|item| fits(item, depth - 1, nodes, most)),
        _ => true,
    }
}

/// Returns the members of a schema without those whose value is invalid.
fn valid_members(members: &Map<String, Value>) -> Map<String, Value> {
    members.iter().filter_map(|(key, value)| Some((key.clone(), valid_value(key, value)?))).collect()
}

/// Returns the valid form of a keyword's value; `None` if it has none.
fn valid_value(key: &str, value: &Value) -> Option<Value> {
    if value.is_null() {
        return MAY_BE_NULL.contains(&key).then_some(Value::Null);
    }
    match key {
        "required" => {
            let names = value.as_array()?.iter().filter(|name| name.is_string());
            Some(names.cloned().collect())
        }
        "enum" => value.as_array().filter(|values| !values.is_empty()).map(|_| value.clone()),
        "type" => Some(value.clone()).filter(|kind| kind.is_string() || kind.is_array()),
        "title" | "description" | "format" | "pattern" | "$ref" => Some(value.clone()).filter(Value::is_string),
        _ if MAPS.contains(&key) => {
            let schemas = value.as_object()?.iter();
            Some(schemas.filter_map(|(name, schema)| Some((name.clone(), valid_schema(schema)?))).collect())
        }
        _ if LISTS.contains(&key) => {
            let schemas: Vec<Value> = value.as_array()?.iter().filter_map(valid_schema).collect();
            (!schemas.is_empty()).then_some(Value::Array(schemas))
        }
        "items" if value.is_array() => Some(value.as_array()?.iter().filter_map(valid_schema).collect()),
        _ if SCHEMAS.contains(&key) => valid_schema(value),
        _ if OPEN.contains(&key) => match value {
            Value::Bool(_) => Some(value.clone()),
            _ => valid_schema(value),
        },
        _ => Some(value.clone()),
    }
}

/// Returns a schema as an object; `None` if it is none, or if it accepts no value.
fn valid_schema(schema: &Value) -> Option<Value> {
    match schema {
        Value::Object(members) => Some(Value::Object(valid_members(members))),
        Value::Bool(true) | Value::Null => Some(json!({})),
        _ => None,
    }
}
