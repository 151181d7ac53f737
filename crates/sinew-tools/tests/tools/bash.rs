//! Tests the tool `bash` in a real shell.

use std::path::PathBuf;
use std::thread::JoinHandle;

use serde_json::json;
use sinew::base::{CancelHandle, CancelToken};
use sinew_llm::message::text_of;
use sinew_tools::tool::Updates;
use sinew_tools::{InterceptorSettings, Settings};

use crate::Case;
use crate::jobs::is_alive;
use crate::stage::Stage;

pub(crate) const CASES: &[Case] = &[
    ("the_shell_keeps_its_state", the_shell_keeps_its_state),
    ("every_way_to_end_has_its_message", every_way_to_end_has_its_message),
    ("long_output_is_truncated_and_saved", long_output_is_truncated_and_saved),
    ("head_and_tail_choose_lines", head_and_tail_choose_lines),
    (
        "truncation_respects_characters_and_the_artifact_is_complete",
        truncation_respects_characters_and_the_artifact_is_complete,
    ),
    ("killing_a_command_ends_all_its_processes", killing_a_command_ends_all_its_processes),
    ("commands_do_not_get_secrets", commands_do_not_get_secrets),
    ("user_commands_get_all_variables_and_no_guard", user_commands_get_all_variables_and_no_guard),
    (
        "user_commands_share_the_directory_and_the_exports_but_no_definitions",
        user_commands_share_the_directory_and_the_exports_but_no_definitions,
    ),
    ("guard_and_interceptor_refuse_commands", guard_and_interceptor_refuse_commands),
    ("an_abort_keeps_the_output_so_far", an_abort_keeps_the_output_so_far),
    ("programs_do_not_wait_for_an_editor_or_a_pager", programs_do_not_wait_for_an_editor_or_a_pager),
];

fn the_shell_keeps_its_state() {
    let stage = Stage::new();
    stage.put("d/x", "");
    stage.ok("bash", json!({"cmd": "a=1; cd d"}), "(no output)");
    stage.ok("bash", json!({"command": "echo $a; ls"}), "1\nx");
    stage.ok("bash", json!({"command": "pwd", "cwd": "."}), &stage.cwd().display().to_string());
    stage.ok("bash", json!({"command": "ls; echo $V", "env": {"V": "v"}}), "x\nv");
    // Every `cd` of a line applies to later commands; the argument `cwd` applies to one command only.
    for (command, shown, next) in [
        ("cd .. && ls", "d", "d"),
        ("cd d && ls", "x", "x"),
        ("cd ..; ls", "d", "d"),
        ("cd d && cd .. && ls", "d", "d"),
        ("cd none || ls", "d", "d"),
        ("(cd d && ls)", "x", "d"),
        ("false && cd d || ls", "d", "d"),
    ] {
        let (text, error) = stage.call("bash", json!({"command": command}));
        assert!(!error && text.ends_with(shown), "{command}: {text}");
        stage.ok("bash", json!({"command": "ls"}), next);
    }
    stage.ok("bash", json!({"command": "ls", "cwd": "d"}), "x");
    stage.ok("bash", json!({"command": "ls"}), "d");
    stage.ok("bash", json!({"command": "echo 1%; printf '5%%\\r9%%\\n'"}), "1%\n9%");
    let other = Stage::new();
    other.ok("bash", json!({"command": "echo ${a-none}"}), "none");
}

