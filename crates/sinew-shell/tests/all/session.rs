//! Tests of the state that persists in a shell, and of the results of its runs. Tests in which shells without a
//! supervisor differ follow those of `cases/session.rs`.

use std::ops::ControlFlow;
use std::sync::Arc;

use crate::support::{self, command, options, run_until, shell, supervisor};
use sinew_base::{CancelToken, ErrorCode};
use sinew_shell::{Engine, Shell, ShellOptions};

mod supervised {
    use sinew_shell::{Shell, execute_shell};

    include!("cases/session.rs");
}

mod direct {
    use sinew_shell::direct::{Shell, execute_shell};

    include!("cases/session.rs");
}

/// Runs the commands one after another in one shell. Each must have the given output and exit code.
#[track_caller]
fn check(steps: &[(&str, &str, i32)]) {
    let shell = shell(Engine::Bash);
    for (text, expect, code) in steps {
        let (result, output) = shell.output(text).unwrap();
        assert_eq!((output.as_str(), result.exit_code), (*expect, Some(*code)), "{text}");
    }
}

/// Without a supervisor, the script kills the host.
#[test]
fn a_script_that_kills_its_parent_ends_only_its_shell() {
    let shell = shell(Engine::Bash);
    let (result, _) = shell.output("kill -9 $PPID; sleep 100").unwrap();
    assert_eq!((result.exit_code, result.signal, result.state_lost.is_some()), (None, Some("SIGKILL"), true));
    assert_eq!(shell.output("echo up").unwrap().1, "up\n");
}

/// Without a supervisor, no shell is running between two runs.
#[test]
fn reports_a_shell_that_dies_between_two_runs() {
    let shell = shell(Engine::Bash);
    let dir = tempfile::tempdir().unwrap();
    let fifo = dir.path().join("go");
    let killer = format!("mkfifo {0}; X=1; {{ read <{0}; kill -9 $$; }} >/dev/null & echo $PPID", fifo.display());
    let (_, parent) = shell.output(&killer).unwrap();
    // The run has ended before the shell is killed.
    std::fs::write(&fifo, "now\n").unwrap();
    // The supervisor exits after it has reported that the shell is gone.
    let parent = std::path::PathBuf::from(format!("/proc/{}", parent.trim()));
    support::wait_for("the end of the shell", || !parent.exists());
    let (result, output) = shell.output("echo \"[$X]\"").unwrap();
    assert_eq!((output.as_str(), result.state_lost.is_some()), ("[]\n", true));
}

/// Without a supervisor, jobs have no numbers in later runs; `direct.rs` tests the rest.
#[test]
fn background_jobs_outlive_their_run_without_adding_output_to_later_runs() {
    let shell = shell(Engine::Bash);
    let (_, output) = shell.output("(while echo late; do sleep 0.01; done) & sleep 1000 & echo here").unwrap();
    assert!(output.contains("here\n"), "{output}");
    assert_eq!(shell.output("echo next").unwrap().1, "next\n");
    // A process that has just been started has the command line of the shell for a moment.
    support::wait_for("the job", || shell.jobs().unwrap().iter().any(|job| job.command == "sleep 1000"));
    let (result, _) = run_until(&shell, "sleep 1001 & echo up; wait", "up");
    assert_eq!((result.cancelled, result.state_lost), (true, None));
    let after = shell.jobs().unwrap();
    assert!(after.iter().any(|job| job.command == "sleep 1000"), "{after:?}");
    assert!(!after.iter().any(|job| job.command == "sleep 1001"), "{after:?}");
    assert_eq!(shell.output("kill %1 %2; wait; echo $?").unwrap().0.exit_code, Some(0));
    shell.close();
    let error = shell.output("echo x").unwrap_err();
    assert_eq!(error.code(), ErrorCode::InvalidState);
}

