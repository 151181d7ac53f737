// Cases that apply to every kind of session. `../session.rs` documents the names that each kind defines.

use std::ops::ControlFlow;
use std::sync::Arc;

use sinew_base::{CancelHandle, CancelToken, ErrorCode};
use sinew_shell::{Engine, RunOptions, RunResult, ShellOptions};

use crate::support::{self, command, env, options, supervisor, without_line_numbers};

fn shell() -> Shell {
    Shell::new(supervisor(), options(Engine::Bash))
}

fn run(shell: &Shell, run: &RunOptions, cancel: &CancelToken) -> (RunResult, String) {
    let mut text = String::new();
    let result = shell.run(run, cancel, &mut |chunk| {
        text.push_str(&chunk);
        ControlFlow::Continue(())
    });
    (result.unwrap(), text)
}

/// Runs the commands one after another in one shell. Each must have the given output and exit code.
#[track_caller]
fn check(steps: &[(&str, &str, i32)]) {
    let shell = shell();
    for (text, expect, code) in steps {
        let (result, output) = shell.output(text).unwrap();
        assert_eq!((without_line_numbers(&output).as_str(), result.exit_code), (*expect, Some(*code)), "{text}");
    }
}

#[test]
fn variables_functions_options_and_the_directory_persist() {
    check(&[
        ("X=5; a=(1 2); declare -A m=([k]=v); f() { echo \"f $1 $X\"; }", "", 0),
        ("f y; echo ${a[1]} ${m[k]}", "f y 5\n2 v\n", 0),
        ("cd /usr; pwd", "/usr\n", 0),
        ("pwd; echo $OLDPWD | wc -l", "/usr\n1\n", 0),
        ("set -o pipefail; shopt -s nullglob", "", 0),
        ("false | true; echo $?; echo /nosuch*", "1\n\n", 0),
        ("shopt -s expand_aliases; alias hi='echo hello'", "", 0),
        ("hi", "hello\n", 0),
        ("exec 7>&1; echo open >&7", "open\n", 0),
        ("set -- a b; echo $#", "2\n", 0),
        ("echo $2", "b\n", 0),
    ]);
}

#[test]
fn the_exit_code_of_a_run_is_the_status_at_the_start_of_the_next() {
    check(&[
        ("false", "", 1),
        ("echo $?", "1\n", 0),
        ("(exit 42)", "", 42),
        ("echo $?", "42\n", 0),
        ("trap 'echo ERR' ERR", "", 0),
        ("false; (exit 3) || true", "ERR\n", 0),
        ("(exit 3)", "ERR\n", 3),
        ("echo $?", "3\n", 0),
        ("false | (exit 4)", "ERR\nERR\n", 4),
        ("echo $?", "4\n", 0),
        ("echo quiet", "quiet\n", 0),
    ]);
}

#[test]
fn a_syntax_error_does_not_end_the_shell() {
    check(&[
        ("X=1", "", 0),
        ("echo \"", "bash: eval: line : unexpected EOF while looking for matching `\"'\n", 2),
        ("echo $X", "1\n", 0),
        ("if true", "bash: eval: line : syntax error: unexpected end of file\n", 2),
        (
            "cat <<EOF\nhere",
            "bash: line : warning: here-document at line  delimited by end-of-file (wanted `EOF')\nhere\n",
            0,
        ),
        ("echo $(", "bash: eval: line : unexpected EOF while looking for matching `)'\n", 2),
        ("echo $X }", "1 }\n", 0),
    ]);
}

#[test]
fn a_command_that_closes_its_output_does_not_affect_the_next() {
    check(&[
        ("exec >/dev/null 2>&1; echo lost", "", 0),
        ("echo a", "a\n", 0),
        ("exec >&- 2>&- <&-", "", 0),
        ("echo b; cat", "b\n", 0),
    ]);
}

/// Runs the commands in one shell, and as one script in a bash; both must have the same output.
#[track_caller]
pub(super) fn check_against_bash(runs: &[&str]) {
    let shell = shell();
    let output: String = runs.iter().map(|text| shell.output(text).unwrap().1).collect();
    let mut bash = support::bash(&format!("exec 2>&1\n{}", runs.join("\n")));
    let expect = String::from_utf8(bash.output().unwrap().stdout).unwrap();
    let numbers = |text: &str| without_line_numbers(text);
    assert_eq!(numbers(&output), numbers(&expect), "{runs:?}");
}

