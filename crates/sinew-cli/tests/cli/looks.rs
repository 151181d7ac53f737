//! The display of the transcript: thinking, combined calls, the user's text, colours.

use serde_json::{Value, json};

use crate::stage::{Stage, text as answer};
use crate::terminal::{Terminal, enter, has, left, left_with_bytes};

const SIZE: (u16, u16) = (80, 50);

/// Creates a stage whose model thinks, reads three files in two answers and runs a command.
fn stage(settings: &Value) -> Stage {
    let read = |path: &str| json!({"toolCall": {"name": "read", "arguments": {"path": path}}});
    let seq = json!({"toolCall": {"name": "bash", "arguments": {"command": "seq 30"}}});
    let thought = json!({"thinking": "**A plan**\n\nRead `a.txt` **first**."});
    let stage = Stage::scripted(&[
        json!({"type": "script", "version": 1, "reasoning": true}),
        json!({"type": "turn", "content": [thought, {"text": "I look."}, read("a.txt"), read("b.txt")]}),
        json!({"type": "turn", "content": [read("c.txt"), seq]}),
        answer("Done."),
    ]);
    for name in ["a", "b", "c"] {
        stage.write(&format!("project/{name}.txt"), "one\ntwo\n");
    }
    stage.write("home/agent/settings.json", &settings.to_string());
    stage
}

fn start(stage: &Stage, environment: &[(&str, &str)]) -> Terminal {
    let mut command = stage.command(&["--script", "script.jsonl"]);
    command.env("TERM", "xterm-256color").envs(environment.iter().copied());
    let mut terminal = Terminal::run(command, SIZE);
    terminal.until(|rows| has(rows, "ready"));
    terminal
}

/// Returns the colours in the sequences that set styles.
fn colours(sent: &str) -> Vec<&str> {
    let looks = sent.split("\x1b[").skip(1).filter_map(|part| part.split_once('m')).map(|(codes, _)| codes);
    let looks = looks.filter(|codes| codes.bytes().all(|byte| byte.is_ascii_digit() || byte == b';'));
    let is_colour = |code: &str| code.parse::<u8>().is_ok_and(|code| matches!(code, 30..=38 | 40..=48 | 90..=107));
    looks.filter(|codes| codes.split(';').any(is_colour)).collect()
}

#[test]
fn reads_are_grouped_and_thinking_is_rendered_without_markup() {
    let stage = stage(&json!({}));
    let mut terminal = start(&stage, &[]);
    enter(&mut terminal, "look");
    let rows = terminal.until(|rows| has(rows, "Done.") && has(rows, "ready"));
    for row in ["A plan", "Read a.txt first.", "● read 3 files: a.txt, b.txt, c.txt · 6 lines", "● bash seq 30"] {
        assert!(rows.iter().any(|shown| shown == row), "{row} {rows:#?}");
    }
    assert!(has(&rows, "  ⋯ 10 more lines · ctrl+o"), "{rows:#?}");
    // From here on all of the output is shown.
    terminal.send("\x1bo");
    terminal.until_shown("all output is shown from here on");
    terminal.send("!seq 31\r");
    terminal.until(|rows| has(rows, "  31") && has(rows, "ready"));
    left(terminal);
    // The resumed session looks the same.
    let mut terminal = Terminal::start(&stage, &["--script", "script.jsonl", "-c"], (80, 90));
    let rows = terminal.until(|rows| has(rows, "Done.") && has(rows, "ready"));
    for row in ["Read a.txt first.", "● read 3 files: a.txt, b.txt, c.txt · 6 lines", "● bash seq 30", "  30"] {
        assert!(rows.iter().any(|shown| shown == row), "{row} {rows:#?}");
    }
    assert!(has(&rows, "  ⋯ 10 more lines · ctrl+o"), "{rows:#?}");
    left(terminal);
}

