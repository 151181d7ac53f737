//! RPC mode under load: slow readers, ends in every state, and the same events as in JSON mode.

use std::io::{Read, Write};
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::client::Client;
use crate::stage::{Stage, call, messages, silent, text};

/// Returns the resident memory of a process in bytes.
fn memory(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

#[test]
fn a_slow_reader_costs_no_memory_and_gets_every_event() {
    // Twenty messages of one megabyte, without pauses.
    let big = json!({"type": "turn", "chunk": 4096, "content": [{"text": "x".repeat(1 << 20)}]});
    let stage = Stage::scripted(&vec![big; 20]);
    let mut command = stage.command(&["--mode", "rpc", "--script", "script.jsonl"]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    for at in 0..20 {
        let kind = if at == 0 { "prompt" } else { "follow_up" };
        writeln!(stdin, "{}", json!({"id": at, "type": kind, "message": "go"})).unwrap();
    }
    writeln!(stdin, "{}", json!({"id": "late", "type": "set_follow_up_mode", "mode": "one-at-a-time"})).unwrap();
    // The program is blocked when it uses no processor time any more.
    let (begun, mut most) = (Instant::now(), 0);
    let ticks = || {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
        let rest: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
        rest[11].parse::<u64>().unwrap() + rest[12].parse::<u64>().unwrap()
    };
    let (mut before, mut quiet) = (u64::MAX, Instant::now());
    while quiet.elapsed() < Duration::from_millis(500) && begun.elapsed() < Duration::from_secs(60) {
        most = most.max(memory(child.id()));
        let now = ticks();
        if now != before {
            (before, quiet) = (now, Instant::now());
        }
        std::thread::yield_now();
    }
    assert!(most < 150 << 20, "{most} bytes");
    // Signals are still handled in this state; now all output is read.
    let mut out = String::new();
    let mut stdout = child.stdout.take().unwrap();
    let reader = std::thread::spawn(move || {
        stdout.read_to_string(&mut out).unwrap();
        out
    });
    // Waits for the end of the run before stdin is closed.
    while stage.files().first().is_none_or(|file| messages_in(file) < 40) {
        assert!(begun.elapsed() < Duration::from_secs(120));
        std::thread::yield_now();
    }
    drop(stdin);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let out = reader.join().unwrap();
    let frames: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let deltas = frames.iter().filter_map(|frame| frame["assistantMessageEvent"]["delta"].as_str());
    assert_eq!(deltas.map(str::len).sum::<usize>(), 20 << 20);
    assert_eq!(frames.iter().filter(|frame| frame["type"] == "response").count(), 21);
}

/// Returns the number of messages in a session file of any size.
fn messages_in(file: &std::path::Path) -> usize {
    let bytes = std::fs::read(file).unwrap_or_default();
    bytes.split(|byte| *byte == b'\n').filter(|line| line.starts_with(b"{\"type\":\"message\"")).count()
}

#[test]
fn a_signal_ends_the_program_although_nobody_reads() {
    let big = json!({"type": "turn", "chunk": 4096, "content": [{"text": "x".repeat(1 << 20)}]});
    let stage = Stage::scripted(&[big]);
    let command = &mut stage.command(&["--mode", "rpc", "--script", "script.jsonl"]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    writeln!(stdin, "{}", json!({"type": "prompt", "message": "go"})).unwrap();
    while stage.files().is_empty() {
        std::thread::yield_now();
    }
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(143));
    assert_eq!(stage.said()[0].1, "go");
}

#[test]
fn signals_end_the_program_and_save_the_session() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 143)] {
        let (server, told) = silent();
        let stage = Stage::served(&server);
        let mut client = Client::of(stage.command(&["--mode", "rpc"]));
        client.data("prompt", json!({"message": "remember me"}));
        told.recv().unwrap();
        kill_process(Pid::from_child(&client.child), signal).unwrap();
        let ended = client.wait();
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(code), ""));
        assert_eq!(stage.said()[0], ("user".to_string(), "remember me".to_string()));
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let stage = Stage::scripted(&[text(&"many words ".repeat(30_000))]);
    let command = &mut stage.command(&["--mode", "rpc", "--script", "script.jsonl"]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    writeln!(stdin, "{}", json!({"type": "prompt", "message": "go"})).unwrap();
    let mut ready = [0; 17];
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_exact(&mut ready).unwrap();
    while stage.files().is_empty() {
        std::thread::yield_now();
    }
    drop(stdout);
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!((child.wait().unwrap().code(), stderr.as_str()), (Some(0), ""));
    assert_eq!(stage.said()[0].1, "go");
    drop(stdin);
}

