//! Tests of server behavior that the protocols do not mention, each over a real socket.

use serde_json::{Value, json};
use sinew_llm::{AssistantMessage, Block, ErrorKind, LlmMessage, Model, Request, wire};
use sinew_testkit::provider::{Framing, Reply};

use crate::exchange::ask;

const ANTHROPIC: &str = "anthropic-messages";
const CHAT: &str = "openai-completions";
const RESPONSES: &str = "openai-responses";
const GOOGLE: &str = "google-generative-ai";

/// Formats a message on one line: thinking in brackets, texts, calls, and how it ended.
pub(crate) fn told(message: &AssistantMessage) -> String {
    let block = |block: &Block| match block {
        Block::Text(text) => text.text.clone(),
        Block::Thinking(thought) => format!("[{}]", thought.thinking),
        Block::ToolCall(call) => {
            let broken = call.invalid_arguments.as_ref().map_or("", |_| "!");
            format!("{}({}{broken})", call.name, call.arguments)
        }
        _ => "?".to_string(),
    };
    let end = match &message.error {
        Some(error) => format!("{:?}: {}", error.kind, error.message),
        None => message.stop_reason.as_str().to_string(),
    };
    message.content.iter().map(block).chain([end]).collect::<Vec<_>>().join(" ")
}

#[track_caller]
fn same(got: &str, expect: &str, of: &str) {
    assert_eq!(got, expect, "{of}");
}

async fn check(api: &str, events: &[Value], expect: &str) {
    let done = if api == CHAT { "data: [DONE]\n\n" } else { "" };
    let body = events.iter().map(|event| format!("data: {event}\n\n")).collect::<String>() + done;
    let message = ask(api, Reply::stream(body.clone())).await;
    same(&told(&message), expect, &body);
    let ids: std::collections::BTreeSet<&str> = message.tool_calls().map(|call| call.id.as_str()).collect();
    assert!(ids.len() == message.tool_calls().count() && !ids.contains(""), "{ids:?}");
}

fn delta(delta: Value) -> Value {
    json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]})
}

fn finish(reason: &str) -> Value {
    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}

fn call(call: Value) -> Value {
    delta(json!({"tool_calls": [call]}))
}

#[tokio::test]
async fn parses_calls_of_compatible_servers() {
    let object = json!({"function": {"name": "ls", "arguments": {"path": "."}}});
    check(CHAT, &[call(object.clone()), finish("stop")], "ls({\"path\":\".\"}) toolUse").await;
    // Ollama sends no ids, numbers all calls 0, and sends several at once.
    let both = delta(json!({"tool_calls": [object, {"function": {"name": "pwd", "arguments": {}}}]}));
    check(CHAT, &[both, finish("tool_calls")], "ls({\"path\":\".\"}) pwd({}) toolUse").await;
    let numbered =
        |id: &str, name: &str| call(json!({"index": 0, "id": id, "function": {"name": name, "arguments": "{}"}}));
    check(CHAT, &[numbered("a", "ls"), numbered("b", "pwd"), finish("tool_calls")], "ls({}) pwd({}) toolUse").await;
    // The id is repeated in every piece, and so is the name.
    let piece = |text: &str| call(json!({"index": 0, "id": "a", "function": {"name": "ls", "arguments": text}}));
    check(CHAT, &[piece("{\"a\""), piece(":1}"), finish("tool_calls")], "ls({\"a\":1}) toolUse").await;
    // No arguments at all, null arguments, and the older format.
    check(CHAT, &[call(json!({"index": 0, "id": "a", "function": {"name": "ls"}}))], "ls({}) toolUse").await;
    let null = json!({"index": 0, "id": "a", "function": {"name": "ls", "arguments": null}});
    check(CHAT, &[call(null), finish("tool_calls")], "ls({}) toolUse").await;
    let old = delta(json!({"function_call": {"name": "ls", "arguments": "{\"a\":1}"}}));
    check(CHAT, &[old, finish("function_call")], "ls({\"a\":1}) toolUse").await;
    // Invalid arguments of a complete answer are kept and marked; those of an incomplete one are dropped.
    let broken = || call(json!({"index": 0, "id": "a", "function": {"name": "ls", "arguments": "{\"a\":\"b"}}));
    check(CHAT, &[broken(), finish("tool_calls")], "ls({\"a\":\"b\"}!) toolUse").await;
    check(CHAT, &[broken(), finish("length")], "length").await;
}

