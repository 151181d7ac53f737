//! The headers of modern requests over HTTP that repeat values for intermediaries: the method, the name, and the
//! arguments that a tool's schema marks with `x-mcp-header`.

use std::collections::HashSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

const MARK: &str = "x-mcp-header";

/// An argument that is repeated in a header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ParamHeader {
    /// The path from the arguments to the value.
    path: Vec<String>,
    /// The header's name after `Mcp-Param-`.
    name: String,
}

/// Returns the marked arguments of a tool's input schema.
///
/// # Errors
/// Returns the reason if a mark is not a valid header name, occurs twice, or is at an optional location or on a value
/// without a unique spelling.
pub(crate) fn param_headers(schema: &Value) -> Result<Vec<ParamHeader>, String> {
    let mut found = Vec::new();
    collect(schema, Some(&mut Vec::new()), &mut found)?;
    let mut names = HashSet::new();
    match found.iter().find(|header| !names.insert(header.name.to_ascii_lowercase())) {
        Some(twice) => Err(format!("the header \"{}\" is used twice", twice.name)),
        None => Ok(found),
    }
}

/// Walks a schema. `path` is `Some` as long as only `properties` were entered.
fn collect(schema: &Value, mut path: Option<&mut Vec<String>>, found: &mut Vec<ParamHeader>) -> Result<(), String> {
    let members = match schema {
        Value::Object(members) => members,
        Value::Array(list) => return list.iter().try_for_each(|item| collect(item, None, found)),
        _ => return Ok(()),
    };
    if let Some(name) = members.get(MARK) {
        let Some(path) = path.as_deref().filter(|path| !path.is_empty()) else {
            return Err(format!("{MARK} is not at an argument"));
        };
        let name = name.as_str().filter(|name| is_token(name));
        let name = name.ok_or_else(|| format!("{MARK} of \"{}\" is not a header name", path.join(".")))?;
        if !matches!(members.get("type").and_then(Value::as_str), Some("string" | "integer" | "boolean")) {
            return Err(format!(
                "{MARK} of \"{}\" requires a value of type string, integer or boolean",
                path.join(".")
            ));
        }
        found.push(ParamHeader { path: path.clone(), name: name.to_string() });
    }
    for (key, value) in members {
        match key.as_str() {
            // These keywords contain data and names instead of schemas.
            MARK | "default" | "const" | "enum" | "examples" | "required" | "dependentRequired" => {}
            "properties" => {
                for (name, property) in value.as_object().into_iter().flatten() {
                    match path.as_deref_mut() {
                        Some(path) => {
                            path.push(name.clone());
                            collect(property, Some(path), found)?;
                            path.pop();
                        }
                        None => collect(property, None, found)?,
                    }
                }
            }
            "$defs" | "definitions" | "patternProperties" | "dependentSchemas" => {
                for schema in value.as_object().into_iter().flat_map(Map::values) {
                    collect(schema, None, found)?;
                }
            }
            _ => collect(value, None, found)?,
        }
    }
    Ok(())
}

/// Returns the headers of a request. `params` are the parameters in the body.
pub(crate) fn request_headers(
    method: &str,
    params: &Map<String, Value>,
    marks: &[ParamHeader],
) -> Vec<(String, String)> {
    let mut headers = vec![("Mcp-Method".to_string(), method.to_string())];
    let name = match method {
        "tools/call" | "prompts/get" => params.get("name"),
        "resources/read" => params.get("uri"),
        _ => None,
    };
    if let Some(name) = name.and_then(Value::as_str) {
        headers.push(("Mcp-Name".to_string(), encode(name)));
    }
    for mark in marks {
        let arguments = params.get("arguments").unwrap_or(&Value::Null);
        let value = mark.path.iter().try_fold(arguments, |value, key| value.get(key));
        let text = match value {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Bool(value)) => value.to_string(),
            Some(Value::Number(number)) => number.to_string(),
            _ => continue,
        };
        headers.push((format!("Mcp-Param-{}", mark.name), encode(&text)));
    }
    headers
}

/// Encodes a value for a header: visible ASCII and inner spaces are unchanged, everything else is Base64 between
/// markers.
pub(crate) fn encode(value: &str) -> String {
    let plain = value.bytes().all(|byte| (0x20..0x7F).contains(&byte)) && value.trim() == value;
    let looks_encoded = value.starts_with("=?base64?") && value.ends_with("?=");
    match plain && !looks_encoded {
        true => value.to_string(),
        false => format!("=?base64?{}?=", STANDARD.encode(value)),
    }
}

