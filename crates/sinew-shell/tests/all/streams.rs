//! Tests of one command with separate streams, a program without a shell, and input that is written during the run.

use std::ffi::OsString;
use std::ops::ControlFlow;

use sinew_base::{CancelToken, ErrorCode};
use sinew_shell::{Engine, Environment, Shell, ShellOptions, StreamOptions, execute_streams};

use crate::support::{command, env, options, supervisor, write_program};

mod supervised {
    use sinew_shell::{InputPipe, StreamOptions, execute_streams};

    include!("cases/streams.rs");
}

mod direct {
    use sinew_shell::direct::{InputPipe, StreamOptions, execute_streams};

    include!("cases/streams.rs");
}

/// Without a supervisor, the system's `execvp` starts programs, and runs them in `sh` too.
#[test]
fn rejects_binaries_that_the_system_cannot_run() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("tool");
    for content in ["\\0\\0\\0binary", "\\177ELF", "#!\\n\\0"] {
        write_program(&path, "");
        let script = format!("printf '{content}' > {}", path.display());
        assert!(crate::support::bash(&script).status().unwrap().success());
        let name = path.to_str().unwrap().to_string();
        let streams = StreamOptions { argv: Some(vec![name.clone()]), ..StreamOptions::default() };
        let result = execute_streams(
            &supervisor(),
            &options(Engine::Auto),
            &command(""),
            &streams,
            &CancelToken::never(),
            &mut |_| ControlFlow::Continue(()),
        );
        let error = result.unwrap_err();
        let text = format!("run: failed to start {name:?}: Exec format error");
        assert_eq!((error.code(), error.message()), (ErrorCode::NotExecutable, &*text), "{content}");
    }
}

#[test]
fn an_environment_beyond_the_limit_is_an_error_of_the_program() {
    let long: Environment = [env(), vec![(OsString::from("X"), "a".repeat(200_000).into())]].concat();
    let setup = ShellOptions { env: long, ..options(Engine::Brush) };
    let streams = StreamOptions { argv: Some(vec!["true".into()]), ..StreamOptions::default() };
    for (streams, text) in [
        (streams, "run: failed to start \"true\": Argument list too long"),
        (StreamOptions::default(), "Failed to initialize shell: Argument list too long"),
    ] {
        let result =
            execute_streams(&supervisor(), &setup, &command("true"), &streams, &CancelToken::never(), &mut |_| {
                ControlFlow::Continue(())
            });
        let error = result.unwrap_err();
        assert_eq!((error.code(), error.message()), (ErrorCode::ArgumentsTooLong, text));
    }
    let error = Shell::new(supervisor(), setup).output("true").unwrap_err();
    assert_eq!(error.message(), "Failed to initialize shell: Argument list too long");
}
