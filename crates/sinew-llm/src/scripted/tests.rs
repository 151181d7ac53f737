use std::sync::LazyLock;

use serde_json::json;

use super::*;
use crate::message::{Block, LlmMessage, ToolResultMessage};
use crate::provider::ToolDef;

fn provider(text: &str) -> ScriptedProvider {
    ScriptedProvider::new(Script::parse(text, &Variables::default()).unwrap())
}

fn request(provider: &ScriptedProvider, lane: Option<&str>) -> Request {
    Request {
        model: provider.model(),
        messages: vec![LlmMessage::user("please list it").into()],
        lane: lane.map(str::to_string),
        ..Request::default()
    }
}

async fn ask(provider: &ScriptedProvider, lane: Option<&str>) -> crate::AssistantMessage {
    provider.stream(request(provider, lane), CancellationToken::new()).result().await
}

#[track_caller]
fn refuse(text: &str, expect: &str) {
    let error = Script::parse(text, &Variables::default()).unwrap_err();
    assert_eq!(error.to_string(), expect);
}

static EXAMPLE: LazyLock<String> = LazyLock::new(|| {
    [
        json!({"type": "script", "version": 1, "chunk": 3, "contextWindow": 1000}).to_string(),
        "// a comment".to_string(),
        json!({"type": "turn", "expect": {"lastRole": "user", "lastContains": "list", "tools": []}, "content": [
            {"thinking": "look first"}, {"text": "Grüße 😀!"}, {"toolCall": {"name": "ls", "arguments": {"path": "."}}}],
            "usage": {"input": 50, "output": 12}})
        .to_string(),
        String::new(),
        json!({"type": "fault", "kind": "http", "status": 429, "retryAfter": "1"}).to_string(),
        json!({"type": "turn", "lane": "explore", "content": [{"text": "done"}], "fault": {"after": 1, "kind": "network"}}).to_string(),
        json!({"type": "turn", "content": [{"toolCall": {"name": "ls", "rawArguments": "{\"a\":"}}]}).to_string(),
    ]
    .join("\n")
});

#[tokio::test(start_paused = true)]
async fn a_script_replays_text_thinking_tools_faults_and_lanes() {
    let provider = provider(&EXAMPLE);
    assert_eq!(provider.model().context_window, 1000);

    let mut stream = provider.stream(request(&provider, None), CancellationToken::new());
    let mut deltas = Vec::new();
    while let Some(event) = stream.next().await {
        deltas.extend(event.delta().map(str::to_string));
    }
    assert_eq!(deltas, ["loo", "k f", "irs", "t", "Grü", "ße ", "😀!", "{\"p", "ath", "\":\"", ".\"}"]);
    let first = stream.partial().message().clone();
    assert_eq!((first.thinking().as_str(), first.text().as_str()), ("look first", "Grüße 😀!"));
    assert_eq!((first.stop_reason, first.usage.input, first.usage.total_tokens), (StopReason::ToolUse, 50, 62));
    let call = first.tool_calls().next().unwrap();
    assert_eq!((call.id.as_str(), &call.arguments), ("call_1", &json!({"path": "."})));

    let second = ask(&provider, None).await.error.unwrap();
    assert_eq!((second.kind, second.retry_after_ms), (ErrorKind::RateLimit, Some(1000)));

    let branch = ask(&provider, Some("explore")).await;
    assert_eq!((branch.text().as_str(), branch.error.unwrap().kind), ("don", ErrorKind::Network));

    let broken = ask(&provider, None).await;
    let call = broken.tool_calls().next().unwrap();
    assert_eq!(call.id, "call_2");
    assert!(call.invalid_arguments.is_some());

    let end = ask(&provider, None).await.error.unwrap();
    assert_eq!((end.message.as_str(), end.retryable), ("script exhausted after 2 turns", false));
}

#[tokio::test]
async fn lanes_fall_back_to_defaults() {
    let provider = provider(
        "{\"type\":\"turn\",\"content\":[{\"text\":\"main\"}]}\n{\"type\":\"turn\",\"lane\":\"explore\",\"content\":[{\"text\":\"a\"}]}",
    );
    assert_eq!(ask(&provider, Some("title")).await.text(), "Scripted session");
    assert_eq!(ask(&provider, Some("compact")).await.stop_reason, StopReason::Stop);
    assert_eq!(ask(&provider, Some("explore")).await.text(), "a");
    assert_eq!(ask(&provider, Some("unknown#7")).await.text(), "main");
    let provider = self::provider(
        "{\"type\":\"turn\",\"lane\":\"7\",\"content\":[{\"text\":\"by id\"}]}\n{\"type\":\"turn\",\"lane\":\"explore\",\"content\":[{\"text\":\"by name\"}]}",
    );
    assert_eq!(ask(&provider, Some("explore#7")).await.text(), "by name");
    assert_eq!(ask(&provider, Some("other#7")).await.text(), "by id");
}

