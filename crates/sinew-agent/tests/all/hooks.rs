//! Tests hooks that are real programs.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use sinew_agent::event::Event;
use sinew_agent::extension::{Extension, Point, Verdict};
use sinew_agent::hooks::{Hook, Origin, read};
use sinew_tools::tool::ToolOutput;
use tokio_util::sync::CancellationToken;

use crate::{call, context};

fn hooks(entries: Value) -> Vec<Hook> {
    let text = json!({"hooks": entries}).to_string();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let environment = Arc::new(vec![("PATH".into(), path), ("SEEN".into(), "yes".into())]);
    let (hooks, warnings) = read(&text, Path::new("/h/hooks.json"), Origin::User, &environment).unwrap();
    assert_eq!(warnings, Vec::<String>::new());
    hooks
}

/// A hook for `tool_call` that runs a line of `sh`.
fn guard(script: &str, more: Value) -> Hook {
    let mut entry = json!({"event": "tool_call", "command": script, "shell": true});
    if let (Value::Object(entry), Value::Object(more)) = (&mut entry, more) {
        entry.extend(more);
    }
    hooks(json!([entry])).remove(0)
}

async fn verdict(hook: &Hook) -> Result<Verdict, String> {
    hook.before_tool_call(&call("bash", json!({"command": "ls"})), &context()).await
}

#[tokio::test]
async fn hook_answers_allow_change_or_block_calls() {
    let check = async |script: &str, expect: Result<Verdict, &str>| {
        let found = verdict(&guard(script, json!({}))).await;
        assert_eq!(found.as_ref().map_err(String::as_str), expect.as_ref().map_err(|text| *text), "{script}");
    };
    let block = |reason: &str| Ok(Verdict::Block(reason.into()));
    check("exit 0", Ok(Verdict::Allow)).await;
    check("cat > /dev/null; echo '{}'", Ok(Verdict::Allow)).await;
    check("echo '{\"block\": true, \"reason\": \"no\"}'", block("no")).await;
    check("echo '{\"args\": {\"a\": 1}}'", Ok(Verdict::Replace(json!({"a": 1})))).await;
    check("echo nonsense; echo not here >&2; exit 2", block("not here")).await;
    check("exit 2", block("Blocked by hook /h/hooks.json (exit 2)")).await;
    check("echo why >&2; exit 1", Err("it ended with exit code 1: why")).await;
    check("kill -9 $$", Err("it ended with a signal")).await;
    check("echo '[]'", Err("its answer is JSON, but not an object")).await;
    for garbage in ["echo nonsense", "echo '{\"block\":'", "printf '\\377\\376'", "echo '{} {}'"] {
        let error = verdict(&guard(garbage, json!({}))).await.unwrap_err();
        assert!(error.starts_with("its answer is not valid JSON"), "{garbage}: {error}");
    }
    for odd in ["{\"block\": \"yes\"}", "{\"blok\": true}", "{\"reason\": 1}"] {
        let error = verdict(&guard(&format!("echo '{odd}'"), json!({}))).await.unwrap_err();
        assert!(error.starts_with("its answer cannot be used"), "{odd}: {error}");
    }
    let error = verdict(&guard("head -c 1100000 /dev/zero", json!({}))).await.unwrap_err();
    assert_eq!(error, "its answer is larger than 1 MB");
}

#[tokio::test]
async fn hooks_get_the_event_and_a_minimal_environment() {
    let script = "read line; printf '%s' \"$line\" | grep -q '^{\"event\":\"tool_call\",\"sessionId\":\"s1\",\"sessionFile\":\"/f.jsonl\",\"cwd\":\"/\",\"toolCallId\":\"c1\",\"toolName\":\"bash\",\"args\":{\"command\":\"ls\"}}$' || exit 1; \
        [ \"$SINEW_HOOK_EVENT/$SEEN/$PWD\" = tool_call/yes// ] || exit 3; [ -z \"$HOME\" ] || exit 4";
    assert_eq!(verdict(&guard(script, json!({}))).await, Ok(Verdict::Allow));
    // More input than fits into a pipe, for a program that does not read it.
    let big = call("bash", json!({"command": "x".repeat(4 << 20)}));
    assert_eq!(guard("exit 0", json!({})).before_tool_call(&big, &context()).await, Ok(Verdict::Allow));
}

