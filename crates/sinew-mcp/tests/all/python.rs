//! Tests against servers of the Python SDK, which supports the protocol since 2026-07-28, and against the filesystem
//! server from npm.

use crate::support;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use sinew_mcp::era::Era;
use sinew_mcp::{BoxFuture, CallOptions, Client, ClientHost, ClientOptions, Elicitation, ElicitationAnswer, Progress};
use support::{HttpProgram, arguments, npm_server, python, python_program, server};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/peers/sdk_server.py");

fn patient() -> ClientOptions {
    ClientOptions { discover_silence: Duration::from_secs(60), ..ClientOptions::default() }
}

struct Person;

impl ClientHost for Person {
    fn can_ask(&self) -> bool {
        true
    }

    fn elicit(&self, _: Elicitation) -> BoxFuture<'static, ElicitationAnswer> {
        Box::pin(std::future::ready(ElicitationAnswer::Accept(arguments(json!({"name": "Ada"})))))
    }
}

async fn call(client: &Client, name: &str, args: Value, options: &CallOptions) -> String {
    client.call_tool(name, arguments(args), options).await.unwrap().text()
}

async fn check_sdk(client: &Client, era: Era) {
    assert_eq!(client.info().era, era);
    assert_eq!((client.info().name.as_str(), client.info().instructions.as_deref()), ("sdk", Some("Ask nicely.")));
    let tools = client.list_tools().await.unwrap();
    assert_eq!(
        tools.items.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(),
        ["add", "slow", "who", "wait", "count"]
    );
    assert_eq!(call(client, "add", json!({"a": 2, "b": 3}), &CallOptions::default()).await, "5");
    let reports: Arc<Mutex<Vec<Progress>>> = Arc::default();
    let sink = Arc::clone(&reports);
    let progress = CallOptions {
        progress: Some(Arc::new(move |progress| sink.lock().unwrap().push(progress))),
        ..CallOptions::default()
    };
    assert_eq!(call(client, "slow", json!({}), &progress).await, "done");
    let steps: Vec<f64> = reports.lock().unwrap().iter().map(|report| report.progress).collect();
    assert_eq!(steps, [1.0, 2.0, 3.0]);
    let resources = client.list_resources().await.unwrap();
    assert_eq!(resources.items[0].name, "note://one");
    assert_eq!(client.read_resource("note://one", &CallOptions::default()).await.unwrap().len(), 1);
    let prompt = client.get_prompt("greet", arguments(json!({"name": "Ada"})), &CallOptions::default()).await.unwrap();
    assert_eq!(prompt.len(), 1);
}

#[tokio::test]
async fn python_modern_over_pipes() {
    let Some(python) = python() else { return };
    let client = Client::start(&server(python, [SCRIPT, "stdio"]), &patient()).await.unwrap();
    check_sdk(&client, Era::Modern).await;
    client.close().await;
}

#[tokio::test]
async fn python_legacy_over_pipes() {
    let Some(python) = python() else { return };
    let options = ClientOptions { era: Some(Era::Legacy), ..patient() };
    let client = Client::start(&server(python, [SCRIPT, "stdio"]), &options).await.unwrap();
    check_sdk(&client, Era::Legacy).await;
    client.close().await;
}

#[tokio::test]
async fn python_modern_over_http() {
    let Some(python) = python() else { return };
    let program = HttpProgram::start(python, [SCRIPT, "streamable-http"], "Uvicorn running");
    let client = Client::connect_http(&program.server("/mcp"), &patient()).await.unwrap();
    check_sdk(&client, Era::Modern).await;
    client.close().await;
}

#[tokio::test]
async fn python_legacy_over_http() {
    let Some(python) = python() else { return };
    let program = HttpProgram::start(python, [SCRIPT, "streamable-http"], "Uvicorn running");
    let options = ClientOptions { era: Some(Era::Legacy), ..patient() };
    let client = Client::connect_http(&program.server("/mcp"), &options).await.unwrap();
    check_sdk(&client, Era::Legacy).await;
    client.close().await;
}

#[tokio::test]
async fn python_asks_the_user_in_both_eras() {
    let Some(python) = python() else { return };
    for era in [Era::Modern, Era::Legacy] {
        let options = ClientOptions { host: Arc::new(Person), era: Some(era), ..patient() };
        let client = Client::start(&server(python.clone(), [SCRIPT, "stdio"]), &options).await.unwrap();
        assert_eq!(client.info().era, era);
        assert_eq!(call(&client, "who", json!({}), &CallOptions::default()).await, "Ada", "{era:?}");
        client.close().await;
    }
}

#[tokio::test]
async fn the_git_server_describes_a_repository() {
    let Some(program) = python_program("mcp-server-git") else { return };
    let folder = tempfile::tempdir().unwrap();
    let git = |args: &[&str]| {
        let own = ["-c", "user.name=a", "-c", "user.email=a@b.example", "-c", "commit.gpgsign=false"];
        let done = std::process::Command::new("git").args(own).args(args).current_dir(&folder).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    };
    git(&["init", "--quiet", "-b", "main"]);
    std::fs::write(folder.path().join("a.txt"), "one\n").unwrap();
    git(&["add", "a.txt"]);
    git(&["commit", "--quiet", "-m", "the first of all"]);
    std::fs::write(folder.path().join("a.txt"), "two\n").unwrap();
    let program = server(program, ["--repository".into(), folder.path().as_os_str().to_owned()]);
    let client = Client::start(&program, &patient()).await.unwrap();
    let tools = client.list_tools().await.unwrap();
    assert!(tools.items.iter().any(|tool| tool.name == "git_log"), "{tools:?}");
    let ask =
        async |name: &str| call(&client, name, json!({"repo_path": folder.path()}), &CallOptions::default()).await;
    assert!(ask("git_log").await.contains("the first of all"));
    let changed = ask("git_diff_unstaged").await;
    assert!(changed.contains("-one") && changed.contains("+two"), "{changed}");
    let outside = arguments(json!({"repo_path": "/"}));
    assert!(client.call_tool("git_status", outside, &CallOptions::default()).await.unwrap().is_error);
    client.close().await;
}

#[tokio::test]
async fn the_filesystem_server_reads_files() {
    let Some(script) = npm_server("@modelcontextprotocol/server-filesystem") else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.txt");
    std::fs::write(&file, "hello\n").unwrap();
    let program = server("node", [script.into_os_string(), folder.path().into()]);
    let client = Client::start(&program, &ClientOptions::default()).await.unwrap();
    assert_eq!(client.info().era, Era::Legacy);
    let text = call(&client, "read_text_file", json!({ "path": file }), &CallOptions::default()).await;
    assert_eq!(text, "hello\n");
    let args = arguments(json!({"path": "/etc/passwd"}));
    let outside = client.call_tool("read_text_file", args, &CallOptions::default()).await.unwrap();
    assert!(outside.is_error);
    client.close().await;
}
