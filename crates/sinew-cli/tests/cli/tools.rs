//! Tools of the whole program, whose shells run under the same binary in another role.

use serde_json::json;

use crate::stage::{Stage, call, finish, messages, text};

#[test]
fn commands_run_without_provider_keys() {
    let script = "yes | head -2; printf '%s|' \"$ANTHROPIC_API_KEY\" \"$MY_TOKEN\" \"$GH_TOKEN\" \"$PLAIN\"; echo end";
    let stage = Stage::scripted(&[call("A", "bash", json!({"command": script})), text("B")]);
    let mut command = stage.command(&["--script", "script.jsonl", "-p", "go"]);
    for (name, value) in [("ANTHROPIC_API_KEY", "k1"), ("MY_TOKEN", "k2"), ("GH_TOKEN", "k3"), ("PLAIN", "plain")] {
        command.env(name, value);
    }
    let ran = finish(command);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "A\n\nB\n"), "{}", ran.stderr);
    let said = stage.said();
    assert_eq!(said[2].0, "toolResult");
    assert!(said[2].1.starts_with("y\ny\n|||plain|end"), "{said:?}");
}

#[test]
fn settings_choose_the_variables_of_commands() {
    let script = "printf '%s|' \"$ANTHROPIC_API_KEY\" \"$GH_TOKEN\" \"$MY_TOKEN\" \"$MINE\" \"$OF_FILE\"; echo end";
    let stage = Stage::scripted(&[call("A", "bash", json!({"command": script})), text("B")]);
    let settings = json!({"env": {"passThrough": ["MY_TOKEN", "ANTHROPIC_API_KEY"], "MINE": "set"}});
    stage.write("home/agent/settings.json", &settings.to_string());
    stage.write("home/agent/.env", "OF_FILE=for the program alone\n");
    let mut command = stage.command(&["--script", "script.jsonl", "-p", "go"]);
    for (name, value) in [("ANTHROPIC_API_KEY", "k1"), ("MY_TOKEN", "k2"), ("GH_TOKEN", "k3")] {
        command.env(name, value);
    }
    assert_eq!(finish(command).code, Some(0));
    assert!(stage.said()[2].1.starts_with("k1||k2|set||end"), "{:?}", stage.said());
}

#[test]
fn settings_expand_tilde_paths() {
    let stage = Stage::scripted(&[call("A", "bash", json!({"command": "echo ran"})), text("B")]);
    let settings = json!({"shellPath": "~/own-bash", "sessionDir": "~/kept"});
    stage.write("home/agent/settings.json", &settings.to_string());
    stage.write("user/text", "#!/bin/sh\n: > \"$HOME/used\"\nexec bash \"$@\"\n");
    // Written by a separate process: a file that this process has open for writing is inherited for a moment by
    // children that other tests start, and the system refuses to execute a file that is open for writing.
    let mut install = std::process::Command::new("install");
    install.args(["-m", "755", "text", "own-bash"]).current_dir(stage.path("user"));
    assert!(install.status().unwrap().success());
    let ran = stage.play(&["-p", "go"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "A\n\nB\n"), "{}", ran.stderr);
    assert!(stage.path("user/used").exists(), "{}", ran.stderr);
    let mut kept = std::fs::read_dir(stage.path("user/kept")).unwrap().map(|entry| entry.unwrap().path());
    let kept = kept.find(|path| path.extension().is_some_and(|end| end == "jsonl")).unwrap();
    assert!(messages(&kept).iter().any(|(role, text)| role == "toolResult" && text == "ran"), "{kept:?}");
    assert!(!stage.path("project/~").exists());
}

#[test]
fn the_users_ignore_file_applies_to_searches() {
    let stage = Stage::scripted(&[
        call("A", "find", json!({"pattern": "*.txt", "sort": "path"})),
        call("B", "grep", json!({"pattern": "needle", "glob": "*.txt", "mode": "files"})),
        text("C"),
    ]);
    stage.write("project/.git/HEAD", "ref: refs/heads/main\n");
    stage.write("project/a.txt", "needle\n");
    stage.write("project/b.txt", "needle\n");
    stage.write("user/.config/git/ignore", "b.txt\n");
    assert_eq!(stage.play(&["-p", "go"]).code, Some(0));
    let said = stage.said();
    let results: Vec<&str> = said.iter().filter(|said| said.0 == "toolResult").map(|said| said.1.as_str()).collect();
    assert!(results.iter().all(|text| text.contains("a.txt") && !text.contains("b.txt")), "{results:?}");
}

#[test]
fn a_command_ends_with_the_program() {
    let stage = Stage::scripted(&[call("A", "bash", json!({"command": "echo $$ > new; mv new pid; exec sleep 1000"}))]);
    let mut child = stage.command(&["--script", "script.jsonl", "-p", "go"]).spawn().unwrap();
    while !stage.path("project/pid").exists() {
        assert!(child.try_wait().unwrap().is_none(), "the run ended before its command began");
    }
    rustix::process::kill_process(rustix::process::Pid::from_child(&child), rustix::process::Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(143));
    stage.wait_for_end_of("project/pid");
}

