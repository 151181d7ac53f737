//! The interactive mode in a terminal.

use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};

use crate::stage::{Stage, text as answer};
use crate::terminal::{Terminal, left};

const SIZE: (u16, u16) = (80, 24);

pub(crate) fn call(name: &str, arguments: Value) -> Value {
    json!({"type": "turn", "content": [{"toolCall": {"name": name, "arguments": arguments}}]})
}

fn start(stage: &Stage, args: &[&str]) -> Terminal {
    let mut terminal = Terminal::start(stage, &[&["--script", "script.jsonl"], args].concat(), SIZE);
    terminal.until_shown("ready");
    terminal
}

#[test]
fn a_prompt_is_answered_and_the_session_resumes_later_on_screen() {
    let stage = Stage::scripted(&[answer("It is a parser.")]);
    let mut terminal = start(&stage, &[]);
    terminal.send("What is it?\r");
    let rows = terminal.until(|rows| {
        rows.iter().any(|row| row == "It is a parser.") && rows.iter().any(|row| row.starts_with("ready"))
    });
    assert!(rows.contains(&"› What is it?".to_string()), "{rows:#?}");
    let rows = left(terminal);
    let resume = rows.iter().find_map(|row| row.strip_prefix("Resume with: sinew -r ")).expect("how to go on");
    let terminal = start(&stage, &["-r", resume]);
    let rows = left(terminal);
    assert!(rows.contains(&"› What is it?".to_string()) && rows.contains(&"It is a parser.".to_string()), "{rows:#?}");
}

#[test]
fn tool_calls_are_shown() {
    let stage = Stage::scripted(&[
        call("bash", json!({"command": "seq 30"})),
        call("edit", json!({"path": "a.txt", "edits": [{"oldText": "one", "newText": "two"}]})),
        answer("Done."),
    ]);
    stage.write("project/a.txt", "one\n");
    let mut terminal = start(&stage, &[]);
    terminal.send("go\r");
    let rows =
        terminal.until(|rows| rows.iter().any(|row| row == "Done.") && rows.iter().any(|row| row.starts_with("ready")));
    for row in ["  30", "● edit a.txt +1 −1", "1 - one", "1 + two"] {
        assert!(rows.iter().any(|shown| shown == row), "{row:?} in {rows:#?}");
    }
    left(terminal);
}

