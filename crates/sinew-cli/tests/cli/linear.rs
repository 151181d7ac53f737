//! Linear mode, as with a screen reader: the scripts of the interactive mode, with lines of text.

use rustix::process::{Signal, kill_process};
use serde_json::json;

use crate::interactive::call;
use crate::stage::{Stage, text as answer};
use crate::terminal::{self, Terminal};

const SIZE: (u16, u16) = (80, 40);

fn start(stage: &Stage, args: &[&str]) -> Terminal {
    start_as("xterm-256color", stage, &[&["--linear"], args].concat())
}

fn start_as(term: &str, stage: &Stage, args: &[&str]) -> Terminal {
    let mut terminal = Terminal::start_as(term, stage, &[&["--script", "script.jsonl"], args].concat(), SIZE);
    terminal.until_shown("Ready.");
    terminal
}

/// Waits until the model has completed this number of runs; returns the rows.
#[track_caller]
fn until_ready(terminal: &mut Terminal, times: usize) -> Vec<String> {
    terminal.until(|rows| rows.iter().filter(|row| *row == "Ready.").count() == times)
}

/// Exits, checks that no byte moved the cursor out of the input line, and returns the remaining rows.
#[track_caller]
fn left(terminal: Terminal) -> Vec<String> {
    let bytes = String::from_utf8(terminal.bytes.clone()).expect("text");
    for sequence in bytes.split('\x1b').skip(1) {
        let allowed = ["[K", "[?2004h", "[?2004l", "[?2026l", "[m", "]8;;", "\\", "[?25h"];
        assert!(allowed.iter().any(|known| sequence.starts_with(known)), "{sequence:?}");
    }
    terminal::left(terminal)
}

/// Repeats an answer until the question accepts it.
#[track_caller]
fn answer_with(terminal: &mut Terminal, line: &str) {
    let refused = |text: &str| text.matches("Too soon").count();
    loop {
        let before = refused(&String::from_utf8_lossy(&terminal.bytes));
        terminal.send(line);
        terminal.until_sent(|text| text.contains("Answered.") || refused(text) > before);
        if String::from_utf8_lossy(&terminal.bytes).contains("Answered.") {
            return;
        }
    }
}

#[test]
fn a_prompt_is_answered_and_the_session_resumes_later() {
    let stage = Stage::scripted(&[answer("It is a parser.\n\nIt parses.")]);
    let mut terminal = start(&stage, &[]);
    terminal.send("What is it?\r");
    let rows = until_ready(&mut terminal, 2);
    let from = rows.iter().position(|row| row == "You: What is it?").expect("the prompt");
    assert_eq!(rows[from + 1..from + 5], ["Assistant: It is a parser.", "", "It parses.", "Ready."], "{rows:#?}");
    assert!(terminal.bytes.contains(&7), "the end of a run is heard");
    let rows = left(terminal);
    let resume = rows.iter().find_map(|row| row.strip_prefix("Resume with: sinew -r ")).expect("how to go on");
    let rows = left(start(&stage, &["-r", resume]));
    for row in ["You: What is it?", "Assistant: It is a parser."] {
        assert!(rows.iter().any(|shown| shown == row), "{row:?} in {rows:#?}");
    }
}

#[test]
fn tools_report_their_actions() {
    let stage = Stage::scripted(&[
        call("bash", json!({"command": "seq 3"})),
        call("edit", json!({"path": "a.txt", "edits": [{"oldText": "one", "newText": "two"}]})),
        call("bash", json!({"command": "echo why; exit 3"})),
        answer("Done."),
    ]);
    stage.write("project/a.txt", "one\n");
    let mut terminal = start(&stage, &[]);
    terminal.send("go\r");
    let rows = until_ready(&mut terminal, 2);
    let said = [
        "Runs: seq 3",
        "1",
        "2",
        "3",
        "Done, exit 0",
        "Edits: a.txt",
        "Done, changed:",
        "-one",
        "+two",
        "Runs: echo why; exit 3",
    ];
    let from = rows.iter().position(|row| row == said[0]).expect("the first tool");
    let lines: Vec<&String> = rows[from..].iter().filter(|row| said.contains(&row.as_str())).collect();
    assert_eq!(lines, said, "{rows:#?}");
    assert!(rows.iter().any(|row| row.starts_with("Failed: ")), "{rows:#?}");
    assert!(rows.iter().any(|row| row == "Assistant: Done."), "{rows:#?}");
    left(terminal);
}

