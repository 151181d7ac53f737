//! ACP mode: the test acts as the editor, through pipes.

use serde_json::{Value, json};
use sinew_testkit::oauth::{OAuthBehavior, OAuthServer};

use crate::editor::Editor;
use crate::stage::{Stage, call, messages, text};

/// Returns a script that calls a tool and then answers that it is done.
fn calls(tool: &str, arguments: Value) -> Stage {
    Stage::scripted(&[call("On it.", tool, arguments), text("Done.")])
}

fn kinds(updates: &[Value]) -> Vec<&str> {
    updates.iter().filter_map(|update| update["sessionUpdate"].as_str()).collect()
}

#[test]
fn a_turn_streams_its_updates_before_its_answer() {
    let stage = calls("read", json!({"path": "notes.txt", "offset": 2}));
    stage.write("project/notes.txt", "one\ntwo\nthree\n");
    let mut editor = Editor::scripted(&stage, json!({}));
    let session = editor.open(&stage);
    assert_eq!(editor.turn(&session, "look"), "end_turn");
    let updates = editor.updates(&session);
    let of_turn: Vec<&str> = kinds(&updates).into_iter().filter(|kind| *kind != "available_commands_update").collect();
    let expect = [
        "agent_message_chunk",
        "tool_call",
        "tool_call_update",
        "tool_call_update",
        "tool_call_update",
        "agent_message_chunk",
        "usage_update",
    ];
    assert_eq!(of_turn, expect, "{updates:#?}");
    assert_eq!(editor.said(&session), "On it.Done.");
    let begun = updates.iter().find(|update| update["sessionUpdate"] == "tool_call").unwrap();
    assert_eq!((&begun["kind"], &begun["status"]), (&json!("read"), &json!(null)), "pending is the default: {begun}");
    let place = json!([{"path": stage.project().join("notes.txt"), "line": 2}]);
    assert!(updates.iter().any(|update| update["locations"] == place), "{updates:#?}");
    let done = updates.iter().find(|update| update["status"] == "completed").unwrap();
    assert!(done["content"][0]["content"]["text"].as_str().unwrap().contains("2:two"), "{done}");
    assert_eq!(done["toolCallId"], begun["toolCallId"]);
    let (code, stderr) = editor.end();
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    assert_eq!(stage.said().last().unwrap().1, "Done.");
}

#[test]
fn cancelling_a_turn_ends_its_command_and_the_next_turn_works() {
    let stage = calls("bash", json!({"command": "touch begun; sleep 1000"}));
    let mut editor = Editor::scripted(&stage, json!({}));
    let session = editor.open(&stage);
    let id = editor.prompt(&session, "wait");
    stage.wait_for("project/begun");
    editor.notify("session/cancel", json!({"sessionId": session}));
    assert_eq!(editor.result(id), json!({"stopReason": "cancelled"}));
    let updates = editor.updates(&session);
    let last = updates.iter().rev().find(|update| update["sessionUpdate"] == "tool_call_update").unwrap();
    assert_eq!(last["status"], "failed", "{last}");
    assert_eq!(editor.turn(&session, "go on"), "end_turn");
    assert!(editor.said(&session).ends_with("Done."));
    // Without a running turn there is nothing to cancel.
    editor.notify("session/cancel", json!({"sessionId": session}));
    editor.notify("session/cancel", json!({"sessionId": "nobody"}));
    assert_eq!(editor.end().0, Some(0));
}

#[test]
fn cancelling_the_request_ends_its_turn() {
    let stage = calls("bash", json!({"command": "touch begun; sleep 1000"}));
    let mut editor = Editor::scripted(&stage, json!({}));
    let session = editor.open(&stage);
    let id = editor.prompt(&session, "wait");
    stage.wait_for("project/begun");
    editor.notify("$/cancel_request", json!({"requestId": id}));
    assert_eq!(editor.result(id)["stopReason"], "cancelled");
}