#[tokio::test]
async fn parses_texts_and_thinking_of_compatible_servers() {
    for field in ["reasoning_content", "reasoning", "reasoning_text"] {
        let events = [delta(json!({field: "hm", "content": null})), delta(json!({"content": "a"})), finish("stop")];
        check(CHAT, &events, "[hm] a stop").await;
    }
    // Two names for the same thinking, as OpenRouter's servers send it.
    let twice = delta(json!({"reasoning_content": "hm", "reasoning": "hm"}));
    check(CHAT, &[twice, delta(json!({"content": "a"})), finish("stop")], "[hm] a stop").await;
    let mistral = delta(json!({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
        {"type": "text", "text": "a"}]}));
    check(CHAT, &[mistral, finish("stop")], "[hm] a stop").await;
    // Azure sends an event about the prompt without a choice, and one without a delta.
    let azure = [
        json!({"choices": [], "prompt_filter_results": [{"prompt_index": 0}]}),
        delta(json!({"content": "a"})),
        json!({"choices": [{"index": 0, "finish_reason": null, "content_filter_offsets": {}}]}),
        finish("stop"),
    ];
    check(CHAT, &azure, "a stop").await;
    // There is no stop reason before the regular end.
    check(CHAT, &[delta(json!({"role": "assistant", "content": "a"}))], "a stop").await;
    check(CHAT, &[delta(json!({"refusal": "I will not"})), finish("stop")], "I will not stop").await;
    // Errors in a stream that began with status 200.
    let gone = json!({"error": {"code": 502, "message": "upstream died"}, "choices": [{"delta": {}, "finish_reason": "error"}]});
    check(CHAT, &[delta(json!({"content": "a"})), gone], "a Server: p: upstream died (HTTP 502)").await;
    let slow = json!({"error": {"code": 429, "message": "slow down"}});
    check(CHAT, &[slow], "RateLimit: p: slow down (HTTP 429)").await;
}

#[tokio::test]
async fn comments_and_unusual_framing_do_not_matter() {
    let body = ": OPENROUTER PROCESSING\n\n: OPENROUTER PROCESSING\n\nevent: message\nid: 1\nretry: 5\ndata:{\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n\n\ndata: \n\n";
    let end = format!("data: {}\n\ndata: [DONE]\n\n", finish("stop"));
    same(&told(&ask(CHAT, Reply::stream(format!("{body}{end}"))).await), "a stop", body);
    // No blank line after the last event, no content type, a content type in other case.
    let mut bare = Reply::stream(format!("{body}data: {}\n\ndata: [DONE]", finish("stop")));
    bare.headers.clear();
    same(&told(&ask(CHAT, bare).await), "a stop", "no type");
}

/// The first bytes decide the type of a body, because servers and proxies often send a wrong content type.
#[tokio::test]
async fn ignores_the_content_type() {
    let stream = [delta(json!({"content": "a"})), finish("stop")].map(|event| format!("data: {event}\n\n")).concat();
    let page = "\u{FEFF}\n<!DOCTYPE html><title>Sign in</title>";
    for kind in ["text/event-stream", "text/plain", "application/json", "text/html", "application/octet-stream"] {
        let told = async |body: &str| told(&ask(CHAT, Reply::text(200, kind, body)).await);
        for body in
            [format!("{stream}data: [DONE]\n\n"), format!("\u{FEFF}\r\n\n{stream}"), format!(": hello\n{stream}")]
        {
            same(&told(&body).await, "a stop", kind);
        }
        let whole = json!({"choices": [{"message": {"content": "a"}, "finish_reason": "stop"}]}).to_string();
        same(&told(&format!("\n {whole}")).await, "a stop", kind);
        same(&told(page).await, "Malformed: p: the server answered with a web page: Sign in", kind);
        let refused = json!({"error": "model \"m\" is not there"}).to_string();
        same(&told(&refused).await, "Server: p: model \"m\" is not there", kind);
        let loading = "Malformed: p: expected a stream of events, but the server answered: loading";
        same(&told("loading").await, loading, kind);
        let cut = "Malformed: p: the stream ended before the answer was complete";
        same(&told("data: {\"choices\": [").await, cut, kind);
        same(&told("\n\n").await, "Malformed: p: the stream ended without any event", kind);
    }
}