fn programs_do_not_wait_for_an_editor_or_a_pager() {
    let stage = Stage::new();
    let commit = "git init -q . && git config user.name a && git config user.email a@b && echo x > x && git add x && git commit -a";
    let (text, error) = stage.call("bash", json!({"command": commit}));
    assert!(error && text.contains("No editor is available: pass the text as an option, such as -m TEXT"), "{text}");
    stage.ok("bash", json!({"command": "git commit -qm x && git -p log --format=%s | cat"}), "x");
    stage.ok("bash", json!({"command": "git -p log --format=%s"}), "x");
    let (text, error) =
        stage.call("bash", json!({"command": "echo y >> x && git commit -qam y && git rebase -i HEAD~1"}));
    assert!(error && text.contains("GIT_SEQUENCE_EDITOR"), "{text}");
    stage.ok("bash", json!({"command": "echo $PAGER $GIT_TERMINAL_PROMPT"}), "cat 0");
    // As programs run an editor: through a shell, split into words, and as one name.
    for runs in ["sh -c \"$editor file\"", "$editor file", "\"$editor\" file"] {
        for name in ["EDITOR", "VISUAL", "KUBE_EDITOR", "HGEDITOR"] {
            let (text, error) = stage.call("bash", json!({"command": format!("editor=${name}; {runs}")}));
            assert!(error && !text.is_empty(), "{name} {runs}: {text}");
            assert!(text.contains("No editor is available") || runs == "$editor file", "{name} {runs}: {text}");
        }
    }
    stage.ok("bash", json!({"command": "echo $EDITOR", "env": {"EDITOR": "ed"}}), "ed");
}

fn every_way_to_end_has_its_message() {
    let stage = Stage::new();
    // The start of the shell does not count towards the time limit below.
    stage.fails("bash", json!({"command": "echo out; (exit 3)"}), "out\nCommand exited with code 3");
    let (text, error) = stage.call("bash", json!({"command": "echo part; sleep 100", "timeout": 1}));
    assert!(error && text.starts_with("part\n") && text.ends_with("\nCommand timed out after 1 seconds"), "{text}");
    let (text, error) = stage.call("bash", json!({"command": "kill -9 $$"}));
    assert!(error && text.starts_with("Command killed by signal 9 (SIGKILL)"), "{text}");
    stage.ok("bash", json!({"command": "echo again"}), "again");
    // A lost shell loses its working directory.
    stage.put("sub/x", "");
    let lost = "Command exited with code 3\n[The next command runs in a new shell, without the variables and the directory of this one: \
                the command ended the shell (exit, exec or set -e) or restricted it (set -r)]";
    stage.fails("bash", json!({"command": "cd sub; exit 3"}), lost);
    stage.ok("bash", json!({"command": "pwd"}), &stage.cwd().display().to_string());
    stage.fails("bash", json!({"command": "x", "env": {"1A": "x"}}), "Invalid environment variable name: 1A");
    let no = format!("Working directory does not exist: {}/no", stage.cwd().display());
    stage.fails("bash", json!({"command": "ls", "cwd": "no"}), &no);
    let (text, error) = stage.call("bash", json!({"command": "cd no && ls"}));
    assert!(error && text.contains("cd: no: No such file") && text.ends_with("exited with code 1"), "{text}");
    stage.put("f", "");
    let file = format!("Working directory is not a directory: {}/f", stage.cwd().display());
    stage.fails("bash", json!({"command": "ls", "cwd": "f"}), &file);
    stage.ok(
        "bash",
        json!({"command": "true", "timeout": 0}),
        "(no output)\n[The timeout of 0 s was out of range and was changed to 1 s]",
    );
    stage.ok("bash", json!({"command": "yes | head -2"}), "y\ny");
}

fn long_output_is_truncated_and_saved() {
    let stage = Stage::new();
    let (text, _) = stage.call("bash", json!({"command": "seq 1 100000"}));
    assert!(text.ends_with(" (50 KB limit). Full: artifact://0]") || text.contains("2,000 line limit"), "{text}");
    assert!(text.contains("\n100000\n[Showing lines 98001-100000 of 100000"), "{}", &text[text.len() - 200..]);
    let kept = std::fs::read_to_string(stage.artifacts.find(0).unwrap()).unwrap();
    let all: String = (1..=100_000).map(|i| format!("{i}\n")).collect();
    assert!(kept == all);
    let (text, _) = stage.call("read", json!({"path": "artifact://0", "offset": 50_000, "limit": 1}));
    assert!(text.contains("50000:50000\n"), "{text}");
    let (text, _) = stage.call("bash", json!({"command": "for i in $(seq 3000); do echo; done; echo end"}));
    assert!(text.ends_with("end\n[Showing lines 1002-3001 of 3001 (2,000 line limit). Full: artifact://1]"), "{text}");
    let stage = Stage::new();
    stage.put("../artifacts", "in the way");
    let (text, error) = stage.call("bash", json!({"command": "seq 1 100000"}));
    assert!(!error && text.contains("The full output could not be saved: "), "{}", &text[text.len() - 200..]);
}

