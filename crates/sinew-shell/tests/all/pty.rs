//! Tests with real programs on real pseudo-terminals, with and without the supervisor.

use std::ffi::OsString;
use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use sinew_base::{CancelHandle, CancelToken, ErrorCode, Result};
use sinew_process::Process;
use sinew_shell::pty::{INPUT_LIMIT, PtyEnd, PtyOptions, PtySession};

const LONG: Duration = Duration::from_secs(120);

const CANCELLED: PtyEnd = PtyEnd { exit_code: None, signal: None, cancelled: true, timed_out: false };
const TIMED_OUT: PtyEnd = PtyEnd { exit_code: None, signal: None, cancelled: false, timed_out: true };

fn options(command: &str) -> PtyOptions {
    let path = std::env::var_os("PATH").unwrap();
    let home = OsString::from("/nonexistent");
    let env = [("PATH", path), ("TERM", "xterm".into()), ("HOME", home), ("LANG", "C.UTF-8".into())];
    PtyOptions { env: env.map(|(name, value)| (name.into(), value)).to_vec(), ..PtyOptions::new(command) }
}

fn supervised(command: &str) -> PtyOptions {
    PtyOptions { supervisor: Some(env!("CARGO_BIN_EXE_sinew-shell-host").into()), ..options(command) }
}

/// Both variants. Every test runs with each of them where possible.
fn both(test: impl Fn(&dyn Fn(&str) -> PtyOptions)) {
    test(&options);
    test(&supervised);
}

/// A running session, and what it has printed so far.
struct TestPty {
    session: PtySession,
    chunks: Receiver<String>,
    end: Receiver<Result<PtyEnd>>,
    text: String,
}

impl TestPty {
    fn start(options: PtyOptions) -> TestPty {
        TestPty::with(options, &CancelToken::never())
    }

    fn with(options: PtyOptions, cancel: &CancelToken) -> TestPty {
        let session = PtySession::new();
        let ((send, chunks), (send_end, end)) = (channel(), channel());
        let on_chunk = move |text| match send.send(text) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        };
        session.start(options, cancel, on_chunk, move |end| send_end.send(end).unwrap()).unwrap();
        TestPty { session, chunks, end, text: String::new() }
    }

    /// Waits until the output contains `word`, and discards everything up to its end.
    #[track_caller]
    fn expect(&mut self, word: &str) -> &mut TestPty {
        self.before(word);
        self
    }

    /// Waits for `word`, and returns the output before it.
    #[track_caller]
    fn before(&mut self, word: &str) -> String {
        let until = Instant::now() + LONG;
        loop {
            if let Some(at) = self.text.find(word) {
                let before = self.text[..at].to_string();
                self.text.drain(..at + word.len());
                return before;
            }
            match self.chunks.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(text) => self.text += &text,
                Err(error) => panic!("no {word:?} in the output ({error}): {:?}", self.text),
            }
        }
    }

    /// Returns the number between `mark` and the end of its line.
    #[track_caller]
    fn number(&mut self, mark: &str) -> u32 {
        self.expect(mark).before("\r\n").parse().unwrap()
    }

    fn send(&mut self, keys: &str) -> &mut TestPty {
        self.session.write(keys.as_bytes()).unwrap();
        self
    }

    /// Waits for the end. The output until then is in `text`.
    #[track_caller]
    fn end(&mut self) -> Result<PtyEnd> {
        let end = self.end.recv_timeout(LONG).expect("the session ends");
        self.text.extend(self.chunks.try_iter());
        end
    }

    #[track_caller]
    fn exits(&mut self, code: i32) {
        let expect = PtyEnd { exit_code: Some(code), signal: None, cancelled: false, timed_out: false };
        let end = self.end().map(|end| PtyEnd { signal: None, ..end });
        assert_eq!(end, Ok(expect), "{:?}", self.text);
    }
}

