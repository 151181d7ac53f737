//! Runs one command in a bash, or one program without a shell.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use sinew_base::{CancelToken, Error, Result};
use tempfile::TempDir;

use super::find_bash;
use super::input::InputPipe;
use super::run::{self, End, Input, Launch, Watch};
use super::state;
use crate::output::{Chunk, DRAIN_IDLE, DRAIN_MOST, Encoding};
use crate::{OnChunk, OnStreamChunk, RunOptions, RunResult, ShellOptions, Supervisor, environment, request};

/// The maximum length of a script that is passed as an argument. Windows limits command lines to 32 K characters, and a
/// Cygwin bash parses them by its own rules, so every script is a file there.
const ARGUMENT: usize = if cfg!(windows) { 0 } else { 24 * 1024 };

/// Runs one command in a new shell: `bash -c COMMAND`.
///
/// Blocks until the command has ended, its output is delivered and all its processes are gone: background jobs end with
/// the shell. `cancel` stops the command: every process receives TERM, and KILL after [`crate::GRACE`] (Windows has no
/// TERM and terminates all at once). The result then reports it; this is not an error. If `cancel` is already set,
/// nothing is started. While background jobs keep the output open, it is read until it is silent for 250 ms, at most
/// for 2 s. The supervisor is not started; it only caches which file is a bash.
///
/// # Errors
/// Returns an error if the command, a variable or the directory is invalid, and [`sinew_base::ErrorCode::Unsupported`]
/// if there is no bash.
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
/// Returns the errors of [`execute_shell`], and [`sinew_base::ErrorCode::NotFound`] if the program does not exist.
pub fn execute_streams(
    supervisor: &Supervisor,
    shell: &ShellOptions,
    run: &RunOptions,
    streams: &StreamOptions,
    cancel: &CancelToken,
    on_chunk: OnStreamChunk<'_>,
) -> Result<RunResult> {
    request::check(run)?;
    request::refuse_sandbox(shell)?;
    if let Err(why) = cancel.check() {
        return Ok(RunResult::stopped(why));
    }
    let cwd = run.cwd.as_deref().or(shell.cwd.as_deref());
    request::check_cwd(cwd)?;
    let env = environment::of_run(&shell.env, &run.env);
    let name = streams.argv.as_ref().and_then(|argv| argv.first());
    let what = name.map_or("Failed to initialize shell".into(), |name| format!("run: failed to start {name:?}"));
    let failed = |cause: std::io::Error| Error::io(&what, &cause);
    // Deleted when the command has ended.
    let mut folder = None;
    let mut command = match &streams.argv {
        Some(argv) => program(request::program(argv, &env)?, argv),
        None => bash(&find_bash::find(supervisor.known_bashes(), shell)?, &script(shell, run, &mut folder)?),
    };
    command.env_clear().envs(env);
    if let Some(cwd) = cwd {
        command.current_dir(cwd);
    }
    let input = match (&streams.input, &run.stdin) {
        (Some(pipe), _) => Input::Pipe(Arc::clone(pipe)),
        (None, Some(bytes)) => Input::Bytes(bytes.clone()),
        (None, None) => Input::Nothing,
    };
    let (separate, encoding) = (streams.separate, streams.encoding);
    let launch = Launch { command, input, separate, encoding, idle: DRAIN_IDLE, most: DRAIN_MOST };
    let (end, tree) = run::run(launch, &Watch { cancel, abort: &CancelToken::never() }, on_chunk).map_err(failed)?;
    drop(tree);
    Ok(match end {
        End::Exited(exit) => {
            let exit = if streams.argv.is_none() { exit.of_bash() } else { exit };
            RunResult { exit_code: exit.code, signal: exit.signal, ..RunResult::default() }
        }
        End::Stopped(why) => RunResult::stopped(why),
    })
}

/// Returns a bash that runs a script with the name `bash`.
pub(super) fn bash(file: &Path, script: &str) -> Command {
    let mut command = program(file.into(), &["bash", "--noprofile", "--norc", "-c", script, "bash"]);
    // For example the start file of Git for Windows.
    command.env_remove("BASH_ENV");
    command
}

/// Returns a program with its arguments, the first of which is its name.
fn program(file: OsString, argv: &[impl AsRef<OsStr>]) -> Command {
    let mut command = Command::new(file);
    #[cfg(unix)]
    {
        std::os::unix::process::CommandExt::arg0(&mut command, &argv[0]);
        command.args(&argv[1..]);
    }
    #[cfg(windows)]
    add_args(&mut command, &argv[1..]);
    command
}

/// Characters that the programs of Git for Windows interpret outside quotes: glob characters, `@file`, quotes.
#[cfg(windows)]
const READ: [char; 14] = ['*', '?', '[', ']', '{', '}', '(', ')', '\'', '"', '@', '~', '!', '\n'];

/// Adds arguments, quoted if a program might interpret them. Other arguments are not quoted, because `cmd.exe` does not
/// accept `"/c"`. None contains a NUL character: see [`request`].
#[cfg(windows)]
fn add_args(command: &mut Command, args: &[impl AsRef<OsStr>]) {
    use std::os::windows::process::CommandExt;
    let ending = Path::new(command.get_program()).extension().unwrap_or_default();
    let is_batch = ["bat", "cmd"].into_iter().any(|known| ending.eq_ignore_ascii_case(known));
    for arg in args {
        // The library quotes spaces, and knows the rules of `cmd.exe` for batch files.
        match arg.as_ref().to_str().filter(|text| !is_batch && text.contains(READ)) {
            Some(text) => command.raw_arg(quoted(text)),
            None => command.arg(arg),
        };
    }
}

/// Quotes one argument for Windows programs: a backslash is literal except before a quote.
#[cfg(windows)]
fn quoted(text: &str) -> String {
    let mut line = String::from("\"");
    let mut slashes = 0;
    for char in text.chars() {
        if char == '"' {
            line.push_str(&"\\".repeat(slashes + 1));
        }
        slashes = if char == '\\' { slashes + 1 } else { 0 };
        line.push(char);
    }
    line.push_str(&"\\".repeat(slashes));
    line.push('"');
    line
}

fn script(shell: &ShellOptions, run: &RunOptions, folder: &mut Option<TempDir>) -> Result<String> {
    let script = match request::snapshot(shell)? {
        Some(snapshot) => format!("{snapshot}\n{}", run.command),
        None => run.command.clone(),
    };
    if script.len() <= ARGUMENT {
        return Ok(script);
    }
    let failed = |cause: std::io::Error| Error::io("Failed to initialize shell: cannot keep the script", &cause);
    let folder = folder.insert(state::folder(&shell.env).map_err(failed)?);
    let file = folder.path().join("script");
    std::fs::write(&file, script).map_err(failed)?;
    let file = state::path(&file)?;
    Ok(format!("IFS= read -r -d '' BASH_COMMAND_TEXT <{file}; eval \"$BASH_COMMAND_TEXT\""))
}
