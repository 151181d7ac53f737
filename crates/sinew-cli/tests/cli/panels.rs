//! The panels and completions of the interactive mode, and a start without a model.

use serde_json::json;

use crate::lanes::{calls, says, submits};
use crate::stage::{Stage, call, text};
use crate::terminal::{Terminal, enter, has, left};

const SIZE: (u16, u16) = (90, 28);
const DOWN: &str = "\x1b[B";

fn start(stage: &Stage) -> Terminal {
    let mut terminal = Terminal::start(stage, &["--script", "script.jsonl"], SIZE);
    terminal.until_shown("ready");
    terminal
}

/// Starts without keys, network and home directory.
fn newcomer() -> (Stage, Terminal) {
    let stage = Stage::new();
    let mut terminal = Terminal::start(&stage, &["--offline"], SIZE);
    terminal.until(|rows| has(rows, "Welcome.") && has(rows, "ready"));
    (stage, terminal)
}

/// Selects the entry that begins with this text, and presses Enter.
#[track_caller]
fn take(terminal: &mut Terminal, filter: &str, entry: &str) {
    terminal.send(filter);
    terminal.until(|rows| has(rows, &format!("→ {entry}")));
    terminal.send("\r");
}

/// Returns the elapsed seconds of the run in the status row.
fn seconds(rows: &[String]) -> Option<u32> {
    let row = rows.iter().find(|row| row.contains("s  ") && row.contains("script"))?;
    row.split_whitespace().find_map(|word| word.strip_suffix('s')?.parse().ok())
}

#[test]
fn a_new_user_can_run_the_demo_and_exit() {
    let (_stage, mut terminal) = newcomer();
    terminal.send(DOWN);
    terminal.until(|rows| has(rows, "→ Play the demo"));
    terminal.send("\r");
    let rows = terminal.until(|rows| has(rows, "  1 ") && seconds(rows).is_some());
    // The panel receives keys after a pause in typing.
    let (asked, later) = (seconds(&rows), |rows: &[String]| seconds(rows).map(|seconds| seconds.saturating_sub(2)));
    terminal.until(|rows| later(rows) >= asked);
    terminal.send("1");
    terminal.until(|rows| has(rows, "  right: total: 23") && has(rows, "- /login then") && has(rows, "ready"));
    terminal.send("\x04");
    terminal.until(|rows| has(rows, "Welcome.") && has(rows, "ready"));
    terminal.send(DOWN);
    terminal.until(|rows| has(rows, "→ Play the demo"));
    terminal.send(DOWN);
    terminal.until(|rows| has(rows, "→ Leave"));
    terminal.send("\r");
    let (status, rows) = terminal.ended();
    assert_eq!(status.code(), Some(0), "{rows:#?}");
}

#[test]
fn a_pasted_api_key_is_saved_and_never_shown() {
    let (stage, mut terminal) = newcomer();
    terminal.send("\r");
    terminal.until(|rows| has(rows, "Which provider is the key for?"));
    take(&mut terminal, "openai", "openai");
    terminal.until_shown("Paste the key of openai");
    terminal.send("sk-never-shown");
    terminal.until_shown("••••••••••••••");
    terminal.send("\r");
    terminal.until(|rows| has(rows, "openai is set up") && has(rows, "ready"));
    let kept = std::fs::read_to_string(stage.agent().join("auth.json")).unwrap();
    assert!(kept.contains("sk-never-shown"), "{kept}");
    assert!(!String::from_utf8_lossy(&terminal.bytes).contains("never-shown"));
    left(terminal);
}

#[test]
fn a_prompt_without_a_model_opens_the_login_and_stays_in_the_editor() {
    let (_stage, mut terminal) = newcomer();
    terminal.send("\x1b");
    terminal.until(|rows| !has(rows, "Welcome."));
    enter(&mut terminal, "what is this?");
    let rows = terminal.until(|rows| has(rows, "Welcome."));
    assert!(has(&rows, "› what is this?"), "{rows:#?}");
    terminal.send("\x1b");
    terminal.until(|rows| !has(rows, "Welcome."));
    terminal.send("\x03");
    terminal.until_shown("cleared");
    left(terminal);
}