#[test]
fn a_second_prompt_is_refused_without_a_delivery_mode() {
    let stage = Stage::scripted(&[
        call("On it.", "bash", json!({"command": "touch begun; while [ ! -e go ]; do :; done"})),
        text("First."),
        text("Second."),
    ]);
    let mut editor = Editor::scripted(&stage, json!({}));
    let session = editor.open(&stage);
    let first = editor.prompt(&session, "one");
    stage.wait_for("project/begun");
    let prompt = json!([{"type": "text", "text": "two"}]);
    let refused = editor.fails("session/prompt", json!({"sessionId": session, "prompt": prompt}));
    assert_eq!(refused["code"], -32600, "{refused}");
    let meta = |how: &str| json!({"sessionId": session, "prompt": prompt, "_meta": {"sinew": {"deliver": how}}});
    assert_eq!(editor.fails("session/prompt", meta("later"))["code"], -32602);
    let queued = editor.ask("session/prompt", meta("followUp"));
    assert_eq!(queued["stopReason"], "end_turn");
    stage.write("project/go", "");
    assert_eq!(editor.result(first)["stopReason"], "end_turn");
    assert_eq!(editor.said(&session), "On it.First.Second.");
    assert_eq!(editor.end().0, Some(0));
}

#[test]
fn invalid_requests_get_errors_and_the_next_one_is_answered() {
    let stage = Stage::scripted(&[text("Hello.")]);
    let mut editor = Editor::scripted(&stage, json!({"newThing": {"a": 1}, "fs": "not an object"}));
    assert_eq!(editor.fails("session/teleport", json!({}))["code"], -32601);
    editor.notify("session/whisper", json!({}));
    editor.raw(b"this is no JSON\n");
    assert_eq!(editor.until(|frame| frame["id"].is_null() && frame.get("error").is_some())["error"]["code"], -32700);
    let cases = [
        (json!({"mcpServers": []}), "/cwd"),
        (json!({"cwd": stage.project()}), "/mcpServers"),
        (json!({"cwd": "relative", "mcpServers": []}), "/cwd: relative is not an absolute path"),
        (json!({"cwd": stage.project().join("nowhere"), "mcpServers": []}), "/cwd"),
    ];
    for (params, begins) in cases {
        let error = editor.fails("session/new", params);
        assert_eq!(error["code"], -32602, "{error}");
        assert!(error["message"].as_str().unwrap().starts_with(begins), "{error}");
    }
    let unknown = json!({"sessionId": "nobody", "prompt": [{"type": "text", "text": "Hi"}]});
    assert_eq!(editor.fails("session/prompt", unknown)["code"], -32602);
    let session = editor.open(&stage);
    assert_eq!(editor.turn(&session, "Hi"), "end_turn");
    assert_eq!(editor.said(&session), "Hello.");
    assert_eq!(editor.end().0, Some(0));
}

#[test]
fn a_disconnect_saves_the_session_and_ends_its_command() {
    let stage = calls("bash", json!({"command": "echo $$ > new; mv new pid; exec sleep 1000"}));
    let mut editor = Editor::scripted(&stage, json!({}));
    let session = editor.open(&stage);
    editor.prompt(&session, "wait");
    editor.until(|frame| frame["params"]["update"]["status"] == "in_progress");
    stage.wait_for("project/pid");
    let (code, _) = editor.end();
    assert_eq!(code, Some(0));
    assert_eq!(stage.said()[0], ("user".to_string(), "wait".to_string()));
    stage.wait_for_end_of("project/pid");
}

/// Creates a stage that asks for permission for every command, and whose script runs `command` twice.
fn asking(command: &str) -> Stage {
    let run = || call("On it.", "bash", json!({"command": command}));
    let stage = Stage::scripted(&[run(), text("A."), run(), text("B.")]);
    stage.write("home/agent/settings.json", &json!({"permissions": {"ask": ["bash(*)"]}}).to_string());
    stage
}

fn chosen(option: &str) -> Value {
    json!({"outcome": {"outcome": "selected", "optionId": option}})
}

#[test]
fn a_command_runs_if_allowed_and_not_if_rejected() {
    let stage = asking("echo x >> ran\nseq 3");
    let mut editor = Editor::scripted(&stage, json!({}));
    let session = editor.open(&stage);
    let first = editor.prompt(&session, "one");
    let request = editor.asked("session/request_permission");
    let call = &request["params"]["toolCall"];
    assert_eq!((&call["title"], &call["kind"]), (&json!("echo x >> ran\nseq 3"), &json!("execute")), "{request}");
    // The editor received the call before.
    let told = editor.updates(&session).iter().any(|update| update["toolCallId"] == call["toolCallId"]);
    assert!(told, "{request}");
    let kinds: Vec<&Value> =
        request["params"]["options"].as_array().unwrap().iter().map(|option| &option["kind"]).collect();
    assert_eq!(kinds, ["allow_once", "allow_always", "reject_once"]);
    editor.reply(&request, chosen("allow"));
    assert_eq!(editor.result(first)["stopReason"], "end_turn");
    let second = editor.prompt(&session, "two");
    let request = editor.asked("session/request_permission");
    editor.reply(&request, chosen("reject"));
    assert_eq!(editor.result(second)["stopReason"], "end_turn");
    assert_eq!(std::fs::read_to_string(stage.path("project/ran")).unwrap(), "x\n");
    let failed = editor.updates(&session).into_iter().rfind(|update| update["status"] == "failed").unwrap();
    assert!(failed.to_string().contains("The user refused this call (permission rule bash(*))."), "{failed}");
}