#[tokio::test]
async fn a_hook_that_exceeds_its_timeout_is_killed_with_its_children() {
    let folder = tempfile::tempdir().unwrap();
    let lock = folder.path().join("lock");
    // The child owns the lock while it lives.
    let script = format!(
        "(flock 9; echo > {0}.held; sleep 1000) 9> {0} & while [ ! -e {0}.held ]; do :; done; sleep 1000",
        lock.display()
    );
    let hook = guard(&script, json!({"timeoutMs": 3000}));
    assert_eq!(verdict(&hook).await, Err("it did not end within 3000 ms".into()));
    let again = move || std::fs::File::open(&lock).unwrap().lock().unwrap();
    tokio::task::spawn_blocking(again).await.unwrap();
    // A child that keeps the pipes open must not delay the answer.
    let left = guard("sleep 1000 & echo '{\"block\": true, \"reason\": \"left\"}'", json!({}));
    assert_eq!(verdict(&left).await, Ok(Verdict::Block("left".into())));
}

#[tokio::test]
async fn dropping_a_hook_kills_its_process() {
    let folder = tempfile::tempdir().unwrap();
    let held = folder.path().join("held");
    let script = format!("exec 9> {0}.lock; flock 9; : > {0}; sleep 1000", held.display());
    let hook = guard(&script, json!({}));
    let cancel = CancellationToken::new();
    let told = cancel.clone();
    let watch = held.clone();
    let waits = tokio::task::spawn_blocking(move || {
        while !watch.exists() {
            std::thread::yield_now();
        }
        told.cancel();
    });
    tokio::select! {
        verdict = verdict(&hook) => panic!("{verdict:?}"),
        () = cancel.cancelled() => {}
    }
    waits.await.unwrap();
    let lock = folder.path().join("held.lock");
    tokio::task::spawn_blocking(move || std::fs::File::open(lock).unwrap().lock().unwrap()).await.unwrap();
}

#[tokio::test]
async fn hook_entries_match_calls_by_tool_and_arguments() {
    let hook = guard("exit 2", json!({"match": {"tool": "bash|write", "args": "r[m]"}}));
    let asked = async |name: &str, command: &str| {
        hook.before_tool_call(&call(name, json!({"command": command})), &context()).await.unwrap() != Verdict::Allow
    };
    assert!(asked("bash", "rm x").await && asked("write", "rm").await);
    assert!(!asked("read", "rm x").await && !asked("bash", "ls").await);
    let allows = guard("exit 1", json!({"onFailure": "allow"}));
    assert_eq!(verdict(&allows).await, Ok(Verdict::Allow));
    let missing = hooks(json!([{"event": "tool_call", "command": "./none"}])).remove(0);
    assert!(verdict(&missing).await.unwrap_err().starts_with("failed to start /h/./none"));
}

#[tokio::test]
async fn hooks_change_results_and_contexts() {
    let hook = &hooks(json!([{"event": "tool_result", "shell": true,
        "command": "echo '{\"content\": [{\"type\": \"text\", \"text\": \"new\"}], \"isError\": true}'"}]))[0];
    let changed = hook.after_tool_call(&call("a", json!({})), ToolOutput::text("old"), &context()).await.unwrap();
    assert_eq!(changed, ToolOutput::error("new"));
    let hook = &hooks(json!([{"event": "context", "shell": true, "command": "echo '{\"messages\": []}'"}]))[0];
    assert_eq!(hook.transform_context(&[], &context()).await, Ok(Some(Vec::new())));
    let hook = &hooks(json!([{"event": "turn_end", "shell": true, "command": "exit 1"}]))[0];
    assert_eq!(hook.on_event(&Event::TurnStart, &context()).await, Ok(()));
    assert_eq!(hook.transform_context(&[], &context()).await, Ok(None));
}

#[tokio::test]
async fn hooks_run_at_lifecycle_points() {
    let asked = async |event: &'static str, script: &str| {
        let hook = hooks(json!([{"event": event, "shell": true, "command": script}])).remove(0);
        assert!(hook.is_at(event) && !hook.is_at("session_start"));
        let fields = json!({"text": "hi", "entryId": "1"}).as_object().cloned().unwrap();
        hook.on_point(&Point { name: event, fields }, &context()).await
    };
    let reads =
        "read line; printf '%s' \"$line\" | grep -q '\"cwd\":\"/\",\"text\":\"hi\"' && echo '{\"text\": \"ho\"}'";
    let object = |value: Value| Ok(value.as_object().cloned());
    assert_eq!(asked("input", reads).await, object(json!({"text": "ho"})));
    assert_eq!(asked("input", "exit 0").await, Ok(None));
    assert_eq!(asked("input", "echo no >&2; exit 2").await, object(json!({"handled": true, "reason": "no"})));
    let refused = asked("session_before_branch", "echo no >&2; exit 2").await;
    assert_eq!(refused, object(json!({"cancel": true, "reason": "no"})));
    assert_eq!(asked("session_tree", "echo no >&2; exit 2").await, Err("no".into()));
    assert_eq!(asked("input", "exit 1").await, Err("it ended with exit code 1".into()));
}
