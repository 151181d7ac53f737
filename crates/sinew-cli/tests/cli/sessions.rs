//! Which session is resumed, and the contents of its file.

use serde_json::json;

use crate::stage::{Stage, call, finish, messages, text};

fn roles(said: &[(String, String)]) -> Vec<&str> {
    said.iter().map(|(_, text)| text.as_str()).collect()
}

/// Creates a stage whose requests are all answered.
fn answering() -> Stage {
    Stage::scripted(&[json!({"type": "script", "onExhausted": "repeat"}), text("ok")])
}

#[test]
fn continue_resumes_the_last_session_of_the_directory() {
    let stage = answering();
    assert_eq!(stage.play(&["-p", "one"]).code, Some(0));
    assert_eq!(stage.play(&["-p", "-c", "two"]).code, Some(0));
    assert_eq!(roles(&stage.said()), ["one", "ok", "two", "ok"]);
    assert_eq!(stage.play(&["-p", "three"]).code, Some(0));
    assert_eq!(stage.files().len(), 2);
}

#[test]
fn continue_resumes_the_session_of_the_terminal() {
    let stage = answering();
    let play = |pane: &str, args: &[&str]| {
        let mut command = stage.command(&[&["--script", "script.jsonl", "-p"], args].concat());
        command.env("TMUX_PANE", pane);
        assert_eq!(finish(command).code, Some(0));
    };
    play("%1", &["left"]);
    play("%2", &["right"]);
    play("%1", &["-c", "more"]);
    let files = stage.files();
    let of = |word: &str| files.iter().map(|file| messages(file)).find(|said| said[0].1 == word).unwrap();
    assert_eq!(roles(&of("left")), ["left", "ok", "more", "ok"]);
    assert_eq!(roles(&of("right")), ["right", "ok"]);
}

#[test]
fn a_session_is_found_by_part_of_its_id() {
    let stage = answering();
    let folder = stage.agent().join("sessions").join(sinew_session::folder_name(&stage.project()));
    std::fs::create_dir_all(&folder).unwrap();
    for id in ["abc1", "abd2"] {
        let header = json!({"type": "session", "version": 3, "id": id, "timestamp": "2026-01-01T00:00:00.000Z",
            "cwd": stage.project()});
        let entry = json!({"type": "message", "id": "00000001", "parentId": null, "timestamp": "2026-01-01T00:00:00.000Z",
            "message": {"role": "user", "content": id, "timestamp": 1}});
        std::fs::write(folder.join(format!("x_{id}.jsonl")), format!("{header}\n{entry}\n")).unwrap();
    }
    let ran = stage.play(&["-p", "--resume", "ab", "go"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("Session \"ab\" is ambiguous: ") && ran.stderr.contains("abc1"), "{}", ran.stderr);
    let ran = stage.play(&["-p", "--resume", "zz", "go"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(2), "sinew: Session \"zz\" not found.\n"));
    assert_eq!(stage.play(&["-p", "--resume", "ABC", "go"]).code, Some(0));
    assert_eq!(roles(&messages(&folder.join("x_abc1.jsonl"))), ["abc1", "go", "ok"]);
    assert_eq!(stage.play(&["-p", "--fork", "abd", "copy"]).code, Some(0));
    assert_eq!(roles(&messages(&folder.join("x_abd2.jsonl"))), ["abd2"]);
    assert_eq!(stage.files().len(), 3);
    let list = stage.run(&["sessions", "list"]);
    assert!(list.stdout.lines().count() == 3 && list.stdout.contains("abc1"), "{}", list.stdout);
}

#[test]
fn resume_refuses_a_session_of_another_project() {
    let stage = answering();
    assert_eq!(stage.play(&["-p", "one"]).code, Some(0));
    let name = stage.files()[0].file_stem().unwrap().to_string_lossy().into_owned();
    std::fs::create_dir_all(stage.path("other")).unwrap();
    let other = stage.path("other").canonicalize().unwrap();
    let script = stage.project().join("script.jsonl");
    let args = ["--script", script.to_str().unwrap(), "--cwd", other.to_str().unwrap(), "-p", "go"];
    let ran = stage.run(&[&args[..], &["--resume", &name]].concat());
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("is in another project") && ran.stderr.contains("--fork"), "{}", ran.stderr);
    assert_eq!(stage.run(&[&args[..], &["--fork", &name]].concat()).code, Some(0));
    assert_eq!(stage.files().len(), 2);
}

