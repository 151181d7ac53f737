//! Tests of each protocol over a real socket: the requests, and how faulty answers are handled.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use sinew_llm::http::{AddressFilter, HttpClient, HttpConfig};
use sinew_llm::message::{Content, ImageBlock, TextBlock, ThinkingBlock, ToolResultMessage, UserMessage};
use sinew_llm::model::{Input, Model};
use sinew_llm::provider::Secret;
use sinew_llm::{
    AssistantMessage, Auth, Block, ErrorKind, LlmMessage, Request, StopReason, StreamEvent, ThinkingLevel, ToolCall,
    ToolDef, fetch, wire,
};
use sinew_testkit::provider::{Framing, Reply, Server, Step, order};
use tokio_util::sync::CancellationToken;

const APIS: [&str; 4] = ["anthropic-messages", "openai-completions", "openai-responses", "google-generative-ai"];

fn model(api: &str, base_url: &str) -> Model {
    Model {
        id: "m".into(),
        provider: "acme".into(),
        api: api.into(),
        base_url: base_url.into(),
        reasoning: true,
        input: vec![Input::Text, Input::Image],
        ..Model::default()
    }
}

fn request(api: &str, base_url: &str) -> Request {
    Request {
        model: model(api, base_url),
        auth: Auth::ApiKey(Secret::new("very-secret-key")),
        system: vec!["Be brief.".into()],
        messages: vec![LlmMessage::user("hello").into()],
        ..Request::default()
    }
}

async fn ask(request: Request) -> AssistantMessage {
    ask_within(request, HttpConfig::default()).await
}

async fn ask_within(request: Request, config: HttpConfig) -> AssistantMessage {
    let provider = wire::provider(&request.model.api.clone(), HttpClient::new(config)).unwrap();
    provider.stream(request, CancellationToken::new()).result().await
}

fn sse(events: &[Value]) -> String {
    events.iter().map(|event| format!("data: {event}\n\n")).collect()
}

/// The beginning and the end of a short answer in the format of each protocol.
fn hello(api: &str) -> (String, String) {
    match api {
        "anthropic-messages" => (
            sse(&[
                json!({"type": "message_start", "message": {"usage": {"input_tokens": 5, "cache_read_input_tokens": 3, "output_tokens": 1}}}),
                json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
                json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "hi"}}),
            ]),
            sse(&[
                json!({"type": "content_block_stop", "index": 0}),
                json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}}),
                json!({"type": "message_stop"}),
            ]),
        ),
        "openai-completions" => (
            sse(&[json!({"choices": [{"delta": {"content": "hi"}}]})]),
            sse(&[
                json!({"choices": [{"delta": {}, "finish_reason": "stop"}]}),
                json!({"choices": [], "usage": {"prompt_tokens": 8, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 3}}}),
            ]) + "data: [DONE]\n\n",
        ),
        "openai-responses" => (
            sse(&[
                json!({"type": "response.output_item.added", "output_index": 0, "item": {"type": "message"}}),
                json!({"type": "response.output_text.delta", "output_index": 0, "delta": "hi"}),
            ]),
            sse(&[json!({"type": "response.completed", "response": {"status": "completed",
                "usage": {"input_tokens": 8, "output_tokens": 2, "input_tokens_details": {"cached_tokens": 3}}}})]),
        ),
        _ => (
            sse(&[json!({"candidates": [{"content": {"parts": [{"text": "hi"}]}}]})]),
            sse(&[json!({"candidates": [{"finishReason": "STOP"}],
                "usageMetadata": {"promptTokenCount": 8, "cachedContentTokenCount": 3, "candidatesTokenCount": 1, "thoughtsTokenCount": 1}})]),
        ),
    }
}

#[tokio::test]
async fn parses_answers_byte_by_byte() {
    for api in APIS {
        let (begin, end) = hello(api);
        let body = begin + &end;
        let server = Server::replies(vec![Reply {
            steps: body.bytes().map(|byte| Step::Send(vec![byte])).collect(),
            ..Reply::stream("")
        }]);
        let message = ask(request(api, &server.url())).await;
        assert_eq!(
            (message.text().as_str(), message.stop_reason, message.error),
            ("hi", StopReason::Stop, None),
            "{api}"
        );
        let usage = message.usage;
        assert_eq!((usage.input, usage.output, usage.cache_read, usage.total_tokens), (5, 2, 3, 10), "{api}");
    }
}

