//! `/undo`, `/redo` and `sinew undo`: what a turn changed is undone, whoever changed it, and nothing else.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use crate::stage::{Stage, call, text};

/// The files below a folder with their contents; directories have none.
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

/// A project of three files, with a script outside of it.
fn stage() -> Stage {
    let stage = Stage::new();
    for (name, text) in [("a", "one\n"), ("b", "two\n"), ("d/c", "deep\n")] {
        stage.write(&format!("project/{name}"), text);
    }
    stage
}

/// Plays turns of a script, in the session that was continued last.
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
    // The end of a job asks the model once more.
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
fn turns_are_undone_from_the_last_one_on() {
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
fn files_that_changed_after_the_turn_are_overwritten_only_by_force() {
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
fn a_turn_that_changed_nothing_is_named_and_no_earlier_one_is_undone() {
    let stage = stage();
    turn(&stage, &[bash("echo 1 > a")]);
    let changed = tree(&stage.project());
    turn(&stage, &[bash("cat a")]);
    let said = command(&stage, "/undo");
    assert!(said.contains("The turn \"go\" changed no files"), "{said}");
    assert_eq!(tree(&stage.project()), changed);
}

#[test]
fn a_dry_run_and_a_selection_say_and_change_only_what_they_name() {
    let stage = stage();
    let before = tree(&stage.project());
    turn(&stage, &[bash("echo 1 > a; echo 2 > d/c; echo 3 > d/new")]);
    let after = tree(&stage.project());
    let said = command(&stage, "/undo --dry-run");
    for line in ["restore  a (modified by this turn)", "delete   d/new (created by this turn)"] {
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
fn a_job_keeps_the_turn_open_and_later_writes_are_not_the_turns() {
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
