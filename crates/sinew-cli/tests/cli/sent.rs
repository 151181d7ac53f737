//! Texts between Enter and the conversation. Each step is blocked by a real cause: a pipe without a writer, a hook that
//! waits, a server that does not answer.

use std::fs::File;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::stage::{Stage, messages, text as answer};
use crate::terminal::{Terminal, enter, has, left};

const SIZE: (u16, u16) = (80, 24);
const TEXT: &str = "what was typed";

/// Waits for a reader of the pipe, and lets it read the end of the input; the file is deleted.
fn go_on(pipe: &Path) {
    let end = File::options().write(true).open(pipe).unwrap();
    std::fs::remove_file(pipe).unwrap();
    drop(end);
}

/// Installs a hook that creates `project/asked` at a point, and then waits until `project/go` is written.
fn waits_at(stage: &Stage, point: &str) -> PathBuf {
    let hook = json!({"event": point, "shell": true, "command": "touch asked; read -r line < go; echo '{}'"});
    stage.write("home/agent/hooks.json", &json!({"hooks": [hook]}).to_string());
    stage.pipe("project/go")
}

/// Waits until `fits` returns true for the screen, and checks that the text is in exactly one place in each frame.
#[track_caller]
fn until(terminal: &mut Terminal, fits: impl Fn(&[String]) -> bool) -> Vec<String> {
    terminal.until(|rows| {
        let places = rows.iter().filter(|row| row.contains(TEXT)).count();
        assert_eq!(places, 1, "{rows:#?}");
        fits(rows)
    })
}

/// Returns true if the text is in the editor, below the status row.
fn is_in_editor(rows: &[String]) -> bool {
    rows.iter().rev().find(|row| !row.is_empty()).is_some_and(|row| *row == format!("› {TEXT}"))
}

/// Types the text, and submits it together with a following key.
fn send(terminal: &mut Terminal, key: &str) {
    terminal.send(TEXT);
    terminal.until(is_in_editor);
    terminal.send(&format!("\r{key}"));
}

/// Checks that the text is only in the editor: it is in no session, and is not sent later.
#[track_caller]
fn is_back(stage: &Stage, mut terminal: Terminal) {
    until(&mut terminal, |rows| is_in_editor(rows) && has(rows, "ready"));
    terminal.send("\x03");
    terminal.until_shown("cleared");
    left(terminal);
    for file in stage.files() {
        assert!(!messages(&file).iter().any(|(_, said)| said.contains(TEXT)));
    }
}

#[test]
fn an_interrupt_before_the_agent_starts_returns_the_text() {
    for key in ["\x1b", "\x03"] {
        let stage = Stage::new();
        // The start reads its model from a pipe.
        let script = stage.pipe("project/script.jsonl");
        let mut terminal = Terminal::start(&stage, &["--script", "script.jsonl"], SIZE);
        terminal.until_shown("starting");
        send(&mut terminal, "");
        until(&mut terminal, |rows| has(rows, &format!("send  {TEXT}")));
        terminal.send(key);
        until(&mut terminal, is_in_editor);
        std::fs::write(script, answer("never").to_string()).unwrap();
        is_back(&stage, terminal);
    }
}

#[test]
fn an_interrupt_while_the_session_is_read_returns_the_text() {
    for key in ["\x1b", "\x03"] {
        let stage = Stage::scripted(&[answer("never")]);
        let history = stage.pipe("home/agent/history.jsonl");
        let mut terminal = Terminal::start(&stage, &["--script", "script.jsonl"], SIZE);
        terminal.until(|rows| has(rows, "reading the session"));
        send(&mut terminal, "");
        until(&mut terminal, |rows| has(rows, &format!("send  {TEXT}")));
        terminal.send(key);
        until(&mut terminal, is_in_editor);
        go_on(&history);
        is_back(&stage, terminal);
    }
}

#[test]
fn a_text_queued_for_the_session_is_sent_once() {
    let stage = Stage::scripted(&[answer("It is fine.")]);
    let history = stage.pipe("home/agent/history.jsonl");
    let mut terminal = Terminal::start(&stage, &["--script", "script.jsonl"], SIZE);
    terminal.until(|rows| has(rows, "reading the session"));
    send(&mut terminal, "");
    until(&mut terminal, |rows| has(rows, &format!("send  {TEXT}")));
    go_on(&history);
    until(&mut terminal, |rows| has(rows, "It is fine.") && has(rows, "ready"));
    left(terminal);
    assert_eq!(messages(&stage.files()[0]), [("user".into(), TEXT.into()), ("assistant".into(), "It is fine.".into())]);
}

