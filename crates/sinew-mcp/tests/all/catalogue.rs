//! Tests of the tools that are part of every request, and of the search.

use proptest::prelude::*;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use sinew_mcp::Definition;
use sinew_mcp::catalogue::{CatalogueServer, Expose, ToolIndex, provider_schema, select_front};

fn tool(name: &str, description: &str) -> Definition {
    definition(json!({"name": name, "description": description, "inputSchema": {"type": "object", "properties": {}}}))
}

fn definition(value: Value) -> Definition {
    Definition::new(&to_raw_value(&value).unwrap(), "name").unwrap()
}

fn server(name: &str, tools: Option<Vec<Definition>>) -> CatalogueServer {
    CatalogueServer { name: name.to_string(), tools, ..CatalogueServer::default() }
}

/// Servers with the same number of tools each, of about 300 bytes.
fn many(servers: usize, tools: usize) -> Vec<CatalogueServer> {
    let text = "Does something that takes a few words to describe, as descriptions of tools do. ".repeat(3);
    let tools = |of: usize| (0..tools).map(|index| tool(&format!("do_{of}_{index}"), &text)).collect();
    (0..servers)
        .map(|of| CatalogueServer {
            description: Some(format!("things of kind {of}, in some words that say what they are good for")),
            ..server(&format!("server{of}"), Some(tools(of)))
        })
        .collect()
}

#[test]
fn a_few_small_tools_are_in_the_front() {
    let servers = [server("a", Some(vec![tool("x", "X"), tool("y", "Y")])), server("b", Some(vec![tool("z", "Z")]))];
    let front = select_front(&servers, &[]);
    let names: Vec<&str> = front.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["mcp_a_x", "mcp_a_y", "mcp_b_z"]);
    assert_eq!(front.search, None);
    assert_eq!(front.tools[0].schema, json!({"type": "object", "properties": {}}));
}

#[test]
fn without_servers_the_front_is_empty() {
    assert_eq!(select_front(&[], &[]), Default::default());
    let off = CatalogueServer { expose: Expose::Off, ..server("a", Some(vec![tool("x", "")])) };
    assert_eq!(select_front(std::slice::from_ref(&off), &[]), Default::default());
    assert!(ToolIndex::new(&[off], &[]).search("x").is_empty());
}

#[track_caller]
fn check_deferred(servers: &[CatalogueServer], text: &str) {
    let front = select_front(servers, &[]);
    assert_eq!(front.tools, []);
    assert_eq!(
        front.search.unwrap(),
        format!("Find tools of other servers by what they do; they are not listed here. Servers: {text}.")
    );
}

#[test]
fn unknown_or_large_tool_lists_are_deferred() {
    check_deferred(&[server("a", Some(vec![tool("x", "X")])), server("b", None)], "a, b");
    check_deferred(&[server("a", Some((0..11).map(|index| tool(&index.to_string(), "")).collect()))], "a");
    check_deferred(&[server("a", Some(vec![tool("x", &"x".repeat(4100))]))], "a");
    let chosen = CatalogueServer { expose: Expose::Deferred, ..server("a", Some(vec![tool("x", "X")])) };
    check_deferred(&[chosen], "a");
    let told = CatalogueServer {
        instructions: Some("\n Issues\u{1b}[31m and pull requests.\nMore".into()),
        ..server("github", None)
    };
    let named = CatalogueServer { description: Some("errors".into()), ..told.clone() };
    check_deferred(&[told, named], "github (Issues[31m and pull requests), github (errors)");
}

#[test]
fn twenty_servers_need_at_most_four_hundred_tokens() {
    let front = select_front(&many(20, 50), &[]);
    let bytes = front.search.unwrap().len() + sinew_mcp::catalogue::CALL_TOOL.len();
    assert!(front.tools.is_empty() && bytes / 4 <= 400, "{} tokens", bytes / 4);
}

