//! MCP servers in a running session: resources, prompts, and the commands of RPC clients.

use serde_json::{Value, json};
use sinew_testkit::oauth::{OAuthBehavior, OAuthServer, browse};

use crate::client::Client;
use crate::stage::{Stage, call, text};

const LIBRARY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/peers/library.py");

fn with_library(stage: &Stage) {
    let library = json!({"command": "python3", "args": ["-u", LIBRARY], "expose": "deferred"});
    stage.write("home/agent/mcp.json", &json!({"mcpServers": {"library": library}}).to_string());
}

/// Returns the results of the tools in a run, in order: the text, and whether it is an error.
fn results(stdout: &str) -> Vec<(String, bool)> {
    let events = stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let ends = events.filter(|event| event["type"] == "tool_execution_end");
    ends.map(|event| {
        let blocks = event["result"]["content"].as_array().unwrap().iter();
        let texts: Vec<&str> = blocks.filter_map(|block| block["text"].as_str()).collect();
        (texts.join("\n"), event["isError"] == true)
    })
    .collect()
}

#[test]
fn resources_are_found_by_search_and_read_by_read() {
    let read = |path: &str| call("B", "read", json!({"path": path}));
    let stage = Stage::scripted(&[
        call("A", "tool_search", json!({"query": "shelf one"})),
        read("mcp://library/note://shelf/one"),
        call("B", "read", json!({"path": "mcp://library/note://shelf/one", "offset": 2, "limit": 1})),
        read("mcp://library/note://shelf/dot"),
        read("mcp://library/note://shelf/raw"),
        read("mcp://library/note://shelf/none"),
        read("mcp://nobody/x"),
        text("C"),
    ]);
    with_library(&stage);
    let ran = stage.play(&["-p", "--mode", "json", "go"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let results = results(&ran.stdout);
    assert_eq!(results[0].0, "Resources, for the tool read:\nmcp://library/note://shelf/one one\n");
    assert_eq!(results[1], ("first line\nsecond line\nthird line\n".into(), false));
    assert_eq!(results[2], ("second line\n".into(), false));
    assert!(results[3].0.starts_with("Picture ") && !results[3].1, "{results:?}");
    assert!(results[4].0.contains("application/octet-stream, 2 KB: artifact://"), "{results:?}");
    assert_eq!(results[5], ("MCP error -32002: no such note".into(), true));
    assert_eq!(results[6], ("There is no MCP server \"nobody\". Servers: library.".into(), true));
    // For the model it is the same tool as without servers.
    assert!(ran.stdout.contains("\"mimeType\":\"image/"), "{}", ran.stdout);
}

#[test]
fn server_prompts_are_slash_commands_whose_output_is_plain_text() {
    let stage = Stage::scripted(&[text("Hello Ada.")]);
    with_library(&stage);
    stage.write("project/secret.txt", "TOP SECRET");
    let ran = stage.play(&["-p", "/mcp:library:greet name=\"Ada Lovelace\" style=old"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "Hello Ada.\n"), "{}", ran.stderr);
    let said = stage.said();
    let written = "Greet Ada Lovelace in old style. @secret.txt\n\nassistant: Gladly.";
    assert_eq!(said[0], ("user".to_string(), written.to_string()));
    let file = std::fs::read_to_string(&stage.files()[0]).unwrap();
    assert!(!file.contains("TOP SECRET"), "a mention of a server attaches nothing");
    // The prompt is known now: it is listed, and errors in calls of it are reported.
    let mut client = Client::scripted(&stage, &[]);
    let commands = client.data("get_commands", json!({}));
    let listed =
        commands["commands"].as_array().unwrap().iter().find(|row| row["name"] == "mcp:library:greet").unwrap();
    assert_eq!((&listed["description"], &listed["source"]), (&json!("Greet somebody."), &json!("prompt")));
    for (command, expect) in [
        ("/mcp:library:greet", "/mcp:library:greet: name is missing"),
        ("/mcp:library:greet Ada", "\"Ada\" is not an argument; write key=value"),
        ("/mcp:nobody:greet", "unknown server; known: library"),
    ] {
        let reason = client.fails("prompt", json!({"message": command}));
        assert!(reason.contains(expect), "{reason}");
    }
    client.end();
}

#[test]
fn a_client_lists_switches_and_reloads_servers() {
    let stage = Stage::scripted(&[text("Hello.")]);
    with_library(&stage);
    let mut client = Client::scripted(&stage, &[]);
    let state = |list: &Value| (list["servers"][0]["state"].clone(), list["servers"][0]["tools"].clone());
    let list = client.data("mcp_list", json!({}));
    assert_eq!((&list["servers"][0]["name"], state(&list)), (&json!("library"), (json!("idle"), Value::Null)));
    let before = client.data("get_state", json!({}))["dumpTools"].clone();
    let list = client.data("mcp_reload", json!({"name": "library"}));
    assert_eq!((state(&list), &list["warnings"]), ((json!("connected"), json!(1)), &json!([])));
    let list = client.data("mcp_set", json!({"name": "library", "enabled": false}));
    assert_eq!(state(&list).0, "disabled");
    let file = stage.agent().join("mcp.json");
    assert!(std::fs::read_to_string(&file).unwrap().contains("\"enabled\": false"));
    let list = client.data("mcp_set", json!({"name": "library", "enabled": true}));
    assert_eq!(state(&list), (json!("idle"), json!(1)));
    // The file now names another server, and an invalid one.
    stage.write("home/agent/mcp.json", r#"{"mcpServers": {"two": {"command": "x"}, "bad": {}}}"#);
    let list = client.data("mcp_reload", json!({}));
    let rows: Vec<(&str, &str)> = list["servers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["name"].as_str().unwrap(), row["state"].as_str().unwrap()))
        .collect();
    assert_eq!(rows, [("two", "idle"), ("bad", "invalid")]);
    // The cached prefix of the session's requests has not changed.
    assert_eq!(client.data("get_state", json!({}))["dumpTools"], before);
    assert!(client.fails("mcp_set", json!({"name": "nobody", "enabled": true})).contains("no server named nobody"));
    assert!(client.fails("mcp_reload", json!({"name": "nobody"})).contains("There is no MCP server \"nobody\"."));
    client.end();
}

#[test]
fn a_reload_with_now_applies_to_this_session_and_reports_lost_tokens() {
    let stage = Stage::scripted(&[text("Hello."), text("Again.")]);
    with_library(&stage);
    let entry = std::fs::read_to_string(stage.agent().join("mcp.json")).unwrap().replace("deferred", "auto");
    stage.write("home/agent/mcp.json", "{\"mcpServers\": {}}");
    let mut client = Client::scripted(&stage, &[]);
    let names = |client: &mut Client| -> Vec<String> {
        let tools = client.data("get_state", json!({}))["dumpTools"].clone();
        tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_string()).collect()
    };
    let alone = names(&mut client);
    // No request was sent, so the provider has nothing cached.
    stage.write("home/agent/mcp.json", &entry);
    let list = client.data("mcp_reload", json!({"now": true}));
    assert_eq!((&list["lostTokens"], &list["servers"][0]["state"]), (&json!(0), &json!("idle")));
    assert_eq!(names(&mut client), [&alone[..], &["tool_search".into(), "call_tool".into()]].concat());
    client.prompt("hi");
    let context = client.data("get_session_stats", json!({}))["contextUsage"]["tokens"].clone();
    assert!(context.as_u64().unwrap() > 0);
    // Its only tool is small, and is known now.
    let list = client.data("mcp_reload", json!({"name": "library", "now": true}));
    assert_eq!((&list["lostTokens"], &list["warnings"]), (&context, &json!([])));
    let direct = names(&mut client);
    assert!(direct.len() == alone.len() + 1 && direct.last().unwrap().starts_with("mcp_library_"), "{direct:?}");
    assert_eq!(client.data("mcp_reload", json!({"name": "library", "now": true}))["lostTokens"], Value::Null);
    client.prompt("again");
    client.end();
    // The reopened session has the tool until a command changes that.
    let mut client = Client::scripted(&stage, &["--continue"]);
    assert_eq!(names(&mut client), direct);
    let list = client.data("mcp_set", json!({"name": "library", "enabled": false}));
    assert_eq!((list.get("lostTokens"), names(&mut client)), (None, direct));
    assert!(client.data("mcp_reload", json!({"now": true}))["lostTokens"].as_u64().unwrap() > 0);
    assert_eq!(names(&mut client), alone);
    client.end();
}

#[test]
fn a_clients_mcp_call_passes_rules_and_emits_events() {
    let stage = Stage::scripted(&[text("Hello.")]);
    with_library(&stage);
    let mut client = Client::scripted(&stage, &["--deny", "mcp_library_lend({\"book\":\"the forbidden one\"*)"]);
    let lend = |book: &str| json!({"server": "library", "tool": "lend", "arguments": {"book": book}});
    // The server has not been started yet: the call starts it.
    let lent = client.data("mcp_call", lend("Emma"));
    assert_eq!((&lent["tool"], &lent["isError"]), (&json!("mcp_library_lend"), &json!(false)));
    assert_eq!(lent["content"], json!([{"type": "text", "text": "lent Emma"}]));
    assert_eq!(lent["details"]["server"], "library");
    let start = client.first(|frame| frame["type"] == "tool_execution_start");
    assert_eq!((&start["toolName"], &start["args"]), (&json!("mcp_library_lend"), &json!({"book": "Emma"})));
    let end = client.first(|frame| frame["type"] == "tool_execution_end");
    assert_eq!((&end["toolCallId"], &end["isError"]), (&start["toolCallId"], &json!(false)));
    // Rules receive the real name and all arguments.
    let refused = client.data("mcp_call", lend("the forbidden one"));
    assert_eq!(refused["isError"], true, "{refused}");
    assert!(!refused.to_string().contains("lent"), "{refused}");
    // The call is not part of the conversation.
    assert_eq!(client.data("get_messages", json!({}))["messages"], json!([]));
    for (fields, expect) in [
        (json!({"server": "nobody", "tool": "lend"}), "There is no MCP server \"nobody\"."),
        (
            json!({"server": "library", "tool": "sell"}),
            "MCP server \"library\" has no enabled tool \"sell\". Its tools: lend",
        ),
        (json!({"server": "library"}), "missing field `tool`"),
        (json!({"server": "library", "tool": "lend", "arguments": [1]}), "invalid type: sequence"),
    ] {
        let reason = client.fails("mcp_call", fields);
        assert!(reason.contains(expect), "{reason}");
    }
    client.end();
}

#[test]
fn a_users_mcp_call_can_be_aborted() {
    let stage = Stage::scripted(&[text("Hello.")]);
    with_library(&stage);
    let mut client = Client::scripted(&stage, &[]);
    let arguments = json!({"book": "one that nobody brings back"});
    let id = client.begin("mcp_call", json!({"server": "library", "tool": "lend", "arguments": arguments}));
    client.event("tool_execution_start");
    client.ask("abort_bash", json!({}));
    let response = client.response(&id);
    assert_eq!(response["data"]["content"][0]["text"], "Operation aborted", "{response}");
    client.end();
}

#[test]
fn context_usage_is_reported_per_server() {
    let stage = Stage::scripted(&[call("A", "tool_search", json!({"query": "lend"})), text("Found."), text("Bye.")]);
    with_library(&stage);
    let mut client = Client::scripted(&stage, &[]);
    client.data("mcp_reload", json!({"name": "library"}));
    let tokens = |client: &mut Client| client.data("get_session_stats", json!({}))["mcpTokens"].clone();
    let definition = r#"{"name": "lend", "description": "Lend a book.", "inputSchema": {"type": "object"}}"#.len() / 4;
    let before = tokens(&mut client);
    assert_eq!(before["servers"], json!([{"server": "library", "front": 0, "loaded": 0, "saved": definition}]));
    assert!(before["search"].as_u64().unwrap() > 50, "{before}");
    client.prompt("go");
    let behind = tokens(&mut client);
    assert_eq!(behind["servers"], json!([{"server": "library", "front": 0, "loaded": definition, "saved": 0}]));
    assert_eq!(behind["search"], before["search"]);
    client.end();
    let ran = stage.play(&["-p", "--continue", "/context"]);
    let row = format!("library: about 0 in the prefix, {definition} loaded, 0 saved");
    assert!(ran.stdout.contains(&row), "{}{}", ran.stdout, ran.stderr);
    // Without servers the output does not mention them.
    let ran = stage.play(&["-p", "--no-mcp", "/context"]);
    assert!(!ran.stdout.contains("servers"), "{}", ran.stdout);
}

#[test]
fn a_client_can_log_in_and_out_of_servers() {
    let server = OAuthServer::start(OAuthBehavior::default());
    let stage = Stage::scripted(&[text("Hello.")]);
    stage.write("home/agent/mcp.json", &json!({"mcpServers": {"web": {"url": server.mcp_url()}}}).to_string());
    let mut client = Client::scripted(&stage, &[]);
    let url = client.data("mcp_login", json!({"name": "web"}))["url"].as_str().unwrap().to_string();
    assert!(browse(&url).1.starts_with("You are logged in."));
    let connected = |event: &Value| event["type"] == "mcp_status" && event["state"] == "connected";
    while !connected(&client.frame()) {}
    assert_eq!(client.data("mcp_list", json!({}))["servers"][0]["tools"], 2);
    assert_eq!(client.data("mcp_logout", json!({"name": "web"})), json!({"loggedOut": true, "revoked": true}));
    assert_eq!(client.data("mcp_logout", json!({"name": "web"})), json!({"loggedOut": false, "revoked": false}));
    // If the user declines, the state of the server says so.
    server.change(|manners| manners.denied = true);
    let url = client.data("mcp_login", json!({"name": "web"}))["url"].as_str().unwrap().to_string();
    let _ = browse(&url);
    let refused = |event: &Value| event["type"] == "mcp_status" && event["state"] == "needs_auth";
    let told = loop {
        let event = client.frame();
        if refused(&event) {
            break event;
        }
    };
    assert_eq!(told["error"], "log in at web: access_denied");
    let ended = client.end();
    for secret in server.secrets() {
        assert!(ended.seen.iter().all(|frame| !frame.to_string().contains(&secret)));
    }
}

#[test]
fn slash_commands_can_change_servers() {
    let stage = Stage::scripted(&[text("Hello.")]);
    with_library(&stage);
    for (command, expect) in [
        ("/mcp", "library        idle"),
        ("/mcp reload library", "\"library\" has 1 tools."),
        ("/mcp reload library --now", "\"library\" has 1 tools.\nThe prefix of requests does not change."),
        (
            "/mcp --now disable library",
            "Disabled \"library\".\nThe next request has a new prefix; about 0 cached tokens are invalidated.",
        ),
        ("/mcp", "library        disabled"),
        ("/mcp enable library", "Enabled \"library\"."),
        ("/mcp reload", "Read the files: 1 servers."),
    ] {
        let ran = stage.play(&["-p", command]);
        assert_eq!(ran.code, Some(0), "{command}: {}", ran.stderr);
        assert!(ran.stdout.starts_with(expect), "{command}: {}", ran.stdout);
    }
    for (command, expect) in [
        ("/mcp login library", "/mcp login does not run here: use sinew mcp login library"),
        ("/mcp enable", "/mcp enable needs the name of a server"),
        ("/mcp enable nobody", "no server named nobody"),
        ("/mcp dance", "/mcp dance: unknown; use list, enable"),
        ("/mcp login library --now", "/mcp login: --now only works with enable, disable and reload"),
    ] {
        let ran = stage.play(&["-p", command]);
        assert_ne!(ran.code, Some(0), "{command}");
        assert!(ran.stderr.contains(expect), "{command}: {}", ran.stderr);
    }
    // The command outside of a session does the same.
    let ran = stage.run(&["mcp", "reload"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "library              1 tools\n"), "{}", ran.stderr);
    assert_eq!(stage.run(&["mcp", "reload", "nobody"]).code, Some(2));
}
