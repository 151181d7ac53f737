//! Property names that no provider accepts, for example `filter[bundleId]` or `@type`: one such name in the schema of
//! one tool would make every request of a session fail. They are renamed on the wire only.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::stable_hash::stable_hash;

/// The maximum length of a name that every provider accepts.
const LONGEST: usize = 64;

/// The maximum number of characters of the original name in its wire name.
const KEPT: usize = 48;

/// Members of a schema that contain schemas, or lists of schemas.
const INNER: [&str; 15] = [
    "additionalItems",
    "additionalProperties",
    "allOf",
    "anyOf",
    "contains",
    "else",
    "if",
    "items",
    "not",
    "oneOf",
    "prefixItems",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
];

/// Members of a schema that contain schemas under names other than properties.
const NAMED: [&str; 3] = ["$defs", "definitions", "patternProperties"];

/// Members of a schema whose keys are property names.
const BY_PROPERTY: [&str; 4] = ["dependencies", "dependentRequired", "dependentSchemas", "properties"];

/// The renamed properties of a tool.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PropertyNames {
    to_wire: BTreeMap<String, String>,
    from_wire: BTreeMap<String, String>,
}

impl PropertyNames {
    /// Returns the names of a schema that must be changed; `None` if all are accepted. The same schema always has the
    /// same wire names, and wire names never collide with other properties.
    pub(crate) fn of_schema(schema: &Value) -> Option<PropertyNames> {
        let mut bad = BTreeSet::new();
        each_property(schema, &mut |name| {
            if !is_accepted(name) {
                bad.insert(name.to_string());
            }
        });
        if bad.is_empty() {
            return None;
        }
        let mut taken = BTreeSet::new();
        each_property(schema, &mut |name| {
            taken.insert(name.to_string());
        });
        let mut names = PropertyNames::default();
        for name in bad {
            let wire = wire_name(&name, &taken);
            taken.insert(wire.clone());
            names.from_wire.insert(wire.clone(), name.clone());
            names.to_wire.insert(name, wire);
        }
        Some(names)
    }

    /// Returns the schema with wire names. Each renamed property has its original name in its description.
    pub(crate) fn schema_to_wire(&self, schema: &Value) -> Value {
        match schema {
            Value::Object(members) => {
                Value::Object(members.iter().map(|(key, value)| (key.clone(), self.member(key, value))).collect())
            }
            Value::Array(list) => list.iter().map(|schema| self.schema_to_wire(schema)).collect(),
            other => other.clone(),
        }
    }

    fn member(&self, key: &str, value: &Value) -> Value {
        let each = |members: &Map<String, Value>, of: &dyn Fn(&str, &Value) -> (String, Value)| {
            Value::Object(members.iter().map(|(key, value)| of(key, value)).collect())
        };
        match (key, value) {
            ("properties", Value::Object(members)) => each(members, &|name, schema| {
                let schema = self.schema_to_wire(schema);
                match self.to_wire.get(name) {
                    Some(wire) => (wire.clone(), named(name, schema)),
                    None => (name.to_string(), schema),
                }
            }),
            ("required", Value::Array(list)) => list.iter().map(|name| self.text_to_wire(name)).collect(),
            (key, Value::Object(members)) if BY_PROPERTY.contains(&key) => each(members, &|name, value| {
                let value = match value {
                    Value::Array(list) => list.iter().map(|name| self.text_to_wire(name)).collect(),
                    schema => self.schema_to_wire(schema),
                };
                (self.name_to_wire(name).to_string(), value)
            }),
            (key, Value::Object(members)) if NAMED.contains(&key) => {
                each(members, &|name, schema| (name.to_string(), self.schema_to_wire(schema)))
            }
            ("$ref", Value::String(pointer)) => self.pointer_to_wire(pointer).into(),
            (key, schema) if INNER.contains(&key) => self.schema_to_wire(schema),
            (_, other) => other.clone(),
        }
    }

    fn name_to_wire<'a>(&'a self, name: &'a str) -> &'a str {
        self.to_wire.get(name).map_or(name, String::as_str)
    }

    fn text_to_wire(&self, name: &Value) -> Value {
        name.as_str().map_or_else(|| name.clone(), |name| self.name_to_wire(name).into())
    }