/// A state of the program: a script, and the commands that lead to the state.
struct State {
    name: &'static str,
    script: Vec<Value>,
    settings: &'static str,
    reach: fn(&Stage, &mut Client),
}

fn states() -> Vec<State> {
    let hang = || json!({"type": "fault", "kind": "idle"});
    let state = |name, script, reach| State { name, script, settings: "{}", reach };
    fn go(client: &mut Client, event: &str) {
        client.data("prompt", json!({"message": "go"}));
        client.event(event);
    }
    vec![
        state("idle", vec![], |_, _| {}),
        state("streaming", vec![hang()], |_, client| go(client, "turn_start")),
        state("tool", vec![call("A", "bash", json!({"command": "touch begun; sleep 1000"}))], |stage, client| {
            go(client, "tool_execution_start");
            stage.wait_for("project/begun");
        }),
        State {
            name: "retrying",
            script: vec![json!({"type": "fault", "kind": "http", "status": 503}), text("B")],
            settings: r#"{"retry": {"baseDelayMs": 1000000, "maxDelayMs": 10000000}}"#,
            reach: |_, client| go(client, "auto_retry_start"),
        },
        state(
            "compacting",
            vec![
                text(&"words ".repeat(20_000)),
                text("B"),
                json!({"type": "fault", "kind": "idle", "lane": "compact"}),
            ],
            |_, client| {
                client.prompt("one");
                client.prompt("two");
                client.begin("compact", json!({}));
                client.event("auto_compaction_start");
            },
        ),
        state("bash", vec![], |stage, client| {
            client.begin("bash", json!({"command": "touch begun; sleep 1000"}));
            stage.wait_for("project/begun");
        }),
    ]
}

#[test]
fn commands_are_answered_in_every_state_and_abort_works() {
    for State { name, script, settings, reach } in states() {
        let stage = Stage::scripted(&script);
        stage.write("home/agent/settings.json", settings);
        let mut client = Client::scripted(&stage, &[]);
        reach(&stage, &mut client);
        let state = client.data("get_state", json!({}));
        let is = |key: &str| state[key] == true;
        let expect = (!["idle", "bash"].contains(&name), name == "compacting", name == "retrying");
        assert_eq!((is("isStreaming"), is("isCompacting"), is("isRetrying")), expect, "{name}");
        for quick in ["get_messages", "get_session_stats", "get_tree", "get_commands", "get_tools", "list_sessions"] {
            client.data(quick, json!({}));
        }
        client.data("set_steering_mode", json!({"mode": "all"}));
        if expect.0 {
            assert!(client.fails("prompt", json!({"message": "m"})).contains("streamingBehavior"), "{name}");
        }
        let end = match name {
            "retrying" => "abort_retry",
            "compacting" => "abort_compaction",
            "bash" => "abort_bash",
            _ => "abort",
        };
        client.data(end, json!({}));
        client.data("abort", json!({}));
        client.count("agent_settled", usize::from(["streaming", "tool", "retrying"].contains(&name)));
        let state = client.data("get_state", json!({}));
        let is = |key: &str| state[key] == true;
        assert_eq!((is("isStreaming"), is("isCompacting"), is("isRetrying")), (false, false, false), "{name}");
        assert_eq!(client.end().code, Some(0), "{name}");
    }
}