#[test]
fn a_running_command_shows_its_output_time_and_line_count() {
    // The command continues when the pipe is written to, at least a second after its start.
    let command = "seq 900; read -r line < go; echo over; exit 3";
    let call = json!({"toolCall": {"name": "bash", "arguments": {"command": command}}});
    for by_user in [false, true] {
        let stage = Stage::scripted(&[json!({"type": "turn", "content": [call]}), answer("Done.")]);
        stage.pipe("project/go");
        let mut terminal = start(&stage, &[]);
        terminal.send(&if by_user { format!("!{command}\r") } else { "run it\r".into() });
        let is_time = |row: &String| row.trim_start().starts_with(char::is_numeric) && row.ends_with("s · 900 lines");
        let rows = terminal.until(|rows| rows.iter().any(is_time));
        assert!(has(&rows, "  ⋯ 892 more lines · ctrl+o") && has(&rows, "  900"), "{rows:#?}");
        stage.write("project/go", "\n");
        let rows = terminal.until(|rows| has(rows, "  over") && has(rows, "ready"));
        assert!(!rows.iter().any(is_time), "{rows:#?}");
        assert!(has(&rows, if by_user { "  exit code 3 · took " } else { "  took " }), "{rows:#?}");
        left(terminal);
    }
}

#[test]
fn a_resumed_session_shows_edits_and_failures_again() {
    let edit = json!({"toolCall": {"name": "edit", "arguments": {"path": "a.txt", "oldText": "two", "newText": "2"}}});
    let wrong = json!({"toolCall": {"name": "read", "arguments": {"path": "none.txt"}}});
    let stage = Stage::scripted(&[json!({"type": "turn", "content": [edit, wrong]}), answer("Done.")]);
    stage.write("project/a.txt", "one\ntwo\n");
    let shown = |mut terminal: Terminal| {
        let rows = terminal.until(|rows| has(rows, "Done.") && has(rows, "ready"));
        left(terminal);
        let from = rows.iter().position(|row| row.starts_with("› go")).unwrap();
        let to = rows.iter().position(|row| row == "Done.").unwrap();
        rows[from..to].to_vec()
    };
    let mut terminal = start(&stage, &[]);
    enter(&mut terminal, "go");
    let live = shown(terminal);
    assert!(has(&live, "● edit a.txt +1 −1") && has(&live, "✗ read none.txt"), "{live:#?}");
    assert_eq!(shown(Terminal::start(&stage, &["--script", "script.jsonl", "-c"], SIZE)), live);
}

#[test]
fn thinking_is_folded_by_a_setting_and_shown_by_a_key() {
    let stage = stage(&json!({"hideThinkingBlock": true}));
    let mut terminal = start(&stage, &[]);
    enter(&mut terminal, "look");
    let rows = terminal.until(|rows| has(rows, "Done.") && has(rows, "ready"));
    assert!(rows.iter().any(|row| row == "A plan ⋯ ctrl+o") && !has(&rows, "Read a.txt"), "{rows:#?}");
    terminal.send("\x14");
    terminal.until_shown("thoughts are shown");
    left(terminal);
}

#[test]
fn user_messages_have_a_background_in_the_available_colors() {
    let dark = [("COLORTERM", "truecolor"), ("TERM", "xterm-256color")];
    let cases: [(&[(&str, &str)], &str); 4] =
        [(&dark, "48;2;46;46;46m"), (&dark[1..], "48;5;236m"), (&[("TERM", "xterm")], ""), (&[("NO_COLOR", "1")], "")];
    for (environment, expect) in cases {
        let stage = stage(&json!({}));
        let mut terminal = start(&stage, environment);
        terminal.send("\x1b]10;rgb:e6e6/e6e6/e6e6\x1b\\\x1b]11;rgb:1e1e/1e1e/1e1e\x1b\\");
        enter(&mut terminal, "look");
        terminal.until(|rows| has(rows, "› look") && has(rows, "Done.") && has(rows, "ready"));
        let (_, sent) = left_with_bytes(terminal);
        assert!(sent.contains(expect), "{environment:?}: {sent:?}");
        assert_eq!(sent.contains("\x1b[48;") || sent.contains(";48;"), !expect.is_empty(), "{environment:?}");
        if environment == [("NO_COLOR", "1")] {
            assert_eq!(colours(&sent), Vec::<&str>::new());
        }
    }
}

