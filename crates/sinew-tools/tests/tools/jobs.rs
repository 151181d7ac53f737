//! Tests commands in the background and in a terminal, and the shells that run them.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::json;
use sinew::base::{CancelHandle, CancelToken};
use sinew::shell::pty::PtySession;
use sinew_llm::message::text_of;
use sinew_tools::{Console, Notice, Settings, Shells};

use crate::Case;
use crate::stage::Stage;

pub(crate) const CASES: &[Case] = &[
    ("a_job_runs_in_a_copy_of_the_shell", a_job_runs_in_a_copy_of_the_shell),
    ("jobs_are_listed_read_and_cancelled", jobs_are_listed_read_and_cancelled),
    ("the_session_is_notified_of_jobs", the_session_is_notified_of_jobs),
    ("jobs_are_limited_and_end_with_the_session", jobs_are_limited_and_end_with_the_session),
    ("a_long_command_becomes_a_job", a_long_command_becomes_a_job),
    ("an_abort_does_not_end_a_command_that_became_a_job", an_abort_does_not_end_a_command_that_became_a_job),
    ("without_the_setting_there_are_no_jobs", without_the_setting_there_are_no_jobs),
    ("idle_shells_are_closed", idle_shells_are_closed),
    ("shells_beyond_the_limit_are_closed", shells_beyond_the_limit_are_closed),
    ("variables_and_the_path_of_bash_come_from_the_settings", variables_and_the_path_of_bash_come_from_the_settings),
    ("commands_with_pty_run_in_a_terminal", commands_with_pty_run_in_a_terminal),
    ("a_finished_todo_list_is_cleared", a_finished_todo_list_is_cleared),
];

fn with_jobs() -> Stage {
    Stage::with(Settings { jobs: true, ..Settings::default() })
}

/// Waits until a command has written a process id to a file, and returns it.
fn process(stage: &Stage, file: &str) -> String {
    let path = stage.cwd().join(file);
    wait(|| std::fs::read_to_string(&path).is_ok_and(|text| text.ends_with('\n')));
    stage.get(file).trim().to_string()
}

