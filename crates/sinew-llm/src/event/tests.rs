use super::*;

fn text(index: usize, delta: &str) -> StreamEvent {
    StreamEvent::TextDelta { content_index: index, delta: delta.into() }
}

fn scripted(events: Vec<StreamEvent>) -> EventStream {
    EventStream::run(AssistantMessage::default(), |sender| async move {
        for event in events {
            sender.send(event).await;
        }
    })
}

#[tokio::test]
async fn the_partial_message_matches_the_last_event() {
    let events = vec![
        StreamEvent::Start,
        StreamEvent::TextStart { content_index: 0 },
        text(0, "a"),
        text(0, "b"),
        StreamEvent::TextEnd { content_index: 0, signature: None },
    ];
    let mut stream = scripted(events);
    let mut seen = Vec::new();
    for _ in 0..5 {
        let event = stream.next().await.unwrap();
        seen.push(format!("{} {}", event.name(), stream.partial().message().text()));
    }
    assert_eq!(seen, ["start ", "text_start ", "text_delta a", "text_delta ab", "text_end ab"]);
}

#[tokio::test]
async fn an_early_end_is_an_error_that_keeps_the_text() {
    let mut stream = scripted(vec![StreamEvent::Start, StreamEvent::TextStart { content_index: 0 }, text(0, "half")]);
    let mut last = None;
    while let Some(event) = stream.next().await {
        last = Some(event);
    }
    let Some(StreamEvent::Error { error, message, .. }) = last else { panic!("no error") };
    assert_eq!((error.kind, error.retryable), (ErrorKind::Malformed, false));
    assert_eq!(message.text(), "half");
    assert_eq!(stream.next().await, None);
}

#[tokio::test]
async fn a_panic_in_a_provider_is_an_error() {
    let stream = EventStream::run(AssistantMessage::default(), |sender| async move {
        sender.send(StreamEvent::Start).await;
        panic!("on purpose");
    });
    let message = stream.result().await;
    assert_eq!(message.error_message.as_deref(), Some("the provider crashed: on purpose"));
}

#[tokio::test]
async fn a_provider_waits_when_the_channel_is_full() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    let sent = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&sent);
    let mut stream = EventStream::run(AssistantMessage::default(), |sender| async move {
        for _ in 0..10 * CAPACITY {
            sender.send(text(0, "x")).await;
            count.fetch_add(1, Ordering::Relaxed);
        }
    });
    assert_eq!(sent.load(Ordering::Relaxed), 0);
    stream.next().await;
    let ahead = sent.load(Ordering::Relaxed);
    assert!((1..=CAPACITY).contains(&ahead), "{ahead}");
}

#[test]
fn merges_only_deltas_of_one_kind_and_block() {
    let mut event = text(1, "a");
    assert_eq!(event.merge(text(1, "b")), Ok(()));
    assert_eq!(event.delta(), Some("ab"));
    assert!(event.merge(text(2, "c")).is_err());
    assert!(event.merge(StreamEvent::ThinkingDelta { content_index: 1, delta: "c".into() }).is_err());
    assert_eq!(event, text(1, "ab"));
}

#[test]
fn json_events_contain_the_partial_message_and_the_complete_content_at_the_end() {
    let mut partial = PartialAnswer::new(AssistantMessage { model: "m".into(), ..AssistantMessage::default() });
    let events = [
        StreamEvent::ToolCallStart { content_index: 0, id: "c".into(), name: "ls".into() },
        StreamEvent::ToolCallDelta { content_index: 0, delta: "{\"path\":\"sr".into() },
    ];
    events.iter().for_each(|event| partial.apply(event));
    let shown = events[1].to_json(Some(&partial.snapshot()));
    assert_eq!(shown["type"], "toolcall_delta");
    assert_eq!(shown["contentIndex"], 0);
    assert_eq!(shown["partial"]["role"], "assistant");
    assert_eq!(shown["partial"]["content"][0]["arguments"], json!({"path": "sr"}));
    assert_eq!(events[1].to_json(None).get("partial"), None);

    let done = StreamEvent::Done { reason: StopReason::ToolUse, message: Box::default() };
    assert_eq!(done.to_json(None)["reason"], "toolUse");
    assert_eq!(done.to_json(None)["message"]["role"], "assistant");
}

#[test]
fn parses_slowly_arriving_arguments_in_linear_time() {
    let text = json!({"content": "x".repeat(300_000), "path": "a"}).to_string();
    let mut partial = PartialAnswer::new(AssistantMessage::default());
    partial.apply(&StreamEvent::ToolCallStart { content_index: 0, id: "c".into(), name: "write".into() });
    let read = || partial_json::tests::BYTES.with(std::cell::Cell::get);
    let before = read();
    let (mut sent, mut looks) = (0, 0);
    let arguments = |message: AssistantMessage| message.tool_calls().next().unwrap().arguments.clone();
    for piece in text.as_bytes().chunks(500) {
        let delta = String::from_utf8(piece.to_vec()).unwrap();
        sent += delta.len();
        partial.apply(&StreamEvent::ToolCallDelta { content_index: 0, delta });
        let shown = arguments(partial.snapshot());
        let length = shown["content"].as_str().map_or(0, str::len);
        assert!(length <= sent && length + length / 8 + 1_000 >= sent.min(300_000), "{length} of {sent} are shown");
        looks += 1;
    }
    assert!(looks > 500 && read() - before < 10 * text.len(), "{} bytes were read", read() - before);
    // Earlier values stay until the end of the call, whose value is exact.
    let arguments_at_end = partial_json::parse_strict(&text).unwrap();
    let call = ToolCall { id: "c".into(), arguments: arguments_at_end.clone(), ..ToolCall::default() };
    partial.apply(&StreamEvent::ToolCallEnd { content_index: 0, tool_call: Box::new(call) });
    assert_eq!(arguments(partial.snapshot()), arguments_at_end);
}
