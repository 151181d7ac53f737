//! Tests of answers whose parts arrive in another order, and of answers that end without a reason.

use serde_json::{Value, json};
use sinew_llm::{ErrorKind, StopReason};
use sinew_testkit::provider::{Reply, Step};

use crate::exchange::{ask, sse};

const ANTHROPIC: &str = "anthropic-messages";
const CHAT: &str = "openai-completions";
const RESPONSES: &str = "openai-responses";
const GOOGLE: &str = "google-generative-ai";

/// Returns the calls of an answer: id, name and arguments; or its error.
async fn calls(api: &str, events: &[Value]) -> Result<Vec<(String, String, Value)>, ErrorKind> {
    let message = ask(api, Reply::stream(sse(events))).await;
    if let Some(error) = message.error {
        return Err(error.kind);
    }
    assert_eq!(message.stop_reason, StopReason::ToolUse, "{api}");
    assert!(message.tool_calls().all(|call| call.invalid_arguments.is_none()), "{api}: {:?}", message.content);
    Ok(message.tool_calls().map(|call| (call.id.clone(), call.name.clone(), call.arguments.clone())).collect())
}

fn call(id: &str, name: &str, arguments: Value) -> (String, String, Value) {
    (id.into(), name.into(), arguments)
}

fn pieces(calls: &[Value]) -> Value {
    json!({"choices": [{"index": 0, "delta": {"tool_calls": calls}}]})
}

#[tokio::test]
async fn arguments_may_arrive_before_the_id_and_the_name() {
    let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]});
    let arguments = |at: u64, text: &str| json!({"index": at, "function": {"arguments": text}});
    let named = |at: u64, id: &str, name: &str| json!({"index": at, "id": id, "function": {"name": name}});
    let (first, second) = (json!({"a": 1}), json!({"b": 2}));
    let expect = Ok(vec![call("c1", "ls", first.clone()), call("c2", "pwd", second.clone())]);
    let one_by_one = [
        pieces(&[arguments(0, "{\"a\"")]),
        pieces(&[named(0, "c1", "ls")]),
        pieces(&[arguments(0, ":1}")]),
        pieces(&[arguments(1, "{\"b\":2}")]),
        pieces(&[named(1, "c2", "pwd")]),
        end.clone(),
    ];
    assert_eq!(calls(CHAT, &one_by_one).await, expect);
    let interleaved = [
        pieces(&[arguments(0, "{\"a\""), arguments(1, "{\"b\":")]),
        pieces(&[arguments(1, "2}"), arguments(0, ":1}")]),
        pieces(&[json!({"index": 0, "id": "c1"}), json!({"index": 1, "id": "c2"})]),
        pieces(&[named(0, "", "ls"), named(1, "", "pwd")]),
        end.clone(),
    ];
    assert_eq!(calls(CHAT, &interleaved).await, expect);
    let backwards = [
        pieces(&[arguments(0, "{\"a\":1}"), arguments(1, "{\"b\":2}")]),
        pieces(&[named(1, "c2", "pwd")]),
        pieces(&[named(0, "c1", "ls")]),
        end.clone(),
    ];
    assert_eq!(calls(CHAT, &backwards).await, expect);
    // All calls are numbered 0 and distinguished by their ids; then no numbers at all.
    for number in [json!(0), Value::Null] {
        let piece = |id: &str, name: &str, text: &str| {
            pieces(&[json!({"index": number, "id": id, "function": {"name": name, "arguments": text}})])
        };
        let events = [piece("", "", "{\"a\":"), piece("c1", "ls", "1}"), piece("c2", "pwd", "{\"b\":2}"), end.clone()];
        assert_eq!(calls(CHAT, &events).await, expect, "{number}");
    }
    // A missing name becomes an empty one.
    let unnamed = calls(CHAT, &[pieces(&[arguments(0, "{\"a\":1}")]), end]).await.unwrap();
    assert_eq!((unnamed.len(), unnamed[0].1.as_str(), &unnamed[0].2), (1, "", &first));

    let delta = |at: u64, text: &str| json!({"type": "response.function_call_arguments.delta", "output_index": at, "delta": text});
    let item = |kind: &str, at: u64, id: &str, name: &str| json!({"type": kind, "output_index": at, "item": {"type": "function_call", "call_id": id, "name": name, "arguments": ""}});
    let completed = json!({"type": "response.completed", "response": {"status": "completed"}});
    let events = [
        delta(0, "{\"a\""),
        item("response.output_item.added", 0, "", ""),
        delta(0, ":1}"),
        item("response.output_item.done", 0, "c1", "ls"),
        delta(1, "{\"b\":"),
        item("response.output_item.added", 1, "c2", "pwd"),
        delta(1, "2}"),
        item("response.output_item.done", 1, "c2", "pwd"),
        completed,
    ];
    assert_eq!(calls(RESPONSES, &events).await, expect);
}