#[test]
fn tools_that_a_provider_would_reject_are_not_in_the_front() {
    let odd = |schema: Value| definition(json!({"name": "odd", "inputSchema": schema}));
    for schema in [
        json!({"oneOf": [{"type": "object"}]}),
        json!({"type": "string"}),
        json!(false),
        json!([]),
        json!({"$ref": "https://elsewhere/schema.json"}),
        json!({"type": "object", "properties": {"a": {"$ref": "https://elsewhere/schema.json"}}}),
        json!({"type": "object", "description": "x".repeat(2_000_000)}),
    ] {
        let server = CatalogueServer { expose: Expose::Direct, ..server("a", Some(vec![odd(schema), tool("x", "")])) };
        let servers = [server];
        let front = select_front(&servers, &[]);
        assert_eq!(front.tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), ["mcp_a_x"]);
        assert!(front.search.is_some(), "it is found by search");
        let index = ToolIndex::new(&servers, &[]);
        assert_eq!(index.get("mcp_a_odd").unwrap().tool.name, "odd");
    }
    let recursive =
        json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"$ref": "#/$defs/n"}}});
    assert_eq!(provider_schema(&recursive), Some(recursive.clone()));
    assert_eq!(provider_schema(&Value::Null), Some(json!({"type": "object", "properties": {}})));
    let mut deep = json!({});
    for _ in 0..100 {
        deep = json!({"properties": {"a": deep}});
    }
    assert_eq!(provider_schema(&deep), None);
}

#[test]
fn invalid_keywords_are_removed_from_a_schema_at_every_depth() {
    let check = |nested: Value, expect: Value| {
        let whole = |schema: &Value| json!({"type": "object", "properties": {"a": schema}, "$defs": {"d": schema}});
        assert_eq!(provider_schema(&whole(&nested)), Some(whole(&expect)), "{nested}");
        // A schema in every keyword that contains schemas.
        for key in ["items", "not", "additionalProperties"] {
            let inside = |schema: &Value| json!({"type": "object", "properties": {"a": {key: schema}}});
            assert_eq!(provider_schema(&inside(&nested)), Some(inside(&expect)), "{key}: {nested}");
        }
        let inside = |schema: &Value| json!({"type": "object", "properties": {"a": {"anyOf": [schema]}}});
        assert_eq!(provider_schema(&inside(&nested)), Some(inside(&expect)), "anyOf: {nested}");
    };
    check(json!({"type": "object", "required": null}), json!({"type": "object"}));
    check(json!({"type": "string", "required": true}), json!({"type": "string"}));
    check(json!({"required": ["a", 1, null]}), json!({"required": ["a"]}));
    check(json!({"properties": {"b": true, "c": null, "d": {}}}), json!({"properties": {"b": {}, "c": {}, "d": {}}}));
    check(json!({"properties": {"b": false}}), json!({"properties": {}}));
    check(json!({"properties": null, "items": null}), json!({}));
    check(json!({"items": true}), json!({"items": {}}));
    check(json!({"items": [true, {"type": null}]}), json!({"items": [{}, {}]}));
    check(json!({"anyOf": []}), json!({}));
    check(json!({"enum": null, "description": null, "type": null, "minimum": null}), json!({}));
    for valid in [
        json!({"default": null, "enum": ["a", null], "type": ["string", "null"]}),
        json!({"additionalProperties": false, "properties": {"required": {"type": "string"}}}),
        json!({"properties": {"type": {"enum": ["a"]}, "items": {"type": "array", "items": {"type": "string"}}}}),
    ] {
        check(valid.clone(), valid);
    }
    let top = json!({"type": null, "required": null, "properties": null, "enum": null});
    assert_eq!(provider_schema(&top), Some(json!({"type": "object", "properties": {}})));
}

fn library() -> Vec<CatalogueServer> {
    let with_parameter = definition(json!({
        "name": "createIssue", "description": "Opens an issue",
        "inputSchema": {"type": "object", "properties": {"labels": {"type": "array", "description": "Comma separated, for triage"}}},
    }));
    vec![
        CatalogueServer {
            instructions: Some("Ask before you write.".into()),
            ..server(
                "github",
                Some(vec![with_parameter, tool("list_issues", "Lists issues"), tool("merge", "Merges a pull request")]),
            )
        },
        server("sentry", Some(vec![tool("search", "Finds errors and issues"), tool("resolve", "Closes an issue")])),
    ]
}

#[track_caller]
fn check_search(query: &str, expect: &[&str]) {
    let servers = library();
    let index = ToolIndex::new(&servers, &[]);
    let names = |query: &str| index.search(query).iter().map(|found| found.name.to_string()).collect::<Vec<_>>();
    assert_eq!(names(query), expect);
    assert_eq!(names(query), expect, "the same again");
}

