//! RPC mode: tools that the client runs, and questions to its user.

use serde_json::{Value, json};

use crate::client::Client;
use crate::stage::{Stage, call, text};

fn tool(name: &str) -> Value {
    let parameters = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "additionalProperties": false});
    json!({"name": name, "label": "A label", "description": "Does it.", "parameters": parameters})
}

fn results(client: &mut Client) -> Vec<(String, bool)> {
    let list = client.data("get_messages", json!({}));
    let results = list["messages"].as_array().unwrap().iter().filter(|message| message["role"] == "toolResult");
    let text = |message: &Value| message["content"][0]["text"].as_str().unwrap_or_default().to_string();
    results.map(|message| (text(message), message["isError"].as_bool().unwrap())).collect()
}

fn calls(names: &[(&str, Value)]) -> Value {
    let calls: Vec<Value> =
        names.iter().map(|(name, arguments)| json!({"toolCall": {"name": name, "arguments": arguments}})).collect();
    json!({"type": "turn", "content": calls})
}

#[test]
fn a_client_tool_sends_updates_and_its_result_reaches_the_model() {
    let stage = Stage::scripted(&[calls(&[("a", json!({"n": 1})), ("b", json!({}))]), text("done")]);
    let mut client = Client::scripted(&stage, &[]);
    assert_eq!(client.data("set_host_tools", json!({"tools": [tool("a"), tool("b")]})), json!({"names": ["a", "b"]}));
    client.data("prompt", json!({"message": "go"}));
    let first = client.event("host_tool_call");
    let second = client.event("host_tool_call");
    assert_eq!((&first["toolName"], &first["arguments"]), (&json!("a"), &json!({"n": 1})));
    assert!(first["toolCallId"].is_string() && first["id"] != second["id"], "{first} {second}");
    client.send(&json!({"type": "host_tool_update", "id": first["id"], "partialResult": "half"}));
    let update = client.event("tool_execution_update");
    assert_eq!(update["partialResult"]["content"][0]["text"], "half");
    // These ids are unknown.
    for id in [json!("none"), json!(7), json!(null)] {
        client.send(&json!({"type": "host_tool_result", "id": id, "result": "stray"}));
        client.send(&json!({"type": "host_tool_update", "id": id, "partialResult": {"content": 7}}));
        client.send(&json!({"type": "extension_ui_response", "id": id, "value": "stray"}));
    }
    // The answers may arrive in any order; the results are in the order of the calls.
    let blocks = json!({"content": [{"type": "text", "text": "B"}], "details": {"k": 1}});
    client.send(&json!({"type": "host_tool_result", "id": second["id"], "result": blocks, "isError": true}));
    client.event("tool_execution_end");
    client.send(&json!({"type": "host_tool_result", "id": first["id"], "result": {"any": ["thing"]}}));
    client.send(&json!({"type": "host_tool_result", "id": first["id"], "result": "twice"}));
    client.event("agent_settled");
    let expect = [("{\"any\":[\"thing\"]}".to_string(), false), ("B".to_string(), true)];
    assert_eq!(results(&mut client), expect);
    assert_eq!(client.end().code, Some(0));
}

#[test]
fn a_new_list_replaces_client_tools_from_the_next_turn_on() {
    let expect =
        |tools: &[&str], content: Value| json!({"type": "turn", "expect": {"tools": tools}, "content": content});
    let called = |name: &str| json!([{"toolCall": {"name": name, "arguments": {}}}]);
    let stage = Stage::scripted(&[
        expect(&["a"], called("a")),
        // The tools that were set during the first turn.
        json!({"type": "turn", "expect": {"tools": ["c"]}, "content": called("c")}),
        json!({"type": "turn", "expect": {"tools": ["c", "read"]}, "content": [{"text": "end"}]}),
    ]);
    let mut client = Client::scripted(&stage, &["--no-tools"]);
    client.data("set_host_tools", json!({"tools": [tool("a"), tool("b")]}));
    client.data("prompt", json!({"message": "go"}));
    let first = client.event("host_tool_call");
    client.data("set_host_tools", json!({"tools": [tool("c")]}));
    client.send(&json!({"type": "host_tool_result", "id": first["id"], "result": "A"}));
    let second = client.event("host_tool_call");
    assert_eq!(second["toolName"], "c");
    let tools = client.data("set_tools", json!({"names": ["read", "c"]}));
    let active = |tools: &Value| {
        let list = tools["tools"].as_array().unwrap().iter().filter(|tool| tool["active"] == true);
        list.map(|tool| tool["name"].as_str().unwrap().to_string()).collect::<Vec<_>>()
    };
    assert_eq!(active(&tools), ["read", "c"]);
    client.send(&json!({"type": "host_tool_result", "id": second["id"], "result": "C"}));
    let end = client.event("agent_end");
    assert_eq!(end["messages"].as_array().unwrap().last().unwrap()["stopReason"], "stop", "{end}");
    client.event("agent_settled");
    // The tools belong to the client, and stay when the session changes.
    client.data("new_session", json!({}));
    assert_eq!(active(&client.data("get_tools", json!({}))), ["read", "c"]);
    assert_eq!(client.data("set_host_tools", json!({"tools": []})), json!({"names": []}));
    assert_eq!(active(&client.data("get_tools", json!({}))), ["read"]);
    assert_eq!(client.end().code, Some(0));
}

