//! Tests of idle sessions, and of sessions whose host is killed.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a failed test panics")]

use std::io::{BufRead, BufReader};
use std::ops::ControlFlow;
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

use sinew_base::CancelToken;
use sinew_process::Process;
use sinew_shell::pty::{PtyOptions, PtySession};

const LONG: Duration = Duration::from_secs(120);

/// Set in the environment of a copy of this program, which acts as the host that is killed.
const HOST: &str = "SINEW_TEST_PTY_HOST";

fn options(command: &str) -> PtyOptions {
    PtyOptions {
        supervisor: Some(env!("CARGO_BIN_EXE_sinew-shell-host").into()),
        env: vec![("PATH".into(), std::env::var_os("PATH").unwrap())],
        ..PtyOptions::new(command)
    }
}

/// Returns how often a thread went to sleep so far.
fn sleeps(thread: &std::path::Path) -> u64 {
    let status = std::fs::read_to_string(thread.join("status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:")).unwrap();
    line.trim().parse().unwrap()
}

fn session_threads() -> Vec<std::path::PathBuf> {
    let threads = std::fs::read_dir("/proc/self/task").unwrap().map(|thread| thread.unwrap().path());
    threads.filter(|thread| std::fs::read_to_string(thread.join("comm")).is_ok_and(|n| n == "sinew-pty\n")).collect()
}

#[test]
fn an_idle_session_never_wakes_up() {
    let session = PtySession::new();
    let ((send, chunks), (send_end, end)) = (channel(), channel());
    let on_chunk = move |text| {
        send.send(text).unwrap();
        ControlFlow::Continue(())
    };
    let never = CancelToken::never();
    session.start(options("echo ready; read line"), &never, on_chunk, move |end| send_end.send(end).unwrap()).unwrap();
    let mut text = String::new();
    while !text.contains("ready\r\n") {
        text += &chunks.recv_timeout(LONG).unwrap();
    }
    let [thread] = session_threads().try_into().unwrap();
    // The start may wake it once or twice more before it becomes idle. Another program serves as the clock: anything
    // that wakes at least four times a second is visible in each of these intervals.
    let rests = (0..20).any(|_| {
        let before = sleeps(&thread);
        assert!(Command::new("sleep").arg("0.3").status().unwrap().success());
        sleeps(&thread) == before
    });
    assert!(rests, "it keeps waking up");
    session.write(b"\n").unwrap();
    assert_eq!(end.recv_timeout(LONG).unwrap().unwrap().exit_code, Some(0));
}

/// Run by the test below in a separate process, which the test kills; does nothing otherwise.
#[test]
fn host() {
    if std::env::var_os(HOST).is_none() {
        return;
    }
    let session = PtySession::new();
    let command = "trap '' TERM HUP; setsid sh -c 'echo pid=$$; exec sleep 1000' & echo pid=$$; sleep 1000; sleep 1000";
    let on_chunk = |text: String| {
        for line in text.lines() {
            // The parent reads this through the pipe of our standard error.
            std::io::Write::write_all(&mut std::io::stderr(), format!("{line}\n").as_bytes()).unwrap();
        }
        ControlFlow::Continue(())
    };
    let end = session.run(options(command), &CancelToken::never(), on_chunk);
    panic!("the program ended: {end:?}");
}

#[test]
fn a_killed_host_leaves_nothing_behind() {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "host", "--nocapture"]).env(HOST, "1");
    let mut host = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(host.stderr.take().unwrap()).lines();
    let pids = lines.filter_map(|line| line.unwrap().strip_prefix("pid=")?.trim().parse().ok()).take(2);
    let tree: Vec<Process> = pids.map(|pid| Process::from_pid(pid).unwrap()).collect();
    assert_eq!(tree.len(), 2);
    host.kill().unwrap();
    host.wait().unwrap();
    for process in tree {
        process.wait_for_exit(&CancelToken::never().with_timeout(LONG)).expect("the program ends with its host");
    }
}