/// Failures of a server behind a gateway, in the gateway's format, for every protocol.
#[tokio::test]
async fn reports_failures_in_unknown_formats() {
    for api in [ANTHROPIC, CHAT, RESPONSES, GOOGLE] {
        for body in [
            "event: error\ndata: it broke\n\n",
            "event: error\ndata: {\"message\": \"it broke\"}\n\n",
            "data: {\"error\": \"it broke\"}\n\n",
            "data: {\"error\": {\"message\": \"it broke\", \"code\": null}}\n\n",
        ] {
            same(&told(&ask(api, Reply::stream(body)).await), "Server: p: it broke", body);
        }
    }
}

/// HTTP/1.0 servers close the connection instead of ending the stream, and some forget `[DONE]`.
#[tokio::test]
async fn a_stop_reason_ends_an_answer() {
    let body = [delta(json!({"content": "a"})), finish("stop")].map(|event| format!("data: {event}\n\n")).concat();
    for framing in [Framing::Close, Framing::Chunked] {
        let whole = Reply { framing, ..Reply::stream(body.clone()) };
        same(&told(&ask(CHAT, whole).await), "a stop", "without [DONE]");
        let cut = Reply { framing, ..Reply::stream(format!("data: {}\n\n", delta(json!({"content": "a"})))) };
        let text = "a Malformed: p: the stream ended before the answer was complete";
        same(&told(&ask(CHAT, cut).await), text, "without a reason");
    }
}

#[tokio::test]
async fn fails_after_three_invalid_events_in_a_row() {
    let said = |text: &str| format!("data: {}\n\n", delta(json!({"content": text})));
    let two = "data: {oops\n\ndata: oops}\n\n";
    // A chunk of text is parsed by other code than the rest.
    let whole = [two, &said("a"), two, &said("b"), two, "data: {\"choices\":[]}\n\n", two, "data: [DONE]\n\n"].concat();
    same(&told(&ask(CHAT, Reply::stream(whole)).await), "ab stop", "two");
    let broken = [&said("a"), two, "data: oops\n\n", &said("b"), "data: [DONE]\n\n"].concat();
    let message = told(&ask(CHAT, Reply::stream(broken)).await);
    assert!(message.starts_with("a Malformed: p: 3 events in a row are not JSON: "), "{message}");
}

#[tokio::test]
async fn the_error_of_a_redirect_names_its_target() {
    for (status, name) in [(301, "Moved Permanently"), (302, "Found"), (308, "Permanent Redirect")] {
        let reply = Reply::text(status, "text/html", "").header("Location", "https://sso.test/login?key=secret#x");
        let error = ask(CHAT, reply).await.error.unwrap();
        let parts = [
            name,
            "redirects to https://sso.test/login; set baseUrl of provider \"p\" in models.json",
            &format!("(HTTP {status})"),
        ];
        assert!(parts.iter().all(|part| error.message.contains(part)), "{}", error.message);
        assert!(!error.retryable && !error.message.contains("secret"), "{}", error.message);
    }
}

