//! Builds answers in the format of each protocol.

use serde_json::{Value, json};
use sinew_testkit::provider::Reply;

pub(crate) const APIS: [&str; 4] =
    ["anthropic-messages", "openai-completions", "openai-responses", "google-generative-ai"];

/// A tool call: id, name and the text of its arguments.
pub(crate) type ScriptedCall<'a> = (&'a str, &'a str, &'a str);

/// An answer of a model: a text, calls, and whether the output limit cut it off.
#[derive(Clone, Copy, Default)]
pub(crate) struct ModelAnswer<'a> {
    pub(crate) text: &'a str,
    pub(crate) calls: &'a [ScriptedCall<'a>],
    pub(crate) cut: bool,
}

/// Returns the events of an answer, in order.
pub(crate) fn events(api: &str, said: ModelAnswer<'_>) -> Vec<String> {
    let list = match api {
        "anthropic-messages" => anthropic(said),
        "openai-completions" => chat(said),
        "openai-responses" => responses(said),
        _ => google(said),
    };
    let mut lines: Vec<String> = list.iter().map(|event| format!("data: {event}\n\n")).collect();
    if api == "openai-completions" {
        lines.push("data: [DONE]\n\n".into());
    }
    lines
}

/// Returns the complete answer.
pub(crate) fn reply(api: &str, said: ModelAnswer<'_>) -> Reply {
    Reply::stream(events(api, said).concat())
}

/// Returns an answer with a text.
pub(crate) fn text(api: &str, text: &str) -> Reply {
    reply(api, ModelAnswer { text, ..ModelAnswer::default() })
}

/// Returns an answer with tool calls.
pub(crate) fn calls(api: &str, calls: &[ScriptedCall<'_>]) -> Reply {
    reply(api, ModelAnswer { calls, ..ModelAnswer::default() })
}

fn anthropic(said: ModelAnswer<'_>) -> Vec<Value> {
    let mut list =
        vec![json!({"type": "message_start", "message": {"usage": {"input_tokens": 5, "output_tokens": 1}}})];
    let mut index = 0;
    let mut block = |begin: Value, delta: Value| {
        list.push(json!({"type": "content_block_start", "index": index, "content_block": begin}));
        list.push(json!({"type": "content_block_delta", "index": index, "delta": delta}));
        list.push(json!({"type": "content_block_stop", "index": index}));
        index += 1;
    };
    if !said.text.is_empty() {
        block(json!({"type": "text", "text": ""}), json!({"type": "text_delta", "text": said.text}));
    }
    for (id, name, arguments) in said.calls {
        let begin = json!({"type": "tool_use", "id": id, "name": name, "input": {}});
        block(begin, json!({"type": "input_json_delta", "partial_json": arguments}));
    }
    let reason = if said.cut { "max_tokens" } else { ["end_turn", "tool_use"][usize::from(!said.calls.is_empty())] };
    list.push(json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 2}}));
    list.push(json!({"type": "message_stop"}));
    list
}

fn chat(said: ModelAnswer<'_>) -> Vec<Value> {
    let mut list = Vec::new();
    let mut delta = |delta: Value| list.push(json!({"choices": [{"index": 0, "delta": delta}]}));
    if !said.text.is_empty() {
        delta(json!({"content": said.text}));
    }
    for (index, (id, name, arguments)) in said.calls.iter().enumerate() {
        let function = json!({"name": name, "arguments": arguments});
        delta(json!({"tool_calls": [{"index": index, "id": id, "type": "function", "function": function}]}));
    }
    let reason = if said.cut { "length" } else { ["stop", "tool_calls"][usize::from(!said.calls.is_empty())] };
    list.push(json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}));
    list.push(json!({"choices": [], "usage": {"prompt_tokens": 8, "completion_tokens": 2}}));
    list
}

fn responses(said: ModelAnswer<'_>) -> Vec<Value> {
    let mut list = Vec::new();
    let mut at = 0;
    if !said.text.is_empty() {
        list.push(json!({"type": "response.output_item.added", "output_index": at, "item": {"type": "message"}}));
        list.push(json!({"type": "response.output_text.delta", "output_index": at, "delta": said.text}));
        at += 1;
    }
    for (id, name, arguments) in said.calls {
        let item = json!({"type": "function_call", "id": format!("fc_{at}"), "call_id": id, "name": name,
            "arguments": ""});
        list.push(json!({"type": "response.output_item.added", "output_index": at, "item": item}));
        list.push(json!({"type": "response.function_call_arguments.delta", "output_index": at, "delta": arguments}));
        let mut item = item;
        item["arguments"] = (*arguments).into();
        list.push(json!({"type": "response.output_item.done", "output_index": at, "item": item}));
        at += 1;
    }
    let status = if said.cut { "incomplete" } else { "completed" };
    let usage = json!({"input_tokens": 8, "output_tokens": 2});
    let kind = format!("response.{status}");
    list.push(json!({"type": kind, "response": {"status": status, "usage": usage,
        "incomplete_details": {"reason": "max_output_tokens"}}}));
    list
}

/// This protocol has arguments as JSON. Some servers send text, which can also be invalid.
fn google(said: ModelAnswer<'_>) -> Vec<Value> {
    let mut list = Vec::new();
    let mut part = |part: Value| list.push(json!({"candidates": [{"content": {"role": "model", "parts": [part]}}]}));
    if !said.text.is_empty() {
        part(json!({"text": said.text}));
    }
    for (_, name, arguments) in said.calls {
        let args: Value = serde_json::from_str(arguments).unwrap_or_else(|_| (*arguments).into());
        part(json!({"functionCall": {"name": name, "args": args}}));
    }
    let reason = if said.cut { "MAX_TOKENS" } else { "STOP" };
    list.push(json!({"candidates": [{"finishReason": reason}],
        "usageMetadata": {"promptTokenCount": 8, "candidatesTokenCount": 2}}));
    list
}