/// A program that a test needs. Tests install nothing; the scripts of the project do that.
#[track_caller]
fn needs(program: &str) {
    let path = std::env::var_os("PATH").unwrap();
    let found = std::env::split_paths(&path).any(|dir| dir.join(program).is_file());
    assert!(found, "{program:?} is not on PATH; install it to run this test");
}

/// Waits until the process has ended.
#[track_caller]
fn gone(pid: u32) {
    if let Some(process) = Process::from_pid(pid) {
        let over = process.wait_for_exit(&CancelToken::never().with_timeout(LONG));
        assert!(over.is_ok(), "process {pid} is still there");
    }
}

#[test]
fn delivers_the_last_bytes_before_the_exit() {
    both(|options| {
        for _ in 0..20 {
            let mut pty = TestPty::start(options("printf '%0100000d' 7; printf END; exit 3"));
            pty.exits(3);
            assert!(pty.text.len() == 100_003 && pty.text.ends_with("07END"), "{} bytes", pty.text.len());
        }
    });
}

#[test]
fn the_exit_code_after_a_signal_is_that_of_a_shell() {
    both(|options| TestPty::start(options("kill -9 $$")).exits(137));
}

#[test]
fn the_terminal_has_the_requested_size() {
    both(|options| {
        let mut pty = TestPty::start(PtyOptions { cols: 83, rows: 31, ..options("tty; stty size; read x; stty size") });
        pty.expect("/dev/pts/").expect("31 83\r\n");
        pty.session.resize(65_535, 1).unwrap();
        assert_eq!(pty.session.size(), Some((65_535, 1)));
        pty.send("\n").expect("1 65535\r\n");
        pty.exits(0);
    });
}

/// The caller's PATH finds the programs of its virtual environment.
#[test]
fn login_files_do_not_replace_what_the_caller_names() {
    both(|start| {
        let home = tempfile::tempdir().unwrap();
        let profile = "export PATH=/nowhere NAMED=profile REMOVED=profile ADDED='from profile'; greet() { echo hi; }";
        std::fs::write(home.path().join(".profile"), profile).unwrap();
        std::fs::write(home.path().join(".zprofile"), profile).unwrap();
        for shell in ["sh", "bash", "dash", "zsh"] {
            needs(shell);
            let mut options = start("echo \"<$PATH|$NAMED|${REMOVED-unset}|$ADDED>\"; env | grep -c __sinew; greet");
            let path = format!("{}:/usr/bin:/bin", home.path().display());
            for (name, value) in [("HOME", home.path().to_str().unwrap()), ("PATH", &path), ("NAMED", "it's \"mine\"")]
            {
                options.env.push((name.into(), value.into()));
            }
            options.kept.extend(["PATH", "NAMED", "REMOVED", "not a name"].map(String::from));
            options.shell = shell.to_string();
            let mut pty = TestPty::start(options);
            pty.expect(&format!("<{path}|it's \"mine\"|unset|from profile>\r\n0\r\nhi\r\n"));
            pty.exits(0);
        }
    });
}

#[test]
fn a_variable_that_a_login_file_makes_read_only_keeps_its_value() {
    both(|start| {
        let home = tempfile::tempdir().unwrap();
        for file in [".profile", ".zprofile"] {
            std::fs::write(home.path().join(file), "RO=profile; GONE=profile; readonly RO GONE").unwrap();
        }
        for shell in ["sh", "bash", "dash", "zsh"] {
            needs(shell);
            let mut options = start("echo \"<$RO|$GONE|$OTHER>\"");
            for (name, value) in [("HOME", home.path().to_str().unwrap()), ("RO", "mine"), ("OTHER", "set")] {
                options.env.push((name.into(), value.into()));
            }
            options.kept.extend(["RO", "GONE", "OTHER"].map(String::from));
            options.shell = shell.to_string();
            TestPty::start(options).expect("<profile|profile|set>").exits(0);
        }
    });
}

