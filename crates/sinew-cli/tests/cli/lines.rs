//! Command lines, with their output and exit code.

use serde_json::json;

use crate::stage::{Stage, call, finish, text};

#[track_caller]
fn check(stage: &Stage, args: &[&str], code: i32, stdout: &str, stderr: &str) {
    let ran = stage.run(args);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(code), stdout), "{args:?}: {}", ran.stderr);
    match stderr {
        "" => assert_eq!(ran.stderr, "", "{args:?}"),
        part => assert!(ran.stderr.contains(part), "{args:?}: {}", ran.stderr),
    }
}

#[test]
fn invalid_command_lines_exit_with_code_2_and_a_reason() {
    let stage = Stage::scripted(&[text("hi")]);
    let script = "script.jsonl";
    check(&stage, &["--verion"], 2, "", "unknown flag --verion; did you mean --version?");
    check(&stage, &["-p", "--script", script], 2, "", "No prompt given.");
    check(&stage, &["-p", "--mode", "rpc", "hi"], 2, "", "--mode rpc does not accept a message (hi)");
    check(&stage, &["-p", "--theme", "x", "hi"], 2, "", "--theme is not available yet");
    check(&stage, &["mcp", "everything"], 2, "", "sinew mcp everything: unknown command; use list");
    check(&stage, &["-p", "--cwd", "no/such", "hi"], 2, "", "--cwd ");
    check(&stage, &["-p", "--script", script, "--tools", "ls,fly", "hi"], 2, "", "--tools fly: unknown tool; known: ");
    check(&stage, &["-p", "--api-key", "k", "hi"], 2, "", "add --provider or --model");
    check(
        &stage,
        &["-p", "--script", script, "--tools=", "hi"],
        2,
        "",
        "--tools is empty; use --no-tools to offer no tools",
    );
    check(
        &stage,
        &["sessions", "lst"],
        2,
        "",
        "sinew sessions lst: unknown command; did you mean sinew sessions list?",
    );
    check(&stage, &["sessions", "list", "all"], 2, "", "sinew sessions list all: use list, rm ID or gc");
    check(&stage, &["config", "show"], 2, "", "did you mean sinew config get?");
    check(&stage, &["-p", "--script", script, "--session=", "hi"], 2, "", "--session needs a value");
    check(
        &stage,
        &["-p", "--script", script, "--session", ".", "hi"],
        2,
        "",
        "is not a session file: it is a directory",
    );
    check(
        &stage,
        &["-p", "--script", script, "--session", "/dev/zero", "hi"],
        2,
        "",
        "is not a session file: it is a pipe",
    );
    check(&stage, &["-p", "--script", "/dev/null", "--resume=", "hi"], 2, "", "The id of a session is empty");
}