fn truncation_respects_characters_and_the_artifact_is_complete() {
    let stage = Stage::new();
    // 50 KB and one byte in one line; then lines with escape sequences between characters of every length.
    stage.put("line", format!("{}a", "\u{6f22}".repeat(50 * 1024 / 3)));
    stage.put("wide", format!("x{}", "\u{6f22}".repeat(50 * 1024 / 3 + 1)));
    let row = "é\u{6f22}😀\u{1b}[31mred\u{1b}[0m\u{1b}]0;title\u{7}\tend\u{8}";
    stage.put("rows", format!("{row}\r\n").repeat(5_000));
    let whole = std::fs::read_to_string(stage.cwd().join("line")).unwrap();
    stage.ok("bash", json!({"command": "cat line"}), &whole);
    let (text, _) = stage.call("bash", json!({"command": "cat wide"}));
    let (shown, note) = text.split_once('\n').unwrap();
    assert!(shown.chars().all(|c| c == '\u{6f22}') && shown.len() > 50 * 1024 - 3, "{}", shown.len());
    assert_eq!(note, "[Showing lines 1-1 of 1 (50 KB limit). Full: artifact://0]");
    let wide = std::fs::read_to_string(stage.cwd().join("wide")).unwrap();
    assert!(std::fs::read_to_string(stage.artifacts.find(0).unwrap()).unwrap() == wide);
    stage.call("bash", json!({"command": "cat rows"}));
    let kept = std::fs::read_to_string(stage.artifacts.find(1).unwrap()).unwrap();
    assert!(kept == "é\u{6f22}😀red\tend\n".repeat(5_000), "{}", &kept[..100]);
}

fn killing_a_command_ends_all_its_processes() {
    let stage = Stage::new();
    stage.ok("bash", json!({"command": "true"}), "(no output)");
    let script = "sleep 1000 & echo $! > a; setsid sleep 1000 & echo $! > b; nohup sleep 1000 > /dev/null 2>&1 & echo $! > c; \
                  (trap '' TERM INT HUP; sleep 1000) & echo $! > d; touch begun; wait";
    let gone = |how: &str| {
        for name in ["a", "b", "c", "d"] {
            let id = stage.get(name);
            assert!(!is_alive(id.trim()), "{how}: {name}, {id}, still runs");
        }
    };
    let (text, _) = stage.call("bash", json!({"command": script, "timeout": 3}));
    assert!(text.ends_with("Command timed out after 3 seconds"), "{text}");
    gone("timeout");
    std::fs::remove_file(stage.cwd().join("begun")).unwrap();
    let (cancel, watch) = cancelled_at(stage.cwd().join("begun"));
    stage.output("bash", json!({"command": script}), cancel);
    watch.join().unwrap();
    gone("abort");
}

fn head_and_tail_choose_lines() {
    let stage = Stage::new();
    stage.ok("bash", json!({"command": "seq 1 1000000", "head": 2}), "1\n2");
    stage.ok("bash", json!({"command": "seq 1 1000000", "head": 5, "tail": 2}), "4\n5");
    let (text, _) = stage.call("bash", json!({"command": "seq 1 9", "tail": 2}));
    assert!(text.starts_with("8\n9"), "{text}");
}

fn commands_do_not_get_secrets() {
    let stage = Stage::new();
    stage.ok("bash", json!({"command": "echo ${MY_API_KEY-none} ${GITHUB_TOKEN-none} $CI"}), "none none true");
    stage.ok("bash", json!({"command": "cd \"$ARTIFACTS\"; basename \"$PWD\""}), "artifacts");
}

