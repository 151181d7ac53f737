//! `/undo`, `/redo` and `sinew undo`: the changes of a turn are undone, whichever program made them, and nothing else.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use crate::client::Client;
use crate::stage::{Stage, call, text};
use crate::terminal::{Terminal, has, left};

/// Returns the files in a directory with their contents; `None` for directories.
fn tree(folder: &Path) -> BTreeMap<String, Option<Vec<u8>>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(folder).unwrap().to_string_lossy().into_owned();
            if path.is_dir() {
                found.insert(name, None);
                folders.push(path);
            } else {
                found.insert(name, Some(std::fs::read(path).unwrap()));
            }
        }
    }
    found
}

/// Creates a project of three files, with a script outside of it.
fn stage() -> Stage {
    let stage = Stage::new();
    for (name, text) in [("a", "one\n"), ("b", "two\n"), ("d/c", "deep\n")] {
        stage.write(&format!("project/{name}"), text);
    }
    stage
}

/// Runs the turns of a script, in the session that was continued last.
#[track_caller]
fn play(stage: &Stage, lines: &[Value], prompt: &str) -> String {
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    stage.write("script.jsonl", &lines.join("\n"));
    let script = stage.path("script.jsonl");
    let ran = stage.run(&["--script", script.to_str().unwrap(), "-c", "-p", prompt]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.stdout
}

#[track_caller]
fn turn(stage: &Stage, calls: &[(&str, Value)]) {
    let mut lines: Vec<Value> = calls.iter().map(|(tool, arguments)| call("", tool, arguments.clone())).collect();
    // The end of a job causes another request.
    lines.extend([text("done"), text("and the job")]);
    play(stage, &lines, "go");
}

fn bash(command: &str) -> (&'static str, Value) {
    ("bash", json!({"command": command}))
}

#[track_caller]
fn command(stage: &Stage, text: &str) -> String {
    play(stage, &[], text)
}

#[test]
fn a_hundred_files_that_one_command_wrote_are_undone_and_redone() {
    let stage = stage();
    let before = tree(&stage.project());
    turn(&stage, &[bash("for i in $(seq 100); do echo $i > f$i; done; echo changed > a; rm -r d; chmod 600 b")]);
    let after = tree(&stage.project());
    assert_eq!(after.len(), 102);
    let said = command(&stage, "/undo");
    assert!(said.starts_with("104 changes undone of the turn \"go\":"), "{said}");
    assert_eq!(tree(&stage.project()), before);
    let said = command(&stage, "/redo");
    assert!(said.starts_with("104 changes redone:"), "{said}");
    assert_eq!(tree(&stage.project()), after);
    command(&stage, "/undo");
    assert_eq!(tree(&stage.project()), before);
}

#[test]
fn changes_of_every_tool_are_undone() {
    let stage = stage();
    let before = tree(&stage.project());
    let edit = json!({"path": "a", "oldText": "one", "newText": "1"});
    turn(
        &stage,
        &[
            ("read", json!({"path": "a"})),
            ("edit", edit),
            ("write", json!({"path": "new/file", "content": "text"})),
            bash("sed -i s/two/2/ b && mv d e"),
        ],
    );
    assert_eq!(std::fs::read_to_string(stage.path("project/a")).unwrap(), "1\n");
    assert_ne!(tree(&stage.project()), before);
    command(&stage, "/undo");
    assert_eq!(tree(&stage.project()), before);
}

#[test]
fn turns_are_undone_starting_with_the_last() {
    let stage = stage();
    let mut states = vec![tree(&stage.project())];
    for number in 1..=3 {
        turn(&stage, &[bash(&format!("echo {number} > a; echo {number} > n{number}"))]);
        states.push(tree(&stage.project()));
    }
    command(&stage, "/undo");
    assert_eq!(tree(&stage.project()), states[2]);
    command(&stage, "/undo 2");
    assert_eq!(tree(&stage.project()), states[0]);
    command(&stage, "/redo");
    assert_eq!(tree(&stage.project()), states[2]);
    command(&stage, "/redo");
    assert_eq!(tree(&stage.project()), states[3]);
}

#[test]
fn an_edit_of_the_user_between_turns_survives_and_is_named() {
    let stage = stage();
    turn(&stage, &[bash("echo 1 >> a; echo 1 >> b")]);
    stage.write("project/mine", "by the user\n");
    stage.write("project/a", "by the user\n");
    turn(&stage, &[bash("echo 2 >> b")]);
    let said = command(&stage, "/undo 2");
    assert!(said.contains("1 of 2 changes undone of 2 turns"), "{said}");
    assert!(said.contains("keep     a (changed since)"), "{said}");
    let read = |name: &str| std::fs::read_to_string(stage.path("project").join(name)).unwrap();
    assert_eq!((read("a"), read("b"), read("mine")), ("by the user\n".into(), "two\n".into(), "by the user\n".into()));
}

#[test]
fn files_changed_after_the_turn_are_overwritten_only_with_force() {
    let stage = stage();
    turn(&stage, &[bash("echo 1 > a")]);
    stage.write("project/a", "by the user\n");
    let said = command(&stage, "/undo");
    assert!(said.starts_with("0 of 1 change undone"), "{said}");
    assert_eq!(std::fs::read_to_string(stage.path("project/a")).unwrap(), "by the user\n");
    command(&stage, "/undo --force");
    assert_eq!(std::fs::read_to_string(stage.path("project/a")).unwrap(), "one\n");
    command(&stage, "/redo");
    assert_eq!(std::fs::read_to_string(stage.path("project/a")).unwrap(), "by the user\n");
}

#[test]
fn a_turn_that_changed_nothing_is_named_and_the_next_undo_goes_on() {
    let stage = stage();
    let before = tree(&stage.project());
    turn(&stage, &[bash("echo 1 > a")]);
    let changed = tree(&stage.project());
    turn(&stage, &[bash("cat a")]);
    assert!(command(&stage, "/undo --dry-run").contains("changed no files"));
    let said = command(&stage, "/undo");
    assert!(said.contains("The turn \"go\" changed no files"), "{said}");
    assert_eq!(tree(&stage.project()), changed);
    command(&stage, "/undo");
    assert_eq!(tree(&stage.project()), before);
    command(&stage, "/redo");
    assert_eq!(tree(&stage.project()), changed);
}

#[test]
fn a_turn_that_was_reverted_by_hand_does_not_hold_up_the_next_undo() {
    let stage = stage();
    let before = tree(&stage.project());
    turn(&stage, &[bash("echo 1 > b")]);
    turn(&stage, &[bash("echo 1 > a")]);
    stage.write("project/a", "one\n");
    command(&stage, "/undo");
    command(&stage, "/undo");
    assert_eq!(tree(&stage.project()), before);
}

#[test]
fn what_hooks_change_belongs_to_the_turn_whenever_they_run() {
    const EVENTS: [&str; 11] = [
        "session_start",
        "input",
        "before_agent_start",
        "agent_start",
        "context",
        "message_end",
        "tool_call",
        "tool_result",
        "turn_end",
        "agent_end",
        "session_shutdown",
    ];
    for event in EVENTS {
        let stage = stage();
        stage.write("home/agent/settings.json", &json!({"checkpoint": {"wait": 60_000}}).to_string());
        let before = tree(&stage.project());
        let hook = json!({"event": event, "shell": true, "command": "echo hook >> hooked; echo hook >> b"});
        stage.write("home/agent/hooks.json", &json!({"hooks": [hook]}).to_string());
        turn(&stage, &[bash("echo 1 > a")]);
        let is_run = stage.path("project/hooked").exists();
        assert!(is_run, "{event}: the hook did not run");
        stage.write("project/mine", "by the user\n");
        turn(&stage, &[bash("echo 2 > a")]);
        std::fs::remove_file(stage.path("home/agent/hooks.json")).unwrap();
        let said = command(&stage, "/undo 2");
        std::fs::remove_file(stage.path("project/mine")).unwrap();
        assert_eq!(tree(&stage.project()), before, "{event}: {said}");
    }
}

#[test]
fn force_after_an_undo_that_kept_files_completes_it() {
    let stage = stage();
    turn(&stage, &[bash("echo before > d/c")]);
    stage.write("project/d/c", "by the user\n");
    turn(&stage, &[bash("echo 1 > a; echo 1 > b")]);
    stage.write("project/a", "by the user\n");
    let said = command(&stage, "/undo");
    assert!(said.starts_with("1 of 2 changes undone"), "{said}");
    command(&stage, "/undo --force");
    let read = |name: &str| std::fs::read_to_string(stage.path("project").join(name)).unwrap();
    assert_eq!((read("a"), read("b"), read("d/c")), ("one\n".into(), "two\n".into(), "by the user\n".into()));
}

#[test]
fn a_turn_that_undo_did_not_cover_is_not_called_unchanged() {
    let stage = stage();
    stage.write("home/agent/settings.json", r#"{"checkpoint": {"wait": 0}}"#);
    turn(&stage, &[bash("echo 1 > a")]);
    let said = command(&stage, "/undo");
    let is_covered = said.contains("1 change undone");
    assert!(is_covered || said.contains("not covered: the first checkpoint"), "{said}");
}

#[test]
fn a_dry_run_changes_nothing_and_a_selection_only_its_files() {
    let stage = stage();
    let before = tree(&stage.project());
    turn(&stage, &[bash("echo 1 > a; echo 2 > d/c; echo 3 > d/new")]);
    let after = tree(&stage.project());
    let said = command(&stage, "/undo --dry-run");
    for line in ["restore  a (modified by this turn, +1 -1)", "delete   d/new (created by this turn, +1)"] {
        assert!(said.contains(line), "{said}");
    }
    assert_eq!(tree(&stage.project()), after);
    command(&stage, "/undo 1 d");
    assert_eq!(std::fs::read_to_string(stage.path("project/a")).unwrap(), "1\n");
    assert!(!stage.path("project/d/new").exists());
    command(&stage, "/undo");
    assert_eq!(tree(&stage.project()), before);
}

#[test]
fn paths_with_blanks_quotes_and_dashes_can_be_selected() {
    for (name, typed) in [
        ("my file", "/undo 'my file'"),
        ("my file", "/undo 1 --yes -- \"my file\""),
        ("it's", "/undo \"it's\""),
        ("--force", "/undo -- --force"),
        ("2", "/undo -- 2"),
    ] {
        let stage = stage();
        let path = stage.project().join(name);
        turn(&stage, &[("write", json!({"path": path, "content": "new"})), bash("echo 1 > a")]);
        let undo_by_command = |text: &str| assert!(command(&stage, text).starts_with("1 change undone"), "{text}");
        undo_by_command(typed);
        assert_eq!((path.exists(), stage.path("project/a").exists()), (false, true), "{typed}");
        assert_eq!(std::fs::read_to_string(stage.path("project/a")).unwrap(), "1\n", "{typed}");
        command(&stage, "/redo");
        let ran = stage.run(&["undo", "--", name]);
        assert!(ran.stdout.starts_with("1 change undone"), "{ran:?}");
        assert!(!path.exists() && std::fs::read_to_string(stage.path("project/a")).unwrap() == "1\n", "{typed}");
        let said = command(&stage, "/undo nowhere");
        assert_eq!(said.trim_end(), "Nothing is left to undo at these paths.", "{typed}");
        assert!(command(&stage, "/undo .").starts_with("1 change undone"), "{typed}");
        assert_eq!(tree(&stage.project()).len(), 4, "{typed}");
    }
}

#[test]
fn a_session_without_turns_and_one_without_checkpoints_say_so() {
    let stage = stage();
    let script = stage.path("script.jsonl");
    stage.write("script.jsonl", "");
    let ran = stage.run(&["--script", script.to_str().unwrap(), "-p", "/undo"]);
    assert!(ran.stderr.contains("there is no turn to undo"), "{ran:?}");
    stage.write("home/agent/settings.json", &json!({"checkpoint": {"enabled": false}}).to_string());
    turn(&stage, &[bash("echo 1 > a")]);
    let ran = stage.run(&["--script", script.to_str().unwrap(), "-c", "-p", "/undo"]);
    assert!(ran.stderr.contains("checkpoint.enabled is false"), "{ran:?}");
    assert!(!stage.agent().join("checkpoints").exists());
}

#[test]
fn undo_includes_writes_of_background_jobs_of_the_turn() {
    let stage = stage();
    stage.write("home/agent/settings.json", &json!({"async": {"enabled": true}}).to_string());
    let job = json!({"command": "echo job > a; while [ ! -e go ]; do sleep 0.01; done", "background": true});
    turn(&stage, &[("bash", job), bash("while [ ! -s a ] || ! grep -q job a; do :; done; echo call > b; touch go")]);
    command(&stage, "/undo");
    let read = |name: &str| std::fs::read_to_string(stage.path("project").join(name)).unwrap();
    assert_eq!((read("a"), read("b")), ("one\n".into(), "two\n".into()));
}

#[cfg(target_os = "linux")]
#[test]
fn writes_through_a_memory_map_are_undone() {
    let stage = stage();
    let before = tree(&stage.project());
    let program = "import mmap\nf = open('a', 'r+b')\nm = mmap.mmap(f.fileno(), 0)\nm[0:3] = b'MAP'\nm.flush()\n";
    stage.write("map.py", program);
    turn(&stage, &[bash("python3 ../map.py")]);
    assert_eq!(std::fs::read_to_string(stage.path("project/a")).unwrap(), "MAP\n");
    command(&stage, "/undo");
    assert_eq!(tree(&stage.project()), before);
}

/// Creates a stage with the script of a turn that changes two files and creates one.
fn scripted() -> (Stage, BTreeMap<String, Option<Vec<u8>>>) {
    let stage = stage();
    let before = tree(&stage.project());
    stage.write("home/agent/settings.json", &json!({"tui": {"approvalDelayMs": 0}}).to_string());
    let lines = [
        call("", "bash", json!({"command": "echo 1 > a; echo 2 > b; echo 3 > d/new"})),
        text("Changed."),
        call("", "bash", json!({"command": "cat a"})),
        text("Looked."),
    ];
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    stage.write("script.jsonl", &lines.join("\n"));
    (stage, before)
}

fn script_of(stage: &Stage) -> String {
    stage.path("script.jsonl").to_str().unwrap().to_string()
}

/// Presses a digit in a panel, after tab if the editor has the focus.
#[track_caller]
fn choose(terminal: &mut Terminal, digit: &str) {
    let rows = terminal.until(|rows| rows.iter().any(|row| row.contains("tab: ")));
    if rows.iter().any(|row| row.contains("tab: answer")) {
        terminal.send("\t");
        terminal.until(|rows| !rows.iter().any(|row| row.contains("tab: answer")));
    }
    terminal.send(digit);
}

#[test]
fn the_undo_panel_shows_the_plan_and_accepts_a_selection() {
    let (stage, before) = scripted();
    let script = script_of(&stage);
    let mut terminal = Terminal::start(&stage, &["--script", &script], (100, 40));
    terminal.until(|rows| has(rows, "ready"));
    terminal.send("go\r");
    terminal.until(|rows| has(rows, "Changed.") && has(rows, "ready"));
    let after = tree(&stage.project());
    terminal.send("/undo\r");
    let rows = terminal.until_shown("Change these files?");
    for line in ["3 changes can be undone of the turn", "restore  a (modified", "delete   d/new (created"] {
        assert!(rows.iter().any(|row| row.contains(line)), "{line}: {rows:#?}");
    }
    assert_eq!(tree(&stage.project()), after, "nothing happens before the answer");
    choose(&mut terminal, "2");
    terminal.until_shown("Which files?");
    choose(&mut terminal, "1");
    terminal.until_shown("1 ● restore  a");
    terminal.send("3");
    terminal.until_shown("3 ● delete   d/new");
    terminal.send("\r");
    terminal.until(|rows| rows.iter().any(|row| row.contains("2 changes undone of the turn")));
    let read = |name: &str| std::fs::read_to_string(stage.path("project").join(name)).unwrap();
    assert_eq!((read("a"), read("b")), ("one\n".into(), "2\n".into()));
    terminal.send("/undo\r");
    terminal.until(|rows| rows.iter().any(|row| row.contains("1 change can be undone")));
    choose(&mut terminal, "1");
    terminal.until(|rows| rows.iter().any(|row| row.contains("1 change undone of the turn")));
    assert_eq!(tree(&stage.project()), before);
    left(terminal);
}

#[test]
fn the_undo_panel_groups_many_files_by_folder() {
    let (stage, _) = scripted();
    let many = "mkdir -p e/f e/g; for i in $(seq 30); do echo $i > e/f/n$i; echo $i > e/g/n$i; done; echo 1 > a";
    let lines = [call("", "bash", json!({"command": many})), text("Changed.")].map(|line| line.to_string());
    stage.write("script.jsonl", &lines.join("\n"));
    let script = script_of(&stage);
    let mut terminal = Terminal::start(&stage, &["--script", &script], (100, 40));
    terminal.until(|rows| has(rows, "ready"));
    terminal.send("go\r");
    terminal.until(|rows| has(rows, "Changed.") && has(rows, "ready"));
    terminal.send("/undo\r");
    terminal.until_shown("64 changes can be undone");
    choose(&mut terminal, "2");
    terminal.until_shown("Which files?");
    terminal.until_shown("delete   e/f/ (31 entries, +30 -0)");
    choose(&mut terminal, "3");
    terminal.until_shown("3 ● delete   e/f/");
    terminal.send("\r");
    terminal.until(|rows| rows.iter().any(|row| row.contains("31 changes undone of the turn")));
    assert!(!stage.path("project/e/f").exists() && stage.path("project/e/g/n30").exists());
    left(terminal);
}

#[test]
fn linear_mode_prints_the_undo_plan_and_asks() {
    let (stage, before) = scripted();
    let script = script_of(&stage);
    let mut terminal = Terminal::start(&stage, &["--linear", "--script", &script], (100, 60));
    terminal.until_shown("Ready.");
    terminal.send("go\r");
    terminal.until_shown("Assistant: Changed.");
    terminal.until(|rows| rows.iter().filter(|row| *row == "Ready.").count() == 2);
    let after = tree(&stage.project());
    terminal.send("/undo\r");
    terminal.until_shown("Answer with a number");
    terminal.send("3\r");
    terminal.until_shown("Nothing was changed.");
    assert_eq!(tree(&stage.project()), after);
    terminal.send("/undo --yes\r");
    terminal.until_shown("3 changes undone of the turn");
    assert_eq!(tree(&stage.project()), before);
    terminal.send("/redo --yes\r");
    terminal.until_shown("3 changes redone:");
    assert_eq!(tree(&stage.project()), after);
    left(terminal);
}

#[test]
fn rpc_clients_can_plan_undo_and_redo() {
    let (stage, before) = scripted();
    let mut command = stage.command(&["--mode", "rpc", "--script", &script_of(&stage)]);
    command.stdin(std::process::Stdio::piped());
    let mut client = Client::of(command);
    client.prompt("go");
    let after = tree(&stage.project());
    let planned = client.data("plan_undo", json!({}));
    let actions: Vec<(&str, &str)> = planned["plan"]["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| (entry["path"].as_str().unwrap(), entry["action"].as_str().unwrap()))
        .collect();
    assert_eq!(actions, [("a", "restore"), ("b", "restore"), ("d/new", "delete")]);
    assert_eq!(tree(&stage.project()), after);
    let done = client.data("undo", json!({}));
    assert_eq!((&done["done"], &done["planned"]), (&json!(3), &json!(3)));
    assert_eq!(tree(&stage.project()), before);
    let listed = client.data("list_checkpoints", json!({}));
    assert_eq!((&listed["turns"][0]["title"], &listed["turns"][0]["undone"]), (&json!("go"), &json!(true)));
    assert!(client.fails("undo", json!({})).contains("there is no turn to undo"));
    client.data("redo", json!({}));
    assert_eq!(tree(&stage.project()), after);
    let outside = client.fails("undo", json!({"paths": ["../x"]}));
    assert!(outside.contains("undo covers only files below"), "{outside}");
    client.data("undo", json!({"paths": ["d"]}));
    assert!(!stage.path("project/d/new").exists() && stage.path("project/d/c").exists());
    client.data("undo", json!({"withConversation": true}));
    assert_eq!(tree(&stage.project()), before);
    assert_eq!(client.data("get_messages", json!({}))["messages"], json!([]));
    assert_eq!(client.end().code, Some(0));
}

#[cfg(target_os = "linux")]
#[test]
fn rpc_clients_can_name_paths_that_are_not_utf8() {
    let (stage, before) = scripted();
    let lines = [call("", "bash", json!({"command": "echo 1 > $'caf\\xe9'; echo 1 > a"})), text("Done.")];
    stage.write("script.jsonl", &lines.map(|line| line.to_string()).join("\n"));
    let mut command = stage.command(&["--mode", "rpc", "--script", &script_of(&stage)]);
    command.stdin(std::process::Stdio::piped());
    let mut client = Client::of(command);
    client.prompt("go");
    let entries = client.data("plan_undo", json!({}))["plan"]["entries"].clone();
    assert_eq!((&entries[0]["path"], &entries[0]["bytes"]), (&json!("a"), &Value::Null));
    assert_eq!((&entries[1]["path"], &entries[1]["bytes"]), (&json!("caf\u{fffd}"), &json!("Y2Fm6Q==")));
    let done = client.data("undo", json!({"paths": [{"bytes": "Y2Fm6Q=="}]}));
    assert_eq!((&done["done"], &done["plan"]["entries"][0]["bytes"]), (&json!(1), &json!("Y2Fm6Q==")));
    assert!(client.fails("undo", json!({"paths": [{"bytes": "?"}]})).contains("is not base64"));
    client.data("undo", json!({"paths": ["a"]}));
    assert_eq!(tree(&stage.project()), before);
    assert_eq!(client.end().code, Some(0));
}

#[test]
fn a_fork_and_the_command_line_can_undo_turns_of_the_session() {
    let stage = stage();
    let before = tree(&stage.project());
    turn(&stage, &[bash("echo 1 > a; echo 2 > new")]);
    let after = tree(&stage.project());
    let said = |args: &[&str]| {
        let ran = stage.run(args);
        assert_eq!(ran.code, Some(0), "{args:?} {ran:?}");
        ran.stdout
    };
    assert!(said(&["undo", "--dry-run"]).starts_with("2 changes can be undone of the turn \"go\":"));
    assert_eq!(tree(&stage.project()), after);
    assert!(said(&["undo"]).starts_with("2 changes undone"));
    assert_eq!(tree(&stage.project()), before);
    assert!(said(&["undo", "redo"]).starts_with("2 changes redone:"));
    assert_eq!(tree(&stage.project()), after);
    assert!(said(&["undo", "--usage"]).contains(" checkpoints of "));
    assert!(said(&["undo", "gc"]).starts_with("removed 0 checkpoints"));
    let list = said(&["sessions", "list"]);
    let id = list.split_whitespace().next().unwrap();
    let script = script_of(&stage);
    let ran = stage.run(&["--script", &script, "--fork", id, "-p", "/undo"]);
    assert!(ran.stdout.starts_with("2 changes undone"), "{ran:?}");
    assert_eq!(tree(&stage.project()), before);
}

#[test]
fn the_model_reads_again_what_an_undo_restored() {
    let (stage, _) = scripted();
    let lines = [
        call("", "read", json!({"path": "a"})),
        call("", "write", json!({"path": "a", "content": "1\n"})),
        text("Changed."),
        call("", "write", json!({"path": "a", "content": "2\n"})),
        text("Tried."),
    ];
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    stage.write("script.jsonl", &lines.join("\n"));
    let mut command = stage.command(&["--mode", "rpc", "--script", &script_of(&stage)]);
    command.stdin(std::process::Stdio::piped());
    let mut client = Client::of(command);
    client.prompt("go");
    client.data("undo", json!({}));
    client.prompt("again");
    assert_eq!(std::fs::read_to_string(stage.path("project/a")).unwrap(), "one\n");
    let said = stage.said();
    assert!(
        said.iter().any(|(role, text)| role == "toolResult" && text.contains("was not read in this session")),
        "{said:?}"
    );
    assert_eq!(client.end().code, Some(0));
}
