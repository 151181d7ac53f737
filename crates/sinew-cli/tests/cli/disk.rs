//! A full disk, and the permissions of files.

use std::process::{Command, Stdio};

use serde_json::json;

use crate::stage::{Stage, call, finish, text};

/// Limits the files of a command to 4 KiB: writes beyond that fail as on a full disk.
fn on_a_full_disk(stage: &Stage, args: &[&str]) -> Command {
    let command = stage.command(&[]);
    let mut bash = Command::new("bash");
    // Without the trap the system would kill the program instead of returning an error.
    bash.args(["-c", "trap '' XFSZ; ulimit -f 4; exec \"$@\"", "bash"]).arg(command.get_program()).args(args);
    bash.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    bash.current_dir(command.get_current_dir().unwrap());
    bash.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    bash
}

#[test]
fn a_full_disk_does_not_stop_the_run_and_the_file_still_loads() {
    let long = "x".repeat(9_000);
    let stage = Stage::scripted(&[text(&long), text("short")]);
    let ran = finish(on_a_full_disk(&stage, &["--script", "script.jsonl", "-p", "say much"]));
    assert_eq!((ran.code, ran.stdout.trim_end()), (Some(0), long.as_str()), "{}", ran.stderr);
    assert!(ran.stderr.contains("no longer saved"), "{}", ran.stderr);
    assert_eq!(stage.said(), [("user".to_string(), "say much".to_string())]);
    // With enough space, the session continues where its file ends.
    let ran = stage.play(&["--continue", "-p", "and now"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let roles: Vec<String> = stage.said().into_iter().map(|(role, _)| role).collect();
    assert_eq!(roles, ["user", "user", "assistant"]);
}

/// Returns the entries in `folder` that are accessible to others than the owner.
fn open_to_others(folder: &std::path::Path) -> Vec<String> {
    use std::os::unix::fs::PermissionsExt;
    let facts = std::fs::symlink_metadata(folder).unwrap();
    let mut found = Vec::new();
    if facts.permissions().mode() & 0o077 != 0 {
        found.push(format!("{} {:o}", folder.display(), facts.permissions().mode() & 0o777));
    }
    if facts.is_dir() {
        for entry in std::fs::read_dir(folder).unwrap() {
            found.extend(open_to_others(&entry.unwrap().path()));
        }
    }
    found
}

#[test]
fn a_new_home_and_exported_files_are_private() {
    let lines = || [call("A", "bash", json!({"command": "seq 20000; echo x > \"$ARTIFACTS/x\""})), text("B")];
    let uses: [&[&str]; 6] = [
        &["-p", "go"],
        &["--mode", "json", "go"],
        &["config", "set", "maxTurns", "3"],
        &["login", "openai"],
        &["--list-models", "ollama"],
        &["logout"],
    ];
    for args in uses {
        for log in [false, true] {
            let stage = Stage::scripted(&lines());
            std::fs::remove_dir_all(stage.path("home")).unwrap();
            let mut command = stage.command(&[&["--script", "script.jsonl"], args].concat());
            if log {
                command.env("SINEW_LOG", "debug");
            }
            command.env("TMUX_PANE", "%1").stdin(std::process::Stdio::piped());
            let mut child = command.spawn().unwrap();
            std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"sk-piped-0123456789").unwrap();
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success() || args == ["logout"], "{args:?}: {output:?}");
            if stage.path("home").exists() {
                let mut found = open_to_others(&stage.path("home"));
                // A command of the user determines the modes of its own files.
                found.retain(|name| !name.contains("/x "));
                assert_eq!(found, Vec::<String>::new(), "{args:?}");
            }
        }
    }
    let stage = Stage::scripted(&lines());
    assert_eq!(stage.play(&["-p", "go"]).code, Some(0));
    let file = stage.files()[0].display().to_string();
    stage.write("project/page.html", "an older page");
    for to in ["page.html", "new.html"] {
        assert_eq!(stage.run(&["--export", &file, to]).code, Some(0));
        assert_eq!(open_to_others(&stage.path("project").join(to)), Vec::<String>::new());
    }
}