#[tokio::test]
async fn a_compressed_answer_equals_a_plain_one() {
    for api in APIS {
        let (begin, end) = hello(api);
        let compressed = Reply::stream(begin.clone()).then(Step::Send(end.into_bytes())).gzip();
        let message = ask(request(api, &Server::replies(vec![compressed]).url())).await;
        assert_eq!((message.text().as_str(), message.error), ("hi", None), "{api}");
        ends(api, Reply::stream(begin).then(Step::Cut).gzip(), ErrorKind::Network, true, "hi").await;
        let busy = Reply::json(529, &json!({"error": {"message": "busy"}})).gzip();
        ends(api, busy, ErrorKind::Overloaded, true, "").await;
    }
}

#[tokio::test]
async fn each_protocol_sends_its_path_and_key() {
    let expect = [
        ("/v1/messages", "x-api-key", "very-secret-key"),
        ("/chat/completions", "authorization", "Bearer very-secret-key"),
        ("/responses", "authorization", "Bearer very-secret-key"),
        ("/models/m:streamGenerateContent?alt=sse", "x-goog-api-key", "very-secret-key"),
    ];
    for (api, (path, header, value)) in APIS.into_iter().zip(expect) {
        let (begin, end) = hello(api);
        let server = Server::replies(vec![Reply::stream(begin + &end)]);
        ask(Request { headers: vec![("X-Own".into(), "1".into())], ..request(api, &format!("{}/", server.url())) })
            .await;
        let seen = &server.requests()[0];
        assert_eq!((seen.method.as_str(), seen.path.as_str(), seen.header(header)), ("POST", path, Some(value)));
        assert_eq!((seen.header("x-own"), seen.header("accept")), (Some("1"), Some("text/event-stream")));
        assert!(seen.header("user-agent").unwrap().starts_with("sinew/"));
    }
}

#[tokio::test]
async fn accepts_every_form_of_base_url() {
    let expect = [
        ("anthropic-messages", ["/v1/messages", "/v1/messages", "/a/v1/messages?version=1"]),
        ("openai-completions", ["/chat/completions", "/v1/chat/completions", "/a/chat/completions?version=1"]),
        ("openai-responses", ["/responses", "/v1/responses", "/a/responses?version=1"]),
        (
            "google-generative-ai",
            [
                "/models/m:streamGenerateContent?alt=sse",
                "/v1/models/m:streamGenerateContent?alt=sse",
                "/a/models/m:streamGenerateContent?alt=sse&version=1",
            ],
        ),
    ];
    for (api, paths) in expect {
        for (end, path) in ["", "/v1/", "/a/?version=1"].into_iter().zip(paths) {
            let (begin, rest) = hello(api);
            let server = Server::replies(vec![Reply::stream(begin + &rest)]);
            let message = ask(request(api, &format!("{}{end}", server.url()))).await;
            assert_eq!((server.requests()[0].path.as_str(), message.error), (path, None), "{api} {end}");
        }
    }
}

/// Checks the end of an answer: the kind, whether it is retryable, and the text that is kept.
async fn ends(api: &str, reply: Reply, kind: ErrorKind, retryable: bool, text: &str) {
    let shown = format!("{api}: {reply:?}");
    let held = reply.steps.contains(&Step::Hold);
    let server = Server::replies(vec![reply]);
    // Only used if nothing else ends the answer, because a busy machine may be slow.
    let idle_timeout = if held { Some(Duration::from_millis(300)) } else { HttpConfig::default().idle_timeout };
    let message = ask_within(request(api, &server.url()), HttpConfig { idle_timeout, ..HttpConfig::default() }).await;
    let error = message.error.clone().unwrap();
    assert_eq!((error.kind, error.retryable), (kind, retryable), "{shown}: {error}");
    let kept = message.text();
    assert!(kept == text || held && kept.is_empty(), "{shown}: {kept}");
    assert_eq!(message.stop_reason, StopReason::Error);
    assert!(!format!("{message:?}").contains("very-secret"), "{shown}");
}

