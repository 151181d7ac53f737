use serde_json::json;

use super::*;
use crate::event::PartialAnswer;

thread_local! {
    /// The number of accesses to blocks in this thread.
    pub(super) static LOOKS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

fn request() -> Request {
    let model =
        Model { id: "m".into(), provider: "p".into(), api: "a".into(), context_window: 1000, ..Model::default() };
    Request { model, timestamp: 1_000_000, ..Request::default() }
}

/// Applies the events to a partial message and returns their names and the final message.
fn play(events: VecDeque<StreamEvent>) -> (Vec<&'static str>, AssistantMessage) {
    let mut partial = PartialAnswer::default();
    let names = events.iter().map(StreamEvent::name).collect();
    events.iter().for_each(|event| partial.apply(event));
    (names, partial.message().clone())
}

fn call(assembly: &mut Assembly, id: &str, arguments: &str) -> usize {
    let index = assembly.begin_call(id, "ls");
    assembly.delta(index, arguments);
    index
}

#[test]
fn open_blocks_are_closed_before_the_end() {
    let mut assembly = Assembly::new(&request());
    assembly.run(Kind::Thinking, "hm");
    assembly.run(Kind::Text, "a");
    assembly.run(Kind::Text, "b");
    assembly.run(Kind::Text, "");
    let (names, message) = play(assembly.finish(StopReason::Stop));
    assert_eq!(names[..3], ["start", "thinking_start", "thinking_delta"]);
    assert_eq!(names[3..], ["thinking_end", "text_start", "text_delta", "text_delta", "text_end", "done"]);
    assert_eq!((message.text().as_str(), message.thinking().as_str()), ("ab", "hm"));
}

#[test]
fn a_complete_call_sets_the_reason_to_tool_use() {
    for (said, whole, arguments) in [
        (StopReason::Stop, StopReason::ToolUse, "{}"),
        (StopReason::ToolUse, StopReason::ToolUse, ""),
        (StopReason::Length, StopReason::Length, "{\"a\":1}"),
    ] {
        let mut assembly = Assembly::new(&request());
        call(&mut assembly, "c", arguments);
        let (_, message) = play(assembly.finish(said));
        assert_eq!((message.stop_reason, message.tool_calls().count()), (whole, 1));
    }
    let (_, message) = play(Assembly::new(&request()).finish(StopReason::ToolUse));
    assert_eq!(message.stop_reason, StopReason::Stop);
}

#[test]
fn invalid_arguments_are_marked_in_complete_answers_and_dropped_from_incomplete_ones() {
    let broken = || {
        let mut assembly = Assembly::new(&request());
        call(&mut assembly, "good", "{\"a\":1}");
        call(&mut assembly, "bad", "{\"a\":\"b");
        call(&mut assembly, "none", "");
        assembly
    };
    let (_, message) = play(broken().finish(StopReason::Stop));
    let calls: Vec<_> = message
        .tool_calls()
        .map(|call| (call.id.as_str(), &call.arguments, call.invalid_arguments.is_some()))
        .collect();
    let (one, text, none) = (json!({"a": 1}), json!({"a": "b"}), json!({}));
    assert_eq!(calls, [("good", &one, false), ("bad", &text, true), ("none", &none, false)]);

    let ids = |message: &AssistantMessage| message.tool_calls().map(|call| call.id.clone()).collect::<Vec<_>>();
    let (_, message) = play(broken().finish(StopReason::Length));
    assert_eq!(ids(&message), ["good", "none"]);
    let (names, message) = play(broken().fail(ErrorInfo::aborted()));
    assert_eq!((ids(&message), message.stop_reason), (vec!["good".to_string()], StopReason::Aborted));
    assert_eq!(names.iter().filter(|name| **name == "toolcall_end").count(), 3);
}

#[test]
fn generates_missing_ids_and_changes_duplicate_ones() {
    let mut assembly = Assembly::new(&request());
    for id in ["x", "x", "", "", "x"] {
        call(&mut assembly, id, "{}");
    }
    let (_, message) = play(assembly.finish(StopReason::Stop));
    let ids: Vec<_> = message.tool_calls().map(|call| call.id.as_str()).collect();
    assert_eq!(ids, ["x", "x_2", "call_3_lfls", "call_4_lfls", "x_5"]);
}

#[test]
fn an_answer_that_exceeds_the_window_is_an_overflow() {
    let mut assembly = Assembly::new(&request());
    assembly.usage = Usage { input: 500, cache_read: 490, ..Usage::default() };
    let (_, message) = play(assembly.finish(StopReason::Length));
    assert_eq!(message.error.unwrap().kind, ErrorKind::ContextOverflow);
}

#[test]
fn assembles_two_hundred_calls_and_ten_megabytes() {
    let mut assembly = Assembly::new(&request());
    for number in 0..200 {
        call(&mut assembly, &format!("c{number}"), "{\"path\":\".\"}");
    }
    let big = assembly.begin_call("big", "write");
    assembly.delta(big, "{\"text\":\"");
    let piece = "x".repeat(1000);
    for _ in 0..10_000 {
        assembly.delta(big, &piece);
    }
    assembly.delta(big, "\"}");
    assert!(assembly.check_size().is_ok());
    let (_, message) = play(assembly.finish(StopReason::ToolUse));
    assert_eq!(message.tool_calls().count(), 201);
    assert_eq!(message.tool_calls().last().unwrap().arguments["text"].as_str().unwrap().len(), 10_000_000);
}

#[test]
fn accesses_each_of_ten_thousand_calls_a_few_times() {
    const CALLS: usize = 10_000;
    let begun = LOOKS.with(std::cell::Cell::get);
    let mut assembly = Assembly::new(&request());
    for number in 0..CALLS {
        assembly.run(Kind::Thinking, "hm");
        assembly.run(Kind::Text, "a");
        assembly.end_runs();
        call(&mut assembly, ["", "same", "same_2"][number % 3], "{}");
    }
    let (_, message) = play(assembly.finish(StopReason::ToolUse));
    let looks = LOOKS.with(std::cell::Cell::get) - begun;
    assert!(looks < 100 * CALLS, "{looks} looks");
    let ids: std::collections::HashSet<&str> = message.tool_calls().map(|call| call.id.as_str()).collect();
    assert_eq!((ids.len(), message.content.len()), (CALLS, 3 * CALLS));
}

#[test]
fn limits_the_number_of_blocks() {
    let mut assembly = Assembly::new(&request());
    let count = (0..).find(|_| {
        assembly.begin(Kind::Text);
        assembly.events.clear();
        assembly.check_size().is_err()
    });
    assert_eq!(count, Some(BLOCK_LIMIT));
}

#[test]
fn parses_arguments_in_small_pieces_once() {
    use crate::partial_json::tests::PARSED;
    let mut assembly = Assembly::new(&request());
    let mut partial = PartialAnswer::default();
    let index = assembly.begin_call("a", "write");
    let text = format!("{{\"content\":\"{}\"}}", "x".repeat(1 << 20));
    let before = PARSED.with(std::cell::Cell::get);
    for at in 0..text.len() {
        assembly.delta(index, &text[at..=at]);
        assembly.events.drain(..).for_each(|event| partial.apply(&event));
    }
    assert_eq!(PARSED.with(std::cell::Cell::get), before, "nothing is read before somebody looks");
    assert_eq!(partial.snapshot().tool_calls().next().unwrap().arguments["content"].as_str().unwrap().len(), 1 << 20);
    assert_eq!(PARSED.with(std::cell::Cell::get), before + 1);
    let (_, message) = play(assembly.finish(StopReason::Stop));
    assert_eq!(PARSED.with(std::cell::Cell::get), before + 2);
    assert_eq!(message.tool_calls().next().unwrap().arguments["content"].as_str().unwrap().len(), 1 << 20);
}