#[test]
fn a_call_allowed_for_the_session_is_not_asked_about_again() {
    let stage = asking("echo x >> ran");
    let mut editor = Editor::scripted(&stage, json!({}));
    let session = editor.open(&stage);
    let first = editor.prompt(&session, "one");
    let request = editor.asked("session/request_permission");
    editor.reply(&request, chosen("allow_session"));
    assert_eq!(editor.result(first)["stopReason"], "end_turn");
    assert_eq!(editor.turn(&session, "two"), "end_turn");
    assert_eq!(std::fs::read_to_string(stage.path("project/ran")).unwrap(), "x\nx\n");
}

#[test]
fn cancelling_a_turn_cancels_its_question() {
    let stage = asking("touch ran");
    let mut editor = Editor::scripted(&stage, json!({}));
    let session = editor.open(&stage);
    let id = editor.prompt(&session, "one");
    let request = editor.asked("session/request_permission");
    editor.notify("session/cancel", json!({"sessionId": session}));
    let taken = editor.until(|frame| frame["method"] == "$/cancel_request");
    assert_eq!(taken["params"]["requestId"], request["id"]);
    assert_eq!(editor.result(id)["stopReason"], "cancelled");
    // A late answer must not run the command.
    editor.reply(&request, chosen("allow"));
    editor.ask("session/close", json!({"sessionId": session}));
    assert!(!stage.path("project/ran").exists());
}

/// Answers file requests until the answer to `id` arrives: `read` returns the texts; writes are collected and returned.
fn lend(editor: &mut Editor, id: i64, read: impl Fn(&str) -> Option<String>) -> Vec<(String, String)> {
    let mut written = Vec::new();
    loop {
        let frame = editor.frame();
        if frame["id"] == id && frame.get("method").is_none() {
            return written;
        }
        let path = frame["params"]["path"].as_str().unwrap_or_default().to_string();
        match frame["method"].as_str() {
            Some("fs/read_text_file") => match read(&path) {
                Some(text) => editor.reply(&frame, json!({"content": text})),
                None => editor.send(&json!({
                    "jsonrpc": "2.0", "id": frame["id"], "error": {"code": -32002, "message": "no such buffer"},
                })),
            },
            Some("fs/write_text_file") => {
                let text = frame["params"]["content"].as_str().unwrap();
                std::fs::write(&path, text).unwrap();
                written.push((path, text.to_string()));
                editor.reply(&frame, json!({}));
            }
            _ => {}
        }
    }
}

const FILES: &str = r#"{"fs": {"readTextFile": true, "writeTextFile": true}}"#;

#[test]
fn tools_read_and_edit_unsaved_buffers() {
    let stage = Stage::scripted(&[
        call("", "read", json!({"path": "a.txt"})),
        call("", "edit", json!({"path": "a.txt", "oldText": "unsaved", "newText": "edited"})),
        text("Done."),
    ]);
    // The editor uses different line ends.
    stage.write("project/a.txt", "one\r\nsaved\r\n");
    let mut editor = Editor::scripted(&stage, serde_json::from_str(FILES).unwrap());
    let session = editor.open(&stage);
    let id = editor.prompt(&session, "go");
    let written = lend(&mut editor, id, |_| Some("one\nunsaved\n".into()));
    let path = stage.project().join("a.txt");
    assert_eq!(written, [(path.display().to_string(), "one\r\nedited\r\n".to_string())]);
    let updates = editor.updates(&session);
    assert!(updates.iter().any(|update| update.to_string().contains("2:unsaved")), "{updates:#?}");
    let diff =
        updates.iter().find_map(|update| update["content"].as_array()?.iter().find(|part| part["type"] == "diff"));
    let expect = json!({"type": "diff", "path": path, "oldText": "one\r\nunsaved\r\n", "newText": "one\r\nedited\r\n"});
    assert_eq!(diff.unwrap(), &expect);
}