#[test]
fn flags_choose_where_a_session_is_saved() {
    let stage = answering();
    assert_eq!(stage.play(&["-p", "--no-session", "go"]).code, Some(0));
    assert_eq!(stage.files().len(), 0);
    assert_eq!(stage.play(&["-p", "--session", "own.jsonl", "go"]).code, Some(0));
    assert_eq!(roles(&messages(&stage.project().join("own.jsonl"))), ["go", "ok"]);
    assert_eq!(stage.play(&["-p", "--session-dir", "kept", "go"]).code, Some(0));
    assert_eq!(std::fs::read_dir(stage.project().join("kept")).unwrap().count(), 1);
}

#[test]
fn the_todo_list_is_resumed_with_the_session() {
    let init = json!({"ops": [{"op": "init", "list": [{"phase": "P", "items": ["write", "check"]}]}]});
    let stage = Stage::scripted(&[call("A", "todo", init), text("B")]);
    stage.write("home/agent/settings.json", "{\"todo\": {\"reminders\": false}}");
    assert_eq!(stage.play(&["-p", "plan"]).code, Some(0));
    let done = json!({"ops": [{"op": "done", "task": "write"}]});
    stage.write("project/script.jsonl", &format!("{}\n{}\n", call("A", "todo", done), text("B")));
    assert_eq!(stage.play(&["-p", "-c", "go on"]).code, Some(0));
    let said = stage.said();
    let (_, last) = said.iter().rfind(|(role, _)| role == "toolResult").unwrap();
    assert!(last.contains("check") && !last.contains("not found"), "{last}");
}

#[test]
fn a_damaged_file_is_moved_aside() {
    let stage = answering();
    stage.write("project/own.jsonl", "no session\n");
    let ran = stage.play(&["-p", "--session", "own.jsonl", "go"]);
    assert_eq!(ran.code, Some(0));
    assert!(ran.stderr.contains("it was kept as"), "{}", ran.stderr);
    let mut kept = std::fs::read_dir(stage.project()).unwrap().flatten();
    let kept = kept.find(|entry| entry.file_name().to_string_lossy().contains("damaged")).unwrap();
    assert_eq!(std::fs::read_to_string(kept.path()).unwrap(), "no session\n");
}

#[test]
fn session_lists_contain_no_terminal_escapes() {
    let stage = answering();
    let folder = "d\u{1b}[31m";
    std::fs::create_dir(stage.project().join(folder)).unwrap();
    let title = "\u{1b}]0;evil\u{7}\u{1b}[2Jone\r\ntwo\u{9b}5m\u{8}";
    let ran = stage.play(&["-p", "--script=../script.jsonl", "--cwd", folder, title]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let ran = stage.run(&["sessions", "list", "--all"]);
    assert!(ran.stdout.contains("  one two  ") && ran.stdout.lines().count() == 1, "{:?}", ran.stdout);
    let bad = |text: &str| text.chars().any(|c| c.is_control() && c != '\n');
    assert!(!bad(&ran.stdout), "{:?}", ran.stdout);
    let ran = stage.run(&["-p", "--model", title, "go"]);
    assert!(ran.code == Some(3) && !bad(&ran.stderr), "{:?}", ran.stderr);
}

#[test]
fn a_read_only_home_keeps_the_session_in_memory() {
    let stage = answering();
    stage.write("file", "");
    let mut command = stage.command(&["--script", "script.jsonl", "-p", "go"]);
    command.env("SINEW_HOME", stage.path("file").join("home"));
    let ran = finish(command);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "ok\n"));
    assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("kept in memory only"), "{}", ran.stderr);
}

