//! Tests of characters that a server splits into halves, in every protocol, over a real socket.

use proptest::prelude::*;
use serde_json::{Value, json};
use sinew_llm::{AssistantMessage, Block, StopReason};
use sinew_testkit::provider::Reply;

use crate::exchange::{ask, sse};

const APIS: [&str; 4] = ["anthropic-messages", "openai-completions", "openai-responses", "google-generative-ai"];

/// A placeholder in an event. It is replaced, including its quotes, by the JSON string of some UTF-16 units.
const HERE: &str = "@@";

/// Returns UTF-16 as a JSON string in which everything beyond ASCII is escaped.
fn json_string(units: &[u16]) -> String {
    let unit = |unit: &u16| match u8::try_from(*unit) {
        Ok(byte) if byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\') => char::from(byte).to_string(),
        _ => format!("\\u{unit:04x}"),
    };
    format!("\"{}\"", units.iter().map(unit).collect::<String>())
}

/// The content of an answer: text, thinking, or the arguments of a call.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Part {
    Text,
    Thought,
    Arguments,
}

/// The beginning of an answer, one delta with a placeholder, and the end.
fn frames(api: &str, part: Part) -> (Vec<Value>, Value, Vec<Value>) {
    match api {
        "anthropic-messages" => {
            let (block, kind, field) = match part {
                Part::Text => (json!({"type": "text", "text": ""}), "text_delta", "text"),
                Part::Thought => (json!({"type": "thinking", "thinking": ""}), "thinking_delta", "thinking"),
                Part::Arguments => {
                    (json!({"type": "tool_use", "id": "t", "name": "ls"}), "input_json_delta", "partial_json")
                }
            };
            (
                vec![json!({"type": "content_block_start", "index": 0, "content_block": block})],
                json!({"type": "content_block_delta", "index": 0, "delta": {"type": kind, field: HERE}}),
                vec![json!({"type": "content_block_stop", "index": 0}), json!({"type": "message_stop"})],
            )
        }
        "openai-completions" => {
            let delta = |delta: Value| json!({"choices": [{"delta": delta}]});
            let call = |name: Value, text: &str| {
                delta(
                    json!({"tool_calls": [{"index": 0, "id": name.as_str().map(|_| "t"), "function": {"name": name, "arguments": text}}]}),
                )
            };
            let (begin, more) = match part {
                Part::Text => (vec![], delta(json!({"content": HERE}))),
                Part::Thought => (vec![], delta(json!({"reasoning_content": HERE}))),
                Part::Arguments => (vec![call("ls".into(), "")], call(Value::Null, HERE)),
            };
            (begin, more, vec![json!({"choices": [{"delta": {}, "finish_reason": "stop"}]})])
        }
        "openai-responses" => {
            let (item, kind) = match part {
                Part::Text => (json!({"type": "message"}), "response.output_text.delta"),
                Part::Thought => (json!({"type": "reasoning"}), "response.reasoning_text.delta"),
                Part::Arguments => (
                    json!({"type": "function_call", "call_id": "t", "name": "ls"}),
                    "response.function_call_arguments.delta",
                ),
            };
            (
                vec![json!({"type": "response.output_item.added", "output_index": 0, "item": item})],
                json!({"type": kind, "output_index": 0, "delta": HERE}),
                vec![json!({"type": "response.completed", "response": {"status": "completed"}})],
            )
        }
        _ => {
            let part = match part {
                Part::Thought => json!({"text": HERE, "thought": true}),
                _ => json!({"text": HERE}),
            };
            (
                vec![],
                json!({"candidates": [{"content": {"parts": [part]}}]}),
                vec![json!({"candidates": [{"finishReason": "STOP"}]})],
            )
        }
    }
}

async fn answer(api: &str, part: Part, pieces: &[&[u16]]) -> AssistantMessage {
    let (begin, delta, end) = frames(api, part);
    let delta = delta.to_string();
    let deltas =
        pieces.iter().map(|piece| format!("data: {}\n\n", delta.replace(&format!("\"{HERE}\""), &json_string(piece))));
    ask(api, Reply::stream(sse(&begin) + &deltas.collect::<String>() + &sse(&end))).await
}

fn told(message: &AssistantMessage) -> String {
    let block = |block: &Block| match block {
        Block::Text(text) => text.text.clone(),
        Block::Thinking(thought) => thought.thinking.clone(),
        Block::ToolCall(call) => match &call.invalid_arguments {
            Some(reason) => panic!("{reason}: {}", call.arguments),
            None => call.arguments["text"].as_str().unwrap().to_string(),
        },
        _ => "?".to_string(),
    };
    assert_eq!(message.error, None);
    message.content.iter().map(block).collect()
}

