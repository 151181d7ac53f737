//! Tests of programs on terminals without a shell: their process ids, bytes, and paused output.

use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use sinew_base::{CancelToken, ErrorCode, Result};
use sinew_process::Process;
use sinew_shell::output::{Chunk, ChunkData, Encoding};
use sinew_shell::pty::{PtyEnd, PtyOptions, PtySession};

const LONG: Duration = Duration::from_secs(120);

fn alone(argv: &[&str]) -> PtyOptions {
    let path = std::env::var_os("PATH").unwrap();
    let argv = argv.iter().map(|arg| (*arg).to_string()).collect();
    PtyOptions { env: vec![("PATH".into(), path)], argv: Some(argv), ..PtyOptions::new("") }
}

fn supervised(argv: &[&str]) -> PtyOptions {
    PtyOptions { supervisor: Some(env!("CARGO_BIN_EXE_sinew-shell-host").into()), ..alone(argv) }
}

fn both(test: impl Fn(&dyn Fn(&[&str]) -> PtyOptions)) {
    test(&alone);
    test(&supervised);
}

fn start(options: PtyOptions) -> (PtySession, Receiver<Chunk>, Receiver<Result<PtyEnd>>) {
    let (session, (send, chunks), (send_end, end)) = (PtySession::new(), channel(), channel());
    let on_chunk = move |chunk| match send.send(chunk) {
        Ok(()) => ControlFlow::Continue(()),
        Err(_) => ControlFlow::Break(()),
    };
    session
        .start_chunks(options, &CancelToken::never(), on_chunk, move |result| send_end.send(result).unwrap())
        .unwrap();
    (session, chunks, end)
}

fn text(chunks: &Receiver<Chunk>) -> String {
    chunks.try_iter().map(Chunk::into_text).collect()
}

#[test]
fn passes_arguments_unchanged() {
    both(|options| {
        let (_, chunks, end) = start(options(&["printf", "%s|", "a b", "$HOME", "it's", ""]));
        assert_eq!(end.recv_timeout(LONG).unwrap().unwrap().exit_code, Some(0));
        assert_eq!(text(&chunks), "a b|$HOME|it's||");
    });
}

#[test]
fn a_program_that_ends_at_once_is_reported_as_started() {
    both(|options| {
        let (session, _, end) = start(options(&["true"]));
        let wait = session.terminal_waiter();
        assert_eq!(end.recv_timeout(LONG).unwrap().unwrap().exit_code, Some(0));
        assert!(wait(LONG).is_some());
        assert!(session.terminal_waiter()(LONG).is_none(), "asked after its end");
    });
}

#[test]
fn a_shell_can_skip_its_login_files() {
    both(|options| {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join(".profile"), "echo login").unwrap();
        for (login, shown) in [(true, "login\r\nhere\r\n"), (false, "here\r\n")] {
            let mut options = PtyOptions { argv: None, login, ..options(&[]) };
            options.command = "echo here".to_string();
            options.env.push(("HOME".into(), home.path().into()));
            let (_, chunks, end) = start(options);
            end.recv_timeout(LONG).unwrap().unwrap();
            assert_eq!(text(&chunks), shown);
        }
    });
}

#[test]
fn the_process_id_is_known_once_the_program_runs() {
    both(|options| {
        let (session, chunks, end) = start(options(&["sh", "-c", "echo $$; exec sleep 1000"]));
        let terminal = session.wait_terminal(LONG).unwrap();
        assert_eq!(chunks.recv_timeout(LONG).unwrap().into_text().trim(), terminal.pid.to_string());
        assert!(terminal.name.starts_with("/dev/pts/"), "{}", terminal.name);
        assert!(Process::from_pid(terminal.pid).is_some());
        session.kill().unwrap();
        assert!(end.recv_timeout(LONG).unwrap().unwrap().cancelled);
        assert_eq!(session.terminal(), None);
    });
}

#[test]
fn a_program_that_cannot_be_started_has_no_process_id() {
    both(|options| {
        for argv in [["/no/such"].as_slice(), &["no-such-program"], &[]] {
            let (session, _chunks, end) = start(options(argv));
            assert_eq!(session.wait_terminal(LONG), None, "{argv:?}");
            let code = end.recv_timeout(LONG).unwrap().unwrap_err().code();
            assert_eq!(code, if argv.is_empty() { ErrorCode::InvalidArgument } else { ErrorCode::NotFound });
        }
    });
}

#[test]
fn reports_the_signal_that_ended_a_program() {
    both(|options| {
        let (_, _chunks, end) = start(options(&["sh", "-c", "kill -15 $$"]));
        let expect = PtyEnd { exit_code: Some(143), signal: Some(15), ..PtyEnd::default() };
        assert_eq!(end.recv_timeout(LONG).unwrap(), Ok(expect));
    });
}

#[test]
fn delivers_bytes_unchanged() {
    both(|options| {
        let options = PtyOptions { encoding: Encoding::Bytes, ..options(&["printf", r"\377\303"]) };
        let (_, chunks, end) = start(options);
        end.recv_timeout(LONG).unwrap().unwrap();
        let bytes: Vec<u8> = chunks
            .try_iter()
            .flat_map(|chunk| match chunk.data {
                ChunkData::Bytes(bytes) => bytes,
                ChunkData::Text(text) => panic!("text: {text:?}"),
            })
            .collect();
        assert_eq!(bytes, b"\xff\xc3");
    });
}

#[test]
fn output_of_a_paused_session_arrives_after_the_pause() {
    both(|options| {
        let (session, chunks, end) = start(options(&["sh", "-c", "read a; echo first $a; read b; echo second $b"]));
        session.pause(true).unwrap();
        // Typed during the pause: the program reads it, prints and ends, but the output is not delivered yet.
        session.write(b"1\n2\n").unwrap();
        let pid = session.wait_terminal(LONG).unwrap().pid;
        if let Some(process) = Process::from_pid(pid) {
            process.wait_for_exit(&CancelToken::never()).unwrap();
        }
        assert_eq!((text(&chunks), end.try_recv().is_err()), (String::new(), true));
        session.pause(false).unwrap();
        assert_eq!(end.recv_timeout(LONG).unwrap().unwrap().exit_code, Some(0));
        let shown = text(&chunks);
        assert!(shown.contains("first 1\r\n") && shown.contains("second 2\r\n"), "{shown:?}");
    });
}

#[test]
fn a_paused_session_can_be_killed() {
    both(|options| {
        for over in [false, true] {
            let script = if over { "echo done" } else { "echo up; exec sleep 1000" };
            let (session, chunks, end) = start(options(&["sh", "-c", script]));
            session.pause(true).unwrap();
            let pid = session.wait_terminal(LONG).unwrap().pid;
            if let Some(process) = Process::from_pid(pid).filter(|_| over) {
                process.wait_for_exit(&CancelToken::never()).unwrap();
            }
            session.kill().unwrap();
            assert!(end.recv_timeout(LONG).unwrap().is_ok());
            drop(chunks);
        }
    });
}
