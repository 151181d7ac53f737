use proptest::prelude::*;
use serde_json::json;
use sinew_llm::event::{EventStream, StreamEvent};
use sinew_llm::message::{
    AgentMessage, AssistantMessage, Block, Content, LlmMessage, StopReason, ThinkingBlock, ToolCall, ToolResultMessage,
    UserMessage,
};
use sinew_llm::provider::{PromptPart, Provider, Request, ToolDef};
use sinew_testkit::scripted::{self, ScriptedProvider};
use tokio_util::sync::CancellationToken;

use super::*;
use crate::Body;

const KEY: &str = "sk-live-0123456789";

fn secrets(entries: &str, values: &[&str]) -> Arc<Secrets> {
    let secrets = Secrets::new(Box::new(|| [7; 32]), read(entries, "secrets.json").unwrap());
    values.iter().for_each(|value| secrets.add(value));
    Arc::new(secrets)
}

fn mark_of(secrets: &Secrets, value: &str) -> String {
    secrets.hidden(value).unwrap()
}

#[test]
fn a_value_always_gets_the_same_placeholder() {
    let first = secrets("", &[KEY]);
    let mark = mark_of(&first, KEY);
    assert!(Regex::new(&format!("^{MARK}$")).unwrap().is_match(&mark), "{mark}");
    let other = secrets("", &["something-else", KEY]);
    assert_eq!(mark_of(&other, KEY), mark);
    let hidden = first.hidden(&format!("a {KEY}{KEY} b")).unwrap();
    assert_eq!(hidden, format!("a {mark}{mark} b"));
    assert_eq!(first.shown(&hidden).unwrap(), format!("a {KEY}{KEY} b"));
    // A value that is already hidden is not changed.
    assert_eq!(first.hidden(&hidden), None);
    let strange = Secrets::new(Box::new(|| [8; 32]), Vec::new());
    strange.add(KEY);
    assert_ne!(mark_of(&strange, KEY), mark);
    assert_eq!(strange.shown(&mark), None);
}

#[test]
fn the_longest_value_wins_and_short_ones_are_not_hidden() {
    let secrets = secrets("", &["abcdefgh", "abcdefghij", "short", "password", "Localhost"]);
    let hidden = secrets.hidden("abcdefghij abcdefgh short password Localhost").unwrap();
    let (long, normal) = (mark_of(&secrets, "abcdefghij"), mark_of(&secrets, "abcdefgh"));
    assert_eq!(hidden, format!("{long} {normal} short password Localhost"));
    assert_eq!((long.len(), normal.len()), (MARK_LENGTH, MARK_LENGTH));
    assert!(Secrets::new(Box::new(|| panic!("no value needs the key")), Vec::new()).is_empty());
}

#[test]
fn entries_hide_by_pattern_and_replace_permanently() {
    let secrets = secrets(
        r#"[ // mine
            {"type": "plain", "content": "plain-value", "mode": "replace"},
            {"type": "plain", "content": "named-value", "mode": "replace", "replacement": "X"},
            {"type": "regex", "content": "tok_[a-z]+", "flags": "gi"},
            {"type": "plain", "content": "env-value-1", "mode": "replace", "replacement": "ENTRY"},
        ]"#,
        &["env-value-1"],
    );
    let replaced = secrets.hidden("plain-value").unwrap();
    assert!(replaced.len() == "plain-value".len() && replaced != "plain-value", "{replaced}");
    assert_eq!(secrets.hidden("plain-value").unwrap(), replaced);
    assert_eq!(secrets.hidden("a named-value b").unwrap(), "a X b");
    assert_eq!(secrets.hidden("env-value-1").unwrap(), "ENTRY");
    let hidden = secrets.hidden("see TOK_abcdef and tok_x").unwrap();
    assert!(!hidden.contains("TOK_abcdef") && hidden.ends_with(" and tok_x"), "{hidden}");
    assert_eq!(secrets.shown(&hidden).unwrap(), "see TOK_abcdef and tok_x");
    assert_eq!(secrets.shown(&replaced), None);
}

