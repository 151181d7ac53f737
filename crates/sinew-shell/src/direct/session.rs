//! A shell that keeps its state between commands.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use sinew_base::{CancelToken, Error, ErrorCode, Result};

use super::run::{self, End, Input, Launch, Watch};
use super::state::State;
use super::tree::Tree;
use crate::known_bashes::KnownBashes;
use crate::output::{Chunk, Encoding};
use crate::queue::{RunQueue, Ticket};
use crate::{Engine, GRACE, Job, OnChunk, RunOptions, RunResult, ShellOptions, Supervisor, environment, request};

/// The time during which output of background jobs is still read.
const LINGER: Duration = Duration::from_millis(80);

/// A shell whose variables, functions, options, directory and background jobs persist from run to run; [`super`] lists
/// the exceptions.
///
/// Nothing is started before the first run. Dropping it, or [`Shell::close`], terminates all its processes. Its state
/// between runs is stored in a private directory below `TMPDIR` or `TEMP` of its environment, which is deleted with it.
/// All methods may be called from any thread.
#[derive(Debug)]
pub struct Shell {
    supervisor: Supervisor,
    options: ShellOptions,
    queue: RunQueue,
    session: Mutex<Session>,
    closed: AtomicBool,
}

#[derive(Debug, Default)]
struct Session {
    state: Option<State>,
    // The processes left running by earlier runs.
    trees: Vec<Arc<Tree>>,
}

impl Shell {
    /// Creates a shell that is not started yet. The supervisor is never started; it only caches which file is a bash.
    pub fn new(supervisor: Supervisor, options: ShellOptions) -> Shell {
        Shell {
            supervisor,
            options,
            queue: RunQueue::default(),
            session: Mutex::default(),
            closed: AtomicBool::new(false),
        }
    }

    /// Returns the interpreter of scripts: [`Engine::Bash`]. [`Engine::Brush`] if the options request it: every run
    /// then fails.
    pub fn engine(&self) -> Engine {
        match self.options.engine {
            Engine::Brush => Engine::Brush,
            Engine::Auto | Engine::Bash => Engine::Bash,
        }
    }

    /// Runs one command, after the ones queued before it. Blocks until the command has ended and its output is
    /// delivered; background jobs continue.
    ///
    /// `cancel` and [`Shell::abort`] stop it: its processes receive TERM, and KILL after [`GRACE`] (on Windows they are
    /// terminated at once); jobs of earlier runs continue, and the state of the shell is as before the run. While
    /// background jobs keep the output open, it is read for another 80 ms.
    ///
    /// # Errors
    /// Returns an error if the command, a variable, the directory or the snapshot is invalid, if the shell is closed,
    /// and [`ErrorCode::Unsupported`] if there is no bash.
    pub fn run(&self, run: &RunOptions, cancel: &CancelToken, on_chunk: OnChunk<'_>) -> Result<RunResult> {
        self.run_at(&self.line_up(), run, cancel, on_chunk)
    }

    /// Returns a ticket in the queue of commands, for callers that run the command on another thread: runs are executed
    /// in the order of their tickets, and [`Shell::abort`] includes them from here on.
    pub fn line_up(&self) -> Ticket {
        self.queue.line_up()
    }

    /// Does the same as [`Shell::run`] with a ticket of the queue, which is dropped afterwards.
    ///
    /// # Errors
    /// Returns the errors of [`Shell::run`].
    pub fn run_at(
        &self,
        ticket: &Ticket,
        run: &RunOptions,
        cancel: &CancelToken,
        on_chunk: OnChunk<'_>,
    ) -> Result<RunResult> {
        request::check(run)?;
        environment::check_functions(&run.env, false)?;
        request::refuse_sandbox(&self.options)?;
        if let Err(why) = cancel.check().and_then(|()| ticket.wait(cancel)) {
            return Ok(RunResult::stopped(why));
        }
        if self.closed.load(Ordering::Acquire) {
            return Err(Error::new(ErrorCode::InvalidState, "shell: the shell is closed: make a new one"));
        }
        let watch = Watch { cancel, abort: ticket.abort() };
        if let Some(why) = watch.why() {
            return Ok(RunResult::stopped(why));
        }
        request::check_cwd(run.cwd.as_deref())?;
        // No other caller has the turn.
        self.session.lock().run(self.supervisor.known_bashes(), &self.options, run, &watch, on_chunk)
    }

