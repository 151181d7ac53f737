//! MCP servers, used by the program. They are Python programs without dependencies.

use serde_json::{Value, json};

use crate::client::Client;
use crate::stage::{RunOutput, Stage, call, chat, strict, text};

/// A server that misbehaves in a way that its argument selects.
const LIAR: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../sinew-mcp/tests/peers/liar.py");

fn entry(mode: &str) -> Value {
    json!({"command": "python3", "args": ["-u", LIAR, mode]})
}

fn with_servers(stage: &Stage, servers: &Value) {
    stage.write("home/agent/mcp.json", &json!({ "mcpServers": servers }).to_string());
}

/// Returns the lines of a type in the output of `--mode json`.
fn events(ran: &RunOutput, kind: &str) -> Vec<Value> {
    let lines = ran.stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|event| event["type"] == kind).collect()
}

fn calls_a_deferred_tool() -> [Value; 3] {
    [
        call("A", "tool_search", json!({"query": "echo"})),
        call("B", "call_tool", json!({"name": "mcp_liar_echo", "arguments": {"text": "hello"}})),
        text("C"),
    ]
}

#[test]
fn an_mcp_tool_is_found_called_and_reported_under_its_own_name() {
    let stage = Stage::scripted(&calls_a_deferred_tool());
    with_servers(&stage, &json!({"liar": entry("modern")}));
    let ran = stage.play(&["-p", "--mode", "json", "go"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let starts = events(&ran, "tool_execution_start");
    let names: Vec<&str> = starts.iter().map(|event| event["toolName"].as_str().unwrap()).collect();
    assert_eq!(names, ["tool_search", "mcp_liar_echo"]);
    let ends = events(&ran, "tool_execution_end");
    assert_eq!(ends[1]["result"]["content"][0]["text"], "hello");
    assert_eq!(ends[1]["result"]["details"]["server"], "liar");
    let states: Vec<String> =
        events(&ran, "mcp_status").iter().map(|event| event["state"].as_str().unwrap().to_string()).collect();
    // A run that ends at once may end before the second state is reported.
    assert!(
        !states.is_empty()
            && ["starting", "connected"].starts_with(&states.iter().map(String::as_str).collect::<Vec<_>>()),
        "{states:?}"
    );
    // The session contains the name of the called tool, and the tools in the cached prefix.
    let file = std::fs::read_to_string(&stage.files()[0]).unwrap();
    assert!(file.contains(r#""selectedToolNames":["tool_search","call_tool"]"#), "{file}");
    assert!(file.contains(r#""toolName":"mcp_liar_echo""#) && !file.contains(r#""toolName":"call_tool""#), "{file}");
}

/// The parent began when the tools of the server were unknown, so it can only search for them.
#[test]
fn a_child_that_starts_after_a_server_can_call_its_tools() {
    let task = json!({"agent": "task", "tasks": [{"id": "One", "assignment": "say hello"}]});
    let echoed = json!({"type": "turn", "lane": "One",
        "content": [{"toolCall": {"name": "submit_result", "arguments": {"result": "x"}}}],
        "expect": {"toolResult": {"id": "call_1", "contains": "hello"}}});
    let stage = Stage::scripted(&[
        json!({"type": "script", "version": 1, "onExhausted": "error"}),
        call("A", "tool_search", json!({"query": "echo"})),
        call("B", "task", task),
        text("C"),
        json!({"type": "turn", "lane": "One",
            "content": [{"toolCall": {"name": "mcp_liar_echo", "arguments": {"text": "hello"}}}]}),
        echoed,
    ]);
    with_servers(&stage, &json!({"liar": entry("modern")}));
    let ran = stage.play(&["-p", "--mode", "json", "go"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let ends = events(&ran, "subagent_end");
    assert_eq!((ends.len(), &ends[0]["state"]), (1, &json!("completed")), "{}", ran.stdout);
}

#[test]
fn permissions_and_hooks_see_the_resolved_mcp_tool() {
    let stage = Stage::scripted(&calls_a_deferred_tool());
    with_servers(&stage, &json!({"liar": entry("modern")}));
    let ran = stage.play(&["-p", "--deny", "mcp_liar_*", "--mode", "json", "go"]);
    let ends = events(&ran, "tool_execution_end");
    assert_eq!((&ends[0]["isError"], &ends[1]["isError"]), (&json!(false), &json!(true)));
    let said = ends[1]["result"]["content"][0]["text"].as_str().unwrap();
    assert!(said.contains("mcp_liar_*"), "{said}");

    let stage = Stage::scripted(&calls_a_deferred_tool());
    with_servers(&stage, &json!({"liar": entry("modern")}));
    let hook = json!({"hooks": [
        {"event": "tool_call", "match": {"tool": "mcp_liar_echo"}, "shell": true, "command": "exit 7"},
    ]});
    stage.write("home/agent/hooks.json", &hook.to_string());
    let ran = stage.play(&["-p", "--mode", "json", "go"]);
    let ends = events(&ran, "tool_execution_end");
    assert_eq!((&ends[0]["isError"], &ends[1]["isError"]), (&json!(false), &json!(true)), "{}", ran.stdout);
}

#[test]
fn requests_share_their_prefix_whatever_servers_do() {
    let tool = |id: &str, name: &str, arguments: Value| {
        chat(
            &json!({"tool_calls": [{"index": 0, "id": id, "type": "function",
                "function": {"name": name, "arguments": arguments.to_string()}}]}),
            "tool_calls",
        )
    };
    let inner = |text: &str| json!({"name": "mcp_liar_echo", "arguments": {"text": text}});
    let server = strict(vec![
        tool("1", "tool_search", json!({"query": "echo"})),
        tool("2", "call_tool", inner("one")),
        // A server that cannot be started.
        tool("3", "call_tool", json!({"name": "mcp_dying_echo", "arguments": {}})),
        tool("4", "call_tool", inner("two")),
        chat(&json!({"content": "done"}), "stop"),
        chat(&json!({"content": "bye"}), "stop"),
    ]);
    let stage = Stage::served(&server);
    with_servers(&stage, &json!({"liar": entry("modern"), "dying": entry("dies-twice")}));
    assert_eq!(stage.run(&["-p", "go"]).code, Some(0));
    // Another process, which has the servers' lists from the cache.
    let ran = stage.run(&["-p", "--continue", "thanks"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "bye\n"), "{}", ran.stderr);
    let requests: Vec<Value> = server.requests().iter().map(|request| request.json()).collect();
    assert_eq!(requests.len(), 6);
    let names = |request: &Value| {
        let tools = request["tools"].as_array().unwrap().iter();
        tools.map(|tool| tool["function"]["name"].as_str().unwrap().to_string()).collect::<Vec<_>>()
    };
    assert_eq!(names(&requests[0])[names(&requests[0]).len() - 2..], ["tool_search", "call_tool"]);
    for pair in requests.windows(2) {
        assert_eq!(pair[0]["tools"], pair[1]["tools"]);
        let (before, after) = (pair[0]["messages"].as_array().unwrap(), pair[1]["messages"].as_array().unwrap());
        assert_eq!(before[..], after[..before.len()]);
    }
    // The model receives its calls as it made them.
    let last = requests[5]["messages"].to_string();
    assert!(last.contains(r#""name":"call_tool""#) && !last.contains(r#""name":"mcp_liar_echo""#), "{last}");
}

#[test]
fn the_first_request_does_not_wait_for_servers() {
    let server = strict(vec![chat(&json!({"content": "hi"}), "stop")]);
    let stage = Stage::served(&server);
    // Five servers that never answer, and one that creates a file when it is started.
    let mut servers = json!({"marks": {"command": "sh", "args": ["-c", "touch started; sleep 1000"]}});
    for index in 0..5 {
        servers[format!("dead{index}")] = json!({"command": "sleep", "args": ["1000"]});
    }
    with_servers(&stage, &servers);
    let ran = stage.run(&["-p", "hi"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "hi\n"), "{}", ran.stderr);
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn only_a_required_server_fails_the_start_if_it_is_dead() {
    let stage = Stage::scripted(&[text("B")]);
    let mut dead = entry("dies-twice");
    with_servers(&stage, &json!({ "dead": dead }));
    let ran = stage.play(&["-p", "go"]);
    assert_eq!(ran.code, Some(0));
    // The run may end before the server does.
    assert!(ran.stderr.starts_with("Warning: MCP server \"dead\" "), "{}", ran.stderr);
    dead["required"] = json!(true);
    with_servers(&stage, &json!({ "dead": dead }));
    let ran = stage.play(&["-p", "go"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(3), ""));
    assert!(
        ran.stderr.contains("MCP server \"dead\"") && ran.stderr.contains("cannot find the database"),
        "{}",
        ran.stderr
    );
    assert_eq!(stage.play(&["-p", "--no-mcp", "go"]).code, Some(0));
}

#[test]
fn project_servers_start_once_the_project_is_trusted() {
    let stage = Stage::scripted(&calls_a_deferred_tool());
    let started = stage.path("started");
    let shell = format!("touch {}; exec python3 -u {LIAR} modern", started.display());
    let file = json!({"mcpServers": {"liar": {"command": "sh", "args": ["-c", shell]}}}).to_string();
    stage.write("project/.mcp.json", &file);
    let listed = stage.run(&["mcp", "list"]);
    assert!(listed.stdout.contains("liar") && listed.stdout.contains("untrusted"), "{listed:?}");
    let ran = stage.play(&["-p", "--mode", "json", "go"]);
    let ends = events(&ran, "tool_execution_end");
    assert!(ends.iter().all(|event| event["isError"] == true) && !started.exists(), "{}", ran.stdout);
    let ran = stage.play(&["-p", "--trust", "--mode", "json", "go"]);
    assert!(started.exists());
    assert_eq!(events(&ran, "tool_execution_end")[1]["result"]["content"][0]["text"], "hello");
}

#[test]
fn servers_end_with_the_program() {
    let stage = Stage::scripted(&calls_a_deferred_tool());
    let mark = stage.path("pid");
    // It forks twice and leaves its process group; its keeper still ends it.
    let shell = format!(
        "setsid sh -c 'echo $$ > {0}.new; mv {0}.new {0}; exec sleep 1000' & exec python3 -u {LIAR} modern",
        mark.display()
    );
    with_servers(&stage, &json!({"liar": {"command": "sh", "args": ["-c", shell]}}));
    assert_eq!(stage.play(&["-p", "go"]).code, Some(0));
    stage.wait_for("pid");
    stage.wait_for_end_of("pid");
}

/// Twenty servers that fork twice and leave their process groups, and one whose start never completes.
#[test]
fn servers_end_with_a_killed_program() {
    let stage = Stage::scripted(&[text("Hello.")]);
    let mut servers = json!({});
    let marks: Vec<String> = (0..=20).map(|index| format!("pid{index}")).collect();
    for (index, mark) in marks.iter().enumerate() {
        let server = if index == 20 { "sleep 1000".to_string() } else { format!("python3 -u {LIAR} modern") };
        let path = stage.path(mark);
        let shell = format!(
            "setsid sh -c 'echo $$ > {0}.new; mv {0}.new {0}; exec sleep 1000' & exec {server}",
            path.display()
        );
        servers[format!("s{index}")] = json!({"command": "sh", "args": ["-c", shell], "start": "eager"});
    }
    with_servers(&stage, &servers);
    let mut client = Client::scripted(&stage, &[]);
    client.prompt("go");
    marks.iter().for_each(|mark| stage.wait_for(mark));
    client.child.kill().unwrap();
    marks.iter().for_each(|mark| stage.wait_for_end_of(mark));
}

#[test]
fn mcp_commands_show_and_edit_config_files_and_keep_comments() {
    let stage = Stage::new();
    let file = stage.agent().join("mcp.json");
    let read = || std::fs::read_to_string(&file).unwrap();
    let ok = |args: &[&str]| {
        let ran = stage.run(&[&["mcp"], args].concat());
        assert_eq!(ran.code, Some(0), "{args:?}: {}", ran.stderr);
        ran.stdout
    };
    let refused = |args: &[&str], code: i32, says: &str| {
        let ran = stage.run(&[&["mcp"], args].concat());
        assert_eq!(ran.code, Some(code), "{args:?}");
        assert!(ran.stderr.contains(says), "{}", ran.stderr);
    };
    assert!(ok(&["list"]).starts_with("No MCP servers."));
    stage.write("home/agent/mcp.json", "// mine\n{\"mcpServers\": {\n  // one\n  \"one\": {\"command\": \"x\"}\n}}\n");
    ok(&["add", "liar", "--env", "A=1", "--", "python3", "-u", LIAR, "modern"]);
    refused(&["add", "liar", "--", "x"], 1, "Server \"liar\" already exists in ");
    refused(&["add", "two", "--url", "https://x", "--", "x"], 2, "Use either --url or -- <command...>, not both.");
    refused(&["add", "two"], 2, "needs a program or a URL");
    refused(&["add", "a b", "--", "x"], 2, "is not a valid name");
    refused(&["get", "three"], 2, "no server named three; known: one, liar");
    let tested = ok(&["test", "liar"]);
    assert!(tested.starts_with("connected in ") && tested.contains(" ms: protocol 2026-07-28\nlisted in "), "{tested}");
    assert!(tested.contains(" ms: 2 tools\n  echo\n"), "{tested}");
    let traced = stage.run(&["mcp", "test", "liar"]).stderr;
    let steps = traced.lines().filter_map(|line| line.strip_prefix("  ")?.split(" in ").next());
    let steps: Vec<&str> = steps.filter(|step| !step.starts_with("note: ")).collect();
    assert_eq!(steps, ["server/discover: answered", "tools/list: answered", "tools/list: answered"], "{traced}");
    assert!(ok(&["get", "liar"]).contains("protocol   2026-07-28\n"));
    // The list of the server is cached from now on.
    let listed: Value = serde_json::from_str(&ok(&["list", "--output", "json"])).unwrap();
    assert_eq!((&listed[1]["name"], &listed[1]["tools"]), (&json!("liar"), &json!(["echo", "odd"])));
    ok(&["disable", "liar"]);
    refused(&["test", "liar"], 1, "Server \"liar\" is disabled. Run sinew mcp enable liar first.");
    assert!(ok(&["list"]).contains("disabled"));
    ok(&["enable", "liar"]);
    ok(&["remove", "one"]);
    let text = read();
    assert!(text.starts_with("// mine\n") && text.contains("\"A\": \"1\"") && !text.contains("\"one\""), "{text}");
    ok(&["add", "here", "--project", "--url", "https://x.example/mcp", "--header", "X-A: b"]);
    assert!(stage.project().join(".sinew/mcp.json").exists());
    assert!(ok(&["list", "--trust"]).starts_with("here"));
}

/// A server that writes terminal sequences wherever it can.
const ESCAPES: &str = r#"
import json, sys
BAD = "\x1b]52;c;eA==\x07\x1b]8;;http://x\x1b\\\x1b[31m\u202ebad\u2066"
for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    answers = {
        "initialize": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": BAD, "version": BAD}},
        "tools/list": {"tools": [{"name": "t" + BAD, "description": BAD, "inputSchema": {"type": "object"}}]},
    }
    answer = answers.get(request["method"])
    given = {"result": answer} if answer else {"error": {"code": -32601, "message": BAD}}
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **given}), flush=True)
sys.stderr.write(BAD)
"#;

#[test]
fn server_output_is_escaped_on_the_terminal() {
    let stage = Stage::new();
    let python = |script: &str| json!({"command": "python3", "args": ["-c", script]});
    let dies = "import sys; sys.stderr.write('\\x1b]52;c;x\\x07\\x1b[31m\\u202ebad'); sys.exit(3)";
    with_servers(&stage, &json!({"odd": python(ESCAPES), "dies": python(dies)}));
    for args in [&["mcp", "test", "odd"][..], &["mcp", "test", "dies"], &["mcp", "list"], &["mcp", "get", "odd"]] {
        let ran = stage.run(args);
        let text = ran.stdout + &ran.stderr;
        let raw = text.chars().find(|c| c.is_control() && *c != '\n' || ['\u{202e}', '\u{2066}'].contains(c));
        assert_eq!(raw, None, "{args:?}: {text:?}");
        assert!(args[1] != "test" || text.contains("bad"), "{args:?}: {text:?}");
    }
}

#[test]
fn concurrent_mcp_commands_keep_each_others_changes() {
    let stage = Stage::new();
    let names: Vec<String> = (0..8).map(|index| format!("s{index}")).collect();
    let children: Vec<_> =
        names.iter().map(|name| stage.command(&["mcp", "add", name, "--", "x"]).spawn().unwrap()).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let text = std::fs::read_to_string(stage.agent().join("mcp.json")).unwrap();
    let file: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(file["mcpServers"].as_object().unwrap().len(), 8, "{text}");
}
