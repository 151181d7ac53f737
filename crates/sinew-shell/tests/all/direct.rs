//! Tests of shells without a supervisor, in addition to the cases for all shells (`cases/`, `table/`).

use std::ops::ControlFlow;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc;

use crate::support::{self, command, env, marked, options, supervisor, with_mark};
use sinew_base::{CancelHandle, CancelToken, ErrorCode, Result};
use sinew_shell::direct::{Shell, execute_shell};
use sinew_shell::{Engine, RunOptions, RunResult, ShellOptions};

fn shell() -> Shell {
    Shell::new(supervisor(), options(Engine::Auto))
}

fn once(shell: &ShellOptions, run: &RunOptions, cancel: &CancelToken) -> Result<(RunResult, String)> {
    let mut text = String::new();
    let result = execute_shell(&supervisor(), shell, run, cancel, &mut |chunk| {
        text.push_str(&chunk);
        ControlFlow::Continue(())
    })?;
    Ok((result, text))
}

/// Runs a command in `shell` and cancels it as soon as it has printed `up`.
fn run_until_up(shell: &Shell, text: &str) -> RunResult {
    let (cancel_handle, cancel) = CancelHandle::new();
    let mut seen = String::new();
    let result = shell.run(&command(text), &cancel, &mut |chunk| {
        seen.push_str(&chunk);
        if seen.contains("up") {
            cancel_handle.cancel();
        }
        ControlFlow::Continue(())
    });
    result.unwrap()
}

/// Process trees that are stopped when they print `up`; no process may be left.
const TREES: &[(&str, &str)] = &[
    ("obedient", "sleep 1000 & (sleep 1000; true) & echo up; sleep 1000"),
    ("sessions", "setsid sleep 1000 & setsid bash -c 'sleep 1000 & sleep 1000' & echo up; sleep 1000"),
    ("groups", "set -m; sleep 1000 & (sleep 1000 & sleep 1000) & echo up; wait"),
    ("stubborn", "trap '' TERM HUP INT; sleep 1000 & echo up; while :; do sleep 1000; done"),
    ("frozen", "sleep 1000 & kill -STOP $!; echo up; wait"),
    ("crowd", "trap '' TERM; f() { while :; do sleep 0.01; done; }; for i in $(seq 40); do f & done; echo up; wait"),
    ("endless", "echo up; while :; do echo up; done"),
];

#[test]
fn a_stopped_command_leaves_no_process() {
    for (name, script) in TREES {
        let (options, mark) = with_mark(Engine::Auto, name);
        let (cancel_handle, cancel) = CancelHandle::new();
        let mut text = String::new();
        let result = execute_shell(&supervisor(), &options, &command(*script), &cancel, &mut |chunk| {
            text.push_str(&chunk);
            if text.contains("up") {
                cancel_handle.cancel();
            }
            ControlFlow::Continue(())
        });
        let stopped = RunResult { cancelled: true, ..RunResult::default() };
        assert_eq!((result.unwrap(), marked(&mark)), (stopped, vec![]), "{script}");
        let shell = Shell::new(supervisor(), options);
        let result = run_until_up(&shell, script);
        assert_eq!((result.cancelled, result.exit_code, marked(&mark)), (true, None, vec![]), "{script}");
    }
}

#[test]
fn leftover_processes_end_with_their_command_and_do_not_delay_it() {
    let (options, mark) = with_mark(Engine::Auto, "left");
    let script = command("sleep 1000 & setsid sleep 1000 >/dev/null 2>&1 & trap '' TERM; sleep 1000 & echo done");
    let (result, text) = once(&options, &script, &CancelToken::never()).unwrap();
    // The second process has left the session, and its parent ended with the command: only a supervisor could find it.
    let escaped = marked(&mark);
    for pid in &escaped {
        // SAFETY: no pointer is passed.
        unsafe { libc::kill(*pid, libc::SIGKILL) };
    }
    assert_eq!((result.exit_code, text.as_str(), escaped.len()), (Some(0), "done\n", 1));
}