#[test]
fn the_end_of_stdin_leaves_a_loadable_session_in_every_state() {
    for State { name, script, settings, reach } in states() {
        let stage = Stage::scripted(&script);
        stage.write("home/agent/settings.json", settings);
        let mut client = Client::scripted(&stage, &[]);
        reach(&stage, &mut client);
        let ended = client.end();
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{name}");
        let count = |kind: &str| ended.seen.iter().filter(|frame| frame["type"] == kind).count();
        assert_eq!(count("agent_start"), count("agent_end"), "{name}");
        assert_eq!(count("turn_start"), count("turn_end"), "{name}");
        let Some(file) = stage.files().pop() else { continue };
        assert!(!messages(&file).is_empty(), "{name}");
        let again = Stage::scripted(&[text("fine")]);
        let ran = again.play(&["-p", "--session", file.to_str().unwrap(), "go on"]);
        assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (Some(0), "fine\n", ""), "{name}");
    }
}

#[test]
fn rpc_events_equal_those_of_json_mode() {
    let script = [
        json!({"type": "turn", "content": [{"thinking": "hm"}, {"text": "A"},
            {"toolCall": {"name": "ls", "arguments": {}}},
            {"toolCall": {"name": "read", "arguments": {"path": "a"}}},
            {"toolCall": {"name": "nope", "arguments": {}}}]}),
        json!({"type": "fault", "kind": "http", "status": 503}),
        text("B"),
    ];
    // Tools that run at the same time may end in any order.
    let settings = r#"{"retry": {"baseDelayMs": 1}, "toolExecution": "sequential"}"#;
    let stage = Stage::scripted(&script);
    stage.write("project/a", "one\n");
    stage.write("home/agent/settings.json", settings);
    // With and without snapshots.
    for form in [&["--json-snapshots"][..], &[]] {
        same_events(&stage, form);
    }
}

#[track_caller]
fn same_events(stage: &Stage, form: &[&str]) {
    let ran = stage.play(&[form, &["--mode", "json", "--exclude-tools", "ask", "go"]].concat());
    let json_mode: Vec<Value> = ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let has_snapshots =
        json_mode.iter().any(|event| event["type"] == "message_update" && event.get("message").is_some());
    assert_eq!(has_snapshots, !form.is_empty());
    // Only RPC mode supports questions.
    let mut client = Client::scripted(stage, &[form, &["--exclude-tools", "ask"]].concat());
    client.data("prompt", json!({"message": "go"}));
    let rpc_mode = client.end_after("agent_settled").seen;
    // JSON mode has a header, writes the end of a run when it knows whether another one follows, and omits the event
    // that its own end implies; RPC mode has responses.
    let framing = ["session", "ready", "response", "agent_settled", "agent_end"];
    let plain = |frames: Vec<Value>| -> Vec<Value> {
        let kept = frames.into_iter().filter(|frame| !framing.contains(&frame["type"].as_str().unwrap()));
        kept.map(without_times).collect()
    };
    let ends = |frames: &[Value]| -> Vec<Value> {
        frames.iter().filter(|frame| frame["type"] == "agent_end").cloned().map(without_times).collect()
    };
    assert_eq!(ends(&json_mode), ends(&rpc_mode));
    let (json_mode, rpc_mode) = (merged(plain(json_mode)), merged(plain(rpc_mode)));
    assert_eq!(json_mode.len(), rpc_mode.len());
    for (of_json, of_rpc) in json_mode.iter().zip(&rpc_mode) {
        assert_eq!(of_json, of_rpc);
    }
}

/// Removes the values from a frame that differ from run to run.
fn without_times(mut frame: Value) -> Value {
    match &mut frame {
        Value::Object(fields) => {
            fields.retain(|key, _| !["timestamp", "durationMs", "delayMs"].contains(&key.as_str()));
            fields.iter_mut().for_each(|(_, value)| *value = without_times(value.take()));
        }
        Value::Array(list) => list.iter_mut().for_each(|value| *value = without_times(value.take())),
        _ => {}
    }
    frame
}

