//! A shell that lives on from command to command.

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
use crate::{Engine, GRACE, Job, OnChunk, RunOptions, RunResult, ShellOptions, Supervisor, request};

/// The time for which output is read that background jobs may still write.
const LINGER: Duration = Duration::from_millis(80);

/// A shell whose variables, functions, options, directory and background jobs persist from run to run; what else
/// does and what does not, see [`super`].
///
/// Nothing is started before the first run. Dropping it, or [`Shell::close`], ends everything that it started. What it
/// keeps between runs lies in a folder of its own that only this user may read, below `TMPDIR` or `TEMP` of its
/// environment, and is deleted with it. All methods may be called from any thread.
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
    // What earlier runs left running.
    trees: Vec<Arc<Tree>>,
}

impl Shell {
    /// A shell that is not started yet. The supervisor never is; it remembers which file is a bash.
    pub fn new(supervisor: Supervisor, options: ShellOptions) -> Shell {
        Shell {
            supervisor,
            options,
            queue: RunQueue::default(),
            session: Mutex::default(),
            closed: AtomicBool::new(false),
        }
    }

    /// Returns the interpreter that runs the scripts: [`Engine::Bash`]. [`Engine::Brush`] where the options ask for it:
    /// then every run is an error.
    pub fn engine(&self) -> Engine {
        match self.options.engine {
            Engine::Brush => Engine::Brush,
            Engine::Auto | Engine::Bash => Engine::Bash,
        }
    }

    /// Runs one command, after those that were asked for before it. Blocks its thread until the command is over
    /// and its output handed over; a background job goes on.
    ///
    /// `cancel` and [`Shell::abort`] stop it: what the command started gets TERM, and KILL after [`GRACE`] (on Windows it
    /// ends at once); jobs of earlier runs go on, and the shell is as it was before the run. While background
    /// jobs hold the output, it is read for 80 ms more.
    ///
    /// # Errors
    /// A command, variable, directory or snapshot that cannot be used; no bash ([`ErrorCode::Unsupported`]); a shell that
    /// is closed.
    pub fn run(&self, run: &RunOptions, cancel: &CancelToken, on_chunk: OnChunk<'_>) -> Result<RunResult> {
        self.run_at(&self.line_up(), run, cancel, on_chunk)
    }

    /// Takes a ticket of the queue of commands, for a caller that runs the command on another thread: runs come in the order
    /// in which their tickets were taken, and [`Shell::abort`] knows them from here on.
    pub fn line_up(&self) -> Ticket {
        self.queue.line_up()
    }

    /// The same as [`Shell::run`] with a ticket of the queue, which is left when the ticket is dropped.
    ///
    /// # Errors
    /// As [`Shell::run`].
    pub fn run_at(
        &self,
        ticket: &Ticket,
        run: &RunOptions,
        cancel: &CancelToken,
        on_chunk: OnChunk<'_>,
    ) -> Result<RunResult> {
        request::check(run)?;
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
        // Nobody else has the turn.
        self.session.lock().run(self.supervisor.known_bashes(), &self.options, run, &watch, on_chunk)
    }

    /// Stops the running command, if there is one, and waits until it has settled. Waiting commands go on.
    pub fn abort(&self) {
        self.aborting()();
    }

    /// The same in two steps: the command that runs now is stopped here, and what this gives waits until it has
    /// settled.
    pub fn aborting(&self) -> impl FnOnce() + Send + 'static {
        self.queue.abort()
    }

    /// The processes of earlier runs that still live. Their commands are command lines on Linux and files of programs
    /// elsewhere.
    ///
    /// # Errors
    /// None here.
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

    /// Ends the running command and every job: TERM, and KILL after [`GRACE`]. Returns when all are gone. Later
    /// runs are errors.
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

    /// Runs one command and returns its result with everything that it printed, without limit.
    ///
    /// # Errors
    /// As [`Shell::run`].
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
        // Everything of it ends with the shell.
        *self = Session::default();
        let why = match exit.signal {
            Some(_) => "a signal killed the shell",
            None => "the command ended the shell (exit, exec or set -e)",
        };
        Ok(RunResult { exit_code: exit.code, signal: exit.signal, state_lost: Some(why), ..RunResult::default() })
    }
}