#[tokio::test]
async fn parses_blocks_of_anthropic() {
    let start =
        |index: u64, block: Value| json!({"type": "content_block_start", "index": index, "content_block": block});
    let add = |index: u64, delta: Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
    let stop = |index: u64| json!({"type": "content_block_stop", "index": index});
    let end = |reason: &str| {
        [json!({"type": "message_delta", "delta": {"stop_reason": reason}}), json!({"type": "message_stop"})]
    };
    let text = [start(0, json!({"type": "text", "text": ""})), add(0, json!({"type": "text_delta", "text": "a"}))];
    // Tools that the server runs itself, unknown kinds, and pings between them.
    let mut events = vec![
        json!({"type": "ping"}),
        start(7, json!({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}})),
        add(7, json!({"type": "input_json_delta", "partial_json": "{\"q\":"})),
        stop(7),
        start(8, json!({"type": "web_search_tool_result", "content": []})),
        stop(8),
        json!({"type": "of_the_future", "index": 0}),
    ];
    events.extend(text.clone());
    events.push(json!({"type": "ping"}));
    events.push(add(0, json!({"type": "citations_delta", "citation": {}})));
    events.push(stop(0));
    check(ANTHROPIC, &[events, end("pause_turn").to_vec()].concat(), "a stop").await;
    let busy = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    check(ANTHROPIC, &[text.to_vec(), vec![busy]].concat(), "a Overloaded: p: Overloaded").await;
    check(ANTHROPIC, &[text.to_vec(), end("refusal").to_vec()].concat(), "a Refusal: p: the model refused to answer")
        .await;
    check(ANTHROPIC, &[text.to_vec(), end("max_tokens").to_vec()].concat(), "a length").await;
    let hidden = [start(0, json!({"type": "redacted_thinking", "data": "x"})), stop(0)];
    check(ANTHROPIC, &[hidden.to_vec(), end("end_turn").to_vec()].concat(), "[] stop").await;
    // Interleaved blocks.
    let mixed = [
        start(0, json!({"type": "tool_use", "id": "t1", "name": "ls", "input": {}})),
        start(1, json!({"type": "tool_use", "id": "t2", "name": "pwd", "input": {}})),
        add(1, json!({"type": "input_json_delta", "partial_json": "{\"b\":"})),
        add(0, json!({"type": "input_json_delta", "partial_json": "{\"a\":1}"})),
        add(1, json!({"type": "input_json_delta", "partial_json": "2}"})),
        stop(1),
        stop(0),
    ];
    check(ANTHROPIC, &[mixed.to_vec(), end("tool_use").to_vec()].concat(), "ls({\"a\":1}) pwd({\"b\":2}) toolUse")
        .await;
}

#[tokio::test]
async fn parses_items_of_responses() {
    let item = |kind: Value| json!({"type": "response.output_item.added", "output_index": 0, "item": kind});
    let text = |text: &str| json!({"type": "response.output_text.delta", "output_index": 0, "delta": text});
    let end = |status: &str, more: Value| {
        let mut response = json!({"status": status});
        response.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"type": format!("response.{status}"), "response": response})
    };
    let said = [item(json!({"type": "message"})), text("a")];
    let with = |last: Value| [said.to_vec(), vec![last]].concat();
    check(RESPONSES, &with(end("completed", json!({}))), "a stop").await;
    let limit = json!({"incomplete_details": {"reason": "max_output_tokens"}});
    check(RESPONSES, &with(end("incomplete", limit)), "a length").await;
    let failed = json!({"error": {"code": "server_error", "message": "boom"}});
    check(RESPONSES, &with(end("failed", failed)), "a Server: p: boom").await;
    check(RESPONSES, &with(end("cancelled", json!({}))), "a Server: p: the response was cancelled without a reason")
        .await;
    let no = json!({"type": "response.refusal.delta", "output_index": 0, "delta": "I will not"});
    check(RESPONSES, &[item(json!({"type": "message"})), no, end("completed", json!({}))], "I will not stop").await;
    // Only the final form of a call, and items of tools that the server runs itself.
    let done = json!({"type": "response.output_item.done", "output_index": 1,
        "item": {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "ls", "arguments": "{\"a\":1}"}});
    let search = item(json!({"type": "web_search_call", "id": "ws"}));
    check(RESPONSES, &[search, done, end("completed", json!({}))], "ls({\"a\":1}) toolUse").await;
    let only = json!({"output": [{"type": "message", "content": [{"type": "output_text", "text": "a"}]}]});
    check(RESPONSES, &[end("completed", only)], "a stop").await;
}

#[tokio::test]
async fn parses_parts_of_google() {
    let parts = |parts: Value| json!({"candidates": [{"content": {"role": "model", "parts": parts}}]});
    let end = |reason: &str| json!({"candidates": [{"finishReason": reason}]});
    let mixed = parts(json!([{"text": "hm", "thought": true}, {"text": "a"}, {"text": ""},
        {"functionCall": {"name": "ls", "args": {"a": 1}}, "thoughtSignature": "c2ln"}, {"functionCall": {"name": "ls"}}]));
    check(GOOGLE, &[mixed, end("STOP")], "[hm] a ls({\"a\":1}) ls({}) toolUse").await;
    check(GOOGLE, &[parts(json!([{"text": "a"}])), end("MAX_TOKENS")], "a length").await;
    let blocked = json!({"promptFeedback": {"blockReason": "SAFETY"}});
    check(GOOGLE, &[blocked], "Refusal: p: the provider refused the prompt: SAFETY").await;
    let failed = json!({"error": {"code": 503, "message": "later", "status": "UNAVAILABLE"}});
    check(GOOGLE, &[parts(json!([{"text": "a"}])), failed], "a Overloaded: p: later (HTTP 503)").await;
}

