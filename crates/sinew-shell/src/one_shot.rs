//! Runs one command in a shell, or one program without a shell.

use std::ffi::OsString;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use sinew_base::{Aborted, CancelToken, Error, ErrorCode, Result};
use sinew_sandbox::{Entry, Sandbox};

use crate::input::InputPipe;
use crate::output::{Chunk, DRAIN_IDLE, DRAIN_MOST, Encoding};
use crate::output_relay::{OutputRelay, Watch};
use crate::supervisor::{Link, NOT_STARTED, Start, Supervisor, memory_file, null, pipe};
use crate::wire::{SupervisorReply, SupervisorRequest};
use crate::{
    Engine, GRACE, OnChunk, OnStreamChunk, RunOptions, RunResult, ShellOptions, environment, request, signals,
};

/// The maximum length of a script that is passed as an argument; the system's limit is 128 KiB.
const ARGUMENT: usize = 100 * 1024;

/// Reads a long script from [`crate::wire::SCRIPT`].
const LONG: &str = r#"IFS= read -r -d '' -u 4 BASH_COMMAND_TEXT; exec 4<&-; eval "$BASH_COMMAND_TEXT""#;

/// The capacity of the output pipe in bytes: a large one avoids context switches with a fast writer.
pub(crate) const PIPE: usize = 256 * 1024;

/// The time after the grace period during which the output of a stopped command is still read.
const AFTER_GRACE: Duration = Duration::from_millis(500);

/// Runs one command in a new shell: `bash -c COMMAND`, or the embedded interpreter.
///
/// Blocks until the command has ended, its output is delivered and all its processes are gone: background jobs end with
/// the shell. `cancel` stops the command: every process receives TERM, and KILL after [`GRACE`]. The result then
/// reports it; this is not an error. If `cancel` is already set, nothing is started. While background jobs keep the
/// output open, it is read until it is silent for 250 ms, at most for 2 s.
///
/// # Errors
/// Returns an error if the command, a variable or the directory is invalid, or if the supervisor cannot be started.
pub fn execute_shell(
    supervisor: &Supervisor,
    shell: &ShellOptions,
    run: &RunOptions,
    cancel: &CancelToken,
    on_chunk: OnChunk<'_>,
) -> Result<RunResult> {
    let mut text = |chunk: Chunk| on_chunk(chunk.into_text());
    execute_streams(supervisor, shell, run, &StreamOptions::default(), cancel, &mut text)
}

/// The options of [`execute_streams`] in addition to [`RunOptions`].
#[derive(Debug, Clone, Default)]
pub struct StreamOptions {
    /// A program and its arguments, started without a shell, instead of [`RunOptions::command`]. A name is looked up on
    /// `PATH`. Default: `None`.
    pub argv: Option<Vec<String>>,
    /// Use a separate pipe for standard error. The order of the two streams is then that of reading. Default: false.
    pub separate: bool,
    /// The format of the chunks.
    pub encoding: Encoding,
    /// A standard input that is written during the run, instead of [`RunOptions::stdin`]. Default: `None`.
    pub input: Option<Arc<InputPipe>>,
}

/// Does the same as [`execute_shell`] for a script or a program with separate streams.
///
/// # Errors
/// Returns the errors of [`execute_shell`], and [`ErrorCode::NotFound`] if the program does not exist.
pub fn execute_streams(
    supervisor: &Supervisor,
    shell: &ShellOptions,
    run: &RunOptions,
    streams: &StreamOptions,
    cancel: &CancelToken,
    on_chunk: OnStreamChunk<'_>,
) -> Result<RunResult> {
    request::check(run)?;
    if let Err(why) = cancel.check() {
        return Ok(RunResult::stopped(why));
    }
    let cwd = run.cwd.as_deref().or(shell.cwd.as_deref());
    request::check_cwd(cwd)?;
    let failed = |cause: std::io::Error| Error::io(NOT_STARTED, &cause);
    let env = environment::of_run(&shell.env, &run.env);
    let Command { program, args, long } = match &streams.argv {
        Some(argv) => {
            let args = argv.iter().map(OsString::from).collect();
            Command { program: request::program(argv, &env)?, args, long: None }
        }
        None => shell_command(supervisor, shell, run)?,
    };
    let input = match &run.stdin {
        Some(bytes) => memory_file(bytes),
        None => null(),
    }
    .map_err(failed)?;
    let (reader, writer) = pipe(PIPE).map_err(failed)?;
    let (errors, errors_writer) = match streams.separate {
        true => pipe(PIPE).map(|(reader, writer)| (Some(reader), Some(writer))).map_err(failed)?,
        false => (None, None),
    };
    let watch = Watch::new(cancel, &CancelToken::never()).map_err(failed)?;
    let entry = shell.sandbox.as_ref().map(Sandbox::enter).transpose()?;
    let name = streams.argv.as_ref().and_then(|argv| argv.first());
    let purpose = name.map_or(NOT_STARTED.to_string(), |name| format!("run: failed to start {name:?}"));
    let link = supervisor.start(&Start {
        purpose: &purpose,
        program: &program,
        args: &args,
        env: &env,
        cwd,
        input: streams.input.as_ref().map_or(input.as_fd(), |pipe| pipe.as_fd()),
        output: writer.as_fd(),
        errors: errors_writer.as_ref().map_or(writer.as_fd(), OwnedFd::as_fd),
        script: long.as_ref().map(OwnedFd::as_fd),
        sandbox: entry.as_ref().map(Entry::handoff),
    })?;
    drop((writer, errors_writer, input, long));
    let relay = OutputRelay::new(reader, errors, streams.encoding, on_chunk);
    let mut result = follow(link, relay, &watch, &purpose, entry.as_ref())?;
    result.refused = entry.map(Entry::finish).unwrap_or_default();
    Ok(result)
}