#[test]
fn invalid_client_tools_are_refused_and_the_old_ones_stay() {
    let stage = Stage::scripted(&[]);
    let mut client = Client::scripted(&stage, &[]);
    client.data("set_host_tools", json!({"tools": [tool("old")]}));
    let mut scalar = tool("x");
    scalar["parameters"] = json!({"type": "string"});
    let mut listed = tool("x");
    listed["parameters"] = json!({"type": "object", "properties": []});
    for (tools, reason) in [
        (json!([tool("read")]), "read is the name of a built-in tool"),
        (json!([tool("edit")]), "edit is the name of a built-in tool"),
        (json!([tool("x"), tool("x")]), "x occurs twice"),
        (json!([tool("")]), "\"\" is not a valid name"),
        (json!([tool("a b")]), "\"a b\" is not a valid name"),
        (json!([tool(&"x".repeat(65))]), "is not a valid name"),
        (json!([scalar]), "x: parameters must be a JSON Schema of an object"),
        (json!([listed]), "x: parameters must be a JSON Schema of an object"),
        (json!([{"name": "x"}]), "missing field `description`"),
        (json!("x"), "invalid type"),
    ] {
        let told = client.fails("set_host_tools", json!({"tools": tools}));
        assert!(told.contains(reason), "{told}");
    }
    let tools = client.data("get_tools", json!({}));
    assert_eq!(tools["tools"].as_array().unwrap().last().unwrap()["name"], "old");
    assert_eq!(client.end().code, Some(0));
}

#[test]
fn an_abort_cancels_an_unanswered_client_call() {
    let stage = Stage::scripted(&[calls(&[("a", json!({}))]), text("B")]);
    let mut client = Client::scripted(&stage, &[]);
    client.data("set_host_tools", json!({"tools": [tool("a")]}));
    client.data("prompt", json!({"message": "go"}));
    let call = client.event("host_tool_call");
    let abort = client.begin("abort", json!({}));
    let cancel = client.event("host_tool_cancel");
    assert_eq!(cancel["targetId"], call["id"]);
    client.count("agent_end", 1);
    client.response(&abort);
    // This result arrives too late.
    client.send(&json!({"type": "host_tool_result", "id": call["id"], "result": "A"}));
    assert_eq!(results(&mut client), [("Operation aborted".to_string(), true)]);
    client.prompt("again");
    assert_eq!(client.end().code, Some(0));
}

#[test]
fn the_end_of_stdin_rejects_pending_calls_and_questions() {
    for (name, frame, arguments) in [
        ("a", "host_tool_call", json!({})),
        ("ask", "extension_ui_request", json!({"questions": [{"question": "Why?"}]})),
    ] {
        let stage = Stage::scripted(&[call("", name, arguments), text("B")]);
        let mut client = Client::scripted(&stage, &[]);
        client.data("set_host_tools", json!({"tools": [tool("a")]}));
        client.data("prompt", json!({"message": "go"}));
        client.event(frame);
        let ended = client.end();
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{name}");
        assert_eq!(ended.seen.iter().filter(|frame| frame["type"] == "agent_end").count(), 1, "{name}");
        let said = stage.said();
        assert_eq!(said[2].0, "toolResult", "{said:?}");
    }
}

