//! RPC mode: every command, with its fields and its result.

use serde_json::{Value, json};

use crate::client::Client;
use crate::stage::{Stage, call, text};

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().map(|object| object.keys().map(String::as_str).collect()).unwrap_or_default()
}

/// A command, its fields, and the keys of its result; `None` if it has no result.
type Row = (&'static str, Value, Option<&'static [&'static str]>);

fn table(user: &str) -> Vec<Row> {
    let none = || json!({});
    vec![
        ("steer", json!({"message": "m"}), None),
        ("follow_up", json!({"message": "m"}), None),
        ("abort", none(), None),
        ("abort_and_prompt", json!({"message": "m"}), None),
        ("abort", none(), None),
        (
            "get_state",
            none(),
            Some(&[
                "model",
                "thinkingLevel",
                "isStreaming",
                "isCompacting",
                "isRetrying",
                "steeringMode",
                "followUpMode",
                "interruptMode",
                "sessionFile",
                "sessionId",
                "sessionName",
                "autoCompactionEnabled",
                "autoRetryEnabled",
                "messageCount",
                "queuedMessageCount",
                "pendingMessageCount",
                "todoPhases",
                "systemPrompt",
                "dumpTools",
                "cwd",
                "mode",
                "subagents",
            ]),
        ),
        ("get_available_models", none(), Some(&["models"])),
        ("set_thinking_level", json!({"level": "high"}), None),
        ("set_steering_mode", json!({"mode": "all"}), None),
        ("set_follow_up_mode", json!({"mode": "one-at-a-time"}), None),
        ("set_interrupt_mode", json!({"mode": "wait"}), None),
        ("set_auto_compaction", json!({"enabled": false}), None),
        ("set_auto_retry", json!({"enabled": false}), None),
        ("abort_retry", none(), None),
        ("abort_compaction", none(), None),
        ("bash", json!({"command": "echo a"}), Some(&["output", "exitCode", "cancelled", "truncated"])),
        ("abort_bash", none(), None),
        (
            "get_session_stats",
            none(),
            Some(&[
                "sessionFile",
                "sessionId",
                "userMessages",
                "assistantMessages",
                "toolCalls",
                "toolResults",
                "totalMessages",
                "tokens",
                "cost",
                "contextUsage",
            ]),
        ),
        ("export_html", none(), Some(&["path"])),
        ("get_branch_messages", none(), Some(&["messages"])),
        ("get_last_assistant_text", none(), Some(&["text"])),
        ("set_session_name", json!({"name": "n"}), None),
        ("get_messages", none(), Some(&["messages"])),
        ("set_todos", json!({"phases": []}), Some(&["phases"])),
        ("set_host_tools", json!({"tools": []}), Some(&["names"])),
        ("get_tools", none(), Some(&["tools"])),
        ("set_tools", json!({"names": ["read"]}), Some(&["tools"])),
        ("get_commands", none(), Some(&["commands"])),
        ("get_tree", none(), Some(&["tree", "leafId"])),
        ("get_entries", none(), Some(&["entries", "leafId"])),
        ("get_fork_messages", none(), Some(&["messages"])),
        ("get_available_thinking_levels", none(), Some(&["levels"])),
        ("clear_queue", none(), Some(&["steering", "followUp"])),
        ("list_checkpoints", none(), Some(&["turns", "redo"])),
        ("plan_undo", none(), Some(&["turns", "plan", "text"])),
        ("undo", none(), Some(&["turns", "plan", "done", "planned", "redo"])),
        ("subagent_list", none(), Some(&["subagents"])),
        ("list_sessions", none(), Some(&["sessions"])),
        ("reload", none(), Some(&["warnings"])),
        ("mcp_list", none(), Some(&["servers"])),
        ("mcp_reload", none(), Some(&["servers", "warnings"])),
        ("fork", none(), Some(&["sessionFile", "cancelled"])),
        ("clone", none(), Some(&["cancelled"])),
        ("navigate_tree", json!({"targetId": user}), Some(&["cancelled", "aborted", "editorText"])),
        ("branch", json!({"entryId": user}), Some(&["text", "cancelled"])),
        ("new_session", none(), Some(&["cancelled"])),
    ]
}

#[test]
fn every_command_returns_what_its_table_entry_says() {
    let stage = Stage::scripted(&[json!({"type": "script", "version": 1, "onExhausted": "repeat"}), text("answer")]);
    let mut client = Client::scripted(&stage, &[]);
    client.prompt("first");
    let file = client.data("get_state", json!({}))["sessionFile"].clone();
    let points = client.data("get_branch_messages", json!({}));
    assert_eq!(points["messages"][0]["text"], "first");
    let user = points["messages"][0]["entryId"].as_str().unwrap().to_string();
    for (name, fields, expect) in table(&user) {
        let response = client.ask(name, fields);
        assert_eq!((&response["command"], &response["success"]), (&json!(name), &json!(true)), "{response}");
        match expect {
            None => assert!(response.get("data").is_none(), "{response}"),
            Some(expect) => assert_eq!(keys(&response["data"]), expect, "{response}"),
        }
    }
    assert_eq!(client.data("switch_session", json!({"sessionPath": file})), json!({"cancelled": false}));
    // There is no other model, and this one does not support thinking.
    assert_eq!(client.data("cycle_model", json!({})), Value::Null);
    assert!(client.ask("cycle_thinking_level", json!({})).get("data").is_some());
    let ended = client.end();
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    let warnings: Vec<&Value> = ended.seen.iter().filter(|frame| frame["type"] == "warning").collect();
    assert!(warnings.is_empty(), "{warnings:?}");
}

#[test]
fn a_failing_command_returns_a_reason() {
    let stage = Stage::scripted(&[text("answer")]);
    let mut client = Client::scripted(&stage, &[]);
    for (name, fields, reason) in [
        ("set_model", json!({"provider": "p", "modelId": "m"}), "Model not found: p/m"),
        ("set_model", json!({"provider": "p"}), "set_model: missing field `modelId`"),
        ("set_thinking_level", json!({"level": "loud"}), "unknown level \"loud\"; use off, minimal"),
        ("set_interrupt_mode", json!({"mode": "never"}), "unknown variant `never`"),
        ("set_auto_retry", json!({"enabled": "yes"}), "set_auto_retry: invalid type"),
        ("set_session_name", json!({"name": "  "}), "Session name cannot be empty"),
        ("switch_session", json!({"sessionPath": "no/such.jsonl"}), "Session \"no/such.jsonl\" not found."),
        ("switch_session", json!({"sessionPath": ""}), "The id of a session is empty"),
        ("switch_session", json!({"sessionPath": "script.jsonl"}), "is not a session file"),
        ("new_session", json!({"parentSession": "no/such.jsonl"}), "not found"),
        ("branch", json!({"entryId": "none"}), "no entry \"none\""),
        ("navigate_tree", json!({"targetId": "none"}), "no entry \"none\""),
        ("fork", json!({}), "cannot fork an in-memory session"),
        ("compact", json!({}), "Nothing to compact"),
        ("set_tools", json!({"names": ["fly"]}), "unknown tool \"fly\"; known: read"),
        (
            "set_todos",
            json!({"phases": [{"name": "", "tasks": [{"content": "c", "status": "pending"}]}]}),
            "Missing phase",
        ),
        (
            "set_todos",
            json!({"phases": [{"name": "p", "tasks": [{"content": "c", "status": "?"}]}]}),
            "unknown variant",
        ),
        ("bash", json!({}), "bash: missing field `command`"),
    ] {
        let told = client.fails(name, fields);
        assert!(told.contains(reason), "{name}: {told}");
    }
    // A file that is not a session was not changed, and the session continues.
    assert!(stage.path("project/script.jsonl").is_file());
    client.prompt("go");
    assert_eq!(client.end().code, Some(0));
}

#[test]
fn a_failing_command_does_not_affect_the_run() {
    let held = call("held", "bash", json!({"command": "touch begun; read -r x < go; echo \"$x\""}));
    let stage = Stage::scripted(&[held, text("whole")]);
    let pipe = stage.path("project/go");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut client = Client::scripted(&stage, &[]);
    client.begin("prompt", json!({"message": "go"}));
    stage.wait_for("project/begun");
    for (name, fields) in [
        ("branch", json!({"entryId": "none"})),
        ("branch", json!({})),
        ("fork", json!({"entryId": "none"})),
        ("fork", json!({})),
        ("compact", json!({})),
        ("compact", json!({"customInstructions": 1})),
        ("switch_session", json!({"sessionPath": "no/such.jsonl"})),
        ("new_session", json!({"parentSession": "no/such.jsonl"})),
        ("navigate_tree", json!({"targetId": "none"})),
        ("prompt", json!({"message": "not now"})),
        ("abort_and_prompt", json!({})),
    ] {
        client.fails(name, fields.clone());
        let state = client.data("get_state", json!({}));
        assert_eq!(state["isStreaming"], json!(true), "{name} {fields}");
    }
    std::fs::write(&pipe, "done\n").unwrap();
    client.event("agent_end");
    let last = client.data("get_last_assistant_text", json!({}));
    assert_eq!(last["text"], "whole");
    assert_eq!(client.end().code, Some(0));
}

#[test]
fn changed_options_appear_in_the_state_and_apply_to_the_next_session() {
    let stage = Stage::scripted(&[json!({"type": "script", "version": 1, "reasoning": true}), text("answer")]);
    let mut client = Client::scripted(&stage, &[]);
    for (name, fields, key, value) in [
        ("set_steering_mode", json!({"mode": "all"}), "steeringMode", json!("all")),
        ("set_follow_up_mode", json!({"mode": "all"}), "followUpMode", json!("all")),
        ("set_interrupt_mode", json!({"mode": "immediate"}), "interruptMode", json!("immediate")),
        ("set_auto_compaction", json!({"enabled": false}), "autoCompactionEnabled", json!(false)),
        ("set_auto_retry", json!({"enabled": false}), "autoRetryEnabled", json!(false)),
        ("set_thinking_level", json!({"level": "high"}), "thinkingLevel", json!("high")),
    ] {
        let before = client.data("get_state", json!({}));
        assert_ne!(before[key], value, "{name}");
        client.data(name, fields);
        assert_eq!(client.data("get_state", json!({}))[key], value, "{name}");
        client.data("new_session", json!({}));
        assert_eq!(client.data("get_state", json!({}))[key], value, "{name}");
    }
    assert_eq!(client.data("cycle_thinking_level", json!({})), json!({"level": "xhigh"}));
    assert_eq!(client.data("cycle_thinking_level", json!({})), json!({"level": "off"}));
    client.data("set_session_name", json!({"name": "a  name"}));
    assert_eq!(client.data("get_state", json!({}))["sessionName"], "a name");
    assert_eq!(client.end().code, Some(0));
}

#[test]
fn user_commands_are_saved_and_reach_the_model() {
    let stage = Stage::scripted(&[
        json!({"type": "turn", "expect": {"messages": 2}, "content": [{"text": "A"}]}),
        call("B", "bash", json!({"command": "echo $X; touch begun; while ! test -e go; do sleep 0.01; done"})),
        text("C"),
        text("D"),
    ]);
    let mut client = Client::scripted(&stage, &[]);
    let run = client.data("bash", json!({"command": "export X=state; echo out; (exit 3)"}));
    assert_eq!(run, json!({"output": "out", "exitCode": 3, "cancelled": false, "truncated": false}));
    client.data("bash", json!({"command": "echo aside", "excludeFromContext": true}));
    client.prompt("one");
    // A command during a run is recorded after the run. It uses the same shell.
    client.data("prompt", json!({"message": "two"}));
    client.event("tool_execution_start");
    let waiting = client.begin("bash", json!({"command": "echo $X"}));
    stage.wait_for("project/begun");
    stage.write("project/go", "");
    assert_eq!(client.response(&waiting)["data"]["output"], "state");
    client.count("agent_settled", 2);
    let list = client.data("get_messages", json!({}));
    let roles: Vec<&str> = list["messages"].as_array().unwrap().iter().map(|m| m["role"].as_str().unwrap()).collect();
    let expect = [
        &["bashExecution", "bashExecution", "user", "assistant", "user", "assistant", "toolResult", "assistant"][..],
        &["bashExecution"],
    ];
    assert_eq!(roles, expect.concat());
    // A command that never ends is aborted, together with the commands that wait for the shell.
    let first = client.begin("bash", json!({"command": "echo part; sleep 1000"}));
    let second = client.begin("bash", json!({"command": "echo never"}));
    client.data("abort_bash", json!({}));
    let ended = [client.response(&first), client.response(&second)];
    assert!(ended.iter().all(|response| response["data"]["cancelled"] == true), "{ended:?}");
    assert_eq!(client.end().code, Some(0));
    let text = std::fs::read_to_string(&stage.files()[0]).unwrap();
    assert!(text.contains("\"excludeFromContext\":true"), "{text}");
}

#[test]
fn long_output_is_truncated_and_names_its_file() {
    let stage = Stage::scripted(&[]);
    let mut client = Client::scripted(&stage, &[]);
    let run = client.data("bash", json!({"command": "seq 100000"}));
    assert_eq!(run["truncated"], true);
    let whole = std::fs::read_to_string(run["fullOutputPath"].as_str().unwrap()).unwrap();
    assert!(whole.starts_with("1\n2\n") && whole.ends_with("100000\n") && whole.len() == 588_895, "{}", whole.len());
    assert_eq!(client.end().code, Some(0));
}

#[test]
fn images_are_sent_with_a_message() {
    let stage = Stage::scripted(&[text("seen")]);
    let mut client = Client::scripted(&stage, &[]);
    // One white pixel.
    let png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
    let image = json!({"type": "image", "data": png, "mimeType": "image/png"});
    client.data("prompt", json!({"message": "look", "images": [image]}));
    client.event("agent_settled");
    let list = client.data("get_messages", json!({}));
    let content = &list["messages"][0]["content"];
    assert_eq!((&content[0]["text"], &content[1]["type"]), (&json!("look"), &json!("image")), "{content}");
    let told = client.fails("prompt", json!({"message": "m", "images": [{"data": "aGVsbG8=", "mimeType": "x"}]}));
    assert!(told.contains("images/0"), "{told}");
    assert_eq!(client.end().code, Some(0));
}

#[test]
fn commands_skills_and_templates_are_listed_run_and_reloaded() {
    let stage = Stage::scripted(&[text("A"), text("B")]);
    stage.write("project/.sinew/prompts/fix.md", "---\ndescription: Fixes\n---\nFix $1 now");
    let mut client = Client::scripted(&stage, &[]);
    let fix = json!({"name": "fix", "description": "Fixes", "source": "prompt"});
    assert_eq!(client.data("get_commands", json!({})), json!({"commands": [fix]}));
    stage.write("project/.sinew/skills/look/SKILL.md", "---\nname: look\ndescription: Looks\n---\nLook closely.");
    stage.write("project/.sinew/skills/bad/SKILL.md", "---\nname: bad\n---\n");
    stage.write("project/AGENTS.md", "Mind the gap.");
    let warnings = client.data("reload", json!({}))["warnings"].clone();
    assert!(warnings.as_array().is_some_and(|list| list.len() == 1) && warnings[0].to_string().contains("bad"));
    let look = json!({"name": "skill:look", "description": "Looks", "source": "skill"});
    assert_eq!(client.data("get_commands", json!({})), json!({"commands": [look, fix]}));
    let prompt = client.data("get_state", json!({}))["systemPrompt"].clone();
    assert!(prompt.as_str().unwrap().contains("Mind the gap.") && prompt.as_str().unwrap().contains("Looks"));
    client.prompt("/fix it");
    client.prompt("/unknown it");
    assert_eq!(client.end().code, Some(0));
    let said: Vec<String> = stage.said().into_iter().filter(|said| said.0 == "user").map(|said| said.1).collect();
    assert_eq!(said, ["Fix it now", "/unknown it"]);
}

#[test]
fn a_client_can_edit_the_todo_list() {
    let stage = Stage::scripted(&[text("A"), text("B"), text("C"), text("D"), text("E")]);
    let mut client = Client::scripted(&stage, &[]);
    let task = |name: &str, status: &str| json!({"content": name, "status": status});
    let phases = json!([{"name": "p", "tasks": [task("a", "pending"), task("b", "completed")]}]);
    let kept = json!([{"name": "p", "tasks": [task("a", "in_progress"), task("b", "completed")]}]);
    assert_eq!(client.data("set_todos", json!({"phases": phases})), json!({"phases": kept}));
    assert_eq!(client.data("get_state", json!({}))["todoPhases"], kept);
    client.data("prompt", json!({"message": "go"}));
    assert_eq!(client.event("todo_reminder")["todos"], json!([task("a", "in_progress")]));
    client.event("agent_settled");
    let id = client.data("get_state", json!({}))["sessionId"].clone();
    assert_eq!(client.end().code, Some(0));
    // The resumed session does not contain completed items.
    let mut client = Client::scripted(&stage, &["--resume", id.as_str().unwrap()]);
    let phases = client.data("get_state", json!({}))["todoPhases"].clone();
    assert_eq!(phases, json!([{"name": "p", "tasks": [task("a", "in_progress")]}]));
    assert_eq!(client.end().code, Some(0));
}
