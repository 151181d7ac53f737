//! Implements `--output-schema`: checks the last answer against a JSON Schema.

use std::path::Path;

use serde_json::{Map, Value};
use sinew_tools::schema::validate;

use crate::failure::Failure;

/// The keywords that are checked.
const CHECKED: [&str; 17] = [
    "type",
    "enum",
    "const",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "minItems",
    "maxItems",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "anyOf",
    "oneOf",
    "allOf",
    "$ref",
];
/// The keywords that restrict nothing.
const NOTES: [&str; 14] = [
    "title",
    "description",
    "default",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
    "$schema",
    "$id",
    "$comment",
    "$anchor",
    "$defs",
    "definitions",
    "format",
];
/// Names of types.
const TYPES: [&str; 7] = ["array", "boolean", "integer", "null", "number", "object", "string"];
/// The maximum nesting of schemas, which also stops recursive references.
const DEEPEST: usize = 64;

/// A schema that only contains supported keywords.
#[derive(Debug, Clone, PartialEq)]
pub struct Schema {
    schema: Value,
}

impl Schema {
    /// Reads the file of `--output-schema`.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, or if it contains unsupported keywords.
    pub fn load(name: &str, cwd: &Path) -> Result<Schema, Failure> {
        let wrong = |reason: String| Failure::config(format!("--output-schema {name}: {reason}"));
        let text = std::fs::read_to_string(cwd.join(name)).map_err(|error| wrong(error.to_string()))?;
        let schema = serde_json::from_str(&text).map_err(|error| wrong(format!("invalid JSON: {error}")))?;
        Schema::new(&schema).map_err(wrong)
    }

    /// Checks a schema.
    ///
    /// # Errors
    /// Returns an error if it is not a schema, or contains what is not checked.
    pub(crate) fn new(schema: &Value) -> Result<Schema, String> {
        if !schema.is_object() {
            return Err("a schema is a JSON object".into());
        }
        Ok(Schema { schema: resolved(schema, schema, "", 0)? })
    }

    /// Returns the schema without references.
    pub(crate) fn value(&self) -> &Value {
        &self.schema
    }

    /// Returns the instructions for the model.
    pub(crate) fn instructions(&self) -> String {
        format!(
            "Your last message must be one JSON value that matches this JSON Schema, and nothing else: no text around it \
             and no code fence.\n{}",
            self.schema
        )
    }

    /// Parses and checks an answer.
    ///
    /// # Errors
    /// Returns the faults, one per line, if the answer is not JSON or does not match.
    pub fn check(&self, answer: &str) -> Result<Value, String> {
        let value = serde_json::from_str(unfenced(answer))
            .map_err(|error| format!("- the message is not valid JSON: {error}"))?;
        let faults = validate(&self.schema, &value);
        if faults.is_empty() {
            return Ok(value);
        }
        Err(faults.iter().map(|fault| format!("- {fault}")).collect::<Vec<_>>().join("\n"))
    }
}

/// Returns the content of the only code block of an answer that is JSON, or the whole answer if there is none or
/// several.
fn unfenced(answer: &str) -> &str {
    let text = answer.trim_start_matches('\u{feff}').trim();
    // The JSON itself may contain a fence in a string.
    if text.starts_with(['{', '[', '"']) {
        return text;
    }
    let is_json = |block: &&str| serde_json::from_str::<serde::de::IgnoredAny>(block).is_ok();
    let mut found = code_blocks(text).into_iter().filter(is_json);
    match (found.next(), found.next()) {
        (Some(block), None) => block,
        _ => text,
    }
}

/// Returns the contents of the fenced code blocks of a Markdown text.
fn code_blocks(text: &str) -> Vec<&str> {
    let mut blocks = Vec::new();
    // The fence that is open, and the offset after its line.
    let mut open: Option<(&str, usize)> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let line = line.trim();
        let length = line.len() - line.trim_start_matches(if line.starts_with('~') { '~' } else { '`' }).len();
        let fence = &line[..length];
        match open {
            None if length >= 3 => open = Some((fence, at)),
            Some((opened, from)) if line == fence && fence.starts_with(opened) => {
                blocks.push(text[from..start].trim());
                open = None;
            }
            _ => {}
        }
    }
    blocks
}

