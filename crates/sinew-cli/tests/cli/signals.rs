//! The state after a run that was terminated.

use std::io::Read;
use std::process::Child;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::stage::{Stage, call, silent, text};

/// Starts a run and waits until its request has arrived.
fn waiting(stage: &Stage, told: &std::sync::mpsc::Receiver<()>, args: &[&str]) -> Child {
    let child = stage.command(&[&["-p", "remember me"], args].concat()).spawn().unwrap();
    told.recv_timeout(Duration::from_secs(60)).unwrap();
    child
}

#[track_caller]
fn ends_with(signal: Signal, code: i32) {
    let (server, told) = silent();
    let stage = Stage::served(&server);
    let mut child = waiting(&stage, &told, &[]);
    kill_process(Pid::from_child(&child), signal).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(code));
    // The connection was closed without waiting for the server, which never answers.
    server.wait_released(1);
    let said = stage.said();
    assert_eq!(said[0], ("user".to_string(), "remember me".to_string()));
}

#[test]
fn signals_end_the_run_and_save_the_session() {
    ends_with(Signal::INT, 130);
    ends_with(Signal::TERM, 143);
    ends_with(Signal::HUP, 143);
}

#[test]
fn commands_that_ignore_signals_do_not_delay_the_exit() {
    let deaf = |mark: &str| {
        format!("trap '' TERM HUP INT; echo $$ > {mark}.new; mv {mark}.new {mark}; sleep 1000; sleep 1000")
    };
    let stage = Stage::scripted(&[call("A", "bash", json!({"command": deaf("pid")}))]);
    let hook = json!({"event": "session_shutdown", "shell": true, "command": deaf("hook")});
    stage.write("home/agent/hooks.json", &json!({"hooks": [hook]}).to_string());
    let mut child = stage.command(&["--script", "script.jsonl", "-p", "go"]).spawn().unwrap();
    stage.wait_for("project/pid");
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(143));
    for mark in ["pid", "hook"] {
        // On a slow machine the end may come before the hook has started.
        if stage.path("project").join(mark).exists() {
            stage.wait_for_end_of(&format!("project/{mark}"));
        }
    }
    assert_eq!(stage.said()[0], ("user".to_string(), "go".to_string()));
}

#[test]
fn the_prompt_is_in_the_file_when_the_process_is_killed() {
    let (server, told) = silent();
    let stage = Stage::served(&server);
    let mut child = waiting(&stage, &told, &[]);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(stage.said(), [("user".to_string(), "remember me".to_string())]);
}

#[test]
fn a_second_writer_is_refused() {
    let (server, told) = silent();
    let stage = Stage::served(&server);
    let mut child = waiting(&stage, &told, &["--session", "own.jsonl"]);
    let ran = stage.run(&["-p", "--session", "own.jsonl", "me too"]);
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    assert!(ran.stderr.contains(&format!("Session is in use by process {}", child.id())), "{}", ran.stderr);
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    for mode in ["text", "json"] {
        let stage = Stage::scripted(&[text(&"many words ".repeat(30_000))]);
        let mut child = stage.command(&["--script", "script.jsonl", "-p", "--mode", mode, "go"]).spawn().unwrap();
        drop(child.stdout.take());
        let mut stderr = String::new();
        child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        assert_eq!((child.wait().unwrap().code(), stderr.as_str()), (Some(0), ""), "{mode}");
        assert_eq!(stage.said()[0].1, "go");
    }
    let stage = Stage::new();
    for args in [&["--help"][..], &["--list-models"], &["config", "get"], &["sessions", "list"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = stage.command(args);
        let ran = crate::stage::finish({
            command.stdout(writer);
            command
        });
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{args:?}");
    }
}
