use proptest::prelude::*;
use serde_json::json;

use super::*;

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "@type": {"type": "string", "description": "the kind"},
            "plain": {"type": "object", "properties": {"filter[bundleId]": {"type": "array", "items": {
                "type": "object", "properties": {"日本": true, "x y": {"$ref": "#/$defs/z"}}, "required": ["x y"]}}}},
            "properties": {"type": "object", "properties": {"a/b": {"type": "string"}}},
            "again": {"$ref": "#/properties/plain/properties/filter%5BbundleId%5D"},
            "slash": {"$ref": "#/properties/properties/properties/a~1b"},
        },
        "required": ["@type", "plain"],
        "dependentRequired": {"@type": ["plain", "@type"]},
        "anyOf": [{"properties": {"": {"enum": ["@type"]}}}],
        "$defs": {"@type": {"properties": {"@type": {"const": {"@type": 1}}}}},
        "default": {"@type": 1},
    })
}

#[test]
fn renames_only_properties_and_updates_references() {
    let names = PropertyNames::of_schema(&schema()).unwrap();
    let wire = |name: &str| names.to_wire[name].clone();
    let sent = names.schema_to_wire(&schema());
    let kind = &sent["properties"][wire("@type")];
    assert_eq!(kind["description"], "the kind Named \"@type\" in the tool's own words.");
    assert_eq!(sent["required"], json!([wire("@type"), "plain"]));
    assert_eq!(sent["dependentRequired"], json!({wire("@type"): ["plain", wire("@type")]}));
    let items = &sent["properties"]["plain"]["properties"][wire("filter[bundleId]")]["items"];
    assert_eq!(items["required"], json!([wire("x y")]));
    assert_eq!(items["properties"][wire("日本")], true);
    assert!(sent["properties"]["properties"]["properties"].get(wire("a/b")).is_some(), "{sent}");
    let again = format!("#/properties/plain/properties/{}", wire("filter[bundleId]"));
    assert_eq!(sent["properties"]["again"]["$ref"], json!(again));
    let slash = format!("#/properties/properties/properties/{}", wire("a/b"));
    assert_eq!(sent["properties"]["slash"]["$ref"], json!(slash));
    // Values are not names.
    assert_eq!(sent["default"], schema()["default"]);
    assert_eq!(sent["$defs"]["@type"]["properties"][wire("@type")]["const"], json!({"@type": 1}));
    assert_eq!(sent["anyOf"][0]["properties"][wire("")]["enum"], json!(["@type"]));
    assert_eq!(PropertyNames::of_schema(&sent), None);
}

#[test]
fn wire_names_do_not_collide_with_other_properties() {
    let first = PropertyNames::of_schema(&json!({"properties": {"a b": {}}})).unwrap();
    let taken = first.to_wire["a b"].clone();
    let schema = json!({"properties": {"a b": {}, "a_b": {}, "a[b": {}, "a]b": {}, taken.clone(): {}}});
    let names = PropertyNames::of_schema(&schema).unwrap();
    assert_ne!(names.to_wire["a b"], taken);
    assert_eq!((names.to_wire.len(), names.from_wire.len()), (3, 3));
    assert_eq!(names.schema_to_wire(&schema)["properties"].as_object().unwrap().len(), 5);
}

#[test]
fn keeps_accepted_names() {
    for schema in [json!({"properties": {"a.b-C_9": {}}}), json!(true), json!({}), json!({"enum": ["@type"]})] {
        assert_eq!(PropertyNames::of_schema(&schema), None, "{schema}");
    }
}

proptest! {
    #[test]
    fn arguments_round_trip(
        keys in prop::collection::btree_set(prop_oneof!["[a\\[\\]@ é.]{0,4}", "[a-c]{60,70}"], 1..6)
    ) {
        let inner: Map<String, Value> = keys.iter().map(|key| (key.clone(), json!({}))).collect();
        let mut properties = inner.clone();
        properties.insert("nested".into(), json!({"type": "array", "items": {"properties": inner}}));
        let schema = json!({"type": "object", "properties": properties});
        let given: Map<String, Value> = keys.iter().map(|key| (key.clone(), json!(key))).collect();
        let mut arguments = given.clone();
        arguments.insert("nested".into(), json!([given]));
        let arguments = Value::Object(arguments);
        prop_assert_eq!(PropertyNames::of_schema(&schema).is_some(), has_renamed(&arguments));
        if let Some(names) = PropertyNames::of_schema(&schema) {
            let sent = names.arguments_to_wire(&arguments);
            prop_assert!(!has_renamed(&sent), "{}", sent);
            prop_assert!(PropertyNames::of_schema(&names.schema_to_wire(&schema)).is_none());
            prop_assert_eq!(names.arguments_of_wire(&sent), arguments);
        }
    }
}