#[test]
fn a_debug_trap_runs_only_for_commands_of_the_script() {
    for print in ["echo \"D $BASH_COMMAND\"", "echo \"it's $?\"", "printf '%s\\n' D # over"] {
        let quoted = print.replace('\'', "'\\''");
        let set = format!("trap '{quoted}' DEBUG");
        check_against_bash(&[&set, "echo a; x=1", "for i in 1 2; do echo $i; done", "f() { echo f; }; f", "(echo s)"]);
        check_against_bash(&[&set, "trap -p DEBUG", "echo a", "trap - DEBUG", "echo b", "trap -p"]);
        check_against_bash(&[&set, "set -T", "f() { echo f; false; }; f", "echo $?", "trap - DEBUG; set +T", "f"]);
        check_against_bash(&[&format!("{set}; echo a; {set}"), "trap 'echo other' DEBUG; echo b", "echo c"]);
        check_against_bash(
            &["g() { ".to_string() + &set + "; }; g", "echo a".into(), "echo b".into()]
                .each_ref()
                .map(|run| run.as_str()),
        );
    }
    check_against_bash(&["set -TE", "false", "echo $? $-", "trap 'echo D' DEBUG", "false", "echo $?"]);
    check_against_bash(&["n=0; trap ': $((n++))' DEBUG", "trap - DEBUG; n=0", ":; :", "echo $n"]);
}

#[test]
fn error_and_exit_traps_run_only_for_the_script() {
    check_against_bash(&[
        "trap 'echo E' ERR",
        "false",
        "true; (exit 3)",
        "f() { false; }; f",
        "set -E",
        "f",
        "trap -p ERR",
    ]);
    for script in ["trap 'echo E' ERR; false", "trap 'echo E' ERR\nfalse # over", "trap 'echo E $?' err; (exit 3)"] {
        check_against_bash(&[script]);
        assert_ne!(shell().output(script).unwrap().0.exit_code, Some(0), "{script}");
    }
    check_against_bash(&["trap 'echo R' RETURN", "f() { echo f; }; f", "set -T; f", "trap - RETURN", "f"]);
    check_against_bash(&["trap 'echo U' USR1", "kill -USR1 $$", "trap -p", "trap", "echo $(trap)", "trap -p | wc -l"]);
    check_against_bash(&["list() { trap; }", "trap 'echo U' USR1; list", "x=1", "list"]);
}

#[test]
fn options_that_end_a_script_end_the_run() {
    for (text, status) in [
        ("set -n; echo no", 0),
        ("echo a; false\nset -n\necho no", 0),
        ("set -o noexec", 0),
        ("set -u; echo $nosuch; echo no", 127),
        ("set -u\necho a\nf() { echo $nosuch; }; f\necho no", 127),
        ("echo ${x:?}; echo no", 127),
        ("x=; : ${x:?is empty}", 127),
        ("set -e; false; echo no", 1),
        ("set -e; (exit 4)", 4),
        ("exit 1", 1),
        ("exec nosuch", 127),
    ] {
        let shell = shell();
        shell.output("X=1").unwrap();
        let (result, output) = shell.output(text).unwrap();
        let direct = support::bash(&format!("exec 2>&1\n{text}")).output().unwrap();
        assert_eq!(direct.status.code(), Some(status), "{text}");
        assert_eq!((result.exit_code, result.state_lost.is_some()), (Some(status), true), "{text}");
        let expect = String::from_utf8(direct.stdout).unwrap();
        assert_eq!(without_line_numbers(&output), without_line_numbers(&expect), "{text}");
        assert_eq!(shell.output("echo \"[$X]\"").unwrap().1, "[]\n", "{text}");
    }
}

#[test]
fn reports_the_end_of_the_shell_and_starts_a_new_one_for_the_next_run() {
    for (text, code) in [("exit 3", 3), ("set -e; false; echo no", 1), ("exec true", 0), ("set -u; echo $nosuch", 127)]
    {
        let shell = shell();
        shell.output("X=1").unwrap();
        let (result, _) = shell.output(text).unwrap();
        assert_eq!((result.exit_code, result.state_lost.is_some()), (Some(code), true), "{text}");
        assert_eq!(shell.output("echo \"[$X]\"").unwrap().1, "[]\n", "{text}");
    }
}

