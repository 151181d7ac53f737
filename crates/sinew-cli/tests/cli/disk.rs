//! A disk that is full.

use std::process::{Command, Stdio};

use crate::stage::{Stage, finish, text};

/// The same command with files of at most 4 KiB: what lies beyond fails as on a full disk.
fn on_a_full_disk(stage: &Stage, args: &[&str]) -> Command {
    let command = stage.command(&[]);
    let mut bash = Command::new("bash");
    // Without the trap the system would kill the program instead of telling it.
    bash.args(["-c", "trap '' XFSZ; ulimit -f 4; exec \"$@\"", "bash"]).arg(command.get_program()).args(args);
    bash.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    bash.current_dir(command.get_current_dir().unwrap());
    bash.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    bash
}

#[test]
fn the_run_goes_on_the_user_is_told_and_the_file_loads() {
    let long = "x".repeat(9_000);
    let stage = Stage::scripted(&[text(&long), text("short")]);
    let ran = finish(on_a_full_disk(&stage, &["--script", "script.jsonl", "-p", "say much"]));
    assert_eq!((ran.code, ran.stdout.trim_end()), (Some(0), long.as_str()), "{}", ran.stderr);
    assert!(ran.stderr.contains("no longer saved"), "{}", ran.stderr);
    assert_eq!(stage.said(), [("user".to_string(), "say much".to_string())]);
    // With room again the session goes on where its file ends.
    let ran = stage.play(&["--continue", "-p", "and now"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let roles: Vec<String> = stage.said().into_iter().map(|(role, _)| role).collect();
    assert_eq!(roles, ["user", "user", "assistant"]);
}
