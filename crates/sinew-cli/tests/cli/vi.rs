//! The vi keys in the editor.

use serde_json::json;

use crate::stage::{Stage, call, text};
use crate::terminal::{Terminal, enter, has, left};

const SIZE: (u16, u16) = (80, 24);

fn start(stage: &Stage) -> Terminal {
    let mut terminal = Terminal::start(stage, &["--script", "script.jsonl"], SIZE);
    terminal.until(|rows| has(rows, "ready"));
    terminal
}

#[test]
fn vi_mode_inserts_edits_and_sends() {
    let stage = Stage::scripted(&[text("Fine."), text("Again.")]);
    stage.write("home/agent/settings.json", &json!({"tui": {"editor": "vi"}}).to_string());
    let mut terminal = start(&stage);
    terminal.until(|rows| has(rows, "ready · insert"));
    terminal.send("one two three");
    terminal.until(|rows| has(rows, "› one two three"));
    terminal.send("\x1b");
    terminal.until(|rows| has(rows, "ready · normal"));
    // An incomplete command is shown.
    terminal.send("02d");
    terminal.until(|rows| has(rows, "ready · normal 2d"));
    terminal.send("w");
    terminal.until(|rows| has(rows, "› three"));
    terminal.send("u");
    terminal.until(|rows| has(rows, "› one two three"));
    terminal.send("wve");
    terminal.until(|rows| has(rows, "ready · visual"));
    terminal.send("cfour");
    terminal.until(|rows| has(rows, "› one four three") && has(rows, "ready · insert"));
    terminal.send("\x1b");
    terminal.until(|rows| has(rows, "ready · normal"));
    terminal.send("q");
    terminal.until_shown("q is not a vi command here");
    terminal.send("\r");
    terminal.until(|rows| has(rows, "Fine.") && has(rows, "ready · insert"));
    assert_eq!(stage.said()[0].1, "one four three");
    // A submitted text is undone in one step, and k selects earlier prompts.
    terminal.send("\x1b");
    terminal.until(|rows| has(rows, "ready · normal"));
    terminal.send("k");
    terminal.until(|rows| has(rows, "› one four three"));
    terminal.send("dd");
    terminal.until(|rows| rows.iter().any(|row| row == "›"));
    enter_insert(&mut terminal, "/vim");
    terminal.until_shown("emacs keys");
    enter(&mut terminal, "xyz");
    terminal.until(|rows| has(rows, "Again.") && has(rows, "ready"));
    left(terminal);
}

/// Enters insert mode, types a line and submits it.
#[track_caller]
fn enter_insert(terminal: &mut Terminal, line: &str) {
    terminal.send("i");
    terminal.until(|rows| has(rows, "ready · insert"));
    enter(terminal, line);
}

#[test]
fn escape_leaves_insert_mode_first_and_interrupts_from_normal_mode() {
    let stage = Stage::scripted(&[call("", "bash", json!({"command": "echo begun; read -r line < wait"}))]);
    stage.pipe("project/wait");
    let mut terminal = start(&stage);
    enter(&mut terminal, "/vim");
    terminal.until(|rows| has(rows, "vi keys: esc for commands"));
    enter(&mut terminal, "go");
    terminal.until_shown("  begun");
    terminal.send("draft");
    terminal.until(|rows| has(rows, "› draft"));
    terminal.send("\x1b");
    terminal.until_shown("· normal");
    terminal.send("\x1b");
    terminal.until(|rows| has(rows, "  Command aborted") && has(rows, "ready · normal") && has(rows, "› draft"));
    terminal.send("\x03");
    terminal.until_shown("cleared");
    left(terminal);
}
