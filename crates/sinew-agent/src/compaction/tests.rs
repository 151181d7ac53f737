use proptest::prelude::*;
use serde_json::json;
use sinew_llm::message::{
    AgentMessage, AssistantMessage, BashExecution, Block, CompactionSummary, Content, ImageBlock, StopReason, ToolCall,
    ToolResultMessage, Usage, UserMessage,
};

use super::*;

fn user(text: &str) -> AgentMessage {
    AgentMessage::from(UserMessage { content: Content::Text(text.into()), timestamp: 0 })
}

fn call(id: &str, name: &str, path: &str) -> AgentMessage {
    let call = ToolCall { id: id.into(), name: name.into(), arguments: json!({"path": path}), ..ToolCall::default() };
    AgentMessage::from(AssistantMessage { content: vec![Block::ToolCall(call)], ..AssistantMessage::default() })
}

fn result(id: &str, name: &str, bytes: usize) -> AgentMessage {
    AgentMessage::from(ToolResultMessage {
        tool_call_id: id.into(),
        tool_name: name.into(),
        content: vec![Block::text("x".repeat(bytes))],
        ..ToolResultMessage::default()
    })
}

#[test]
fn a_context_counts_what_the_provider_counted_and_estimates_the_rest() {
    let answer =
        AssistantMessage { usage: Usage { total_tokens: 1_000, ..Usage::default() }, ..AssistantMessage::default() };
    let messages = [user("ignored, for it was counted"), AgentMessage::from(answer), user("12345678")];
    assert_eq!(context_tokens(&messages), 1_002);
    assert_eq!(context_tokens(&messages[..1]), 7);
}

#[test]
fn hidden_messages_have_no_tokens_and_an_image_has_a_fixed_number() {
    let ran = |hidden: bool| {
        let run =
            BashExecution { output: "x".repeat(400), exclude_from_context: Some(hidden), ..BashExecution::default() };
        AgentMessage::BashExecution(run)
    };
    assert_eq!((tokens(&ran(false)), tokens(&ran(true))), (100, 0));
    assert_eq!(serialise(&[user("a"), ran(true)], 1_000), "[User]: a");
    let picture = Block::Image(ImageBlock::default());
    let content = Content::Blocks(vec![Block::text("1234"), picture]);
    assert_eq!(tokens(&AgentMessage::from(UserMessage { content, timestamp: 0 })), 1_201);
    // A long text is shown from its beginning.
    let long = serialise(&[result("1", "bash", 5_000)], 1 << 20);
    assert!(long.len() < 2_100 && long.ends_with("x… [3000 more bytes]"), "{long}");
}

#[test]
fn failed_answers_have_no_token_count() {
    let answer = |stop_reason, total_tokens| {
        let usage = Usage { total_tokens, ..Usage::default() };
        AgentMessage::from(AssistantMessage { usage, stop_reason, ..AssistantMessage::default() })
    };
    let messages =
        [answer(StopReason::Stop, 1_000), user("1234"), answer(StopReason::Error, 7), answer(StopReason::Aborted, 8)];
    assert_eq!(context_tokens(&messages), 1_001);
}

#[test]
fn kept_messages_are_measured_by_the_count_of_the_provider() {
    let messages: Vec<AgentMessage> = (0..10).map(|_| user(&"x".repeat(400))).collect();
    let limits = Limits { reserve: 0, keep_recent: 400 };
    assert_eq!(cut(&messages, limits).unwrap().kept, 6);
    let usage = Usage { total_tokens: 2_000, ..Usage::default() };
    let answer = AgentMessage::from(AssistantMessage { usage, ..AssistantMessage::default() });
    let counted: Vec<AgentMessage> = messages.into_iter().chain([answer]).collect();
    assert_eq!(cut(&counted, limits).unwrap().kept, 8);
}

#[test]
fn small_windows_keep_a_quarter() {
    let limits = Limits::default();
    assert_eq!(limits.within(200_000), limits);
    assert_eq!(limits.within(8_000), Limits { reserve: 2_000, keep_recent: 2_000 });
    assert!(limits.exceeded(6_001, 8_000) && !limits.exceeded(6_000, 8_000));
}

#[test]
fn a_cut_inside_a_turn_returns_the_start_of_the_turn() {
    let limits = Limits { reserve: 0, keep_recent: 100 };
    let messages = [
        user("old"),
        call("1", "read", "a"),
        result("1", "read", 40),
        call("2", "read", "b"),
        result("2", "read", 800),
    ];
    assert_eq!(cut(&messages, limits), Some(Cut { from: 0, kept: 3, turn: Some(0) }));
    let whole = [user("old"), user(&"new".repeat(200))];
    assert_eq!(cut(&whole, limits), Some(Cut { from: 0, kept: 1, turn: None }));
    assert_eq!(cut(&whole[1..], limits), None);
}

