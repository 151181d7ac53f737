//! Tests with real process trees. All processes of a tree keep a pipe open, so its end shows when the last one has
//! ended.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use sinew_base::{Aborted, CancelHandle, CancelToken};
use sinew_process::{Process, Status, Terminate, Termination, descendants, kill_tree};

const LONG: Duration = Duration::from_secs(120);
const TERM: i32 = 15;
const KILL: i32 = 9;

/// A script that prints one pid per line as soon as that process runs, and its output.
struct Script {
    child: Child,
    out: BufReader<ChildStdout>,
}

impl Script {
    fn start(text: &str) -> Script {
        // A separate process group, so that no process is mistaken for one of the test.
        let mut command = Command::new("sh");
        command.args(["-c", text]).stdin(Stdio::null()).stdout(Stdio::piped()).process_group(0);
        let mut child = command.spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        Script { child, out }
    }

    fn pid(&self) -> u32 {
        self.child.id()
    }

    fn pids(&mut self, count: usize) -> Vec<u32> {
        (0..count)
            .map(|_| {
                let mut line = String::new();
                self.out.read_line(&mut line).unwrap();
                line.trim().parse().unwrap()
            })
            .collect()
    }

    /// Waits until no process keeps the pipe open.
    #[track_caller]
    fn all_over(self) {
        let (send, receive) = mpsc::channel();
        let Script { mut child, mut out } = self;
        std::thread::spawn(move || {
            let mut rest = Vec::new();
            let _ = send.send(out.read_to_end(&mut rest).map(|_| ()));
        });
        receive.recv_timeout(LONG).expect("no process of the tree is left").unwrap();
        child.wait().unwrap();
    }
}

// Three processes: the shell, a child, and a grandchild in its own session.
const TREE: &str =
    "sh -c 'setsid sh -c \"echo \\$\\$; exec sleep 1000\" & echo $$; exec sleep 1000' & echo $$; exec sleep 1000";

fn sorted(mut pids: Vec<u32>) -> Vec<u32> {
    pids.sort_unstable();
    pids
}

#[test]
fn finds_and_kills_descendants_in_other_sessions() {
    let mut script = Script::start(TREE);
    let said = sorted(script.pids(3));
    let found = descendants(script.pid());
    assert_eq!(sorted([found, vec![script.pid()]].concat()), said);
    assert_eq!(kill_tree(script.pid(), KILL), 3);
    script.all_over();
}

#[test]
fn a_tree_ends_at_sigterm_children_first() {
    let mut script = Script::start(TREE);
    script.pids(3);
    assert_eq!(kill_tree(script.pid(), TERM), 3);
    script.all_over();
}

#[test]
fn processes_created_during_a_kill_do_not_escape() {
    let storm = "f() { if [ $1 -gt 0 ]; then f $(($1 - 1)) & f $(($1 - 1)) & fi; echo $1; sleep 1000; }; f 6";
    let mut script = Script::start(storm);
    script.pids(20);
    assert!(kill_tree(script.pid(), KILL) >= 20);
    script.all_over();
}

#[test]
fn an_ended_process_has_no_descendants_and_gets_no_signal() {
    let mut child = Command::new("true").spawn().unwrap();
    let handle = Process::from_pid(child.id());
    child.wait().unwrap();
    assert_eq!((descendants(child.id()), kill_tree(child.id(), KILL)), (vec![], 0));
    if let Some(handle) = handle {
        assert_eq!((handle.status(), handle.ppid(), handle.signal(0)), (Status::Exited, None, false));
        assert_eq!(handle.terminate(&Terminate::default()), Termination::default());
        assert!(handle.children().is_empty());
    }
}

#[test]
fn a_zombie_has_ended() {
    let mut script = Script::start("echo $$");
    script.pids(1);
    let mut rest = Vec::new();
    script.out.read_to_end(&mut rest).unwrap();
    if let Some(handle) = Process::from_pid(script.pid()) {
        handle.wait_for_exit(&CancelToken::never().with_timeout(LONG)).unwrap();
    }
    assert!(Process::from_pid(script.pid()).is_none());
    assert!(!descendants(std::process::id()).contains(&script.pid()));
    assert_eq!(kill_tree(script.pid(), KILL), 0);
    script.child.wait().unwrap();
}

#[test]
fn a_handle_returns_its_parent_and_children() {
    let mut script = Script::start("sh -c 'echo $$; exec sleep 1000' & sh -c 'echo $$; exec sleep 1000' & wait");
    let said = sorted(script.pids(2));
    let handle = Process::from_pid(script.pid()).unwrap();
    assert_eq!(handle.ppid(), Some(std::process::id()));
    assert_eq!(handle.status(), Status::Running);
    assert_eq!(handle.children().iter().map(Process::pid).collect::<Vec<_>>(), said);
    handle.terminate(&Terminate::default());
    script.all_over();
}

#[test]
fn processes_that_ignore_sigterm_are_killed_only_by_terminate() {
    let stubborn = "trap '' TERM; (echo 1; sleep 1000; sleep 1000) & (echo 2; sleep 1000; sleep 1000) & echo 3; wait";
    let mut script = Script::start(stubborn);
    script.pids(3);
    let handle = Process::from_pid(script.pid()).unwrap();
    let ask = Terminate { graceful: Duration::from_millis(20), timeout: Duration::from_millis(20), group: false };
    let asked = handle.terminate(&ask);
    assert!(asked.survivors.len() >= 3 && asked.survivors.contains(&script.pid()), "{asked:?}");
    assert_eq!(asked.signalled, asked.exited + asked.survivors.len());
    let end = Terminate { graceful: Duration::from_millis(20), timeout: LONG, group: false };
    let ended = handle.terminate(&end);
    assert!(ended.survivors.is_empty() && ended.exited >= 3 && ended.signalled == ended.exited, "{ended:?}");
    script.all_over();
}

#[test]
fn terminates_the_process_group_even_if_descent_is_lost() {
    // The middle shell has ended, so the sleeper is no longer a descendant of the leader, but still in its group.
    let mut script = Script::start("sh -c '(echo 1; exec sleep 1000) &'; echo 2; read line; sleep 1000");
    script.pids(2);
    let handle = Process::from_pid(script.pid()).unwrap();
    let ended = handle.terminate(&Terminate { graceful: Duration::ZERO, timeout: LONG, group: true });
    assert!(ended.survivors.is_empty(), "{ended:?}");
    script.all_over();
}

#[test]
fn a_wait_ends_with_the_process_a_cancellation_or_a_timeout() {
    let mut script = Script::start("echo $$; exec sleep 1000");
    script.pids(1);
    let handle = Process::from_pid(script.pid()).unwrap();
    let short = CancelToken::never().with_timeout(Duration::from_millis(1));
    assert_eq!(handle.wait_for_exit(&short), Err(Aborted::Timeout));
    let (cancel_handle, cancel) = CancelHandle::new();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| handle.wait_for_exit(&cancel));
        cancel_handle.cancel();
        assert_eq!(waiting.join().unwrap(), Err(Aborted::Signal));
        let waiting = scope.spawn(|| handle.wait_for_exit(&CancelToken::never()));
        assert!(handle.signal(KILL));
        assert_eq!(waiting.join().unwrap(), Ok(()));
    });
    script.all_over();
}