/// Sends units in pieces, as text, thinking and arguments of each protocol, and compares the result.
async fn check(pieces: &[&[u16]]) {
    let expect = String::from_utf16_lossy(&pieces.concat());
    for api in APIS {
        for part in [Part::Text, Part::Thought] {
            assert_eq!(told(&answer(api, part, pieces).await), expect, "{api} {part:?}");
        }
        // Google sends complete calls.
        if api != "google-generative-ai" {
            let (open, close): (Vec<u16>, Vec<u16>) =
                ("{\"text\":\"".encode_utf16().collect(), "\"}".encode_utf16().collect());
            let whole: Vec<&[u16]> = [&[&open[..]], pieces, &[&close[..]]].concat();
            let message = answer(api, Part::Arguments, &whole).await;
            assert_eq!((told(&message), message.stop_reason), (expect.clone(), StopReason::ToolUse), "{api}");
        }
    }
}

#[tokio::test]
async fn text_that_is_split_at_any_unit_arrives_complete() {
    let text: Vec<u16> = "Look: 😀😀 fine é 👩‍👩‍👧!".encode_utf16().collect();
    for at in 1..text.len() {
        let (begin, end) = text.split_at(at);
        check(&[begin, end]).await;
    }
    check(&text.chunks(1).collect::<Vec<_>>()).await;
}

#[tokio::test]
async fn a_lone_surrogate_loses_no_other_text() {
    let (high, low) = (0xD83D, 0xDE00);
    let pieces: [&[&[u16]]; 5] = [
        &[&[0x61, high], &[0x62]],
        &[&[low, 0x61]],
        &[&[0x61, high], &[high], &[low, low, 0x62]],
        &[&[0x61, high, 0x62]],
        &[&[0x61, high]],
    ];
    for pieces in pieces {
        check(pieces).await;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]
    #[test]
    fn any_text_in_any_pieces_arrives_complete(pieces in prop::collection::vec(
        prop::collection::vec(prop_oneof![0x61..0x64_u16, 0xD83D..0xD83F_u16, 0xDE00..0xDE02_u16, Just(0xFDD0)], 1..5), 1..5))
    {
        let pieces: Vec<&[u16]> = pieces.iter().map(Vec::as_slice).collect();
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(check(&pieces));
    }
}

/// Halves in complete arguments, in JSON inside of a string, in field names, in the last event and in errors.
#[tokio::test]
async fn lone_surrogates_in_other_fields_do_not_fail() {
    let call = |name: &str| format!("{{\"functionCall\":{{\"name\":\"ls\",\"args\":{{\"{name}\":\"a\\ud83d\"}}}}}}");
    let google = format!(
        "data: {{\"candidates\":[{{\"content\":{{\"parts\":[{}]}},\"finishReason\":\"STOP\"}}]}}\n\n",
        call("text\\ude00")
    );
    let inner = r#"{\"text\\ude00\":\"a\\ud83d\"}"#;
    let chat = format!(
        "data: {{\"choices\":[{{\"delta\":{{\"tool_calls\":[{{\"index\":0,\"id\":\"t\",\"function\":{{\"name\":\"ls\",\"arguments\":\"{inner}\"}}}}]}},\"finish_reason\":\"stop\"}}]}}\n\n"
    );
    let begin = r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"ls","input":{"text\ude00":"a\ud83d"}}}"#;
    let anthropic = format!("data: {begin}\n\n")
        + &sse(&[json!({"type": "content_block_stop", "index": 0}), json!({"type": "message_stop"})]);
    let item = format!(r#"{{"type":"function_call","call_id":"t","name":"ls","arguments":"{inner}"}}"#);
    let responses = format!(
        "data: {{\"type\":\"response.output_item.done\",\"output_index\":0,\"item\":{item}}}\n\ndata: {{\"type\":\"response.completed\",\"response\":{{\"status\":\"completed\",\"output\":[{{\"text\":\"a\\ud83d\"}}]}}}}\n\n"
    );
    for (api, body) in APIS.into_iter().zip([anthropic, chat, responses, google]) {
        let message = ask(api, Reply::stream(body)).await;
        let call = message.tool_calls().next().unwrap_or_else(|| panic!("{api}: {message:?}"));
        assert_eq!(
            (&call.arguments, message.stop_reason),
            (&json!({"text\u{FFFD}": "a\u{FFFD}"}), StopReason::ToolUse),
            "{api}"
        );
    }
    for api in APIS {
        let message =
            ask(api, Reply::stream("data: {\"error\":{\"code\":400,\"message\":\"no \\ud83d here\"}}\n\n")).await;
        assert_eq!(message.error.unwrap().message, "p: no \u{FFFD} here (HTTP 400)", "{api}");
    }
}
