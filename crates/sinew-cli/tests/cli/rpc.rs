//! RPC mode: its output, the order of answers, and its end.

use serde_json::{Value, json};

use crate::client::Client;
use crate::stage::{Stage, call, messages, silent, text};

fn kinds(frames: &[Value]) -> Vec<&str> {
    frames.iter().filter_map(|frame| frame["type"].as_str()).filter(|kind| *kind != "message_update").collect()
}

#[track_caller]
fn ends_well(client: Client) -> Vec<Value> {
    let ended = client.end();
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    ended.seen
}

#[test]
fn a_prompt_gets_its_response_before_the_run_and_the_session_is_saved() {
    let stage = Stage::scripted(&[call("A", "ls", json!({})), text("B")]);
    let mut client = Client::scripted(&stage, &[]);
    client.prompt("go");
    let state = client.data("get_state", json!({}));
    assert_eq!((&state["isStreaming"], &state["messageCount"]), (&json!(false), &json!(4)));
    let list = client.data("get_messages", json!({}));
    let roles: Vec<&str> = list["messages"].as_array().unwrap().iter().map(|m| m["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "assistant", "toolResult", "assistant"]);
    let seen = ends_well(client);
    assert_eq!(kinds(&seen)[..3], ["ready", "response", "agent_start"]);
    assert_eq!(stage.said()[0], ("user".to_string(), "go".to_string()));
}

#[test]
fn each_command_gets_one_response_with_its_id() {
    let stage = Stage::scripted(&[]);
    let mut client = Client::scripted(&stage, &[]);
    let ids = [
        json!("a"),
        json!(7),
        json!(-1.5),
        json!(0),
        json!(true),
        json!([1, "x"]),
        json!({"a": {"b": null}}),
        json!(""),
        json!(null),
        json!(u64::MAX),
    ];
    for id in &ids {
        client.send(&json!({"id": id, "type": "get_state"}));
        let response = client.frame();
        assert_eq!((&response["id"], &response["success"]), (id, &json!(true)), "{response}");
        assert!(response.get("id").is_some());
        client.send(&json!({"type": "nonsense", "id": id}));
        let expect = json!({"id": id, "type": "response", "command": "nonsense", "success": false,
            "error": "Unknown command: nonsense"});
        assert_eq!(client.frame(), expect);
    }
    client.send(&json!({"type": "abort_bash"}));
    assert_eq!(client.frame(), json!({"type": "response", "command": "abort_bash", "success": true}));
    ends_well(client);
}

#[test]
fn invalid_lines_are_refused_and_the_next_one_is_read() {
    let stage = Stage::scripted(&[]);
    let mut client = Client::scripted(&stage, &[]);
    let deep = [vec![b'['; 100_000], b"\n".to_vec()].concat();
    let bad: [&[u8]; 9] = [
        b"nonsense\n",
        b"{\"type\":\"get_state\"\n",
        b"[1]\n",
        b"\"get_state\"\n",
        b"null\n",
        b"{\"type\":\"get_state\"} {}\n",
        b"{\"type\":\"get_\xff\xfe\"}\n",
        b"\0\n",
        &deep,
    ];
    for line in bad {
        client.raw(line);
        let response = client.frame();
        assert_eq!((&response["command"], &response["success"]), (&json!("parse"), &json!(false)), "{response}");
        assert!(response.get("id").is_none() && response["error"].as_str().is_some_and(|text| !text.is_empty()));
    }
    // Blank lines are ignored, and lines may end with CR LF.
    client.raw(b"\n\n  \r\n{\"id\":1,\"type\":\"abort_bash\"}\r\n");
    assert_eq!(client.frame()["id"], 1);
    // Half of an emoji, as JavaScript can write it, becomes the replacement character.
    client.raw(b"{\"id\":\"\\ud83d!\",\"type\":\"abort_bash\"}\n");
    assert_eq!(client.frame()["id"], "\u{fffd}!");
    // U+2028 does not end a line, and is returned unchanged.
    let id = "a\u{2028}b\u{2029}c\u{85}";
    client.raw(format!("{{\"id\":\"{id}\",\"type\":\"abort_bash\"}}\n").as_bytes());
    assert_eq!(client.frame()["id"], id);
    for (line, reason) in [
        (json!({"id": 1, "type": "prompt"}), "prompt: missing field `message`"),
        (json!({"id": 1, "type": "prompt", "message": 7}), "prompt: invalid type: integer `7`, expected a string"),
        (json!({"id": 1, "type": 7}), "Unknown command: 7"),
        (json!({"id": 1}), "it has no \"type\""),
        (json!({"id": 1, "type": "steer", "message": "m", "images": [{"data": "!", "mimeType": "x"}]}), "images/0"),
        (json!({"id": 1, "type": "set_steering_mode", "mode": "some"}), "unknown variant `some`"),
    ] {
        client.send(&line);
        let response = client.frame();
        assert_eq!((&response["id"], &response["success"]), (&json!(1), &json!(false)), "{response}");
        assert!(response["error"].as_str().unwrap().contains(reason), "{response}");
    }
    ends_well(client);
    assert!(stage.files().is_empty());
}

#[test]
fn a_last_line_without_a_newline_is_read() {
    let stage = Stage::scripted(&[]);
    let mut client = Client::scripted(&stage, &[]);
    client.raw(b"{\"id\":1,\"type\":\"get_last_assistant_text\"}");
    let seen = ends_well(client);
    assert_eq!(seen[1]["data"], json!({"text": null}));
}

#[test]
fn ten_thousand_commands_get_one_response_each_in_order() {
    let stage = Stage::scripted(&[]);
    let mut client = Client::scripted(&stage, &[]);
    let count = 10_000;
    let lines: String = (0..count).map(|id| format!("{{\"id\":{id},\"type\":\"abort_retry\"}}\n")).collect();
    client.raw(lines.as_bytes());
    let seen = ends_well(client);
    let ids: Vec<u64> = seen[1..].iter().map(|response| response["id"].as_u64().unwrap()).collect();
    assert_eq!(ids, (0..count).collect::<Vec<_>>());
}

#[test]
fn commands_are_answered_during_a_run_and_abort_once_it_ended() {
    let (server, told) = silent();
    let stage = Stage::served(&server);
    let mut client = Client::of(stage.command(&["--mode", "rpc"]));
    client.data("prompt", json!({"message": "remember me"}));
    told.recv().unwrap();
    assert_eq!(client.data("get_state", json!({}))["isStreaming"], true);
    assert_eq!(client.data("get_messages", json!({}))["messages"].as_array().unwrap().len(), 1);
    let refused = client.fails("prompt", json!({"message": "me too"}));
    assert_eq!(refused, "Agent is already processing. Use streamingBehavior \"steer\" or \"followUp\".");
    client.data("prompt", json!({"message": "later", "streamingBehavior": "followUp"}));
    client.data("steer", json!({"message": "now"}));
    client.data("follow_up", json!({"message": "at last"}));
    assert_eq!(client.data("get_state", json!({}))["queuedMessageCount"], 3);
    let update = client.seen.iter().rev().find(|frame| frame["type"] == "queue_update").unwrap();
    assert_eq!((&update["steering"], &update["followUp"]), (&json!(["now"]), &json!(["later", "at last"])));
    client.data("abort", json!({}));
    let kinds = kinds(&client.seen);
    let at = |kind: &str| kinds.iter().rposition(|other| *other == kind).unwrap();
    assert!(at("agent_end") < kinds.len() - 1 && at("response") == kinds.len() - 1, "{kinds:?}");
    assert_eq!(client.data("get_state", json!({}))["isStreaming"], false);
    ends_well(client);
    assert_eq!(stage.said()[0].1, "remember me");
}

#[test]
fn an_abort_right_after_a_prompt_ends_it() {
    let (server, _told) = silent();
    let stage = Stage::served(&server);
    let mut client = Client::of(stage.command(&["--mode", "rpc"]));
    client.raw(b"{\"id\":1,\"type\":\"prompt\",\"message\":\"m\"}\n{\"id\":2,\"type\":\"abort\"}\n");
    assert_eq!(client.response(&json!(2))["success"], true);
    assert_eq!(client.seen.iter().filter(|frame| frame["type"] == "agent_end").count(), 1);
    ends_well(client);
}

#[test]
fn steering_without_a_run_starts_one() {
    let stage = Stage::scripted(&[text("one"), text("two"), text("three")]);
    let mut client = Client::scripted(&stage, &[]);
    for kind in ["steer", "follow_up", "abort_and_prompt"] {
        client.data(kind, json!({"message": kind}));
        client.event("agent_settled");
    }
    ends_well(client);
    let said: Vec<String> = stage.said().into_iter().map(|(_, text)| text).collect();
    assert_eq!(said, ["steer", "one", "follow_up", "two", "abort_and_prompt", "three"]);
}

#[test]
fn the_end_of_stdin_ends_the_run_and_saves_the_session() {
    let (server, told) = silent();
    let stage = Stage::served(&server);
    let mut client = Client::of(stage.command(&["--mode", "rpc"]));
    client.data("prompt", json!({"message": "remember me"}));
    told.recv().unwrap();
    let seen = ends_well(client);
    assert_eq!(kinds(&seen).iter().filter(|kind| **kind == "agent_end").count(), 1);
    server.wait_released(1);
    assert_eq!(messages(&stage.files()[0])[0], ("user".to_string(), "remember me".to_string()));
}

#[test]
fn hooks_can_refuse_client_commands() {
    let stage = Stage::scripted(&[text("A"), text("B")]);
    let entry = |event: &str, answer: &str| {
        let command = format!("printf '%s ' {event} >> asked.txt; {answer}");
        json!({"event": event, "shell": true, "command": command})
    };
    let asked = json!({"hooks": [
        entry("session_before_switch", "grep -q '\"reason\":\"new\"' && exit 2; exit 0"),
        entry("session_before_branch", "exit 2"),
        entry("session_before_tree", "exit 2"),
        entry("session_switch", "exit 0"),
        entry("user_bash", "echo '{\"result\": {\"output\": \"mine\", \"cancelled\": false, \"truncated\": false, \"timestamp\": 1}}'"),
    ]});
    stage.write("home/agent/hooks.json", &asked.to_string());
    let mut client = Client::scripted(&stage, &[]);
    client.prompt("one");
    let file = client.data("get_state", json!({}))["sessionFile"].clone();
    let entry = client.data("get_branch_messages", json!({}))["messages"][0]["entryId"].clone();
    assert_eq!(client.data("new_session", json!({})), json!({"cancelled": true}));
    assert_eq!(client.data("branch", json!({"entryId": entry})), json!({"text": "", "cancelled": true}));
    let moved = client.data("navigate_tree", json!({"targetId": entry}));
    assert_eq!(moved, json!({"cancelled": true, "aborted": false}));
    assert_eq!(client.data("bash", json!({"command": "ls"}))["output"], "mine");
    assert_eq!(client.data("get_state", json!({}))["sessionFile"], file, "the session is still the one");
    assert_eq!(client.data("fork", json!({}))["cancelled"], false);
    ends_well(client);
    let order = "session_before_switch session_before_branch session_before_tree user_bash session_before_switch session_switch ";
    assert_eq!(std::fs::read_to_string(stage.path("project/asked.txt")).unwrap(), order);
}
