//! Terminals without UTF-8, and symbols in ASCII.

use serde_json::json;

use crate::stage::{Stage, call, text};
use crate::terminal::{Terminal, has, left_with_bytes};

const ANSWER: &str = "Größe … so.\n\n```\na … b\n```\n\nThe end.";

fn stage() -> Stage {
    Stage::scripted(&[call("", "bash", json!({"command": "echo … out"})), text(ANSWER)])
}

fn start(stage: &Stage, variables: &[(&str, &str)]) -> Terminal {
    let mut command = stage.command(&["--script", "script.jsonl"]);
    command.env("TERM", "xterm-256color").envs(variables.iter().copied());
    Terminal::run(command, (80, 30))
}

#[test]
fn the_ascii_preset_replaces_symbols_but_not_text() {
    let stage = stage();
    stage.write("home/agent/settings.json", &json!({"symbolPreset": "ascii"}).to_string());
    let mut terminal = start(&stage, &[("LANG", "C.UTF-8")]);
    terminal.until(|rows| has(rows, "ready") && has(rows, ">"));
    terminal.send("go\r");
    let rows = terminal.until(|rows| has(rows, "The end.") && has(rows, "ready"));
    for row in ["* bash echo . out", "  … out", "Größe . so.", "a … b"] {
        assert!(has(&rows, row), "{row}: {rows:#?}");
    }
    // A change applies at once.
    enter_ascii(&mut terminal, "/settings session");
    terminal.until(|rows| has(rows, "Settings, until you quit"));
    terminal.send("symbolPreset");
    terminal.until(|rows| has(rows, "> symbolPreset"));
    terminal.send("\r");
    terminal.until(|rows| has(rows, "> ascii") || has(rows, "> unicode"));
    terminal.send("unicode\r");
    terminal.until(|rows| rows.iter().any(|row| row.starts_with("→ symbolPreset") && row.contains("unicode")));
    terminal.send("\x1b");
    terminal.until(|rows| has(rows, "● bash echo … out") && has(rows, "Größe … so."));
    left_with_bytes(terminal);
}

/// Types a line after an ASCII prompt, and submits it.
#[track_caller]
fn enter_ascii(terminal: &mut Terminal, line: &str) {
    terminal.send(line);
    terminal.until(|rows| rows.contains(&format!("> {line}")));
    terminal.send("\r");
}

#[test]
fn a_terminal_without_utf_8_gets_only_ascii_and_one_notice() {
    // The column after the letter: if it moved by two cells, the terminal read two characters.
    for (locale, column, is_ascii) in
        [("C", 3, true), ("C", 2, false), ("de_DE.ISO-8859-1", 3, true), ("de_DE.ISO-8859-1", 2, false)]
    {
        let stage = stage();
        let mut terminal = start(&stage, &[("LANG", locale)]).silent();
        terminal.until_sent(|sent| sent.contains("\x1b[8mé\x1b[m\x1b[6n\r\x1b[K"));
        terminal.send(&format!("\x1b[1;{column}R\x1b[?62;c"));
        terminal.until(|rows| has(rows, "ready") && has(rows, if is_ascii { ">" } else { "›" }));
        terminal.send("gö\r");
        let rows = terminal.until(|rows| has(rows, "The end.") && has(rows, "ready"));
        let expect = match is_ascii {
            true => ["> g?", "* bash echo . out", "  . out", "Gr??e . so.", "a . b"],
            false => ["› gö", "● bash echo … out", "  … out", "Größe … so.", "a … b"],
        };
        for row in expect {
            assert!(has(&rows, row), "{locale} {column} {row}: {rows:#?}");
        }
        let (_, sent) = left_with_bytes(terminal);
        let notices = sent.matches("this terminal only shows ASCII").count();
        assert_eq!(notices, usize::from(is_ascii), "{locale} {column}");
        let behind = sent.split_once("\x1b[K").unwrap().1;
        // Other characters may only occur before the terminal has answered.
        let begun = behind.find("this terminal only shows").map_or(behind, |at| &behind[at..]);
        assert_eq!(begun.is_ascii(), is_ascii, "{locale} {column}: {begun:?}");
        // The model receives the original text.
        assert_eq!(stage.said()[0].1, "gö");
    }
}
