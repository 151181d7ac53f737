//! `sinew mcp serve`, with our own client, and with the clients of the TypeScript and Python SDKs.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, ChildStderr, Command};
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

use crate::editor::Editor;
use crate::stage::Stage;

/// Creates a project with a file to find, next to a directory with a secret, and a link to that directory.
fn stage() -> Stage {
    let stage = Stage::new();
    stage.write("project/src/main.rs", "fn main() {\n    needle();\n}\n");
    stage.write("outside/secret.txt", "needle\n");
    std::os::unix::fs::symlink(stage.path("outside"), stage.path("project/link")).unwrap();
    stage
}

/// Starts a client and performs the handshake.
#[track_caller]
fn client(stage: &Stage, args: &[&str]) -> Editor {
    let mut client = Editor::of(stage.command(&[&["mcp", "serve"], args].concat()));
    let ready = client.ask("initialize", json!({"protocolVersion": "2025-11-25", "capabilities": {}}));
    assert_eq!(ready["serverInfo"]["name"], "sinew");
    client.notify("notifications/initialized", json!({}));
    client
}

/// Calls a tool; returns the text, and whether it failed.
#[track_caller]
fn call(client: &mut Editor, name: &str, arguments: Value) -> (String, bool) {
    let result = client.ask("tools/call", json!({"name": name, "arguments": arguments}));
    let text = result["content"][0]["text"].as_str().unwrap().to_string();
    (text, result["isError"].as_bool().unwrap())
}

#[track_caller]
fn names(client: &mut Editor) -> Vec<String> {
    let listed = client.ask("tools/list", json!({}));
    let tools = listed["tools"].as_array().unwrap().iter();
    tools.map(|tool| tool["name"].as_str().unwrap().to_string()).collect()
}

#[test]
fn read_only_tools_are_served_with_the_agents_output() {
    let stage = stage();
    let mut client = client(&stage, &[]);
    assert_eq!(names(&mut client), ["grep", "find", "fuzzy_find", "read", "ls", "html_to_markdown"]);
    let listed = client.ask("tools/list", json!({}));
    assert!(listed["tools"].as_array().unwrap().iter().all(|tool| tool["annotations"]["readOnlyHint"] == true));
    for (name, arguments, expect) in [
        ("grep", json!({"pattern": "needle"}), "needle();"),
        ("find", json!({"pattern": "**/*.rs"}), "src/main.rs"),
        ("fuzzy_find", json!({"query": "mainrs"}), "src/main.rs"),
        ("read", json!({"path": "src/main.rs"}), "2:    needle();"),
        ("ls", json!({}), "src/"),
        ("html_to_markdown", json!({"html": "<h1>Hi</h1>"}), "# Hi"),
    ] {
        let (text, failed) = call(&mut client, name, arguments);
        assert!(!failed && text.contains(expect), "{name}: {text}");
    }
    let found = client.ask("tools/call", json!({"name": "fuzzy_find", "arguments": {"query": "mainrs"}}));
    assert_eq!(found["structuredContent"], json!({"paths": ["src/main.rs"], "total": 1}));
    assert_eq!(client.fails("tools/call", json!({"name": "edit", "arguments": {}}))["code"], -32602);
    let (text, failed) = call(&mut client, "grep", json!({"patern": "x"}));
    assert!(failed && text.starts_with("Validation failed for tool \"grep\""), "{text}");
    let (code, stderr) = client.end();
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
}

#[test]
fn every_tool_refuses_paths_outside_the_roots() {
    let stage = stage();
    let mut client = client(&stage, &["--allow", "edit"]);
    for (name, arguments) in [
        ("read", json!({"path": "../outside/secret.txt"})),
        ("read", json!({"path": "link/secret.txt"})),
        ("read", json!({"path": "/etc/passwd"})),
        ("read", json!({"path": "/etc/no-such-file"})),
        ("read", json!({"path": "/proc/self/root/etc/passwd"})),
        ("ls", json!({"path": "link"})),
        ("grep", json!({"pattern": "needle", "path": "link"})),
        ("find", json!({"pattern": "*", "path": "src/../.."})),
        ("fuzzy_find", json!({"query": "secret", "path": "link"})),
        ("write", json!({"path": "link/new.txt", "content": "x"})),
        ("edit", json!({"path": "link/secret.txt", "oldText": "needle", "newText": "x"})),
    ] {
        let (text, failed) = call(&mut client, name, arguments.clone());
        assert!(failed && text.starts_with("Refused: "), "{name} {arguments}: {text}");
    }
    assert_eq!(std::fs::read_to_string(stage.path("outside/secret.txt")).unwrap(), "needle\n");
    assert!(!stage.path("outside/new.txt").exists());
    // A search from a parent directory does not follow the link either.
    let (text, _) = call(&mut client, "grep", json!({"pattern": "needle"}));
    assert!(!text.contains("secret"), "{text}");
}