#[tokio::test]
async fn classifies_failures() {
    for api in APIS {
        let (begin, end) = hello(api);
        let begun = || Reply::stream(begin.clone());
        ends(api, begun().then(Step::Cut), ErrorKind::Network, true, "hi").await;
        ends(api, begun().then(Step::Reset), ErrorKind::Network, true, "hi").await;
        ends(api, begun(), ErrorKind::Malformed, true, "hi").await;
        ends(api, Reply { framing: Framing::Close, ..begun() }, ErrorKind::Malformed, true, "hi").await;
        ends(api, begun().then(Step::Raw(b"zz\r\nno chunk".to_vec())), ErrorKind::Network, true, "hi").await;
        ends(api, begun().then(Step::Hold), ErrorKind::Timeout, true, "hi").await;
        ends(api, Reply { steps: vec![Step::Hold], ..Reply::stream("") }, ErrorKind::Timeout, true, "").await;
        ends(
            api,
            Reply { framing: Framing::Raw, steps: vec![Step::Hold], ..Reply::stream("") },
            ErrorKind::Timeout,
            true,
            "",
        )
        .await;
        ends(
            api,
            Reply { framing: Framing::Raw, steps: vec![Step::Cut], ..Reply::stream("") },
            ErrorKind::Network,
            true,
            "",
        )
        .await;
        ends(api, Reply::stream(""), ErrorKind::Malformed, true, "").await;
        ends(
            api,
            Reply::stream("data: {\n\ndata: nonsense\n\ndata: ]\n\n".to_string() + &begin + &end),
            ErrorKind::Malformed,
            true,
            "",
        )
        .await;
        ends(
            api,
            Reply::text(200, "text/html; charset=utf-8", "<!doctype html><title>Sign in</title>"),
            ErrorKind::Malformed,
            true,
            "",
        )
        .await;
        ends(api, Reply::text(502, "text/html", "<html>very-secret-key</html>"), ErrorKind::Server, true, "").await;
        ends(
            api,
            Reply::json(529, &json!({"error": {"message": "busy very-secret-key"}})),
            ErrorKind::Overloaded,
            true,
            "",
        )
        .await;
        ends(
            api,
            Reply::json(200, &json!({"error": {"type": "overloaded_error", "message": "x"}})),
            ErrorKind::Overloaded,
            true,
            "",
        )
        .await;
        let broken = Reply::stream(
            begin.clone() + &sse(&[json!({"type": "error", "error": {"type": "api_error", "message": "boom"}})]),
        );
        ends(api, broken, ErrorKind::Server, true, "hi").await;
    }
}

/// An error in the format of each protocol.
fn refusal(api: &str, status: u16, words: [&str; 3]) -> Reply {
    let [anthropic, openai, google] = words;
    let body = match api {
        "anthropic-messages" => json!({"type": "error", "error": {"type": anthropic, "message": "no"}}),
        "google-generative-ai" => json!({"error": {"code": status, "message": "no", "status": google}}),
        _ => json!({"error": {"message": "no", "type": openai, "param": null, "code": openai}}),
    };
    Reply::json(status, &body)
}

#[tokio::test]
async fn classifies_rejections_in_every_protocol() {
    use ErrorKind::*;
    let table = [
        (400, ["invalid_request_error", "invalid_request_error", "INVALID_ARGUMENT"], InvalidRequest, false),
        (401, ["authentication_error", "invalid_api_key", "UNAUTHENTICATED"], Auth, false),
        (402, ["billing_error", "insufficient_quota", "FAILED_PRECONDITION"], UsageLimit, false),
        (403, ["permission_error", "unsupported_country", "PERMISSION_DENIED"], Permission, false),
        (404, ["not_found_error", "model_not_found", "NOT_FOUND"], NotFound, false),
        (408, ["timeout_error", "timeout", "DEADLINE_EXCEEDED"], Timeout, true),
        (413, ["request_too_large", "context_length_exceeded", "INVALID_ARGUMENT"], ContextOverflow, false),
        (422, ["invalid_request_error", "invalid_request_error", "INVALID_ARGUMENT"], InvalidRequest, false),
        (429, ["rate_limit_error", "rate_limit_exceeded", "RESOURCE_EXHAUSTED"], RateLimit, true),
        (500, ["api_error", "server_error", "INTERNAL"], Server, true),
        (503, ["overloaded_error", "engine_overloaded_error", "UNAVAILABLE"], Overloaded, true),
        (504, ["timeout_error", "timeout", "DEADLINE_EXCEEDED"], Server, true),
        (529, ["overloaded_error", "overloaded", "UNAVAILABLE"], Overloaded, true),
    ];
    for api in APIS {
        for (status, words, kind, retryable) in table {
            ends(api, refusal(api, status, words), kind, retryable, "").await;
        }
        // The connection is reset before and within the head; the body is shorter than announced.
        let raw = |steps: Vec<Step>| Reply { framing: Framing::Raw, steps, ..Reply::stream("") };
        ends(api, raw(vec![Step::Reset]), Network, true, "").await;
        ends(api, raw(vec![Step::Send(b"HTTP/1.1 200 OK\r\nContent-Ty".to_vec()), Step::Reset]), Network, true, "")
            .await;
        ends(api, raw(vec![Step::Send(b"SSH-2.0-OpenSSH_9.6\r\n".to_vec())]), Malformed, true, "").await;
        let (begin, _) = hello(api);
        let head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 99999\r\n\r\n";
        ends(api, raw(vec![Step::Send([head.as_slice(), begin.as_bytes()].concat())]), Network, true, "hi").await;
    }
}