#[test]
fn names_the_signal_that_kills_the_shell() {
    let shell = shell();
    for (text, signal) in [("kill -9 $$", "SIGKILL"), ("kill -SEGV $$", "SIGSEGV")] {
        let (result, _) = shell.output(text).unwrap();
        assert_eq!(
            (result.exit_code, result.signal, result.state_lost.is_some()),
            (None, Some(signal), true),
            "{text}"
        );
    }
    assert_eq!(shell.output("echo up").unwrap().1, "up\n");
}

#[test]
fn variables_of_a_run_are_removed_after_it() {
    let shell = shell();
    shell.output("A=old; export B=old; C=(1 2); unset D; E='it'\"'\"'s'").unwrap();
    let env = ["A", "B", "C", "D", "E"].map(|name| (name.to_string(), "new \"$x\" 'y'\nz".to_string())).to_vec();
    let inner = RunOptions { env, ..command("printenv A B C D E | md5sum; A=changed") };
    let (result, output) = run(&shell, &inner, &CancelToken::never());
    let expect = shell.output("for i in 1 2 3 4 5; do printf 'new \"$x\" '\"'y'\"'\\nz\\n'; done | md5sum").unwrap().1;
    assert_eq!((output, result.exit_code), (expect, Some(0)));
    let after = shell.output("echo \"$A $B ${C[*]} ${D-unset} $E\"; printenv A B C D E").unwrap().1;
    assert_eq!(after, "old old 1 2 unset it's\nold\n");
    shell.output("readonly R=1").unwrap();
    let refused = RunOptions { env: vec![("R".into(), "2".into())], ..command("echo $R") };
    let error = shell.run(&refused, &CancelToken::never(), &mut |_| ControlFlow::Continue(())).unwrap_err();
    assert!(error.message().contains("\"R\""), "{error}");
    assert_eq!(shell.output("echo $R$A").unwrap().1, "1old\n");
}

#[test]
fn the_directory_of_a_run_is_restored_after_it() {
    let shell = shell();
    shell.output("cd /usr").unwrap();
    let there = RunOptions { cwd: Some("/etc".into()), ..command("pwd; cd /") };
    let (result, output) = run(&shell, &there, &CancelToken::never());
    assert_eq!((output.as_str(), result.working_dir.as_deref()), ("/etc\n", Some("/".as_ref())));
    let (result, output) = shell.output("pwd; echo \"$OLDPWD\"").unwrap();
    assert!(output.starts_with("/usr\n"), "{output}");
    assert_eq!(result.working_dir.as_deref(), Some("/usr".as_ref()));
    let nowhere = RunOptions { cwd: Some("/no/such/dir".into()), ..command("echo x") };
    let error = shell.run(&nowhere, &CancelToken::never(), &mut |_| ControlFlow::Continue(())).unwrap_err();
    assert_eq!(error.message(), "Failed to set cwd: /no/such/dir: No such file or directory");
    assert_eq!(error.code(), ErrorCode::NotFound);
}

#[test]
fn a_deleted_directory_does_not_end_the_shell() {
    let dir = tempfile::tempdir().unwrap();
    let shell = shell();
    shell.output(&format!("cd {}", dir.path().display())).unwrap();
    drop(dir);
    assert_eq!(shell.output("X=1; echo a").unwrap().1, "a\n");
    assert_eq!(shell.output("cd /; echo $X").unwrap().1, "1\n");
}

#[test]
fn standard_input_is_empty_or_the_given_text() {
    let shell = shell();
    assert_eq!(shell.output("cat; read x; echo $?").unwrap().1, "1\n");
    let bytes: Vec<u8> = (0..1_000_000u32).map(|n| b'a' + (n % 23) as u8).collect();
    let given = RunOptions { stdin: Some(bytes), ..command("head -c 3; wc -c") };
    assert_eq!(run(&shell, &given, &CancelToken::never()).1, "abc999997\n");
    let lines =
        RunOptions { stdin: Some(b"one\ntwo\nthree".to_vec()), ..command("read a; read b; cat; echo \" $b $a\"") };
    assert_eq!(run(&shell, &lines, &CancelToken::never()).1, "three two one\n");
    assert_eq!(shell.output("cat").unwrap().1, "");
}