#[test]
fn an_interrupt_returns_queued_messages_in_order() {
    let stage =
        Stage::scripted(&[call("bash", json!({"command": "touch begun; read -r line < wait"})), answer("never")]);
    // Otherwise the steered message would end the tool at once, and would be delivered before the interrupt.
    stage.write("home/agent/settings.json", r#"{"interruptMode": "wait"}"#);
    let fifo = stage.path("project/wait");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let mut terminal = start(&stage, &[]);
    terminal.send("go\r");
    stage.wait_for("project/begun");
    terminal.send("first\r");
    terminal.until_shown("Queued: 1 for the model");
    terminal.send("second\x11");
    terminal.until_shown("Queued: 2 for the model");
    terminal.send("draft");
    terminal.until_shown("You: draft");
    terminal.send("\x1b");
    // Before the draft, oldest first, each in its own rows.
    terminal.until(|rows| {
        let Some(first) = rows.iter().rposition(|row| row.trim_start_matches("You:").trim() == "first") else {
            return false;
        };
        let texts: Vec<&str> = rows[first + 1..].iter().map(|row| row.trim()).filter(|row| !row.is_empty()).collect();
        texts.starts_with(&["second", "draft"])
    });
    // The editor contains one text again: ctrl+c clears it.
    terminal.send("\x03");
    until_ready(&mut terminal, 2);
    left(terminal);
}

#[test]
fn a_user_command_runs_in_the_shell() {
    let stage = Stage::scripted(&[answer("ok")]);
    let mut terminal = start(&stage, &[]);
    terminal.send("!echo $((6 * 7)); exit 3\r");
    let rows = terminal.until_shown("Done, exit 3");
    assert!(rows.iter().any(|row| row == "42"), "{rows:#?}");
    left(terminal);
}

#[test]
fn a_slash_command_that_cannot_run_reports_why_and_stays() {
    let stage = Stage::scripted(&[answer("ok")]);
    let mut terminal = start(&stage, &[]);
    terminal.send("/model nosuch\r");
    terminal.until(|rows| {
        let error = rows.iter().position(|row| row.starts_with("Error: Model not found: nosuch"));
        error.is_some_and(|at| rows[at..].iter().any(|row| row == "You: /model nosuch"))
    });
    terminal.send("\x03/status\r");
    terminal.until_shown("Status: ready");
    left(terminal);
}

#[test]
fn a_permission_is_granted_by_number() {
    let stage = Stage::scripted(&[call("bash", json!({"command": "touch made"})), answer("It is there.")]);
    stage.write("home/agent/settings.json", r#"{"permissions": {"ask": ["bash(*)"]}}"#);
    let mut terminal = start(&stage, &[]);
    terminal.send("go\r");
    let rows = terminal.until_shown("Answer with a number");
    assert!(rows.iter().any(|row| row.starts_with("Asks 1 of 1: bash in ")), "{rows:#?}");
    assert!(rows.iter().any(|row| row == "touch made"), "{rows:#?}");
    assert!(rows.iter().any(|row| row == "2. yes, and in this session: bash(touch made)"), "{rows:#?}");
    assert!(rows.iter().any(|row| row.starts_with("1. yes, once")), "{rows:#?}");
    assert!(!stage.path("project/made").exists());
    answer_with(&mut terminal, "1\r");
    // The program waits for the end of the run.
    terminal.until(|rows| {
        let said = rows.iter().position(|row| row == "Assistant: It is there.");
        said.is_some_and(|said| rows[said..].iter().any(|row| row == "Ready."))
    });
    assert!(stage.path("project/made").exists());
    left(terminal);
}

#[test]
fn escape_refuses_a_permission() {
    let stage = Stage::scripted(&[call("bash", json!({"command": "touch made"})), answer("never")]);
    stage.write("home/agent/settings.json", r#"{"permissions": {"ask": ["bash(*)"]}}"#);
    let mut terminal = start(&stage, &[]);
    terminal.send("go\r");
    terminal.until_shown("Answer with a number");
    terminal.send("\x1b");
    until_ready(&mut terminal, 2);
    assert!(!stage.path("project/made").exists());
    left(terminal);
}

#[test]
fn list_items_are_chosen_by_number() {
    let stage = Stage::scripted(&[answer("ok")]);
    let mut terminal = start(&stage, &[]);
    terminal.send("/model\r");
    let rows = terminal.until_shown("Choose a number or a name");
    let first = rows.iter().find_map(|row| row.strip_prefix("1. ")).expect("a model").to_string();
    let name = first.split(',').next().unwrap_or_default();
    terminal.send("1\r");
    terminal.until_shown(&format!("{name} answers from now on"));
    left(terminal);
}

#[test]
fn a_signal_restores_the_terminal() {
    let stage = Stage::scripted(&[answer("ok")]);
    let terminal = start(&stage, &[]);
    kill_process(terminal.pid(), Signal::TERM).unwrap();
    let (status, _) = terminal.ended();
    assert_eq!(status.code(), Some(143));
}

#[test]
fn a_dumb_terminal_gets_plain_text_without_escapes() {
    let stage =
        Stage::scripted(&[call("bash", json!({"command": "touch begun; read -r line < wait"})), answer("It is done.")]);
    let fifo = stage.path("project/wait");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let mut terminal = start_as("dumb", &stage, &[]);
    terminal.send("go\n");
    stage.wait_for("project/begun");
    terminal.send("and then\n");
    terminal.until_shown("Queued: 1 for the model");
    // ctrl+c aborts the run and does not end the program.
    terminal.send("\x03");
    terminal.until_shown("Not sent: and then");
    until_ready(&mut terminal, 2);
    terminal.send("\x04");
    assert!(!terminal.bytes.contains(&0x1b), "{:?}", String::from_utf8_lossy(&terminal.bytes));
    let (status, rows) = terminal.ended();
    assert_eq!(status.code(), Some(0), "{rows:#?}");
}
