//! A bash, or a program without one, for one command.

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

/// The longest script that is passed as an argument. Windows takes 32 K characters in all, and a bash of Cygwin's kind
/// reads them by rules of its own, so there every script comes from a file.
const ARGUMENT: usize = if cfg!(windows) { 0 } else { 24 * 1024 };

/// Runs one command in a shell of its own: `bash -c COMMAND`.
///
/// It blocks its thread until the command is over, its output is handed over and nothing that it started is
/// left: background jobs end with the shell. `cancel` stops it: TERM for every process, KILL for what is left
/// after [`crate::GRACE`] (Windows knows no TERM: all end at once); the answer then says so (it is no error). A `cancel`
/// that is set before starts nothing. While background jobs hold the output, it is read until it is silent for 250 ms, at
/// most for 2 s. The supervisor is not started; it remembers which file is a bash.
///
/// # Errors
/// A command, variable or directory that cannot be used; no bash ([`sinew_base::ErrorCode::Unsupported`]).
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

/// The options of [`execute_streams`] beside [`RunOptions`].
#[derive(Debug, Clone, Default)]
pub struct StreamOptions {
    /// A program and its arguments, started without any shell, instead of [`RunOptions::command`]. A name is looked up on
    /// `PATH`. Default: none.
    pub argv: Option<Vec<String>>,
    /// Gives standard error a pipe of its own. The order between the two streams is then that of reading. Default: false.
    pub separate: bool,
    /// The form of the chunks.
    pub encoding: Encoding,
    /// A standard input that is written meanwhile, instead of [`RunOptions::stdin`]. Default: none.
    pub input: Option<Arc<InputPipe>>,
}

/// The same as [`execute_shell`] for a script or a program whose streams are told apart.
///
/// # Errors
/// As [`execute_shell`]; a program that is not there ([`sinew_base::ErrorCode::NotFound`]).
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
    // Deleted when the command is over.
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

/// A bash that runs a script and names itself `bash`.
pub(super) fn bash(file: &Path, script: &str) -> Command {
    let mut command = program(file.into(), &["bash", "--noprofile", "--norc", "-c", script, "bash"]);
    // Git's own start file for programs of Windows, say.
    command.env_remove("BASH_ENV");
    command
}

/// A program with its arguments, the first of which is its name.
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

/// Characters that the programs of Git for Windows read for themselves where no quotes are: of patterns, of `@file`, quotes.
#[cfg(windows)]
const READ: [char; 14] = ['*', '?', '[', ']', '{', '}', '(', ')', '\'', '"', '@', '~', '!', '\n'];

/// Adds arguments, in quotes where a program might read them otherwise. Not all: `cmd.exe` knows no `"/c"`. None holds a NUL:
/// see [`request`].
#[cfg(windows)]
fn add_args(command: &mut Command, args: &[impl AsRef<OsStr>]) {
    use std::os::windows::process::CommandExt;
    let ending = Path::new(command.get_program()).extension().unwrap_or_default();
    let is_batch = ["bat", "cmd"].into_iter().any(|known| ending.eq_ignore_ascii_case(known));
    for arg in args {
        // The library adds quotes for blanks, and knows by what rules `cmd.exe` reads those of batch files.
        match arg.as_ref().to_str().filter(|text| !is_batch && text.contains(READ)) {
            Some(text) => command.raw_arg(quoted(text)),
            None => command.arg(arg),
        };
    }
}

/// One argument as programs of Windows read it: a backslash stands for itself but before a quote.
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