#[test]
fn invalid_entries_are_reported_without_their_value() {
    let text = r#"[{"type": "regex", "content": "secret-value("}, {"type": "regex", "content": "x*"},
        {"type": "odd", "content": "secret-value"}, {"type": "plain", "content": ""}, 3,
        {"type": "regex", "content": "(?P<entry1>secret-value)"}, {"type": "regex", "content": "a", "flags": "q"}]"#;
    let faults = read(text, "s.json").unwrap_err();
    assert_eq!(faults.len(), 7, "{faults:#?}");
    assert!(!faults.concat().contains("secret-value"), "{faults:#?}");
    for text in ["{oops", "{}"] {
        assert_eq!(read(text, "s.json").unwrap_err().len(), 1);
    }
}

fn user(blocks: Vec<Block>) -> Arc<LlmMessage> {
    Arc::new(LlmMessage::from(UserMessage { content: Content::Blocks(blocks), timestamp: 1 }))
}

/// Returns the request to a provider wrapped with `secrets`, and the events of its answer.
async fn exchanged(
    secrets: &Arc<Secrets>,
    request: Request,
    answer: AssistantMessage,
) -> (Request, AssistantMessage, String) {
    let inner = Arc::new(ScriptedProvider::new(vec![answer]));
    let hiding = HidingProvider::new(Arc::clone(&inner) as Arc<dyn Provider>, Arc::clone(secrets));
    let mut stream = hiding.stream(request, CancellationToken::new());
    let mut told = String::new();
    while let Some(event) = stream.next().await {
        if let StreamEvent::TextDelta { delta, .. } = &event {
            told.push_str(delta);
        }
    }
    let asked = inner.asked.lock().remove(0);
    (asked, stream.partial().message().clone(), told)
}

#[tokio::test]
async fn requests_hide_values_that_are_split_across_blocks() {
    let secrets = secrets("", &[KEY]);
    let (half, rest) = KEY.split_at(6);
    let call = ToolCall {
        id: "1".into(),
        name: "bash".into(),
        arguments: json!({"command": format!("curl {KEY}"), "deep": [{"x": KEY, KEY: 1, "y": 2}]}),
        ..ToolCall::default()
    };
    let request = Request {
        system: vec![PromptPart::from(format!("you {half}")), PromptPart::from(format!("{rest} are"))],
        messages: vec![
            LlmMessage::user(format!("my key is {KEY}")).into(),
            user(vec![Block::text(format!("a {half}")), Block::text(rest), Block::text(format!(" b {KEY}"))]),
            Arc::new(LlmMessage::from(AssistantMessage {
                content: vec![Block::ToolCall(call.clone())],
                ..AssistantMessage::default()
            })),
        ],
        tools: vec![ToolDef {
            name: "t".into(),
            description: KEY.into(),
            parameters: json!({"properties": {KEY: {"description": KEY}}}),
            ..ToolDef::default()
        }],
        ..Request::default()
    };
    let mark = mark_of(&secrets, KEY);
    let back = ToolCall {
        arguments: json!({"command": format!("curl {mark}"), "deep": [{"x": mark, mark.clone(): 1, "y": 2}]}),
        ..call.clone()
    };
    let answer = AssistantMessage {
        content: vec![Block::text(format!("it is {mark} .")), Block::ToolCall(back)],
        stop_reason: StopReason::ToolUse,
        ..AssistantMessage::default()
    };
    let (asked, message, told) = exchanged(&secrets, request, answer).await;
    let joined: String = asked.system.iter().map(|part| part.text.as_str()).collect();
    assert_eq!(joined, format!("you {mark} are"));
    let sent = format!(
        "{joined}{}{:?}",
        json!(asked.messages.iter().map(|message| &**message).collect::<Vec<_>>()),
        asked.tools
    );
    assert!(!sent.contains(KEY) && !sent.contains(rest), "{sent}");
    assert_eq!(asked.messages[1], user(vec![Block::text(format!("a {mark}")), Block::text(format!(" b {mark}"))]));
    assert_eq!(told, format!("it is {KEY} ."));
    assert_eq!(message.text(), told);
    assert_eq!(message.tool_calls().next().unwrap().arguments, call.arguments);
}

