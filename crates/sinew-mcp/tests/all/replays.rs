//! Records sessions with published servers and replays them to a new client. The results are the same, however the
//! bytes are split and whenever they arrive.

use crate::support;

use std::ffi::OsString;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use sinew_mcp::{CallOptions, Client, ClientHost, ClientOptions, Root};
use support::{arguments, npm_server, python, python_program};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader, DuplexStream};
use tokio::net::unix::pipe;

/// A line of a session; true if the client wrote it.
type Line = (bool, String);

struct Folder;

impl ClientHost for Folder {
    fn roots(&self) -> Vec<Root> {
        vec![Root { uri: "file:///work/project".to_string(), name: "project".to_string() }]
    }
}

fn options() -> ClientOptions {
    ClientOptions { host: Arc::new(Folder), discover_silence: Duration::from_secs(60), ..ClientOptions::default() }
}

/// Requests everything that a server offers, calls the given tools, and returns the results.
async fn drive(client: &Client, calls: &[(&str, Value)]) -> Vec<String> {
    let info = client.info();
    let mut seen = vec![format!("{info:?}")];
    seen.push(format!("{:?}", client.list_tools().await.unwrap()));
    if info.offers("resources") {
        seen.push(format!("{:?}", client.list_resources().await));
    }
    if info.offers("prompts") {
        seen.push(format!("{:?}", client.list_prompts().await));
    }
    for (name, given) in calls {
        let reports: Arc<Mutex<Vec<String>>> = Arc::default();
        let sink = Arc::clone(&reports);
        let heard = move |progress| sink.lock().unwrap().push(format!("{progress:?}"));
        let options = CallOptions { progress: Some(Arc::new(heard)), ..CallOptions::default() };
        seen.push(format!("{name}: {:?}", client.call_tool(name, arguments(given.clone()), &options).await));
        seen.append(&mut reports.lock().unwrap());
    }
    seen
}

/// Forwards lines and records them.
async fn pass(
    from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    of_client: bool,
    session: Arc<Mutex<Vec<Line>>>,
) {
    let mut lines = BufReader::new(from).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        session.lock().unwrap().push((of_client, line.clone()));
        if to.write_all(format!("{line}\n").as_bytes()).await.is_err() {
            return;
        }
    }
}

