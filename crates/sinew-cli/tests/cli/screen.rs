//! The terminal: its restoration, slow and silent terminals, and the same results in all modes.

use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};
use sinew_testkit::provider::{Reply, Server};

use crate::client::Client;
use crate::interactive::call;
use crate::login::{device_server, kept, tokens, with_oauth};
use crate::stage::{Stage, messages, text as answer};
use crate::terminal::{Terminal, enter, has, left, left_with_bytes};

const SIZE: (u16, u16) = (80, 24);

fn start(stage: &Stage) -> Terminal {
    let mut terminal = Terminal::start(stage, &["--script", "script.jsonl"], SIZE);
    terminal.until(|rows| has(rows, "ready"));
    terminal
}

#[test]
fn a_signal_at_any_byte_of_the_startup_leaves_a_clean_terminal() {
    let stage = Stage::scripted(&[answer("ok")]);
    let signals = [(Signal::TERM, 143), (Signal::HUP, 143), (Signal::INT, 130)];
    let cases = [0, 1, 9, 30, 60, 120, 240].into_iter().flat_map(|bytes| signals.map(|signal| (bytes, signal)));
    for (bytes, (signal, code)) in cases {
        let mut terminal = Terminal::start(&stage, &["--script", "script.jsonl"], SIZE);
        terminal.until_sent(|text| text.len() >= bytes);
        kill_process(terminal.pid(), signal).unwrap();
        // Before it handles signals, it has not changed the terminal either.
        let (status, rows) = terminal.ended();
        let by_signal = std::os::unix::process::ExitStatusExt::signal(&status);
        let as_expected = status.code() == Some(code) || by_signal == Some(signal.as_raw());
        assert!(as_expected, "{bytes} {signal:?}: {status:?} {rows:#?}");
    }
}

#[test]
fn keyboard_flags_are_balanced_on_each_screen() {
    let stage = Stage::scripted(&[answer("ok")]);
    stage.write("project/writes.sh", "echo 'another draft' >\"$1\"\n");
    stage.write("home/agent/.env", "VISUAL=sh writes.sh\n");
    let mut terminal = start(&stage);
    terminal.send("\x1b[?0u");
    terminal.until_sent(|text| text.contains("\x1b[>5u"));
    terminal.send("\x1b[103;5u");
    terminal.until(|rows| has(rows, "› another draft"));
    // The view has its own screen and keyboard flags.
    terminal.send("\x1b[111;5u");
    terminal.until_shown("conversation · ");
    terminal.send("q");
    terminal.until(|rows| has(rows, "› another draft"));
    terminal.send("\x1b[99;5u");
    terminal.until_shown("cleared");
    let (_, sent) = left_with_bytes(terminal);
    let (mut main, mut other) = (0, 0);
    let mut is_other = false;
    for part in sent.split('\x1b').skip(1) {
        let flags = if is_other { &mut other } else { &mut main };
        match part {
            _ if part.starts_with("[>5u") => *flags += 1,
            _ if part.starts_with("[<u") => *flags -= 1,
            _ if part.starts_with("[?1049h") => is_other = true,
            _ if part.starts_with("[?1049l") => is_other = false,
            _ => {}
        }
        assert!((0..=1).contains(&main) && (0..=1).contains(&other), "{sent:?}");
    }
    assert_eq!((main, other), (0, 0));
    assert_eq!(sent.matches("\x1b[>5u").count(), 3, "at the start, behind the editor, in the view");
}

#[test]
fn the_first_frame_needs_no_reply() {
    let stage = Stage::scripted(&[answer("It is fine.")]);
    let mut terminal = Terminal::start(&stage, &["--script", "script.jsonl"], SIZE).silent();
    terminal.until(|rows| has(rows, "ready"));
    enter(&mut terminal, "is it?");
    terminal.until(|rows| has(rows, "It is fine.") && has(rows, "ready"));
    left(terminal);
}

#[test]
fn a_blocked_terminal_stops_neither_the_agent_nor_the_keys() {
    let long: String = (1..=4_000).map(|line| format!("line {line} of a long answer\n\n")).collect();
    let mut first = call("bash", json!({"command": "touch made"}));
    first["content"].as_array_mut().unwrap().insert(0, json!({"text": long}));
    let stage = Stage::scripted(&[first, answer("It is done.")]);
    let mut terminal = start(&stage);
    terminal.send("go\r");
    // The output is not read; the run continues with its tool.
    stage.wait_for("project/made");
    terminal.send("typed meanwhile");
    let rows = terminal.until(|rows| has(rows, "It is done.") && has(rows, "ready") && has(rows, "› typed meanwhile"));
    assert!(rows.iter().any(|row| row == "● bash touch made"), "{rows:#?}");
    let sent = String::from_utf8_lossy(&terminal.bytes).into_owned();
    for line in [1, 2_000, 4_000] {
        assert_eq!(sent.matches(&format!("line {line} of a long answer")).count(), 1, "line {line}");
    }
    terminal.send("\x03");
    terminal.until_shown("cleared");
    left(terminal);
}