#[test]
fn questions_reach_the_user_and_answers_the_model() {
    let option = |label: &str| json!({"label": label});
    let questions = json!({"questions": [
        {"question": "Which?", "options": [option("x"), {"label": "y", "description": "why"}], "recommended": 1},
        {"question": "All?", "options": [option("x"), option("y")], "multi": true},
        {"question": "Name?"},
    ]});
    let stage =
        Stage::scripted(&[call("", "ask", questions.clone()), text("B"), call("", "ask", questions), text("C")]);
    let mut client = Client::scripted(&stage, &[]);
    client.data("prompt", json!({"message": "go"}));
    let asked = client.event("extension_ui_request");
    let expect = json!({"type": "extension_ui_request", "id": asked["id"], "method": "select", "title": "Which?",
        "options": ["x", "y"], "descriptions": [null, "why"], "recommended": 1});
    assert_eq!(asked, expect);
    client.send(&json!({"type": "extension_ui_response", "id": asked["id"], "value": "own words"}));
    let asked = client.event("extension_ui_request");
    assert_eq!((&asked["method"], &asked["multi"]), (&json!("select"), &json!(true)));
    client.send(&json!({"type": "extension_ui_response", "id": asked["id"], "value": ["x", "y"]}));
    let asked = client.event("extension_ui_request");
    assert_eq!((&asked["method"], &asked["title"]), (&json!("input"), &json!("Name?")));
    assert!(asked.get("timeout").is_none(), "{asked}");
    client.send(&json!({"type": "extension_ui_response", "id": asked["id"], "value": "n"}));
    client.event("agent_settled");
    client.data("prompt", json!({"message": "again"}));
    // The client's timer ended first, so the recommended answer is used.
    let asked = client.event("extension_ui_request");
    client.send(&json!({"type": "extension_ui_response", "id": asked["id"], "cancelled": true, "timedOut": true}));
    let asked = client.event("extension_ui_request");
    client.send(&json!({"type": "extension_ui_response", "id": asked["id"], "cancelled": true}));
    client.event("agent_settled");
    let expect = [("Which?: own words\nAll?: x, y\nName?: n".to_string(), false), ("User cancelled".to_string(), true)];
    assert_eq!(results(&mut client), expect);
    assert_eq!(client.end().code, Some(0));
}

#[test]
fn an_unanswered_question_is_cancelled_after_its_timeout() {
    let questions = json!({"questions": [
        {"question": "Which?", "options": [{"label": "x"}, {"label": "y"}], "recommended": 1}]});
    let stage = Stage::scripted(&[call("", "ask", questions), text("B")]);
    stage.write("home/agent/settings.json", r#"{"ask": {"timeoutSeconds": 1}}"#);
    let mut client = Client::scripted(&stage, &[]);
    client.data("prompt", json!({"message": "go"}));
    let asked = client.event("extension_ui_request");
    assert_eq!(asked["timeout"], 1_000);
    let cancel = client.event("extension_ui_request");
    assert_eq!((&cancel["method"], &cancel["targetId"]), (&json!("cancel"), &asked["id"]));
    client.count("agent_settled", 1);
    assert_eq!(results(&mut client), [("Which?: y".to_string(), false)]);
    assert_eq!(client.end().code, Some(0));
}

#[test]
fn permission_requests_reach_the_client() {
    let run = |name: &str| call("", "bash", json!({"command": format!("echo {name}")}));
    let stage = Stage::scripted(&[run("one"), run("two"), run("three"), text("B")]);
    stage.write("home/agent/settings.json", r#"{"permissions": {"ask": ["bash(*)"]}}"#);
    let mut client = Client::scripted(&stage, &[]);
    client.data("prompt", json!({"message": "go"}));
    for answer in [json!({"confirmed": true}), json!({"confirmed": false}), json!({"cancelled": true})] {
        let asked = client.event("extension_ui_request");
        assert_eq!(asked["method"], "confirm");
        assert!(asked["title"].as_str().unwrap().starts_with("bash {\"command\":\"echo "), "{asked}");
        assert_eq!(asked["message"], "The rule bash(*) requires your approval. Allow this call?");
        let mut response = json!({"type": "extension_ui_response", "id": asked["id"]});
        response.as_object_mut().unwrap().extend(answer.as_object().unwrap().clone());
        client.send(&response);
    }
    client.event("agent_settled");
    let denied = || ("The user refused this call (permission rule bash(*)).".to_string(), true);
    let results = results(&mut client);
    assert_eq!((results[0].0.as_str(), &results[1..]), ("one", &[denied(), denied()][..]));
    assert_eq!(client.end().code, Some(0));
}
