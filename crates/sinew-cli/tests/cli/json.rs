//! JSON mode.

use serde_json::{Value, json};

use crate::stage::{Stage, call, text};

#[track_caller]
fn events(stage: &Stage) -> Vec<Value> {
    events_with(stage, &[])
}

#[track_caller]
fn events_with(stage: &Stage, args: &[&str]) -> Vec<Value> {
    let ran = stage.play(&[args, &["--mode", "json", "go"]].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn kinds(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().unwrap()).filter(|kind| *kind != "message_update").collect()
}

#[test]
fn every_line_is_an_event_in_order() {
    let stage = Stage::scripted(&[call("A", "ls", json!({})), text("B")]);
    let events = events(&stage);
    let message = ["message_start", "message_end"];
    let expect = [
        &["session", "agent_start"][..],
        &message,
        &["turn_start"],
        &message,
        &["tool_execution_start", "tool_execution_end"],
        &message,
        &["turn_end", "turn_start"],
        &message,
        &["turn_end", "agent_end"],
    ];
    assert_eq!(kinds(&events), expect.concat());
    assert_eq!(events[0]["version"], 3);
    assert_eq!(events.last().unwrap()["messages"].as_array().unwrap().len(), 4);
    let deltas = events.iter().filter(|event| event["assistantMessageEvent"]["type"] == "text_delta");
    let texts: String = deltas.map(|event| event["assistantMessageEvent"]["delta"].as_str().unwrap()).collect();
    assert_eq!(texts, "AB");
}

#[test]
fn the_last_line_is_the_end_event_of_the_last_run() {
    let stage = Stage::scripted(&[json!({"type": "fault", "kind": "http", "status": 503}), text("B")]);
    stage.write("home/agent/settings.json", r#"{"retry": {"baseDelayMs": 1}}"#);
    let events = events(&stage);
    let kinds = kinds(&events);
    assert_eq!(kinds.last(), Some(&"agent_end"), "{kinds:?}");
    let count = |kind: &str| kinds.iter().filter(|other| **other == kind).count();
    assert_eq!((count("agent_start"), count("agent_end")), (2, 2), "{kinds:?}");
    assert_eq!((count("auto_retry_start"), count("auto_retry_end")), (1, 1), "{kinds:?}");
    let at = |kind: &str| kinds.iter().position(|other| *other == kind);
    assert!(at("agent_end") < kinds.iter().rposition(|kind| *kind == "agent_start"), "{kinds:?}");
}

#[test]
fn snapshots_are_written_on_request() {
    let stage = Stage::scripted(&[text("some words")]);
    let messages = |events: &[Value]| -> Vec<Value> {
        let ends = events.iter().filter(|event| event["type"] == "message_end");
        ends.map(|event| event["message"]["content"].clone()).collect()
    };
    let (slim, whole) = (events(&stage), events_with(&stage, &["--json-snapshots"]));
    for (events, has_snapshots) in [(&slim, false), (&whole, true)] {
        let updates: Vec<&Value> = events.iter().filter(|event| event["type"] == "message_update").collect();
        assert!(!updates.is_empty());
        assert!(updates.iter().all(|update| update.get("message").is_some() == has_snapshots), "{updates:?}");
        // The message is complete at its end in both formats, and elsewhere only with snapshots.
        assert_eq!(messages(events).len(), 2);
        let last = events.last().unwrap()["messages"].as_array().unwrap();
        assert_eq!(
            last.iter().filter(|message| message.get("content").is_some()).count(),
            if has_snapshots { 2 } else { 0 }
        );
        assert_eq!(last[1]["stopReason"], "stop");
    }
    assert_eq!(messages(&slim), messages(&whole));
}

#[test]
fn a_large_answer_is_written_at_most_four_times() {
    // One answer with many calls whose arguments and results are large.
    let content = "line \"of\" text\n".repeat(4_000);
    let write = |at: usize| json!({"toolCall": {"name": "write", "arguments": {"path": format!("{at}.txt"), "content": content}}});
    let read = |at: usize| json!({"toolCall": {"name": "read", "arguments": {"path": format!("{at}.txt")}}});
    let calls = |call: &dyn Fn(usize) -> Value| json!({"type": "turn", "chunk": 512, "content": (0..12).map(call).collect::<Vec<_>>()});
    let stage = Stage::scripted(&[calls(&write), calls(&read), text("Done.")]);
    let ran = stage.play(&["--mode", "json", "go"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let kept = std::fs::read(&stage.files()[0]).unwrap().len();
    let lines = ran.stdout.lines().count();
    assert!(kept > 12 * content.len(), "{kept}");
    assert!(ran.stdout.len() <= 4 * kept + 256 * lines, "{} of {kept} in {lines} lines", ran.stdout.len());
}

#[test]
fn only_json_reaches_stdout() {
    let stage = Stage::scripted(&[json!({"type": "fault", "kind": "error", "message": "no\u{1b}[2J"})]);
    stage.write("home/agent/settings.json", r#"{"retry": {"enabled": false}, "speed": 1}"#);
    let ran = stage.play(&["--mode", "json", "--verbose", "go"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.stdout.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{}", ran.stdout);
    assert!(ran.stderr.contains("speed: unknown key") && ran.stderr.contains("Error: "), "{}", ran.stderr);
    assert!(!(ran.stdout + &ran.stderr).contains('\x1b'));
}

#[test]
fn jobs_are_reported_and_end_with_the_session() {
    let stage = Stage::scripted(&[
        call(
            "",
            "bash",
            json!({"command": "echo $$ > new; mv new pid; echo out; exec sleep 1000", "background": true}),
        ),
        call("", "job", json!({"action": "wait", "timeout": 0.2})),
        text("It runs."),
    ]);
    stage.write("home/agent/settings.json", r#"{"async": {"enabled": true}}"#);
    let events = events(&stage);
    let jobs: Vec<&Value> = events.iter().filter(|event| event["type"] == "job_update").collect();
    assert_eq!(jobs, [&json!({"type": "job_update", "jobId": "1", "state": "running"})]);
    let ends = events.iter().filter(|event| event["type"] == "tool_execution_end");
    let ends: Vec<&str> = ends.map(|event| event["result"]["content"][0]["text"].as_str().unwrap()).collect();
    assert!(ends[0] == "Started job 1." && ends[1].contains("[Job 1 has been running for "), "{ends:?}");
    if stage.path("project/pid").exists() {
        stage.wait_for_end_of("project/pid");
    }
}