pub(crate) fn is_alive(pid: &str) -> bool {
    // A zombie counts as dead, because its parent may not have reaped it yet.
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

/// Waits until a condition is true; panics after a minute.
#[track_caller]
fn wait(happened: impl Fn() -> bool) {
    let begun = Instant::now();
    while !happened() {
        assert!(begun.elapsed() < Duration::from_secs(60), "it never happened");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn a_job_runs_in_a_copy_of_the_shell() {
    let stage = with_jobs();
    stage.put("d/x", "");
    let state = "x='a b'; export E=$'line\nline'; unset USER; l=(1 '2 3'); f() { echo \"f $x\"; }; shopt -s nullglob; cd d; (exit 3)";
    stage.fails("bash", json!({"command": state}), "Command exited with code 3");
    let command = "f; echo \"$E\" ${USER-none} \"${l[1]}\" none*; ls; x=changed; cd ..; echo $MINE";
    stage.ok(
        "bash",
        json!({"command": command, "background": true, "env": {"MINE": "m", "E": "e's"}}),
        "Started job 1.",
    );
    let (text, error) = stage.call("job", json!({"action": "wait", "id": "1"}));
    assert!(!error && text.starts_with("f a b\ne's none 2 3\nx\nm\n[Job 1 is done after "), "{text}");
    // The shell of the session is unchanged, including its last exit code.
    stage.ok("bash", json!({"command": "echo $? $x $E; ls"}), "3 a b line line\nx");
    stage.ok("bash", json!({"command": "cd .. && pwd", "background": true}), "Started job 2.");
    let (text, _) = stage.call("job", json!({"action": "wait", "id": "2"}));
    assert!(text.starts_with(&format!("{}\n", stage.cwd().display())), "{text}");
}

fn jobs_are_listed_read_and_cancelled() {
    let stage = with_jobs();
    stage.ok("job", json!({"action": "list"}), "No jobs.");
    stage.ok("job", json!({"action": "wait"}), "No jobs.");
    stage.fails("job", json!({"action": "output", "id": "7"}), "No job 7. Known: none");
    let command = "echo begun; echo $$ > pid; sleep 1000";
    stage.ok("bash", json!({"command": command, "background": true}), "Started job 1.");
    let pid = process(&stage, "pid");
    wait(|| stage.call("job", json!({"action": "output"})).0.starts_with("begun\n[Job 1 has been running for "));
    let (text, _) = stage.call("job", json!({"action": "wait", "timeout": 0}));
    assert!(text.contains("[Job 1 has been running"), "{text}");
    let output = stage.output("job", json!({"action": "cancel", "id": 1}), CancelToken::never());
    let text = text_of(&output.content);
    assert!(text.starts_with("begun\n[Job 1 was cancelled after "), "{text}");
    assert_eq!(output.details.unwrap()["state"], "cancelled");
    assert!(!is_alive(&pid));
    stage.ok("bash", json!({"command": "exit 5", "background": true, "timeout": 100}), "Started job 2.");
    let (text, _) = stage.call("job", json!({"action": "wait"}));
    assert!(
        text.starts_with("[Job 2 failed after ") && text.ends_with(" s (Command exited with code 5): exit 5]"),
        "{text}"
    );
    stage.fails("job", json!({"action": "output"}), "Choose a job by its id: 1, 2");
    let (text, _) = stage.call("job", json!({"action": "list"}));
    assert!(text.starts_with("Job 1 was cancelled") && text.contains("\nJob 2 failed"), "{text}");
    stage.ok("bash", json!({"command": "sleep 1000", "background": true, "timeout": 1}), "Started job 3.");
    let (text, _) = stage.call("job", json!({"action": "wait", "id": "3"}));
    assert!(text.contains("(Command timed out after 1 seconds)"), "{text}");
}

fn the_session_is_notified_of_jobs() {
    let stage = with_jobs();
    let told = |id: &str, state| Notice::Job { id: id.into(), state, follow_up: None };
    stage.ok("bash", json!({"command": "seq 1 100; false", "background": true}), "Started job 1.");
    assert_eq!(stage.notice(), told("1", "running"));
    let Notice::Job { id, state: "failed", follow_up: Some(text) } = stage.notice() else { panic!("no end") };
    assert!(id == "1" && text.starts_with("Job 1 failed after "), "{text}");
    assert!(text.contains("\nThe end of its output:\n61\n") && text.ends_with("\n100"), "{text}");
    // Results that the model has already seen are not reported again.
    stage.ok("bash", json!({"command": "true", "background": true}), "Started job 2.");
    stage.call("job", json!({"action": "wait", "id": "2"}));
    assert_eq!((stage.notice(), stage.notice()), (told("2", "running"), told("2", "done")));
    stage.ok("bash", json!({"command": "sleep 1000", "background": true}), "Started job 3.");
    stage.call("job", json!({"action": "cancel"}));
    assert_eq!((stage.notice(), stage.notice()), (told("3", "running"), told("3", "cancelled")));
}

fn jobs_are_limited_and_end_with_the_session() {
    let stage = with_jobs();
    let mut pids = Vec::new();
    for n in 1..=16 {
        let command = format!("trap '' TERM HUP; setsid sh -c 'echo $$ > pid{n}; exec sleep 1000' & wait");
        stage.ok("bash", json!({"command": command, "background": true}), &format!("Started job {n}."));
        pids.push(process(&stage, &format!("pid{n}")));
    }
    let full = "Cannot start a job: 16 are running. Wait for one, or cancel one with the job tool.";
    stage.fails("bash", json!({"command": "true", "background": true}), full);
    assert!(pids.iter().all(|pid| is_alive(pid)));
    stage.host.close();
    assert!(!pids.iter().any(|pid| is_alive(pid)));
    let over = "Cannot start a job: the session has ended.";
    stage.fails("bash", json!({"command": "true", "background": true}), over);
}

fn a_long_command_becomes_a_job() {
    let stage = Stage::with(Settings { jobs: true, auto_background_ms: 3_000, ..Settings::default() });
    stage.put("d/x", "");
    stage.ok("bash", json!({"command": "v=kept; cd d"}), "(no output)");
    let command = "echo a; v=lost; while [ ! -e ../go ]; do sleep 0.01; done; echo b";
    let (text, error) = stage.call("bash", json!({"command": command}));
    let expect = "a\n[Still running after 3 s: it continues as job 1. The next command runs in a new shell.]";
    assert_eq!((text.as_str(), error), (expect, false));
    // The new shell has the state from before that command.
    stage.ok("bash", json!({"command": "echo $v; ls; touch ../go"}), "kept\nx");
    let (text, _) = stage.call("job", json!({"action": "wait"}));
    assert!(text.starts_with("a\nb\n[Job 1 is done after "), "{text}");
}

fn an_abort_does_not_end_a_command_that_became_a_job() {
    let stage = Stage::with(Settings { jobs: true, auto_background_ms: 1, ..Settings::default() });
    let (cancel_handle, cancel) = CancelHandle::new();
    let output = stage.output("bash", json!({"command": "sleep 1000"}), cancel);
    assert_eq!(output.details.unwrap()["jobId"], "1");
    cancel_handle.cancel();
    let (text, _) = stage.call("job", json!({"action": "wait", "timeout": 0.1}));
    assert!(text.starts_with("[Job 1 has been running"), "{text}");
}

fn without_the_setting_there_are_no_jobs() {
    let stage = Stage::new();
    assert!(stage.tools.iter().all(|tool| tool.name() != "job"));
    let (text, error) = stage.call("bash", json!({"command": "true", "background": true}));
    assert!(error && text.contains("background"), "{text}");
}

fn idle_shells_are_closed() {
    let shells = Arc::new(Shells::limited(8, Duration::from_millis(30)));
    let stage = Stage::changed(|options| options.shells = Arc::clone(&shells));
    stage.ok("bash", json!({"command": "v=kept; mkdir d; cd d; echo $$ > pid"}), "(no output)");
    let first = process(&stage, "d/pid");
    wait(|| !is_alive(&first));
    stage.ok("bash", json!({"command": "echo $v; ls"}), "kept\npid");
    // A shell with a background process is in use.
    stage.ok("bash", json!({"command": "sleep 1000 & echo $! > sleeper; echo $$ > pid"}), "(no output)");
    let (shell, sleeper) = (process(&stage, "d/pid"), process(&stage, "d/sleeper"));
    // When a shell that was used later has been closed for idleness, this one would have been closed too.
    let later = Stage::changed(|options| options.shells = Arc::clone(&shells));
    later.ok("bash", json!({"command": "echo $$ > pid"}), "(no output)");
    let idle = process(&later, "pid");
    wait(|| !is_alive(&idle));
    assert!(is_alive(&shell) && is_alive(&sleeper));
    stage.ok("bash", json!({"command": "kill %1; wait"}), "(no output)");
    wait(|| !is_alive(&shell));
}

fn shells_beyond_the_limit_are_closed() {
    let shells = Arc::new(Shells::limited(2, Duration::from_secs(1000)));
    let stages: Vec<Stage> = (0..3).map(|_| Stage::changed(|options| options.shells = Arc::clone(&shells))).collect();
    let pids: Vec<String> = stages
        .iter()
        .map(|stage| {
            stage.ok("bash", json!({"command": "v=kept; echo $$ > pid"}), "(no output)");
            process(stage, "pid")
        })
        .collect();
    let alive: Vec<bool> = pids.iter().map(|pid| is_alive(pid)).collect();
    assert_eq!(alive, [false, true, true]);
    stages[0].ok("bash", json!({"command": "echo $v"}), "kept");
    assert!(!is_alive(&pids[1]) && is_alive(&pids[2]));
}

fn variables_and_the_path_of_bash_come_from_the_settings() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let bash = folder.path().join("bash");
    std::fs::write(&bash, "#!/bin/sh\nOWN=yes exec /bin/bash \"$@\"\n").unwrap();
    std::fs::set_permissions(&bash, std::fs::Permissions::from_mode(0o755)).unwrap();
    let env = vec![("SET".to_string(), "by user".to_string())];
    let stage = Stage::with(Settings { bash: Some(bash), env, ..Settings::default() });
    stage.ok("bash", json!({"command": "echo $OWN $SET"}), "yes by user");
    let stage = Stage::with(Settings { bash_timeout_seconds: 1, ..Settings::default() });
    let (text, _) = stage.call("bash", json!({"command": "sleep 1000"}));
    assert!(text.contains("Command timed out after 1 seconds"), "{text}");
    let stage = Stage::with(Settings { bash: Some("/no/bash".into()), ..Settings::default() });
    let none = "Failed to initialize shell: no bash of version 4.4 or later at /no/bash";
    stage.fails("bash", json!({"command": "true"}), none);
}

/// A simulated user who types a line, or presses Escape, as soon as something is printed.
#[derive(Default)]
struct Typist {
    session: Mutex<Option<PtySession>>,
    seen: Mutex<String>,
    key: &'static str,
}

impl Console for Typist {
    fn open(&self, _command: &str, session: &PtySession) -> (u32, u32) {
        *self.session.lock().unwrap() = Some(session.clone());
        (100, 30)
    }

    fn show(&self, chunk: &str) {
        self.seen.lock().unwrap().push_str(chunk);
        let session = self.session.lock().unwrap();
        match self.key {
            "esc" => session.as_ref().unwrap().kill().unwrap(),
            line => session.as_ref().unwrap().write(line.as_bytes()).unwrap(),
        }
    }

    fn close(&self) {
        *self.session.lock().unwrap() = None;
    }
}

fn commands_with_pty_run_in_a_terminal() {
    let console = Arc::new(Typist { key: "typed\n", ..Typist::default() });
    let stage = Stage::changed(|options| options.console = Some(Arc::clone(&console) as Arc<dyn Console>));
    stage.ok("bash", json!({"command": "mkdir d; cd d; v=kept"}), "(no output)");
    let command = "stty size; read -r line; echo \"$line $v $PAGER $CI ${MY_API_KEY-none}\"; pwd; [ -t 0 ]";
    let (text, error) = stage.call("bash", json!({"command": command, "pty": true}));
    assert!(!error && text.starts_with("30 100\n"), "{text}");
    let expect = format!("typed kept cat 1 none\n{}/d", stage.cwd().display());
    assert!(text.contains(&expect), "{text}");
    assert!(console.seen.lock().unwrap().contains("30 100\r\n") && console.session.lock().unwrap().is_none());
    stage.fails("bash", json!({"command": "exit 3", "pty": true}), "Command exited with code 3");
    stage.fails("bash", json!({"command": "true", "pty": true, "cwd": "no"}), &{
        format!("Working directory does not exist: {}/no", stage.cwd().display())
    });
    let console = Arc::new(Typist { key: "esc", ..Typist::default() });
    let stage = Stage::changed(|options| options.console = Some(console));
    let (text, error) = stage.call("bash", json!({"command": "echo begun; sleep 1000", "pty": true}));
    assert!(error && text.starts_with("begun\n") && text.ends_with("Command aborted"), "{text}");
    stage.ok("bash", json!({"command": "[ -t 0 ] || echo no terminal"}), "no terminal");
    // Without a console, nobody could see the terminal.
    Stage::new().ok("bash", json!({"command": "[ -t 0 ] || echo no terminal", "pty": true}), "no terminal");
}

fn a_finished_todo_list_is_cleared() {
    let list = json!({"op": "init", "list": [{"phase": "p", "items": ["a", "b"]}]});
    let stage = Stage::with(Settings { todo_auto_clear_seconds: 0, ..Settings::default() });
    stage.call("todo", json!({"ops": [list, {"op": "done", "task": "a"}]}));
    let (text, _) = stage.call("todo", json!({"ops": [{"op": "done"}]}));
    assert_eq!(text, "0 open of 2\np\n  [x] a\n  [x] b");
    assert_eq!(stage.notice(), Notice::TodoCleared);
    let (text, _) = stage.call("todo", json!({"ops": [{"op": "append", "phase": "q", "items": ["c"]}]}));
    assert_eq!(text, "1 open of 1, phase: q\nq\n  [>] c");
    let stage = Stage::with(Settings { todo_auto_clear_seconds: -1, ..Settings::default() });
    stage.call("todo", json!({"ops": [list, {"op": "done"}]}));
    let (text, _) = stage.call("todo", json!({"ops": [{"op": "append", "phase": "q", "items": ["c"]}]}));
    assert_eq!(text, "1 open of 3, phase: q\np\n  [x] a\n  [x] b\nq\n  [>] c");
}
