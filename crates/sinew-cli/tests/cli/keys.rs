//! The user's key bindings on the screen: chords, reloading, the search of earlier prompts, `/redraw all`.

use std::collections::BTreeSet;

use rustix::process::{Signal, kill_process};
use serde_json::json;

use crate::interactive::call;
use crate::stage::{Stage, text as answer};
use crate::terminal::{Terminal, enter, has, left, left_with_bytes};

const SIZE: (u16, u16) = (80, 24);
const BINDINGS: &str = "home/agent/keybindings.json";

fn start(stage: &Stage) -> Terminal {
    let mut terminal = Terminal::start(stage, &["--script", "script.jsonl"], SIZE);
    terminal.until(|rows| has(rows, "ready"));
    terminal
}

/// Opens the view with these keys, and closes it.
#[track_caller]
fn views_by(terminal: &mut Terminal, keys: &str) {
    terminal.send(keys);
    terminal.until_shown("conversation · ");
    terminal.send("q");
    terminal.until(|rows| has(rows, "›") && !rows.iter().any(|row| row.contains("conversation · ")));
}

#[test]
fn chords_work_and_reload_applies_new_keys_and_reports_errors() {
    let stage = Stage::scripted(&[answer("ok")]);
    // The second key of the chord alone keeps its action.
    stage.write(BINDINGS, r#"{"app.transcript.open": ["ctrl+x ctrl+e", "alt+v"]}"#);
    let mut terminal = start(&stage);
    enter(&mut terminal, "say something");
    terminal.until(|rows| has(rows, "ok") && has(rows, "ready"));
    terminal.send("\x18");
    terminal.until_shown("ctrl+x …");
    views_by(&mut terminal, "\x05");
    views_by(&mut terminal, "\x1bv");
    // An invalid chord is reported, and Esc cancels a chord.
    terminal.send("\x18");
    terminal.until_shown("ctrl+x …");
    terminal.send("k");
    terminal.until_shown("ctrl+x k has no action: see /hotkeys");
    terminal.send("\x18");
    terminal.until_shown("ctrl+x …");
    terminal.send("\x1b");
    terminal.until(|rows| has(rows, "ready"));
    stage
        .write(BINDINGS, r#"{"app.transcript.open": "alt+w", "app.transcript.opne": "alt+u", "app.suspend": "ctrl+"}"#);
    enter(&mut terminal, "/reload");
    let rows =
        terminal.until(|rows| has(rows, "reloaded") && rows.iter().any(|row| row.contains("app.transcript.opne")));
    assert!(rows.iter().any(|row| row.contains("app.suspend")), "{rows:#?}");
    terminal.send("\x1bv");
    views_by(&mut terminal, "\x1bw");
    left(terminal);
}

#[test]
fn earlier_prompts_are_found_by_ctrl_r_and_escape_leaves_the_draft() {
    let stage = Stage::scripted(&[answer("one"), answer("two"), answer("three")]);
    let mut terminal = start(&stage);
    for (prompt, said) in [("look at the parser", "one"), ("run the tests", "two"), ("tests of the parser", "three")] {
        enter(&mut terminal, prompt);
        terminal.until(|rows| has(rows, said) && has(rows, "ready"));
    }
    terminal.send("a draft");
    terminal.until(|rows| has(rows, "› a draft"));
    terminal.send("\x12");
    terminal.until(|rows| has(rows, "Which earlier prompt?") && has(rows, "→ tests of the parser"));
    terminal.send("\x1b");
    terminal.until(|rows| !has(rows, "Which earlier prompt?") && has(rows, "› a draft"));
    terminal.send("\x12");
    terminal.until(|rows| has(rows, "→ tests of the parser"));
    // All words must match, in any case; ctrl+r selects the next match.
    terminal.send("PARSER");
    terminal.until(|rows| has(rows, "→ tests of the parser") && !has(rows, "  run the tests"));
    terminal.send("\x12");
    terminal.until(|rows| has(rows, "→ look at the parser"));
    terminal.send("\r");
    terminal.until(|rows| rows.iter().filter(|row| *row == "› look at the parser").count() == 2);
    terminal.send("\x03");
    terminal.until_shown("cleared");
    left(terminal);
}

#[test]
fn only_redraw_all_erases_the_scrollback_and_asks_first() {
    let long: String = (1..=60).map(|line| format!("line {line}\n\n")).collect();
    let stage = Stage::scripted(&[answer(&long)]);
    let mut terminal = start(&stage);
    enter(&mut terminal, "go");
    terminal.until(|rows| has(rows, "line 60") && has(rows, "ready"));
    enter(&mut terminal, "/redraw all");
    terminal.until(|rows| has(rows, "Erase the whole scrollback") && has(rows, "→ No"));
    terminal.send("\r");
    terminal.until(|rows| has(rows, "line 60") && !has(rows, "Erase the whole"));
    assert!(!String::from_utf8_lossy(&terminal.bytes).contains("\x1b[3J"));
    enter(&mut terminal, "/redraw all");
    terminal.until(|rows| has(rows, "→ No"));
    terminal.send("\x1b[B");
    terminal.until(|rows| has(rows, "→ Erase it"));
    terminal.send("\r");
    terminal.until_sent(|text| text.contains("\x1b[H\x1b[J\x1b[3J"));
    let before = terminal.bytes.len();
    terminal.until(|rows| has(rows, "line 60") && has(rows, "ready"));
    let anew = String::from_utf8_lossy(&terminal.bytes[before..]).into_owned();
    let all = String::from_utf8_lossy(&terminal.bytes).into_owned();
    let anew = all.rsplit_once("\x1b[3J").map_or(anew.as_str(), |(_, anew)| anew);
    let lines: BTreeSet<usize> = (1..=60).filter(|line| anew.contains(&format!("line {line}"))).collect();
    assert_eq!(lines.len(), 60, "{anew:?}");
    enter(&mut terminal, "/redraw twice");
    terminal.until_shown("/redraw: use all or nothing");
    terminal.send("\x03");
    terminal.until_shown("cleared");
    let (_, sent) = left_with_bytes(terminal.erasing());
    assert_eq!(sent.matches("\x1b[3J").count(), 1);
}

#[test]
fn the_rebuild_setting_redraws_the_session_after_a_resize() {
    let long: String = (1..=60).map(|line| format!("line {line}\n\n")).collect();
    let stage = Stage::scripted(&[answer(&long)]);
    stage.write("home/agent/settings.json", r#"{"tui": {"resize": "rebuild"}}"#);
    let mut terminal = start(&stage);
    enter(&mut terminal, "go");
    terminal.until(|rows| has(rows, "line 60") && has(rows, "ready"));
    terminal.resize(SIZE.0 - 10, SIZE.1);
    terminal.until_sent(|sent| sent.contains("\x1b[H\x1b[J\x1b[3J"));
    terminal.until_sent(|sent| sent.rsplit_once("\x1b[3J").is_some_and(|(_, anew)| anew.contains("line 60")));
    terminal.until(|rows| has(rows, "line 60") && has(rows, "ready"));
    let (_, sent) = left_with_bytes(terminal.erasing());
    let (_, anew) = sent.rsplit_once("\x1b[3J").unwrap();
    let lines: BTreeSet<usize> = (1..=60).filter(|line| anew.contains(&format!("line {line}"))).collect();
    assert_eq!((lines.len(), sent.matches("\x1b[3J").count()), (60, 1), "{anew:?}");
}

#[test]
fn redraw_all_is_refused_in_multiplexers_and_during_a_run() {
    for (name, word) in [("TMUX", "not work in tmux"), ("STY", "not work in screen"), ("ZELLIJ", "not work in screen")]
    {
        let stage = Stage::scripted(&[answer("ok")]);
        let mut command = stage.command(&["--script", "script.jsonl"]);
        command.env("TERM", "xterm-256color").env(name, "1");
        let mut terminal = Terminal::run(command, SIZE);
        terminal.until(|rows| has(rows, "ready"));
        enter(&mut terminal, "/redraw all");
        // The text of the command returns to the editor.
        terminal.until(|rows| rows.iter().any(|row| row.contains(word)) && has(rows, "› /redraw all"));
        terminal.send("\x03");
        terminal.until_shown("cleared");
        left(terminal);
    }
    let stage =
        Stage::scripted(&[call("bash", json!({"command": "echo begun; read -r line < wait"})), answer("never")]);
    let fifo = stage.path("project/wait");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    let mut terminal = start(&stage);
    terminal.send("go\r");
    terminal.until_shown("  begun");
    enter(&mut terminal, "/redraw all");
    terminal.until_shown("/redraw all needs an idle session");
    terminal.send("\x03");
    terminal.until_shown("cleared");
    terminal.send("\x1b");
    terminal.until(|rows| has(rows, "ready"));
    left(terminal);
}

#[test]
fn a_signal_at_any_moment_of_move_ends_the_program() {
    // The number of bytes of the second start, counted from the line about the move.
    for bytes in [0, 1, 20, 60, 120, 200] {
        let stage = Stage::scripted(&[answer("one")]);
        let script = stage.project().join("script.jsonl");
        let mut terminal = Terminal::start(&stage, &["--script", script.to_str().unwrap()], SIZE);
        terminal.until(|rows| has(rows, "ready"));
        enter(&mut terminal, "first");
        terminal.until(|rows| has(rows, "one") && has(rows, "ready"));
        std::fs::create_dir(stage.path("other")).unwrap();
        enter(&mut terminal, "/move ../other");
        terminal.until_sent(|text| {
            text.split_once("the session was moved to").is_some_and(|(_, rest)| rest.len() >= bytes)
        });
        kill_process(terminal.pid(), Signal::TERM).unwrap();
        let (status, rows) = terminal.ended();
        assert_eq!(status.code(), Some(143), "{bytes}: {rows:#?}");
    }
}

#[test]
fn ctrl_z_leaves_a_clean_terminal_and_fg_resumes() {
    let stage = Stage::scripted(&[answer("It is fine."), answer("It still is.")]);
    let mut terminal = Terminal::start_in_shell(&stage, &["--script", "script.jsonl"], SIZE);
    terminal.until(|rows| has(rows, "ready"));
    enter(&mut terminal, "is it?");
    terminal.until(|rows| has(rows, "It is fine.") && has(rows, "ready"));
    terminal.send("a draft");
    terminal.until(|rows| has(rows, "› a draft"));
    for round in 1..=3 {
        terminal.send("\x1a");
        // The shell's text directly follows the answer: no status row, no editor.
        let rows = terminal.until(|rows| rows.iter().filter(|row| row.starts_with("sh>")).count() > round);
        let said = rows.iter().position(|row| row == "It is fine.").unwrap();
        assert!(rows[said..].iter().all(|row| !row.starts_with("ready") && !row.starts_with('›')), "{rows:#?}");
        assert!(rows[said..].iter().any(|row| row.contains("Stopped")), "{rows:#?}");
        terminal.send("fg\r");
        terminal.until(|rows| has(rows, "ready") && has(rows, "› a draft"));
    }
    terminal.send("\x03");
    terminal.until_shown("cleared");
    enter(&mut terminal, "and now?");
    terminal.until(|rows| has(rows, "It still is.") && has(rows, "ready"));
    terminal.send("\x04");
    terminal
        .until(|rows| has(rows, "Resume with: ") && rows.iter().rev().find(|row| !row.is_empty()).unwrap() == "sh>");
    terminal.send("exit\r");
    assert_eq!(terminal.ended().0.code(), Some(0));
}

#[test]
fn a_selection_of_the_viewer_is_copied_and_printed() {
    let stage = Stage::scripted(&[answer("an answer\n\nof two parts"), answer("the end")]);
    let mut terminal = start(&stage);
    for (prompt, said) in [("why?", "of two parts"), ("go on", "the end")] {
        enter(&mut terminal, prompt);
        terminal.until(|rows| has(rows, said) && has(rows, "ready"));
    }
    terminal.send("\x0f");
    terminal.until_shown("y copy · p print");
    terminal.send("g");
    terminal.until(|rows| rows[0] == "› why?");
    // First the prompt without its mark, then the text that is searched for.
    terminal.send("y");
    terminal.until_shown("copied 1 line through the terminal");
    terminal.send("/two");
    terminal.until(|rows| has(rows, "/two"));
    terminal.send("\r");
    terminal.until_shown("y copy · p print");
    terminal.send("y");
    terminal.until_shown("copied 3 lines through the terminal");
    terminal.send("p");
    terminal.until_shown("written to the end of the transcript");
    terminal.send("q");
    let last = |rows: &[String]| rows.iter().rposition(|row| row == "of two parts");
    terminal.until(|rows| last(rows) > rows.iter().rposition(|row| row == "the end") && has(rows, "ready"));
    let (_, sent) = left_with_bytes(terminal);
    for text in ["why?", "an answer\n\nof two parts"] {
        let encoded = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, text);
        assert!(sent.contains(&format!("\x1b]52;c;{encoded}\x1b\\")), "{text}");
    }
}
