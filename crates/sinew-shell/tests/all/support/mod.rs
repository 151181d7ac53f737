//! Helpers that the tests of shells share.
#![cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "most tests run on Linux alone"))]

use std::ffi::OsString;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use sinew_base::CancelToken;
use sinew_shell::{Engine, Environment, RunOptions, RunResult, Shell, ShellOptions, Supervisor, execute_shell};

pub(crate) fn supervisor() -> Supervisor {
    Supervisor::new(env!("CARGO_BIN_EXE_sinew-shell-host"))
}

/// An environment that does not depend on the user who runs the tests.
pub(crate) fn env() -> Environment {
    [("PATH", "/usr/local/bin:/usr/bin:/bin"), ("HOME", "/tmp"), ("LC_ALL", "C.UTF-8"), ("TZ", "UTC")]
        .map(|(name, value)| (OsString::from(name), OsString::from(value)))
        .to_vec()
}

pub(crate) fn options(engine: Engine) -> ShellOptions {
    ShellOptions { env: env(), engine, ..ShellOptions::default() }
}

pub(crate) fn shell(engine: Engine) -> Shell {
    Shell::new(supervisor(), options(engine))
}

pub(crate) fn command(command: impl Into<String>) -> RunOptions {
    RunOptions { command: command.into(), ..RunOptions::default() }
}

/// Runs one command in a separate shell.
pub(crate) fn once(engine: Engine, run: &RunOptions, cancel: &CancelToken) -> (RunResult, String) {
    let mut text = String::new();
    let result = execute_shell(&supervisor(), &options(engine), run, cancel, &mut |chunk| {
        text.push_str(&chunk);
        ControlFlow::Continue(())
    });
    (result.unwrap(), text)
}

pub(crate) fn run(shell: &Shell, run: &RunOptions, cancel: &CancelToken) -> (RunResult, String) {
    let mut text = String::new();
    let result = shell.run(run, cancel, &mut |chunk| {
        text.push_str(&chunk);
        ControlFlow::Continue(())
    });
    (result.unwrap(), text)
}

/// Runs a command and cancels it as soon as its output ends with `word`.
pub(crate) fn run_until(shell: &Shell, text: &str, word: &str) -> (RunResult, String) {
    let (cancel_handle, cancel) = sinew_base::CancelHandle::new();
    let mut seen = String::new();
    let result = shell.run(&command(text), &cancel, &mut |chunk| {
        seen.push_str(&chunk);
        if seen.trim_end().ends_with(word) {
            cancel_handle.cancel();
        }
        ControlFlow::Continue(())
    });
    (result.unwrap(), seen)
}

/// Runs a script in a new bash, in the environment of the tests and without input.
pub(crate) fn bash(script: &str) -> std::process::Command {
    use std::os::unix::process::CommandExt;
    let mut bash = std::process::Command::new("bash");
    bash.args(["--noprofile", "--norc", "-c", script]).env_clear().envs(env()).stdin(std::process::Stdio::null());
    // SAFETY: `signal` may be called between fork and exec, and allocates nothing.
    unsafe {
        bash.pre_exec(|| {
            // If the tests run in the background of a script, these signals are ignored, and bash cannot trap ignored
            // signals.
            for signal in [libc::SIGINT, libc::SIGQUIT, libc::SIGHUP] {
                libc::signal(signal, libc::SIG_DFL);
            }
            Ok(())
        });
    }
    bash
}

/// Writes a program in a separate process. If this process wrote it, a child that another test starts at that moment
/// would inherit the open file, and the system does not run a file that is open for writing.
pub(crate) fn write_program(path: &std::path::Path, text: &str) {
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", "printf %s \"$2\" > \"$1\" && chmod 755 \"$1\"", "sh"]).arg(path).arg(text);
    assert!(shell.status().unwrap().success());
}

/// Waits until `done` returns true, for at most a minute.
#[track_caller]
pub(crate) fn wait_for(what: &str, mut done: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(60);
    while !done() {
        assert!(Instant::now() < until, "{what} did not come");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Returns a variable that only the processes of one call have in their environment.
pub(crate) fn mark(name: &str) -> String {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    format!("SINEW_TEST_MARK={name}.{}.{}.", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Returns the options of a shell whose processes have a mark in their environment, and the mark.
pub(crate) fn with_mark(engine: Engine, name: &str) -> (ShellOptions, String) {
    let mark = mark(name);
    let (key, value) = mark.split_once('=').unwrap();
    let mut options = options(engine);
    options.env.push((key.into(), value.into()));
    (options, mark)
}

/// Returns the processes whose environment contains `mark`, so that a test finds the processes of its own scripts.
pub(crate) fn marked(mark: &str) -> Vec<i32> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok())
        .filter(|pid| {
            std::fs::read(format!("/proc/{pid}/environ"))
                .is_ok_and(|env| env.windows(mark.len()).any(|part| part == mark.as_bytes()))
        })
        .collect()
}

/// Lines are counted from the start of the session.
pub(crate) fn without_line_numbers(text: &str) -> String {
    let mut parts = text.split("line ");
    let mut kept = parts.next().unwrap_or_default().to_string();
    for part in parts {
        kept += "line ";
        kept += part.trim_start_matches(|c: char| c.is_ascii_digit());
    }
    kept
}
