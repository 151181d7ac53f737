//! Tests that no process survives a stopped run, and that no script affects the host.

use std::io::{BufRead, BufReader};
use std::ops::ControlFlow;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::support::{
    self, command, env, mark, marked, options, run, run_until, shell, supervisor, wait_for, with_mark,
};
use sinew_base::{CancelHandle, CancelToken};
use sinew_shell::{Engine, RunOptions, execute_shell};

/// The script is cancelled when it prints `up`. No process of it may be left when the run has returned.
#[track_caller]
fn check_gone(name: &str, script: &str) {
    let (shell, mark) = with_mark(Engine::Bash, name);
    let (cancel_handle, cancel) = CancelHandle::new();
    let mut text = String::new();
    let result = execute_shell(&supervisor(), &shell, &command(script), &cancel, &mut |chunk| {
        text.push_str(&chunk);
        if text.contains("up") {
            cancel_handle.cancel();
        }
        ControlFlow::Continue(())
    })
    .unwrap();
    assert_eq!((result.cancelled, result.exit_code, result.signal), (true, None, None), "{text}");
    assert_eq!(marked(&mark), [], "{script}");
}

#[test]
fn an_abort_ends_a_tree_that_obeys_term() {
    check_gone("obedient", "sleep 1000 & (sleep 1000; true) & echo up; sleep 1000");
}

#[test]
fn finds_children_in_other_sessions_by_descent() {
    check_gone("setsid", "setsid sleep 1000 & (setsid bash -c 'sleep 1000 & sleep 1000' &) ; echo up; sleep 1000");
    check_gone("daemon", "( ( setsid sleep 1000 </dev/null >/dev/null 2>&1 & ) & ) ; echo up; exec sleep 1000");
}

#[test]
fn a_tree_that_ignores_term_is_killed() {
    check_gone(
        "stubborn",
        "trap '' TERM HUP INT; (setsid sleep 1000 &); sleep 1000 & echo up; while :; do sleep 1000; done",
    );
}

#[test]
fn also_ends_a_suspended_process() {
    check_gone("frozen", "sleep 1000 & kill -STOP $!; echo up; wait");
}

#[test]
fn kills_many_forking_processes() {
    check_gone(
        "crowd",
        "trap '' TERM; f() { while :; do sleep 0.01; done; }; for i in $(seq 60); do f & done; echo up; wait",
    );
}

#[test]
fn background_processes_end_with_their_shell() {
    let mark = mark("left");
    let (key, value) = mark.split_once('=').unwrap();
    let left = RunOptions {
        env: vec![(key.into(), value.into())],
        ..command("setsid sleep 1000 >/dev/null 2>&1 & sleep 1000 & echo done")
    };
    let (result, text) = support::once(Engine::Bash, &left, &CancelToken::never());
    assert_eq!((result.exit_code, text.as_str()), (Some(0), "done\n"));
    assert_eq!(marked(&mark), []);
}

#[test]
fn closing_a_shell_ends_its_jobs() {
    let (options, mark) = with_mark(Engine::Bash, "close");
    let shell = sinew_shell::Shell::new(supervisor(), options.clone());
    shell.output("sleep 1000 & (setsid sleep 1000 &) ; trap '' TERM; sleep 1000 &").unwrap();
    shell.close();
    assert_eq!(marked(&mark), []);
    let dropped = sinew_shell::Shell::new(supervisor(), options);
    dropped.output("sleep 1000 & (setsid sleep 1000 &)").unwrap();
    drop(dropped);
    assert_eq!(marked(&mark), []);
}

