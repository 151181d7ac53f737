//! Tests session files that are constructed to exhaust the memory or to be unreadable.
#![allow(clippy::unwrap_used, reason = "a test that cannot continue panics")]

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use sinew_llm::message::{AgentMessage, AssistantMessage, Block, ToolCall, UserMessage, text_of};
use sinew_session::clock::FixedClock;
use sinew_session::{Body, Defaults, OpenedSession, Session, SessionOptions, Sync, tail};

const HEADER: &str = r#"{"type":"session","version":3,"id":"s","cwd":"/"}"#;

fn options(folder: &Path) -> SessionOptions {
    let clock = Arc::new(FixedClock::at(1_700_000_000_000));
    SessionOptions { cwd: folder.to_path_buf(), blobs: None, sync: Sync::Never, clock, mask: None }
}

fn open(path: &Path) -> OpenedSession {
    Session::open(path, options(path.parent().unwrap())).unwrap()
}

fn entry(id: &str, parent: &str, text: &str) -> String {
    format!(r#"{{"type":"message","id":"{id}","parentId":"{parent}","message":{{"role":"user","content":"{text}"}}}}"#)
}

fn texts(session: &Session) -> Vec<String> {
    let messages = session.context(&Defaults::default()).unwrap().messages;
    messages
        .iter()
        .map(|message| match message {
            AgentMessage::User(user) => user.content.text(),
            AgentMessage::ToolResult(result) => text_of(&result.content),
            other => panic!("{other:?}"),
        })
        .collect()
}

/// Creates a file with these lines in a temporary directory.
fn file(lines: &[String]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    fs::write(&path, lines.join("\n") + "\n").unwrap();
    (folder, path)
}

/// Extends the file with a sparse region, which occupies no disk space.
fn append_hole(path: &Path, bytes: u64) {
    let file = OpenOptions::new().append(true).open(path).unwrap();
    file.set_len(file.metadata().unwrap().len() + bytes).unwrap();
}

#[test]
fn an_oversized_file_is_refused_with_its_size_and_left_unchanged() {
    let (_folder, path) = file(&[HEADER.into(), entry("a", "", "one")]);
    append_hole(&path, 50 << 30);
    let size = fs::metadata(&path).unwrap().len();
    for opened in [Session::open(&path, options(&path)), Session::view(&path, options(&path))] {
        let message = opened.err().unwrap().message().to_string();
        assert!(message.contains("it has 50 GB, and a session file has at most 4 GB"), "{message}");
        assert!(message.contains("s.jsonl"), "{message}");
    }
    assert_eq!(fs::metadata(&path).unwrap().len(), size);
    assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "nothing was moved or made");
}

#[test]
fn an_unterminated_line_is_skipped_and_removed_by_the_next_append() {
    let (_folder, path) = file(&[HEADER.into(), entry("a", "", "one")]);
    let whole = fs::metadata(&path).unwrap().len();
    append_hole(&path, 300 << 20);
    let OpenedSession { mut session, warnings, .. } = open(&path);
    assert_eq!((texts(&session), warnings), (vec!["one".to_string()], Vec::<String>::new()));
    let user = UserMessage { content: "two".into(), ..UserMessage::default() };
    session.append(Body::Message { message: user.into() }).unwrap();
    drop(session);
    assert!(fs::metadata(&path).unwrap().len() < whole + 1_000);
    assert_eq!(texts(&open(&path).session), ["one", "two"]);
}

#[test]
fn a_line_that_is_too_long_is_skipped_with_a_warning() {
    let (_folder, path) = file(&[HEADER.into(), entry("a", "", "one")]);
    append_hole(&path, 300 << 20);
    let mut file = OpenOptions::new().append(true).open(&path).unwrap();
    writeln!(file, "\n{}", entry("b", "a", "two")).unwrap();
    let OpenedSession { session, warnings, .. } = open(&path);
    assert_eq!(texts(&session), ["one", "two"]);
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].ends_with("1 lines could not be read and were skipped"), "{warnings:?}");
}

#[test]
fn a_sparse_file_is_not_a_session() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.txt");
    File::create(&path).unwrap().set_len(300 << 20).unwrap();
    let message = Session::open(&path, options(folder.path())).err().unwrap().message().to_string();
    assert!(message.contains("is not a session file"), "{message}");
}

fn nested(levels: usize) -> String {
    format!("{}{}", "[".repeat(levels), "]".repeat(levels))
}

#[test]
fn an_entry_nested_too_deeply_keeps_its_position_and_text() {
    // The entry and its message add two levels.
    for (levels, warned) in [(90, false), (98, false), (99, true), (127, true), (10_000, true), (500_000, true)] {
        let result = format!(
            r#"{{"type":"message","id":"b","parentId":"a","message":{{"role":"toolResult","toolCallId":"1","toolName":"t","content":[{{"type":"text","text":"two"}}],"isError":false,"details":{},"timestamp":1}}}}"#,
            nested(levels)
        );
        let (_folder, path) = file(&[HEADER.into(), entry("a", "", "one"), result, entry("c", "b", "three")]);
        let OpenedSession { session, warnings, .. } = open(&path);
        assert_eq!(texts(&session), ["one", "two", "three"], "{levels}");
        let expect = "1 entries nest more than 100 levels deep; the levels below were left out";
        assert_eq!(warnings.iter().any(|warning| warning.ends_with(expect)), warned, "{levels} {warnings:?}");
        // Every other function that reads the entry finds it too.
        assert_eq!(session.entry("b").unwrap().parent_id.as_deref(), Some("a"));
        let list: Value = serde_json::from_str(&session.entries_json(None).unwrap()).unwrap();
        assert_eq!(list.as_array().unwrap().len(), 3);
        assert_eq!(tail(&path, 1 << 22).unwrap().messages.len(), 3);
    }
}

#[test]
fn saved_entries_never_nest_too_deeply_to_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    // The maximum depth at which the arguments of a provider are accepted; the surrounding entry adds some levels.
    let arguments: Value = serde_json::from_str(&format!(r#"{{"path":"a","deep":{}}}"#, nested(120))).unwrap();
    let mut session = open(&path).session;
    let user = UserMessage { content: "one".into(), ..UserMessage::default() };
    session.append(Body::Message { message: user.into() }).unwrap();
    let call = ToolCall { id: "1".into(), name: "read".into(), arguments, ..ToolCall::default() };
    let answer = AssistantMessage { content: vec![Block::ToolCall(call)], ..AssistantMessage::default() };
    let mut message = AgentMessage::from(answer);
    session.append_message(&mut message).unwrap();
    drop(session);
    for line in fs::read_to_string(&path).unwrap().lines() {
        serde_json::from_str::<Value>(line).unwrap();
    }
    let OpenedSession { session, warnings, .. } = open(&path);
    assert_eq!(warnings, Vec::<String>::new());
    let kept = session.context(&Defaults::default()).unwrap().messages;
    // The live conversation continues with the stored form.
    assert_eq!((kept.len(), &kept[1]), (2, &message));
    let AgentMessage::Assistant(answer) = message else { panic!() };
    let Block::ToolCall(call) = &answer.content[0] else { panic!() };
    assert_eq!(call.arguments["path"], json!("a"));
    assert!(call.arguments.to_string().contains("cut content nested more than 100 levels deep"));
}
