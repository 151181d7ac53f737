use sinew_llm::message::{AssistantMessage, ToolResultMessage, UserMessage};

use super::*;

fn value(line: &[u8]) -> Value {
    serde_json::from_slice(line).unwrap()
}

/// Returns the lines of events in the default format.
fn lines(events: &[Event]) -> Vec<Value> {
    let mut encoder = EventEncoder::new(false);
    events.iter().flat_map(|event| encoder.lines(event).unwrap()).map(|line| value(&line)).collect()
}

fn update(call: &str, text: &str) -> Event {
    Event::ToolExecutionUpdate {
        tool_call_id: call.into(),
        tool_name: "bash".into(),
        args: json!({"command": "make"}),
        partial_result: ToolResult { content: vec![Block::text(text)], details: None },
    }
}

/// Checks the texts that are written for the updates of one call. A leading `!` marks a text that replaces the previous
/// ones.
#[track_caller]
fn check(results: &[&str], expect: &[&str]) {
    let events: Vec<Event> = results.iter().map(|text| update("1", text)).collect();
    let written: Vec<String> = lines(&events)
        .iter()
        .map(|line| {
            assert_eq!((line.get("args"), &line["toolCallId"]), (None, &json!("1")), "{line}");
            let result = &line["partialResult"];
            let mark = if result["replaces"] == true { "!" } else { "" };
            format!("{mark}{}", result["content"][0]["text"].as_str().unwrap_or_default())
        })
        .collect();
    assert_eq!(written, expect, "{results:?}");
}

#[test]
fn an_update_of_a_call_contains_the_new_text() {
    check(&["a\n", "a\nb\n", "a\nb\n", "a\nb\nc"], &["a\n", "b\n", "", "c"]);
    check(&["é", "éé日", "éé日本"], &["é", "é日", "本"]);
    check(&["10%", "20%", "20% of 3", ""], &["10%", "!20%", " of 3", "!"]);
    // A short accidental match does not count as a continuation.
    check(&["Step 1", "1 of 2"], &["Step 1", "!1 of 2"]);
    // The end of a long output: lines that were dropped at the start do not cause a repetition.
    let row = |from: usize, to: usize| (from..to).map(|at| format!("line {at}\n")).collect::<String>();
    check(
        &[&row(0, 500), &row(100, 510), &row(2_000, 2_500)],
        &[&row(0, 500), &row(500, 510), &format!("!{}", row(2_000, 2_500))],
    );
}

#[test]
fn an_event_of_a_child_has_its_id_and_its_own_calls() {
    let of = |id: &str, event: Event| Event::OfSubagent { subagent_id: id.into(), event: std::sync::Arc::new(event) };
    let events =
        [update("1", "a"), of("One", update("1", "b")), of("Two", update("1", "c")), of("One", update("1", "bd"))];
    let written = lines(&events);
    let shown = |line: &Value| (line["subagentId"].clone(), line["partialResult"]["content"][0]["text"].clone());
    let expect = [(Value::Null, "a"), (json!("One"), "b"), (json!("Two"), "c"), (json!("One"), "d")];
    assert_eq!(written.iter().map(shown).collect::<Vec<_>>(), expect.map(|(id, text)| (id, json!(text))));
    assert!(written.iter().all(|line| line["type"] == "tool_execution_update"));
    // With snapshots, the whole event has the id too.
    let line = EventEncoder::new(true).lines(&of("a \"b\"", Event::TurnStart)).unwrap();
    assert_eq!(value(&line[0]), json!({"type": "turn_start", "subagentId": "a \"b\""}));
}

#[test]
fn concurrent_calls_are_separate_and_dropped_at_their_end() {
    let end = |call: &str| Event::ToolExecutionEnd {
        tool_call_id: call.into(),
        tool_name: "bash".into(),
        result: ToolResult::default(),
        is_error: false,
    };
    let mut encoder = EventEncoder::new(false);
    for event in [update("1", "a"), update("2", "b"), update("1", "ab"), end("1"), end("2")] {
        encoder.lines(&event).unwrap();
    }
    assert!(encoder.running.is_empty());
}

