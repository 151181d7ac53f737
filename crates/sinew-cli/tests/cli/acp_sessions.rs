//! ACP mode: many sessions at once, sessions after a restart, and editors with few capabilities.

use std::sync::{Arc, Barrier};

use serde_json::{Value, json};
use sinew_testkit::provider::{RecordedRequest, Reply, Server, Step};

use crate::editor::Editor;
use crate::stage::{Stage, call, chat, messages, text};

/// Returns the last user message in a request.
fn asked(request: &RecordedRequest) -> String {
    let body = request.json();
    let mut users = body["messages"].as_array().unwrap().iter().filter(|message| message["role"] == "user");
    match &users.next_back().unwrap()["content"] {
        Value::String(text) => text.clone(),
        blocks => blocks[0]["text"].as_str().unwrap().to_string(),
    }
}

/// Returns an answer in two pieces that repeats the user message.
fn echo(request: &RecordedRequest) -> Reply {
    let mut pieces = chat(&json!({"content": asked(request)}), "stop");
    pieces.steps.insert(
        0,
        Step::Send(
            format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": {"content": "You said: "}}]})).into(),
        ),
    );
    pieces
}

/// Returns the first piece of an answer that does not continue.
fn unfinished(text: &str) -> Reply {
    let chunk = json!({"choices": [{"index": 0, "delta": {"content": text}}]});
    let mut reply = Reply::stream(format!("data: {chunk}\n\n")).then(Step::Hold);
    reply.steps.retain(|step| matches!(step, Step::Send(_) | Step::Hold));
    reply
}

#[test]
fn thirty_two_sessions_stream_at_once_without_mixing() {
    const SESSIONS: usize = 32;
    // No request is answered before all have arrived, so all are active at once.
    let together = Arc::new(Barrier::new(SESSIONS));
    let server = Server::start(move |request| {
        let asked = asked(request);
        if asked.starts_with("number") {
            together.wait();
            return echo(request);
        }
        if asked.starts_with("wait") { unfinished("I begin. ") } else { echo(request) }
    });
    let stage = Stage::served(&server);
    let mut editor = Editor::served(&stage, json!({}));
    let sessions: Vec<String> = (0..SESSIONS).map(|_| editor.open(&stage)).collect();
    let prompts: Vec<i64> = (0..).zip(&sessions).map(|(at, id)| editor.prompt(id, &format!("number {at}"))).collect();
    for id in prompts {
        assert_eq!(editor.result(id)["stopReason"], "end_turn");
    }
    for (at, session) in (0..).zip(&sessions) {
        assert_eq!(editor.said(session), format!("You said: number {at}"));
    }
    // Closing a session during its answer does not affect the others.
    let turns: Vec<i64> = sessions.iter().map(|session| editor.prompt(session, "wait")).collect();
    for session in &sessions {
        while !editor.said(session).ends_with("I begin. ") {
            editor.frame();
        }
    }
    editor.ask("session/close", json!({"sessionId": sessions[0]}));
    assert_eq!(editor.result(turns[0])["stopReason"], "cancelled");
    editor.notify("session/cancel", json!({"sessionId": sessions[1]}));
    assert_eq!(editor.result(turns[1])["stopReason"], "cancelled");
    assert_eq!(editor.turn(&sessions[1], "again"), "end_turn");
    assert!(editor.said(&sessions[1]).ends_with("You said: again"));
    // The editor disconnects during thirty answers: all of them end, and all sessions are saved.
    assert_eq!(editor.end(), (Some(0), String::new()));
    let files = stage.files();
    assert_eq!(files.len(), SESSIONS);
    let mut begun: Vec<String> = files.iter().map(|file| messages(file)[0].1.clone()).collect();
    begun.sort_by_key(|text| text["number ".len()..].parse::<usize>().unwrap());
    assert_eq!(begun, (0..SESSIONS).map(|at| format!("number {at}")).collect::<Vec<_>>());
    for file in files {
        let said = messages(&file);
        let number = said[0].1.clone();
        assert_eq!(said[1], ("assistant".into(), format!("You said: {number}")));
        assert_eq!(said[2], ("user".into(), "wait".into()));
        assert_eq!(said[3], ("assistant".into(), "I begin. ".into()), "{said:?}");
    }
}

#[test]
fn a_loaded_session_sends_the_same_requests_as_a_live_one() {
    let server = Server::start(echo);
    let stage = Stage::served(&server);
    let mut editor = Editor::served(&stage, json!({}));
    let through = editor.open(&stage);
    for said in ["one", "two"] {
        assert_eq!(editor.turn(&through, said), "end_turn");
    }
    let again = editor.open(&stage);
    assert_eq!(editor.turn(&again, "one"), "end_turn");
    assert_eq!(editor.end().0, Some(0));
    let mut editor = Editor::served(&stage, json!({}));
    editor.ask("session/load", json!({"sessionId": again, "cwd": stage.project(), "mcpServers": []}));
    assert_eq!(editor.turn(&again, "two"), "end_turn");
    assert_eq!(editor.end().0, Some(0));
    let bodies: Vec<String> =
        server.requests().iter().map(|request| String::from_utf8(request.body.clone()).unwrap()).collect();
    let own = |body: &str, session: &str| body.replace(session, "SESSION");
    assert_eq!(own(&bodies[3], &again), own(&bodies[1], &through));
    assert_eq!(own(&bodies[2], &again), own(&bodies[0], &through));
}

