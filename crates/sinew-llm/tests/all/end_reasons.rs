//! Tests of the reasons that servers report for the end of an answer.

use serde_json::{Value, json};
use sinew_testkit::provider::Reply;

use crate::exchange::{ask, sse};
use crate::quirks::told;

const ANTHROPIC: &str = "anthropic-messages";
const CHAT: &str = "openai-completions";
const RESPONSES: &str = "openai-responses";
const GOOGLE: &str = "google-generative-ai";

/// The events of the answer `a` that ends for `reason`.
fn ended(api: &str, reason: &str) -> Vec<Value> {
    match api {
        ANTHROPIC => vec![
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "a"}}),
            json!({"type": "message_delta", "delta": {"stop_reason": reason}}),
            json!({"type": "message_stop"}),
        ],
        CHAT => vec![json!({"choices": [{"index": 0, "delta": {"content": "a"}, "finish_reason": reason}]})],
        RESPONSES => vec![
            json!({"type": "response.output_text.delta", "output_index": 0, "delta": "a"}),
            json!({"type": "response.incomplete", "response": {"status": "incomplete", "incomplete_details": {"reason": reason}}}),
        ],
        _ => vec![json!({"candidates": [{"content": {"parts": [{"text": "a"}]}, "finishReason": reason}]})],
    }
}

/// The result of such an answer on one line: its content, how it ended, whether a failure is retried, and its unknown
/// reason.
async fn result(api: &str, reason: &str) -> String {
    let message = ask(api, Reply::stream(sse(&ended(api, reason)))).await;
    let retried = if message.error.as_ref().is_some_and(|error| error.retryable) { " (retried)" } else { "" };
    let unknown = message.unknown_end.as_ref().map_or(String::new(), |reason| format!(" (unknown: {reason})"));
    told(&message) + retried + &unknown
}

#[tokio::test]
async fn only_a_reason_for_a_complete_answer_is_a_success() {
    let filtered = |reason: &str| format!("a Refusal: p: the provider stopped the answer: {reason}");
    let broken = |reason: &str| format!("a Server: p: the server broke off the answer: {reason} (retried)");
    let invalid = |reason: &str| format!("a Malformed: p: the model wrote an invalid tool call: {reason} (retried)");
    let unknown = |stop: &str, reason: &str| format!("a {stop} (unknown: {reason})");
    let window = || "a ContextOverflow: p: the conversation and the answer fill the context window".to_string();
    let mut table = vec![
        (CHAT, "stop", "a stop".to_string()),
        (CHAT, "eos", "a stop".into()),
        (CHAT, "end_turn", "a stop".into()),
        (CHAT, "STOP", "a stop".into()),
        (CHAT, "length", "a length".into()),
        (CHAT, "max_tokens", "a length".into()),
        (CHAT, "MAX_TOKENS", "a length".into()),
        (CHAT, "model_length", window()),
        (CHAT, "model_context_window_exceeded", window()),
        (CHAT, "content_filter", filtered("content_filter")),
        (CHAT, "sensitive", filtered("sensitive")),
        (CHAT, "SAFETY", filtered("SAFETY")),
        (
            CHAT,
            "insufficient_system_resource",
            "a Overloaded: p: the server broke off the answer: insufficient_system_resource (retried)".into(),
        ),
        (CHAT, "network_error", broken("network_error")),
        (CHAT, "abort", broken("abort")),
        (CHAT, "error", "a Server: p: the server reported an error without a message (retried)".into()),
        (CHAT, "MALFORMED_FUNCTION_CALL", invalid("MALFORMED_FUNCTION_CALL")),
        (CHAT, "of_the_future", unknown("stop", "of_the_future")),
        // An empty reason is none.
        (CHAT, "", "a Malformed: p: the stream ended before the answer was complete (retried)".into()),
        (ANTHROPIC, "end_turn", "a stop".into()),
        (ANTHROPIC, "stop_sequence", "a stop".into()),
        (ANTHROPIC, "max_tokens", "a length".into()),
        (ANTHROPIC, "pause_turn", "a stop".into()),
        (ANTHROPIC, "model_context_window_exceeded", window()),
        (ANTHROPIC, "refusal", "a Refusal: p: the model refused to answer".into()),
        // Servers that offer this protocol for other models forward their reasons.
        (ANTHROPIC, "sensitive", filtered("sensitive")),
        (ANTHROPIC, "network_error", broken("network_error")),
        (ANTHROPIC, "abort", broken("abort")),
        (ANTHROPIC, "of_the_future", unknown("stop", "of_the_future")),
        (RESPONSES, "max_output_tokens", "a length".into()),
        (RESPONSES, "max_tokens", "a length".into()),
        (RESPONSES, "content_filter", filtered("content_filter")),
        (RESPONSES, "network_error", broken("network_error")),
        (RESPONSES, "of_the_future", unknown("length", "of_the_future")),
        (GOOGLE, "STOP", "a stop".into()),
        (GOOGLE, "MAX_TOKENS", "a length".into()),
        (GOOGLE, "OTHER", broken("OTHER")),
        (GOOGLE, "MALFORMED_RESPONSE", broken("MALFORMED_RESPONSE")),
        (
            GOOGLE,
            "MISSING_THOUGHT_SIGNATURE",
            "a InvalidRequest: p: the server rejected the conversation: MISSING_THOUGHT_SIGNATURE".into(),
        ),
        (GOOGLE, "OF_THE_FUTURE", unknown("stop", "OF_THE_FUTURE")),
    ];
    let refused = ["SAFETY", "PROHIBITED_CONTENT", "RECITATION", "LANGUAGE", "BLOCKLIST", "SPII", "IMAGE_SAFETY"];
    table.extend(refused.map(|reason| (GOOGLE, reason, filtered(reason))));
    let calls = ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS"];
    table.extend(calls.map(|reason| (GOOGLE, reason, invalid(reason))));
    let mut wrong = Vec::new();
    for (api, reason, expect) in table {
        let got = result(api, reason).await;
        if got != expect {
            wrong.push(format!("{api}: {reason}: expected {expect}, got {got}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[tokio::test]
async fn shows_the_explanation_of_google() {
    let candidate = json!({"finishReason": "SAFETY", "finishMessage": "not about that"});
    let message = ask(GOOGLE, Reply::stream(sse(&[json!({"candidates": [candidate]})]))).await;
    assert_eq!(told(&message), "Refusal: p: the provider stopped the answer: not about that");
}