fn user_commands_get_all_variables_and_no_guard() {
    let stage = Stage::new();
    let run = |command: &str| {
        let never = CancelToken::never();
        stage.runtime.block_on(stage.host.user_command(command, &never, Updates::none())).unwrap()
    };
    let ran = run("export v=1; echo $MY_API_KEY; git push --force --help >/dev/null 2>&1; (exit 3)");
    assert_eq!((ran.output.as_str(), ran.exit_code, ran.truncated), ("secret", Some(3), false));
    stage.ok("bash", json!({"command": "echo $v ${MY_API_KEY-none}"}), "1 none");
    let ran = run("seq 1 100000");
    assert!(ran.truncated && ran.output.contains("\n100000\n["), "{}", ran.output.len());
    assert_eq!(std::fs::read_to_string(ran.full_output_path.unwrap()).unwrap().lines().count(), 100_000);
    let (cancel, watch) = cancelled_at(stage.cwd().join("begun"));
    let ran = stage.host.user_command("touch begun; sleep 1000", &cancel, Updates::none());
    let ran = stage.runtime.block_on(ran).unwrap();
    watch.join().unwrap();
    assert_eq!((ran.cancelled, ran.exit_code), (true, None));
}

fn user_commands_share_the_directory_and_the_exports_but_no_definitions() {
    let stage = Stage::new();
    let run = |command: &str| {
        let never = CancelToken::never();
        stage.runtime.block_on(stage.host.user_command(command, &never, Updates::none())).unwrap().output
    };
    let model = |command: &str| stage.call("bash", json!({"command": command}));
    model("mkdir -p a/b bin; cd a; export OF_MODEL=1; ls() { echo seen; }; PATH=$PWD/bin:$PATH");
    assert_eq!(run("basename \"$PWD\"; echo ${OF_MODEL-none}; type -t ls"), "a\nnone\nfile");
    run("cd b; export SHOWN='1 2' MY_TOKEN=hidden; f() { echo mine; }; unset LANG; sleep 1000 & true");
    assert_eq!(run("f; echo $SHOWN $MY_TOKEN; jobs -r | wc -l"), "mine\n1 2 hidden\n1");
    stage.ok(
        "bash",
        json!({"command": "basename \"$PWD\"; echo $SHOWN ${MY_TOKEN-none} ${LANG-unset} $OF_MODEL"}),
        "b\n1 2 none unset 1",
    );
    // The shell ends, and the next command has a new one.
    run("exit 3");
    assert_eq!(run("basename \"$PWD\"; echo ${SHOWN-lost}"), "b\nlost");
}

fn guard_and_interceptor_refuse_commands() {
    let stage = Stage::new();
    let text = "Blocked by the command guard (rm -rf of everything): rm -fr /. Ask the user to run it, or to allow it in settings.";
    stage.fails("bash", json!({"command": "rm -fr /"}), text);
    let bash_interceptor = InterceptorSettings { enabled: true, ..InterceptorSettings::default() };
    let stage = Stage::with(Settings { bash_interceptor, ..Settings::default() });
    stage.fails("bash", json!({"command": "cat a"}), "Blocked: use the read tool instead.\nOriginal command: cat a");
}

fn an_abort_keeps_the_output_so_far() {
    let stage = Stage::new();
    let (cancel, watch) = cancelled_at(stage.cwd().join("begun"));
    let command = json!({"command": "echo part; touch begun; sleep 1000"});
    let output = stage.output("bash", command, cancel);
    watch.join().unwrap();
    assert!(output.is_error);
    let text = text_of(&output.content);
    assert!(text.starts_with("part\n") && text.contains("\nCommand aborted"), "{text}");
}

/// Returns a token that a thread cancels as soon as the file exists.
fn cancelled_at(file: PathBuf) -> (CancelToken, JoinHandle<()>) {
    let (cancel_handle, cancel) = CancelHandle::new();
    let watch = std::thread::spawn(move || {
        while !file.exists() {
            std::thread::yield_now();
        }
        cancel_handle.cancel();
    });
    (cancel, watch)
}