#[test]
fn a_setting_with_an_unknown_tool_is_reported() {
    let stage = Stage::scripted(&[text("hi"), text("hi")]);
    stage.write("home/agent/settings.json", r#"{"tools": ["read", "reed"], "excludeTools": ["fly"]}"#);
    let ran = stage.play(&["-p", "go"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "hi\n"), "{}", ran.stderr);
    for part in ["tools: unknown tool reed; known: read, ", "excludeTools: unknown tool fly; known: "] {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
}

#[test]
fn invalid_configurations_exit_with_code_3() {
    let stage = Stage::new();
    stage.write("project/bad.jsonl", "{\"type\":\"turn\",\"content\":[]}\n{\"type\":\"tune\"}\n");
    check(&stage, &["-p", "hi"], 3, "", "No model. Set one up");
    check(&stage, &["-p", "--script", "none.jsonl", "hi"], 3, "", "--script none.jsonl: ");
    stage.write("project/ok.jsonl", &text("hi").to_string());
    for flag in ["--skill", "--prompt-template", "--hook"] {
        check(&stage, &["-p", "--script", "ok.jsonl", flag, "none", "hi"], 3, "", &format!("{flag} none: "));
    }
    check(&stage, &["-p", "--script", "bad.jsonl", "hi"], 3, "", "script:2: ");
    check(&stage, &["-p", "--model", "zzzzzz", "hi"], 3, "", "Model not found: zzzzzz.");
    check(&stage, &["-p", "--provider", "nobody", "hi"], 3, "", "Provider not found: nobody");
    check(&stage, &["-p", "--model", "claude-sonnet-4-5", "hi"], 3, "", "set ANTHROPIC_API_KEY");
    assert_eq!(stage.files(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn commands_that_need_no_agent_answer_at_once() {
    let stage = Stage::new();
    check(&stage, &["--version"], 0, concat!("sinew ", env!("CARGO_PKG_VERSION"), "\n"), "");
    check(&stage, &["sessions", "list"], 0, "No sessions found\n", "");
    check(&stage, &["sessions", "gc", "--dry-run"], 0, "0 unused images would be removed\n", "");
    let help = stage.run(&["--help"]);
    assert_eq!((help.code, help.stderr.as_str()), (Some(0), ""));
    assert!(help.stdout.contains("--continue") && help.stdout.contains("Exit codes"), "{}", help.stdout);
}

#[test]
fn the_last_line_reports_how_the_run_ended() {
    let calls = call("A", "ls", json!({"path": "."}));
    let mut cut = text("half");
    cut["stop"] = json!("length");
    let thought = json!({"type": "turn", "content": [{"thinking": "hm"}]});
    let (mut cut_thought, mut cut_empty) = (thought.clone(), text(""));
    (cut_thought["stop"], cut_empty["stop"]) = (json!("length"), json!("length"));
    let too_much = json!({"type": "fault", "kind": "overflow"});
    let refused = json!({"type": "fault", "kind": "http", "status": 400, "body": "no such field"});
    for (script, turns, code, last) in [
        (
            calls,
            "1",
            4,
            "Error: Stopped after 1 turns. Send \"continue\" to continue; change the limit with --max-turns N or the setting maxTurns.",
        ),
        (cut, "2", 0, "Warning: Output limit reached (raise it with --max-tokens)"),
        (thought, "2", 1, "Error: the model's answer was empty twice in a row"),
        (text(""), "2", 1, "Error: the model's answer was empty twice in a row"),
        (cut_thought, "2", 1, "Error: the model's answer was empty, because it reached the output limit of "),
        (cut_empty, "2", 1, "Error: the model's answer was empty, because it reached the output limit of "),
        (refused, "2", 1, "Error: scripted: no such field (HTTP 400)"),
        (too_much, "2", 1, "Error: Context overflow recovery failed: there is too little history to summarize. "),
    ] {
        let stage = Stage::scripted(&[script.clone(), script]);
        let ran = stage.play(&["-p", "--max-turns", turns, "go"]);
        assert_eq!(ran.code, Some(code), "{}", ran.stderr);
        assert!(ran.stderr.lines().last().unwrap_or_default().starts_with(last), "{last}: {}", ran.stderr);
    }
}

#[test]
fn an_overflow_names_the_part_that_is_too_large() {
    let faults = vec![json!({"type": "fault", "kind": "overflow"}); 2];
    let long = "many words\n".repeat(20_000);
    for (args, stdin, expect) in [
        (&["@a.txt", "@b.txt", "explain"][..], "", "The largest part is the attached file b.txt, about "),
        (&["explain"], long.as_str(), "The largest part is your message, about "),
    ] {
        let stage = Stage::scripted(&faults);
        stage.write("project/a.txt", "short");
        stage.write("project/b.txt", &"many words in a line of a file that is long\n".repeat(1_100));
        let ran = stage.piped(&[&["-p"], args].concat(), stdin);
        assert_eq!(ran.code, Some(1), "{}", ran.stderr);
        assert!(ran.stderr.contains(expect), "{expect}: {}", ran.stderr);
    }
}

#[test]
fn a_call_truncated_by_the_output_limit_is_retried_and_then_the_run_fails() {
    let call = json!({"toolCall": {"name": "write", "rawArguments": "{\"path\":\"a\",\"content\":\"half"}});
    let cut = json!({"type": "turn", "content": [{"text": "Now."}, call], "stop": "length"});
    for (cuts, code, last) in [
        (1, 0, ""),
        (2, 0, ""),
        (3, 1, "Error: Output limit reached: a tool call was cut off, and so were the model's further attempts"),
    ] {
        let stage = Stage::scripted(&[vec![cut.clone(); cuts], vec![text("Done.")]].concat());
        let ran = stage.play(&["-p", "go"]);
        assert_eq!(ran.code, Some(code), "{cuts}: {}", ran.stderr);
        assert!(ran.stderr.lines().last().unwrap_or_default().starts_with(last), "{cuts}: {}", ran.stderr);
        assert_eq!(ran.stdout.contains("Done."), code == 0, "{cuts}: {}", ran.stdout);
        assert!(!stage.files().iter().any(|path| path.ends_with("a")), "a cut call never runs");
    }
}

#[test]
fn stdout_contains_only_the_answers() {
    let stage = Stage::scripted(&[call("Looking.", "ls", json!({"path": "."})), text("Done.\n")]);
    let ran = stage.play(&["-p", "look"]);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (Some(0), "Looking.\n\nDone.\n", ""));
    let roles: Vec<String> = stage.said().into_iter().map(|(role, _)| role).collect();
    assert_eq!(roles, ["user", "assistant", "toolResult", "assistant"]);
}

#[test]
fn arguments_are_joined_into_one_prompt() {
    for (words, prompt) in [
        (&["fix", "the", "bug"][..], "fix the bug"),
        (&["fix the", "bug"], "fix the bug"),
        (&["fix", " ", "the bug"], "fix the bug"),
        (&["--", "-x", "is", "a", "--flag"], "-x is a --flag"),
        (&["@notes.txt", "fix", "the", "bug"], "fix the bug"),
        (&["fix", "@notes.txt", "the", "bug"], "fix the bug"),
        (&["fix", "@none", "now"], "fix @none now"),
    ] {
        let stage = Stage::scripted(&[text("ok")]);
        stage.write("project/notes.txt", "N");
        let ran = stage.play(&[&["-p"], words].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "ok\n"), "{words:?}: {}", ran.stderr);
        let asked: Vec<String> =
            stage.said().into_iter().filter(|(role, _)| role == "user").map(|said| said.1).collect();
        assert_eq!(asked, [prompt], "{words:?}");
    }
}

#[test]
fn built_in_commands_never_reach_a_model() {
    let stage = Stage::scripted(&[text("first")]);
    assert_eq!(stage.play(&["-p", "start"]).code, Some(0));
    for (prompt, code, stdout, stderr) in [
        ("/help", 0, "/compact", ""),
        ("/session", 0, "scripted/script", ""),
        ("/usage", 0, "requests       1\n", ""),
        ("/context", 0, "system", ""),
        ("/name My session", 0, "", ""),
        ("/session", 0, "My session", ""),
        ("/skills", 0, "No skills.", ""),
        ("/export page.html", 0, "Exported to: ", ""),
        ("/export", 0, "Exported to: ", ""),
        ("/quit", 0, "", ""),
        ("/compact", 1, "", "Nothing to compact"),
        ("/name", 1, "", "/name TITLE"),
        ("/model gpt", 2, "", "/model does not run here: use --model PATTERN"),
        ("/login", 2, "", "/login does not run here: use sinew login"),
        ("/tree", 2, "", "/tree does not run here: it needs the interactive mode"),
        ("/new", 2, "", "/new does not run here"),
    ] {
        for mode in [&["-p"][..], &["--mode", "json"]] {
            let ran = stage.play(&[mode, &["-c", prompt]].concat());
            assert_eq!(ran.code, Some(code), "{prompt}: {ran:?}");
            let (said, told) = if mode.len() == 1 { (&ran.stdout, &ran.stderr) } else { (&ran.stderr, &ran.stderr) };
            assert!(said.contains(stdout) && told.contains(stderr), "{mode:?} {prompt}: {ran:?}");
            assert!(mode.len() == 1 || ran.stdout.lines().all(|line| line.starts_with('{')), "{prompt}: {ran:?}");
        }
        let roles: Vec<String> = stage.said().into_iter().map(|(role, _)| role).collect();
        assert_eq!(roles, ["user", "assistant"], "{prompt}");
    }
    assert!(stage.path("project/page.html").is_file());
    let ran = stage.play(&["--output", "json", "-c", "/session"]);
    assert!(ran.stdout.contains("My session") && ran.stdout.contains("\"exitReason\":\"done\""), "{ran:?}");
    for (typed, near) in [("/comapct", "/compact"), ("/sesion", "/session"), ("/modle x", "/model")] {
        let ran = stage.play(&["-p", "-c", typed]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{typed}");
        assert!(ran.stderr.contains(&format!("unknown command; did you mean {near}?")), "{}", ran.stderr);
    }
    // A text that only resembles a command is a prompt.
    assert_eq!(stage.play(&["-p", "-c", "/etc/hosts", "is", "broken"]).code, Some(0));
    assert_eq!(stage.said()[2].1, "/etc/hosts is broken");
}

#[test]
fn a_silent_stdin_is_awaited_on_request() {
    use std::io::Write;
    let stage = Stage::scripted(&[text("ok")]);
    let mut command = stage.command(&["--script", "script.jsonl", "--stdin", "-p", "sum", "up"]);
    let mut child = command.stdin(std::process::Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"one\ntwo\n").unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(stage.said()[0].1, "one\ntwo\n\nsum up");
}

#[test]
fn a_silent_stdin_is_ignored() {
    use std::io::Read;
    let stage = Stage::scripted(&[text("ok")]);
    let mut command = stage.command(&["--script", "script.jsonl", "-p", "hi"]);
    let mut child = command.stdin(std::process::Stdio::piped()).spawn().unwrap();
    // Standard input stays open until the end of the test.
    let open = child.stdin.take().unwrap();
    let mut told = String::new();
    child.stderr.take().unwrap().read_to_string(&mut told).unwrap();
    assert!(child.wait().unwrap().success(), "{told}");
    assert!(told.contains("continuing without it. Use --stdin to wait."), "{told}");
    assert_eq!(stage.said()[0].1, "hi");
    drop(open);
}

#[test]
fn a_stdin_that_stops_is_awaited_with_a_notice() {
    use std::io::{BufRead, BufReader, Write};
    let stage = Stage::scripted(&[text("ok")]);
    let mut command = stage.command(&["--script", "script.jsonl", "-p", "hi"]);
    let mut child = command.stdin(std::process::Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"one\n").unwrap();
    let mut told = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut told).unwrap();
    assert!(told.contains("Waiting for the end of standard input (4 bytes so far)."), "{told}");
    input.write_all(b"two\n").unwrap();
    drop(input);
    assert!(child.wait().unwrap().success());
    assert_eq!(stage.said()[0].1, "one\ntwo\n\nhi");
}

#[test]
fn a_retried_answer_is_printed_once() {
    let mut cut = text("All of it, and more than once.");
    cut["fault"] = json!({"after": 1, "kind": "network"});
    let stage = Stage::scripted(&[cut.clone(), text("All of it.")]);
    stage.write("home/agent/settings.json", r#"{"retry": {"baseDelayMs": 1}}"#);
    let ran = stage.play(&["-p", "go"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "All of it.\n"), "{}", ran.stderr);
    assert!(ran.stderr.contains("retrying in 1 s (1 of 3)"), "{}", ran.stderr);
    // Without a retry, the partial answer is the final output.
    stage.write("home/agent/settings.json", r#"{"retry": {"enabled": false}}"#);
    let ran = stage.play(&["-p", "go"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), "All of it, and m\n"), "{}", ran.stderr);
}

#[test]
fn verbose_shows_tools_and_thinking_on_stderr() {
    let missing = json!({"type": "turn", "content": [
        {"thinking": "hm"}, {"text": "A"}, {"toolCall": {"name": "read", "arguments": {"path": "none"}}}]});
    let stage = Stage::scripted(&[missing, text("B")]);
    let run = |name: &str, value: &str| {
        let mut command = stage.command(&["--script", "script.jsonl", "-p", "--verbose", "go"]);
        finish({
            command.env(name, value);
            command
        })
    };
    let plain = run("NO_COLOR", "1");
    assert_eq!(plain.stdout, "A\n\nB\n");
    assert!(plain.stderr.contains("hm") && plain.stderr.contains("→ read: none"), "{}", plain.stderr);
    assert!(plain.stderr.contains("✗ read: ") && !plain.stderr.contains('\x1b'), "{}", plain.stderr);
    let coloured = run("FORCE_COLOR", "1");
    for part in ["\x1b[31m✗\x1b[0m", "\x1b[2mhm\x1b[0m"] {
        assert!(coloured.stderr.contains(part), "{}", coloured.stderr);
    }
    assert_eq!(coloured.stdout, plain.stdout);
}

#[test]
fn answers_contain_no_terminal_escapes() {
    let stage = Stage::scripted(&[text("a\u{1b}[31mb\u{9b}2Jc\u{7}\r\n\td")]);
    assert_eq!(stage.play(&["-p", "go"]).stdout, "a[31mb2Jc\n\td\n");
}

#[test]
fn piped_input_precedes_the_message() {
    let expect = |part: &str| json!({"type": "turn", "expect": {"lastRole": "user", "lastContains": part}, "content": [{"text": "ok"}]});
    let stage = Stage::scripted(&[expect("one\ntwo\n\nsum up")]);
    let ran = stage.piped(&["sum up"], "one\ntwo\n");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "ok\n"), "{}", ran.stderr);
    let stage = Stage::scripted(&[expect("alone")]);
    assert_eq!(stage.piped(&[], "alone").code, Some(0));
    // The names of the shell's roles are ordinary words on the command line.
    let stage = Stage::scripted(&[expect("brush my hair")]);
    assert_eq!(stage.play(&["brush", "my hair"]).code, Some(0));
    let stage = Stage::scripted(&[expect("supervise the build")]);
    let mut command = stage.command(&["supervise", "the", "build"]);
    command.env("SINEW_SCRIPT", "script.jsonl");
    assert_eq!(finish(command).code, Some(0));
}

#[test]
fn named_files_are_attached() {
    let stage = Stage::scripted(&[text("ok")]);
    stage.write("project/notes.txt", "first\nsecond\n");
    let ran = stage.play(&["-p", "@notes.txt", "@missing.txt", "go"]);
    let warning = "Warning: not attached: @missing.txt: No such file or directory (os error 2)\n";
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (Some(0), "ok\n", warning));
    let file = std::fs::read_to_string(&stage.files()[0]).unwrap();
    assert!(file.contains("fileMention") && file.contains("first\\nsecond"), "{file}");
}

#[test]
fn the_exit_code_reflects_how_the_run_ended() {
    let again = || call("A", "ls", json!({}));
    let stage = Stage::scripted(&[again(), again(), text("B")]);
    let ran = stage.play(&["-p", "--max-turns", "1", "go"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(4), "A\n"), "{}", ran.stderr);
    let stage = Stage::scripted(&[json!({"type": "fault", "kind": "refusal"})]);
    let ran = stage.play(&["-p", "go"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""));
    assert!(ran.stderr.starts_with("Error: "), "{}", ran.stderr);
}

#[test]
fn an_invalid_models_file_keeps_the_built_in_models() {
    let stage = Stage::new();
    stage.write("home/agent/models.json", "{\n  \"providers\": {oops}\n}");
    let ran = stage.run(&["--list-models"]);
    assert_eq!(ran.code, Some(0));
    assert!(ran.stdout.contains("anthropic/") && ran.stdout.contains("no key"), "{}", ran.stdout);
    assert!(ran.stderr.contains("models.json:2:"), "{}", ran.stderr);
    let ran = stage.run(&["--list-models", "nothing-like-it"]);
    assert_eq!(ran.stdout, "No model matches \"nothing-like-it\"\n");
}

#[test]
fn invalid_appearance_settings_are_reported_and_the_rest_applies() {
    let stage = Stage::scripted(&[call("A", "ls", json!({})), text("B")]);
    stage.write("home/agent/settings.json", r#"{"colorBlindMode": "yes", "maxTurns": 1}"#);
    stage.write("project/.sinew/settings.json", r#"{"fileGuard": "off"}"#);
    let ran = stage.play(&["-p", "go"]);
    assert_eq!(ran.code, Some(4), "{}", ran.stderr);
    assert!(ran.stderr.contains("colorBlindMode: expected true or false"), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("this project is not trusted; ignored: .sinew/settings.json (fileGuard)."),
        "{}",
        ran.stderr
    );
    assert!(!stage.play(&["-p", "--trust", "go"]).stderr.contains("fileGuard"));
}

#[test]
fn a_log_and_timings_are_written_on_request() {
    let key = "sk-of-the-user-0123";
    let stage = Stage::scripted(&[call("A", "bash", json!({"command": format!("echo {key}")})), text("B")]);
    let mut command = stage.command(&["--script", "script.jsonl", "-p", "go"]);
    command.env("SINEW_LOG", "debug").env("SINEW_TIMING", "1").env("OPENAI_API_KEY", key);
    let ran = finish(command);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "A\n\nB\n"), "{}", ran.stderr);
    assert!(ran.stderr.starts_with("Timing: settings ") && ran.stderr.contains("ready "), "{}", ran.stderr);
    let log = std::fs::read_to_string(stage.agent().join("sinew.log")).unwrap();
    assert!(log.contains("agent_start") && log.contains("tool_execution_end") && !log.contains(key), "{log}");
    let quiet = Stage::scripted(&[text("B")]);
    assert_eq!(quiet.play(&["-p", "go"]).stderr, "");
    assert!(!quiet.agent().join("sinew.log").exists());
}

#[test]
fn help_lists_what_works() {
    let stage = Stage::new();
    let help = stage.run(&["--help"]).stdout;
    assert!(help.contains("--mode text|json|rpc|acp") && help.contains("--sandbox workspace"), "{help}");
    for later in ["--theme", "--extension"] {
        assert!(!help.contains(later), "{later}");
    }
    // Disabling features that do not exist is not an error.
    let stage = Stage::scripted(&[text("B")]);
    assert_eq!(stage.play(&["-p", "--no-mcp", "--no-themes", "--no-extensions", "go"]).code, Some(0));
}