#[tokio::test]
async fn an_exhausted_script_can_stop_or_repeat() {
    let turn = "{\"type\":\"turn\",\"content\":[{\"text\":\"a\"}]}";
    let stop = provider(&format!("{{\"type\":\"script\",\"onExhausted\":\"stop\"}}\n{turn}"));
    let repeat = provider(&format!("{{\"type\":\"script\",\"onExhausted\":\"repeat\"}}\n{turn}"));
    let mut said = Vec::new();
    for provider in [&stop, &stop, &repeat, &repeat, &repeat] {
        said.push(ask(provider, None).await.text());
    }
    assert_eq!(said, ["a", "", "a", "a", "a"]);
}

#[tokio::test]
async fn a_failed_expectation_names_its_line() {
    let cases = [
        (json!({"lastRole": "assistant"}), "lastRole assistant, got user"),
        (json!({"lastContains": "nothing"}), "lastContains \"nothing\", got \"please list it\""),
        (json!({"systemContains": "x"}), "systemContains \"x\", got \"\""),
        (json!({"messages": 2}), "messages 2, got 1"),
        (json!({"tools": ["ls"]}), "tools with \"ls\", got [read]"),
        (json!({"noTools": true}), "noTools, got [read]"),
        (json!({"toolResult": {"id": "c"}}), "toolResult of c, got none"),
        (json!({"thinking": "high"}), "thinking high, got off"),
    ];
    for (expect, text) in cases {
        let provider = provider(&format!("\n{}", json!({"type": "turn", "expect": expect})));
        let tools = vec![ToolDef { name: "read".into(), ..ToolDef::default() }];
        let request = Request { tools, ..request(&provider, None) };
        let error = provider.stream(request, CancellationToken::new()).result().await.error.unwrap();
        assert_eq!((error.message, error.retryable), (format!("script:2: expected {text}"), false));
    }
    let expect = json!({"toolResult": {"id": "c", "contains": "x", "isError": true}});
    let provider = provider(&json!({"type": "turn", "expect": expect}).to_string());
    let result = ToolResultMessage {
        tool_call_id: "c".into(),
        content: vec![Block::text("axb")],
        is_error: true,
        ..Default::default()
    };
    let request = Request { messages: vec![LlmMessage::from(result).into()], ..request(&provider, None) };
    assert_eq!(provider.stream(request, CancellationToken::new()).result().await.error, None);
}

#[tokio::test(start_paused = true)]
async fn uses_the_clock_of_tokio() {
    let provider = provider(
        "{\"type\":\"turn\",\"content\":[{\"text\":\"ab\"}],\"delayMs\":5000,\"chunk\":1,\"chunkDelayMs\":1000}\n{\"type\":\"fault\",\"kind\":\"idle\"}",
    );
    let begin = tokio::time::Instant::now();
    ask(&provider, None).await;
    assert_eq!(begin.elapsed().as_millis(), 6000);
    assert_eq!(ask(&provider, None).await.error.unwrap().kind, ErrorKind::Timeout);
    assert_eq!(begin.elapsed().as_secs(), 306);
}

#[tokio::test(start_paused = true)]
async fn an_abort_keeps_received_text_and_loses_no_delta() {
    let provider =
        provider("{\"type\":\"turn\",\"content\":[{\"text\":\"abcdef\"}],\"chunk\":1,\"chunkDelayMs\":1000}");
    let cancel = CancellationToken::new();
    let mut stream = provider.stream(request(&provider, None), cancel.clone());
    let mut told = String::new();
    while let Some(event) = stream.next().await {
        told.push_str(event.delta().unwrap_or_default());
        if told == "abc" {
            cancel.cancel();
        }
    }
    let message = stream.partial().message();
    assert_eq!(
        (message.stop_reason, message.error_message.as_deref()),
        (StopReason::Aborted, Some("Request was aborted"))
    );
    assert_eq!(message.text(), told);
}

#[test]
fn an_invalid_line_fails_at_the_start() {
    refuse("\n{", "script:2: EOF while parsing an object at line 1 column 1");
    refuse("{\"type\":\"turn\"}\n{\"type\":\"script\"}", "script:2: a script line must be the first");
    refuse("{\"type\":\"script\",\"version\":2}", "script:1: version 2 is not known; expected 1");
    refuse("{\"type\":\"dance\"}", "script:1: unknown type \"dance\": expected script, turn or fault");
    refuse("{\"type\":\"fault\",\"kind\":\"http\"}", "script:1: an http fault needs a \"status\" of 400 to 599");
    refuse(
        "{\"type\":\"turn\",\"content\":[{}]}",
        "script:1: a piece of content is one of {text}, {thinking, signature?}, {toolCall}",
    );
    refuse("[]", "script:1: expected an object");
}

#[tokio::test]
async fn replaces_variables_and_keeps_other_text() {
    let variables = Variables { cwd: "/w".into(), session_id: "s1".into(), env: vec![("A".into(), "b".into())] };
    let script = Script::parse(
        "{\"type\":\"turn\",\"content\":[{\"text\":\"${cwd} ${sessionId} ${env:A}${env:B} ${HOME} ${\"}]}",
        &variables,
    );
    let provider = ScriptedProvider::new(script.unwrap());
    assert_eq!(ask(&provider, None).await.text(), "/w s1 b ${HOME} ${");
}
