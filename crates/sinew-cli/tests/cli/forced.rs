//! When a session is flushed to disk, observed through its system calls.

use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::json;

use crate::stage::{Stage, call, text};

/// Returns the operations on the session file: the role or type of each written line, `!` for a flush of the file, `/`
/// for a flush of its directory.
fn forced(stage: &Stage, args: &[&str], stdin: &str) -> String {
    let program = stage.command(&[]);
    let mut command = Command::new("strace");
    let trace = stage.path("trace");
    command.args(["-f", "-y", "-s", "300", "-e", "trace=write,fsync,fdatasync", "-o"]).arg(&trace);
    command.arg(program.get_program()).args(args).env_clear();
    command.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.current_dir(program.get_current_dir().unwrap());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("strace is installed");
    child.stdin.take().unwrap().write_all(stdin.as_bytes()).unwrap();
    let out = child.wait_with_output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let trace = std::fs::read_to_string(trace).unwrap();
    let step = |line: &str| {
        let (_, call) = line.split_once(' ')?;
        let (name, rest) = call.trim_start().split_once('(')?;
        let (path, rest) = rest.split_once('<')?.1.split_once('>')?;
        if !path.contains("/agent/sessions/") {
            return None;
        }
        if name != "write" {
            return Some(if path.ends_with(".jsonl") { "! ".to_string() } else { "/ ".to_string() });
        }
        let value = |key: &str| rest.split_once(&format!("\\\"{key}\\\":\\\""))?.1.split('\\').next();
        Some(format!("{} ", value("role").or_else(|| value("type"))?))
    };
    trace.lines().filter_map(step).collect::<String>().trim_end().to_string()
}

#[test]
fn sessions_are_synced_to_disk_according_to_the_setting() {
    // First a prompt with a call and an answer; then one entry, and the end of the program.
    for (policy, prompt, close) in [
        (
            "turn",
            "session model_change thinking_level_change user ! / assistant toolResult ! assistant !",
            "thinking_level_change !",
        ),
        (
            "always",
            "session ! / model_change ! thinking_level_change ! user ! assistant ! toolResult ! assistant !",
            "thinking_level_change !",
        ),
        (
            "never",
            "session model_change thinking_level_change user assistant toolResult assistant",
            "thinking_level_change",
        ),
    ] {
        let stage = Stage::scripted(&[call("A", "bash", json!({"command": "true"})), text("B")]);
        stage.write("home/agent/settings.json", &json!({"sessions": {"fsync": policy}}).to_string());
        assert_eq!(forced(&stage, &["--script", "script.jsonl", "-p", "go"], ""), prompt, "{policy}");
        let level = "{\"type\":\"set_thinking_level\",\"level\":\"high\"}\n";
        let args = ["--script", "script.jsonl", "--mode", "rpc", "--continue"];
        assert_eq!(forced(&stage, &args, level), close, "{policy}");
    }
}