/// Uses a server, and returns the messages on its pipes.
async fn record(program: &[OsString], calls: &[(&str, Value)]) -> (Vec<Line>, Vec<String>) {
    let mut command = Command::new(&program[0]);
    command.args(&program[1..]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let stdin = pipe::Sender::from_owned_fd(child.stdin.take().unwrap().into()).unwrap();
    let stdout = pipe::Receiver::from_owned_fd(child.stdout.take().unwrap().into()).unwrap();
    let session: Arc<Mutex<Vec<Line>>> = Arc::default();
    let ((to, from_client), (to_client, from)) = (tokio::io::duplex(1 << 16), tokio::io::duplex(1 << 16));
    let passing = [
        tokio::spawn(pass(from_client, stdin, true, Arc::clone(&session))),
        tokio::spawn(pass(stdout, to_client, false, Arc::clone(&session))),
    ];
    let client = Client::over(to, from, &options()).await.unwrap();
    let seen = drive(&client, calls).await;
    client.close().await;
    // Otherwise the reference server runs for another minute, until its own question times out.
    child.kill().unwrap();
    child.wait().unwrap();
    for task in passing {
        task.await.unwrap();
    }
    let session = session.lock().unwrap().clone();
    (session, seen)
}

/// Replays the server's part of a session. Each line is sent, in pieces, after everything that the client wrote before
/// it has arrived.
async fn play(session: Vec<Line>, from: DuplexStream, mut to: DuplexStream, mut numbers: u64) {
    let mut waiting: Vec<Option<(bool, Value)>> = Vec::new();
    for (of_client, line) in &session {
        waiting.push(Some((*of_client, serde_json::from_str(line).unwrap())));
    }
    let mut lines = BufReader::new(from).lines();
    let mut at = 0;
    while at < session.len() {
        match &waiting[at] {
            None => at += 1,
            Some((false, _)) => {
                let bytes = format!("{}\n", session[at].1).into_bytes();
                let mut rest = &bytes[..];
                while !rest.is_empty() {
                    numbers = numbers.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    let (piece, behind) = rest.split_at(rest.len().min(1 + (numbers >> 33) as usize % 4096));
                    if to.write_all(piece).await.is_err() {
                        return;
                    }
                    tokio::task::yield_now().await;
                    rest = behind;
                }
                at += 1;
            }
            Some((true, _)) => {
                let Some(line) = lines.next_line().await.unwrap() else { return };
                let said: Value = serde_json::from_str(&line).unwrap();
                // Simultaneous messages may arrive in another order.
                let place = waiting.iter().position(|line| *line == Some((true, said.clone())));
                waiting[place.unwrap_or_else(|| panic!("the client says what it did not say before: {line}"))] = None;
            }
        }
    }
}

/// Records a session and replays it in several ways.
async fn check(program: Option<Vec<OsString>>, calls: &[(&str, Value)]) {
    let Some(program) = program else { return };
    let (session, seen) = record(&program, calls).await;
    assert!(session.len() > 2 * calls.len(), "{session:?}");
    for seed in 0..20 {
        let ((to, from_client), (to_client, from)) = (tokio::io::duplex(1 << 16), tokio::io::duplex(1 << 16));
        let playing = tokio::spawn(play(session.clone(), from_client, to_client, seed));
        let client = Client::over(to, from, &options()).await.unwrap();
        let again = drive(&client, calls).await;
        assert_eq!(again, seen, "played with seed {seed}");
        client.close().await;
        playing.await.unwrap();
    }
}

#[tokio::test]
async fn replays_a_session_with_the_reference_server() {
    let script = npm_server("@modelcontextprotocol/server-everything");
    let program = script.map(|script| vec!["node".into(), script.into_os_string(), "stdio".into()]);
    let calls = [
        ("echo", json!({"message": "hé\n"})),
        ("get-sum", json!({"a": 1, "b": 2})),
        ("get-sum", json!({"a": "x"})),
        ("trigger-long-running-operation", json!({"duration": 0.1, "steps": 5})),
        ("get-structured-content", json!({"location": "New York"})),
        ("get-tiny-image", json!({})),
        ("get-resource-links", json!({"count": 3})),
        ("get-resource-reference", json!({"resourceType": "Text", "resourceId": 1})),
        ("no-such-tool", json!({})),
    ];
    check(program, &calls).await;
}

#[tokio::test]
async fn replays_a_session_with_the_filesystem_server() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.txt"), "one\ntwo\u{1f600}\n".repeat(10_000)).unwrap();
    let script = npm_server("@modelcontextprotocol/server-filesystem");
    let program = script.map(|script| vec!["node".into(), script.into_os_string(), folder.path().into()]);
    let path = |name: &str| json!({"path": folder.path().join(name)});
    let calls = [
        ("read_text_file", path("a.txt")),
        ("list_directory", path("")),
        ("directory_tree", path("")),
        ("read_text_file", path("nowhere")),
        ("read_text_file", json!({"path": "/etc/passwd"})),
        ("write_file", json!({"path": folder.path().join("b.txt"), "content": "new"})),
    ];
    check(program, &calls).await;
}

#[tokio::test]
async fn replays_a_session_with_the_git_server() {
    let folder = tempfile::tempdir().unwrap();
    let git = |args: &[&str]| {
        let mut command = Command::new("git");
        command.arg("-C").arg(folder.path()).args(["-c", "user.name=a", "-c", "user.email=a@b.example"]).args(args);
        assert!(command.stdout(Stdio::null()).status().unwrap().success());
    };
    git(&["init", "-q"]);
    std::fs::write(folder.path().join("a.txt"), "one\n").unwrap();
    git(&["add", "."]);
    git(&["commit", "-qm", "one"]);
    std::fs::write(folder.path().join("a.txt"), "two\n").unwrap();
    let program = python_program("mcp-server-git").map(|program| vec![program.into_os_string()]);
    let repository = json!({"repo_path": folder.path()});
    let calls = ["git_status", "git_log", "git_diff_unstaged", "git_none"].map(|name| (name, repository.clone()));
    check(program, &calls).await;
}

#[tokio::test]
async fn replays_a_session_with_the_python_sdk() {
    const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/peers/sdk_server.py");
    let program = python().map(|python| vec![python.into_os_string(), SERVER.into(), "stdio".into()]);
    let calls = [("add", json!({"a": 1, "b": 2})), ("add", json!({"a": "x"})), ("none", json!({}))];
    check(program, &calls).await;
}