#[test]
fn finds_tools_by_words_in_names_and_descriptions() {
    check_search("triage", &["mcp_github_createissue"]);
    check_search("labels", &["mcp_github_createissue"]);
    check_search("MERGE", &["mcp_github_merge"]);
    check_search("pull requests", &["mcp_github_merge"]);
    check_search(
        "errors issue",
        &["mcp_sentry_search", "mcp_github_createissue", "mcp_github_list_issues", "mcp_sentry_resolve"],
    );
    check_search("server:sentry", &["mcp_sentry_search", "mcp_sentry_resolve"]);
    check_search("server:sentry issue", &["mcp_sentry_resolve", "mcp_sentry_search"]);
    check_search("name:merge", &["mcp_github_merge"]);
    check_search("name:mcp_github_merge x", &[]);
    check_search("nothing", &[]);
    check_search("", &[]);
    check_search("  \u{1b}  ", &[]);
}

#[test]
fn a_search_returns_definitions_instructions_and_further_names() {
    let servers = library();
    let index = ToolIndex::new(&servers, &[]);
    let (text, loaded) = index.render(&index.search("issue"), 2, &servers);
    assert_eq!(loaded, [("mcp_github_createissue".to_string(), 1), ("mcp_github_list_issues".to_string(), 2)]);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "Instructions of github: Ask before you write.");
    assert!(
        lines[1].starts_with(r#"{"name":"mcp_github_createissue","description":"Opens an issue","parameters":{"#),
        "{text}"
    );
    assert_eq!(lines[3], "Also found: mcp_sentry_resolve, mcp_sentry_search.");
}

#[test]
fn a_search_result_stays_within_its_token_limit() {
    let large = |index: usize| tool(&format!("do_{index}"), &"words ".repeat(1000));
    let servers = [server("s", Some((0..100).map(large).collect()))];
    let index = ToolIndex::new(&servers, &[]);
    let (text, loaded) = index.render(&index.search("words"), 100, &servers);
    assert!(text.len() / 4 <= 4000, "{} tokens", text.len() / 4);
    assert_eq!(loaded.len(), 2);
    assert!(text.ends_with("and 78 more.\n"), "{text}");
}

#[test]
fn suggests_similar_names_for_a_missing_tool() {
    let servers = library();
    let index = ToolIndex::new(&servers, &[]);
    assert_eq!(
        index.near_names("mcp_github_merges"),
        ["mcp_github_merge", "mcp_github_createissue", "mcp_github_list_issues"]
    );
    let servers = many(20, 50);
    assert_eq!(ToolIndex::new(&servers, &[]).near_names("mcp_server_do").len(), 10);
}

#[test]
fn definitions_keep_the_bytes_of_the_server() {
    let raw = r#"{ "name":"x",  "inputSchema":{"type":"object"},"z":1.0,"a":1e3 }"#;
    let raw: Box<RawValue> = serde_json::from_str(raw).unwrap();
    assert_eq!(Definition::new(&raw, "name").unwrap().raw.get(), raw.get());
}

proptest! {
    /// The front depends only on files and the cache, not on anything that happens in a session.
    #[test]
    fn the_front_depends_only_on_files_and_cache(
        shape in proptest::collection::vec((0_usize..5, any::<bool>(), 0_usize..4), 0..6),
    ) {
        let servers: Vec<CatalogueServer> = shape
            .iter()
            .enumerate()
            .map(|(index, (tools, known, expose))| CatalogueServer {
                expose: [Expose::Auto, Expose::Direct, Expose::Deferred, Expose::Off][*expose],
                ..server(&format!("s{index}"), known.then(|| (0..*tools).map(|tool| self::tool(&tool.to_string(), "")).collect()))
            })
            .collect();
        let front = select_front(&servers, &["read"]);
        prop_assert_eq!(&select_front(&servers, &["read"]), &front);
        let index = ToolIndex::new(&servers, &["read"]);
        for tool in &front.tools {
            let found = index.get(&tool.name).unwrap();
            prop_assert_eq!((found.server, &found.tool.name), (tool.server.as_str(), &tool.tool));
        }
    }
}