/// Sets the flag when it is dropped, even if an assertion fails.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// While a directory and a link out of the root alternate at one name, no file outside is returned. Before and after
/// that, files in the root are found.
#[test]
fn links_that_are_swapped_during_calls_do_not_leave_the_root() {
    let stage = stage();
    stage.write("outside/main.rs", "outside needle\n");
    let mut client = client(&stage, &[]);
    let (folder, aside) = (stage.path("project/src"), stage.path("project/aside"));
    let outside = stage.path("outside");
    let stop = AtomicBool::new(false);
    let ends = Ends(&stop);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                std::fs::rename(&folder, &aside).unwrap();
                std::os::unix::fs::symlink(&outside, &folder).unwrap();
                std::fs::remove_file(&folder).unwrap();
                std::fs::rename(&aside, &folder).unwrap();
            }
        });
        let ends = ends;
        for _ in 0..50 {
            for (name, arguments) in [
                ("grep", json!({"pattern": "needle"})),
                ("grep", json!({"pattern": "needle", "path": "src"})),
                ("read", json!({"path": "src/main.rs"})),
                ("ls", json!({"path": "src"})),
                ("find", json!({"pattern": "*.txt", "path": "src"})),
                ("fuzzy_find", json!({"query": "secret", "path": "src"})),
            ] {
                let (text, _) = call(&mut client, name, arguments);
                assert!(!text.contains("outside needle") && !text.contains("secret.txt"), "{name}: {text}");
            }
        }
        drop(ends);
    });
    assert_eq!(client.end().0, Some(0));
}