#[test]
fn old_outputs_are_pruned_except_files_and_errors() {
    let mut messages = vec![result("1", "read", 400_000), result("2", "bash", 200_000), result("3", "grep", 160_000)];
    let pruned = prune(&mut messages).unwrap();
    assert_eq!(pruned.tool_call_ids, ["2"]);
    assert!(pruned.tokens > 49_000, "{}", pruned.tokens);
    assert_eq!(tokens(&messages[0]), 100_000);
    let mut failed = result("2", "bash", 200_000);
    if let AgentMessage::ToolResult(result) = &mut failed {
        std::sync::Arc::make_mut(result).is_error = true;
    }
    assert_eq!(prune(&mut [failed, result("3", "grep", 160_000)]), None);
    let mut few = vec![result("1", "bash", 70_000), result("2", "bash", 160_000)];
    let before = few.clone();
    assert_eq!(prune(&mut few), None);
    assert_eq!(few, before);
}

#[test]
fn the_input_of_a_summary_drops_the_oldest_outputs_first() {
    let messages = [user("goal"), call("1", "bash", "x"), result("1", "bash", 1_500), result("2", "bash", 1_500)];
    let text = serialise(&messages, 2_000);
    assert!(text.contains("[User]: goal") && text.contains("[Tool result left out]"), "{text}");
    assert!(text.matches("xxxx").count() > 100);
    assert!(serialise(&messages, 10).len() < 2_000);
    // A prompt that exceeds the whole budget keeps its beginning, its end and its position.
    let text = serialise(&[user(&format!("first {} last", "ä".repeat(100_000))), user("next")], 1_000);
    assert!(
        text.len() < 200 && text.starts_with("[User]: first ä") && text.ends_with("ä last\n\n[User]: next"),
        "{text}"
    );
    assert!(text.contains(" bytes left out]\n"), "{text}");
}

#[test]
fn files_are_listed_once_and_changed_ones_are_not_listed_as_read() {
    let messages = [call("1", "read", "a"), call("2", "read", "b"), call("3", "edit", "a")];
    let mut files = files_of(&messages);
    files.add_details(&json!({"readFiles": ["a", "c"], "modifiedFiles": ["b"]}));
    assert_eq!(
        with_files("S\n", &files),
        "S\n\n<read-files>\nc\n</read-files>\n\n<modified-files>\na\nb\n</modified-files>"
    );
    // A line patch names its files in its text.
    let patch = json!({"input": "@a#0123abcd\ndelete 1\n@b c#new\ninsert start\n|@x#new"});
    let edit = ToolCall { id: "1".into(), name: "edit".into(), arguments: patch, ..ToolCall::default() };
    let answer = AssistantMessage { content: vec![Block::ToolCall(edit)], ..AssistantMessage::default() };
    let files = files_of(&[answer.into(), call("2", "read", "a"), call("3", "read", "d:3-5"), call("4", "ls", "e")]);
    assert_eq!(files.modified, ["a".to_string(), "b c".to_string()].into());
    assert_eq!(files.read, ["d".to_string()].into());
    // Exactly the appended lists are removed from a summary.
    let one = Files { read: ["r".to_string()].into(), ..Files::default() };
    for summary in ["S", "S <read-files>\nx\n</read-files> T", "", "<modified-files>"] {
        for files in [&files, &one, &Files::default()] {
            assert_eq!(without_files(&with_files(summary, files)), summary);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn cuts_keep_calls_with_their_results(kinds in prop::collection::vec((0..4u8, 0..2_000usize), 0..40), keep in 1..2_000u64) {
        let mut messages = Vec::new();
        for (at, (kind, bytes)) in kinds.into_iter().enumerate() {
            let id = at.to_string();
            match kind {
                0 => messages.push(user(&"u".repeat(bytes))),
                // Another program may have written messages between a call and its result.
                1 if bytes % 3 == 0 => messages.extend([call(&id, "bash", "p"), user("meanwhile"), result(&id, "bash", bytes)]),
                1 => messages.extend([call(&id, "bash", "p"), result(&id, "bash", bytes)]),
                2 => messages.push(AgentMessage::from(AssistantMessage { content: vec![Block::text("a".repeat(bytes))], ..AssistantMessage::default() })),
                _ => messages.push(AgentMessage::CompactionSummary(CompactionSummary { summary: "s".repeat(bytes), ..CompactionSummary::default() })),
            }
        }
        let limits = Limits { reserve: 0, keep_recent: keep };
        if let Some(found) = cut(&messages, limits) {
            prop_assert!(found.from < found.kept && found.kept < messages.len());
            prop_assert!(!matches!(messages[found.kept], AgentMessage::ToolResult(_)));
            for message in &messages[found.kept..] {
                let AgentMessage::ToolResult(result) = message else { continue };
                let has = |message: &AgentMessage| matches!(message, AgentMessage::Assistant(answer) if answer.tool_calls().any(|call| call.id == result.tool_call_id));
                prop_assert!(messages[found.kept..].iter().any(has), "a kept result has lost its call");
            }
            let kept: u64 = messages[found.kept..].iter().map(tokens).sum();
            let all: u64 = messages[found.from..].iter().map(tokens).sum();
            prop_assert!(kept >= keep.min(all));
            prop_assert!(found.turn.is_none_or(|turn| found.from <= turn && turn < found.kept));
        }
    }
}
