//! Tools that start the program again as the keeper of a shell.

use serde_json::json;

use crate::stage::{Stage, call, finish, text};

#[test]
fn a_command_runs_and_gets_no_key() {
    let script = "yes | head -2; printf '%s|' \"$ANTHROPIC_API_KEY\" \"$MY_TOKEN\" \"$GH_TOKEN\" \"$PLAIN\"; echo end";
    let stage = Stage::scripted(&[call("A", "bash", json!({"command": script})), text("B")]);
    let mut command = stage.command(&["--script", "script.jsonl", "-p", "go"]);
    for (name, value) in [("ANTHROPIC_API_KEY", "k1"), ("MY_TOKEN", "k2"), ("GH_TOKEN", "kept"), ("PLAIN", "plain")] {
        command.env(name, value);
    }
    let ran = finish(command);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "A\n\nB\n"), "{}", ran.stderr);
    let said = stage.said();
    assert_eq!(said[2].0, "toolResult");
    assert!(said[2].1.starts_with("y\ny\n||kept|plain|end"), "{said:?}");
}

#[test]
fn a_command_ends_with_the_program() {
    let stage = Stage::scripted(&[call("A", "bash", json!({"command": "echo $$ > pid; exec sleep 1000"}))]);
    let mut child = stage.command(&["--script", "script.jsonl", "-p", "go"]).spawn().unwrap();
    let pid = stage.project().join("pid");
    let shell = loop {
        // The file is there before its text is.
        match std::fs::read_to_string(&pid).ok().and_then(|text| text.trim().parse::<i32>().ok()) {
            Some(shell) => break shell,
            None => assert!(child.try_wait().unwrap().is_none(), "the run ended before its command began"),
        }
    };
    let shell = rustix::process::Pid::from_raw(shell).unwrap();
    rustix::process::kill_process(rustix::process::Pid::from_child(&child), rustix::process::Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(143));
    assert!(rustix::process::test_kill_process(shell).is_err(), "the command still runs");
}
