//! Tests session files damaged by a crash, another program or two writers: a strict server accepts the next request,
//! and the file keeps all of its content.

use std::path::Path;

use serde_json::{Value, json};
use sinew_agent::agent::Stop;

use crate::served::replies::{APIS, text};
use crate::served::test_env::{TestEnv, strict};

fn line(at: usize, parent: Option<usize>, message: &Value) -> String {
    let id = |at: usize| format!("{at:08x}");
    let entry = json!({"type": "message", "id": id(at), "parentId": parent.map(id),
        "timestamp": "2026-01-01T00:00:00.000Z", "message": message});
    format!("{entry}\n")
}

fn said(text: &str) -> Value {
    json!({"role": "user", "content": text, "timestamp": 1})
}

fn called(api: &str, ids: &[&str], stop: &str) -> Value {
    let calls: Vec<Value> =
        ids.iter().map(|id| json!({"type": "toolCall", "id": id, "name": "echo", "arguments": {"say": "x"}})).collect();
    json!({"role": "assistant", "content": calls, "api": api, "provider": "acme", "model": "m", "usage": {"input": 1,
        "output": 1, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 2, "cost": {"input": 0, "output": 0,
        "cacheRead": 0, "cacheWrite": 0, "total": 0}}, "stopReason": stop, "timestamp": 1})
}

fn result(id: &str) -> Value {
    json!({"role": "toolResult", "toolCallId": id, "toolName": "echo",
        "content": [{"type": "text", "text": "done"}], "isError": false, "timestamp": 1})
}

/// Returns a session file in which the messages follow each other.
fn file_of(messages: &[Value]) -> String {
    let parent = |at: usize| (at > 0).then_some(at);
    messages.iter().enumerate().map(|(at, message)| line(at + 1, parent(at), message)).collect()
}

fn files(api: &str) -> Vec<(&'static str, String)> {
    let whole = file_of(&[said("go"), called(api, &["a", "b"], "toolUse"), result("a"), result("b")]);
    let cut = whole.len() - 40;
    vec![
        ("a call without result", file_of(&[said("go"), called(api, &["a", "b"], "toolUse"), result("b")])),
        (
            "a call without result, and the user went on",
            file_of(&[said("go"), called(api, &["a"], "toolUse"), said("well?")]),
        ),
        ("a torn last line", whole[..cut].to_string()),
        ("a result without its call", file_of(&[said("go"), result("z"), said("well?")])),
        (
            "results in another order",
            file_of(&[said("go"), called(api, &["a", "b"], "toolUse"), result("b"), said("x"), result("a")]),
        ),
        ("an id that was used twice", file_of(&[said("go"), called(api, &["a"], "toolUse"), result("a"), result("a")])),
        ("an answer that failed", file_of(&[said("go"), called(api, &[], "error")])),
        ("two writers", {
            // Both writers continued from the same message; their lines alternate, and the last one is the leaf.
            [
                line(1, None, &said("go")),
                line(2, Some(1), &called(api, &["a"], "toolUse")),
                line(3, Some(1), &called(api, &["b"], "toolUse")),
                line(4, Some(2), &result("a")),
                line(5, Some(3), &result("b")),
                line(6, Some(4), &said("and?")),
            ]
            .concat()
        }),
    ]
}

#[tokio::test]
async fn requests_from_damaged_session_files_are_valid() {
    for api in APIS {
        for (what, lines) in files(api) {
            let header = json!({"type": "session", "version": 3, "id": "s", "timestamp": "2026-01-01T00:00:00.000Z",
                "cwd": "/"});
            let server = strict(vec![text(api, "fine"), text(api, "still fine")]);
            let before = format!("{header}\n{lines}");
            let env = TestEnv::with_file(&before, api, &server);
            let outcome = env.prompt("again").await;
            assert_eq!(
                outcome.stop,
                Stop::Done,
                "{what}, {api}: {:?}",
                outcome.answer.and_then(|answer| answer.error_message)
            );
            let kept = &before[..=before.rfind('\n').unwrap()];
            assert!(read(&env.path).starts_with(kept), "{what}, {api}: every whole line is still there");
            let env = env.resumed(api, &server).await;
            assert_eq!(env.prompt("and again").await.stop, Stop::Done, "{what}, {api}");
        }
    }
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}