#[test]
fn an_interrupt_during_the_input_hook_returns_the_text() {
    for key in ["\x1b", "\x03"] {
        let stage = Stage::scripted(&[answer("never")]);
        waits_at(&stage, "input");
        let mut terminal = Terminal::start(&stage, &["--script", "script.jsonl"], SIZE);
        terminal.until(|rows| has(rows, "ready"));
        send(&mut terminal, "");
        stage.wait_for("project/asked");
        until(&mut terminal, |rows| has(rows, &format!("send  {TEXT}")));
        terminal.send(key);
        is_back(&stage, terminal);
    }
}

#[test]
fn an_interrupt_between_a_prompt_and_its_run_keeps_the_prompt() {
    for key in ["\x1b", "\x03"] {
        let stage = Stage::scripted(&[answer("never")]);
        waits_at(&stage, "before_agent_start");
        let mut terminal = Terminal::start(&stage, &["--script", "script.jsonl"], SIZE);
        terminal.until(|rows| has(rows, "ready"));
        send(&mut terminal, "");
        stage.wait_for("project/asked");
        until(&mut terminal, |rows| has(rows, &format!("send  {TEXT}")));
        terminal.send(key);
        // The run has begun, and ends before it has sent a request.
        until(&mut terminal, |rows| {
            has(rows, &format!("› {TEXT}")) && has(rows, "■ interrupted") && has(rows, "ready")
        });
        left(terminal);
        let said = messages(&stage.files()[0]);
        assert_eq!(said[0], ("user".into(), TEXT.into()));
        assert!(said.iter().all(|(_, text)| text != "never"), "{said:?}");
    }
}

#[test]
fn an_interrupt_in_the_same_read_as_enter_loses_nothing() {
    // Escape encoded as a separate key, so that the following letter is not part of its sequence.
    for key in ["\x1b[27u", "\x03"] {
        let stage = Stage::scripted(&[json!({"type": "turn", "content": [{"text": "never"}], "delayMs": 600_000})]);
        let mut terminal = Terminal::start(&stage, &["--script", "script.jsonl"], SIZE);
        // The next frame may have arrived together with the first one.
        terminal.until_sent(|text| text.contains("starting"));
        send(&mut terminal, &format!("{key}~"));
        let is_sent = |rows: &[String]| has(rows, &format!("› {TEXT}")) && has(rows, "■ interrupted");
        let rows = terminal.until(|rows| {
            let is_there = |text: &str| rows.iter().filter(|row| row.contains(text)).count() == 1;
            is_there("~") && is_there(TEXT) && !has(rows, "send  ") && has(rows, "ready")
        });
        let is_draft = has(&rows, &format!("› {TEXT}~"))
            || rows.iter().any(|row| row.trim() == "~") && has(&rows, &format!("› {TEXT}"));
        assert!(is_draft || is_sent(&rows), "{rows:#?}");
        terminal.send("\x03");
        terminal.until_shown("cleared");
        left(terminal);
    }
}

#[test]
fn texts_sent_in_one_read_arrive_in_order() {
    let answers: Vec<_> = (1..=8).map(|number| answer(&format!("Answer {number}."))).collect();
    let stage = Stage::scripted(&answers);
    // Reading each session takes a while, the first ones longest.
    let mut terminal = Terminal::start(&stage, &["--script", "script.jsonl"], SIZE);
    terminal.until(|rows| has(rows, "ready"));
    let keys: String = (1..=8).map(|number| format!("prompt {number}\x11")).collect();
    terminal.send(&keys);
    terminal.until(|rows| has(rows, "Answer 8.") && has(rows, "ready"));
    left(terminal);
    let said: Vec<String> =
        messages(&stage.files()[0]).into_iter().filter(|(role, _)| role == "user").map(|(_, text)| text).collect();
    assert_eq!(said, (1..=8).map(|number| format!("prompt {number}")).collect::<Vec<_>>());
}

#[test]
fn a_prompt_sent_while_a_session_starts_goes_to_the_new_one() {
    let stage = Stage::scripted(&[answer("The first."), answer("The second.")]);
    let go = waits_at(&stage, "session_before_switch");
    let mut terminal = Terminal::start(&stage, &["--script", "script.jsonl"], SIZE);
    terminal.until(|rows| has(rows, "ready"));
    enter(&mut terminal, "one");
    terminal.until(|rows| has(rows, "The first.") && has(rows, "ready"));
    enter(&mut terminal, "/new");
    stage.wait_for("project/asked");
    send(&mut terminal, "");
    until(&mut terminal, |rows| has(rows, &format!("send  {TEXT}")));
    std::fs::write(go, "\n").unwrap();
    until(&mut terminal, |rows| has(rows, "The second.") && has(rows, "ready"));
    left(terminal);
    let files = stage.files();
    assert_eq!(files.len(), 2);
    let said: Vec<String> = files.iter().map(|file| messages(file)[0].1.clone()).collect();
    assert_eq!(said, ["one", TEXT]);
}