#[test]
fn typing_filters_a_panel_that_sets_the_thinking_level() {
    let stage = Stage::scripted(&[text("ok")]);
    let mut terminal = start(&stage);
    enter(&mut terminal, "/thinking");
    terminal.until_shown("Which thinking level?");
    take(&mut terminal, "low", "low");
    terminal.until(|rows| rows.iter().any(|row| row.contains("scripted/script (low)")));
    left(terminal);
}

#[test]
fn a_session_is_resumed_from_a_list_with_a_preview() {
    let stage = Stage::scripted(&[text("It is a parser.")]);
    stage.play(&["-p", "What is it?"]);
    let mut terminal = start(&stage);
    enter(&mut terminal, "/resume");
    terminal.until(|rows| {
        has(rows, "Sessions of this folder") && rows.iter().any(|row| row.contains("│   It is a parser."))
    });
    terminal.send("\r");
    terminal.until(|rows| has(rows, "› What is it?") && has(rows, "It is a parser.") && has(rows, "ready"));
    left(terminal);
}

#[test]
fn the_tree_moves_back_to_an_earlier_message() {
    let stage = Stage::scripted(&[text("one"), text("two")]);
    let mut terminal = start(&stage);
    enter(&mut terminal, "first");
    terminal.until(|rows| has(rows, "one") && has(rows, "ready"));
    enter(&mut terminal, "second");
    terminal.until(|rows| has(rows, "two") && has(rows, "ready"));
    enter(&mut terminal, "/tree");
    terminal.until(|rows| rows.iter().any(|row| row.contains("you are here")));
    terminal.send("second");
    terminal.until(|rows| has(rows, "→ ● › second"));
    terminal.send("\r");
    terminal.until(|rows| {
        rows.iter().any(|row| row.contains("another point"))
            && has(rows, "ready")
            && rows.last().is_some()
            && rows.iter().rev().find(|row| row.starts_with('›')).is_some_and(|row| row == "› second")
    });
    terminal.send("\x03");
    terminal.until_shown("cleared");
    left(terminal);
}