#[test]
fn a_session_in_use_can_be_forked() {
    let stage = answering();
    assert_eq!(stage.play(&["-p", "--session", "own.jsonl", "one"]).code, Some(0));
    let path = stage.project().join("own.jsonl");
    let held = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
    held.lock().unwrap();
    let ran = stage.play(&["-p", "--session", "own.jsonl", "two"]);
    assert_eq!(ran.code, Some(3));
    assert!(ran.stderr.contains(&format!("in use by process {}", std::process::id())), "{}", ran.stderr);
    assert_eq!(stage.play(&["-p", "--fork", "own.jsonl", "two"]).code, Some(0));
    assert_eq!(roles(&messages(&path)), ["one", "ok"]);
    assert_eq!(roles(&stage.said()), ["one", "ok", "two", "ok"]);
}

#[test]
fn a_sessions_directory_is_listed_and_searched_and_keeps_its_images() {
    let stage = answering();
    assert_eq!(stage.play(&["-p", "--session-dir", "kept", "go"]).code, Some(0));
    assert_eq!(stage.run(&["sessions", "list"]).stdout, "No sessions found\n");
    let list = stage.run(&["sessions", "list", "--session-dir", "kept"]).stdout;
    assert!(list.lines().count() == 1 && list.contains("go"), "{list}");
    assert_eq!(stage.play(&["-p", "--session-dir", "kept", "-c", "more"]).code, Some(0));
    let kept = std::fs::read_dir(stage.project().join("kept")).unwrap().flatten().next().unwrap().path();
    assert_eq!(roles(&messages(&kept)), ["go", "ok", "more", "ok"]);
    let (used, unused) = ("a".repeat(64), "b".repeat(64));
    for hex in [&used, &unused] {
        stage.write(&format!("home/agent/blobs/{hex}"), "picture");
    }
    let text = std::fs::read_to_string(&kept).unwrap();
    std::fs::write(&kept, format!("{text}{{\"type\":\"x\",\"id\":\"x\",\"data\":\"blob:sha256:{used}\"}}\n")).unwrap();
    assert_eq!(stage.run(&["sessions", "gc", "--dry-run"]).stdout, "1 unused images would be removed\n");
    assert_eq!(stage.run(&["sessions", "gc"]).stdout, "1 unused images removed\n");
    assert!(stage.agent().join("blobs").join(&used).exists() && !stage.agent().join("blobs").join(&unused).exists());
    std::fs::rename(stage.project().join("kept"), stage.path("moved")).unwrap();
    let ran = stage.run(&["sessions", "gc"]);
    assert!(ran.code == Some(1) && ran.stderr.contains("is missing"), "{}", ran.stderr);
    assert!(stage.agent().join("blobs").join(&used).exists());
}

#[test]
fn help_of_a_subcommand_describes_it() {
    let stage = answering();
    for words in [&["sessions", "--help"][..], &["sessions"]] {
        let ran = stage.run(words);
        assert!(ran.code == Some(0) && ran.stdout.contains("sinew sessions gc"), "{}", ran.stderr);
        assert!(ran.stdout.lines().all(|line| line.chars().count() <= 120), "{}", ran.stdout);
    }
}

#[test]
fn a_missing_image_is_reported_in_every_mode() {
    let image = json!({"type": "image", "data": format!("blob:sha256:{}", "0".repeat(64)), "mimeType": "image/png"});
    for (mode, args) in [("text", ["-p"].as_slice()), ("json", &["-p", "--mode", "json"])] {
        let stage = Stage::scripted(&[text("one")]);
        let header = json!({"type": "session", "version": 3, "id": "1f9d2a6b9c0d1234", "cwd": stage.project()});
        let message = json!({"role": "user", "timestamp": 1, "content": [image]});
        let entry = json!({"type": "message", "id": "00000001", "parentId": null, "message": message,
            "timestamp": "2026-01-31T09:30:00.000Z"});
        stage.write("project/s.jsonl", &format!("{header}\n{entry}\n"));
        let ran = stage.play(&[args, &["--session", "s.jsonl", "go"]].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let told = if mode == "json" { &ran.stdout } else { &ran.stderr };
        assert_eq!(told.matches("a picture of this session is missing, blob:sha256:0000").count(), 1, "{told}");
    }
}