#[test]
fn a_second_run_waits_for_its_turn_and_runs_nothing_if_aborted() {
    let shell = Arc::new(shell());
    let (cancel_handle, cancel) = CancelHandle::new();
    let mut second = None;
    let dir = tempfile::tempdir().unwrap();
    let fifo = dir.path().join("go");
    let first = format!("mkfifo {0}; echo up; read x <{0}; echo $x", fifo.display());
    let mut text = String::new();
    shell
        .run(&command(first), &CancelToken::never(), &mut |chunk| {
            text.push_str(&chunk);
            if text == "up\n" {
                let (shell, cancel) = (Arc::clone(&shell), cancel.clone());
                second =
                    Some(std::thread::spawn(move || run(&shell, &command("touch /tmp/never.$$; echo no"), &cancel)));
                cancel_handle.cancel();
                std::fs::write(&fifo, "went on\n").unwrap();
            }
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(text, "up\nwent on\n");
    let (result, output) = second.unwrap().join().unwrap();
    assert_eq!((result.cancelled, result.exit_code, output.as_str()), (true, None, ""));
}

#[test]
fn two_shells_share_nothing() {
    let (one, other) = (shell(), shell());
    one.output("X=1; cd /usr; umask 0").unwrap();
    assert_ne!(other.output("echo \"$X $PWD $(umask)\"").unwrap().1, "1 /usr 0000\n");
}

#[test]
fn reads_the_snapshot_before_the_first_command() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("it's a snapshot");
    std::fs::write(&file, "shopt -s expand_aliases\nalias ll='echo listed'\ng() { echo g; }\nV=1\necho noise\n")
        .unwrap();
    let options = ShellOptions { snapshot: Some(file.clone()), ..options(Engine::Bash) };
    let shell = Shell::new(supervisor(), options.clone());
    assert_eq!(shell.output("ll; g; echo $V").unwrap().1, "listed\ng\n1\n");
    let mut text = String::new();
    execute_shell(&supervisor(), &options, &command("ll; g"), &CancelToken::never(), &mut |chunk| {
        text.push_str(&chunk);
        ControlFlow::Continue(())
    })
    .unwrap();
    assert_eq!(text, "listed\ng\n");
    std::fs::remove_file(&file).unwrap();
    let error = Shell::new(supervisor(), options).output("echo").unwrap_err();
    assert!(error.message().starts_with("Failed to initialize shell: cannot read snapshot"), "{error}");
}

#[test]
fn shell_private_variables_of_the_host_are_not_inherited() {
    let mut env = env();
    for (name, value) in
        [("PS1", "x"), ("OLDPWD", "/o"), ("SHLVL", "7"), ("BASH_FUNC_f%%", "() { echo in; }"), ("KEEP", "yes")]
    {
        env.push((name.into(), value.into()));
    }
    let shell = Shell::new(supervisor(), ShellOptions { env, ..options(Engine::Bash) });
    assert_eq!(shell.output("echo \"${PS1-} ${OLDPWD-} $SHLVL $(f) $KEEP\"").unwrap().1, "  1 in yes\n");
}

#[test]
fn runs_commands_with_the_named_bash() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("my-bash");
    support::write_program(&path, "#!/bin/sh\nMINE=yes exec bash \"$@\"\n");
    let shell = Shell::new(supervisor(), ShellOptions { bash: Some(path), ..options(Engine::Auto) });
    assert_eq!(shell.output("echo $MINE").unwrap().1, "yes\n");
    assert_eq!(shell.engine(), Engine::Bash);
}

#[test]
fn rejects_commands_with_nul_characters_and_invalid_variables() {
    let shell = shell();
    assert_eq!(shell.output("echo a\0b").unwrap_err().code(), ErrorCode::InvalidArgument);
    let bad = RunOptions { env: vec![("a-b".into(), "1".into())], ..command("echo") };
    let error = shell.run(&bad, &CancelToken::never(), &mut |_| ControlFlow::Continue(())).unwrap_err();
    assert!(error.message().contains("bad variable name"), "{error}");
}
