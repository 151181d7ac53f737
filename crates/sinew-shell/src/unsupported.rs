//! Shells on systems without a supervisor (macOS, Windows): the same names, whose calls answer that they are
//! not available. Checked by review only.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sinew_base::{CancelToken, Error, ErrorCode, Result};

use crate::output::{Chunk, Encoding};
use crate::{Engine, Job, RunOptions, RunResult, ShellOptions};

/// The callback that takes the output: pieces of text in order; `Break` aborts the run.
pub type OnChunk<'a> = &'a mut dyn FnMut(String) -> ControlFlow<()>;

/// The same for pieces that tell their stream.
pub type OnStreamChunk<'a> = &'a mut dyn FnMut(Chunk) -> ControlFlow<()>;

/// The options of [`execute_streams`] beside [`RunOptions`].
#[derive(Debug, Clone, Default)]
pub struct StreamOptions {
    /// A program and its arguments, started without any shell.
    pub argv: Option<Vec<String>>,
    /// Gives standard error a pipe of its own.
    pub separate: bool,
    /// The form of the chunks.
    pub encoding: Encoding,
    /// A standard input that is written meanwhile.
    pub input: Option<Arc<InputPipe>>,
}

/// A pipe into the standard input of a command.
#[derive(Debug)]
pub struct InputPipe;

impl InputPipe {
    /// A pipe that nobody reads.
    ///
    /// # Errors
    /// Always: not on this platform.
    pub fn new() -> Result<InputPipe> {
        Err(unsupported())
    }

    /// Writes nothing.
    ///
    /// # Errors
    /// Always: not on this platform.
    pub fn write(&self, _: &[u8], _: &CancelToken) -> Result<bool> {
        Err(unsupported())
    }

    /// Does nothing.
    pub fn close(&self) {}
}

/// The supervisor program.
#[derive(Debug, Clone)]
pub struct Supervisor {
    path: PathBuf,
}

impl Supervisor {
    /// The supervisor at `path`.
    pub fn new(path: impl Into<PathBuf>) -> Supervisor {
        Supervisor { path: path.into() }
    }

    /// The path of the program.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Runs one command in a shell of its own.
///
/// # Errors
/// Always: not on this platform.
pub fn execute_shell(
    _: &Supervisor,
    _: &ShellOptions,
    _: &RunOptions,
    _: &CancelToken,
    _: OnChunk<'_>,
) -> Result<RunResult> {
    Err(unsupported())
}

/// Runs one command with its streams apart.
///
/// # Errors
/// Always: not on this platform.
pub fn execute_streams(
    _: &Supervisor,
    _: &ShellOptions,
    _: &RunOptions,
    _: &StreamOptions,
    _: &CancelToken,
    _: OnStreamChunk<'_>,
) -> Result<RunResult> {
    Err(unsupported())
}

/// A ticket of the queue of a shell.
#[derive(Debug)]
pub struct Ticket;

/// A shell that lives on from command to command.
#[derive(Debug)]
pub struct Shell;

impl Shell {
    /// A shell that will not start.
    pub fn new(_: Supervisor, _: ShellOptions) -> Shell {
        Shell
    }

    /// Returns the interpreter that would run the scripts.
    pub fn engine(&self) -> Engine {
        Engine::Brush
    }

    /// Runs one command.
    ///
    /// # Errors
    /// Always: not on this platform.
    pub fn run(&self, _: &RunOptions, _: &CancelToken, _: OnChunk<'_>) -> Result<RunResult> {
        Err(unsupported())
    }

    /// Takes a ticket of the queue of commands.
    ///
    /// # Errors
    /// Always: not on this platform.
    pub fn line_up(&self) -> Result<Ticket> {
        Err(unsupported())
    }

    /// Runs one command with a ticket of the queue.
    ///
    /// # Errors
    /// Always: not on this platform.
    pub fn run_at(&self, _: &Ticket, _: &RunOptions, _: &CancelToken, _: OnChunk<'_>) -> Result<RunResult> {
        Err(unsupported())
    }

    /// Does nothing: no command runs.
    pub fn abort(&self) {}

    /// Does nothing: no command runs.
    pub fn aborting(&self) -> impl FnOnce() + Send + 'static {
        || ()
    }

    /// The processes of earlier runs: none.
    ///
    /// # Errors
    /// None here.
    pub fn jobs(&self) -> Result<Vec<Job>> {
        Ok(Vec::new())
    }

    /// Does nothing: no command runs.
    pub fn close(&self) {}

    /// Runs one command and returns what it printed.
    ///
    /// # Errors
    /// Always: not on this platform.
    pub fn output(&self, _: &str) -> Result<(RunResult, String)> {
        Err(unsupported())
    }
}

/// The roles of the supervisor program.
pub mod host {
    use std::ffi::CString;

    /// No role is known on this platform.
    #[must_use]
    pub fn main(_: &[CString]) -> i32 {
        2
    }
}

fn unsupported() -> Error {
    Error::new(ErrorCode::Unsupported, "Failed to initialize shell: shells run on Linux only; use `child_process` here")
}
