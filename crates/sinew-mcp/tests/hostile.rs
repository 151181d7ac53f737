//! Tests of servers over standard streams that are old, new, slow or misbehave.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a failed test panics")]

#[path = "all/support/mod.rs"]
mod support;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use sinew_mcp::era::Era;
use sinew_mcp::{
    BoxFuture, CallOptions, CallTimes, Client, ClientHost, ClientOptions, Content, Elicitation, ElicitationAnswer,
    McpError,
};
use support::{arguments, server};

/// Records what is logged and asked, and gives the configured answers.
struct Host {
    log: Mutex<Vec<String>>,
    asked: Mutex<Vec<Elicitation>>,
    answer: Option<ElicitationAnswer>,
}

impl ClientHost for Host {
    fn can_ask(&self) -> bool {
        self.answer.is_some()
    }

    fn elicit(&self, question: Elicitation) -> BoxFuture<'static, ElicitationAnswer> {
        self.asked.lock().unwrap().push(question);
        Box::pin(std::future::ready(self.answer.clone().unwrap()))
    }

    fn log(&self, line: &str) {
        self.log.lock().unwrap().push(line.to_string());
    }
}

fn host(answer: Option<ElicitationAnswer>) -> (Arc<Host>, ClientOptions) {
    let host = Arc::new(Host { log: Mutex::default(), asked: Mutex::default(), answer });
    (Arc::clone(&host), ClientOptions { host, ..patient() })
}

/// Options for a server that answers the question about its era, however slowly this machine starts it.
fn patient() -> ClientOptions {
    ClientOptions { discover_silence: Duration::from_secs(60), ..ClientOptions::default() }
}

async fn start_with(args: &[&str], options: &ClientOptions) -> Result<Client, McpError> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/peers/liar.py");
    Client::start(&server("python3", ["-u", script].into_iter().chain(args.iter().copied())), options).await
}

async fn start(mode: &str) -> Client {
    start_with(&[mode], &patient()).await.unwrap()
}

/// Options for a call that may take as long as a busy machine needs.
async fn call(client: &Client, name: &str, args: Value) -> Result<String, McpError> {
    let times = CallTimes { silence: Duration::from_secs(600), ..CallTimes::default() };
    let options = CallOptions { times, ..CallOptions::default() };
    client.call_tool(name, arguments(args), &options).await.map(|result| result.text())
}

#[tokio::test]
async fn sends_no_handshake_to_a_modern_server() {
    let client = start("modern").await;
    let info = client.info();
    assert_eq!((info.era, info.version, info.era_certain), (Era::Modern, "2026-07-28", true));
    assert_eq!((info.name.as_str(), info.instructions.as_deref()), ("liar", Some("modern")));
    // The notification arrived on the subscription, so it is open.
    client.changes().wait_for(|changes| changes.tools == 1).await.unwrap();
    assert_eq!(call(&client, "seen", json!({})).await.unwrap(), "server/discover subscriptions/listen tools/call");
    client.close().await;
}

#[tokio::test]
async fn any_other_answer_starts_the_handshake() {
    for mode in ["error:-32601", "error:-32602", "error:-32000", "error:0", "garbage"] {
        let client = start(mode).await;
        let info = client.info();
        assert_eq!((info.era, info.version, info.era_certain), (Era::Legacy, "2025-11-25", true), "{mode}");
        let seen = call(&client, "seen", json!({})).await.unwrap();
        assert_eq!(seen, "server/discover initialize notifications/initialized tools/call", "{mode}");
    }
}

#[tokio::test]
async fn silence_starts_the_handshake_for_this_process_only() {
    let client = start_with(&["silent"], &ClientOptions::default()).await.unwrap();
    assert_eq!((client.info().era, client.info().era_certain), (Era::Legacy, false));
    assert_eq!(call(&client, "echo", json!({"text": "x"})).await.unwrap(), "x");
}

#[tokio::test]
async fn a_slow_modern_server_stays_modern() {
    let client = start_with(&["slow"], &ClientOptions::default()).await.unwrap();
    assert_eq!((client.info().era, client.info().era_certain), (Era::Modern, true));
    assert_eq!(call(&client, "echo", json!({"text": "x"})).await.unwrap(), "x");
}

#[tokio::test]
async fn restarts_a_server_that_exits_when_asked_for_its_era() {
    let client = start("dies").await;
    assert_eq!(call(&client, "seen", json!({})).await.unwrap(), "initialize notifications/initialized tools/call");
}