#[test]
fn a_kill_hangs_up_before_it_terminates() {
    let command = "trap 'echo got hup' HUP; trap 'echo got term; exit' TERM; echo ready; while :; do read line; done";
    let mut pty = TestPty::start(supervised(command));
    pty.expect("ready");
    pty.session.kill().unwrap();
    pty.expect("got hup\r\n").expect("got term\r\n");
}

#[test]
fn a_resize_signals_the_program() {
    both(|options| {
        let command = "trap 'stty size; exit 0' WINCH; echo ready; while :; do sleep 1000 & wait $!; done";
        let mut pty = TestPty::start(options(command));
        pty.expect("ready");
        pty.session.resize(100, 50).unwrap();
        pty.expect("50 100");
        pty.exits(0);
    });
}

#[test]
fn input_and_resizes_right_after_the_start_reach_the_program() {
    both(|options| {
        let mut pty = TestPty::start(options("read line; echo \"got:$line\"; stty size"));
        pty.session.resize(44, 11).unwrap();
        pty.send("early\n").expect("got:early").expect("11 44");
        pty.exits(0);
    });
}

#[test]
fn the_erase_key_removes_a_complete_character() {
    both(|options| {
        let mut pty = TestPty::start(options("read line; printf 'got:%s:' \"$line\""));
        pty.send("aé\x7fb\n").expect("got:ab:");
        pty.exits(0);
    });
}

#[test]
fn a_password_prompt_does_not_show_what_is_typed() {
    both(|options| {
        needs("bash");
        let command = "read -s -p 'Password: ' word; echo; echo \"length ${#word}\"";
        let mut pty = TestPty::start(PtyOptions { shell: "bash".into(), ..options(command) });
        // The prompt is printed after the echo is off.
        pty.expect("Password: ").send("hidden!\n");
        let shown = pty.before("length 7");
        assert!(!shown.contains("hidden"), "{shown:?}");
        pty.exits(0);
    });
}

#[test]
fn an_editor_writes_a_file() {
    both(|options| {
        needs("vim");
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("note.txt");
        let mut pty = TestPty::start(PtyOptions { cwd: Some(dir.path().into()), ..options("vim -u NONE -n note.txt") });
        pty.expect("note.txt").send("ihällo 漢字").expect("漢字").send("\x1b:wq\r");
        pty.exits(0);
        assert_eq!(std::fs::read_to_string(file).unwrap(), "hällo 漢字\n");
    });
}

#[test]
fn a_pager_scrolls_and_quits() {
    both(|options| {
        needs("less");
        let mut pty = TestPty::start(PtyOptions { rows: 10, ..options("seq 1 1000 | sed 's/^/row /' | less") });
        pty.expect("row 9").send("G").expect("row 1000").send("q");
        pty.exits(0);
    });
}

#[test]
fn a_full_screen_monitor_draws_and_quits() {
    both(|options| {
        needs("top");
        let mut pty = TestPty::start(options("top -d 1000"));
        pty.expect("PID").send("q");
        pty.exits(0);
    });
}

#[test]
fn an_interpreter_answers_line_by_line() {
    both(|options| {
        needs("python3");
        let mut pty = TestPty::start(options("python3 -q -i -c 'import sys; sys.ps1 = \"(ask) \"'"));
        pty.expect("(ask) ").send("6 * 7\n").expect("42").expect("(ask) ").send("raise SystemExit(9)\n");
        pty.exits(9);
    });
}

#[test]
fn interrupts_reach_the_foreground_program() {
    both(|options| {
        let mut pty = TestPty::start(options("trap 'echo caught; exit 4' INT; echo ready; while :; do sleep 1; done"));
        pty.expect("ready").send("\x03").expect("caught");
        pty.exits(4);
    });
}

#[test]
fn delivers_fifty_megabytes_completely() {
    both(|options| {
        let (send, receive) = channel();
        let mut total = 0;
        let command = "stty -opost; head -c 52428800 /dev/zero | tr '\\0' x";
        let end = PtySession::new().run(options(command), &CancelToken::never(), move |text| {
            total += text.len();
            send.send(total).unwrap();
            ControlFlow::Continue(())
        });
        assert_eq!(end.unwrap().exit_code, Some(0));
        assert_eq!(receive.try_iter().last(), Some(52_428_800));
    });
}