#[tokio::test]
async fn skips_one_invalid_event() {
    for api in APIS {
        let (begin, end) = hello(api);
        let server = Server::replies(vec![Reply::stream(format!("data: {{broken\n\n{begin}data: ]\n\n{end}"))]);
        assert_eq!(ask(request(api, &server.url())).await.error, None, "{api}");
    }
}

#[tokio::test]
async fn a_rate_limit_reports_the_wait_and_nothing_is_sent_twice() {
    let reply =
        Reply::json(429, &json!({"error": {"message": "slow"}})).header("Retry-After", "7").header("request-id", "r9");
    let server = Server::replies(vec![reply]);
    let message = ask(request("anthropic-messages", &server.url())).await;
    assert_eq!(message.error.unwrap().retry_after_ms, Some(7000));
    assert_eq!(message.error_message.unwrap(), "acme: slow (HTTP 429, retry after 7s, request r9)");
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn pings_do_not_keep_a_stalled_answer_alive() {
    let (begin, _) = hello("anthropic-messages");
    let pings = Step::Repeat(b": ping\n\ndata: {\"type\":\"ping\"}\n\n".to_vec());
    let server = Server::replies(vec![Reply::stream(begin).then(pings)]);
    let config =
        HttpConfig { stall_timeout: Some(Duration::from_millis(200)), idle_timeout: None, ..HttpConfig::default() };
    let error = ask_within(request("anthropic-messages", &server.url()), config).await.error.unwrap();
    assert_eq!(
        (error.kind, error.message.as_str()),
        (ErrorKind::Timeout, "acme: the server sent no content for 0.2 s")
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn aborting_and_dropping_close_the_connection() {
    for api in APIS {
        let (begin, _) = hello(api);
        let server = Server::replies(vec![Reply::stream(begin).then(Step::Hold)]);
        let provider = wire::provider(api, HttpClient::default()).unwrap();
        let cancel = CancellationToken::new();
        let mut stream = provider.stream(request(api, &server.url()), cancel.clone());
        while let Some(event) = stream.next().await {
            if event.delta().is_some() {
                cancel.cancel();
            }
        }
        let message = stream.partial().message();
        assert_eq!((message.stop_reason, message.text().as_str()), (StopReason::Aborted, "hi"));
        assert_eq!(message.error_message.as_deref(), Some("Request was aborted"));

        let mut stream = provider.stream(request(api, &server.url()), CancellationToken::new());
        while !matches!(stream.next().await, Some(StreamEvent::TextDelta { .. })) {}
        drop(stream);
        tokio::task::spawn_blocking(move || server.wait_released(2)).await.unwrap();
    }
}

fn answer_of(api: &str, content: Vec<Block>) -> LlmMessage {
    let stop_reason = StopReason::ToolUse;
    LlmMessage::from(AssistantMessage {
        content,
        api: api.into(),
        provider: "acme".into(),
        model: "m".into(),
        stop_reason,
        ..AssistantMessage::default()
    })
}

fn call(id: &str) -> Block {
    Block::ToolCall(ToolCall {
        id: id.into(),
        name: "ls".into(),
        arguments: json!({"path": "."}),
        ..ToolCall::default()
    })
}

fn result(id: &str) -> LlmMessage {
    let image = ImageBlock { data: "AAAA".into(), mime_type: "image/png".into() };
    LlmMessage::from(ToolResultMessage {
        tool_call_id: id.into(),
        tool_name: "ls".into(),
        content: vec![Block::text("a.rs"), Block::Image(image)],
        ..ToolResultMessage::default()
    })
}

/// A conversation with everything that servers may reject: ids of other servers, two calls, images in results, thinking
/// of this and of another model, empty and unusual blocks.
fn conversation(api: &str) -> Vec<Arc<LlmMessage>> {
    let thought = |signature: &str| {
        Block::Thinking(ThinkingBlock {
            thinking: "hm".into(),
            thinking_signature: Some(signature.into()),
            redacted: false,
        })
    };
    let signature = match api {
        "openai-completions" => "reasoning_content",
        "openai-responses" => "{\"type\":\"reasoning\",\"id\":\"rs_1\",\"summary\":[],\"encrypted_content\":\"x\"}",
        _ => "c2ln",
    };
    let long = "call_of_another_server|with a very long id, blanks and a bar, far beyond sixty-four characters";
    let messages = [
        LlmMessage::from(UserMessage {
            content: Content::Blocks(vec![Block::text("look"), Block::Other(json!({"type": "x"}))]),
            timestamp: 1,
        }),
        answer_of(api, vec![thought(signature), Block::text("two calls"), call("call_a|fc_1"), call(long)]),
        result("call_a|fc_1"),
        result(long),
        LlmMessage::user("and?"),
        answer_of(
            "another-api",
            vec![thought("foreign"), Block::Text(TextBlock { text: "done".into(), signature: Some("s".into()) })],
        ),
        answer_of(api, vec![thought(signature)]),
        LlmMessage::user(""),
    ];
    messages.map(Arc::new).into()
}

#[tokio::test]
async fn strict_servers_accept_every_conversation() {
    for api in APIS {
        let (begin, end) = hello(api);
        let good = begin + &end;
        let server =
            Server::start(move |request| order::refusal(request).unwrap_or_else(|| Reply::stream(good.clone())));
        for level in ThinkingLevel::ALL {
            let tools = vec![ToolDef {
                name: "ls".into(),
                description: "List".into(),
                parameters: json!({"type": "object"}),
                ..ToolDef::default()
            }];
            let asked = Request { messages: conversation(api), tools, thinking: level, ..request(api, &server.url()) };
            let message = ask(asked).await;
            assert_eq!(
                message.error,
                None,
                "{api} {level:?}: {}",
                String::from_utf8_lossy(&server.requests().last().unwrap().body)
            );
        }
        let mut torn = conversation(api);
        torn.remove(2);
        let message = ask(Request { messages: torn, ..request(api, &server.url()) }).await;
        assert_eq!(
            message.error.unwrap().kind,
            ErrorKind::InvalidRequest,
            "{api}: a call without result must be refused"
        );
    }
}

/// Requests to a Claude model with a budget have the header that makes it think between tool calls.
#[tokio::test]
async fn sends_the_interleaved_header_to_claude_models_with_a_budget() {
    use sinew_llm::model::ThinkingMode::{Adaptive, Budget};
    let api = "anthropic-messages";
    let (begin, end) = hello(api);
    let server = Server::replies(vec![Reply::stream(begin + &end)]);
    let interleaved = "interleaved-thinking-2025-05-14";
    for (id, own, mode, level, tools, key, expect) in [
        ("claude-opus-4-5", None, Budget, ThinkingLevel::High, true, true, Some(interleaved)),
        ("claude-sonnet-4-20250514", None, Budget, ThinkingLevel::Low, true, true, Some(interleaved)),
        ("anthropic/claude-sonnet-4.5", None, Budget, ThinkingLevel::Low, true, true, Some(interleaved)),
        (
            "claude-sonnet-4-5",
            None,
            Budget,
            ThinkingLevel::Low,
            true,
            false,
            Some("oauth-2025-04-20,interleaved-thinking-2025-05-14"),
        ),
        ("claude-sonnet-4-5", None, Budget, ThinkingLevel::Off, true, false, Some("oauth-2025-04-20")),
        ("claude-sonnet-4-5", None, Budget, ThinkingLevel::Off, true, true, None),
        ("claude-sonnet-4-5", None, Budget, ThinkingLevel::Low, false, true, None),
        ("claude-sonnet-4-5", Some(false), Budget, ThinkingLevel::Low, true, true, None),
        ("my-proxy", Some(true), Budget, ThinkingLevel::Low, true, true, Some(interleaved)),
        // This model thinks between calls by itself.
        ("claude-opus-4-6", None, Adaptive, ThinkingLevel::High, true, true, None),
        // These models do not support it.
        ("claude-haiku-4-5", None, Budget, ThinkingLevel::High, true, true, None),
        ("claude-3-7-sonnet-20250219", None, Budget, ThinkingLevel::High, true, true, None),
        ("glm-4.7", None, Budget, ThinkingLevel::High, true, true, None),
    ] {
        let mut asked = Request { thinking: level, ..request(api, &server.url()) };
        asked.model.id = id.into();
        asked.model.max_tokens = 64_000;
        asked.model.thinking_mode = mode;
        asked.model.compat.interleaved_thinking = own;
        if tools {
            asked.tools = vec![ToolDef { name: "ls".into(), ..ToolDef::default() }];
        }
        if !key {
            asked.auth = Auth::Bearer(Secret::new("very-secret-key"));
        }
        ask(asked).await;
        assert_eq!(server.requests().last().unwrap().header("anthropic-beta"), expect, "{id} {level:?}");
    }
}

/// A loop that was begun without thinking, for instance in another process. Its messages do not show that.
#[tokio::test]
async fn retries_without_thinking_if_the_server_requires_earlier_thinking() {
    let api = "anthropic-messages";
    let (begin, end) = hello(api);
    let good = begin + &end;
    let server = Server::start(move |request| order::refusal(request).unwrap_or_else(|| Reply::stream(good.clone())));
    let calls = |first: Vec<Block>| {
        let content = first.into_iter().chain([call("c")]).collect();
        [LlmMessage::user("hi"), answer_of(api, content), result("c")].map(Arc::new).to_vec()
    };
    let thought = Block::Thinking(ThinkingBlock {
        thinking: "hm".into(),
        thinking_signature: Some(order::sign("hm")),
        redacted: false,
    });
    for (first, requests, last) in [(vec![thought.clone()], 1, json!("enabled")), (vec![], 2, json!(null))] {
        let before = server.requests().len();
        let asked = Request { messages: calls(first), thinking: ThinkingLevel::Low, ..request(api, &server.url()) };
        let message = ask(asked).await;
        assert_eq!((message.text().as_str(), message.error), ("hi", None));
        let sent = server.requests();
        assert_eq!((sent.len() - before, &sent.last().unwrap().json()["thinking"]["type"]), (requests, &last));
    }
    // Another error of a request is reported unchanged.
    let mut torn = calls(vec![thought]);
    torn.pop();
    let before = server.requests().len();
    let message = ask(Request { messages: torn, thinking: ThinkingLevel::Low, ..request(api, &server.url()) }).await;
    assert_eq!(message.error.unwrap().kind, ErrorKind::InvalidRequest);
    assert_eq!(server.requests().len() - before, 1);
}

#[test]
fn each_request_is_a_prefix_of_the_next() {
    for api in APIS {
        let ask = |count: usize| {
            let mut asked = request(api, "http://x");
            asked.session_id = Some("s".into());
            asked.messages = conversation(api).into_iter().take(count).collect();
            asked.cache = sinew_llm::CacheRetention::None;
            wire::request_body(&asked).unwrap()
        };
        // After the user's message or after all results, because requests are only sent at these points.
        for (count, more) in [(1, 4), (4, 5), (5, 8)] {
            let (now, next) = (ask(count), ask(more));
            assert_eq!(now, ask(count), "{api}: equal requests are equal bytes");
            // Without the closing brackets of the list and the object.
            assert!(next.starts_with(&now[..now.len() - 2]), "{api} {count}");
        }
    }
}

#[test]
fn marks_the_system_prompt_tools_and_last_two_user_turns_for_caching() {
    let mut asked = request("anthropic-messages", "http://x");
    asked.tools = ["a", "b"].map(|name| ToolDef { name: name.into(), ..ToolDef::default() }).to_vec();
    asked.system = vec!["one".into(), "two".into()];
    asked.messages = conversation("anthropic-messages");
    for (cache, mark) in [
        (sinew_llm::CacheRetention::Short, json!({"type": "ephemeral"})),
        (sinew_llm::CacheRetention::Long, json!({"type": "ephemeral", "ttl": "1h"})),
    ] {
        asked.cache = cache;
        let body: Value = serde_json::from_slice(&wire::request_body(&asked).unwrap()).unwrap();
        assert_eq!(body.to_string().matches("cache_control").count(), 4);
        let places = ["/system/1", "/tools/1", "/messages/3/content/0", "/messages/5/content/0"];
        for place in places {
            assert_eq!(body.pointer(place).unwrap()["cache_control"], mark, "{place} of {body}");
        }
    }
}

#[tokio::test]
async fn fetches_a_page_over_redirects_within_limits() {
    let server = Server::start(|request| match request.path.as_str() {
        "/a" => Reply::text(302, "text/plain", "").header("Location", "/b?x"),
        "/b?x" => Reply::text(200, "text/plain", "0123456789"),
        "/loop" => Reply::text(301, "text/plain", "").header("Location", "/loop"),
        _ => Reply::text(404, "text/plain", "nothing"),
    });
    let client = HttpClient::default();
    let options = fetch::FetchOptions { max_bytes: 4, ..fetch::FetchOptions::default() };
    let page = fetch::get(&client, &format!("{}/a", server.url()), &options).await.unwrap();
    assert_eq!((page.status, page.body.as_slice(), page.truncated), (200, &b"0123"[..], true));
    assert_eq!(page.url, format!("{}/b?x", server.url()));
    assert_eq!(fetch::get(&client, &format!("{}/none", server.url()), &options).await.unwrap().status, 404);
    let error = fetch::get(&client, &format!("{}/loop", server.url()), &options).await.unwrap_err();
    assert!(error.message.ends_with("more than 5 redirects"), "{error}");

    let filter: AddressFilter =
        Arc::new(|host, ip| if ip.is_loopback() { Err(format!("Refused: {host}")) } else { Ok(()) });
    let client = HttpClient::new(HttpConfig { address_filter: Some(filter), ..HttpConfig::default() });
    let error = fetch::get(&client, &format!("{}/a", server.url()), &options).await.unwrap_err();
    assert_eq!(error.message, "Refused: 127.0.0.1");
}

#[tokio::test]
async fn requests_the_list_of_models() {
    use sinew_llm::models::{DiscoveryState, Registry, discover};
    let server = Server::start(|request| match request.path.as_str() {
        "/api/tags" => Reply::json(200, &json!({"models": [{"name": "qwen3:8b"}]})),
        "/ok/models" if request.header("authorization") == Some("Bearer very-secret-key") => {
            Reply::json(200, &json!({"data": [{"id": "a", "max_model_len": 4096}, {"id": "b"}, {}]}))
        }
        "/ok/models" => Reply::json(401, &json!({})),
        "/none/models" => Reply::json(200, &json!({"data": []})),
        "/page/models" => Reply::text(200, "text/html", "<html>"),
        _ => Reply::text(404, "text/plain", ""),
    });
    let url = server.url();
    let mut registry = Registry::builtin(&|name| (name == "OLLAMA_BASE_URL").then(|| url.clone()));
    let file: Vec<String> =
        ["ok", "none", "page", "lost"].iter().map(|id| format!("\"{id}\": {{\"baseUrl\": \"{url}/{id}\"}}")).collect();
    registry.merge_file(&format!("{{\"providers\": {{{}}}}}", file.join(",")), "models.json").unwrap();
    let key = Auth::ApiKey(Secret::new("very-secret-key"));
    let lost = |text: String| DiscoveryState::Unavailable(text);
    let expect = [
        ("ollama", Auth::None, DiscoveryState::Ok, 1),
        ("ok", key.clone(), DiscoveryState::Ok, 2),
        ("ok", Auth::None, DiscoveryState::Unauthenticated, 0),
        (
            "none",
            key.clone(),
            DiscoveryState::Empty("the server has no model; expected {\"data\":[{\"id\":\"…\"}]}".into()),
            0,
        ),
        ("page", key.clone(), lost(format!("the answer from {url}/page/models is not JSON")), 0),
        ("lost", key, lost(format!("HTTP 404 from {url}/lost/models; the base URL usually ends in /v1")), 0),
    ];
    for (id, auth, state, count) in expect {
        let found = discover(&HttpClient::default(), registry.provider(id).unwrap(), &auth, 7).await;
        assert_eq!((found.state.clone(), found.models.len(), found.asked_at), (state, count, 7), "{id}");
        let kept = serde_json::to_string(&found).unwrap();
        assert_eq!(serde_json::from_str::<sinew_llm::models::Discovery>(&kept).unwrap(), found);
        registry.add_discovered(&found);
    }
    assert_eq!(registry.find("ok", "a").unwrap().context_window, 4096);
    assert_eq!(registry.select("qwen3:8b", &|_| true).unwrap().warning, None);
}

/// A proxy or load balancer moved a path: the request follows with its body and key, but only to the same server.
#[tokio::test]
async fn follows_redirects_only_within_the_origin() {
    let elsewhere = Server::start(|_| Reply::text(200, "text/plain", "no"));
    for api in APIS {
        for status in [307, 308] {
            let (begin, end) = hello(api);
            let answer = begin + &end;
            let server = Server::start(move |request| match request.path.strip_prefix("/moved") {
                Some(_) => Reply::stream(answer.clone()),
                None => Reply::text(status, "text/html", "").header("Location", &format!("/moved{}", request.path)),
            });
            let message = ask(request(api, &server.url())).await;
            assert_eq!((message.text().as_str(), message.error), ("hi", None), "{api} {status}");
            let seen = server.requests();
            assert_eq!((seen.len(), &seen[0].body, seen[1].method.as_str()), (2, &seen[1].body, "POST"), "{api}");
            for name in ["x-api-key", "authorization", "x-goog-api-key", "content-type"] {
                assert_eq!(seen[0].header(name), seen[1].header(name), "{api} {name}");
            }
            // Another port is treated as another server.
            let target = format!("{}/v1", elsewhere.url());
            let leads = Server::start(move |_| Reply::text(status, "text/html", "").header("Location", &target));
            let error = ask(request(api, &leads.url())).await.error.unwrap();
            assert!(error.message.contains("redirects to") && !error.retryable, "{}", error.message);
        }
        // These redirects turn a request into one without a body.
        for status in [301, 302, 303] {
            let server = Server::start(move |_| Reply::text(status, "text/html", "").header("Location", "/moved"));
            let error = ask(request(api, &server.url())).await.error.unwrap();
            assert!(error.message.contains("redirects to /moved"), "{}", error.message);
            assert_eq!(server.requests().len(), 1, "{api} {status}");
        }
    }
    assert_eq!(elsewhere.requests().len(), 0);
    let circle = Server::start(|_| Reply::text(307, "text/html", "").header("Location", "/again?key=secret#x"));
    let steps = Server::start(|request| {
        Reply::text(308, "text/html", "")
            .header("Location", &format!("{}x?key=secret", request.path.split('?').next().unwrap()))
    });
    for (server, what, target) in
        [(&circle, "redirects in a loop", "/again"), (&steps, "redirects more than 5 times", "/v1/messagesxxxxxx")]
    {
        let base = server.url().replace("http://", "http://me:secret@");
        let error = ask(request(APIS[0], &base)).await.error.unwrap();
        let parts = [what, &format!("{}{target};", server.url()), "baseUrl", "\"acme\"", "models.json"];
        assert!(parts.iter().all(|part| error.message.contains(part)), "{}", error.message);
        assert!(error.kind == ErrorKind::Config && !error.retryable, "{error}");
        assert!(!error.message.contains("secret"), "{}", error.message);
        assert_eq!(server.requests().len(), 6);
    }
    let leads = Server::start(|_| Reply::text(302, "text/html", "").header("Location", "https://me:secret@sso.test/a"));
    let base = format!("{}?key=secret", leads.url().replace("http://", "http://me:secret@"));
    let error = ask(request(APIS[0], &base)).await.error.unwrap();
    assert!(error.message.contains("redirects to https://***@sso.test/a;"), "{}", error.message);
    assert!(!error.message.contains("secret"), "{}", error.message);
}