/// Returns `schema` with its references replaced by their targets. `at` is its path, for errors.
fn resolved(schema: &Value, root: &Value, at: &str, depth: usize) -> Result<Value, String> {
    let place = if at.is_empty() { "/" } else { at };
    let Value::Object(fields) = schema else {
        return match schema {
            Value::Bool(true) => Ok(Value::Object(Map::new())),
            _ => Err(format!("{place}: a schema is an object")),
        };
    };
    if depth > DEEPEST {
        return Err(format!("{place}: the schema contains itself, or is deeper than {DEEPEST} levels"));
    }
    if let Some(unknown) = fields.keys().find(|key| !CHECKED.contains(&key.as_str()) && !NOTES.contains(&key.as_str()))
    {
        let known = CHECKED.join(", ");
        return Err(format!("{place}: \"{unknown}\" is not supported; supported are {known}"));
    }
    let mut out = Map::new();
    let mut all = Vec::new();
    for (key, value) in fields {
        let inner = |schema: &Value, at: &str| resolved(schema, root, at, depth + 1);
        let at = format!("{at}/{key}");
        let value = match key.as_str() {
            "$defs" | "definitions" => continue,
            "$ref" => {
                let path = value.as_str().and_then(|path| path.strip_prefix('#'));
                let meant = path.and_then(|path| root.pointer(path));
                let meant = meant.ok_or_else(|| format!("{at}: {value} is not a path in this schema"))?;
                all.push(inner(meant, &at)?);
                continue;
            }
            "properties" => {
                let Value::Object(properties) = value else { return Err(format!("{at}: expected an object")) };
                let each =
                    properties.iter().map(|(name, schema)| Ok((name.clone(), inner(schema, &format!("{at}/{name}"))?)));
                Value::Object(each.collect::<Result<Map<String, Value>, String>>()?)
            }
            "type" => {
                let names = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
                if let Some(unknown) = names.iter().find(|name| name.as_str().is_none_or(|name| !TYPES.contains(&name)))
                {
                    return Err(format!("{at}: unknown type {unknown}; known: {}", TYPES.join(", ")));
                }
                value.clone()
            }
            "items" => inner(value, &at)?,
            "additionalProperties" if !value.is_boolean() => inner(value, &at)?,
            "anyOf" | "oneOf" | "allOf" => {
                let Value::Array(list) = value else { return Err(format!("{at}: expected a list")) };
                let each = list.iter().enumerate().map(|(index, schema)| inner(schema, &format!("{at}/{index}")));
                let list: Vec<Value> = each.collect::<Result<_, String>>()?;
                if key == "allOf" {
                    all.extend(list);
                    continue;
                }
                Value::Array(list)
            }
            _ => value.clone(),
        };
        out.insert(key.clone(), value);
    }
    if !all.is_empty() {
        out.insert("allOf".into(), Value::Array(all));
    }
    Ok(Value::Object(out))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn refused(schema: Value, expect: &str) {
        let reason = Schema::new(&schema).unwrap_err();
        assert!(reason.starts_with(expect), "{reason}");
    }

    #[test]
    fn unsupported_schemas_are_refused_by_keyword() {
        refused(json!([]), "a schema is a JSON object");
        refused(json!({"pattern": "a"}), "/: \"pattern\" is not supported; supported are type, enum");
        refused(json!({"properties": {"a": {"not": {}}}}), "/properties/a: \"not\" is not supported");
        refused(json!({"items": {"anyOf": [{"if": {}}]}}), "/items/anyOf/0: \"if\" is not supported");
        refused(json!({"$ref": "#/$defs/none"}), "/$ref: \"#/$defs/none\" is not a path in this schema");
        refused(json!({"$ref": "https://other.test/s"}), "/$ref: ");
        refused(json!({"items": {"$ref": "#"}}), "/items/$ref/items/");
        refused(json!({"items": false}), "/items: a schema is an object");
    }

    #[track_caller]
    fn check(schema: &Value, answer: &str, expect: Result<Value, &str>) {
        assert_eq!(Schema::new(schema).unwrap().check(answer), expect.map_err(str::to_string), "{answer}");
    }

    #[test]
    fn answers_are_checked_against_the_schema() {
        let schema = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "properties": {"files": {"type": "array", "items": {"$ref": "#/$defs/file"}}, "ok": {"type": "boolean"}},
            "required": ["files"],
            "additionalProperties": false,
            "$defs": {"file": {"type": "object", "required": ["path"], "properties": {"path": {"type": "string"}}}},
        });
        let good = json!({"files": [{"path": "a"}], "ok": true});
        check(&schema, &good.to_string(), Ok(good.clone()));
        check(&schema, &format!("\n```json\n{good}\n```\n"), Ok(good.clone()));
        check(&schema, &format!("Here are the files:\n\n```json\n{good}\n```\nThat is all."), Ok(good.clone()));
        let quoting = json!({"files": [{"path": "```"}]});
        check(&schema, &quoting.to_string(), Ok(quoting.clone()));
        for answer in [
            format!("\u{feff}{good}"),
            format!("~~~json\n{good}\n~~~"),
            format!("````json\n{good}\n````\r\n"),
            format!("I ran this:\n```sh\nls -l\n```\nThe answer:\n```json\n{good}\n```"),
        ] {
            check(&schema, &answer, Ok(good.clone()));
        }
        let fenced = format!("Here:\n````json\n{}\n````", json!({"files": [{"path": "a\n```\nb"}]}));
        check(&schema, &fenced, Ok(json!({"files": [{"path": "a\n```\nb"}]})));
        let two = format!("```json\n{good}\n```\nor\n```json\n{good}\n```");
        check(&schema, &two, Err("- the message is not valid JSON: expected value at line 1 column 1"));
        check(&schema, "{\"files\": [{}]}", Err("- /files/0/path: is required"));
        check(&schema, "{\"ok\": 1}", Err("- /files: is required\n- /ok: must be boolean, not number"));
        check(&schema, "Here it is: {}", Err("- the message is not valid JSON: expected value at line 1 column 1"));
        check(&schema, "", Err("- the message is not valid JSON: EOF while parsing a value at line 1 column 0"));
    }
}