// Three processes, one of them in its own session; the first ignores TERM.
const TREE: &str = "trap '' TERM HUP; echo a=$$; setsid sh -c 'echo b=$$; exec sleep 1000' & \
                    sleep 1000 & echo c=$!; wait; wait; sleep 1000";

#[test]
fn a_kill_ends_the_whole_tree_while_input_is_blocked() {
    both(|options| {
        let mut pty = TestPty::start(options(TREE));
        let first = pty.number("a=");
        // Two processes print this at the same time, so the order varies.
        pty.expect("=").expect("=");
        let tree = sinew_process::descendants(first);
        assert_eq!(tree.len(), 2);
        pty.session.write(&vec![b'x'; 1 << 20]).unwrap();
        pty.session.kill().unwrap();
        assert_eq!(pty.end(), Ok(CANCELLED));
        gone(first);
        tree.into_iter().for_each(gone);
        let error = pty.session.kill().unwrap_err();
        assert_eq!((error.code(), error.message()), (ErrorCode::InvalidState, "PTY session is not running"));
    });
}

#[test]
fn distinguishes_a_timeout_from_a_cancellation() {
    both(|options| {
        let short = CancelToken::never().with_timeout(Duration::from_millis(50));
        assert_eq!(TestPty::with(options("sleep 1000"), &short).end(), Ok(TIMED_OUT));
        let (cancel_handle, cancel) = CancelHandle::new();
        let mut pty = TestPty::with(options("echo ready; sleep 1000"), &cancel);
        pty.expect("ready");
        cancel_handle.cancel();
        assert_eq!(pty.end(), Ok(CANCELLED));
        // Cancelled before the start, so nothing is run.
        let dir = tempfile::tempdir().unwrap();
        let touch = PtyOptions { cwd: Some(dir.path().into()), ..options("touch here") };
        assert_eq!(TestPty::with(touch, &cancel).end(), Ok(CANCELLED));
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    });
}

#[test]
fn a_kill_does_not_wait_for_a_slow_callback() {
    both(|options| {
        let session = PtySession::new();
        let ((called, is_called), (go, gone_on), (send, end)) = (channel(), channel::<()>(), channel());
        let on_chunk = move |text: String| {
            // Nobody receives chunks after the first one, and that must not block.
            let _ = called.send(text);
            let _ = gone_on.recv();
            ControlFlow::Continue(())
        };
        let on_end = move |result| send.send(result).unwrap();
        session.start(options("echo =$$=; exec sleep 1000"), &CancelToken::never(), on_chunk, on_end).unwrap();
        let text = is_called.recv_timeout(LONG).unwrap();
        let pid = text.split('=').nth(1).unwrap().parse().unwrap();
        session.kill().unwrap();
        gone(pid);
        drop(go);
        assert_eq!(end.recv_timeout(LONG).unwrap(), Ok(CANCELLED));
    });
}

#[test]
fn a_callback_that_returns_break_ends_the_program() {
    both(|options| {
        let end = PtySession::new().run(options("yes"), &CancelToken::never(), |_| ControlFlow::Break(()));
        assert_eq!(end, Ok(CANCELLED));
    });
}

#[test]
fn input_beyond_the_limit_is_rejected_completely() {
    let mut pty = TestPty::start(options("echo ready; exec sleep 1000"));
    pty.expect("ready");
    pty.session.write(&vec![b'x'; INPUT_LIMIT]).unwrap();
    let before = pty.session.pending_bytes();
    assert!(before > 0);
    assert_eq!(pty.session.write(&vec![b'x'; INPUT_LIMIT]).unwrap_err().code(), ErrorCode::LimitExceeded);
    assert!(pty.session.pending_bytes() <= before);
    pty.session.kill().unwrap();
    assert_eq!((pty.end(), pty.session.pending_bytes()), (Ok(CANCELLED), 0));
}

