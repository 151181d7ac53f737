//! Commands that need no agent, and prompts that resemble them.

use crate::stage::{Stage, text};

#[test]
fn unset_restores_the_default_of_a_setting() {
    let stage = Stage::new();
    let file = "home/agent/settings.json";
    let before = "{\n  // mine\n  \"maxTurns\": 7,\n  \"retry\": {\n    \"maxRetries\": 1\n  }\n}\n";
    stage.write(file, before);
    assert_eq!(stage.run(&["config", "unset", "retry.maxRetries"]).code, Some(0));
    assert_eq!(stage.run(&["config", "get", "retry.maxRetries"]).stdout, "3\n");
    let left = std::fs::read_to_string(stage.path(file)).unwrap();
    assert!(left.contains("// mine") && left.contains("\"maxTurns\": 7") && !left.contains("retry"), "{left}");
    // Unsetting a setting that is not set changes nothing.
    assert_eq!(stage.run(&["config", "unset", "fetch.enabled"]).code, Some(0));
    assert_eq!(std::fs::read_to_string(stage.path(file)).unwrap(), left);
    let wrong = stage.run(&["config", "unset", "maxTurn"]);
    assert_eq!(wrong.code, Some(2));
    assert!(wrong.stderr.contains("did you mean maxTurns?"), "{}", wrong.stderr);
    stage.write(file, "{oops");
    assert_eq!(stage.run(&["config", "unset", "maxTurns"]).code, Some(3));
    assert_eq!(std::fs::read_to_string(stage.path(file)).unwrap(), "{oops");
}

#[test]
fn help_and_version_are_commands_too() {
    let stage = Stage::new();
    let said = |args: &[&str]| stage.run(args).stdout;
    assert_eq!(said(&["help"]), said(&["--help"]));
    assert_eq!(said(&["help", "sessions"]), said(&["sessions", "--help"]));
    assert_eq!(said(&["version"]), said(&["--version"]));
}

#[test]
fn sessions_are_removed_with_their_files() {
    let stage = Stage::scripted(&[text("one")]);
    assert_eq!(stage.play(&["-p", "go"]).code, Some(0));
    assert_eq!(stage.play(&["-p", "again"]).code, Some(0));
    let files = stage.files();
    assert_eq!(files.len(), 2);
    let listed = stage.run(&["sessions", "list"]).stdout;
    let id = listed.split_whitespace().next().unwrap();
    let wrong = stage.run(&["sessions", "rm", id, "nosuchid"]);
    assert_eq!((wrong.code, stage.files().len()), (Some(2), 2), "{}", wrong.stderr);
    assert!(stage.run(&["sessions", "rm", id, "--dry-run"]).stdout.starts_with("would remove "));
    assert_eq!(stage.files().len(), 2);
    assert!(stage.run(&["sessions", "rm", id]).stdout.starts_with("removed "));
    assert_eq!(stage.files().len(), 1);
    assert!(!stage.run(&["sessions", "list"]).stdout.contains(id));
}

#[test]
fn a_misspelled_command_suggests_the_nearest_one() {
    let stage = Stage::scripted(&[text("one")]);
    for (words, near) in [
        (&["sesions", "list"][..], "sinew sesions list: unknown command; did you mean sinew sessions?"),
        (&["confg", "get", "maxTurns"], "did you mean sinew config?"),
        (&["verison"], "did you mean sinew version?"),
        (&["Logn"], "did you mean sinew login?"),
        (&["logn", "openai"], "did you mean sinew login?"),
        (
            &["config", "gett", "maxTurns"],
            "sinew config gett maxTurns: unknown command; did you mean sinew config get?",
        ),
        (&["sessions", "remove", "x"], "did you mean sinew sessions rm?"),
        (&["mcp", "lst"][..], "did you mean sinew mcp list?"),
        (&["config", "rm", "theme"], "did you mean sinew config unset?"),
        (&["models"], "sinew models: unknown command; did you mean sinew --list-models?"),
        (&["modles"], "did you mean sinew --list-models?"),
        (&["models", "list"], "did you mean sinew --list-models?"),
        (&["exprot"], "did you mean sinew --export FILE?"),
        (&["resume"], "did you mean sinew --resume?"),
        (&["redo"], "did you mean sinew undo redo?"),
    ] {
        let ran = stage.run(&[&["--script", "script.jsonl"], words].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{words:?}");
        assert!(ran.stderr.contains(near), "{}", ran.stderr);
    }
    // A sentence is a prompt, even if its first word resembles a command.
    for words in [&["login", "fails"][..], &["helpe", "me"], &["verify"], &["report"], &["logs", "are", "empty"]] {
        let ran = stage.play(&[&["-p"], words].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "one\n"), "{words:?}: {}", ran.stderr);
    }
    for words in [&["config", "seems", "wrong"][..], &["sessions", "remove", "what", "is", "not", "used"]] {
        let ran = stage.play(words);
        assert_eq!(ran.stdout, "one\n", "{words:?}: {}", ran.stderr);
    }
    let ran = stage.play(&["logs", "are", "empty"]);
    assert_eq!(ran.stdout, "one\n", "{}", ran.stderr);
}
