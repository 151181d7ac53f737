//! Runs one script in print, JSON, RPC and ACP mode: the order of events and the session file are the same.

use serde_json::{Value, json};

use crate::client::Client;
use crate::editor::Editor;
use crate::stage::{Stage, call, finish, text};

fn stage() -> Stage {
    let two = json!({"type": "turn", "content": [
        {"text": "Both."},
        {"toolCall": {"name": "read", "arguments": {"path": "a.txt"}}},
        {"toolCall": {"name": "read", "arguments": {"path": "nothing.txt"}}},
    ]});
    let stage = Stage::scripted(&[two, call("Then.", "bash", json!({"command": "echo out; (exit 3)"})), text("Done.")]);
    stage.write("project/a.txt", "one\ntwo\n");
    stage
}

/// The events of a run in a form that is independent of the mode.
#[derive(Debug, Default, PartialEq)]
struct Story(Vec<String>);

impl Story {
    fn said(&mut self, text: &str) {
        if !text.is_empty() {
            self.0.push(format!("said {text}"));
        }
    }

    fn called(&mut self, tool: &str, arguments: &Value) {
        self.0.push(format!("called {tool} {arguments}"));
    }

    fn ended(&mut self, tool: &str, failed: bool, text: &str) {
        self.0.push(format!("{} {tool}: {text}", if failed { "failed" } else { "done" }));
    }
}

/// Converts the events of JSON and RPC mode.
fn of_events(events: &[Value]) -> Story {
    let mut story = Story::default();
    for event in events {
        match event["type"].as_str() {
            Some("message_end") if event["message"]["role"] == "assistant" => {
                let blocks = event["message"]["content"].as_array().unwrap();
                story.said(&blocks.iter().filter_map(|block| block["text"].as_str()).collect::<String>());
            }
            Some("tool_execution_start") => story.called(event["toolName"].as_str().unwrap(), &event["args"]),
            Some("tool_execution_end") => {
                let text = event["result"]["content"][0]["text"].as_str().unwrap();
                story.ended(event["toolName"].as_str().unwrap(), event["isError"] == true, text);
            }
            _ => {}
        }
    }
    story
}

/// Converts the updates of an editor. A call is announced when the model writes it, and runs later; only the latter
/// counts.
fn of_updates(updates: &[Value]) -> Story {
    let mut story = Story::default();
    let mut said = String::new();
    let field = |id: &Value, name: &str| {
        let of = updates.iter().filter(|update| update["toolCallId"] == *id);
        of.filter_map(|update| update.get(name)).next().cloned().unwrap_or_default()
    };
    for update in updates {
        let id = &update["toolCallId"];
        if update["sessionUpdate"] == "agent_message_chunk" {
            said += update["content"]["text"].as_str().unwrap();
            continue;
        }
        story.said(&std::mem::take(&mut said));
        let tool = field(id, "title");
        match update["status"].as_str() {
            Some("in_progress") if update.get("content").is_none() => {
                story.called(tool.as_str().unwrap(), &field(id, "rawInput"));
            }
            Some(status @ ("completed" | "failed")) => {
                let text = update["content"][0]["content"]["text"].as_str().unwrap();
                story.ended(tool.as_str().unwrap(), status == "failed", text);
            }
            _ => {}
        }
    }
    story.said(&said);
    story
}

/// Returns the messages of the session file, without times and ids.
fn kept(stage: &Stage) -> Vec<Value> {
    let files = stage.files();
    assert_eq!(files.len(), 1, "{files:?}");
    let text = std::fs::read_to_string(&files[0]).unwrap();
    let messages = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).unwrap().get("message").cloned());
    messages
        .map(|mut message| {
            // The number of tokens depends on the prompt, in which tools and directory differ.
            for own in ["timestamp", "duration", "details", "usage"] {
                message.as_object_mut().unwrap().remove(own);
            }
            message
        })
        .collect()
}

#[test]
fn every_mode_reports_the_same_events_for_one_script() {
    let json_stage = stage();
    let ran = json_stage.play(&["--mode", "json", "go"]);
    let lines: Vec<Value> = ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let story = of_events(&lines);
    let words: Vec<&str> = story.0.iter().map(|line| line.split_once(' ').unwrap().0).collect();
    // The two calls of one answer run at the same time, and may end in any order.
    assert_eq!(words.len(), 9, "{story:#?}");
    assert_eq!((story.0[0].as_str(), story.0.last().unwrap().as_str()), ("said Both.", "said Done."));
    let sorted = |story: &Story| {
        let mut lines = story.0.clone();
        lines[1..5].sort();
        lines
    };

    let rpc_stage = stage();
    let mut client = Client::scripted(&rpc_stage, &[]);
    client.prompt("go");
    let ended = client.end();
    assert_eq!(sorted(&of_events(&ended.seen)), sorted(&story));

    let acp_stage = stage();
    let mut editor = Editor::scripted(&acp_stage, json!({}));
    let session = editor.open(&acp_stage);
    assert_eq!(editor.turn(&session, "go"), "end_turn");
    let updates = editor.updates(&session);
    assert_eq!(editor.end().0, Some(0));
    assert_eq!(sorted(&of_updates(&updates)), sorted(&story), "{updates:#?}");

    // Print mode writes the same for people: the texts, a line for each call, a line for each failure.
    let print_stage = stage();
    let mut command = print_stage.command(&["--script", "script.jsonl", "-p", "--verbose", "go"]);
    command.env("NO_COLOR", "1");
    let ran = finish(command);
    assert_eq!(ran.stdout, "Both.\n\nThen.\n\nDone.\n");
    let called = |line: &&str| line.starts_with("→ ") || line.starts_with("✗ ");
    let mut lines: Vec<String> =
        ran.stderr.lines().filter(called).map(|line| line.split(':').next().unwrap().to_string()).collect();
    let mut expect: Vec<String> = Vec::new();
    for line in &story.0 {
        let (word, rest) = line.split_once(' ').unwrap();
        let tool = rest.split([' ', ':']).next().unwrap();
        match word {
            "called" => expect.push(format!("→ {tool}")),
            "failed" => expect.push(format!("✗ {tool}")),
            _ => {}
        }
    }
    lines[..3].sort();
    expect[..3].sort();
    assert_eq!(lines, expect, "{}", ran.stderr);

    let one = kept(&json_stage);
    assert_eq!(one.len(), 7, "{one:#?}");
    for other in [&rpc_stage, &acp_stage, &print_stage] {
        assert_eq!(kept(other), one);
    }
}