#[tokio::test]
async fn returns_the_signature_of_a_call() {
    let call = json!({"functionCall": {"name": "ls", "args": {}}, "thoughtSignature": "c2ln"});
    let events = [json!({"candidates": [{"content": {"parts": [call]}, "finishReason": "STOP"}]})];
    let body = events.iter().map(|event| format!("data: {event}\n\n")).collect::<String>();
    let message = ask(GOOGLE, Reply::stream(body)).await;
    let model = Model { id: "m".into(), api: GOOGLE.into(), provider: "p".into(), ..Model::default() };
    let request = Request { model, messages: vec![LlmMessage::from(message).into()], ..Request::default() };
    let sent: Value = serde_json::from_slice(&wire::request_body(&request).unwrap()).unwrap();
    assert_eq!(sent.pointer("/contents/0/parts/0/thoughtSignature"), Some(&json!("c2ln")), "{sent}");
}

#[tokio::test]
async fn accepts_answers_that_are_not_streamed() {
    let function = json!({"name": "ls", "arguments": "{\"a\":1}"});
    let candidate = json!({"candidates": [{"content": {"parts": [{"text": "a"}, {"functionCall": {"name": "ls", "args": {"a": 1}}}]},
        "finishReason": "STOP"}]});
    let answers = [
        (
            ANTHROPIC,
            json!({"type": "message", "stop_reason": "tool_use", "usage": {"input_tokens": 5, "output_tokens": 2}, "content": [
                {"type": "text", "text": "a"}, {"type": "tool_use", "id": "t", "name": "ls", "input": {"a": 1}}]}),
        ),
        (
            CHAT,
            json!({"usage": {"prompt_tokens": 5, "completion_tokens": 2}, "choices": [{"finish_reason": "tool_calls",
                "message": {"role": "assistant", "content": "a", "tool_calls": [{"id": "t", "type": "function", "function": function}]}}]}),
        ),
        (
            RESPONSES,
            json!({"status": "completed", "usage": {"input_tokens": 5, "output_tokens": 2}, "output": [
                {"type": "message", "content": [{"type": "output_text", "text": "a"}]},
                {"type": "function_call", "call_id": "t", "name": "ls", "arguments": "{\"a\":1}"}], "error": null}),
        ),
        (GOOGLE, candidate.clone()),
        (GOOGLE, json!([candidate])),
    ];
    for (api, answer) in answers {
        let message = ask(api, Reply::json(200, &answer)).await;
        same(&told(&message), "a ls({\"a\":1}) toolUse", api);
        if api != GOOGLE {
            assert_eq!((message.usage.input, message.usage.output), (5, 2), "{api}");
        }
    }
    for api in [ANTHROPIC, CHAT, RESPONSES, GOOGLE] {
        let error = ask(api, Reply::json(200, &json!({"hello": "world"}))).await.error.unwrap();
        let text = "p: expected a stream of events, but the server answered {\"hello\":\"world\"}";
        assert_eq!((error.kind, error.message.as_str()), (ErrorKind::Malformed, text), "{api}");
        let error = ask(api, Reply::text(200, "application/json", "")).await.error.unwrap();
        assert_eq!(error.kind, ErrorKind::Malformed, "{api}");
    }
}

#[tokio::test]
async fn rejects_an_event_with_too_many_blocks() {
    let calls: Vec<Value> =
        (0..30_000).map(|number| json!({"id": format!("c{number}"), "function": {"name": "f"}})).collect();
    let chat = json!({"choices": [{"index": 0, "delta": {"tool_calls": calls}, "finish_reason": "tool_calls"}]});
    let parts = vec![json!({"functionCall": {"name": "f"}}); 30_000];
    let google = json!({"candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}]});
    for (api, event) in [(CHAT, chat), (GOOGLE, google)] {
        // The end of the answer is in the same chunk.
        let message = ask(api, Reply::stream(format!("data: {event}\n\ndata: [DONE]\n\n"))).await;
        let error = message.error.unwrap();
        assert_eq!(error.kind, ErrorKind::Malformed, "{api}");
        assert!(error.message.contains("more than 10000 blocks"), "{api}: {}", error.message);
    }
}