/// A session aborts these commands and keeps its variables.
#[test]
fn a_session_survives_the_abort_of_most_commands() {
    let shell = shell(Engine::Bash);
    shell.output("N=0").unwrap();
    let scripts = [
        "echo up; sleep 1000",
        "echo up; while :; do :; done",
        "echo up; while :; do sleep 0.001; done",
        "f() { while true; do for ((;;)); do until false; do true; done; done; done; }; echo up; f; f",
        "f() { g; echo no; }; g() { echo up; sleep 1000; echo no; }; f; echo no",
        "echo up; for i in $(seq 50000); do /bin/true; done; echo no",
        "echo up; while sleep 1000; do echo no; done | cat; echo no",
        "echo up; x=$(sleep 1000); echo no",
        "echo up; while x=$(sleep 1000); do echo no; done; echo no",
        "echo up; while sleep 1000; do echo no; done; echo no",
        "echo up; while :; do sleep 1000; echo no; done; echo no",
        "echo up; while for i in 1 2; do sleep 1000; done; do for i in 1; do echo no; done; done; echo no",
        "echo up; while :; do sleep 1000; for ((; 0; )); do echo no; done; done; echo no",
        "echo up; sleep 1000; for ((; 0; )); do echo no; done; select i in 1; do echo no; done <<<1; echo no",
        "echo up; i=0; while ((1)); do ((i++)); done; echo no",
        "echo up; until x=$(sleep 1000); do echo no; done; echo no",
        "echo up; for i in $(sleep 1000) 1 2; do echo no; done; echo no",
        "echo up; for ((i = $(sleep 1000) 0; i < 9; i++)); do echo no; done; echo no",
        "echo up; select i in $(sleep 1000) 1; do echo no; done <<<1; echo no",
        "echo up; case $(sleep 1000) in *) echo no ;; esac; echo no",
        "echo up; if x=$(sleep 1000); then echo no; else echo no; fi; echo no",
        "echo up; x=$(sleep 1000) && echo no || echo no",
        "echo up; x=(1 $(sleep 1000)); echo no",
        "echo up; [[ $(sleep 1000) ]] || echo no",
        "echo up; (($(sleep 1000) 1)) && echo no",
        "echo up; (sleep 1000; echo no); echo no",
        "echo up; cat <(sleep 1000); echo no",
        "echo up; read x < <(sleep 1000); echo no",
        "echo up; sleep 1000 & wait; echo no",
        "echo up; . <(echo 'while :; do :; done'); echo no",
        "echo up; case x in x) while :; do :; done ;; esac; echo no",
        "echo up; eval 'while :; do :; done'; echo no",
        "set -e; echo up; while :; do :; done; echo no",
        "set +e; trap 'echo obeyed' TERM; echo up; while :; do sleep 1000; done; echo no",
        "trap - TERM; echo up; (trap '' TERM; sleep 1000); echo no",
        "echo up; : | while :; do :; done; echo no",
        "rm -f /tmp/fifo.$$; mkfifo /tmp/fifo.$$; (sleep 1000 >/tmp/fifo.$$) & rm -f /tmp/never; echo up; cat </tmp/fifo.$$; echo no",
    ];
    for script in scripts {
        let (result, text) = run_until(&shell, &format!("N=$((N + 1))\n{script}"), "up");
        assert_eq!((result.cancelled, result.state_lost), (true, None), "{script}");
        assert!(!text.contains("no"), "{script}: {text}");
    }
    assert_eq!(shell.output("rm -f /tmp/fifo.$$; echo $N").unwrap().1, format!("{}\n", scripts.len()));
    assert_eq!(shell.jobs().unwrap(), []);
}

/// A supervisor repeats the signal that makes a shell abort its command, so the signal can also arrive while the shell
/// expands words.
#[test]
fn a_shell_that_is_signalled_twice_to_abort_keeps_its_state() {
    let shell = shell(Engine::Bash);
    shell.output("N=7").unwrap();
    let twice = "kill -RTMAX-2 $$; sleep 0.02; kill -RTMAX-2 $$; echo up >&2; sleep 1000";
    for script in [
        format!("for i in $({twice}); do echo no; done; echo no"),
        format!("while x=$({twice}); do echo no; done; echo no"),
        format!("for ((i = $({twice}) 0; i < 9; i++)); do echo no; done; echo no"),
        format!("case $({twice}) in *) echo no ;; esac; echo no"),
    ] {
        let (result, text) = run_until(&shell, &script, "up");
        assert_eq!((result.cancelled, result.state_lost, text.as_str()), (true, None, "up\n"), "{script}");
        assert_eq!(shell.output("echo $N").unwrap().1, "7\n", "{script}");
    }
}

#[test]
fn the_command_after_an_abort_runs() {
    let shell = shell(Engine::Bash);
    for _ in 0..50 {
        let (result, _) = run_until(&shell, "echo up; while :; do /bin/true; done", "up");
        assert_eq!((result.cancelled, result.state_lost), (true, None));
        assert_eq!(shell.output("echo it runs").unwrap().1, "it runs\n");
    }
}

/// Returns the resident memory of a process, in pages.
fn resident(pid: &str) -> Option<u64> {
    std::fs::read_to_string(format!("/proc/{pid}/statm")).ok()?.split(' ').nth(1)?.parse().ok()
}

#[test]
fn a_session_that_cannot_abort_its_command_is_replaced_and_reports_it() {
    let shell = shell(Engine::Bash);
    let (cancel_handle, cancel) = CancelHandle::new();
    let mut watch = None;
    let script = command("X=1; echo $$; echo {1..1000000000}");
    let result = shell.run(&script, &cancel, &mut |chunk| {
        let (pid, cancel_handle) = (chunk.trim().to_string(), cancel_handle.clone());
        // Until it expands the braces, the shell could still abort. Its memory shows that it does expand them.
        watch = Some(std::thread::spawn(move || {
            wait_for("the expansion", || resident(&pid).is_none_or(|pages| pages >= 16_384));
            cancel_handle.cancel();
        }));
        ControlFlow::Continue(())
    });
    let result = result.unwrap();
    watch.unwrap().join().unwrap();
    assert_eq!((result.cancelled, result.state_lost.is_some()), (true, true));
    assert_eq!(shell.output("echo \"[$X]\"").unwrap().1, "[]\n");
}