#[test]
fn the_overlap_is_the_longest_one() {
    for (old, new, expect) in [
        ("", "", 0),
        ("a", "", 0),
        ("", "a", 0),
        ("abc", "abc", 3),
        ("abc", "abcd", 3),
        ("abc", "bcd", 2),
        ("abc", "xabc", 0),
        ("aaaa", "aaa", 3),
        ("xabab", "ababab", 4),
        ("abcabcab", "abcabd", 5),
        ("abcabcab", "abdabc", 2),
    ] {
        assert_eq!(overlap(old, new), expect, "{old} {new}");
    }
}

/// Returns a run of an answer with text and a call with a long result; the words of the answer arrive in `pieces`.
fn run(bytes: usize, pieces: usize, calls: usize) -> Vec<Event> {
    let text = "words \"and\" more words ".repeat(bytes / 23 + 1);
    let mut blocks = vec![Block::text(&text)];
    let user = AgentMessage::from(UserMessage { content: text.as_str().into(), ..UserMessage::default() });
    let mut answer = AssistantMessage::default();
    let start = |message: &AgentMessage| Event::MessageStart { message: message.clone() };
    let end = |message: &AgentMessage| Event::MessageEnd { message: message.clone() };
    let mut events = vec![Event::AgentStart, start(&user), end(&user), start(&answer.clone().into())];
    let step = |event: StreamEvent, content: Option<String>, answer: &AssistantMessage| Event::MessageUpdate {
        message: Some(answer.clone().into()),
        step: AnswerStep { event, content },
    };
    answer.content = blocks.clone();
    let size = text.len().div_ceil(pieces);
    for piece in text.as_bytes().chunks(size) {
        let delta = String::from_utf8(piece.to_vec()).unwrap();
        events.push(step(StreamEvent::TextDelta { content_index: 0, delta }, None, &answer));
    }
    events.push(step(StreamEvent::TextEnd { content_index: 0, signature: None }, Some(text.clone()), &answer));
    let mut results = Vec::new();
    for at in 0..calls {
        let (content_index, id) = (at + 1, at.to_string());
        let arguments = json!({"path": "a", "content": text});
        let call =
            ToolCall { id: id.clone(), name: "write".into(), arguments: arguments.clone(), ..ToolCall::default() };
        for piece in arguments.to_string().as_bytes().chunks(size) {
            let delta = String::from_utf8(piece.to_vec()).unwrap();
            events.push(step(StreamEvent::ToolCallDelta { content_index, delta }, None, &answer));
        }
        blocks.push(Block::ToolCall(call.clone()));
        answer.content = blocks.clone();
        events.push(step(StreamEvent::ToolCallEnd { content_index, tool_call: Box::new(call) }, None, &answer));
        let args = arguments.clone();
        let (tool_call_id, tool_name) = (id.clone(), "write".to_string());
        events.push(Event::ToolExecutionStart { tool_call_id, tool_name, args, intent: None });
        for end in (size..text.len()).step_by(size) {
            events.push(update(&id, &text[..end]));
        }
        let (tool_call_id, tool_name) = (id.clone(), "write".to_string());
        let content = vec![Block::text(&text)];
        let result = ToolResult { content: content.clone(), details: None };
        events.push(Event::ToolExecutionEnd { tool_call_id, tool_name, result, is_error: false });
        let result = ToolResultMessage { tool_call_id: id, content, ..ToolResultMessage::default() };
        results.push(AgentMessage::from(result));
    }
    let answer = AgentMessage::from(answer);
    events.push(end(&answer));
    events.extend(results.iter().flat_map(|result| [start(result), end(result)]));
    events.push(Event::TurnEnd { message: answer.clone(), tool_results: results.clone() });
    let messages = [vec![user, answer], results].concat();
    events.push(Event::AgentEnd { messages });
    events
}