/// Repeats an answer in linear mode until it is accepted; `before` is the number of earlier answers.
#[track_caller]
fn answer_with(terminal: &mut Terminal, line: &str, before: usize) {
    let count = |text: &str, word: &str| text.matches(word).count();
    loop {
        let refused = count(&String::from_utf8_lossy(&terminal.bytes), "Too soon");
        terminal.send(line);
        terminal.until_sent(|text| count(text, "Answered.") > before || count(text, "Too soon") > refused);
        if count(&String::from_utf8_lossy(&terminal.bytes), "Answered.") > before {
            return;
        }
    }
}

#[test]
fn session_rules_cover_their_pattern_and_always_rules_are_saved() {
    let touch = |name: &str| call("bash", json!({"command": format!("touch {name}")}));
    let stage = Stage::scripted(&[touch("a"), touch("a"), touch("b"), answer("Done.")]);
    stage.write("home/agent/settings.json", r#"{"permissions": {"ask": ["bash(*)"]}}"#);
    let mut terminal = Terminal::start(&stage, &["--linear", "--script", "script.jsonl"], (100, 60));
    terminal.until_shown("Ready.");
    terminal.send("go\r");
    terminal.until_shown("2. yes, and in this session: bash(touch a)");
    answer_with(&mut terminal, "2\r", 0);
    // The same call needs no second permission, but another one does.
    terminal.until_shown("3. yes, and always, saved in");
    terminal.until_shown("2. yes, and in this session: bash(touch b)");
    assert!(stage.path("project/a").exists() && !stage.path("project/b").exists());
    answer_with(&mut terminal, "3\r", 1);
    terminal.until_shown("Assistant: Done.");
    let asked = String::from_utf8_lossy(&terminal.bytes).matches("Asks 1 of 1: bash in ").count();
    assert_eq!(asked, 2);
    terminal.send("\x04");
    assert_eq!(terminal.ended().0.code(), Some(0));
    assert!(stage.path("project/b").exists());
    let kept: Value =
        serde_json::from_str(&std::fs::read_to_string(stage.agent().join("settings.json")).unwrap()).unwrap();
    assert_eq!(kept["permissions"]["allow"], json!(["bash(touch b)"]));
    // The rule is in force at the next start.
    let ran = stage.play(&["-p", "--no-session", "again"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

/// Returns the script for the comparison.
fn script() -> Vec<Value> {
    vec![
        call("bash", json!({"command": "echo one; echo two"})),
        call("edit", json!({"path": "a.txt", "edits": [{"oldText": "old", "newText": "new"}]})),
        call("read", json!({"path": "none.txt"})),
        answer("The *answer* is here.\n\n- a point\n"),
    ]
}

#[test]
fn json_rpc_linear_and_screen_modes_produce_the_same_session() {
    let stage = || {
        let stage = Stage::scripted(&script());
        stage.write("project/a.txt", "old\n");
        stage
    };
    let kept = |stage: &Stage| {
        assert_eq!(std::fs::read_to_string(stage.path("project/a.txt")).unwrap(), "new\n");
        messages(&stage.files()[0])
    };
    let json = stage();
    let ran = json.play(&["--mode", "json", "go"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let expect = kept(&json);
    let roles: Vec<&str> = expect.iter().map(|(role, _)| role.as_str()).collect();
    let (assistant, result) = ("assistant", "toolResult");
    assert_eq!(roles, ["user", assistant, result, assistant, result, assistant, result, assistant]);
    let ended = |line: &str| -> Option<(String, String)> {
        let event: Value = serde_json::from_str(line).unwrap();
        let message = (event["type"] == "message_end").then_some(&event["message"])?;
        let blocks = message["content"].as_array();
        let text: String = match blocks {
            Some(blocks) => blocks.iter().filter_map(|block| block["text"].as_str()).collect(),
            None => message["content"].as_str()?.to_string(),
        };
        Some((message["role"].as_str()?.to_string(), text))
    };
    assert_eq!(ran.stdout.lines().filter_map(ended).collect::<Vec<_>>(), expect);

    let rpc = stage();
    let mut client = Client::scripted(&rpc, &[]);
    client.prompt("go");
    let list = client.data("get_messages", json!({}));
    assert_eq!(list["messages"].as_array().unwrap().len(), expect.len());
    assert_eq!(client.end().code, Some(0));
    assert_eq!(kept(&rpc), expect);

    let screen = stage();
    let mut terminal = Terminal::start(&screen, &["--script", "script.jsonl"], (80, 50));
    terminal.until(|rows| has(rows, "ready"));
    enter(&mut terminal, "go");
    let rows = terminal.until(|rows| has(rows, "- a point") && has(rows, "ready"));
    left(terminal);
    assert_eq!(kept(&screen), expect);
    let shown =
        ["› go", "● bash echo one; echo two", "  two", "● edit a.txt", "✗ read none.txt", "The answer is here."];
    let places: Vec<Option<usize>> =
        shown.iter().map(|text| rows.iter().position(|row| row.starts_with(text))).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?} in {rows:#?}");

    let linear = stage();
    let mut terminal = Terminal::start(&linear, &["--linear", "--script", "script.jsonl"], (80, 50));
    terminal.until_shown("Ready.");
    terminal.send("go\r");
    let rows = terminal.until(|rows| rows.iter().filter(|row| *row == "Ready.").count() == 2);
    terminal.send("\x04");
    assert_eq!(terminal.ended().0.code(), Some(0));
    assert_eq!(kept(&linear), expect);
    let said =
        ["You: go", "Runs: echo one; echo two", "two", "Edits: a.txt", "Reads: none.txt", "Failed: ", "Assistant: The"];
    let places: Vec<Option<usize>> =
        said.iter().map(|text| rows.iter().position(|row| row.starts_with(text))).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?} in {rows:#?}");
}

#[test]
fn the_viewer_shows_all_tool_output_and_leaves_the_transcript_unchanged() {
    let stage = Stage::scripted(&[call("bash", json!({"command": "seq 200"})), answer("Done.")]);
    let mut terminal = start(&stage);
    enter(&mut terminal, "go");
    let before = terminal.until(|rows| has(rows, "Done.") && has(rows, "ready"));
    assert!(!before.iter().any(|row| row == "  7"), "{before:#?}");
    terminal.send("\x0f");
    terminal.until(|rows| has(rows, "● bash seq 200") && rows.iter().any(|row| row == "  7"));
    terminal.send("/150");
    terminal.until(|rows| has(rows, "/150"));
    terminal.send("\r");
    terminal.until(|rows| has(rows, "  150") && !rows.iter().any(|row| row == "  7"));
    terminal.send("q");
    let after = terminal.until(|rows| has(rows, "Done.") && has(rows, "ready"));
    assert_eq!(after, before);
    left(terminal);
}

#[test]
fn handoff_plan_and_move_work_on_a_session() {
    let stage = Stage::scripted(&[answer("one"), answer("two")]);
    // The absolute path is valid in the other directory too.
    let script = stage.project().join("script.jsonl");
    let mut terminal = Terminal::start(&stage, &["--script", script.to_str().unwrap()], SIZE);
    terminal.until(|rows| has(rows, "ready"));
    enter(&mut terminal, "/dump");
    terminal.until_shown("No messages to dump yet.");
    terminal.send("\x03");
    terminal.until_shown("cleared");
    enter(&mut terminal, "first");
    terminal.until(|rows| has(rows, "one") && has(rows, "ready"));
    enter(&mut terminal, "/plan");
    terminal
        .until(|rows| has(rows, "plan mode: nothing can be changed") && rows.iter().any(|row| row.contains("plan · ")));
    enter(&mut terminal, "/plan");
    terminal.until(|rows| has(rows, "plan mode is off") && !rows.iter().any(|row| row.contains("plan · ")));
    enter(&mut terminal, "/handoff the tests");
    terminal.until(|rows| rows.iter().any(|row| row.starts_with("⋯ handoff: ")) && has(rows, "ready"));
    assert_eq!(stage.files().len(), 2);
    std::fs::create_dir(stage.path("other")).unwrap();
    stage.write("other/here.txt", "the other folder");
    enter(&mut terminal, "/move ../other");
    // The second start is below the last row of the first one.
    terminal.until(|rows| {
        let begun = rows.iter().position(|row| row.starts_with("scripted/script") && row.ends_with("/other"));
        begun.is_some_and(|at| rows[at..].iter().any(|row| row.starts_with("ready")))
    });
    terminal.send("!cat here.txt\r");
    terminal.until(|rows| rows.iter().any(|row| row == "  the other folder"));
    // The script restarts with the program.
    enter(&mut terminal, "go on");
    let rows = terminal.until(|rows| {
        let asked = rows.iter().position(|row| row == "› go on");
        asked.is_some_and(|at| rows[at..].iter().any(|row| row == "one")) && has(rows, "ready")
    });
    let moved: Vec<_> = stage.files().into_iter().filter(|file| file.to_string_lossy().contains("other")).collect();
    assert_eq!(moved.len(), 1, "{rows:#?}");
    let said = messages(&moved[0]);
    assert!(said.contains(&("user".into(), "go on".into())), "{said:?}");
    assert_eq!(stage.files().len(), 2, "no session was begun");
    left(terminal);
}

/// Logs in at `local` with the panel; `confirm` does what the panel asks the user to do.
#[track_caller]
fn logs_in(oauth: &Value, confirm: impl FnOnce(&mut Terminal)) {
    let stage = with_oauth(oauth);
    let mut terminal = Terminal::start(&stage, &[], (200, 30));
    terminal.until(|rows| has(rows, "Welcome.") && has(rows, "ready"));
    terminal.send("\x1b");
    terminal.until(|rows| !has(rows, "Welcome."));
    enter(&mut terminal, "/login local");
    confirm(&mut terminal);
    terminal.until(|rows| has(rows, "local is set up: local/m answers from now on") && has(rows, "ready"));
    assert_eq!(kept(&stage)["local"]["access"], "access-of-the-login");
    let (_, sent) = left_with_bytes(terminal);
    assert!(!sent.contains("access-of-the-login") && !sent.contains("refresh-of-the-login"));
}

#[test]
fn a_device_code_login_shows_the_code_in_a_panel() {
    let server = device_server();
    let oauth = json!({"deviceUrl": server.url(), "tokenUrl": server.url(), "clientId": "c"});
    logs_in(&oauth, |terminal| {
        terminal.until_sent(|text| text.contains("and type this code: AB-12"));
    });
}

#[test]
fn a_browser_login_accepts_the_pasted_redirect_url() {
    let server = Server::start(|_| Reply::json(200, &tokens()));
    let oauth = json!({"authorizeUrl": "https://login.test/authorize", "tokenUrl": server.url(), "clientId": "c"});
    logs_in(&oauth, |terminal| {
        let rows = terminal.until(|rows| has(rows, "Open this URL in a browser:") && has(rows, "If the browser"));
        // The URL may use several rows.
        let from = rows.iter().position(|row| row.starts_with("Open this")).unwrap() + 1;
        let to = rows.iter().position(|row| row.starts_with("If the browser")).unwrap();
        let address: String = rows[from..to].iter().map(|row| row.trim()).collect();
        let part =
            |name: &str| address.split_once(&format!("{name}=")).unwrap().1.split('&').next().unwrap().to_string();
        let state = part("state");
        let back = part("redirect_uri").replace("%3A", ":").replace("%2F", "/");
        terminal.send(&format!("\x1b[200~{back}?code=x&state={state}\x1b[201~"));
        terminal.until(|rows| rows.iter().any(|row| row.contains("code=x")));
        terminal.send("\r");
    });
}

#[test]
fn a_new_session_shows_nothing_of_the_previous_one() {
    let touch = || call("bash", json!({"command": "touch made"}));
    let stage = Stage::scripted(&[touch(), answer("The first."), touch(), answer("never")]);
    stage.write("home/agent/settings.json", r#"{"permissions": {"ask": ["bash(*)"]}, "tui": {"approvalDelayMs": 0}}"#);
    stage.write("home/agent/keybindings.json", r#"{"app.session.new": "alt+n"}"#);
    let mut terminal = start(&stage);
    let asked = |terminal: &mut Terminal| {
        let rows = terminal.until(|rows| has(rows, "  1 yes, once"));
        if rows.iter().any(|row| row.contains("tab: answer")) {
            terminal.send("\t");
            terminal.until(|rows| !rows.iter().any(|row| row.contains("tab: answer")));
        }
    };
    enter(&mut terminal, "go");
    asked(&mut terminal);
    // A rule for the session.
    terminal.send("2");
    terminal.until_shown("bash(touch made)");
    terminal.send("\r");
    terminal.until(|rows| has(rows, "The first.") && has(rows, "ready"));
    // A stashed draft, and one in the editor.
    terminal.send("aside");
    terminal.until(|rows| has(rows, "› aside"));
    terminal.send("\x13");
    terminal.until_shown("stashed: restored");
    terminal.send("a draft");
    terminal.until(|rows| has(rows, "› a draft"));
    terminal.send("\x1bn");
    terminal.until(|rows| {
        has(rows, "── a new session ──")
            && has(rows, "ready")
            && rows.iter().rev().find(|row| !row.is_empty()).is_some_and(|row| row == "›")
    });
    enter(&mut terminal, "go");
    asked(&mut terminal);
    terminal.send("\x03");
    let rows = terminal.until(|rows| has(rows, "ready"));
    assert!(!has(&rows, "› aside") && !has(&rows, "› a draft"), "{rows:#?}");
    assert_eq!(stage.files().len(), 2);
    // Both drafts still exist.
    terminal.send("\x1b[A\x1b[A");
    terminal.until(|rows| has(rows, "› a draft") || has(rows, "› aside"));
    terminal.send("\x03");
    terminal.until_shown("cleared");
    left(terminal);
}