#[test]
fn distinguishes_a_timeout_from_an_abort() {
    let shell = shell(Engine::Bash);
    let soon = || CancelToken::never().with_timeout(Duration::from_millis(30));
    let (result, _) = run(&shell, &command("sleep 1000"), &soon());
    assert_eq!((result.timed_out, result.cancelled, result.exit_code), (true, false, None));
    let (result, _) = support::once(Engine::Bash, &command("sleep 1000"), &soon());
    assert_eq!((result.timed_out, result.cancelled, result.exit_code), (true, false, None));
}

#[test]
fn a_run_that_was_aborted_before_its_start_does_nothing() {
    let (cancel_handle, cancel) = CancelHandle::new();
    cancel_handle.cancel();
    let dir = tempfile::tempdir().unwrap();
    let touch = RunOptions { cwd: Some(dir.path().into()), ..command("touch here") };
    assert!(support::once(Engine::Bash, &touch, &cancel).0.cancelled);
    assert!(run(&shell(Engine::Bash), &touch, &cancel).0.cancelled);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

/// Each of these scripts would crash or freeze an interpreter inside the host process.
#[test]
fn scripts_that_crash_the_interpreter_end_only_their_shell() {
    let limits = limits();
    let scripts = [
        // With a small stack, because bash needs more time for each call as the depth increases.
        "ulimit -s 1024; f() { f; }; f",
        "eval 'eval \"$(printf \"(%.0s\" {1..3000})\"'",
        "kill -9 $$",
        "kill -9 $PPID",
        "kill -9 0",
        "kill -9 -1000000",
        "umask 0; ulimit -n 10; ulimit -c 0",
        "exec 0<&- 1>&- 2>&-",
        "echo 'echo . \"$0\"' >/dev/null; a=a; echo $((a))",
        "trap 'exit 3' EXIT; exit 2",
        "ulimit -v 400000; x=$(head -c 300000000 /dev/zero | tr '\\0' x)",
        "ulimit -v 400000; echo {1..100000000}",
        "ulimit -u 0; (:)",
        "ulimit -n 4; cat /etc/passwd | cat",
        "exec 3<>/dev/null 200>&3; exec 4>&-",
        "cd /; mkdir -p /tmp/sinew-gone.$$; cd /tmp/sinew-gone.$$; rmdir /tmp/sinew-gone.$$; ls; pwd",
        "printf foo bar baz",
        "yes | head -c 100000 | wc -c",
        "$(printf '%0200000d' 1)",
    ];
    let shell = shell(Engine::Bash);
    for script in scripts {
        let limit = CancelToken::never().with_timeout(Duration::from_secs(600));
        let (once, _) = support::once(Engine::Bash, &command(script), &limit);
        let (lasting, _) = run(&shell, &command(script), &limit);
        assert!(!once.timed_out && !lasting.timed_out, "{script}");
        let (next, text) = shell.output("ulimit -n 100 2>/dev/null; echo next").unwrap_or_default();
        // A shell that has limited its own resources may be unable to continue, but the next one always works.
        if next.exit_code != Some(0) || text != "next\n" {
            shell.output("exit").ok();
            assert_eq!(shell.output("echo next").unwrap().1, "next\n", "{script}");
        }
        shell.output("exit").ok();
    }
    assert_eq!(limits, self::limits());
}

fn limits() -> (String, String) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let umask = status.lines().find(|line| line.starts_with("Umask")).unwrap().to_string();
    (std::fs::read_to_string("/proc/self/limits").unwrap(), umask)
}

#[test]
fn the_oom_killer_prefers_scripts() {
    let score = |text: &str| text.trim().parse::<i32>().unwrap();
    let own = score(&std::fs::read_to_string("/proc/self/oom_score_adj").unwrap());
    let script = score(&shell(Engine::Bash).output("cat /proc/self/oom_score_adj").unwrap().1);
    // If the host itself has a higher preference, only the system may reduce it.
    assert!(script == 500 || script == own && own > 500, "{script}, and the host {own}");
}

#[test]
fn supports_deep_recursion_like_bash() {
    let script = "f() { (($1 == 0)) || f $(($1 - 1)); }; f 1000; echo $?";
    assert_eq!(support::once(Engine::Bash, &command(script), &CancelToken::never()).1, "0\n");
}