#[test]
fn undo_keeps_unsaved_buffers_and_tells_the_editor_about_other_files() {
    let stage =
        Stage::scripted(&[call("", "bash", json!({"command": "echo 2 > a; echo 2 > b; echo 2 > c"})), text("Done.")]);
    stage.write("home/agent/settings.json", &json!({"checkpoint": {"wait": 60_000}}).to_string());
    for name in ["a", "b"] {
        stage.write(&format!("project/{name}"), "1\n");
    }
    let mut editor = Editor::scripted(&stage, serde_json::from_str(FILES).unwrap());
    let session = editor.open(&stage);
    assert_eq!(editor.turn(&session, "go"), "end_turn");
    let id = editor.prompt(&session, "/undo --yes");
    let unsaved = |path: &str| path.ends_with("/a").then(|| "2\ntyped\n".to_string());
    assert_eq!(lend(&mut editor, id, unsaved), []);
    let read = |name: &str| std::fs::read_to_string(stage.path("project").join(name)).ok();
    assert_eq!([read("a"), read("b"), read("c")], [Some("2\n".into()), Some("1\n".into()), None]);
    let updates = editor.updates(&session);
    let text: String = updates.iter().filter_map(|update| update["content"]["text"].as_str()).collect();
    assert!(text.contains("2 of 3 changes undone") && text.contains("keep     a (unsaved in the editor)"), "{text}");
    let told =
        updates.iter().find(|update| update["sessionUpdate"] == "tool_call" && update["title"] == "Undo").unwrap();
    let paths: Vec<&str> =
        told["locations"].as_array().unwrap().iter().map(|location| location["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["b", "c"].map(|name| stage.project().join(name).display().to_string()));
    let id = editor.prompt(&session, "/undo --yes --force");
    lend(&mut editor, id, unsaved);
    assert_eq!(read("a"), Some("1\n".into()));
}

#[test]
fn files_unknown_to_the_editor_are_read_from_disk() {
    let stage = Stage::scripted(&[
        call("", "read", json!({"path": "a.txt"})),
        call("", "write", json!({"path": "new/b.txt", "content": "b\n"})),
        text("Done."),
    ]);
    stage.write("project/a.txt", "saved\n");
    let mut editor = Editor::scripted(&stage, json!({"fs": {"readTextFile": true, "writeTextFile": false}}));
    let session = editor.open(&stage);
    let id = editor.prompt(&session, "go");
    assert_eq!(lend(&mut editor, id, |_| None), []);
    assert!(editor.updates(&session).iter().any(|update| update.to_string().contains("1:saved")));
    assert_eq!(std::fs::read_to_string(stage.path("project/new/b.txt")).unwrap(), "b\n");
}

#[test]
fn a_file_request_that_the_editor_ignores_falls_back_to_the_disk() {
    let stage = Stage::scripted(&[
        call("", "edit", json!({"path": "a.txt", "oldText": "saved", "newText": "edited"})),
        text("Done."),
    ]);
    stage.write("project/a.txt", "saved\n");
    let mut editor = Editor::scripted(&stage, serde_json::from_str(FILES).unwrap());
    let session = editor.open(&stage);
    // The editor does not answer `fs/read_text_file` and `fs/write_text_file`.
    assert_eq!(editor.turn(&session, "go"), "end_turn");
    assert_eq!(std::fs::read_to_string(stage.path("project/a.txt")).unwrap(), "edited\n");
}

#[test]
fn late_answers_of_the_editor_change_no_file() {
    let edit = |old: &str, new: &str| call("", "edit", json!({"path": "a.txt", "oldText": old, "newText": new}));
    let stage = Stage::scripted(&[edit("saved", "edited"), text("Done."), edit("edited", "twice"), text("Again.")]);
    stage.write("project/a.txt", "one\nsaved\n");
    let mut editor = Editor::scripted(&stage, serde_json::from_str(FILES).unwrap());
    let session = editor.open(&stage);
    let id = editor.prompt(&session, "go");
    // Each request is answered after it was cancelled.
    for (method, late) in
        [("fs/read_text_file", json!({"content": "one\nunsaved\nlate\n"})), ("fs/write_text_file", json!({}))]
    {
        let request = editor.asked(method);
        let taken = editor.until(|frame| frame["method"] == "$/cancel_request");
        assert_eq!(taken["params"]["requestId"], request["id"]);
        editor.reply(&request, late);
    }
    assert_eq!(editor.result(id)["stopReason"], "end_turn");
    assert_eq!(std::fs::read_to_string(stage.path("project/a.txt")).unwrap(), "one\nedited\n");
    // After two timeouts the next turn sends requests again, and does not use late answers to earlier ones.
    let id = editor.prompt(&session, "again");
    let written = lend(&mut editor, id, |path| std::fs::read_to_string(path).ok());
    assert_eq!(written, [(stage.project().join("a.txt").display().to_string(), "one\ntwice\n".to_string())]);
    assert_eq!(editor.end().0, Some(0));
}

#[test]
fn a_write_that_the_editor_refuses_goes_to_the_disk() {
    let stage = Stage::scripted(&[call("", "write", json!({"path": "a.txt", "content": "new\n"})), text("Done.")]);
    let mut editor = Editor::scripted(&stage, json!({"fs": {"writeTextFile": true}}));
    let session = editor.open(&stage);
    let id = editor.prompt(&session, "go");
    let request = editor.asked("fs/write_text_file");
    assert_eq!(request["params"]["content"], "new\n");
    assert!(!stage.path("project/a.txt").exists(), "the editor is asked first");
    let error = json!({"code": -32603, "message": "the buffer is locked"});
    editor.send(&json!({"jsonrpc": "2.0", "id": request["id"], "error": error}));
    assert_eq!(editor.result(id)["stopReason"], "end_turn");
    assert_eq!(std::fs::read_to_string(stage.path("project/a.txt")).unwrap(), "new\n");
    assert_eq!(editor.end().0, Some(0));
}

#[test]
fn a_loaded_session_replays_the_updates_of_its_live_run() {
    let stage = Stage::scripted(&[
        call("Looking.", "todo", json!({"ops": [{"op": "init", "list": [{"phase": "Work", "items": ["a", "b"]}]}]})),
        text("Done."),
    ]);
    stage.write("home/agent/settings.json", &json!({"todo": {"reminders": false}}).to_string());
    let mut editor = Editor::scripted(&stage, json!({}));
    let session = editor.open(&stage);
    assert_eq!(editor.turn(&session, "plan it"), "end_turn");
    let live = editor.updates(&session);
    assert_eq!(editor.end().0, Some(0));

    let mut editor = Editor::scripted(&stage, json!({}));
    let listed = editor.ask("session/list", json!({"cwd": stage.project()}));
    assert_eq!(listed["sessions"][0]["sessionId"], session, "{listed}");
    let params = json!({"sessionId": session, "cwd": stage.project(), "mcpServers": []});
    let loaded = editor.begin("session/load", params.clone());
    editor.result(loaded);
    // All messages are replayed before the answer.
    let replayed = editor.updates(&session);
    let texts = |updates: &[Value]| {
        let chunks = updates.iter().filter(|update| update["sessionUpdate"] == "agent_message_chunk");
        let mut joined: Vec<(Value, String)> = Vec::new();
        for chunk in chunks {
            let (id, text) = (chunk["messageId"].clone(), chunk["content"]["text"].as_str().unwrap());
            match joined.last_mut().filter(|(last, _)| *last == id) {
                Some((_, all)) => all.push_str(text),
                None => joined.push((id, text.to_string())),
            }
        }
        joined
    };
    assert_eq!(texts(&replayed), texts(&live));
    assert_eq!(texts(&live).len(), 2, "{live:#?}");
    assert_eq!(replayed[0]["content"]["text"], "plan it");
    let calls = |updates: &[Value]| {
        let begun = updates.iter().filter(|update| update["sessionUpdate"] == "tool_call");
        begun.map(|update| update["toolCallId"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(calls(&replayed), calls(&live));
    let plan = |updates: &[Value]| updates.iter().rfind(|update| update["sessionUpdate"] == "plan").cloned();
    assert_eq!(plan(&replayed), plan(&live));
    assert_eq!(plan(&live).unwrap()["entries"][0]["content"], "a");
    // The session is open now, and no other session has this id.
    assert_eq!(editor.fails("session/load", params)["code"], -32600);
    let nobody = json!({"sessionId": "nobody", "cwd": stage.project(), "mcpServers": []});
    assert_eq!(editor.fails("session/load", nobody)["code"], -32002);
    // A resumed session is not replayed.
    editor.ask("session/close", json!({"sessionId": session}));
    let before = editor.updates(&session).len();
    editor.ask("session/resume", json!({"sessionId": session, "cwd": stage.project(), "mcpServers": []}));
    assert_eq!(editor.updates(&session).len(), before);
}

#[test]
fn deleted_sessions_are_not_listed() {
    let stage = Stage::scripted(&[text("Hello.")]);
    let mut editor = Editor::scripted(&stage, json!({}));
    let session = editor.open(&stage);
    editor.turn(&session, "Hi");
    editor.ask("session/delete", json!({"sessionId": session}));
    assert_eq!(editor.ask("session/list", json!({}))["sessions"], json!([]));
    assert_eq!(editor.ask("session/delete", json!({"sessionId": session})), json!({}));
    let trash = stage.agent().join("sessions/.trash");
    let files: Vec<_> = std::fs::read_dir(trash).unwrap().flatten().collect();
    assert_eq!(files.len(), 1);
    assert_eq!(messages(&std::fs::read_dir(files[0].path()).unwrap().next().unwrap().unwrap().path()).len(), 2);
}

#[test]
fn sessions_of_two_directories_run_in_parallel_up_to_a_limit() {
    let stage = Stage::scripted(&[json!({"type": "script", "version": 1, "onExhausted": "repeat"}), text("Hello.")]);
    std::fs::create_dir(stage.path("other")).unwrap();
    let mut editor = Editor::scripted(&stage, json!({}));
    let one = editor.open(&stage);
    let two = editor.open_in(&stage.path("other"));
    let (first, second) = (editor.prompt(&one, "Hi"), editor.prompt(&two, "Hi"));
    for id in [first, second] {
        assert_eq!(editor.result(id)["stopReason"], "end_turn");
    }
    assert_eq!((editor.said(&one), editor.said(&two)), ("Hello.".into(), "Hello.".into()));
    for _ in 2..32 {
        editor.open(&stage);
    }
    let params = json!({"cwd": stage.project(), "mcpServers": []});
    assert_eq!(editor.fails("session/new", params.clone())["code"], -32600);
    editor.ask("session/close", json!({"sessionId": two}));
    editor.ask("session/new", params);
    assert_eq!(editor.turn(&one, "Hi"), "end_turn");
    assert_eq!(editor.end().0, Some(0));
}

#[test]
fn modes_are_also_options_and_slash_commands_are_prompts() {
    let write = || call("", "write", json!({"path": "a.txt", "content": "a"}));
    let stage = Stage::scripted(&[write(), text("A."), write(), text("B.")]);
    let mut editor = Editor::scripted(&stage, json!({}));
    let opened = editor.ask("session/new", json!({"cwd": stage.project(), "mcpServers": []}));
    let session = opened["sessionId"].as_str().unwrap().to_string();
    assert_eq!(opened["modes"]["currentModeId"], "default");
    let categories: Vec<&Value> =
        opened["configOptions"].as_array().unwrap().iter().map(|option| &option["category"]).collect();
    assert_eq!(categories, ["mode", "model", "thought_level"]);
    let commands = editor.update("available_commands_update");
    let names: Vec<&str> =
        commands["availableCommands"].as_array().unwrap().iter().filter_map(|it| it["name"].as_str()).collect();
    assert!(names.contains(&"compact") && names.contains(&"session"), "{names:?}");
    editor.ask("session/set_mode", json!({"sessionId": session, "modeId": "plan"}));
    let told = editor.updates(&session).pop().unwrap();
    assert_eq!(
        (&told["sessionUpdate"], &told["configOptions"][0]["currentValue"]),
        (&json!("config_option_update"), &json!("plan"))
    );
    assert_eq!(editor.turn(&session, "write"), "end_turn");
    assert!(!stage.path("project/a.txt").exists());
    let set = json!({"sessionId": session, "configId": "mode", "value": "default"});
    assert_eq!(editor.ask("session/set_config_option", set)["configOptions"][0]["currentValue"], "default");
    assert_eq!(editor.updates(&session).pop().unwrap()["currentModeId"], "default");
    assert_eq!(editor.turn(&session, "write"), "end_turn");
    assert!(stage.path("project/a.txt").exists());
    assert_eq!(editor.fails("session/set_mode", json!({"sessionId": session, "modeId": "wild"}))["code"], -32602);
    let before = editor.said(&session);
    assert_eq!(editor.turn(&session, "/session"), "end_turn");
    assert!(editor.said(&session)[before.len()..].contains("messages"));
}

#[test]
fn a_session_without_an_api_key_is_refused_with_instructions() {
    let stage = Stage::new();
    let mut editor = Editor::of(stage.command(&["--mode", "acp"]));
    let ready = editor.initialize(json!({}));
    assert_eq!((&ready["protocolVersion"], &ready["agentInfo"]["name"]), (&json!(1), &json!("sinew")));
    let error = editor.fails("session/new", json!({"cwd": stage.project(), "mcpServers": []}));
    assert_eq!((&error["code"], error["data"]["ways"].as_array().map(Vec::len)), (&json!(-32000), Some(3)), "{error}");
    let method = &ready["authMethods"][0]["id"];
    assert_eq!(editor.ask("authenticate", json!({"methodId": method})), json!({}));
    assert_eq!(editor.end().0, Some(0));
}

#[test]
fn mcp_servers_of_the_editor_belong_to_their_session() {
    let stage = Stage::scripted(&[
        call("A", "tool_search", json!({"query": "echo"})),
        call("B", "call_tool", json!({"name": "mcp_their_server_echo", "arguments": {"text": "hello"}})),
        text("C"),
    ]);
    let mut editor = Editor::scripted(&stage, json!({}));
    let liar = concat!(env!("CARGO_MANIFEST_DIR"), "/../sinew-mcp/tests/peers/liar.py");
    // Variables in a value are not expanded.
    let server = json!({"name": "their server", "command": "/usr/bin/env", "args": ["python3", "-u", liar, "modern"],
        "env": [{"name": "ODD", "value": "${NOT_SET}"}]});
    let params = |servers: Value| json!({"cwd": stage.project(), "mcpServers": servers});
    let opened = editor.ask("session/new", params(json!([server])));
    let session = opened["sessionId"].as_str().unwrap();
    assert_eq!(editor.turn(session, "Hi"), "end_turn");
    let results: Vec<String> = editor.updates(session).iter().map(Value::to_string).collect();
    assert!(results.iter().any(|update| update.contains("completed") && update.contains("hello")), "{results:#?}");
    // Another session does not have the server, and no file contains it.
    let other = editor.ask("session/new", params(json!([])));
    assert_eq!(editor.turn(other["sessionId"].as_str().unwrap(), "Hi"), "end_turn");
    let updates = editor.updates(other["sessionId"].as_str().unwrap());
    let failed = updates.iter().filter(|update| update["status"] == "failed").count();
    assert_eq!((failed, updates.iter().any(|update| update["status"] == "completed")), (2, false), "{updates:#?}");
    assert_eq!(editor.end().0, Some(0));
    assert!(!stage.agent().join("mcp-cache.json").exists());
}

#[test]
fn an_mcp_server_of_the_editor_that_needs_a_login_is_reported() {
    let server = OAuthServer::start(OAuthBehavior::default());
    let stage = Stage::scripted(&[call("A", "tool_search", json!({"query": "read"})), text("B")]);
    let mut editor = Editor::scripted(&stage, json!({}));
    let theirs = json!({"type": "http", "name": "web", "url": server.mcp_url(), "headers": []});
    let opened = editor.ask("session/new", json!({"cwd": stage.project(), "mcpServers": [theirs]}));
    let session = opened["sessionId"].as_str().unwrap();
    assert_eq!(editor.turn(session, "Hi"), "end_turn");
    let told = editor.updates(session).iter().map(Value::to_string).collect::<String>();
    let expect = format!("sinew mcp login web --url {}", server.mcp_url());
    assert!(told.contains(&expect), "{told}");
    // No browser was opened, and no login began.
    assert!(server.requests().iter().all(|request| request.path == "/mcp"));
    editor.end();
}

#[test]
fn a_session_permission_applies_to_that_session_only() {
    let stage = asking("echo x >> ran");
    let mut editor = Editor::scripted(&stage, json!({}));
    for _ in 0..2 {
        let session = editor.open(&stage);
        let id = editor.prompt(&session, "go");
        let request = editor.asked("session/request_permission");
        assert_eq!(request["params"]["sessionId"], json!(session));
        editor.reply(&request, chosen("allow_session"));
        assert_eq!(editor.result(id)["stopReason"], "end_turn");
    }
    editor.end();
}