/// A program to start.
struct Command {
    program: OsString,
    // The first argument is the name that the program sees.
    args: Vec<OsString>,
    // The script if it is too long for an argument.
    long: Option<OwnedFd>,
}

fn shell_command(supervisor: &Supervisor, shell: &ShellOptions, run: &RunOptions) -> Result<Command> {
    let (program, mut args) = interpreter(supervisor, shell)?;
    let script = script(shell, run)?;
    let mut long = None;
    if script.len() <= ARGUMENT {
        args.extend(["-c".into(), script.into()]);
    } else {
        let file = memory_file(script.as_bytes());
        long = Some(file.map_err(|cause| Error::io("Failed to initialize shell", &cause))?);
        match is_brush(&args) {
            true => args.push("long".into()),
            false => args.extend(["-c".into(), LONG.into()]),
        }
    }
    Ok(Command { program, args, long })
}

/// Waits for the end of the shell.
fn follow(
    link: Link,
    mut relay: OutputRelay<'_>,
    watch: &Watch,
    purpose: &str,
    entry: Option<&Entry>,
) -> Result<RunResult> {
    let failed = |cause: std::io::Error| Error::io("shell: failed to read the output", &cause);
    let result = loop {
        let [told, _] = relay.step([link.as_fd(), watch.fd()], watch.until()).map_err(failed)?;
        if told {
            break match link.receive()? {
                Some(SupervisorReply::Exited { status }) => ended(status),
                Some(SupervisorReply::Failed { errno }) => {
                    return Err(Error::io(purpose, &std::io::Error::from_raw_os_error(errno)));
                }
                Some(SupervisorReply::Refused(refusal)) => {
                    entry.into_iter().for_each(|entry| entry.note(refusal.clone()));
                    continue;
                }
                Some(_) => continue,
                None => killed(),
            };
        }
        let why = watch.why().or(relay.is_broken().then_some(Aborted::Signal));
        if let Some(why) = why {
            link.ask(SupervisorRequest::Close { grace_ms: GRACE.as_millis() as u32 });
            let mut deadline = link.deadline(GRACE + AFTER_GRACE);
            while !deadline.has_passed() {
                let [told] = relay.step([link.as_fd()], Some(deadline.until())).map_err(failed)?;
                if told && link.receive()?.is_none() {
                    break;
                }
            }
            break RunResult::stopped(why);
        }
    };
    if result.exit_code.is_some() || result.signal.is_some() {
        relay.drain(DRAIN_IDLE, DRAIN_MOST, watch).map_err(failed)?;
    }
    relay.finish();
    drop(link);
    Ok(result)
}

/// Returns the program of the engine and its fixed arguments, beginning with its name.
pub(crate) fn interpreter(supervisor: &Supervisor, shell: &ShellOptions) -> Result<(OsString, Vec<OsString>)> {
    if let Some(bash) = bash(supervisor, shell) {
        return Ok((bash, ["bash", "--noprofile", "--norc"].map(OsString::from).to_vec()));
    }
    let missing = |place: String| {
        Error::new(ErrorCode::NotFound, format!("Failed to initialize shell: no bash of version 4.4 or later {place}"))
    };
    match (&shell.bash, shell.engine) {
        (Some(path), Engine::Auto | Engine::Bash) => return Err(missing(format!("at {}", path.display()))),
        (None, Engine::Bash) => return Err(missing("on PATH: install one, or use engine \"brush\"".into())),
        _ => {}
    }
    Ok((supervisor.path().into(), ["sinew-shell-host", "brush"].map(OsString::from).to_vec()))
}

/// Returns the bash that the options select; `None` for the embedded interpreter.
pub(crate) fn bash(supervisor: &Supervisor, shell: &ShellOptions) -> Option<OsString> {
    let name = shell.bash.as_deref().unwrap_or(Path::new("bash"));
    (shell.engine != Engine::Brush).then(|| supervisor.bash(&shell.env, name)).flatten()
}

/// Returns true if these are the arguments of the embedded interpreter.
pub(crate) fn is_brush(args: &[OsString]) -> bool {
    args.get(1).is_some_and(|role| role == "brush")
}

fn script(shell: &ShellOptions, run: &RunOptions) -> Result<String> {
    Ok(match request::snapshot(shell)? {
        Some(snapshot) => format!("{snapshot}\n{}", run.command),
        None => run.command.clone(),
    })
}

/// Returns the result of a shell that ended with this `waitpid` status.
pub(crate) fn ended(status: i32) -> RunResult {
    match libc::WIFSIGNALED(status) {
        true => RunResult { signal: Some(signals::name(libc::WTERMSIG(status))), ..RunResult::default() },
        false => RunResult { exit_code: Some(libc::WEXITSTATUS(status)), ..RunResult::default() },
    }
}

/// Returns the result of a shell whose supervisor was killed: the shell died with it.
pub(crate) fn killed() -> RunResult {
    RunResult { signal: Some("SIGKILL"), ..RunResult::default() }
}

pub(crate) fn not_started(errno: i32) -> Error {
    Error::io(NOT_STARTED, &std::io::Error::from_raw_os_error(errno))
}