/// Returns the number of bytes in the messages of a run, as in a session.
fn content(events: &[Event]) -> usize {
    let Some(Event::AgentEnd { messages }) = events.last() else { panic!() };
    messages.iter().map(|message| serde_json::to_vec(message).unwrap().len()).sum()
}

fn written(events: &[Event], snapshots: bool) -> usize {
    let mut encoder = EventEncoder::new(snapshots);
    events.iter().flat_map(|event| encoder.lines(event).unwrap()).map(|line| line.len() + 1).sum()
}

/// The number of bytes of a line in addition to its content.
const FRAME: usize = 256;

#[test]
fn the_output_is_at_most_four_times_the_content() {
    for (bytes, pieces, calls) in
        [(10, 2, 1), (100_000, 100, 1), (3_000, 10, 100), (300, 4, 500), (2_000_000, 50, 1), (100_000, 10, 8)]
    {
        let events = run(bytes, pieces, calls);
        let (content, lines) = (content(&events), events.len());
        let written = written(&events, false);
        assert!(written <= 4 * content + FRAME * lines, "{bytes} {pieces} {calls}: {written} of {content}");
    }
}

#[test]
fn snapshots_are_the_events_themselves() {
    let events = run(3_000, 10, 4);
    let mut encoder = EventEncoder::new(true);
    for event in &events {
        assert_eq!(encoder.lines(event).unwrap(), [serde_json::to_vec(event).unwrap()]);
    }
    // Snapshots repeat the content, so they exceed the limit above, which shows that the limit is meaningful.
    assert!(written(&events, true) > 4 * content(&events) + FRAME * events.len());
}

#[test]
fn all_data_is_written_once() {
    let events = run(100, 3, 1);
    let lines = lines(&events);
    let of = |kind: &str| lines.iter().filter(|line| line["type"] == kind).collect::<Vec<_>>();
    // The deltas contain the text and the arguments.
    let deltas = |kind: &str| -> String {
        let steps = of("message_update").into_iter().map(|line| &line["assistantMessageEvent"]);
        steps.filter(|step| step["type"] == kind).filter_map(|step| step["delta"].as_str()).collect()
    };
    let Some(Event::AgentEnd { messages }) = events.last() else { panic!() };
    let AgentMessage::Assistant(answer) = &messages[1] else { panic!() };
    assert_eq!(deltas("text_delta"), answer.text());
    let call = answer.tool_calls().next().unwrap();
    assert_eq!(deltas("toolcall_delta"), call.arguments.to_string());
    // The ends of blocks only identify the block; the ends of messages contain the complete message.
    let steps = of("message_update");
    assert!(
        steps
            .iter()
            .all(|line| line.get("message").is_none() && line["assistantMessageEvent"].get("content").is_none())
    );
    let ended = steps.iter().find(|line| line["assistantMessageEvent"]["type"] == "toolcall_end").unwrap();
    assert_eq!(ended["assistantMessageEvent"]["toolCall"], json!({"type": "toolCall", "id": "0", "name": "write"}));
    let whole: Vec<Value> = messages.iter().map(|message| json!(message)).collect();
    assert_eq!(of("message_end").iter().map(|line| line["message"].clone()).collect::<Vec<_>>(), whole);
    // Every other event only contains the identifying fields of messages.
    let named = &of("agent_end")[0]["messages"];
    assert_eq!(named[1]["stopReason"], whole[1]["stopReason"]);
    assert_eq!((&named[2]["role"], &named[2]["toolCallId"]), (&json!("toolResult"), &json!("0")));
    assert_eq!(of("turn_end")[0]["message"], named[1]);
    assert_eq!(of("turn_end")[0]["toolResults"][0], named[2]);
    assert_eq!(of("message_start")[0]["message"], named[0]);
    assert!(named.as_array().unwrap().iter().all(|message| message.get("content").is_none()));
    // A call has its arguments in the start event and its result in the end event.
    assert_eq!(of("tool_execution_start")[0]["args"], call.arguments);
    assert_eq!(of("tool_execution_end")[0]["result"]["content"], whole[2]["content"]);
}