#[test]
fn color_blind_mode_shows_added_lines_in_blue() {
    for (is_on, added) in [(false, "38;2;140;200;130m"), (true, "38;2;110;180;255m")] {
        let edit = json!({"path": "a.txt", "oldText": "two", "newText": "three"});
        let stage = Stage::scripted(&[
            json!({"type": "turn", "content": [{"toolCall": {"name": "edit", "arguments": edit}}]}),
            answer("Done."),
        ]);
        stage.write("project/a.txt", "one\ntwo\n");
        stage.write("home/agent/settings.json", &json!({"colorBlindMode": is_on}).to_string());
        let mut terminal = start(&stage, &[("COLORTERM", "truecolor"), ("COLORFGBG", "15;0")]);
        enter(&mut terminal, "edit it");
        terminal.until(|rows| has(rows, "● edit a.txt +1 −1") && has(rows, "Done.") && has(rows, "ready"));
        let (_, sent) = left_with_bytes(terminal);
        assert!(sent.contains(added), "{is_on}: {sent:?}");
    }
}

#[test]
fn a_configured_command_writes_the_right_side_of_the_status_line() {
    let stage = stage(
        &json!({"tui": {"statusCommand": "cat > given; printf '\\033[31mmine\\033[2J %s\\nmore\\n' \"$(wc -l < given)\""}}),
    );
    // The setting of a project is ignored.
    stage.write("project/.sinew/settings.json", r#"{"tui": {"statusCommand": "echo theirs"}}"#);
    let answers = stage.agent().join("trust.json");
    sinew_control::trust::Project::look(&stage.project(), &[]).remember(&answers, false).unwrap();
    let mut terminal = start(&stage, &[]);
    let is_there = |rows: &[String]| rows.iter().any(|row| row.starts_with("ready") && row.ends_with("  mine 0"));
    terminal.until(is_there);
    enter(&mut terminal, "look");
    terminal.until(|rows| has(rows, "Done.") && is_there(rows));
    left(terminal);
    let given: Value = serde_json::from_str(&std::fs::read_to_string(stage.path("project/given")).unwrap()).unwrap();
    for key in ["session", "model", "thinking", "cwd", "git", "tokens", "cost", "context", "state", "width"] {
        assert!(given.get(key).is_some(), "{key}: {given}");
    }
    assert_eq!((&given["width"], given["tokens"]["total"].as_u64().is_some()), (&json!(80), true), "{given}");
    // A failure is reported once, and the default facts are shown.
    stage.write("home/agent/settings.json", &json!({"tui": {"statusCommand": "exit 3"}}).to_string());
    let mut terminal = start(&stage, &[]);
    terminal.until_shown("tui.statusCommand: it failed (exit status: 3)");
    terminal.until_shown("scripted/script");
    left(terminal);
}

/// Returns the value of a key in a settings file.
fn kept(stage: &Stage, file: &str, key: &str) -> Value {
    let text = std::fs::read_to_string(stage.path(file)).unwrap_or_else(|_| "{}".into());
    serde_json::from_str::<Value>(&text).unwrap().pointer(key).cloned().unwrap_or_default()
}

#[test]
fn settings_show_their_layer_and_are_saved_to_the_chosen_one() {
    let stage = stage(&json!({"tui": {"reducedMotion": true}}));
    stage.write("project/.sinew/settings.json", r#"{"colorBlindMode": true}"#);
    let mut terminal = start(&stage, &[("SINEW_CACHE_RETENTION", "long")]);
    enter(&mut terminal, "/settings");
    for (key, expect) in [
        ("colorBlindMode", "● true · project · "),
        ("reducedMotion", "● true · user · "),
        ("cacheRetention", "● \"long\" · SINEW_CACHE_RETENTION · "),
        ("followUpMode", "  \"one-at-a-time\" · How many"),
    ] {
        terminal.send(key);
        terminal.until(|rows| rows.iter().any(|row| row.contains(key) && row.contains(expect)));
        terminal.send(&"\x7f".repeat(key.len()));
        terminal.until(|rows| has(rows, "→ defaultProvider"));
    }
    // Two status rows, stored in the project's file.
    terminal.send("\t");
    terminal.until(|rows| has(rows, "Settings, stored in the project's file"));
    terminal.send("statusRows");
    terminal.until(|rows| rows.iter().any(|row| row.starts_with("→ tui.statusRows")));
    terminal.send("\r");
    terminal.until(|rows| has(rows, "Expected: a whole number"));
    terminal.send("\x7f2\r");
    terminal.until(|rows| rows.iter().any(|row| row.starts_with("→ tui.statusRows") && row.contains("● 2 · project")));
    assert_eq!(kept(&stage, "project/.sinew/settings.json", "/tui/statusRows"), 2);
    assert_eq!(kept(&stage, "home/agent/settings.json", "/tui/statusRows"), Value::Null);
    terminal.send("\x1b");
    let folder = stage.project().display().to_string();
    terminal.until(|rows| rows.contains(&folder) && !has(rows, "Settings"));
    // Only until the exit; settings that are read at the start cannot be changed in this way.
    enter(&mut terminal, "/settings session");
    terminal.until(|rows| has(rows, "Settings, until you quit"));
    for (key, expect) in [("maxTurns", "● 7 · session"), ("tui.statusRows", "● 1 · session")] {
        terminal.send(key);
        terminal.until(|rows| has(rows, &format!("→ {key}")));
        terminal.send("\r");
        terminal.until(|rows| has(rows, "Expected: a whole number"));
        let value = expect.split(' ').nth(1).unwrap();
        terminal.send(&format!("{}{value}\r", "\x7f".repeat(4)));
        terminal.until(|rows| rows.iter().any(|row| row.starts_with(&format!("→ {key}")) && row.contains(expect)));
    }
    terminal.send("\x1b");
    terminal.until(|rows| !rows.contains(&folder) && !has(rows, "Settings"));
    assert_eq!(kept(&stage, "home/agent/settings.json", "/maxTurns"), Value::Null);
    left(terminal);
}

#[test]
fn linear_mode_shows_the_first_line_of_folded_thinking() {
    for hides in [true, false] {
        let stage = stage(&json!({"hideThinkingBlock": hides}));
        let mut terminal = Terminal::start(&stage, &["--linear", "--script", "script.jsonl"], SIZE);
        terminal.until_shown("Ready.");
        terminal.send("look\r");
        // Ctrl+d only exits if no run is active.
        terminal
            .until_sent(|text| text.split_once("Assistant: Done.").is_some_and(|(_, rest)| rest.contains("Ready.")));
        terminal.send("\x04");
        let (_, _, sent) = terminal.ended_with_bytes();
        assert!(sent.contains("Thinks: ") && sent.contains("Assistant: I look."), "{sent}");
        assert_eq!(!sent.contains("first"), hides, "{sent}");
    }
}

#[test]
fn the_markdown_source_can_be_shown() {
    let stage = Stage::scripted(&[answer("It is **so**.")]);
    let mut terminal = start(&stage, &[]);
    enter(&mut terminal, "why?");
    terminal.until(|rows| has(rows, "It is so.") && has(rows, "ready"));
    terminal.send("\x1br");
    terminal.until(|rows| has(rows, "It is **so**.") && has(rows, "› why?"));
    terminal.send("q");
    terminal.until(|rows| has(rows, "It is so."));
    left(terminal);
}