#[test]
fn flags_choose_the_served_tools_and_roots() {
    let stage = stage();
    let mut allowed = client(&stage, &["--allow", "edit,bash"]);
    let all = ["grep", "find", "fuzzy_find", "read", "ls", "edit", "write", "bash", "html_to_markdown"];
    assert_eq!(names(&mut allowed), all);
    let (text, failed) = call(&mut allowed, "bash", json!({"command": "cd src; pwd"}));
    assert!(!failed && text.contains("/src"), "{text}");
    let (text, _) = call(&mut allowed, "bash", json!({"command": "basename $PWD"}));
    assert!(text.contains("src"), "the shell keeps its state: {text}");
    assert_eq!(allowed.end().0, Some(0));
    let outside = stage.path("outside");
    let mut other = client(&stage, &["--root", outside.to_str().unwrap(), "--tools", "read"]);
    assert_eq!(names(&mut other), ["read"]);
    assert_eq!(call(&mut other, "read", json!({"path": "secret.txt"})), ("1:needle".to_string(), false));
    assert_eq!(other.end().0, Some(0));
    for (args, reason) in [
        (["--allow", "fly"], "--allow fly: mcp serve knows edit and bash"),
        (["--tools", "bash"], "--tools bash: unknown tool; known: grep, "),
        (["--root", "nowhere"], "--root nowhere: "),
    ] {
        let ran = stage.run(&[&["mcp", "serve"], &args[..]].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
        assert!(ran.stderr.contains(reason), "{}", ran.stderr);
    }
}

#[test]
fn a_cancelled_call_gets_no_answer_and_the_server_continues() {
    let stage = stage();
    let mut client = client(&stage, &["--allow", "bash"]);
    let id = client.begin("tools/call", json!({"name": "bash", "arguments": {"command": "touch begun; sleep 1000"}}));
    stage.wait_for("project/begun");
    client.notify("notifications/cancelled", json!({"requestId": id}));
    assert!(!call(&mut client, "bash", json!({"command": "true"})).1);
    assert!(client.seen.iter().all(|frame| frame["id"] != id), "{:?}", client.seen);
    assert_eq!(client.end().0, Some(0));
}

#[test]
fn the_end_of_stdin_ends_the_server_and_its_commands() {
    let stage = stage();
    let mut client = client(&stage, &["--allow", "bash"]);
    let command = "echo $$ > new; mv new pid; exec sleep 1000";
    client.begin("tools/call", json!({"name": "bash", "arguments": {"command": command}}));
    stage.wait_for("project/pid");
    assert_eq!(client.end(), (Some(0), String::new()));
    stage.wait_for_end_of("project/pid");
}

/// A server that listens on an address.
struct ListeningServer {
    child: Child,
    stderr: BufReader<ChildStderr>,
    address: String,
}

impl Drop for ListeningServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl ListeningServer {
    #[track_caller]
    fn start(mut command: Command) -> ListeningServer {
        let mut child = command.spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        stderr.read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("Serving at http://127.0.0.1:").expect(&line);
        let address = format!("127.0.0.1:{}", address.strip_suffix("/mcp").unwrap());
        ListeningServer { child, stderr, address }
    }

    /// Sends a request with this token; returns the head and the body of the answer.
    fn post(&self, token: &str, body: &Value) -> (String, String) {
        let (address, body) = (&self.address, body.to_string());
        let mut stream = TcpStream::connect(address).unwrap();
        write!(
            stream,
            "POST /mcp HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        (head.to_string(), body.to_string())
    }

    /// Sends a signal to end the program; returns its exit code, and its output after the address.
    fn end(mut self) -> (Option<i32>, String) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        let mut said = String::new();
        self.stderr.read_to_string(&mut said).unwrap();
        (self.child.wait().unwrap().code(), said)
    }
}

#[test]
fn http_requests_need_the_token() {
    let stage = stage();
    let mut served = ListeningServer::start(stage.command(&["mcp", "serve", "--http"]));
    let mut line = String::new();
    served.stderr.read_line(&mut line).unwrap();
    let token = line.trim().strip_prefix("Token (shown once): ").expect(&line);
    assert_eq!(token.len(), 43);
    let call = |path: &str| {
        let params = json!({"name": "read", "arguments": {"path": path}});
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    };
    let (head, body) = served.post(token, &call("src/main.rs"));
    assert!(head.starts_with("HTTP/1.1 200 ") && body.contains("2:    needle();"), "{head}\n{body}");
    let (_, body) = served.post(token, &call("../outside/secret.txt"));
    assert!(body.contains("Refused: ") && !body.contains("needle"), "{body}");
    let (head, body) = served.post("a token that somebody guessed", &call("src/main.rs"));
    assert!(head.starts_with("HTTP/1.1 401 ") && !body.contains("needle"), "{head}\n{body}");
    assert_eq!(served.end(), (Some(143), String::new()));
}

#[test]
fn the_http_token_can_come_from_the_environment() {
    let stage = stage();
    let mut command = stage.command(&["mcp", "serve", "--http", "127.0.0.1:0", "--token-env", "SERVE_TOKEN"]);
    command.env("SERVE_TOKEN", "0123456789abcdef");
    let served = ListeningServer::start(command);
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    assert!(served.post("0123456789abcdef", &ping).0.starts_with("HTTP/1.1 200 "));
    assert!(served.post("0123456789abcdeg", &ping).0.starts_with("HTTP/1.1 401 "));
    assert_eq!(served.end(), (Some(143), String::new()), "the token is not shown");
    for (args, reason) in [
        (
            &["--http", "--token-env", "SERVE_TOKEN"][..],
            "--token-env SERVE_TOKEN: the variable must contain at least 16",
        ),
        (&["--token-env", "SERVE_TOKEN"], "--token-env requires --http"),
        (&["--http", "example.com:80"], "--http example.com:80: not an address; use PORT"),
    ] {
        let ran = stage.run(&[&["mcp", "serve"], args].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{args:?}");
        assert!(ran.stderr.contains(reason), "{}", ran.stderr);
    }
}

#[test]
fn the_typescript_sdk_uses_the_server_over_http() {
    let Some(folder) = installed("node_modules/@modelcontextprotocol/sdk") else { return };
    let stage = stage();
    let mut command = stage.command(&["mcp", "serve", "--http", "--token-env", "SERVE_TOKEN"]);
    command.env("SERVE_TOKEN", "0123456789abcdef");
    let served = ListeningServer::start(command);
    let mut client = Command::new("node");
    client.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/peers/mcp_client.mjs")).arg(folder);
    client.arg(format!("http://{}/mcp", served.address)).arg("0123456789abcdef");
    let output = client.output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && out.ends_with("all is well\n"), "{out}\n{err}");
}

/// Runs the client of an SDK with the server.
#[track_caller]
fn check_peer(mut command: Command) {
    let stage = stage();
    command.args([env!("CARGO_BIN_EXE_sinew"), "mcp", "serve", "--root"]).arg(stage.project());
    let output = command.env("HOME", stage.path("user")).output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && out.ends_with("all is well\n"), "{out}\n{err}");
}

/// Returns a path in the directory of servers and clients that `npm test` installs. If it is missing, prints a note and
/// returns `None`.
#[expect(clippy::disallowed_methods, reason = "a test prints no API keys")]
fn installed(path: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("SINEW_MCP_SERVERS").map(PathBuf::from);
    let found = folder.map(|folder| folder.join(path)).filter(|path| path.exists());
    if found.is_none() {
        let name = std::thread::current().name().unwrap_or_default().to_string();
        // Written directly, because the test harness hides the output of tests that pass.
        let line = format!("skipped: {name}: {path} is not installed (SINEW_MCP_SERVERS)\n");
        std::io::Write::write_all(&mut std::io::stdout(), line.as_bytes()).unwrap();
    }
    found
}

#[test]
fn the_python_sdk_uses_the_server_in_both_protocol_eras() {
    let Some(python) = installed("python/bin/python") else { return };
    let mut command = Command::new(python);
    command.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/peers/mcp_client.py"));
    check_peer(command);
}

#[test]
fn the_typescript_sdk_uses_the_server_over_stdio() {
    let Some(folder) = installed("node_modules/@modelcontextprotocol/sdk") else { return };
    let mut command = Command::new("node");
    command.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/peers/mcp_client.mjs")).arg(folder);
    check_peer(command);
}
