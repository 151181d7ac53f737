use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

/// Checks that both parsers agree if the fast one succeeds.
#[track_caller]
fn agrees(text: &str) -> Option<AgentMessage> {
    let CommonMessage(message) = serde_json::from_str(text).ok()?;
    assert_eq!(serde_json::from_str::<AgentMessage>(text).ok().as_ref(), Some(&message), "{text}");
    Some(message)
}

#[test]
fn parses_everything_that_the_agent_writes() {
    let usage = json!({"input": 1, "output": 2, "cacheRead": 3, "cacheWrite": 4, "totalTokens": 10,
        "cost": {"input": 0.1, "output": 0.2, "cacheRead": 0.0, "cacheWrite": 0.0, "total": 0.3}});
    for message in [
        json!({"role": "user", "content": "h\u{e9} \"\n", "timestamp": 1}),
        json!({"timestamp": 1, "content": [{"data": "ab", "mimeType": "image/png", "type": "image"}], "role": "user"}),
        json!({"role": "assistant", "content": [
            {"type": "thinking", "thinking": "t", "thinkingSignature": "s", "redacted": true},
            {"type": "text", "text": "a", "signature": null},
            {"type": "toolCall", "id": "c", "name": "ls", "arguments": {"b": [1.5, -2, {"c": null}], "a": 1e300}}],
            "api": "a", "provider": "p", "model": "m", "usage": usage, "stopReason": "toolUse", "timestamp": 2}),
        json!({"role": "assistant", "content": [], "stopReason": "error", "errorMessage": "no",
            "error": {"kind": "rate_limit", "status": 429, "retryable": true, "message": "no"}}),
        json!({"role": "toolResult", "toolCallId": "c", "content": [{"type": "text", "text": "x"}],
            "details": {"n": 1}, "isError": true, "timestamp": 3, "unknown": {"a": 1}}),
    ] {
        let read = agrees(&message.to_string());
        assert_eq!(read, Some(serde_json::from_value(message).unwrap()));
    }
}

#[test]
fn rejects_other_formats() {
    for text in [
        r#"{"role":"bashExecution","command":"ls","output":"x"}"#,
        r#"{"role":"user","content":[{"type":"newer","a":1}]}"#,
        r#"{"role":"user","content":[{"type":"text"}]}"#,
        r#"{"role":"user","content":null}"#,
        r#"{"role":"assistant","content":"text"}"#,
        r#"{"role":"toolResult","content":[]}"#,
        r#"{"role":"user","role":"user","content":"a"}"#,
        r#"["user","a",1]"#,
        r#"{"role":"user","content":[["text","a"]]}"#,
    ] {
        assert_eq!(agrees(text), None, "{text}");
    }
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        Just(json!(true)),
        Just(json!(-0.0)),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-c\"\\\\\n\u{e9}]{0,4}".prop_map(Value::from),
        Just(json!("text")),
        Just(json!("stop")),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::vec((key(), inner), 0..3).prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn key() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "role",
        "content",
        "timestamp",
        "api",
        "usage",
        "stopReason",
        "error",
        "toolCallId",
        "toolName",
        "details",
        "isError",
        "type",
        "text",
        "signature",
        "thinking",
        "redacted",
        "id",
        "name",
        "arguments",
        "partialJson",
        "data",
        "mimeType",
        "input",
        "cost",
        "other",
    ])
    .prop_map(str::to_string)
}

/// Serialises fields, some of them twice.
fn written(fields: Vec<(String, Value)>) -> String {
    let fields: Vec<String> = fields.into_iter().map(|(key, value)| format!("{:?}:{value}", key)).collect();
    format!("{{{}}}", fields.join(","))
}

fn block() -> impl Strategy<Value = String> {
    let kinds = prop::sample::select(vec!["text", "thinking", "toolCall", "image", "newer"]);
    (kinds, prop::collection::vec((key(), value()), 0..4), 0..4_usize).prop_map(|(kind, more, place)| {
        let mut fields: Vec<(String, Value)> = match kind {
            "text" => vec![("text".into(), json!("a"))],
            "thinking" => vec![("thinking".into(), json!("a"))],
            "toolCall" => vec![("id".into(), json!("c")), ("name".into(), json!("ls"))],
            _ => vec![("data".into(), json!("ab")), ("mimeType".into(), json!("image/png"))],
        };
        fields.extend(more);
        fields.insert(place.min(fields.len()), ("type".into(), json!(kind)));
        written(fields)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn both_parsers_agree(
        role in prop::sample::select(vec!["user", "assistant", "toolResult", "custom"]),
        blocks in prop::collection::vec(block(), 0..3),
        more in prop::collection::vec((key(), value()), 0..4),
        place in 0..4_usize,
    ) {
        let mut fields = vec![("toolCallId".to_string(), json!("c"))];
        fields.extend(more);
        fields.insert(place.min(fields.len()), ("role".into(), json!(role)));
        let text = written(fields);
        agrees(&text);
        agrees(&text.replacen('{', &format!("{{\"content\":[{}],", blocks.join(",")), 1));
        agrees(&text.replacen('{', "{\"content\":\"a\",", 1));
    }
}