#[test]
fn the_tree_can_be_filtered_and_labeled() {
    let stage = Stage::scripted(&[call("", "ls", json!({"path": "."})), text("one")]);
    let mut terminal = start(&stage);
    enter(&mut terminal, "first");
    terminal.until(|rows| has(rows, "one") && has(rows, "ready"));
    let opened = |rows: &[String]| rows.iter().any(|row| row.contains("you are here"));
    enter(&mut terminal, "/tree");
    let rows = terminal.until(opened);
    assert!(has(&rows, "  ●   ls: "), "{rows:#?}");
    terminal.send("\x1bt");
    let rows = terminal.until(|rows| has(rows, "Go to which entry? · without tool") && opened(rows));
    assert!(!has(&rows, "  ●   ls: "), "{rows:#?}");
    terminal.send("\x0f");
    terminal.until(|rows| has(rows, "Go to which entry? · your prompts") && has(rows, "→ ● › first"));
    // Opens the field for a label, which Esc closes without a change.
    terminal.send("L");
    terminal.until(|rows| has(rows, "Label"));
    terminal.send("begin");
    terminal.until(|rows| has(rows, "› begin"));
    terminal.send("\r");
    terminal.until(|rows| rows.iter().any(|row| row.starts_with("→ ● › first") && row.ends_with("#begin")));
    terminal.send("L");
    terminal.until(|rows| has(rows, "Label") && has(rows, "› begin"));
    terminal.send("\x1b");
    terminal.until(|rows| rows.iter().any(|row| row.ends_with("#begin")));
    terminal.send("\x1ba");
    terminal.until(|rows| has(rows, "Go to which entry? · all of them") && has(rows, "    ⋯ label begin"));
    terminal.send("\x1b");
    terminal.until(|rows| !has(rows, "Go to which"));
    left(terminal);
    let written = std::fs::read_to_string(&stage.files()[0]).unwrap();
    assert_eq!(written.matches(r#""label":"begin""#).count(), 1, "{written}");
}

#[test]
fn enter_runs_an_exact_command_and_completes_a_partial_one() {
    let stage = Stage::scripted(&[text("ok")]);
    let mut terminal = start(&stage);
    terminal.send("/hotk");
    terminal.until(|rows| has(rows, "→ hotkeys"));
    terminal.send("\r");
    let rows = terminal.until(|rows| has(rows, "› /hotkeys"));
    assert!(!rows.iter().any(|row| row.contains("in a panel: close it")), "{rows:#?}");
    terminal.send("\r");
    terminal.until_shown("in a panel: close it");
    // The popup is open.
    terminal.send("/todo");
    terminal.until(|rows| has(rows, "→ todo"));
    terminal.send("\r");
    terminal.until_shown("There is no todo list.");
    left(terminal);
}

#[test]
fn files_and_paths_are_completed() {
    let stage = Stage::scripted(&[text("ok")]);
    stage.write("project/source/main.rs", "");
    stage.write("project/source/other.rs", "");
    let mut terminal = start(&stage);
    terminal.send("see @main");
    terminal.until(|rows| has(rows, "→ source/main.rs"));
    terminal.send("\t");
    terminal.until(|rows| has(rows, "› see @source/main.rs"));
    terminal.send("sou");
    terminal.until(|rows| has(rows, "› see @source/main.rs sou"));
    terminal.send("\t");
    terminal.until(|rows| has(rows, "› see @source/main.rs source/"));
    terminal.send("\t");
    terminal.until(|rows| has(rows, "→ main.rs") && has(rows, "  other.rs"));
    // Esc only closes the popup.
    terminal.send("\x1b");
    let rows = terminal.until(|rows| !has(rows, "→ main.rs"));
    assert!(has(&rows, "› see @source/main.rs source/"), "{rows:#?}");
    terminal.send("\x03");
    terminal.until_shown("cleared");
    left(terminal);
}

#[test]
fn the_settings_panel_changes_the_settings_file() {
    let stage = Stage::scripted(&[text("ok")]);
    stage.write("home/agent/settings.json", "{\n  // mine\n  \"maxTurns\": 7\n}\n");
    let mut terminal = start(&stage);
    enter(&mut terminal, "/settings");
    terminal.until(|rows| has(rows, "Settings"));
    take(&mut terminal, "retry.enabled", "retry.enabled");
    terminal.until(|rows| has(rows, "→ true"));
    terminal.send(DOWN);
    terminal.until(|rows| has(rows, "→ false"));
    terminal.send("\r");
    terminal.until(|rows| has(rows, "→ retry.enabled  ● false"));
    terminal.send("\x1b");
    terminal.until(|rows| !has(rows, "Settings"));
    let written = std::fs::read_to_string(stage.agent().join("settings.json")).unwrap();
    assert!(written.contains("// mine") && written.contains("\"enabled\": false"), "{written}");
    left(terminal);
}

#[test]
fn a_code_block_is_copied_as_its_source() {
    let stage = Stage::scripted(&[text("Do:\n\n```sh\nls -l\n```\n")]);
    let mut terminal = start(&stage);
    enter(&mut terminal, "how?");
    terminal.until(|rows| has(rows, "ls -l") && has(rows, "ready"));
    enter(&mut terminal, "/copy 1");
    terminal.until_shown("copied 1 line through the terminal");
    // `ls -l` and a line end, in base64.
    assert!(String::from_utf8_lossy(&terminal.bytes).contains("\x1b]52;c;bHMgLWwK\x1b\\"));
    left(terminal);
}

#[test]
fn text_that_the_terminal_cannot_copy_is_written_to_a_file() {
    let long = format!("{}\nThe end.", "a line that is long enough\n".repeat(3_000));
    let short = "It is short.".to_string();
    // A terminal without cursor movement supports neither copies nor escape sequences.
    for (answer, term, why) in [
        (&long, "xterm-256color", "81009 bytes are too many for a terminal"),
        (&short, "dumb", "this terminal has no clipboard"),
    ] {
        let stage = Stage::scripted(&[text(answer)]);
        let mut terminal = Terminal::start_as(term, &stage, &["--script", "script.jsonl"], SIZE);
        let is_plain = term == "dumb";
        terminal.until_shown(if is_plain { "Ready." } else { "ready" });
        terminal.send(if is_plain { "how?\n" } else { "how?\r" });
        let last = answer.lines().last().unwrap();
        match is_plain {
            true => terminal.until_sent(|sent| sent.split_once(last).is_some_and(|(_, rest)| rest.contains("Ready."))),
            false => drop(terminal.until(|rows| has(rows, last) && has(rows, "ready"))),
        }
        terminal.send(if is_plain { "/copy\n" } else { "/copy\r" });
        terminal.until_sent(|sent| sent.contains(why));
        let copies: Vec<_> = std::fs::read_dir(stage.agent().join("copies")).unwrap().flatten().collect();
        let [copy] = &copies[..] else { panic!("{copies:?}") };
        assert_eq!(std::fs::read_to_string(copy.path()).unwrap(), *answer);
        assert_eq!(std::os::unix::fs::PermissionsExt::mode(&copy.metadata().unwrap().permissions()) & 0o777, 0o600);
        terminal.send("\x04");
        let (_, _, sent) = terminal.ended_with_bytes();
        assert!(!sent.contains("\x1b]52") && is_plain != sent.contains('\x1b'), "{sent:?}");
    }
}

#[test]
fn an_external_editor_that_fails_keeps_the_draft() {
    let stage = Stage::scripted(&[call("", "bash", json!({"command": "true"})), text("ok")]);
    stage.write("project/fails.sh", "echo gone >\"$1\"; exit 3\n");
    stage.write("project/writes.sh", "echo 'another draft' >\"$1\"\n");
    stage.write("home/agent/.env", "VISUAL=sh fails.sh\n");
    let mut terminal = start(&stage);
    terminal.send("my draft");
    terminal.until(|rows| has(rows, "› my draft"));
    terminal.send("\x07");
    terminal.until_shown("the draft is unchanged");
    terminal.until(|rows| has(rows, "› my draft"));
    terminal.send("\x03");
    terminal.until_shown("cleared");
    left(terminal);
    stage.write("home/agent/.env", "VISUAL=sh writes.sh\n");
    let mut terminal = start(&stage);
    terminal.send("my draft");
    terminal.until(|rows| has(rows, "› my draft"));
    terminal.send("\x07");
    terminal.until(|rows| has(rows, "› another draft"));
    terminal.send("\x03");
    terminal.until_shown("cleared");
    left(terminal);
}

#[test]
fn an_interrupt_stops_all_pending_tool_calls() {
    let touch = |name: &str| json!({"toolCall": {"name": "bash", "arguments": {"command": format!("touch {name}")}}});
    let stage =
        Stage::scripted(&[json!({"type": "turn", "content": [touch("a"), touch("b"), touch("c")]}), text("never")]);
    stage.write("home/agent/settings.json", r#"{"permissions": {"ask": ["bash(*)"]}}"#);
    let mut terminal = start(&stage);
    enter(&mut terminal, "go");
    terminal.until(|rows| has(rows, "  1 yes, once"));
    terminal.send("\x03");
    terminal.until(|rows| has(rows, "ready"));
    for name in ["a", "b", "c"] {
        assert!(!stage.path(&format!("project/{name}")).exists(), "{name}");
    }
    left(terminal);
}

#[test]
fn notifies_only_when_the_terminal_is_unfocused() {
    let stage = Stage::scripted(&[call("", "bash", json!({"command": "touch a"})), text("never")]);
    stage.write("home/agent/settings.json", r#"{"permissions": {"ask": ["bash(*)"]}}"#);
    for (focus, expect) in [("\x1b[I", 0), ("\x1b[O", 1)] {
        let mut terminal = start(&stage);
        terminal.send(focus);
        enter(&mut terminal, "go");
        terminal.until(|rows| has(rows, "  1 yes, once"));
        terminal.send("\x03");
        terminal.until(|rows| has(rows, "ready"));
        let text = String::from_utf8_lossy(&terminal.bytes).into_owned();
        assert!(text.contains("\x1b]2;? sinew"), "the title says that something asks");
        assert_eq!(text.matches('\x07').count(), expect, "{focus:?}");
        left(terminal);
    }
}

#[test]
fn jobs_are_listed_with_their_output_and_can_be_ended() {
    let job = json!({"command": "echo job output; touch begun; read -r line < wait", "background": true});
    let stage = Stage::scripted(&[call("", "bash", job), text("It runs."), text("It has ended.")]);
    stage.write("home/agent/settings.json", r#"{"async": {"enabled": true}}"#);
    assert!(std::process::Command::new("mkfifo").arg(stage.path("project/wait")).status().unwrap().success());
    let mut terminal = start(&stage);
    enter(&mut terminal, "/jobs");
    terminal.until_shown("no background commands");
    terminal.send("\x1b");
    terminal.until(|rows| !has(rows, "Background commands"));
    enter(&mut terminal, "go");
    stage.wait_for("project/begun");
    terminal.until(|rows| has(rows, "It runs.") && has(rows, "ready"));
    enter(&mut terminal, "/jobs");
    terminal.until(|rows| has(rows, "→ echo job output; touch begun") && has(rows, "  │ job output"));
    terminal.send("\r");
    terminal.until(|rows| has(rows, "job output") && rows.iter().any(|row| row.contains("job 1 · ")));
    terminal.send("q");
    terminal.until(|rows| has(rows, "It runs."));
    enter(&mut terminal, "/jobs");
    terminal.until(|rows| has(rows, "  │ job output"));
    terminal.send("\x18");
    // The panel updates the state by itself.
    terminal.until(|rows| rows.iter().any(|row| row.starts_with("→ echo job output") && row.contains("cancelled")));
    terminal.send("\x1b");
    terminal.until(|rows| has(rows, "It has ended.") && has(rows, "ready"));
    left(terminal);
}

#[test]
fn the_conversation_of_a_subagent_is_shown_as_it_grows() {
    let task = json!({"id": "One", "assignment": "the work of One", "description": "a test"});
    let wait = |pipe: &str| {
        let command = format!("touch ../{pipe}.begun; read -r line < ../{pipe}; echo \"$line\"");
        calls("One", "bash", json!({"command": command}))
    };
    let stage = Stage::scripted(&[
        json!({"type": "script", "version": 1, "onExhausted": "error"}),
        calls("main", "task", json!({"agent": "task", "tasks": [task], "background": true})),
        says("main", "It works."),
        says("main", "It is done."),
        wait("first"),
        wait("second"),
        submits("One", "from One"),
    ]);
    let (first, second) = (stage.pipe("first"), stage.pipe("second"));
    let mut terminal = start(&stage);
    enter(&mut terminal, "/tasks");
    terminal.until_shown("no subagents in this session");
    terminal.send("\x1b");
    terminal.until(|rows| !has(rows, "Subagents of this session"));
    enter(&mut terminal, "go");
    terminal.until_shown("It works.");
    enter(&mut terminal, "/tasks");
    terminal.until(|rows| rows.iter().any(|row| row.contains("→ One (task)") && row.contains("running · ")));
    // A message that arrives before a call has begun skips the call.
    stage.wait_for("first.begun");
    terminal.send("\t");
    terminal.until_shown("Message to One");
    terminal.send("be quick\r");
    terminal.until_shown("Subagents of this session");
    terminal.send("\r");
    terminal.until(|rows| has(rows, "› the work of One") && has(rows, "● bash touch ../first.begun"));
    std::fs::write(first, "the first line\n").unwrap();
    terminal.until(|rows| has(rows, "  the first line") && has(rows, "› be quick"));
    std::fs::write(second, "the second line\n").unwrap();
    terminal.until(|rows| has(rows, "  the second line") && has(rows, "● submit_result"));
    terminal.send("q");
    terminal.until(|rows| has(rows, "It is done.") && has(rows, "ready"));
    enter(&mut terminal, "/tasks");
    terminal.until(|rows| rows.iter().any(|row| row.contains("→ One (task)") && row.contains("completed · ")));
    terminal.send("\x18");
    terminal.until_shown("One is completed already");
    // The conversation of an agent that has ended is read from its file.
    terminal.send("\r");
    terminal.until(|rows| has(rows, "  the second line") && has(rows, "● submit_result"));
    terminal.send("q");
    terminal.until(|rows| has(rows, "It is done."));
    left(terminal);
}

#[test]
fn jumping_to_a_character_works_in_both_directions() {
    let stage = Stage::scripted(&[text("ok")]);
    let mut terminal = start(&stage);
    terminal.send("one two three\x01\x1d");
    terminal.until(|rows| has(rows, "jump to which character?"));
    terminal.send("tX");
    terminal.until(|rows| has(rows, "› one Xtwo three"));
    terminal.send("\x1dz");
    terminal.until_shown("there is no z after");
    // ctrl+alt+] in Kitty's keyboard protocol.
    terminal.send("\x1b[93;7u");
    terminal.until(|rows| has(rows, "jump to which character?"));
    terminal.send("nY");
    terminal.until(|rows| has(rows, "› oYne Xtwo three"));
    terminal.send("\x03");
    terminal.until_shown("cleared");
    left(terminal);
}