#[tokio::test]
async fn a_failed_start_reports_the_last_line_of_stderr() {
    let error = start_with(&["dies-twice"], &patient()).await.err().unwrap();
    let expect = "MCP error: the server closed its output. Last line on its stderr: cannot find the database";
    assert_eq!(error.to_string(), expect);
    let nothing = Client::start(&server("/nowhere/server", [""; 0]), &ClientOptions::default()).await.err().unwrap();
    assert!(nothing.to_string().contains("failed to start \"/nowhere/server\": No such file"), "{nothing}");
    let options = ClientOptions { start_limit: Duration::from_millis(50), ..ClientOptions::default() };
    let silent = Client::start(&server("sleep", ["1000"]), &options).await.err().unwrap();
    assert_eq!(silent.to_string(), "MCP error: the server did not start within 0.05 s.");
}

#[tokio::test]
async fn incompatible_versions_are_both_named() {
    for (args, theirs) in [
        (&["unsupported"][..], "2031-01-01"),
        (&["other-versions"], "2031-01-01"),
        (&["error:-32601", "1999-01-01"], "1999-01-01"),
    ] {
        let error = start_with(args, &patient()).await.err().unwrap();
        let expect = "no common protocol version: sinew supports 2026-07-28, 2025-11-25, 2025-06-18, 2025-03-26, \
                      2024-11-05; the server supports ";
        assert_eq!(error.to_string(), format!("MCP error: {expect}{theirs}"));
    }
    let error = start_with(&["asks-for-capability"], &patient()).await.err().unwrap();
    assert!(matches!(error, McpError::Rpc(error) if error.code == -32021));
}

#[tokio::test]
async fn accepts_older_revisions() {
    for version in ["2025-06-18", "2025-03-26", "2024-11-05"] {
        let client = start_with(&["error:-32601", version], &patient()).await.unwrap();
        assert_eq!(client.info().version, version);
    }
}

#[tokio::test]
async fn every_modern_request_has_its_meta() {
    let (_, options) = host(Some(ElicitationAnswer::Cancel));
    let client = start_with(&["modern"], &options).await.unwrap();
    let meta: Value = serde_json::from_str(&call(&client, "meta", json!({})).await.unwrap()).unwrap();
    assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
    let capabilities = json!({"roots": {}, "elicitation": {"form": {}, "url": {}}});
    assert_eq!(meta["io.modelcontextprotocol/clientCapabilities"], capabilities);
    assert_eq!(meta["io.modelcontextprotocol/clientInfo"]["name"], "sinew");
    assert!(meta["progressToken"].is_number());
    let legacy = start("garbage").await;
    let meta: Value = serde_json::from_str(&call(&legacy, "meta", json!({})).await.unwrap()).unwrap();
    assert_eq!(meta.as_object().unwrap().len(), 1, "{meta}");
}

#[tokio::test]
async fn results_without_a_type_are_complete_and_unknown_types_are_errors() {
    let client = start("modern").await;
    let result = client.call_tool("no-type", arguments(json!({})), &CallOptions::default()).await.unwrap();
    let other = |kind: &str| Content::Other(kind.to_string());
    assert_eq!(result.content, [Content::Text("complete".into()), other("smell"), other("")]);
    let error = call(&client, "odd-type", json!({})).await.unwrap_err();
    assert_eq!(error.to_string(), "MCP error: unknown type of result: \"hologram\"");
    assert_eq!(call(&client, "echo", json!({"text": "on"})).await.unwrap(), "on");
}