#[test]
fn a_session_reports_whether_it_is_running() {
    let session = PtySession::new();
    let idle = "PTY session is not running";
    assert_eq!(session.write(b"x").unwrap_err().message(), idle);
    assert_eq!(session.resize(80, 24).unwrap_err().message(), idle);
    assert_eq!(session.kill().unwrap_err().message(), idle);
    let mut pty = TestPty::start(options("read x"));
    let again = pty.session.start(options("true"), &CancelToken::never(), |_| ControlFlow::Continue(()), drop);
    assert_eq!(again.unwrap_err().message(), "PTY session already running");
    pty.send("\n").exits(0);
    for _ in 0..10_000 {
        pty.session.resize(80, 24).unwrap();
    }
    assert_eq!(pty.session.write(b"x").unwrap_err().message(), idle);
    let end = pty.session.run(options("exit 5"), &CancelToken::never(), |_| ControlFlow::Continue(()));
    assert_eq!(end.unwrap().exit_code, Some(5));
}

#[test]
fn a_failed_start_names_the_program() {
    both(|options| {
        let check = |options: PtyOptions, code: ErrorCode, word: &str| {
            let error = TestPty::start(options).end().unwrap_err();
            assert_eq!(error.code(), code, "{error}");
            assert!(error.message().contains(word), "{error}");
        };
        check(PtyOptions { cwd: Some("/nope".into()), ..options("true") }, ErrorCode::NotFound, "\"/nope\"");
        check(PtyOptions { cwd: Some("/dev/null".into()), ..options("true") }, ErrorCode::InvalidArgument, "/dev/null");
        check(PtyOptions { shell: "no-such-sh".into(), ..options("true") }, ErrorCode::NotFound, "\"no-such-sh\"");
        check(PtyOptions { shell: "/no/such".into(), ..options("true") }, ErrorCode::NotFound, "\"/no/such\"");
        let argv = vec!["true".to_string(), "a".repeat(200_000)];
        check(
            PtyOptions { argv: Some(argv), ..options("") },
            ErrorCode::ArgumentsTooLong,
            "start: failed to run \"true\": Argument list too long",
        );
    });
}

#[test]
fn runs_a_script_without_an_interpreter_line() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("tool");
    crate::support::write_program(&path, "echo \"ran $1\"; exit 3\n");
    both(|options| {
        let argv = vec![path.to_str().unwrap().to_string(), "x".to_string()];
        let mut pty = TestPty::start(PtyOptions { argv: Some(argv), ..options("") });
        pty.expect("ran x").exits(3);
    });
}

#[test]
fn a_program_that_kills_its_parent_ends_only_the_session() {
    // Without the supervisor, the parent would be this test.
    let mut pty = TestPty::start(supervised("echo p=$$; kill -9 $PPID; sleep 1000"));
    let pid = pty.number("p=");
    let end = pty.end();
    assert!(end.is_err(), "{end:?}");
    gone(pid);
}

#[test]
fn background_processes_end_with_their_program() {
    let dir = tempfile::tempdir().unwrap();
    let command = "mkfifo up; (setsid sh -c 'echo b=$$; echo > up; exec sleep 1000' &) ; read x < up";
    let mut pty = TestPty::start(PtyOptions { cwd: Some(dir.path().into()), ..supervised(command) });
    let pid = pty.number("b=");
    pty.exits(0);
    assert!(Process::from_pid(pid).is_none());
}

#[test]
fn invalid_utf8_becomes_replacement_characters() {
    both(|options| {
        let mut pty = TestPty::start(options("printf 'a\\377\\346\\274b'; printf '\\346'; printf '\\274\\242'"));
        pty.exits(0);
        assert_eq!(pty.text, "a\u{FFFD}\u{FFFD}b漢");
    });
}
