//! Random input in place of what servers and clients send: nothing panics or hangs. `PROPTEST_CASES` sets the number of
//! cases.

use proptest::prelude::*;
use serde_json::{Value, json};
use sinew_jsonrpc::message;
use sinew_llm::sse::SseDecoder;
use sinew_mcp::catalogue::provider_schema;
use sinew_mcp::model::Definition;
use sinew_mcp::names::name_tools;
use sinew_mcp::oauth::Challenge;

/// Generates bytes that contain the keywords of a format often enough to get past its first line.
fn mostly(words: &'static [&'static str]) -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        4 => prop::sample::select(words).prop_map(|word| word.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..8),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

const HEADER: &[&str] = &[
    "Bearer",
    " ",
    ",",
    "=",
    "\"",
    "\\",
    "realm",
    "scope",
    "resource_metadata",
    "error",
    "insufficient_scope",
    "Basic",
    "https://a.example/x",
    "é",
    "\t",
];
const EVENTS: &[&str] = &["data:", "event:", "id:", "retry:", ":", "\n", "\r", "\r\n", " ", "{}", "\u{feff}", "5", "é"];
const FRAMES: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"jsonrpc\":\"2.0\"",
    "\"id\":1",
    "\"id\":null",
    "\"method\":\"ping\"",
    "\"params\":{}",
    "\"result\":{}",
    "\"error\":{\"code\":1,\"message\":\"\"}",
    "1e999",
    "\"\\ud800\"",
    " ",
];

fn schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        prop::sample::select(vec!["object", "string", "#", "#/$defs/a", "https://a.example/s", "é"])
            .prop_map(Value::from),
    ];
    let keys = prop::sample::select(vec![
        "type",
        "properties",
        "$ref",
        "$defs",
        "a",
        "oneOf",
        "items",
        "enum",
        "required",
        "x-mcp-header",
        "const",
    ]);
    leaf.prop_recursive(8, 64, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((keys.clone(), inner), 0..6)
                .prop_map(|members| members.into_iter().map(|(key, value)| (key.to_string(), value)).collect()),
        ]
    })
}

proptest! {
    #[test]
    fn parses_any_login_challenge_without_panicking(bytes in mostly(HEADER)) {
        let text = String::from_utf8_lossy(&bytes);
        let _ = Challenge::parse(&text);
    }

    #[test]
    fn events_do_not_depend_on_chunk_boundaries(bytes in mostly(EVENTS), cuts in prop::collection::vec(0usize..64, 0..6)) {
        let read = |pieces: &[&[u8]]| {
            let mut events = Vec::new();
            let mut decoder = SseDecoder::new();
            for piece in pieces {
                let fed = decoder.feed(piece, |event| events.push((event.id.clone(), event.retry, event.data.to_string())));
                if fed.is_err() {
                    break;
                }
            }
            events
        };
        let mut at: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
        at.extend([0, bytes.len()]);
        at.sort_unstable();
        let pieces: Vec<&[u8]> = at.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
        prop_assert_eq!(read(&[&bytes]), read(&pieces));
    }

    #[test]
    fn frames_are_messages_or_errors(bytes in mostly(FRAMES), depth in 1usize..8) {
        if let Ok(messages) = message::parse(&bytes, depth) {
            prop_assert!(!messages.is_empty() || bytes.trim_ascii() == b"[]");
        }
    }

    #[test]
    fn schemas_are_acceptable_to_providers_or_left_out(schema in schema()) {
        if let Some(fit) = provider_schema(&schema) {
            prop_assert_eq!(&fit["type"], "object");
            prop_assert!(fit["properties"].is_object());
            let outside = fit.to_string().matches("\"$ref\":\"https").count();
            prop_assert_eq!(outside, 0);
            // An accepted schema is accepted again without changes.
            prop_assert_eq!(provider_schema(&fit), Some(fit.clone()));
        }
        let raw = serde_json::value::to_raw_value(&schema).unwrap();
        let _ = Definition::new(&raw, "name");
    }

    #[test]
    fn names_are_valid_unique_and_deterministic(pairs in prop::collection::vec((".{0,40}", ".{0,80}"), 0..12)) {
        let mut pairs: Vec<(&str, &str)> = pairs.iter().map(|(server, tool)| (server.as_str(), tool.as_str())).collect();
        pairs.sort_unstable();
        pairs.dedup();
        let names = name_tools(&pairs, &["read", "mcp_a_b"]);
        prop_assert_eq!(&names, &name_tools(&pairs, &["read", "mcp_a_b"]));
        let mut distinct = names.clone();
        distinct.sort();
        distinct.dedup();
        prop_assert_eq!(distinct.len(), pairs.len());
        for name in names {
            prop_assert!(name.len() <= 64 && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-'), "{}", name);
        }
    }
}