#[test]
fn an_interrupt_returns_queued_messages_in_order() {
    let stage =
        Stage::scripted(&[call("bash", json!({"command": "echo begun; read -r line < wait"})), answer("never")]);
    // Otherwise the steered message would end the tool at once, and would be delivered before the interrupt.
    stage.write("home/agent/settings.json", r#"{"interruptMode": "wait"}"#);
    let fifo = stage.path("project/wait");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let mut terminal = start(&stage, &[]);
    terminal.send("go\r");
    terminal.until_shown("  begun");
    terminal.send("first\r");
    terminal.until_shown("steer first");
    terminal.send("second\x11");
    terminal.until_shown("then  second");
    terminal.send("draft");
    terminal.until_shown("› draft");
    terminal.send("\x1b");
    let rows = terminal.until(|rows| {
        rows.iter().any(|row| row.contains("draft")) && rows.iter().any(|row| row.starts_with("› first"))
    });
    let from = rows.iter().position(|row| row.starts_with("› first")).unwrap();
    let texts: Vec<&str> = rows[from..].iter().map(|row| row.trim()).filter(|row| !row.is_empty()).collect();
    assert!(texts[0] == "› first" && texts[1] == "second" && texts[2].ends_with("draft"), "{texts:?}");
    terminal.until(|rows| rows.iter().any(|row| row.starts_with("ready")));
    // The text is kept: ctrl+c clears it, ctrl+d exits.
    terminal.send("\x03");
    terminal.until_shown("cleared");
    left(terminal);
}

#[test]
fn a_user_command_runs_in_the_shell_on_screen() {
    let stage = Stage::scripted(&[answer("ok")]);
    let mut terminal = start(&stage, &[]);
    terminal.send("!echo $((6 * 7)); exit 3\r");
    let rows = terminal.until_shown("exit code 3");
    assert!(rows.iter().any(|row| row == "  42"), "{rows:#?}");
    left(terminal);
}

#[test]
fn a_slash_command_that_cannot_run_reports_why_and_stays() {
    let stage = Stage::scripted(&[answer("ok")]);
    let mut terminal = start(&stage, &[]);
    terminal.send("/model nosuch\r");
    let rows = terminal.until_shown("Model not found: nosuch");
    assert!(rows.iter().any(|row| row == "› /model nosuch"), "{rows:#?}");
    terminal.send("\x03/hotkeys\r");
    terminal.until_shown("in a panel: close it");
    left(terminal);
}

#[test]
fn escape_refuses_a_requested_permission() {
    let stage = Stage::scripted(&[call("bash", json!({"command": "touch made"})), answer("never")]);
    stage.write("home/agent/settings.json", r#"{"permissions": {"ask": ["bash(*)"]}}"#);
    let mut terminal = start(&stage, &[]);
    terminal.send("go\r");
    let rows = terminal.until_shown("1 yes, once");
    assert!(rows.iter().any(|row| row.contains("touch made")), "{rows:#?}");
    // Keys within the gate have no effect and restart it. The last key only comes long after the previous one if the
    // screen has shown something in between. ctrl+c is handled at once.
    terminal.send("\x03");
    terminal.until(|rows| rows.iter().any(|row| row.starts_with("ready")));
    assert!(!stage.path("project/made").exists());
    left(terminal);
}

#[test]
fn typing_does_not_close_an_unfocused_panel() {
    let wait = call("bash", json!({"command": "echo begun; read -r line < wait"}));
    let stage = Stage::scripted(&[wait, call("bash", json!({"command": "touch made"})), answer("never")]);
    stage.write("home/agent/settings.json", r#"{"permissions": {"ask": ["bash(touch *)"]}}"#);
    let fifo = stage.path("project/wait");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let mut terminal = start(&stage, &[]);
    terminal.send("go\r");
    terminal.until_shown("  begun");
    terminal.send("x");
    terminal.until_shown("› x");
    std::fs::write(&fifo, "\n").unwrap();
    terminal.until_shown("tab: answer");
    terminal.send("\x15");
    terminal.until(|rows| !rows.iter().any(|row| row.starts_with("› x")));
    // An empty editor cannot be submitted.
    terminal.send("\r");
    terminal.send("y");
    let rows = terminal.until_shown("› y");
    assert!(rows.iter().any(|row| row.contains("tab: answer")), "{rows:#?}");
    assert!(!stage.path("project/made").exists());
    terminal.send("\x03");
    terminal.until_shown("cleared");
    terminal.send("\x03");
    terminal.until(|rows| rows.iter().any(|row| row.starts_with("ready")));
    left(terminal);
}

#[test]
fn text_at_a_focused_panel_goes_to_the_draft() {
    let stage = Stage::scripted(&[call("bash", json!({"command": "touch made"})), answer("done")]);
    stage.write("home/agent/settings.json", r#"{"permissions": {"ask": ["bash(*)"]}, "tui": {"approvalDelayMs": 0}}"#);
    let mut terminal = start(&stage, &[]);
    terminal.send("go\r");
    terminal.until_shown("1–5 or arrows");
    terminal.send("wait 1");
    let rows = terminal.until_shown("› wait 1");
    assert!(rows.iter().any(|row| row.contains("tab: answer")), "{rows:#?}");
    terminal.send("\x1b[200~, pasted\x1b[201~");
    terminal.until_shown("› wait 1, pasted");
    assert!(!stage.path("project/made").exists());
    // The text field of a choice takes a paste too.
    terminal.send("\t5");
    terminal.until_shown("What should the model do instead?");
    terminal.send("\x1b[200~use\nmake\x1b[201~\r");
    terminal.until_shown("use make");
    terminal.until_shown("done");
    terminal.send("\x03");
    terminal.until_shown("cleared");
    left(terminal);
}

#[test]
fn a_small_terminal_shows_a_command_and_its_choices() {
    let stage = Stage::scripted(&[call("bash", json!({"command": "touch made"})), answer("done")]);
    stage.write("home/agent/settings.json", r#"{"permissions": {"ask": ["bash(*)"]}}"#);
    let mut terminal = start(&stage, &[]);
    terminal.resize(60, 15);
    terminal.send("go\r");
    let rows = terminal.until_shown("1–5 or arrows");
    let shows = |text: &str| rows.iter().any(|row| row.contains(text));
    assert!(shows("  touch made") && shows("1 yes  2 in this session  3 always  4 no"), "{rows:#?}");
    terminal.send("\x03");
    terminal.until(|rows| rows.iter().any(|row| row.starts_with("ready")));
    left(terminal);
}

#[test]
fn a_resize_during_an_answer_keeps_all_text() {
    let text: String = (1..=40).map(|number| format!("word{number} ")).collect();
    let stage =
        Stage::scripted(&[call("bash", json!({"command": "echo begun; read -r line < wait"})), answer(text.trim())]);
    let fifo = stage.path("project/wait");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let mut terminal = start(&stage, &[]);
    terminal.send("go\r");
    terminal.until_shown("  begun");
    terminal.resize(40, 30);
    std::fs::write(&fifo, "\n").unwrap();
    let rows = terminal.until(|rows| {
        rows.iter().any(|row| row.ends_with("word40")) && rows.iter().any(|row| row.starts_with("ready"))
    });
    let words: Vec<&str> =
        rows.iter().flat_map(|row| row.split_whitespace()).filter(|word| word.starts_with("word")).collect();
    let expect: Vec<&str> = text.split_whitespace().collect();
    assert_eq!(words, expect, "{rows:#?}");
    assert!(rows.iter().all(|row| row.chars().count() <= 40), "{rows:#?}");
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
fn a_prompt_on_the_command_line_is_sent_at_once() {
    let stage = Stage::scripted(&[answer("It is fine.")]);
    let mut terminal = Terminal::start(&stage, &["--script", "script.jsonl", "is", "it", "fine?"], SIZE);
    terminal
        .until(|rows| rows.iter().any(|row| row == "It is fine.") && rows.iter().any(|row| row.starts_with("ready")));
    left(terminal);
}