/// Joins consecutive deltas, because their number depends on the clock.
fn merged(frames: Vec<Value>) -> Vec<Value> {
    let mut out: Vec<Value> = Vec::new();
    for frame in frames {
        let same = |key: &str, last: &Value| last["assistantMessageEvent"][key] == frame["assistantMessageEvent"][key];
        let delta = frame["assistantMessageEvent"]["delta"].as_str().map(str::to_string);
        match (out.last_mut(), delta) {
            (Some(last), Some(delta)) if same("type", last) && same("contentIndex", last) => {
                let whole = format!("{}{delta}", last["assistantMessageEvent"]["delta"].as_str().unwrap_or_default());
                *last = frame;
                last["assistantMessageEvent"]["delta"] = json!(whole);
            }
            _ => out.push(frame),
        }
    }
    out
}

#[test]
fn too_many_running_commands_are_refused_and_the_others_finish() {
    let stage = Stage::scripted(&[]);
    let mut client = Client::scripted(&stage, &[]);
    let ids: Vec<Value> = (0..150).map(|_| client.begin("bash", json!({"command": "sleep 1000"}))).collect();
    let refused = client.response(&ids[149]);
    assert!(refused["error"].as_str().unwrap().contains("100 commands are already running"), "{refused}");
    client.data("abort_bash", json!({}));
    client.count("response", 151);
    let ended = client.end();
    assert_eq!(ended.code, Some(0));
    for id in &ids {
        assert_eq!(ended.seen.iter().filter(|frame| frame["id"] == *id).count(), 1, "{id}");
    }
}

#[test]
fn a_line_above_64_mb_is_refused_without_buffering_it() {
    let stage = Stage::scripted(&[]);
    let mut client = Client::scripted(&stage, &[]);
    let piece = vec![b'x'; 1 << 20];
    client.raw(b"{\"type\":\"prompt\",\"message\":\"");
    for _ in 0..200 {
        client.raw(&piece);
    }
    client.raw(b"\"}\n{\"id\":1,\"type\":\"abort_bash\"}\n");
    let refused = client.frame();
    assert_eq!(refused["error"], "Failed to parse command: the line is longer than 64 MB");
    assert_eq!(client.frame()["id"], 1);
    assert!(memory(client.child.id()) < 100 << 20);
    assert_eq!(client.end().code, Some(0));
}

#[test]
fn settings_that_change_the_flow_are_ignored() {
    let list = json!({"ops": [{"op": "init", "list": [{"phase": "p", "items": ["write tests"]}]}]});
    let stage = Stage::scripted(&[call("A", "todo", list), text("B"), text("C"), text("D"), text("E")]);
    let settings = json!({"todo": {"reminders": false}, "async": {"enabled": true},
        "bash": {"autoBackground": {"thresholdMs": 1}, "timeoutSeconds": 7}});
    stage.write("home/agent/settings.json", &settings.to_string());
    let mut client = Client::scripted(&stage, &[]);
    let tools = client.data("get_tools", json!({}));
    let names: Vec<&str> =
        tools["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"bash") && !names.contains(&"job"), "{names:?}");
    client.data("prompt", json!({"message": "go"}));
    client.event("agent_settled");
    assert_eq!(client.seen.iter().filter(|frame| frame["type"] == "todo_reminder").count(), 3);
    assert_eq!(client.end().code, Some(0));
}

#[test]
fn warnings_are_events_and_startup_errors_go_to_stderr() {
    let stage = Stage::scripted(&[]);
    stage.write("home/agent/settings.json", r#"{"speed": 1}"#);
    let mut client = Client::scripted(&stage, &["--verbose"]);
    let warning = client.event("warning");
    assert!(warning["message"].as_str().unwrap().contains("speed: unknown key"), "{warning}");
    let ended = client.end();
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    let ran = stage.run(&["--mode", "rpc"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(3), ""), "{}", ran.stderr);
    let ran = stage.play(&["--mode", "rpc", "@script.jsonl"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{}", ran.stderr);
}