/// Without a supervisor, older versions work too; see `direct.rs`.
#[test]
fn errors_of_a_missing_bash_or_supervisor_name_a_fix() {
    let no_path = ShellOptions { env: vec![("PATH".into(), "/nowhere".into())], ..options(Engine::Bash) };
    let error = Shell::new(supervisor(), no_path).output("echo").unwrap_err();
    assert!(error.message().contains("no bash of version 4.4"), "{error}");
    let named = |path: &str| ShellOptions { bash: Some(path.into()), ..options(Engine::Auto) };
    let error = Shell::new(supervisor(), named("/bin/false")).output("echo").unwrap_err();
    let text = "Failed to initialize shell: no bash of version 4.4 or later at /bin/false";
    assert_eq!(error.message(), text);
    let nobody = sinew_shell::Supervisor::new("/no/such/supervisor");
    let error = Shell::new(nobody, options(Engine::Brush)).output("echo").unwrap_err();
    assert!(error.message().starts_with("Failed to initialize shell"), "{error}");
}

/// Without a supervisor, a stopped run changes no state; see `direct.rs`.
#[test]
fn abort_stops_the_running_command_and_does_not_affect_an_idle_shell() {
    let shell = Arc::new(shell(Engine::Bash));
    shell.abort();
    let (up, is_up) = std::sync::mpsc::channel();
    let running = Arc::clone(&shell);
    let thread = std::thread::spawn(move || {
        running
            .run(&command("X=1; echo up; sleep 1000"), &CancelToken::never(), &mut |chunk| {
                up.send(chunk).unwrap();
                ControlFlow::Continue(())
            })
            .unwrap()
    });
    is_up.recv().unwrap();
    shell.abort();
    let result = thread.join().unwrap();
    assert_eq!((result.cancelled, result.timed_out, result.exit_code, result.state_lost), (true, false, None, None));
    assert_eq!(shell.output("echo $X").unwrap().1, "1\n");
}

/// Without a supervisor, a command also inherits the descriptors that the host opened for its children.
#[test]
fn a_command_inherits_no_descriptor_of_the_host() {
    check(&[("ls /proc/self/fd | grep -cvxE '[0123]'", "0\n", 1)]);
}

/// Without a supervisor, there is one `eval` fewer.
#[test]
fn a_trace_shows_only_the_commands_of_the_run() {
    // Each `eval` around a command is one more `+`.
    check(&[("set -x; echo a", "+++ echo a\na\n", 0), ("echo b", "+++ echo b\nb\n", 0), ("set +x", "+++ set +x\n", 0)]);
    check(&[
        ("set -v; echo a\necho b", "a\necho b\nb\n", 0),
        ("echo c", "c\n", 0),
        ("set +v", "", 0),
        ("echo d\n:", "d\n", 0),
    ]);
}

/// Without a supervisor, line numbers of a function from an earlier run refer to the file that it was saved in.
#[test]
fn line_numbers_start_at_each_run() {
    let text = "echo $LINENO\nf() {\n  echo $LINENO\n}\nf\nnosuch\necho \"${BASH_LINENO[*]}\"\n";
    let shell = shell(Engine::Bash);
    let expect = "1\n3\nbash: line 6: nosuch: command not found\n\n";
    for _ in 0..3 {
        assert_eq!(shell.output(text).unwrap().1, expect);
    }
    assert_eq!(shell.output("f; IFS=-; LINENO=70; set -u").unwrap().1, "3\n");
    assert_eq!(shell.output(text).unwrap().1, expect);
    assert_eq!(shell.output("\n\nif").unwrap().1, "bash: eval: line 4: syntax error: unexpected end of file\n");
    assert_eq!(shell.output(text).unwrap().1, expect);
}

/// Without a supervisor, every run is a separate text.
#[test]
fn a_session_supports_any_number_of_runs() {
    let shell = shell(Engine::Bash);
    shell.output("N=0").unwrap();
    for _ in 0..900 {
        shell.output("N=$((N + 1))").unwrap();
    }
    assert_eq!(shell.output("echo $N $LINENO $-").unwrap().1, "900 1 hBc\n");
}

/// Without a supervisor, such a trap also runs, without output, for three generated commands.
#[test]
fn a_debug_trap_runs_once_for_each_command() {
    // Once the trap is known: generated lines around the second run do not count.
    check(&[("n=0; trap ': $((n++))' DEBUG", "", 0), ("n=0; :; :", "", 0), ("echo $n", "3\n", 0)]);
}