    /// Stops the running command, if there is one, and waits for its end. Queued commands continue.
    pub fn abort(&self) {
        self.aborting()();
    }

    /// Does the same in two steps: the running command is stopped now, and the returned function waits for its end.
    pub fn aborting(&self) -> impl FnOnce() + Send + 'static {
        self.queue.abort()
    }

    /// Returns the running processes of earlier runs. Their commands are command lines on Linux, and program files
    /// elsewhere.
    ///
    /// # Errors
    /// Never fails.
    pub fn jobs(&self) -> Result<Vec<Job>> {
        let ticket = self.line_up();
        if ticket.wait(&CancelToken::never()).is_err() {
            return Ok(Vec::new());
        }
        let mut session = self.session.lock();
        let mut jobs = Vec::new();
        session.trees.retain(|tree| {
            let of_run = tree.jobs();
            let lives = !of_run.is_empty();
            jobs.extend(of_run);
            lives
        });
        Ok(jobs)
    }

    /// Terminates the running command and every job: TERM, and KILL after [`GRACE`]. Returns when all are gone. Later
    /// runs fail.
    pub fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.abort();
        let ticket = self.line_up();
        if ticket.wait(&CancelToken::never()).is_err() {
            return;
        }
        let session = std::mem::take(&mut *self.session.lock());
        std::thread::scope(|scope| {
            for tree in &session.trees {
                scope.spawn(|| tree.end(GRACE));
            }
        });
    }

    /// Runs one command and returns its result with its complete output.
    ///
    /// # Errors
    /// Returns the errors of [`Shell::run`].
    pub fn output(&self, command: &str) -> Result<(RunResult, String)> {
        let mut text = String::new();
        let run = RunOptions { command: command.to_string(), ..RunOptions::default() };
        let result = self.run(&run, &CancelToken::never(), &mut |chunk| {
            text.push_str(&chunk);
            ControlFlow::Continue(())
        })?;
        Ok((result, text))
    }
}

impl Session {
    fn run(
        &mut self,
        known: &KnownBashes,
        options: &ShellOptions,
        run: &RunOptions,
        watch: &Watch<'_>,
        on_chunk: OnChunk<'_>,
    ) -> Result<RunResult> {
        let failed = |cause: std::io::Error| Error::io("Failed to initialize shell", &cause);
        let state = match &mut self.state {
            Some(state) => state,
            None => self.state.insert(State::new(known, options)?),
        };
        let command = state.prepare(options, run)?;
        let input = run.stdin.clone().map_or(Input::Nothing, Input::Bytes);
        let launch = Launch { command, input, separate: false, encoding: Encoding::Text, idle: LINGER, most: LINGER };
        let mut text = |chunk: Chunk| on_chunk(chunk.into_text());
        let (end, tree) = run::run(launch, watch, &mut text).map_err(failed)?;
        let exit = match end {
            End::Stopped(why) => return Ok(RunResult { working_dir: state.directory(), ..RunResult::stopped(why) }),
            End::Exited(exit) => exit.of_bash(),
        };
        if let Some(result) = state.take_over(run)? {
            if !tree.jobs().is_empty() {
                self.trees.push(tree);
            }
            return result;
        }
        // All its processes end with the shell.
        *self = Session::default();
        let why = match exit.signal {
            Some(_) => "a signal killed the shell",
            None => crate::request::ENDED,
        };
        Ok(RunResult { exit_code: exit.code, signal: exit.signal, state_lost: Some(why), ..RunResult::default() })
    }
}