/// Decodes a value of [`encode`]; `None` if the text between the markers is invalid.
pub(crate) fn decode(value: &str) -> Option<String> {
    match value.strip_prefix("=?base64?").and_then(|value| value.strip_suffix("?=")) {
        Some(inner) => String::from_utf8(STANDARD.decode(inner).ok()?).ok(),
        None => Some(value.to_string()),
    }
}

fn is_token(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[track_caller]
    fn check(schema: Value, expect: &[(&str, &str)]) {
        let found = param_headers(&schema).unwrap();
        let found: Vec<(String, &str)> =
            found.iter().map(|header| (header.path.join("."), header.name.as_str())).collect();
        let found: Vec<(&str, &str)> = found.iter().map(|(path, name)| (path.as_str(), *name)).collect();
        assert_eq!(found, expect);
    }

    #[track_caller]
    fn check_bad(schema: Value, expect: &str) {
        let reason = param_headers(&schema).unwrap_err();
        assert!(reason.contains(expect), "{reason}");
    }

    fn property(schema: Value) -> Value {
        json!({"type": "object", "properties": {"a": schema}})
    }

    #[test]
    fn finds_header_marks_in_nested_properties() {
        check(json!({}), &[]);
        check(json!(true), &[]);
        check(property(json!({"type": "string", "x-mcp-header": "Region"})), &[("a", "Region")]);
        check(property(property(json!({"type": "integer", "x-mcp-header": "N"}))), &[("a.a", "N")]);
        check(property(json!({"default": {"x-mcp-header": "no"}, "const": {"x-mcp-header": 1}})), &[]);
        check(json!({"properties": {"x-mcp-header": {"type": "string"}}}), &[]);
    }

    #[test]
    fn rejects_invalid_header_marks() {
        check_bad(json!({"type": "string", "x-mcp-header": "A"}), "is not at an argument");
        check_bad(property(json!({"type": "string", "x-mcp-header": ""})), "is not a header name");
        check_bad(property(json!({"type": "string", "x-mcp-header": "a b"})), "is not a header name");
        check_bad(property(json!({"type": "string", "x-mcp-header": 5})), "is not a header name");
        check_bad(
            property(json!({"type": "object", "x-mcp-header": "A"})),
            "requires a value of type string, integer or boolean",
        );
        check_bad(
            property(json!({"type": "number", "x-mcp-header": "A"})),
            "requires a value of type string, integer or boolean",
        );
        let item = json!({"type": "string", "x-mcp-header": "A"});
        check_bad(property(json!({"type": "array", "items": item})), "is not at an argument");
        check_bad(json!({"oneOf": [property(item.clone())]}), "is not at an argument");
        check_bad(json!({"$defs": {"x": property(item.clone())}}), "is not at an argument");
        let other = json!({"type": "string", "x-mcp-header": "a"});
        check_bad(json!({"properties": {"a": item, "b": other}}), "used twice");
    }

    #[test]
    fn headers_repeat_arguments_of_the_body() {
        let schema = json!({"properties": {
            "region": {"type": "string", "x-mcp-header": "Region"}, "n": {"type": "integer", "x-mcp-header": "N"},
            "gone": {"type": "string", "x-mcp-header": "Gone"},
        }});
        let params = json!({"name": "täg", "arguments": {"region": " x", "n": 42}});
        let marks = param_headers(&schema).unwrap();
        let headers = request_headers("tools/call", params.as_object().unwrap(), &marks);
        let expect = [
            ("Mcp-Method", "tools/call"),
            ("Mcp-Name", "=?base64?dMOkZw==?="),
            ("Mcp-Param-Region", "=?base64?IHg=?="),
            ("Mcp-Param-N", "42"),
        ];
        assert_eq!(headers, expect.map(|(name, value)| (name.to_string(), value.to_string())));
    }

    proptest! {
        #[test]
        fn header_values_round_trip(value in prop_oneof![any::<String>(), "=\\?base64\\?[a-z]*\\?="]) {
            let header = encode(&value);
            prop_assert!(http::HeaderValue::from_str(&header).is_ok());
            prop_assert_eq!(header.trim(), &header);
            prop_assert_eq!(decode(&header), Some(value));
        }
    }
}