#[tokio::test]
async fn limits_the_number_of_calls_without_a_name() {
    let many: Vec<Value> = (0..30_000).map(|at| json!({"index": at, "function": {"arguments": "{}"}})).collect();
    assert_eq!(calls(CHAT, &[pieces(&many)]).await, Err(ErrorKind::Malformed));
}

/// The events of a call with these arguments, without an end; and the events of a text after it.
fn unended(api: &str, arguments: &str) -> (Vec<Value>, Vec<Value>) {
    match api {
        ANTHROPIC => (
            vec![
                json!({"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "c", "name": "ls", "input": {}}}),
                json!({"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": arguments}}),
            ],
            vec![json!({"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": "and"}})],
        ),
        CHAT => (
            vec![pieces(&[json!({"index": 0, "id": "c", "function": {"name": "ls", "arguments": arguments}})])],
            vec![json!({"choices": [{"index": 0, "delta": {"content": "and"}}]})],
        ),
        _ => (
            vec![
                json!({"type": "response.output_item.added", "output_index": 0, "item": {"type": "function_call", "call_id": "c", "name": "ls"}}),
                json!({"type": "response.function_call_arguments.delta", "output_index": 0, "delta": arguments}),
            ],
            vec![
                json!({"type": "response.output_item.added", "output_index": 1, "item": {"type": "message"}}),
                json!({"type": "response.output_text.delta", "output_index": 1, "delta": "and"}),
            ],
        ),
    }
}

#[tokio::test]
async fn a_complete_call_at_the_end_of_a_stream_needs_no_reason() {
    for api in [ANTHROPIC, CHAT, RESPONSES] {
        let (whole, text) = unended(api, "{\"a\":1}");
        assert_eq!(calls(api, &whole).await, Ok(vec![call("c", "ls", json!({"a": 1}))]), "{api}");
        // A text after it may be incomplete, arguments are incomplete, and a broken connection may have lost another
        // call.
        assert_eq!(calls(api, &[whole.clone(), text].concat()).await, Err(ErrorKind::Malformed), "{api}");
        for cut in ["", "{\"a\":", "{\"a\":1"] {
            assert_eq!(calls(api, &unended(api, cut).0).await, Err(ErrorKind::Malformed), "{api} {cut:?}");
        }
        let broken = ask(api, Reply::stream(sse(&whole)).then(Step::Cut)).await;
        assert_eq!(broken.error.unwrap().kind, ErrorKind::Network, "{api}");
    }
    let part = |part: Value| json!({"candidates": [{"content": {"parts": [part]}}]});
    let google = part(json!({"functionCall": {"name": "ls", "args": {"a": 1}}}));
    let called = calls(GOOGLE, std::slice::from_ref(&google)).await.unwrap();
    assert_eq!((called[0].1.as_str(), &called[0].2), ("ls", &json!({"a": 1})));
    assert_eq!(calls(GOOGLE, &[google, part(json!({"text": "and"}))]).await, Err(ErrorKind::Malformed));
}

#[tokio::test]
async fn an_answer_that_fills_the_window_is_an_overflow() {
    let anthropic = [
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "a"}}),
        json!({"type": "message_delta", "delta": {"stop_reason": "model_context_window_exceeded"}}),
        json!({"type": "message_stop"}),
    ];
    let chat =
        |reason: &str| vec![json!({"choices": [{"index": 0, "delta": {"content": "a"}, "finish_reason": reason}]})];
    for (api, events) in
        [(ANTHROPIC, anthropic.to_vec()), (CHAT, chat("model_length")), (CHAT, chat("model_context_window_exceeded"))]
    {
        let message = ask(api, Reply::stream(sse(&events))).await;
        let error = message.error.clone().unwrap();
        assert_eq!((error.kind, message.text().as_str()), (ErrorKind::ContextOverflow, "a"), "{api}");
    }
}

#[tokio::test]
async fn reports_a_paused_answer() {
    for (reason, paused) in [("pause_turn", true), ("end_turn", false)] {
        let events = [
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "a"}}),
            json!({"type": "message_delta", "delta": {"stop_reason": reason}}),
            json!({"type": "message_stop"}),
        ];
        let message = ask(ANTHROPIC, Reply::stream(sse(&events))).await;
        assert_eq!((message.stop_reason, message.paused), (StopReason::Stop, paused));
    }
}
