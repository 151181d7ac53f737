//! Tests of the server: with handwritten messages over an in-memory pipe, with our client, and with the Python and
//! TypeScript SDKs.

use crate::support;

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use sinew_mcp::era::Era;
use sinew_mcp::server::{ServedCall, ServedOutput, ServedTool, ServerOptions, serve};
use sinew_mcp::{BoxFuture, CallOptions, Client, ClientOptions, Progress};
use support::{arguments, npm_folder, python, server};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// A tool that does what its name says.
struct Fixture {
    name: &'static str,
    cancelled: Arc<Notify>,
}

impl ServedTool for Fixture {
    fn name(&self) -> &str {
        self.name
    }

    fn description(&self) -> &str {
        "A fixture."
    }

    fn input_schema(&self) -> Value {
        json!({"type": "object"})
    }

    fn call(&self, call: ServedCall) -> BoxFuture<'_, ServedOutput> {
        Box::pin(async move {
            match self.name {
                "panic" => panic!("on purpose"),
                "wait" => {
                    let cancelled = Arc::clone(&self.cancelled);
                    // It runs on its own thread, like real work, until the caller stops waiting.
                    let (hook_set, cancel) = (Arc::new(Notify::new()), call.cancel);
                    let hook = cancel.on_cancel(move || cancelled.notify_one());
                    hook_set.notified().await;
                    drop(hook);
                    ServedOutput::default()
                }
                "steps" => {
                    for step in [1.0, 2.0, 1.5, f64::NAN, 3.0] {
                        call.progress.report(&Progress { progress: step, total: Some(3.0), message: None });
                    }
                    ServedOutput { text: "done".into(), structured: Some(json!({"n": 1})), ..ServedOutput::default() }
                }
                _ => ServedOutput { text: json!(call.arguments).to_string(), ..ServedOutput::default() },
            }
        })
    }
}

/// A client that writes handwritten lines.
struct Hand {
    write: WriteHalf<DuplexStream>,
    read: tokio::io::Lines<BufReader<ReadHalf<DuplexStream>>>,
    served: JoinHandle<std::io::Result<()>>,
    cancelled: Arc<Notify>,
}

impl Hand {
    fn new() -> Hand {
        let cancelled = Arc::new(Notify::new());
        let tool = |name| -> Arc<dyn ServedTool> { Arc::new(Fixture { name, cancelled: Arc::clone(&cancelled) }) };
        let tools = ["echo", "panic", "wait", "steps"].map(tool).to_vec();
        let (ours, theirs) = tokio::io::duplex(1 << 20);
        let (input, output) = tokio::io::split(theirs);
        let served = tokio::spawn(serve(tools, ServerOptions::default(), input, output));
        let (read, write) = tokio::io::split(ours);
        Hand { write, read: BufReader::new(read).lines(), served, cancelled }
    }

    async fn write(&mut self, line: &str) {
        self.write.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }

    async fn answer(&mut self) -> Value {
        serde_json::from_str(&self.read.next_line().await.unwrap().unwrap()).unwrap()
    }

    async fn ask(&mut self, id: Value, method: &str, params: Value) -> Value {
        self.write(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()).await;
        self.answer().await
    }

    async fn greet(&mut self) {
        self.ask(json!(0), "initialize", json!({"protocolVersion": "2025-06-18", "capabilities": {}})).await;
        self.write(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    }
}

fn meta() -> Value {
    json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}})
}