#[tokio::test]
async fn values_are_hidden_in_every_field_of_a_message() {
    let secrets = secrets("", &[KEY]);
    let call = |arguments: Value| ToolCall { id: "1".into(), name: "t".into(), arguments, ..ToolCall::default() };
    let thinking =
        |thinking: &str| Block::Thinking(ThinkingBlock { thinking: thinking.into(), ..ThinkingBlock::default() });
    let answer =
        |block: Block| LlmMessage::from(AssistantMessage { content: vec![block], ..AssistantMessage::default() });
    let (half, rest) = KEY.split_at(6);
    let texts = json!([{"type": "text", "text": half}, {"type": "text", "text": rest}]);
    for message in [
        LlmMessage::user(KEY),
        LlmMessage::from(ToolResultMessage { content: vec![Block::text(KEY)], ..ToolResultMessage::default() }),
        LlmMessage::from(ToolResultMessage {
            content: vec![Block::text(half), Block::text(rest)],
            ..ToolResultMessage::default()
        }),
        answer(thinking(KEY)),
        answer(Block::Other(json!({"type": "odd", "text": KEY}))),
        answer(Block::ToolCall(call(json!({"list": [[{"a": KEY}]]})))),
        answer(Block::ToolCall(call(json!({"deep": {KEY: 1}})))),
        answer(Block::ToolCall(call(json!({"content": texts})))),
        answer(Block::ToolCall(ToolCall { partial_json: Some(format!("{{\"a\":\"{KEY}")), ..call(json!({})) })),
        answer(Block::ToolCall(ToolCall { invalid_arguments: Some(KEY.into()), ..call(json!({})) })),
    ] {
        let request = Request { messages: vec![Arc::new(message.clone())], ..Request::default() };
        let (asked, _, _) = exchanged(&secrets, request, scripted::text("ok")).await;
        let sent = json!(&*asked.messages[0]).to_string();
        assert!(!sent.contains(KEY) && !sent.contains(rest), "{message:?} is sent as {sent}");
    }
}

#[tokio::test]
async fn values_are_restored_in_thinking_calls_and_failed_answers() {
    let secrets = secrets("", &[KEY]);
    let mark = mark_of(&secrets, KEY);
    let thought = ThinkingBlock { thinking: format!("see {mark}"), ..ThinkingBlock::default() };
    let failed = AssistantMessage {
        content: vec![Block::text(&mark), Block::Thinking(thought)],
        ..scripted::failed(sinew_llm::error::ErrorKind::Server, None)
    };
    let (_, message, _) = exchanged(&secrets, Request::default(), failed).await;
    assert_eq!((message.text(), message.thinking()), (KEY.to_string(), format!("see {KEY}")));
    let mut waiting = stream::PendingText::default();
    let delta = StreamEvent::ThinkingDelta { content_index: 0, delta: mark.clone() };
    let shown = StreamEvent::ThinkingDelta { content_index: 0, delta: KEY.into() };
    assert_eq!(waiting.pass(&secrets, delta), [shown]);
    let arguments = json!({"a": [{"b": mark}]});
    let end = |arguments: Value| StreamEvent::ToolCallEnd {
        content_index: 1,
        tool_call: Box::new(ToolCall { arguments, ..ToolCall::default() }),
    };
    assert_eq!(waiting.pass(&secrets, end(arguments)), [end(json!({"a": [{"b": KEY}]}))]);
}