#[test]
fn a_prompt_stays_in_the_session_when_a_hook_refuses_a_new_one() {
    let stage = Stage::scripted(&[answer("The first."), answer("The second.")]);
    let hook = json!({"event": "session_before_switch", "shell": true,
        "command": "touch asked; read -r line < go; echo '{\"cancel\": true}'"});
    stage.write("home/agent/hooks.json", &json!({"hooks": [hook]}).to_string());
    let go = stage.pipe("project/go");
    let mut terminal = Terminal::start(&stage, &["--script", "script.jsonl"], SIZE);
    terminal.until(|rows| has(rows, "ready"));
    enter(&mut terminal, "one");
    terminal.until(|rows| has(rows, "The first.") && has(rows, "ready"));
    enter(&mut terminal, "/new");
    stage.wait_for("project/asked");
    send(&mut terminal, "");
    until(&mut terminal, |rows| has(rows, &format!("send  {TEXT}")));
    std::fs::write(go, "\n").unwrap();
    until(&mut terminal, |rows| has(rows, "The second.") && has(rows, "ready"));
    left(terminal);
    assert_eq!(stage.files().len(), 1);
    assert_eq!(messages(&stage.files()[0])[2], ("user".into(), TEXT.into()));
}

#[test]
fn a_forked_session_starts_at_the_selected_entry() {
    let stage = Stage::scripted(&[answer("The first."), answer("The second."), answer("The third.")]);
    let mut terminal = Terminal::start(&stage, &["--script", "script.jsonl"], SIZE);
    terminal.until(|rows| has(rows, "ready"));
    for (text, said) in [("one", "The first."), ("two", "The second.")] {
        enter(&mut terminal, text);
        terminal.until(|rows| has(rows, said) && has(rows, "ready"));
    }
    enter(&mut terminal, "/tree");
    terminal.until(|rows| rows.iter().any(|row| row.starts_with("→ ") && row.contains("The second.")));
    // Moves to the answer before.
    terminal.send("\x1b[A\x1b[A");
    terminal.until(|rows| rows.iter().any(|row| row.starts_with("→ ") && row.contains("The first.")));
    terminal.send("\r");
    terminal.until(|rows| has(rows, "── another point in this session ──") && has(rows, "ready"));
    enter(&mut terminal, "/fork");
    terminal.until(|rows| has(rows, "── a copy of the session ──") && has(rows, "ready"));
    enter(&mut terminal, "three");
    terminal.until(|rows| has(rows, "The third.") && has(rows, "ready"));
    left(terminal);
    let files = stage.files();
    assert_eq!(files.len(), 2);
    let entries: Vec<serde_json::Value> =
        std::fs::read_to_string(&files[1]).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let id_of = |text: &str| {
        let entry = entries.iter().find(|entry| entry["message"].to_string().contains(text)).unwrap();
        entry["id"].as_str().unwrap().to_string()
    };
    let third = entries.iter().find(|entry| entry["message"]["content"].to_string().contains("\"three\"")).unwrap();
    assert_eq!(third["parentId"].as_str().unwrap(), id_of("The first."), "{third}");
}

#[test]
fn a_locked_history_file_does_not_block_keys() {
    let stage = Stage::scripted(&[answer("It is fine."), answer("Still fine.")]);
    stage.write("home/agent/history.jsonl", "");
    let held = File::options().write(true).open(stage.path("home/agent/history.jsonl")).unwrap();
    let mut terminal = Terminal::start(&stage, &["--script", "script.jsonl"], SIZE);
    terminal.until(|rows| has(rows, "ready"));
    held.lock().unwrap();
    for (text, said) in [(TEXT, "It is fine."), ("and now?", "Still fine.")] {
        enter(&mut terminal, text);
        terminal.until(|rows| has(rows, said) && has(rows, "ready"));
    }
    held.unlock().unwrap();
    // Prompts that were not written yet are found, newest first.
    terminal.send("\x12");
    terminal.until(|rows| {
        let at = |text: &str| rows.iter().position(|row| row.contains(text) && !row.starts_with("› "));
        at("and now?").zip(at(TEXT)).is_some_and(|(newest, oldest)| newest < oldest)
    });
    terminal.send("\x1b");
    terminal.until(|rows| has(rows, "ready") && !has(rows, "ctrl+r: next match"));
    left(terminal);
    let written = std::fs::read_to_string(stage.path("home/agent/history.jsonl")).unwrap();
    assert_eq!(written.lines().count(), 2, "{written}");
}
