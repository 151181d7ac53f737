//! Tests of the state that persists in a shell, and of the results of its runs. Below those of
//! `cases/session.rs` stand the ones in which shells without a supervisor differ.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a step that fails is a test that fails")]

mod support;

use std::sync::Arc;

use sinew_base::{CancelToken, ErrorCode};
use sinew_shell::{Engine, Shell, ShellOptions};
use support::{command, options, run_until, shell, supervisor};

mod supervised {
    use sinew_shell::{Shell, execute_shell};

    include!("cases/session.rs");
}

mod direct {
    use sinew_shell::direct::{Shell, execute_shell};

    include!("cases/session.rs");
}

/// Without a supervisor it is the host that the script kills.
#[test]
fn a_script_that_kills_its_parent_kills_no_more_than_its_shell() {
    let shell = shell(Engine::Bash);
    let (result, _) = shell.output("kill -9 $PPID; sleep 100").unwrap();
    assert_eq!((result.exit_code, result.signal, result.state_lost.is_some()), (None, Some("SIGKILL"), true));
    assert_eq!(shell.output("echo up").unwrap().1, "up\n");
}

#[test]
fn a_shell_that_dies_between_two_runs_is_told() {
    let shell = shell(Engine::Bash);
    let dir = tempfile::tempdir().unwrap();
    let fifo = dir.path().join("go");
    let killer = format!("mkfifo {0}; X=1; {{ read <{0}; kill -9 $$; }} >/dev/null & echo $PPID", fifo.display());
    let (_, parent) = shell.output(&killer).unwrap();
    // That run is over: only now the shell is killed.
    std::fs::write(&fifo, "now\n").unwrap();
    // It goes away after it has told that the shell is gone.
    let parent = std::path::PathBuf::from(format!("/proc/{}", parent.trim()));
    support::wait_for("the end of the shell", || !parent.exists());
    let (result, output) = shell.output("echo \"[$X]\"").unwrap();
    assert_eq!((output.as_str(), result.state_lost.is_some()), ("[]\n", true));
}

#[test]
fn background_jobs_outlive_their_run_and_keep_their_output_to_themselves() {
    let shell = shell(Engine::Bash);
    let (_, output) = shell.output("(while echo late; do sleep 0.01; done) & sleep 1000 & echo here").unwrap();
    assert!(output.contains("here\n"), "{output}");
    assert_eq!(shell.output("echo next").unwrap().1, "next\n");
    // A process that has just begun has the command line of the shell for a moment.
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

#[test]
fn a_missing_bash_and_a_missing_supervisor_are_errors_with_a_way_out() {
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

#[test]
fn abort_settles_the_running_command_and_does_nothing_to_an_idle_shell() {
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