#[test]
fn delivers_large_output_completely() {
    let mut bytes = 0u64;
    let mut longest = 0;
    let result = execute_shell(
        &supervisor(),
        &options(Engine::Bash),
        &command("head -c 100000000 /dev/zero | tr '\\0' x"),
        &CancelToken::never(),
        &mut |chunk| {
            bytes += chunk.len() as u64;
            longest = longest.max(chunk.len());
            ControlFlow::Continue(())
        },
    )
    .unwrap();
    assert_eq!((result.exit_code, bytes), (Some(0), 100_000_000));
    assert!(longest <= 2 * sinew_shell::output::MERGE_BYTES, "{longest}");
}

#[test]
fn a_callback_that_returns_break_ends_the_command() {
    for engine in [Engine::Bash, Engine::Brush] {
        let mut calls = 0;
        let result =
            execute_shell(&supervisor(), &options(engine), &command("yes"), &CancelToken::never(), &mut |_| {
                calls += 1;
                ControlFlow::Break(())
            })
            .unwrap();
        assert_eq!((calls, result.cancelled), (1, true));
        let result =
            shell(engine).run(&command("yes"), &CancelToken::never(), &mut |_| ControlFlow::Break(())).unwrap();
        assert!(result.cancelled);
    }
}

#[test]
fn invalid_utf8_becomes_replacement_characters() {
    let cut = command("printf '\\xe6\\xbc'; printf '\\xa2\\xff'; printf 'a\\xe6'");
    assert_eq!(support::once(Engine::Bash, &cut, &CancelToken::never()).1, "漢\u{FFFD}a\u{FFFD}");
}

#[test]
fn runs_a_script_that_is_too_long_for_an_argument() {
    let script = format!("x='{}'; echo ${{#x}}", "y".repeat(1_000_000));
    assert_eq!(support::once(Engine::Bash, &command(script.clone()), &CancelToken::never()).1, "1000000\n");
    assert_eq!(shell(Engine::Bash).output(&script).unwrap().1, "1000000\n");
}

#[test]
fn leaves_no_process_and_no_descriptor() {
    let count = || {
        let fds = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
        // Other tests of this program run shells at the same time.
        fds.filter(|fd| std::fs::read_link(fd.path()).is_ok_and(|to| to.to_string_lossy().contains("sinew"))).count()
    };
    let before = count();
    let (options, mark) = with_mark(Engine::Bash, "many");
    for _ in 0..20 {
        let (cancel_handle, cancel) = CancelHandle::new();
        let script = "for i in 1 2 3; do setsid sleep 1000 & done; sleep 1000 & echo up; sleep 1000";
        execute_shell(&supervisor(), &options, &command(script), &cancel, &mut |_| {
            cancel_handle.cancel();
            ControlFlow::Continue(())
        })
        .unwrap();
    }
    assert_eq!(marked(&mark), []);
    wait_for("the end of the descriptors", || count() <= before + 8);
}

/// The host is this test program, started again with only the test below.
#[test]
fn nothing_outlives_a_host_that_is_killed() {
    let mark = mark("host");
    let (key, value) = mark.split_once('=').unwrap();
    let mut host = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "host_safety::a_host_to_be_killed", "--nocapture", "--test-threads=1"])
        .env(key, value)
        .env("SINEW_TEST_HOST", "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(host.stdout.take().unwrap()).lines();
    lines.find(|line| line.as_ref().is_ok_and(|line| line.contains("all up"))).unwrap().unwrap();
    // A process that is just being started shows no environment.
    wait_for("the tree", || marked(&mark).len() > 5);
    host.kill().unwrap();
    host.wait().unwrap();
    wait_for("the end of everything", || marked(&mark).is_empty());
}

#[test]
fn a_host_to_be_killed() {
    if std::env::var_os("SINEW_TEST_HOST").is_none() {
        return;
    }
    let mut options = options(Engine::Bash);
    options.env.extend(std::env::vars_os().filter(|(name, _)| name == "SINEW_TEST_MARK"));
    let shell = sinew_shell::Shell::new(supervisor(), options.clone());
    shell.output("sleep 1000 & setsid sleep 1000 & (setsid sleep 1000 &)").unwrap();
    let script = "trap '' TERM HUP; setsid sleep 1000 & (sleep 1000 &) ; echo up; sleep 1000";
    execute_shell(&supervisor(), &options, &command(script), &CancelToken::never(), &mut |_| {
        println!("all up");
        ControlFlow::Continue(())
    })
    .unwrap();
}

#[test]
fn a_script_does_not_inherit_the_environment_of_the_host() {
    let (_, text) = support::once(Engine::Bash, &command("env | grep -c CARGO"), &CancelToken::never());
    assert_eq!(text, "0\n");
    assert_eq!(env().len(), 4);
}