    /// Converts a reference within the schema, `#/properties/filter[bundleId]`, which may contain pointer and URL
    /// escapes.
    fn pointer_to_wire(&self, pointer: &str) -> String {
        let mut behind_properties = false;
        let segment = |segment: &str| {
            let is_name = std::mem::replace(&mut behind_properties, segment == "properties");
            let name = is_name.then(|| unescaped(segment));
            let wire = name.and_then(|name| self.to_wire.get(&name)).cloned();
            if wire.is_some() {
                behind_properties = false;
            }
            wire.unwrap_or_else(|| segment.to_string())
        };
        pointer.split('/').map(segment).collect::<Vec<_>>().join("/")
    }

    /// Converts arguments to wire names, at every depth.
    pub(crate) fn arguments_to_wire(&self, arguments: &Value) -> Value {
        renamed(arguments, &self.to_wire)
    }

    /// Converts arguments to the names of the schema, at every depth.
    pub(crate) fn arguments_of_wire(&self, arguments: &Value) -> Value {
        renamed(arguments, &self.from_wire)
    }
}

/// Returns true if an object in a value has a key that may need another name on the wire.
pub(crate) fn has_renamed(value: &Value) -> bool {
    match value {
        Value::Object(members) => members.iter().any(|(key, value)| !is_accepted(key) || has_renamed(value)),
        Value::Array(list) => list.iter().any(has_renamed),
        _ => false,
    }
}

fn is_accepted(name: &str) -> bool {
    let accepted = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
    (1..=LONGEST).contains(&name.len()) && name.bytes().all(accepted)
}

/// Returns a wire name: the readable part of a name and a hash of the whole name.
fn wire_name(name: &str, taken: &BTreeSet<String>) -> String {
    let mut readable = String::new();
    for letter in name.chars() {
        if letter.is_ascii_alphanumeric() || matches!(letter, '_' | '.' | '-') {
            readable.push(letter);
        } else if !readable.is_empty() && !readable.ends_with('_') {
            readable.push('_');
        }
    }
    readable.truncate(KEPT);
    let readable = match readable.trim_end_matches('_') {
        "" => "property",
        readable => readable,
    };
    let mut hash = stable_hash(name);
    loop {
        let wire = format!("{readable}_{:04x}", hash & 0xFFFF);
        if !taken.contains(&wire) {
            return wire;
        }
        hash = hash.wrapping_add(1);
    }
}

/// Returns the schema of a property with its original name in the description.
fn named(name: &str, schema: Value) -> Value {
    let Value::Object(mut members) = schema else { return schema };
    let own = format!("Named {name:?} in the tool's own words.");
    let description = match members.get("description").and_then(Value::as_str).map(str::trim_end) {
        None | Some("") => own,
        Some(text) => format!("{text} {own}"),
    };
    members.insert("description".into(), description.into());
    Value::Object(members)
}

/// Calls `tell` with the name of each property of a schema.
fn each_property(schema: &Value, tell: &mut impl FnMut(&str)) {
    match schema {
        Value::Array(list) => list.iter().for_each(|schema| each_property(schema, tell)),
        Value::Object(members) => {
            for (key, value) in members {
                match value {
                    Value::Object(inner) if BY_PROPERTY.contains(&key.as_str()) => {
                        for (name, schema) in inner {
                            tell(name);
                            if schema.is_object() {
                                each_property(schema, tell);
                            }
                        }
                    }
                    Value::Object(inner) if NAMED.contains(&key.as_str()) => {
                        inner.values().for_each(|schema| each_property(schema, tell));
                    }
                    Value::Array(list) if key == "required" => {
                        list.iter().filter_map(Value::as_str).for_each(&mut *tell);
                    }
                    schema if INNER.contains(&key.as_str()) => each_property(schema, tell),
                    _ => {}
                }
            }
        }
        _ => {}
    }
}

fn renamed(value: &Value, names: &BTreeMap<String, String>) -> Value {
    match value {
        Value::Object(members) => {
            let member =
                |(key, value): (&String, &Value)| (names.get(key).unwrap_or(key).clone(), renamed(value, names));
            Value::Object(members.iter().map(member).collect())
        }
        Value::Array(list) => list.iter().map(|value| renamed(value, names)).collect(),
        other => other.clone(),
    }
}

/// Decodes a segment of a pointer in a URL.
fn unescaped(segment: &str) -> String {
    let mut bytes = Vec::with_capacity(segment.len());
    let mut rest = segment.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        let hex = behind.get(..2).filter(|_| first == b'%').and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &behind[2..];
            }
            None => {
                bytes.push(first);
                rest = behind;
            }
        }
    }
    String::from_utf8_lossy(&bytes).replace("~1", "/").replace("~0", "~")
}

#[cfg(test)]
mod tests;