#[tokio::test]
async fn invalid_tools_do_not_remove_others_from_the_list() {
    let client = start("modern").await;
    let listing = client.list_tools().await.unwrap();
    let tools: Vec<(&str, &str)> = listing.items.iter().map(|tool| (tool.name.as_str(), tool.raw.get())).collect();
    assert_eq!(tools.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["echo", "odd"]);
    assert_eq!(tools[1].1, r#"{"name": "odd", "inputSchema": true}"#);
    assert_eq!(listing.notes.len(), 1);
}

#[tokio::test]
async fn counts_changes_of_lists() {
    let client = start("modern").await;
    let mut changes = client.changes();
    changes.wait_for(|changes| changes.tools == 1).await.unwrap();
    call(&client, "flood", json!({"count": 5000})).await.unwrap();
    assert_eq!(changes.borrow().tools, 5001);
}

#[tokio::test]
async fn logs_and_skips_lines_that_are_not_messages() {
    let (host, options) = host(None);
    let client = start_with(&["garbage"], &options).await.unwrap();
    assert_eq!(call(&client, "talk", json!({})).await.unwrap(), "after all");
    let log = host.log.lock().unwrap().join("\n");
    assert!(log.contains("Listening on stdio") && log.contains("\u{FFFD}\u{FFFD}"), "{log}");
    assert_eq!(host.log.lock().unwrap().len(), 4);
}

#[tokio::test]
async fn a_hundred_invalid_lines_end_the_connection() {
    let client = start("garbage").await;
    let error = call(&client, "chatter", json!({})).await.unwrap_err();
    assert_eq!(error.to_string(), "MCP error: Transport closed");
    assert_eq!(client.closed_reason().unwrap(), "the server writes text that is not a protocol message");
    let error = call(&client, "echo", json!({"text": "x"})).await.unwrap_err();
    assert_eq!(error.to_string(), "MCP error: Transport closed");
}

#[tokio::test]
async fn drops_answers_to_unknown_requests() {
    let client = start("garbage").await;
    assert_eq!(call(&client, "twice", json!({})).await.unwrap(), "first");
    assert_eq!(call(&client, "echo", json!({"text": "on"})).await.unwrap(), "on");
}

#[tokio::test]
async fn invalid_utf8_and_deep_nesting_drop_one_message() {
    let client = start("garbage").await;
    assert_eq!(call(&client, "bytes", json!({})).await.unwrap(), "clean");
    assert_eq!(call(&client, "deep", json!({"depth": 1_000_000})).await.unwrap(), "shallow");
}

#[tokio::test]
async fn large_messages_neither_fill_memory_nor_end_the_connection() {
    let client = start("garbage").await;
    let before = peak_memory();
    let error = call(&client, "large", json!({"megabytes": 50})).await.unwrap_err();
    let expect = "MCP error -32603: The answer was a message of 52428873 bytes, more than 16000000, and was not read.";
    assert_eq!(error.to_string(), expect);
    assert_eq!(call(&client, "endless", json!({"megabytes": 1024})).await.unwrap(), "behind");
    assert_eq!(call(&client, "flood", json!({"count": 1_000_000})).await.unwrap(), "done");
    // The other tests of this program run at the same time, and need little memory.
    let grown = peak_memory() - before;
    assert!(grown < 48 << 20, "{grown} bytes more");
}

#[tokio::test]
async fn other_servers_answer_while_one_floods() {
    let folder = tempfile::tempdir().unwrap();
    let until = folder.path().join("until");
    let (flooding, other) = (start("garbage").await, start("garbage").await);
    let args = json!({"count": 1_000, "until": until});
    let flood = tokio::spawn(async move { call(&flooding, "flood", args).await });
    // The flood ends after these answers, however long they take.
    for number in 0..100 {
        let text = number.to_string();
        assert_eq!(call(&other, "echo", json!({ "text": text })).await.unwrap(), text);
    }
    std::fs::write(&until, "").unwrap();
    assert_eq!(flood.await.unwrap().unwrap(), "done");
}

/// Returns the peak memory of this process, in bytes.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap() * 1024
}

#[tokio::test]
async fn a_dropped_call_is_cancelled_and_the_server_keeps_running() {
    let client = start("garbage").await;
    let times = CallTimes { silence: Duration::from_millis(20), total: Duration::from_secs(60) };
    let options = CallOptions { times, progress: None };
    for _ in 0..2 {
        let error = client.call_tool("never", arguments(json!({})), &options).await.unwrap_err();
        assert!(matches!(error, McpError::Silence(_)) && error.effect_unknown(), "{error}");
    }
    let seen = call(&client, "seen", json!({})).await.unwrap();
    assert_eq!(
        seen,
        "server/discover initialize notifications/initialized tools/call notifications/cancelled tools/call \
         notifications/cancelled tools/call"
    );
}

#[tokio::test]
async fn a_crash_fails_waiting_calls() {
    let client = Arc::new(start("garbage").await);
    let waiting = tokio::spawn({
        let client = Arc::clone(&client);
        async move { call(&client, "never", json!({})).await }
    });
    let error = call(&client, "die", json!({})).await.unwrap_err();
    assert_eq!(error.to_string(), "MCP error: Transport closed");
    assert!(error.ends_connection());
    assert!(waiting.await.unwrap().is_err());
}