#[tokio::test]
async fn provider_keys_are_never_restored() {
    // The entries that match it too, and the value that is hidden then.
    let around = format!("Bearer {KEY}");
    for (entries, value) in [
        ("", KEY),
        (r#"[{"type": "regex", "content": "Bearer [!-~]+"}]"#, around.as_str()),
        (r#"[{"type": "regex", "content": "[!-~]{12,}"}]"#, KEY),
    ] {
        let secrets = secrets(entries, &["another-value"]);
        secrets.add_key(KEY);
        let (mark, other) = (mark_of(&secrets, value), mark_of(&secrets, "another-value"));
        let arguments =
            |key: &str, other: &str| json!({"url": format!("http://h/?k={key}&o={other}"), "deep": [{key: other}]});
        let call =
            |arguments: Value| ToolCall { id: "1".into(), name: "fetch".into(), arguments, ..ToolCall::default() };
        let said = |text: String, call: ToolCall| AssistantMessage {
            content: vec![Block::text(text), Block::ToolCall(call)],
            stop_reason: StopReason::ToolUse,
            ..AssistantMessage::default()
        };
        let answer = said(format!("{mark} {other}"), call(arguments(&mark, &other)));
        let (_, message, told) = exchanged(&secrets, Request::default(), answer).await;
        assert_eq!(told, format!("{mark} another-value"), "{entries}");
        assert_eq!(message.tool_calls().next().unwrap().arguments, arguments(&mark, "another-value"), "{entries}");
        // A model that has learned a key in another way does not reveal it.
        let answer = said(KEY.into(), call(arguments(KEY, &other)));
        let (_, message, _) = exchanged(&secrets, Request::default(), answer).await;
        assert!(!json!(message).to_string().contains(KEY), "{message:?}");
    }
}

fn sealed(thinking: &str, signature: &str) -> ThinkingBlock {
    ThinkingBlock { thinking: thinking.into(), thinking_signature: Some(signature.into()), redacted: false }
}

#[tokio::test]
async fn signed_thinking_is_sent_unchanged_or_omitted() {
    let entries = r#"[{"type": "regex", "content": "[A-Za-z0-9]{40}"}]"#;
    let secrets = secrets(entries, &[KEY]);
    let mark = mark_of(&secrets, KEY);
    let base64 = "c2lnbmF0dXJl".repeat(6);
    let item =
        |text: &str| json!({"type": "reasoning", "encrypted_content": "x", "summary": [{"text": text}]}).to_string();
    let (good, bad) = (item(&mark), item(KEY));
    // Each thinking block, and whether it can be sent again.
    for (thought, whole) in [
        (sealed("plain", &base64), true),
        (sealed("", &base64), true),
        (sealed(&format!("it wrote {mark}"), "sig"), true),
        (sealed(&format!("it wrote {KEY}"), "sig"), false),
        (sealed(&format!("{mark} and {KEY}"), "sig"), false),
        (sealed("plain", &good), true),
        (sealed("plain", &bad), false),
        (ThinkingBlock { redacted: true, ..sealed("", &base64) }, true),
    ] {
        let answer = AssistantMessage { content: vec![Block::Thinking(thought.clone())], ..scripted::text("ok") };
        let request = Request { messages: vec![Arc::new(LlmMessage::from(answer.clone()))], ..Request::default() };
        let (asked, message, _) = exchanged(&secrets, request, answer.clone()).await;
        let thought_of = |message: &AssistantMessage| match &message.content[0] {
            Block::Thinking(thought) => thought.clone(),
            other => panic!("{other:?}"),
        };
        let LlmMessage::Assistant(sent) = &*asked.messages[0] else { panic!("{asked:?}") };
        let kept = secrets.mask()(Body::Message { message: AgentMessage::from(message.clone()) });
        let Body::Message { message: AgentMessage::Assistant(kept) } = kept else { panic!("{kept:?}") };
        for seen in [thought_of(sent), thought_of(&kept)] {
            let text = format!("{seen:?}");
            assert!(!text.contains(KEY), "{text}");
            if whole {
                assert_eq!(seen, thought);
            } else {
                assert_eq!(seen.thinking_signature.as_deref(), Some(""), "{text}");
            }
        }
        // The model's text is kept unchanged for the next request.
        assert_eq!(thought_of(&message), thought);
    }
    // A provider's key is hidden from everyone, and a thinking block in which it was hidden cannot be sent again.
    secrets.add_key(KEY);
    for thought in [sealed(&format!("it wrote {KEY}"), "sig"), sealed("plain", &bad)] {
        let answer = AssistantMessage { content: vec![Block::Thinking(thought)], ..scripted::text("ok") };
        let (_, message, _) = exchanged(&secrets, Request::default(), answer).await;
        let Block::Thinking(shown) = &message.content[0] else { panic!("{message:?}") };
        assert_eq!(shown.thinking_signature.as_deref(), Some(""));
        assert!(!shown.thinking.contains(KEY), "{shown:?}");
    }
    // A field name of a thinking block is not a signature.
    let named = AssistantMessage {
        content: vec![Block::Thinking(sealed(KEY, "reasoning_content"))],
        ..AssistantMessage::default()
    };
    let request = Request { messages: vec![Arc::new(LlmMessage::from(named))], ..Request::default() };
    let (asked, _, _) = exchanged(&secrets, request, scripted::text("ok")).await;
    let LlmMessage::Assistant(sent) = &*asked.messages[0] else { panic!("{asked:?}") };
    assert_eq!(sent.content, [Block::Thinking(sealed(&mark, "reasoning_content"))]);
}

/// Sends `text` in chunks that end at `cuts`, as text and as the arguments of a call.
async fn streamed(secrets: &Secrets, text: &str, cuts: &[usize]) -> (String, String) {
    let mut waiting = stream::PendingText::default();
    let (mut told, mut json) = (String::new(), String::new());
    let mut from = 0;
    for to in cuts.iter().copied().chain([text.len()]) {
        let delta = text[from..to].to_string();
        from = to;
        if delta.is_empty() {
            continue;
        }
        for event in [
            StreamEvent::TextDelta { content_index: 0, delta: delta.clone() },
            StreamEvent::ToolCallDelta { content_index: 1, delta },
        ] {
            for event in waiting.pass(secrets, event) {
                assert!(!event.delta().unwrap().is_empty());
                if event.content_index() == Some(0) { &mut told } else { &mut json }.push_str(event.delta().unwrap());
            }
        }
    }
    let tool_call = Box::new(ToolCall::default());
    for event in [
        StreamEvent::TextEnd { content_index: 0, signature: None },
        StreamEvent::ToolCallEnd { content_index: 1, tool_call },
    ] {
        for event in waiting.pass(secrets, event) {
            if event.content_index() == Some(0) { &mut told } else { &mut json }
                .push_str(event.delta().unwrap_or_default());
        }
    }
    (told, json)
}

#[tokio::test]
async fn placeholders_are_restored_wherever_the_stream_splits_them() {
    let value = "quoted\"value\\1";
    let secrets = secrets("", &[value]);
    let mark = mark_of(&secrets, value);
    let text = format!("<a <<$env:S{mark}<<<$env:Sffffff>>{mark}<<$en");
    let escaped = text.replace(&mark, "quoted\\\"value\\\\1");
    for at in 0..=text.len() {
        let (told, json) = streamed(&secrets, &text, &[at]).await;
        assert_eq!((told, json), (text.replace(&mark, value), escaped.clone()), "{at}");
    }
    let all: Vec<usize> = (1..text.len()).collect();
    assert_eq!(streamed(&secrets, &text, &all).await, (text.replace(&mark, value), escaped));
}

#[tokio::test]
async fn a_stream_that_ends_early_keeps_all_text() {
    let secrets = secrets("", &[KEY]);
    let inner = EventStream::run(AssistantMessage::default(), |out| async move {
        out.send(StreamEvent::Start).await;
    });
    drop(inner);
    let (_, message, _) =
        exchanged(&secrets, Request::default(), scripted::failed(sinew_llm::error::ErrorKind::Server, None)).await;
    assert_eq!((message.stop_reason, message.text().as_str()), (StopReason::Error, "partly"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Hiding and restoring yields the original, and the hidden form contains no part of a value.
    #[test]
    fn values_round_trip(
        values in prop::collection::vec("[a-c<$>:S\"é]{8,12}", 1..5),
        pieces in prop::collection::vec(("[a-c <>$é]{0,6}", 0..5_usize), 0..6),
        cut in 0..40_usize,
    ) {
        let named: Vec<&str> = values.iter().map(String::as_str).collect();
        let secrets = secrets("", &named);
        let text: String = pieces.iter().map(|(noise, at)| format!("{noise}{}", values[at % values.len()])).collect();
        let hidden = secrets.hidden(&text).unwrap_or_else(|| text.clone());
        prop_assert_eq!(secrets.shown(&hidden).unwrap_or(hidden), text.clone());
        let cut = (0..=cut.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap();
        let (mut first, mut second) = (text[..cut].to_string(), text[cut..].to_string());
        secrets.hide_joined(&mut [&mut first, &mut second]);
        let joined = first + &second;
        prop_assert_eq!(secrets.shown(&joined).unwrap_or(joined), text);
    }
}
