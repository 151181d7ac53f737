//! Options and results of shells and of their runs.

use std::ffi::OsString;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Duration;

use sinew_base::Aborted;
use sinew_sandbox::{Refusal, Sandbox};

use crate::output::Chunk;

/// The time that processes have to obey TERM before they get KILL.
pub const GRACE: Duration = Duration::from_millis(1500);

/// The interpreter that runs the scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Engine {
    /// [`Engine::Bash`] where `PATH` has one of version 4.4 or later, else [`Engine::Brush`].
    #[default]
    Auto,
    /// The bash on `PATH`.
    Bash,
    /// The interpreter that is built into the supervisor.
    Brush,
}

impl Engine {
    /// The name that options and results use.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Engine::Auto => "auto",
            Engine::Bash => "bash",
            Engine::Brush => "brush",
        }
    }

    /// The engine of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Engine> {
        [Engine::Auto, Engine::Bash, Engine::Brush].into_iter().find(|engine| engine.as_str() == name)
    }
}

/// An environment: names and values in any order, the last of equal names counts.
pub type Environment = Vec<(OsString, OsString)>;

/// Options of a [`crate::Shell`].
#[derive(Debug, Clone, Default)]
pub struct ShellOptions {
    /// The environment that the shell starts with. Shell-private variables are left out of it
    /// ([`crate::is_private`]).
    pub env: Environment,
    /// The directory that the shell starts in. Default: the one of the host.
    pub cwd: Option<PathBuf>,
    /// A script that is read before the first command: variables, functions, aliases. Default: none.
    pub snapshot: Option<PathBuf>,
    /// Default: [`Engine::Auto`].
    pub engine: Engine,
    /// The bash of [`Engine::Auto`] and [`Engine::Bash`]: a path, or a name on `PATH`. One that is missing or too old
    /// is an error of the first run. Default: the first `bash` on `PATH`.
    pub bash: Option<PathBuf>,
    /// The sandbox of the shell and of everything that it starts. Default: none.
    pub sandbox: Option<Sandbox>,
}

/// One command.
#[derive(Debug, Clone, Default)]
pub struct RunOptions {
    /// The script text. It may not hold a NUL character.
    pub command: String,
    /// The directory for this run alone. Default: where the shell is.
    pub cwd: Option<PathBuf>,
    /// Variables for this run alone, exported.
    pub env: Vec<(String, String)>,
    /// The standard input of the command. Default: nothing (end of file at once).
    pub stdin: Option<Vec<u8>>,
}

/// The end of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunResult {
    /// The exit code. `None` when the run was cancelled, timed out or the shell died of a signal.
    pub exit_code: Option<i32>,
    /// The name of the signal that ended the shell (`SIGKILL`), if one did.
    pub signal: Option<&'static str>,
    /// Somebody asked for the end.
    pub cancelled: bool,
    /// The time was up.
    pub timed_out: bool,
    /// The directory that the shell was in when the command ended. `None` when it could not be asked, and
    /// after a run of [`crate::execute_shell`].
    pub working_dir: Option<PathBuf>,
    /// The reason why variables, functions and directory of the shell are lost, when they are: the next run starts a
    /// new shell.
    pub state_lost: Option<&'static str>,
    /// What the sandbox refused, as far as it is known. Empty without a sandbox.
    pub refused: Vec<Refusal>,
}

impl RunResult {
    /// The result of a run that was stopped.
    pub(crate) fn stopped(why: Aborted) -> RunResult {
        RunResult { cancelled: why == Aborted::Signal, timed_out: why == Aborted::Timeout, ..RunResult::default() }
    }
}

/// A process that was started in an earlier run and still lives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// Its process id.
    pub pid: i32,
    /// Its command line, arguments separated by spaces.
    pub command: String,
}

/// The callback that takes the output: pieces of text in order. While it runs nothing is read, so a slow one slows the command
/// down. After `Break` it is not called again and the run is aborted.
pub type OnChunk<'a> = &'a mut dyn FnMut(String) -> ControlFlow<()>;

/// The same for pieces that tell their stream.
pub type OnStreamChunk<'a> = &'a mut dyn FnMut(Chunk) -> ControlFlow<()>;
