// Cases that apply to every way of running a command. `../streams.rs` documents the names that each way defines.

use std::ops::ControlFlow;
use std::sync::Arc;

use sinew_base::{CancelHandle, CancelToken, ErrorCode, Result};
use sinew_shell::output::{Chunk, ChunkData, Encoding, Source};
use sinew_shell::{Engine, RunOptions, RunResult};

use crate::support::{command, options, supervisor};

fn collect(run: &RunOptions, streams: &StreamOptions, cancel: &CancelToken) -> Result<(RunResult, Vec<Chunk>)> {
    let mut chunks = Vec::new();
    let result = execute_streams(&supervisor(), &options(Engine::Auto), run, streams, cancel, &mut |chunk| {
        chunks.push(chunk);
        ControlFlow::Continue(())
    });
    result.map(|result| (result, chunks))
}

fn text_of(chunks: &[Chunk], source: Source) -> String {
    chunks.iter().filter(|chunk| chunk.source == source).cloned().map(Chunk::into_text).collect()
}

fn program(argv: &[&str]) -> StreamOptions {
    let argv = argv.iter().map(|arg| (*arg).to_string()).collect();
    StreamOptions { argv: Some(argv), separate: true, ..StreamOptions::default() }
}

#[test]
fn separates_standard_error_and_reads_both_streams_to_their_end() {
    let streams = StreamOptions { separate: true, ..StreamOptions::default() };
    let script = "for i in 1 2 3; do head -c 300000 /dev/zero | tr '\\0' o; head -c 200000 /dev/zero | tr '\\0' e >&2; done; exit 5";
    let (result, chunks) = collect(&command(script), &streams, &CancelToken::never()).unwrap();
    assert_eq!(result.exit_code, Some(5));
    assert_eq!(text_of(&chunks, Source::Stdout), "o".repeat(900_000));
    assert_eq!(text_of(&chunks, Source::Stderr), "e".repeat(600_000));
}

#[test]
fn without_a_separate_pipe_errors_keep_their_position_in_the_output() {
    let script = "echo 1; echo 2 >&2; echo 3";
    let (_, chunks) = collect(&command(script), &StreamOptions::default(), &CancelToken::never()).unwrap();
    assert_eq!(text_of(&chunks, Source::Stdout), "1\n2\n3\n");
}

#[test]
fn delivers_bytes_unchanged() {
    let streams = StreamOptions { encoding: Encoding::Bytes, ..program(&["printf", r"\377\000\303"]) };
    let (_, chunks) = collect(&command(""), &streams, &CancelToken::never()).unwrap();
    let bytes: Vec<u8> = chunks
        .into_iter()
        .flat_map(|chunk| match chunk.data {
            ChunkData::Bytes(bytes) => bytes,
            ChunkData::Text(text) => panic!("text: {text:?}"),
        })
        .collect();
    assert_eq!(bytes, b"\xff\0\xc3");
}

#[test]
fn passes_arguments_unchanged() {
    let args = ["printf", "%s|", "a b", "$HOME", "*", "it's", "", "-x\n"];
    let (result, chunks) = collect(&command(""), &program(&args), &CancelToken::never()).unwrap();
    assert_eq!((result.exit_code, text_of(&chunks, Source::Stdout)), (Some(0), "a b|$HOME|*|it's||-x\n|".into()));
}

#[test]
fn rejects_missing_and_invalid_programs() {
    let check = |argv: &[&str], code: ErrorCode, word: &str| {
        let error = collect(&command(""), &program(argv), &CancelToken::never()).unwrap_err();
        assert_eq!(error.code(), code, "{error}");
        assert!(error.message().contains(word), "{error}");
    };
    check(&["no-such-program"], ErrorCode::NotFound, "run: no program \"no-such-program\" on PATH");
    check(&["/no/such"], ErrorCode::NotFound, "run: failed to start \"/no/such\"");
    check(&["/etc"], ErrorCode::PermissionDenied, "/etc");
    check(&[], ErrorCode::InvalidArgument, "empty");
    check(&["echo", "a\0b"], ErrorCode::InvalidArgument, "NUL");
    let long = "a".repeat(200_000);
    check(&["true", &long], ErrorCode::ArgumentsTooLong, "run: failed to start \"true\": Argument list too long");
}

#[test]
fn runs_a_script_without_an_interpreter_line_like_every_shell() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("tool");
    for (text, output) in [
        ("echo ran $1 ${0##*/}\n", "ran x tool\n"),
        ("", ""),
        ("\u{feff}#!/bin/sh\necho marked 2>&1\n", "marked\n"),
        ("#!/bin/sh\necho first\n", "first\n"),
    ] {
        crate::support::write_program(&path, text);
        let by_name = StreamOptions { separate: true, ..program(&["tool", "x"]) };
        let by_path = program(&[path.to_str().unwrap(), "x"]);
        let mut run = command("");
        run.env.push(("PATH".into(), format!("{}:/usr/bin:/bin", dir.path().display())));
        for streams in [by_name, by_path] {
            let (result, chunks) = collect(&run, &streams, &CancelToken::never()).unwrap();
            let expect = (Some(0), output.to_string());
            assert_eq!((result.exit_code, text_of(&chunks, Source::Stdout)), expect, "{text:?}");
        }
    }
}

#[test]
fn writes_input_while_the_command_runs() {
    let pipe = Arc::new(InputPipe::new().unwrap());
    let streams = StreamOptions { input: Some(Arc::clone(&pipe)), ..program(&["wc", "-c"]) };
    let writer = std::thread::spawn(move || {
        let bytes = vec![b'x'; 100_000];
        let taken = (0..10).all(|_| pipe.write(&bytes, &CancelToken::never()).unwrap());
        pipe.close();
        (taken, pipe.write(b"late", &CancelToken::never()).unwrap())
    });
    let (_, chunks) = collect(&command(""), &streams, &CancelToken::never()).unwrap();
    assert_eq!(text_of(&chunks, Source::Stdout).trim(), "1000000");
    assert_eq!(writer.join().unwrap(), (true, false));
}

#[test]
fn a_blocked_write_ends_when_the_pipe_closes_or_the_call_is_cancelled() {
    let bytes = vec![0; 1 << 20];
    let pipe = Arc::new(InputPipe::new().unwrap());
    let (other, more) = (Arc::clone(&pipe), bytes.clone());
    let writer = std::thread::spawn(move || other.write(&more, &CancelToken::never()));
    pipe.close();
    assert_eq!(writer.join().unwrap(), Ok(false));
    let pipe = InputPipe::new().unwrap();
    let (cancel_handle, cancel) = CancelHandle::new();
    let writer = std::thread::spawn(move || pipe.write(&bytes, &cancel));
    cancel_handle.cancel();
    assert_eq!(writer.join().unwrap(), Ok(false));
}

#[test]
fn a_stop_ends_a_program_and_its_descendants() {
    let (cancel_handle, cancel) = CancelHandle::new();
    let streams = program(&["sh", "-c", "trap '' TERM; sleep 1000 & echo $!; wait; wait"]);
    let mut child = 0;
    let result =
        execute_streams(&supervisor(), &options(Engine::Auto), &command(""), &streams, &cancel, &mut |chunk| {
            child = chunk.into_text().trim().parse().unwrap();
            cancel_handle.cancel();
            ControlFlow::Continue(())
        });
    assert!(result.unwrap().cancelled);
    assert!(child > 0 && sinew_process::Process::from_pid(child).is_none());
}