#[tokio::test]
async fn one_process_serves_both_eras() {
    let mut hand = Hand::new();
    let discovered = hand.ask(json!("d"), "server/discover", json!({"_meta": meta()})).await;
    assert_eq!(discovered["result"]["supportedVersions"], json!(["2026-07-28"]));
    assert_eq!(discovered["result"]["resultType"], "complete");
    let greeted = hand.ask(json!(1), "initialize", json!({"protocolVersion": "2025-03-26"})).await;
    assert_eq!(greeted["result"]["protocolVersion"], "2025-03-26");
    let unknown = hand.ask(json!(2), "initialize", json!({"protocolVersion": "1999-01-01"})).await;
    assert_eq!(unknown["result"]["protocolVersion"], "2025-11-25");
    let old = hand.ask(json!(3), "tools/list", json!({})).await;
    let new = hand.ask(json!(4), "tools/list", json!({"_meta": meta()})).await;
    assert_eq!(old["result"]["tools"], new["result"]["tools"]);
    assert_eq!((old["result"].get("ttlMs"), &new["result"]["ttlMs"]), (None, &json!(3_600_000)));
    assert_eq!(new["result"]["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "sinew");
    let names: Vec<&str> =
        new["result"]["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["echo", "panic", "wait", "steps"]);
}

#[tokio::test]
async fn the_error_of_an_incomplete_request_names_what_is_missing() {
    let mut hand = Hand::new();
    let code = |answer: &Value| answer["error"]["code"].as_i64().unwrap();
    let early = hand.ask(json!(1), "tools/list", json!({})).await;
    assert_eq!(code(&early), -32602);
    assert!(early["error"]["message"].as_str().unwrap().contains("protocolVersion"), "{early}");
    let version = json!({"_meta": {"io.modelcontextprotocol/protocolVersion": "2031-01-01"}});
    let unsupported = hand.ask(json!(2), "tools/list", version).await;
    assert_eq!(code(&unsupported), -32022);
    assert_eq!(unsupported["error"]["data"], json!({"supported": ["2026-07-28"], "requested": "2031-01-01"}));
    let half = json!({"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}});
    assert_eq!(code(&hand.ask(json!(3), "tools/list", half).await), -32602);
    assert_eq!(code(&hand.ask(json!(4), "server/discover", json!({})).await), -32602);
    hand.greet().await;
    assert_eq!(code(&hand.ask(json!(5), "no/such", json!({})).await), -32601);
    for params in [json!({}), json!({"name": "nothing"}), json!({"name": "echo", "arguments": [1]})] {
        assert_eq!(code(&hand.ask(json!(6), "tools/call", params).await), -32602);
    }
    assert_eq!(code(&hand.ask(json!(7), "tools/call", json!([1])).await), -32602);
}

#[tokio::test]
async fn writes_only_protocol_messages() {
    let mut hand = Hand::new();
    hand.greet().await;
    let echo = hand.ask(json!("é"), "tools/call", json!({"name": "echo", "arguments": {"a": "\n"}})).await;
    assert_eq!((&echo["id"], echo["result"]["content"][0]["text"].as_str()), (&json!("é"), Some(r#"{"a":"\n"}"#)));
    let panicked = hand.ask(json!(1), "tools/call", json!({"name": "panic"})).await;
    assert_eq!(panicked["result"]["isError"], true);
    hand.write("no json").await;
    assert_eq!(hand.answer().await["error"]["code"], -32700);
    let deep = format!(r#"{{"id":1,"method":"tools/call","params":{}{}}}"#, "[".repeat(500), "]".repeat(500));
    hand.write(&deep).await;
    assert_eq!(hand.answer().await["error"]["code"], -32700);
    hand.write(r#"[{"jsonrpc":"2.0","id":8,"method":"ping"},{"jsonrpc":"2.0","id":9,"method":"ping"}]"#).await;
    assert_eq!((hand.answer().await["id"].clone(), hand.answer().await["id"].clone()), (json!(8), json!(9)));
}

#[tokio::test]
async fn the_end_of_input_stops_the_server_and_its_calls() {
    let mut hand = Hand::new();
    hand.greet().await;
    hand.write(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait"}}"#).await;
    hand.ask(json!(2), "ping", json!({})).await;
    hand.write.shutdown().await.unwrap();
    hand.cancelled.notified().await;
    hand.served.await.unwrap().unwrap();
    assert_eq!(hand.read.next_line().await.unwrap(), None);
}

#[tokio::test]
async fn a_cancelled_call_ends_without_an_answer() {
    let mut hand = Hand::new();
    hand.greet().await;
    let call = r#"{"jsonrpc":"2.0","id":"w","method":"tools/call","params":{"name":"wait"}}"#;
    hand.write(call).await;
    let again = hand.ask(json!("w"), "tools/call", json!({"name": "echo"})).await;
    assert_eq!(again["error"]["code"], -32600, "the id is in use");
    hand.write(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"w"}}"#).await;
    hand.cancelled.notified().await;
    assert_eq!(hand.ask(json!(2), "ping", json!({})).await, json!({"jsonrpc": "2.0", "id": 2, "result": {}}));
}

#[tokio::test]
async fn progress_never_decreases() {
    let mut hand = Hand::new();
    hand.greet().await;
    let params = json!({"name": "steps", "_meta": {"progressToken": "p"}});
    hand.write(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string()).await;
    for step in [1.0, 2.0, 3.0] {
        let report = hand.answer().await;
        assert_eq!(report["params"], json!({"progressToken": "p", "progress": step, "total": 3.0}));
    }
    let result = hand.answer().await;
    assert_eq!(result["result"]["structuredContent"], json!({"n": 1}));
}

#[tokio::test]
async fn disconnects_a_client_that_writes_no_messages() {
    let mut hand = Hand::new();
    hand.write(&"x\n".repeat(100)).await;
    assert_eq!(hand.served.await.unwrap().unwrap_err().kind(), std::io::ErrorKind::InvalidData);
}

/// The example, which serves the core's tools.
fn example() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    own.parent().unwrap().parent().unwrap().join("examples/serve")
}

/// Creates a directory with a few files, a directory outside of it, and a link to that one.
fn project() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root");
    std::fs::create_dir_all(root.join("src")).unwrap();
    std::fs::create_dir(folder.path().join("outside")).unwrap();
    std::fs::write(folder.path().join("outside/secret.txt"), "needle outside\n").unwrap();
    std::fs::write(root.join("src/main.rs"), "fn main() {\n    needle();\n}\n").unwrap();
    std::fs::write(root.join("notes.md"), "a needle\n").unwrap();
    std::os::unix::fs::symlink("../outside", root.join("link")).unwrap();
    (folder, root)
}

#[tokio::test]
async fn our_client_works_with_our_server_in_both_eras() {
    let (_folder, root) = project();
    for era in [Era::Modern, Era::Legacy] {
        let options = ClientOptions {
            era: (era == Era::Legacy).then_some(era),
            discover_silence: Duration::from_secs(60),
            ..ClientOptions::default()
        };
        let client = Client::start(&server(example(), [root.clone()]), &options).await.unwrap();
        assert_eq!(client.info().era, era);
        let tools = client.list_tools().await.unwrap();
        let names: Vec<&str> = tools.items.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, ["grep", "find", "fuzzy_find", "read", "ls", "html_to_markdown"]);
        assert!(tools.items.iter().all(|tool| tool.value()["annotations"]["readOnlyHint"] == true));
        for (name, args, expect) in [
            ("grep", json!({"pattern": "need.e"}), "notes.md:1:a needle\nsrc/main.rs:2:    needle();\n"),
            (
                "grep",
                json!({"pattern": "needle", "glob": "*.rs", "context": 1}),
                "src/main.rs-1-fn main() {\nsrc/main.rs:2:    needle();\nsrc/main.rs-3-}\n",
            ),
            ("grep", json!({"pattern": "nothing"}), "No matches.\n"),
            ("find", json!({"pattern": "**/*.rs"}), "src/main.rs\n"),
            ("fuzzy_find", json!({"query": "mainrs"}), "src/main.rs\n"),
            (
                "read",
                json!({"path": "src/main.rs", "offset": 2, "limit": 1}),
                "2\t    needle();\n[cut behind 1 entries: narrow the search]\n",
            ),
            ("ls", json!({}), "link\nnotes.md\nsrc/\n"),
            ("html_to_markdown", json!({"html": "<h1>Hi</h1>"}), "# Hi\n"),
        ] {
            let result = client.call_tool(name, arguments(args), &CallOptions::default()).await.unwrap();
            assert_eq!((result.text().as_str(), result.is_error), (expect, false), "{name}");
        }
        for (name, args) in [
            ("read", json!({"path": "../outside/secret.txt"})),
            ("read", json!({"path": "link/secret.txt"})),
            ("read", json!({"path": "/etc/passwd"})),
            ("read", json!({"path": "/proc/self/root/etc/passwd"})),
            ("ls", json!({"path": "link"})),
            ("grep", json!({"pattern": "x", "path": "/etc"})),
            ("find", json!({"pattern": "*", "path": "src/../.."})),
            ("fuzzy_find", json!({"query": "x", "path": "link"})),
        ] {
            let result = client.call_tool(name, arguments(args), &CallOptions::default()).await.unwrap();
            assert!(result.is_error && result.text().starts_with("Refused: "), "{name}: {result:?}");
        }
        for (name, args, expect) in [
            ("grep", json!({}), "/pattern is missing."),
            ("grep", json!({"pattern": "("}), "grep: "),
            ("read", json!({"path": 7}), "/path must be a string."),
            ("ls", json!({"folder": "."}), "/folder is not an argument of this tool."),
        ] {
            let result = client.call_tool(name, arguments(args), &CallOptions::default()).await.unwrap();
            assert!(result.is_error && result.text().starts_with(expect), "{name}: {result:?}");
        }
        client.close().await;
    }
}

#[track_caller]
fn check_peer(mut command: Command) {
    let (_folder, root) = project();
    let output = command.arg(example()).arg(&root).output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && out.ends_with("all is well\n"), "{out}\n{err}");
}

#[test]
fn the_python_sdk_works_with_our_server_in_both_eras() {
    let Some(python) = python() else { return };
    let mut command = Command::new(python);
    command.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/peers/sdk_client.py"));
    check_peer(command);
}

#[test]
fn the_typescript_sdk_works_with_our_server() {
    let Some(folder) = npm_folder("@modelcontextprotocol/sdk") else { return };
    let mut command = Command::new("node");
    command.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/peers/sdk_client.mjs")).arg(folder);
    check_peer(command);
}

#[test]
fn the_second_typescript_sdk_works_with_our_server_in_both_eras() {
    let Some(folder) = npm_folder("@modelcontextprotocol/client") else { return };
    let mut command = Command::new("node");
    command.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/peers/sdk2_client.mjs")).arg(folder);
    check_peer(command);
}
