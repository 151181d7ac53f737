//! Tools of servers that a search adds to a conversation, with each of the three provider protocols.

use serde_json::{Value, json};
use sinew_testkit::provider::Reply;

use crate::stage::{Stage, chat, strict};

/// A server whose tool has the description in a file.
const SERVER: &str = r#"
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    words = open(sys.argv[1]).read()
    answers = {
        "initialize": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "instructions": "Ask first.",
                       "serverInfo": {"name": "s", "version": "1"}},
        "tools/list": {"tools": [
            {"name": "echo", "description": words, "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}}},
            {"name": "odd", "description": "An echo of another kind.", "inputSchema": {"type": "object", "oneOf": [{}]}},
        ]},
        "tools/call": {"content": [{"type": "text", "text": request.get("params", {}).get("name", "") + " done"}]},
    }
    answer = answers.get(request["method"])
    body = {"result": answer} if answer else {"error": {"code": -32601, "message": "no"}}
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **body}), flush=True)
"#;

fn sse(events: &[Value]) -> Reply {
    Reply::stream(events.iter().map(|event| format!("data: {event}\n\n")).collect::<String>())
}

/// Returns an answer of the Anthropic API: a call, or a text.
fn messages(call: Option<(&str, &str, Value)>) -> Reply {
    let (block, delta, reason) = match &call {
        Some((id, name, arguments)) => (
            json!({"type": "tool_use", "id": id, "name": name, "input": {}}),
            json!({"type": "input_json_delta", "partial_json": arguments.to_string()}),
            "tool_use",
        ),
        None => (json!({"type": "text", "text": ""}), json!({"type": "text_delta", "text": "fine"}), "end_turn"),
    };
    sse(&[
        json!({"type": "message_start", "message": {"usage": {"input_tokens": 5, "output_tokens": 1}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": block}),
        json!({"type": "content_block_delta", "index": 0, "delta": delta}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 2}}),
        json!({"type": "message_stop"}),
    ])
}

/// Returns an answer of the OpenAI Responses API, in which a search is an item of its own.
fn responses(call: Option<(&str, &str, Value)>) -> Reply {
    let item = match &call {
        Some((id, "tool_search", arguments)) => json!({
            "type": "tool_search_call", "id": format!("tsc_{id}"), "call_id": id, "execution": "client",
            "status": "completed", "arguments": arguments,
        }),
        Some((id, name, arguments)) => json!({
            "type": "function_call", "id": format!("fc_{id}"), "call_id": id, "name": name,
            "arguments": arguments.to_string(),
        }),
        None => json!({"type": "message", "content": [{"type": "output_text", "text": "fine"}]}),
    };
    sse(&[
        json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
        json!({"type": "response.completed", "response": {"status": "completed", "usage": {}}}),
    ])
}

fn completions(call: Option<(&str, &str, Value)>) -> Reply {
    match call {
        Some((id, name, arguments)) => {
            let function = json!({"name": name, "arguments": arguments.to_string()});
            let call = json!({"index": 0, "id": id, "type": "function", "function": function});
            chat(&json!({ "tool_calls": [call] }), "tool_calls")
        }
        None => chat(&json!({"content": "fine"}), "stop"),
    }
}

type Answer = fn(Option<(&str, &str, Value)>) -> Reply;

/// Returns the requests of a session in which a tool is searched and called, and which is opened again after the server
/// changed the description of the tool.
fn requests(api: &str, answer: Answer) -> Vec<Value> {
    let name = if api == "openai-completions" { "call_tool" } else { "mcp_s_echo" };
    let given = match name {
        "call_tool" => json!({"name": "mcp_s_echo", "arguments": {"text": "x"}}),
        _ => json!({"text": "x"}),
    };
    let server = strict(vec![
        answer(Some(("1", "tool_search", json!({"query": "echo"})))),
        answer(Some(("2", name, given))),
        answer(None),
        answer(None),
    ]);
    let stage = Stage::served(&server);
    let provider = json!({
        "baseUrl": format!("{}/v1", server.url()), "api": api, "auth": "none",
        "models": [{"id": "m", "contextWindow": 100_000, "compat": {"supportsToolSearch": true}}],
    });
    stage.write("home/agent/models.json", &json!({"providers": {"local": provider}}).to_string());
    stage.write("server.py", SERVER);
    stage.write("words", "Says it again.");
    let path = |name: &str| stage.path(name).display().to_string();
    let entry = json!({"command": "python3", "args": ["-u", path("server.py"), path("words")], "expose": "deferred"});
    stage.write("home/agent/mcp.json", &json!({"mcpServers": {"s": entry}}).to_string());
    let ran = stage.run(&["-p", "go"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "fine\n"), "{}", ran.stderr);
    stage.write("words", "Something else.");
    assert_eq!(stage.run(&["mcp", "reload"]).code, Some(0));
    let ran = stage.run(&["-p", "--continue", "thanks"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "fine\n"), "{}", ran.stderr);
    let requests: Vec<Value> = server.requests().iter().map(|request| request.json()).collect();
    assert_eq!(requests.len(), 4);
    requests
}

/// Checks that each request begins with the messages of the previous one, byte for byte except for cache marks.
fn share_their_messages(requests: &[Value], key: &str) {
    fn unmarked(value: &mut Value) {
        match value {
            Value::Object(members) => {
                members.shift_remove("cache_control");
                members.values_mut().for_each(unmarked);
            }
            Value::Array(items) => items.iter_mut().for_each(unmarked),
            _ => {}
        }
    }
    for pair in requests.windows(2) {
        let [before, after] = [&pair[0], &pair[1]].map(|request| {
            let mut messages = request[key].clone();
            unmarked(&mut messages);
            messages.as_array().unwrap().clone()
        });
        assert_eq!(before[..], after[..before.len()]);
    }
}

fn named<'a>(tools: &'a Value, name: &str) -> Option<&'a Value> {
    tools.as_array().unwrap().iter().find(|tool| tool["name"] == name)
}