#[test]
fn a_stopped_run_keeps_the_shell_and_its_jobs() {
    let (options, mark) = with_mark(Engine::Auto, "jobs");
    let shell = Shell::new(supervisor(), options);
    shell.output("X=1; cd /usr; sleep 1000 &").unwrap();
    let result = run_until_up(&shell, "X=2; cd /etc; sleep 1001 & echo up; wait");
    assert_eq!((result.state_lost, result.working_dir), (None, Some("/usr".into())));
    assert_eq!(shell.output("echo $X; pwd").unwrap().1, "1\n/usr\n");
    // A process that has just been started has the command line of the shell for a moment.
    support::wait_for("the job", || {
        shell.jobs().unwrap().into_iter().map(|job| job.command).collect::<Vec<_>>() == ["sleep 1000"]
    });
    assert_eq!(marked(&mark).len(), 1);
    shell.close();
    assert_eq!((shell.jobs().unwrap(), marked(&mark)), (vec![], vec![]));
}

#[test]
fn a_dropped_or_ended_shell_leaves_no_job_and_no_directory() {
    let place = tempfile::tempdir().unwrap();
    for script in ["true", "exit 3", "kill -9 $$"] {
        let (mut options, mark) = with_mark(Engine::Auto, "dropped");
        options.env.push(("TMPDIR".into(), place.path().into()));
        let shell = Shell::new(supervisor(), options);
        shell.output("sleep 1000 & X=1").unwrap();
        let folder = std::fs::read_dir(place.path()).unwrap().next().unwrap().unwrap();
        assert_eq!(folder.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        let (result, _) = shell.output(script).unwrap();
        assert_eq!(
            (result.state_lost.is_some(), marked(&mark).len()),
            (script != "true", usize::from(script == "true"))
        );
        drop(shell);
        assert_eq!((std::fs::read_dir(place.path()).unwrap().count(), marked(&mark)), (0, vec![]), "{script}");
    }
}

/// Each run restores the state of the previous one, whatever options the script sets and whatever its values contain.
const CARRIED: &[(&str, &str, &str)] = &[
    ("set -euo pipefail; set -C -f; umask 777", "echo $-; umask; echo *", "efhuBCc\n0777\n*\n"),
    ("x=$'a\\nb \\'c\\' \"d\" \\\\ $e `f` \\x01'", "printf %s \"$x\" | md5sum", "c7e5a8a4 -\n"),
    ("readonly R='a b'; declare -i n=3; declare -rx S=1", "n+=4; echo \"$R $n\"; printenv S", "a b 7\n1\n"),
    (
        "a=('x y' '' [7]=z); declare -A m=(['k k']='v v')",
        "printf '<%s>' \"${a[@]}\" ${!a[@]} \"${m[k k]}\"",
        "<x y><><z><0><1><7><v v>",
    ),
    (
        "shopt -s extglob\nf() { case $1 in +(a|b)) echo yes ;; esac; }; g() { echo g; }; export -f g",
        "f ab; bash -c 'g; f' 2>&1 | cut -c1-4",
        "yes\ng\nbash\n",
    ),
    ("shopt -s expand_aliases\nalias ls='echo -x'\nf() { ls; }", "alias ls='echo -y'; f; ls", "-x\n-x\n"),
    (
        "pushd /usr >/dev/null; pushd /etc >/dev/null",
        "dirs -l | cut -d' ' -f1,2; popd >/dev/null; pwd; echo $OLDPWD",
        "/etc /usr\n/usr\n/etc\n",
    ),
    ("unset HOME LC_ALL; export NEW=1", "echo ${HOME-none} ${LC_ALL-none}; printenv NEW", "none none\n1\n"),
    ("IFS=,; set -- a '' 'b c'", "echo $# \"$*\"; printf '<%s>' $IFS x,y", "3 a,,b c\n<><x,y>"),
    ("set -o posix", "shopt -qo posix && echo posix", "posix\n"),
    (
        "printf() { echo mine; }; cd() { echo no; }; . () { echo no; }",
        "printf; type -t cd; builtin printf '%s\\n' ok",
        "mine\nfunction\nok\n",
    ),
    ("trap 'echo bye' EXIT; trap 'echo usr' USR1", "kill -USR1 $$; trap -p EXIT", "usr\ntrap -- 'echo bye' EXIT\n"),
    ("cd /; cd -P /usr; cd ~-", "pwd; echo $OLDPWD", "/\n/usr\n"),
    ("exec >/dev/null 2>&1 </dev/null", "echo there", "there\n"),
];

#[test]
fn a_run_restores_the_state_of_the_previous_run() {
    let fresh = |script: &str| {
        let output = support::bash(script).output().unwrap().stdout;
        String::from_utf8_lossy(&output).into_owned()
    };
    for (before, after, expect) in CARRIED {
        let shell = shell();
        let (result, _) = shell.output(before).unwrap();
        assert_eq!(result.state_lost, None, "{before}");
        // Twice, so that the restored state is also saved again.
        shell.output(":").unwrap();
        let (_, got) = shell.output(after).unwrap();
        let expect =
            if after.contains("md5sum") { fresh(&format!("{before}\n{after}")) } else { (*expect).to_string() };
        assert_eq!(got, expect, "{before} / {after}");
    }
}

#[test]
fn an_exit_trap_runs_only_when_the_script_ends_the_shell() {
    let shell = shell();
    let steps = [("trap 'echo bye' EXIT; echo a", "a\n"), ("echo b", "b\n"), ("exit 4", "bye\n"), ("trap -p", "")];
    for (text, expect) in steps {
        assert_eq!(shell.output(text).unwrap().1, expect, "{text}");
    }
}

#[test]
fn reports_lost_state_if_the_directory_was_deleted_and_continues() {
    let place = tempfile::tempdir().unwrap();
    let mut options = options(Engine::Auto);
    options.env.push(("TMPDIR".into(), place.path().into()));
    let shell = Shell::new(supervisor(), options);
    let script = format!("X=1; rm -rf {}/*", place.path().display());
    let (result, _) = shell.output(&script).unwrap();
    assert_eq!((result.exit_code.is_some(), result.state_lost.is_some()), (true, true));
    assert_eq!(shell.output("echo \"[$X]\"").unwrap().1, "[]\n");
}

#[test]
fn paths_with_any_character_are_not_interpreted_as_script() {
    let place = tempfile::Builder::new().prefix("it's $(a) \"b\" \\").tempdir().unwrap();
    let mut options = options(Engine::Auto);
    options.env.push(("TMPDIR".into(), place.path().into()));
    let there = RunOptions { cwd: Some(place.path().into()), ..command("pwd; X=1") };
    let shell = Shell::new(supervisor(), options.clone());
    let (long, _) = shell.output(&format!(": {}; X=2", "y".repeat(100_000))).unwrap();
    assert_eq!(long.exit_code, Some(0));
    let mut text = String::new();
    let result = shell.run(&there, &CancelToken::never(), &mut |chunk| {
        text.push_str(&chunk);
        ControlFlow::Continue(())
    });
    assert_eq!(result.unwrap().working_dir.as_deref(), Some(place.path()));
    assert_eq!(Path::new(text.trim_end()), place.path());
    let script = command(format!(": {}; echo ${{#BASH_COMMAND_TEXT}}", "y".repeat(100_000)));
    assert_eq!(once(&options, &script, &CancelToken::never()).unwrap().1, "100030\n");
}

#[test]
fn unread_input_and_unwanted_output_do_not_block() {
    let much = vec![b'x'; 4_000_000];
    let unread = RunOptions { stdin: Some(much.clone()), ..command("echo a") };
    assert_eq!(once(&options(Engine::Auto), &unread, &CancelToken::never()).unwrap().1, "a\n");
    let counted = RunOptions { stdin: Some(much), ..command("wc -c") };
    assert_eq!(once(&options(Engine::Auto), &counted, &CancelToken::never()).unwrap().1, "4000000\n");
    let mut calls = 0;
    let result =
        execute_shell(&supervisor(), &options(Engine::Auto), &command("yes"), &CancelToken::never(), &mut |_| {
            calls += 1;
            ControlFlow::Break(())
        });
    assert_eq!((calls, result.unwrap().cancelled), (1, true));
}

#[test]
fn delivers_all_output_written_before_the_end_although_a_job_keeps_the_pipe_open() {
    let script = "sleep 1000 & head -c 3000000 /dev/zero | tr '\\0' x; echo end";
    let expect = "x".repeat(3_000_000) + "end\n";
    assert!(once(&options(Engine::Auto), &command(script), &CancelToken::never()).unwrap().1 == expect);
    assert!(shell().output(script).unwrap().1 == expect);
}

#[test]
fn invalid_utf8_becomes_replacement_characters() {
    let cut = command("printf '\\xe6\\xbc'; printf '\\xa2\\xff'; printf 'a\\xe6'");
    let (_, text) = once(&options(Engine::Auto), &cut, &CancelToken::never()).unwrap();
    assert_eq!(text, "漢\u{FFFD}a\u{FFFD}");
}

#[test]
fn a_command_has_no_terminal_and_no_descriptor_of_the_host() {
    // Every program that a test starts inherits the descriptors of the test process.
    let open = "ls /proc/self/fd | wc -l";
    let inherited = String::from_utf8(support::bash(open).output().unwrap().stdout).unwrap();
    for (script, expect) in [("(: </dev/tty) 2>/dev/null || echo none", "none\n"), (open, inherited.as_str())] {
        assert_eq!(once(&options(Engine::Auto), &command(script), &CancelToken::never()).unwrap().1, expect);
        assert_eq!(shell().output(script).unwrap().1, expect, "{script}");
    }
}

#[test]
fn distinguishes_timeouts_aborts_and_earlier_cancellations() {
    let soon = CancelToken::never().with_timeout(std::time::Duration::from_millis(30));
    let (result, _) = once(&options(Engine::Auto), &command("sleep 1000"), &soon).unwrap();
    assert_eq!(result, RunResult { timed_out: true, ..RunResult::default() });
    let (cancel_handle, cancel) = CancelHandle::new();
    cancel_handle.cancel();
    let dir = tempfile::tempdir().unwrap();
    let touch = RunOptions { cwd: Some(dir.path().into()), ..command("touch here") };
    let stopped = RunResult { cancelled: true, ..RunResult::default() };
    assert_eq!(once(&options(Engine::Auto), &touch, &cancel).unwrap().0, stopped);
    assert_eq!(shell().run(&touch, &cancel, &mut |_| ControlFlow::Continue(())).unwrap(), stopped);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    let shell = shell();
    let (up, is_up) = mpsc::channel();
    std::thread::scope(|scope| {
        let running = scope.spawn(|| {
            shell.run(&command("echo up; sleep 1000"), &CancelToken::never(), &mut |chunk| {
                up.send(chunk).unwrap();
                ControlFlow::Continue(())
            })
        });
        is_up.recv().unwrap();
        shell.abort();
        assert!(running.join().unwrap().unwrap().cancelled);
    });
}

#[test]
fn errors_of_runs_that_cannot_start_name_a_fix() {
    let check = |shell: &ShellOptions, run: &RunOptions, code: ErrorCode, words: &[&str]| {
        let error = once(shell, run, &CancelToken::never()).unwrap_err();
        let lasting = Shell::new(supervisor(), shell.clone());
        let same = lasting.run(run, &CancelToken::never(), &mut |_| ControlFlow::Continue(())).unwrap_err();
        assert_eq!((error.code(), error.message()), (same.code(), same.message()));
        assert_eq!(error.code(), code, "{error}");
        assert!(words.iter().all(|word| error.message().contains(word)), "{error}");
    };
    let echo = command("echo");
    let named = |path: &str| ShellOptions { bash: Some(PathBuf::from(path)), ..options(Engine::Auto) };
    let nowhere = ShellOptions { env: vec![("PATH".into(), "/nowhere".into())], ..options(Engine::Auto) };
    let none = "no bash of version 3.2 or later";
    check(&named("/no/such/bash"), &echo, ErrorCode::NotFound, &[none, "at /no/such/bash", "option `bash`"]);
    check(&named("/bin/false"), &echo, ErrorCode::NotFound, &[none, "at /bin/false", "option `bash`"]);
    check(&nowhere, &echo, ErrorCode::Unsupported, &[none, "on PATH", "option `bash`"]);
    check(&options(Engine::Brush), &echo, ErrorCode::Unsupported, &["\"brush\"", "\"bash\""]);
    let auto = options(Engine::Auto);
    check(&auto, &command("echo a\0b"), ErrorCode::InvalidArgument, &["NUL"]);
    let lost = RunOptions { cwd: Some("/no/such/dir".into()), ..command("echo") };
    check(&auto, &lost, ErrorCode::NotFound, &["Failed to set cwd: /no/such/dir: No such file or directory"]);
    let file = RunOptions { cwd: Some("/etc/passwd".into()), ..command("echo") };
    check(&auto, &file, ErrorCode::NotADirectory, &["Failed to set cwd: /etc/passwd"]);
    let name = RunOptions { env: vec![("a-b".into(), "1".into())], ..command("echo") };
    check(&auto, &name, ErrorCode::InvalidArgument, &["bad variable name"]);
    assert_eq!(env().len(), 4);
}