#[tokio::test]
async fn a_server_that_does_not_read_blocks_only_its_own_calls() {
    let folder = tempfile::tempdir().unwrap();
    let fifo = folder.path().join("until");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let client = start("garbage").await;
    let other = start("garbage").await;
    let times = CallTimes { silence: Duration::from_millis(100), total: Duration::from_secs(60) };
    let options = CallOptions { times, progress: None };
    let args = json!({"pings": 100_000, "until": fifo});
    let error = client.call_tool("deaf", arguments(args), &options).await.unwrap_err();
    assert!(matches!(error, McpError::Silence(_)), "{error}");
    // This is far more than the pipe and the queue can hold: each call ends at its own time limit.
    let payload = "x".repeat(16 * 1024);
    for _ in 0..20 {
        let args = arguments(json!({ "text": payload }));
        let times = CallTimes { silence: Duration::from_millis(1), total: Duration::from_secs(60) };
        let _ = client.call_tool("echo", args, &CallOptions { times, progress: None }).await.unwrap_err();
    }
    assert_eq!(call(&other, "echo", json!({"text": "on"})).await.unwrap(), "on");
    // Waits for the server, which waits for us to read its output.
    let open = move || std::fs::OpenOptions::new().write(true).open(&fifo).unwrap();
    drop(tokio::task::spawn_blocking(open).await.unwrap());
    client.close().await;
}

#[tokio::test]
async fn requests_of_the_server_are_answered_or_refused() {
    let client = start("garbage").await;
    let answers: Value = serde_json::from_str(&call(&client, "ping", json!({})).await.unwrap()).unwrap();
    assert_eq!(answers[0], json!({"jsonrpc": "2.0", "id": "p-1", "result": {}}));
    assert_eq!((&answers[1]["id"], &answers[1]["error"]["code"]), (&json!("p-2"), &json!(-32601)));
}

fn question() -> Value {
    json!({"message": "Who?", "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}}})
}

#[tokio::test]
async fn sends_input_and_returns_the_state_unchanged() {
    let state = format!("{}\"\\\u{1}\u{7f}é\u{2028}𝄞", "s".repeat(64 * 1024));
    for (answer, expect) in [
        (
            ElicitationAnswer::Accept(arguments(json!({"name": "Ada", "many": ["a", "b"], "n": 1.5, "b": true}))),
            json!({"action": "accept", "content": {"name": "Ada", "many": ["a", "b"], "n": 1.5, "b": true}}),
        ),
        (ElicitationAnswer::Decline, json!({"action": "decline"})),
        (ElicitationAnswer::Cancel, json!({"action": "cancel"})),
    ] {
        let (host, options) = host(Some(answer));
        let client = start_with(&["modern"], &options).await.unwrap();
        let args = json!({"rounds": 8, "state": state, "question": question()});
        let text = call(&client, "ask", args).await.unwrap();
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), json!({ "q": expect }));
        assert_eq!(host.asked.lock().unwrap().len(), 8);
    }
}

#[tokio::test]
async fn the_ninth_question_ends_the_call() {
    let (host, options) = host(Some(ElicitationAnswer::Decline));
    let client = start_with(&["modern"], &options).await.unwrap();
    let error = call(&client, "ask", json!({"rounds": 9, "state": "s", "question": question()})).await.unwrap_err();
    assert_eq!(error.to_string(), "MCP error: the server asked for input more than 8 times in one call");
    assert_eq!(host.asked.lock().unwrap().len(), 8);
}

#[tokio::test]
async fn without_a_user_the_call_fails_with_the_question() {
    let client = start("modern").await;
    let error = call(&client, "ask", json!({"rounds": 1, "state": "s", "question": question()})).await.unwrap_err();
    assert_eq!(error.to_string(), "The server asked for input that nobody can give: Who?");
}

#[tokio::test]
async fn declines_a_form_that_asks_for_a_secret_without_showing_it() {
    let (host, options) = host(Some(ElicitationAnswer::Accept(arguments(json!({"apiKey": "k"})))));
    let client = start_with(&["modern"], &options).await.unwrap();
    let form = json!({"message": "Key?", "requestedSchema": {"type": "object", "properties": {"apiKey": {}}}});
    let text = call(&client, "ask", json!({"rounds": 1, "state": "s", "question": form})).await.unwrap();
    assert_eq!(text, r#"{"q": {"action": "decline"}}"#);
    assert_eq!(host.asked.lock().unwrap().len(), 0);
}
