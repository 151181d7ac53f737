//! Options and results of shells and runs.

use std::ffi::OsString;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Duration;

use sinew_base::Aborted;
use sinew_sandbox::{Refusal, Sandbox};

use crate::output::Chunk;

/// The time between TERM and KILL.
pub const GRACE: Duration = Duration::from_millis(1500);

/// The interpreter of scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Engine {
    /// [`Engine::Bash`] if `PATH` contains version 4.4 or later, otherwise [`Engine::Brush`].
    #[default]
    Auto,
    /// The bash on `PATH`.
    Bash,
    /// The interpreter embedded in the supervisor.
    Brush,
}

impl Engine {
    /// Returns the name used in options and results.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Engine::Auto => "auto",
            Engine::Bash => "bash",
            Engine::Brush => "brush",
        }
    }

    /// Returns the engine with that name; `None` if there is none.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Engine> {
        [Engine::Auto, Engine::Bash, Engine::Brush].into_iter().find(|engine| engine.as_str() == name)
    }
}

/// An environment: names and values in any order; the last of equal names is used.
pub type Environment = Vec<(OsString, OsString)>;

/// Options of a [`crate::Shell`].
#[derive(Debug, Clone, Default)]
pub struct ShellOptions {
    /// The environment of the shell. Shell-private variables are removed ([`crate::is_private`]).
    pub env: Environment,
    /// The initial working directory. Default: that of the host.
    pub cwd: Option<PathBuf>,
    /// A script that runs before the first command: variables, functions, aliases. Default: `None`.
    pub snapshot: Option<PathBuf>,
    /// The interpreter. Default: [`Engine::Auto`].
    pub engine: Engine,
    /// The bash of [`Engine::Auto`] and [`Engine::Bash`]: a path, or a name on `PATH`. If it is missing or too old, the
    /// first run fails. Default: the first `bash` on `PATH`.
    pub bash: Option<PathBuf>,
    /// The sandbox of the shell and all its processes. Default: `None`.
    pub sandbox: Option<Sandbox>,
}

/// One command.
#[derive(Debug, Clone, Default)]
pub struct RunOptions {
    /// The script. It must not contain a NUL character.
    pub command: String,
    /// The working directory of this run only. Default: that of the shell.
    pub cwd: Option<PathBuf>,
    /// Exported variables of this run only. In bash, `BASH_FUNC_name%%` defines a function.
    pub env: Vec<(String, String)>,
    /// The standard input of the command. Default: empty.
    pub stdin: Option<Vec<u8>>,
}

/// The result of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunResult {
    /// The exit code. `None` if the run was cancelled or timed out, or if a signal ended the shell.
    pub exit_code: Option<i32>,
    /// The name of the signal that ended the shell (`SIGKILL`); `None` if no signal did.
    pub signal: Option<&'static str>,
    /// True if the caller cancelled the run.
    pub cancelled: bool,
    /// True if the time limit was reached.
    pub timed_out: bool,
    /// The working directory of the shell after the command. `None` if it is unknown, and after
    /// [`crate::execute_shell`].
    pub working_dir: Option<PathBuf>,
    /// The reason why variables, functions and directory of the shell were lost: the next run starts a new shell.
    /// `None` if they were kept.
    pub state_lost: Option<&'static str>,
    /// The operations that the sandbox refused, as far as they are known. Empty without a sandbox.
    pub refused: Vec<Refusal>,
}

impl RunResult {
    /// Returns the result of a run that was stopped.
    pub(crate) fn stopped(why: Aborted) -> RunResult {
        RunResult { cancelled: why == Aborted::Signal, timed_out: why == Aborted::Timeout, ..RunResult::default() }
    }
}

/// A running process that was started in an earlier run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// The process id.
    pub pid: i32,
    /// The command line, with arguments separated by spaces.
    pub command: String,
}

/// The callback for output: chunks of text in order. Nothing is read while it runs, so a slow callback slows the
/// command down. After `Break` it is not called again and the run is aborted.
pub type OnChunk<'a> = &'a mut dyn FnMut(String) -> ControlFlow<()>;

/// The same for chunks that name their stream.
pub type OnStreamChunk<'a> = &'a mut dyn FnMut(Chunk) -> ControlFlow<()>;