#[test]
fn a_streaming_answer_can_be_cancelled_and_the_next_prompt_works() {
    let server = Server::start(|request| match asked(request).as_str() {
        "silent" => unfinished(""),
        "wait" => unfinished("I begin. "),
        _ => echo(request),
    });
    let stage = Stage::served(&server);
    let mut editor = Editor::served(&stage, json!({}));
    let session = editor.open(&stage);
    // Cancels at once, before anything arrived, and in the middle of a text.
    for (said, comes) in [("silent", false), ("wait", true)] {
        let id = editor.prompt(&session, said);
        if comes {
            editor.update("agent_message_chunk");
        }
        editor.notify("session/cancel", json!({"sessionId": session}));
        assert_eq!(editor.result(id), json!({"stopReason": "cancelled"}));
    }
    assert_eq!(editor.turn(&session, "again"), "end_turn");
    assert!(editor.said(&session).ends_with("You said: again"));
    assert_eq!(editor.end().0, Some(0));
}

#[test]
fn without_editor_capabilities_files_come_from_disk_and_nothing_is_permitted() {
    let stage = Stage::scripted(&[
        call("", "write", json!({"path": "a.txt", "content": "one\n"})),
        call("", "edit", json!({"path": "a.txt", "oldText": "one", "newText": "two"})),
        call("", "read", json!({"path": "a.txt"})),
        call("", "grep", json!({"pattern": "two"})),
        call("", "bash", json!({"command": "touch ran"})),
        call("", "ask", json!({"questions": [{"question": "Which?", "options": [{"label": "red"}]}]})),
        call("", "ask", json!({"questions": [{"question": "What is your name?"}]})),
        text("Done."),
    ]);
    stage.write("home/agent/settings.json", &json!({"permissions": {"ask": ["bash(*)"]}}).to_string());
    let mut editor = Editor::of(stage.command(&["--mode", "acp", "--script", "script.jsonl"]));
    // The client sends no capabilities at all.
    editor.ask("initialize", json!({"protocolVersion": 1}));
    let session = editor.open(&stage);
    let id = editor.prompt(&session, "go");
    let mut asked = Vec::new();
    loop {
        let frame = editor.frame();
        if frame.get("method").is_none() && frame["id"] == id {
            break;
        }
        if let (Some(method), Some(request)) = (frame["method"].as_str(), frame.get("id")) {
            asked.push(method.to_string());
            let error = json!({"code": -32601, "message": "Method not found"});
            editor.send(&json!({"jsonrpc": "2.0", "id": request, "error": error}));
        }
    }
    assert_eq!(editor.result(id)["stopReason"], "end_turn");
    // Files are read from disk, and permission requests are the only request that every editor supports.
    assert_eq!(asked, ["session/request_permission"; 2]);
    assert_eq!(std::fs::read_to_string(stage.path("project/a.txt")).unwrap(), "two\n");
    assert!(!stage.path("project/ran").exists());
    let updates = editor.updates(&session);
    let states: Vec<&str> = updates
        .iter()
        .filter_map(|update| update["status"].as_str())
        .filter(|status| matches!(*status, "completed" | "failed"))
        .collect();
    assert_eq!(states[..5], ["completed", "completed", "completed", "completed", "failed"], "{updates:#?}");
    assert_eq!(states.len(), 7, "{updates:#?}");
    let all: String = updates.iter().map(Value::to_string).collect();
    assert!(all.contains("1:two") && all.contains("The user refused this call (permission rule bash(*))."), "{all}");
    assert!(editor.said(&session).ends_with("Done."));
    assert_eq!(editor.end(), (Some(0), String::new()));
}

#[test]
fn a_disconnect_during_a_permission_request_refuses_the_call() {
    let stage = Stage::scripted(&[call("", "bash", json!({"command": "touch ran"})), text("Done.")]);
    stage.write("home/agent/settings.json", &json!({"permissions": {"ask": ["bash(*)"]}}).to_string());
    let mut editor = Editor::scripted(&stage, json!({}));
    let session = editor.open(&stage);
    editor.prompt(&session, "go");
    editor.asked("session/request_permission");
    assert_eq!(editor.end(), (Some(0), String::new()));
    assert!(!stage.path("project/ran").exists());
    assert_eq!(stage.said()[0], ("user".to_string(), "go".to_string()));
}

#[cfg(target_os = "linux")]
#[test]
fn sessions_of_one_directory_share_its_workspace() {
    let searches = |said: &str| call(said, "grep", json!({"pattern": "needle"}));
    let stage = Stage::scripted(&[
        json!({"type": "script", "version": 1, "onExhausted": "repeat"}),
        searches("One."),
        searches("Two."),
        text("Done."),
    ]);
    stage.write("project/a.txt", "needle\n");
    let mut editor = Editor::scripted(&stage, json!({}));
    let sessions = [editor.open(&stage), editor.open(&stage)];
    let descriptors = format!("/proc/{}/fd", editor.child.id());
    let watches = || {
        let open = std::fs::read_dir(&descriptors).unwrap().flatten();
        let targets = open.filter_map(|entry| std::fs::read_link(entry.path()).ok());
        targets.filter(|target| target.to_string_lossy().contains("inotify")).count()
    };
    // The first search of a session opens the workspace in the background, and later ones use it.
    while watches() == 0 {
        assert_eq!(editor.turn(&sessions[0], "go"), "end_turn");
    }
    for _ in 0..5 {
        for session in &sessions {
            assert_eq!(editor.turn(session, "go"), "end_turn");
            assert_eq!(watches(), 1);
        }
    }
    // The workspace stays open when the session that opened it is closed.
    editor.ask("session/close", json!({"sessionId": sessions[0]}));
    assert_eq!(editor.turn(&sessions[1], "go"), "end_turn");
    assert!(editor.updates(&sessions[1]).iter().any(|update| update.to_string().contains("needle")));
    assert_eq!(watches(), 1);
    assert_eq!(editor.end(), (Some(0), String::new()));
}