#[test]
fn anthropic_requests_load_found_tools_by_reference() {
    let requests = requests("anthropic-messages", messages);
    share_their_messages(&requests, "messages");
    // Tools that are not deferred form the prefix, which must not change; deferred tools follow them.
    let front = |request: &Value| {
        let tools = request["tools"].as_array().unwrap().iter();
        tools.filter(|tool| tool["defer_loading"] != true).cloned().collect::<Vec<_>>()
    };
    assert!(requests.iter().all(|request| front(request) == front(&requests[0])));
    assert!(named(&requests[0]["tools"], "mcp_s_echo").is_none());
    for request in &requests[1..] {
        let tool = named(&request["tools"], "mcp_s_echo").unwrap();
        assert_eq!((&tool["defer_loading"], &tool["description"]), (&json!(true), &json!("Says it again.")));
    }
    // A tool that this provider would refuse is called through another tool.
    assert!(named(&requests[1]["tools"], "mcp_s_odd").is_none());
    let found = &requests[1]["messages"][2]["content"];
    let reference = |name: &str| json!({"type": "tool_reference", "tool_name": name});
    let names = found[0]["content"].as_array().unwrap();
    assert!(names.len() == 2 && names.contains(&reference("mcp_s_echo")) && names.contains(&reference("call_tool")));
    let text = found[1]["text"].as_str().unwrap();
    assert!(text.starts_with("[tool_search] Instructions of s: Ask first.") && text.contains("mcp_s_odd"), "{text}");
    let last = requests[3]["messages"].to_string();
    assert!(last.contains(r#""name":"mcp_s_echo""#) && last.contains("echo done"), "{last}");
}

#[test]
fn responses_requests_contain_found_definitions_in_a_search_item() {
    let requests = requests("openai-responses", responses);
    share_their_messages(&requests, "input");
    assert!(requests.iter().all(|request| request["tools"] == requests[0]["tools"]));
    let search = requests[0]["tools"].as_array().unwrap().iter().find(|tool| tool["type"] == "tool_search").unwrap();
    assert_eq!(search["execution"], "client");
    assert!(named(&requests[0]["tools"], "call_tool").is_none());
    let input = requests[3]["input"].as_array().unwrap();
    let of = |kind: &str| input.iter().find(|item| item["type"] == kind).unwrap();
    assert_eq!(of("tool_search_call")["arguments"], json!({"query": "echo"}));
    let output = of("tool_search_output");
    let tool = named(&output["tools"], "mcp_s_echo").unwrap();
    assert_eq!((&tool["description"], &tool["defer_loading"]), (&json!("Says it again."), &json!(true)));
    assert!(named(&output["tools"], "call_tool").is_some() && named(&output["tools"], "mcp_s_odd").is_none());
    assert_eq!(
        (&of("function_call")["name"], &of("function_call_output")["output"]),
        (&json!("mcp_s_echo"), &json!("echo done"))
    );
}

#[test]
fn other_protocols_contain_found_definitions_as_text() {
    let requests = requests("openai-completions", completions);
    share_their_messages(&requests, "messages");
    assert!(requests.iter().all(|request| request["tools"] == requests[0]["tools"]));
    let last = requests[3]["messages"].to_string();
    assert!(
        last.contains("Says it again.") && !last.contains("Something else.") && last.contains("echo done"),
        "{last}"
    );
}
