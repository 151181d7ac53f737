//! Tests of process trees on Windows. The test program starts itself instead of a bash, so that pipes, job objects,
//! exit codes and errors are tested without the additional processes of a bash on Windows.

use std::io::{Read, Write};
use std::ops::ControlFlow;
use std::sync::Arc;

use sinew_base::{CancelHandle, CancelToken, ErrorCode, Result};
use sinew_process::Process;
use sinew_shell::output::{Chunk, Source};
use sinew_shell::{
    Engine, InputPipe, RunOptions, RunResult, Shell, ShellOptions, StreamOptions, Supervisor, execute_shell,
    execute_streams,
};

/// What a process that this program starts does, by the value of a variable.
const ROLE: &str = "SINEW_TEST_ROLE";

fn start(role: &str, streams: StreamOptions, cancel: &CancelToken, mut chunk: impl FnMut(Chunk)) -> Result<RunResult> {
    let program = std::env::current_exe().unwrap().to_str().unwrap().to_string();
    let argv =
        Some([&program, "--exact", "direct_windows::a_process", "--nocapture"].map(ToString::to_string).to_vec());
    let shell = ShellOptions { env: std::env::vars_os().collect(), ..ShellOptions::default() };
    let run = RunOptions { env: vec![(ROLE.into(), role.into())], ..RunOptions::default() };
    execute_streams(&Supervisor::new(""), &shell, &run, &StreamOptions { argv, ..streams }, cancel, &mut |piece| {
        chunk(piece);
        ControlFlow::Continue(())
    })
}

/// Returns the numbers after `child=` in a text.
fn children_in(text: &str) -> Vec<u32> {
    text.split("child=").skip(1).filter_map(|rest| rest.split_once(';')?.0.parse().ok()).collect()
}

#[test]
fn a_process() {
    let role = std::env::var(ROLE).unwrap_or_default();
    let (mut out, mut errors) = (std::io::stdout(), std::io::stderr());
    match role.as_str() {
        "" => return,
        "streams" => {
            out.write_all(&[b'o'; 300_000]).unwrap();
            errors.write_all(&[b'e'; 200_000]).unwrap();
        }
        "count" => {
            let mut bytes = Vec::new();
            std::io::stdin().read_to_end(&mut bytes).unwrap();
            write!(out, "count={};", bytes.len()).unwrap();
        }
        // `hold` waits for its child, `leave` does not, `sleep` is the child; `top` has `hold` as its child.
        "top" | "hold" | "leave" => {
            let mut command = std::process::Command::new(std::env::current_exe().unwrap());
            let of_child = if role == "top" { "hold" } else { "sleep" };
            let mut child = command
                .args(["--exact", "direct_windows::a_process", "--nocapture"])
                .env(ROLE, of_child)
                .spawn()
                .unwrap();
            write!(out, "child={};", child.id()).unwrap();
            out.flush().unwrap();
            if role != "leave" {
                child.wait().unwrap();
            }
        }
        _ => loop {
            std::thread::park();
        },
    }
    out.flush().unwrap();
    std::process::exit(7);
}

#[test]
fn delivers_the_complete_output_and_exit_code() {
    let (mut output, mut errors) = (0, 0);
    let streams = StreamOptions { separate: true, ..StreamOptions::default() };
    let result = start("streams", streams, &CancelToken::never(), |chunk| {
        let letters = |letter: char, chunk: Chunk| chunk.into_text().matches(letter).count();
        match chunk.source {
            // The test harness also prints a few words.
            Source::Stdout => output += letters('o', chunk),
            Source::Stderr => errors += letters('e', chunk),
        }
    });
    assert_eq!((result.unwrap().exit_code, output >= 300_000, errors), (Some(7), true, 200_000));
}

#[test]
fn writes_input_while_the_process_runs() {
    let pipe = Arc::new(InputPipe::new().unwrap());
    let streams = StreamOptions { input: Some(Arc::clone(&pipe)), ..StreamOptions::default() };
    let writer = std::thread::spawn(move || {
        let taken = (0..10).all(|_| pipe.write(&[b'x'; 100_000], &CancelToken::never()).unwrap());
        pipe.close();
        taken
    });
    let mut text = String::new();
    start("count", streams, &CancelToken::never(), |chunk| text.push_str(&chunk.into_text())).unwrap();
    assert!(writer.join().unwrap() && text.contains("count=1000000;"), "{text}");
}

#[test]
fn descendants_end_when_a_process_is_stopped_or_ends() {
    for (role, children, code) in [("hold", 1, None), ("top", 2, None), ("leave", 1, Some(7))] {
        let (cancel_handle, cancel) = CancelHandle::new();
        let mut text = String::new();
        let result = start(role, StreamOptions::default(), &cancel, |chunk| {
            text.push_str(&chunk.into_text());
            if code.is_none() && children_in(&text).len() == children {
                cancel_handle.cancel();
            }
        });
        let result = result.unwrap();
        assert_eq!((result.exit_code, result.cancelled), (code, code.is_none()), "{text}");
        assert_eq!(children_in(&text).len(), children, "{text}");
        assert!(children_in(&text).into_iter().all(|pid| Process::from_pid(pid).is_none()), "{text}");
    }
}

#[test]
fn without_a_bash_the_error_names_git_for_windows() {
    for engine in [Engine::Auto, Engine::Bash, Engine::Brush] {
        let options = ShellOptions { engine, ..ShellOptions::default() };
        let run = RunOptions { command: "echo".into(), ..RunOptions::default() };
        let once =
            execute_shell(&Supervisor::new(""), &options, &run, &CancelToken::never(), &mut |_| ControlFlow::Break(()));
        let lasting = Shell::new(Supervisor::new(""), options).output("echo");
        for error in [once.unwrap_err(), lasting.unwrap_err()] {
            assert_eq!(error.code(), ErrorCode::Unsupported, "{error}");
            let way_out = if engine == Engine::Brush { "\"bash\"" } else { "install Git for Windows" };
            assert!(error.message().contains(way_out), "{error}");
        }
    }
}
