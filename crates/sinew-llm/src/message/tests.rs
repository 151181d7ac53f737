use serde_json::{Value, json};

use super::*;

/// Checks that a message of a session file is preserved by parsing and serialising, including the order of keys.
#[track_caller]
fn check(stored: Value) {
    let message: AgentMessage = serde_json::from_value(stored.clone()).unwrap();
    assert_eq!(serde_json::to_value(&message).unwrap(), stored);
    assert_eq!(message.role(), stored["role"]);
    assert_eq!(message.timestamp(), stored["timestamp"]);
}

#[test]
fn every_role_round_trips() {
    let usage = json!({"input": 1, "output": 2, "cacheRead": 3, "cacheWrite": 4, "totalTokens": 10,
        "cost": {"input": 0.1, "output": 0.2, "cacheRead": 0.0, "cacheWrite": 0.0, "total": 0.3}});
    check(json!({"role": "user", "content": "hi", "timestamp": 1}));
    check(
        json!({"role": "user", "content": [{"type": "image", "data": "blob:sha256:ab", "mimeType": "image/png"}], "timestamp": 1}),
    );
    check(json!({"role": "assistant", "content": [
        {"type": "thinking", "thinking": "t", "thinkingSignature": "s", "redacted": true},
        {"type": "text", "text": "a", "signature": "s"},
        {"type": "toolCall", "id": "c", "name": "ls", "arguments": {"b": 1, "a": 2}, "thoughtSignature": "x"}],
        "api": "a", "provider": "p", "model": "m", "usage": usage, "stopReason": "toolUse", "timestamp": 2}));
    check(json!({"role": "assistant", "content": [], "api": "a", "provider": "p", "model": "m", "usage": usage,
        "stopReason": "error", "errorMessage": "no", "error": {"kind": "rate_limit", "status": 429, "retryable": true,
        "retryAfterMs": 7000, "requestId": "r", "message": "no"}, "timestamp": 2}));
    check(
        json!({"role": "toolResult", "toolCallId": "c", "toolName": "ls", "content": [{"type": "text", "text": "x"}],
        "details": {"n": 1}, "isError": true, "timestamp": 3}),
    );
    check(json!({"role": "bashExecution", "command": "ls", "output": "x", "exitCode": 0, "cancelled": false,
        "truncated": true, "fullOutputPath": "/a", "excludeFromContext": true, "timestamp": 4}));
    check(
        json!({"role": "custom", "customType": "k", "content": "c", "display": true, "details": 1, "attribution": "me", "timestamp": 5}),
    );
    check(json!({"role": "fileMention", "files": [{"path": "a", "content": "b", "lineCount": 1}], "timestamp": 6}));
    check(json!({"role": "branchSummary", "summary": "s", "fromId": "f", "timestamp": 7}));
    check(json!({"role": "compactionSummary", "summary": "s", "tokensBefore": 9, "timestamp": 8}));
}

#[test]
fn preserves_unknown_blocks() {
    check(json!({"role": "user", "content": [{"type": "hologram", "depth": 3}], "timestamp": 1}));
}

#[test]
fn does_not_store_why_arguments_are_invalid() {
    let call = ToolCall { id: "c".into(), invalid_arguments: Some("eof".into()), ..ToolCall::default() };
    assert_eq!(serde_json::to_value(&call).unwrap(), json!({"id": "c", "name": "", "arguments": null}));
}
