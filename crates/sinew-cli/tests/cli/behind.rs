//! Work outside of the screen: a run that continues without a terminal, a shared session, a todo list in an editor.

use serde_json::{Value, json};

use crate::stage::{Stage, call, messages, text as answer};
use crate::terminal::{Terminal, enter, has, left};

const SIZE: (u16, u16) = (90, 30);

/// Creates a stage whose model runs a command that waits for a pipe, then writes a file and ends.
fn waiting() -> Stage {
    let stage = Stage::scripted(&[
        call("", "bash", json!({"command": "touch begun; read -r line < go; echo over"})),
        call("", "write", json!({"path": "asked.txt", "content": "x"})),
        answer("All done."),
    ]);
    stage.pipe("project/go");
    stage
}

/// Waits until the session contains that text, and returns its messages.
fn until_said(stage: &Stage, text: &str) -> Vec<(String, String)> {
    let begun = std::time::Instant::now();
    loop {
        let said: Vec<_> = stage.files().iter().flat_map(|file| messages(file)).collect();
        if said.iter().any(|(_, said)| said == text) {
            return said;
        }
        assert!(begun.elapsed().as_secs() < 60, "{said:?}");
        std::thread::yield_now();
    }
}

#[test]
fn a_backgrounded_run_continues_after_the_shell_prompt_returns() {
    for linear in [false, true] {
        let stage = waiting();
        stage.write("home/agent/settings.json", r#"{"permissions": {"ask": ["write(**)"]}}"#);
        let args = ["--script", "script.jsonl", "--linear"];
        let mut terminal = Terminal::start_in_shell(&stage, &args[..if linear { 3 } else { 2 }], SIZE);
        let is_ready = |rows: &[String]| has(rows, if linear { "Ready." } else { "ready" });
        terminal.until(is_ready);
        terminal.send("/bg\r");
        terminal.until_shown("no run is active");
        terminal.send("go\r");
        stage.wait_for("project/begun");
        terminal.until(|rows| has(rows, if linear { "Runs: " } else { "◌ bash" }));
        terminal.send("/bg\r");
        terminal.until_shown("The run continues without this terminal. Resume with: sinew -r ");
        let is_prompt = |row: &String| row.starts_with("sh>");
        terminal.until(|rows| rows.iter().rev().find(|row| !row.is_empty()).is_some_and(is_prompt));
        // The program is stopped until the shell has the terminal.
        terminal.send("while jobs >list; ! grep -q Running list; do :; done; echo shell-$((1+1))\r");
        terminal.until(|rows| has(rows, "shell-2"));
        // Nobody can allow the write.
        stage.write("project/go", "\n");
        let said = until_said(&stage, "All done.");
        assert!(said.iter().any(|(role, said)| role == "toolResult" && said.contains("over")), "{said:?}");
        assert!(!stage.path("project/asked.txt").exists(), "nobody has allowed it");
        terminal.send("wait; echo status-$?; jobs\r");
        terminal.until(|rows| has(rows, "status-0"));
        terminal.send("exit\r");
        assert_eq!(terminal.ended().0.code(), Some(0));
    }
}

#[test]
fn a_backgrounded_run_survives_the_end_of_its_terminal() {
    let stage = waiting();
    let mut terminal = Terminal::start_in_shell(&stage, &["--script", "script.jsonl"], SIZE);
    terminal.until(|rows| has(rows, "ready"));
    terminal.send("go\r");
    stage.wait_for("project/begun");
    terminal.until(|rows| has(rows, "◌ bash"));
    terminal.send("/bg\r");
    terminal.until(|rows| rows.iter().rev().find(|row| !row.is_empty()).is_some_and(|row| row == "sh>"));
    drop(terminal);
    stage.write("project/go", "\n");
    until_said(&stage, "All done.");
}

#[test]
fn share_runs_the_configured_command_after_a_confirmation() {
    let stage = Stage::scripted(&[answer("a secret plan")]);
    let set = |command: &str| {
        stage.write("home/agent/settings.json", &json!({"share": {"command": command}}).to_string());
    };
    stage.write("project/publish", "#!/bin/sh\ncp \"$1\" page.html\nstat -c %a \"$(dirname \"$1\")\" >mode\necho working\necho https://example.com/x\n");
    set("sh publish");
    let mut terminal = Terminal::start(&stage, &["--script", "script.jsonl"], SIZE);
    terminal.until(|rows| has(rows, "ready"));
    enter(&mut terminal, "go");
    terminal.until(|rows| has(rows, "a secret plan") && has(rows, "ready"));
    // The first entry is No.
    enter(&mut terminal, "/share");
    terminal.until(|rows| has(rows, "→ No") && has(rows, "Publish the whole session"));
    terminal.send("\r");
    terminal.until(|rows| !has(rows, "Publish the whole session"));
    assert!(!stage.path("project/page.html").exists());
    enter(&mut terminal, "/share");
    terminal.until(|rows| has(rows, "→ No"));
    terminal.send("\x1b[B");
    terminal.until(|rows| has(rows, "→ Publish it"));
    terminal.send("\r");
    terminal.until(|rows| has(rows, "published: https://example.com/x") && has(rows, "ready"));
    left(terminal);
    let page = std::fs::read_to_string(stage.path("project/page.html")).unwrap();
    assert!(page.contains("a secret plan"));
    assert_eq!(std::fs::read_to_string(stage.path("project/mode")).unwrap(), "700\n");
    // Commands that fail, do not exist, or print nothing; and one that Esc cancels.
    for (command, reason) in [
        ("echo no >&2; false", "failed (exit status: 1): no"),
        ("./nothing", "`./nothing` was not found: set share.command"),
        ("true", "`true` printed no link"),
        ("touch begun; sleep 1000; true", "sharing was cancelled"),
    ] {
        set(command);
        let mut terminal = Terminal::start(&stage, &["--script", "script.jsonl", "-c"], SIZE);
        terminal.until(|rows| has(rows, "ready"));
        enter(&mut terminal, "/share yes");
        if command.contains("sleep") {
            stage.wait_for("project/begun");
            terminal.send("\x1b");
        }
        terminal.until(|rows| rows.iter().any(|row| row.contains(reason)) && has(rows, "ready"));
        terminal.send("\x03");
        terminal.until_shown("cleared");
        left(terminal);
    }
}

#[test]
fn the_todo_list_can_be_edited_copied_and_cleared() {
    let init = json!({"ops": [{"op": "init", "list": [{"phase": "Build", "items": ["one", "two"]}]}]});
    let stage = Stage::scripted(&[call("", "todo", init), answer("Done.")]);
    // The editor first writes an invalid text, and corrects it when it is opened again.
    stage.write(
        "project/edit",
        "#!/bin/sh\nif grep -q 'is not a task' \"$1\"; then sed -i '/^oops/d' \"$1\"; else sed -i 's/two/three/; $aoops' \"$1\"; fi\n",
    );
    let mut command = stage.command(&["--script", "script.jsonl"]);
    command.env("TERM", "xterm-256color").env("EDITOR", "sh edit");
    let mut terminal = Terminal::run(command, SIZE);
    terminal.until(|rows| has(rows, "ready"));
    enter(&mut terminal, "plan");
    terminal.until(|rows| has(rows, "Done.") && has(rows, "ready"));
    enter(&mut terminal, "/todo edit");
    terminal.until(|rows| has(rows, "  ○ three") && has(rows, "  ◌ one") && has(rows, "ready"));
    enter(&mut terminal, "/todo copy");
    terminal.until_shown("copied 4 lines through the terminal");
    enter(&mut terminal, "/todo clear");
    terminal.until(|rows| has(rows, "the todo list is empty"));
    enter(&mut terminal, "/todo x");
    terminal.until(|rows| has(rows, "✗ /todo x: use edit, clear, copy or nothing"));
    terminal.send("\x03");
    terminal.until_shown("cleared");
    left(terminal);
    let written = std::fs::read_to_string(&stage.files()[0]).unwrap();
    let edits: Vec<Value> = written
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|entry| entry["customType"] == "user_todo_edit" || entry["type"] == "user_todo_edit")
        .collect();
    assert_eq!(edits.len(), 2, "{written}");
}