#[test]
fn open_todo_items_are_reported_and_reminders_are_optional() {
    let list = json!({"ops": [{"op": "init", "list": [{"phase": "p", "items": ["write tests", "run them"]}]}]});
    let stage = Stage::scripted(&[call("A", "todo", list), text("B"), text("C"), text("D"), text("E")]);
    let open = "Warning: these items of the todo list are still open: write tests; run them\n";
    for settings in ["{}", r#"{"todo": {"reminders": false}}"#] {
        stage.write("home/agent/settings.json", settings);
        let ran = stage.play(&["-p", "go"]);
        assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (Some(0), "A\n\nB\n", open), "{settings}");
        let ran = stage.play(&["--mode", "json", "go"]);
        assert!(!ran.stdout.contains("todo_reminder") && ran.stderr == open, "{settings}: {}", ran.stderr);
    }
    stage.write("home/agent/settings.json", r#"{"todo": {"reminders": true}}"#);
    let ran = stage.play(&["-p", "go"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "A\n\nB\n\nC\n\nD\n\nE\n"), "{}", ran.stderr);
}

#[test]
fn settings_are_passed_to_the_tools() {
    let stage = Stage::scripted(&[
        call("A", "read", json!({"path": "a"})),
        call("B", "edit", json!({"input": "@a#2a61ecbf\nreplace 1\n|x"})),
        call("C", "bash", json!({"command": "sleep 1000"})),
        call("D", "fetch", json!({"url": "http://127.0.0.1:1/"})),
        text("E"),
    ]);
    stage.write("project/a", "one\n");
    let settings = json!({"bash": {"timeoutSeconds": 1}, "shellCommandPrefix": "time", "shellPath": "bash"});
    stage.write("home/agent/settings.json", &settings.to_string());
    let mut command = stage.command(&["--script", "script.jsonl", "--offline", "-p", "go"]);
    command.env("SINEW_EDIT_MODE", "hashline");
    let ran = finish(command);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let said = stage.said();
    let results: Vec<&str> = said.iter().filter(|said| said.0 == "toolResult").map(|said| said.1.as_str()).collect();
    let tag = results[0].split_once('\n').unwrap().0;
    assert!(tag.starts_with("@a#") && tag.len() == 11, "{results:?}");
    assert!(results[1].contains(&tag[2..]) && results[1].contains("Stale tag"), "{results:?}");
    assert!(results[2].contains("Command timed out after 1 seconds"), "{results:?}");
    assert!(results[3].starts_with("Tool fetch not found."), "{results:?}");
}

#[test]
fn all_edits_of_one_file_in_one_turn_apply() {
    let edit = |old: &str, new: &str| json!({"toolCall": {"name": "edit", "arguments": {"path": "a", "oldText": old, "newText": new}}});
    let edits = json!({"type": "turn", "content": [
        edit("one", "1"), edit("two", "2"), edit("1\n2", "1\nand\n2"), edit("three", "3")]});
    let stage = Stage::scripted(&[call("A", "read", json!({"path": "a"})), edits, text("B")]);
    stage.write("project/a", "one\ntwo\nthree\n");
    let ran = stage.play(&["-p", "go"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(std::fs::read_to_string(stage.path("project/a")).unwrap(), "1\nand\n2\n3\n", "{:?}", stage.said());
}

#[test]
fn an_edit_that_cannot_succeed_is_aborted_while_streaming() {
    let long = "x".repeat(4_000);
    // A failing call would take five seconds to arrive completely.
    let edit = |path: &str, old: &str, delay: u32| {
        let arguments = json!({"path": path, "oldText": old, "newText": long});
        json!({"type": "turn", "chunkDelayMs": delay, "chunk": 16, "content": [
            {"toolCall": {"name": "edit", "arguments": arguments}}]})
    };
    let lines = [
        call("A", "read", json!({"path": "a"})),
        edit("none", "one", 20),
        edit("a", "two", 20),
        edit("a", "one", 0),
        text("B"),
    ];
    let stage = Stage::scripted(&lines);
    stage.write("project/a", "one\n");
    stage.write("home/agent/settings.json", r#"{"edit": {"streamGuard": true}}"#);
    let ran = stage.play(&["-p", "go"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "A\n\nB\n"), "{}", ran.stderr);
    let said = stage.said();
    let results: Vec<&str> = said.iter().filter(|said| said.0 == "toolResult").map(|said| said.1.as_str()).collect();
    assert_eq!(results[1], "File not found: none");
    assert!(results[2].starts_with("Could not find the text in a."), "{results:?}");
    assert!(results[3].starts_with("Applied 1 edit to a."), "{results:?}");
    let file = std::fs::read_to_string(&stage.files()[0]).unwrap();
    let entries = file.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let calls = entries.filter_map(|entry| {
        let arguments = entry.pointer("/message/content/0/arguments")?.as_object()?;
        Some(arguments.keys().cloned().collect::<Vec<_>>().join(" "))
    });
    // The new text of failing calls was not waited for.
    assert_eq!(calls.collect::<Vec<_>>(), ["path oldText", "path oldText", "path oldText newText"]);
}
