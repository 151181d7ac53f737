//! Changes one key in the text of a settings file, and leaves the rest unchanged: comments, order, white space.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};
use serde_json::Value;

/// The text may begin with a byte order mark.
const MARK: char = '\u{feff}';

/// Returns the text with `path` set to `value`. Missing objects on the path are created; other values on it are
/// replaced.
///
/// # Errors
/// Returns an error if the text is not a JSON object with comments.
pub(super) fn set(text: &str, path: &str, value: &Value) -> Result<String, String> {
    let body = text.trim_start_matches(MARK);
    let options = ParseOptions { allow_loose_object_property_names: false, ..ParseOptions::default() };
    let root = CstRootNode::parse(body, &options).map_err(|error| error.to_string())?;
    let mut object = root.object_value_or_create().ok_or("not an object")?;
    let mut words = path.split('.').peekable();
    while let Some(word) = words.next() {
        // If a name occurs twice, the last member is used.
        let member =
            object.properties().into_iter().rev().find(|member| {
                member.name().and_then(|name| name.decoded_value().ok()).is_some_and(|name| name == word)
            });
        let is_last = words.peek().is_none();
        match (member, is_last) {
            (Some(member), true) => member.set_value(input(value)),
            (None, true) => drop(object.append(word, input(value))),
            (Some(member), false) => object = member.object_value_or_set(),
            (None, false) => object = below(&object, word)?,
        }
    }
    Ok(format!("{}{root}", &text[..text.len() - body.len()]))
}

/// Returns the text without `path`, and without the parent objects that become empty.
///
/// # Errors
/// Returns an error if the text is not a JSON object with comments.
pub(super) fn unset(text: &str, path: &str) -> Result<String, String> {
    let body = text.trim_start_matches(MARK);
    if body.trim().is_empty() {
        return Ok(text.to_string());
    }
    let options = ParseOptions { allow_loose_object_property_names: false, ..ParseOptions::default() };
    let root = CstRootNode::parse(body, &options).map_err(|error| error.to_string())?;
    let object = root.object_value().ok_or("not an object")?;
    remove(&object, path);
    Ok(format!("{}{root}", &text[..text.len() - body.len()]))
}

/// Removes the members at `path`, including duplicates.
fn remove(object: &CstObject, path: &str) {
    let (word, rest) = path.split_once('.').map_or((path, None), |(word, rest)| (word, Some(rest)));
    for member in object.properties() {
        if member.name().and_then(|name| name.decoded_value().ok()).is_none_or(|name| name != word) {
            continue;
        }
        let inner = member.object_value();
        if let (Some(rest), Some(inner)) = (rest, &inner) {
            remove(inner, rest);
        }
        if rest.is_none() || inner.is_some_and(|inner| inner.properties().is_empty()) {
            member.remove();
        }
    }
}

fn below(object: &CstObject, name: &str) -> Result<CstObject, String> {
    object
        .append(name, CstInputValue::Object(Vec::new()))
        .object_value()
        .ok_or_else(|| format!("{name}: not an object"))
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(list) => CstInputValue::Array(list.iter().map(input).collect()),
        Value::Object(members) => {
            CstInputValue::Object(members.iter().map(|(name, value)| (name.clone(), input(value))).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;
    use sinew_llm::models::plain_json;

    use super::*;

    #[track_caller]
    fn check(text: &str, path: &str, value: Value, expect: &str) {
        assert_eq!(set(text, path, &value).as_deref(), Ok(expect), "{text} {path}");
    }

    #[test]
    fn one_key_changes_and_the_rest_stays() {
        check("", "a.b", json!(1), "{\n  \"a\": {\n    \"b\": 1\n  }\n}\n");
        check("{}\n", "a", json!(1), "{\n  \"a\": 1\n}\n");
        check("{ \"a\" : 1 , \"b\":2 }", "a", json!("x"), "{ \"a\" : \"x\" , \"b\":2 }");
        check("{\n  \"a\": 1 // one\n}\n", "b", json!(2), "{\n  \"a\": 1, // one\n  \"b\": 2\n}\n");
        check("{\n  \"a\": 1, // one\n}\n", "b", json!(2), "{\n  \"a\": 1, // one\n  \"b\": 2,\n}\n");
        check("{\"a\":1}", "b.c", json!(true), "{\n  \"a\":1,\n  \"b\": {\n    \"c\": true\n  }\n}");
        check(
            "// head\n{\n  \"r\": {\n    /* x */ \"n\": [1, {\"n\": 2}],\n    \"e\": false\n  }\n}\n",
            "r.n",
            json!(5),
            "// head\n{\n  \"r\": {\n    /* x */ \"n\": 5,\n    \"e\": false\n  }\n}\n",
        );
        check(
            "{\n  \"r\": {\n    \"e\": 1\n  }\n}",
            "r.n",
            json!(5),
            "{\n  \"r\": {\n    \"e\": 1,\n    \"n\": 5\n  }\n}",
        );
        check("{\"r\": 3}", "r.n", json!(5), "{\"r\": {\n    \"n\": 5\n  }}");
        check("\u{feff}{\"a\": \"}\\\"\"}", "a", json!(1), "\u{feff}{\"a\": 1}");
        // If a key occurs twice, the last one is changed.
        check("{\"a\": 1, \"a\": 2}", "a", json!(3), "{\"a\": 1, \"a\": 3}");
    }

    #[test]
    fn texts_other_than_objects_are_refused() {
        for text in [
            "[]",
            "{",
            "{\"a\"}",
            "{\"a\": }",
            "{\"a\": 1",
            "{a: 1}",
            "{\"a\": é}",
            "nonsense",
            "{\"a\": \"",
            "{\"a\": 1 2}",
        ] {
            assert!(set(text, "b", &json!(1)).is_err(), "{text}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        /// Parsing the result returns the new value, and everything else unchanged.
        #[test]
        fn parsing_the_result_returns_the_change(
            keys in prop::collection::vec(("[a-d]", 0..4_u8), 0..5),
            path in prop::collection::vec("[a-d]", 1..4),
            pretty in any::<bool>(),
        ) {
            let mut before = json!({});
            for (key, kind) in keys {
                before[key] = match kind { 0 => json!(1), 1 => json!({"a": {"b": "x"}}), 2 => json!([1, {"a": 2}]), _ => json!("t//x") };
            }
            let text = if pretty { format!("{before:#}") } else { before.to_string() };
            let written = set(&text, &path.join("."), &json!(7)).unwrap();
            let after: Value = serde_json::from_str(&plain_json(&written)).unwrap();
            let mut place = &mut before;
            for word in &path {
                if !place.is_object() {
                    *place = json!({});
                }
                place = &mut place[word];
            }
            *place = json!(7);
            prop_assert_eq!(after, before);
        }
    }
}
