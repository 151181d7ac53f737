//! A shell for one command.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sinew_base::{Aborted, CancelToken, Error, Result};

use crate::output::{DRAIN_IDLE, DRAIN_MOST};
use crate::output_relay::{Abort, OnChunk, OutputRelay, Watch};
use crate::supervisor::{Link, Start, Supervisor, memory_file, null, pipe};
use crate::wire::{Ask, Tell};
use crate::{Engine, GRACE, RunOptions, RunResult, ShellOptions, environment, request, signals};

/// The longest script that is passed as an argument; the system's own limit is 128 KiB.
const ARGUMENT: usize = 100 * 1024;

/// Reads a long script where [`crate::wire::SCRIPT`] is.
const LONG: &str = r#"IFS= read -r -d '' -u 4 BASH_COMMAND_TEXT; exec 4<&-; eval "$BASH_COMMAND_TEXT""#;

/// Room in the output pipe: fewer switches between a fast writer and us.
pub(crate) const PIPE: usize = 256 * 1024;

/// Runs one command in a shell of its own: `bash -c COMMAND`, or the embedded interpreter in its place.
///
/// It blocks its thread until the command is over, its output is handed over and nothing that it started is
/// left: background jobs end with the shell. `cancel` stops it: TERM for every process, KILL for what is left
/// after [`GRACE`]; the answer then says so (it is no error). A `cancel` that is set before starts nothing.
/// While background jobs hold the output, it is read until it is silent for 250 ms, at most for 2 s.
///
/// # Errors
/// A command, variable or directory that cannot be used; a supervisor that cannot be started.
pub fn execute_shell(
    supervisor: &Supervisor,
    shell: &ShellOptions,
    run: &RunOptions,
    cancel: &CancelToken,
    on_chunk: OnChunk<'_>,
) -> Result<RunResult> {
    request::check(run)?;
    if let Err(why) = cancel.check() {
        return Ok(stopped(why));
    }
    let cwd = run.cwd.as_deref().or(shell.cwd.as_deref());
    request::check_cwd(cwd)?;
    let (program, mut args) = interpreter(supervisor, shell)?;
    let failed = |cause: std::io::Error| Error::io("Failed to initialize shell", &cause);
    let script = script(shell, run)?;
    let mut long = None;
    if script.len() <= ARGUMENT {
        args.extend(["-c".into(), script.into()]);
    } else {
        long = Some(memory_file(script.as_bytes()).map_err(failed)?);
        match is_brush(&args) {
            true => args.push("long".into()),
            false => args.extend(["-c".into(), LONG.into()]),
        }
    }
    let input = match &run.stdin {
        Some(bytes) => memory_file(bytes),
        None => null(),
    }
    .map_err(failed)?;
    let (reader, writer) = pipe(PIPE).map_err(failed)?;
    let mut env = environment::inherited(&shell.env);
    for (name, value) in &run.env {
        env.retain(|(known, _)| *known != name.as_str());
        env.push((OsStr::new(name), OsStr::new(value)));
    }
    let watch = Watch::new(cancel, Arc::new(Abort::new().map_err(failed)?));
    let link = supervisor.start(&Start {
        program: &program,
        args: &args,
        env: &env,
        cwd,
        input: input.as_fd(),
        output: writer.as_fd(),
        script: long.as_ref().map(OwnedFd::as_fd),
    })?;
    drop((writer, input, long));
    follow(link, OutputRelay::new(reader, on_chunk), &watch)
}

/// Waits for the end of the shell.
fn follow(link: Link, mut relay: OutputRelay<'_>, watch: &Watch) -> Result<RunResult> {
    let failed = |cause: std::io::Error| Error::io("shell: failed to read the output", &cause);
    let result = loop {
        let [told, _] = relay.step([link.as_fd(), watch.fd()], watch.until()).map_err(failed)?;
        if told {
            break match link.receive()? {
                Some(Tell::Exited { status }) => ended(status),
                Some(Tell::Failed { errno }) => return Err(not_started(errno)),
                Some(_) => continue,
                None => killed(),
            };
        }
        let why = watch.why().or(relay.is_broken().then_some(Aborted::Signal));
        if let Some(why) = why {
            link.ask(Ask::Close { grace_ms: GRACE.as_millis() as u32 });
            let until = Instant::now() + GRACE + Duration::from_millis(500);
            while Instant::now() < until {
                let [told] = relay.step([link.as_fd()], Some(until)).map_err(failed)?;
                if told && link.receive()?.is_none() {
                    break;
                }
            }
            break stopped(why);
        }
    };
    if result.exit_code.is_some() || result.signal.is_some() {
        relay.drain(DRAIN_IDLE, DRAIN_MOST, watch).map_err(failed)?;
    }
    relay.finish();
    drop(link);
    Ok(result)
}

/// The program of the engine and the arguments that every start has, its name first.
pub(crate) fn interpreter(supervisor: &Supervisor, shell: &ShellOptions) -> Result<(OsString, Vec<OsString>)> {
    if let Some(bash) = bash(supervisor, shell) {
        return Ok((bash, ["bash", "--noprofile", "--norc"].map(OsString::from).to_vec()));
    }
    let missing = |place: String| {
        Error::new(
            sinew_base::ErrorCode::NotFound,
            format!("Failed to initialize shell: no bash of version 4.4 or later {place}"),
        )
    };
    match (&shell.bash, shell.engine) {
        (Some(path), Engine::Auto | Engine::Bash) => return Err(missing(format!("at {}", path.display()))),
        (None, Engine::Bash) => return Err(missing("on PATH: install one, or use engine \"brush\"".into())),
        _ => {}
    }
    Ok((supervisor.path().into(), ["sinew-shell-host", "brush"].map(OsString::from).to_vec()))
}

/// The bash that the options name, unless they want the embedded interpreter.
pub(crate) fn bash(supervisor: &Supervisor, shell: &ShellOptions) -> Option<OsString> {
    let name = shell.bash.as_deref().unwrap_or(Path::new("bash"));
    (shell.engine != Engine::Brush).then(|| supervisor.bash(&shell.env, name)).flatten()
}

/// Tells whether these are the arguments of the embedded interpreter.
pub(crate) fn is_brush(args: &[OsString]) -> bool {
    args.get(1).is_some_and(|role| role == "brush")
}

fn script(shell: &ShellOptions, run: &RunOptions) -> Result<String> {
    Ok(match request::snapshot(shell)? {
        Some(snapshot) => format!("{snapshot}\n{}", run.command),
        None => run.command.clone(),
    })
}

/// The result of a shell that ended with a status of `waitpid`.
pub(crate) fn ended(status: i32) -> RunResult {
    match libc::WIFSIGNALED(status) {
        true => RunResult { signal: Some(signals::name(libc::WTERMSIG(status))), ..RunResult::default() },
        false => RunResult { exit_code: Some(libc::WEXITSTATUS(status)), ..RunResult::default() },
    }
}

/// The result of a shell whose supervisor was killed: the shell died with it.
pub(crate) fn killed() -> RunResult {
    RunResult { signal: Some("SIGKILL"), ..RunResult::default() }
}

/// The result of a run that was stopped.
pub(crate) fn stopped(why: Aborted) -> RunResult {
    RunResult { cancelled: why == Aborted::Signal, timed_out: why == Aborted::Timeout, ..RunResult::default() }
}

pub(crate) fn not_started(errno: i32) -> Error {
    Error::io("Failed to initialize shell", &std::io::Error::from_raw_os_error(errno))
}
