//! A shell that lives on from command to command.

mod bash;
mod traps;
mod turn;

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use sinew_base::{Cancel, Error, ErrorCode, Result};

use crate::carrier::{OnChunk, Watch};
use crate::companion::Companion;
use crate::one_shot::{bash as bash_of, interpreter, stopped};
use crate::{Engine, GRACE, Job, RunOptions, RunResult, ShellOptions, request};
use bash::Session;
pub use turn::Place;
use turn::Turn;

/// A shell whose variables, functions, options, directory and background jobs persist from run to run.
///
/// Nothing is started before the first run. Dropping it, or [`Shell::close`], ends everything that it started.
/// All methods may be called from any thread. The process of the host must be visible under `/proc` to its own
/// children (it is, unless it is marked as not dumpable).
#[derive(Debug)]
pub struct Shell {
    companion: Companion,
    options: ShellOptions,
    engine: OnceLock<Engine>,
    turn: Turn,
    session: Mutex<Option<Session>>,
    closed: std::sync::atomic::AtomicBool,
}

impl Shell {
    /// A shell that is not started yet.
    pub fn new(companion: Companion, options: ShellOptions) -> Shell {
        Shell {
            companion,
            options,
            engine: OnceLock::new(),
            turn: Turn::default(),
            session: Mutex::default(),
            closed: false.into(),
        }
    }

    /// Which interpreter runs the scripts: [`Engine::Bash`] or [`Engine::Brush`]. The first call may start a bash
    /// to learn its version.
    pub fn engine(&self) -> Engine {
        *self.engine.get_or_init(|| match self.options.engine {
            // A bash that is named and missing is an error, not a reason to take another interpreter.
            Engine::Auto if self.options.bash.is_some() || bash_of(&self.companion, &self.options).is_some() => {
                Engine::Bash
            }
            Engine::Auto => Engine::Brush,
            engine => engine,
        })
    }

    /// Runs one command, after those that were asked for before it. Blocks its thread until the command is over
    /// and its output handed over; a background job goes on.
    ///
    /// `cancel` and [`Shell::abort`] stop it: what the command started gets TERM, and KILL after [`GRACE`]; jobs of
    /// earlier runs go on. The shell keeps its state where that is possible and says so where it is not
    /// ([`RunResult::state_lost`]). While background jobs hold the output, it is read for 80 ms more.
    ///
    /// # Errors
    /// A command, variable, directory or snapshot that cannot be used; a shell that cannot be started; a shell that
    /// is closed.
    pub fn run(&self, run: &RunOptions, cancel: &Cancel, on_chunk: OnChunk<'_>) -> Result<RunResult> {
        self.run_at(&self.line_up()?, run, cancel, on_chunk)
    }

    /// A place in the queue of commands, for a caller that runs the command on another thread: runs come in the order
    /// in which their places were asked for, and [`Shell::abort`] knows them from here on.
    ///
    /// # Errors
    /// When the process has no descriptor left.
    pub fn line_up(&self) -> Result<Place> {
        self.turn.line_up().map_err(|cause| Error::io("shell: failed to prepare a run", &cause))
    }

    /// The same as [`Shell::run`] at a place of the queue. The place is left when it is dropped.
    ///
    /// # Errors
    /// As [`Shell::run`].
    pub fn run_at(&self, place: &Place, run: &RunOptions, cancel: &Cancel, on_chunk: OnChunk<'_>) -> Result<RunResult> {
        request::check(run)?;
        if let Err(why) = cancel.check().and_then(|()| place.wait(cancel)) {
            return Ok(stopped(why));
        }
        if self.closed.load(std::sync::atomic::Ordering::Acquire) {
            return Err(Error::new(ErrorCode::InvalidState, "shell: the shell is closed: make a new one"));
        }
        let watch = Watch::new(cancel, Arc::clone(place.abort()));
        if let Some(why) = watch.why() {
            return Ok(stopped(why));
        }
        request::check_cwd(run.cwd.as_deref())?;
        self.run_now(run, &watch, on_chunk)
    }

    /// Stops the running command, if there is one, and waits until it has settled. Waiting commands go on.
    pub fn abort(&self) {
        self.aborting()();
    }

    /// The same in two steps: the command that runs now is stopped here, and what this gives waits until it has
    /// settled.
    pub fn aborting(&self) -> impl FnOnce() + Send + 'static {
        self.turn.abort()
    }

    /// The processes of earlier runs that still live.
    ///
    /// # Errors
    /// When the companion does not answer.
    pub fn jobs(&self) -> Result<Vec<Job>> {
        let place = self.line_up()?;
        if place.wait(&Cancel::never()).is_err() {
            return Ok(Vec::new());
        }
        match &mut *lock(&self.session) {
            Some(session) => session.jobs(),
            None => Ok(Vec::new()),
        }
    }

    /// Ends the running command and every job: TERM, and KILL after [`GRACE`]. Returns when all are gone. Later
    /// runs are errors.
    pub fn close(&self) {
        self.closed.store(true, std::sync::atomic::Ordering::Release);
        self.abort();
        let place = self.line_up();
        let waited = place.as_ref().is_ok_and(|place| place.wait(&Cancel::never()).is_ok());
        let session = lock(&self.session).take();
        if let Some(session) = session.filter(|_| waited) {
            session.close(GRACE);
        }
    }

    fn run_now(&self, run: &RunOptions, watch: &Watch, on_chunk: OnChunk<'_>) -> Result<RunResult> {
        let mut before = lock(&self.session).take();
        let was = before.is_some();
        let (session, dead) = match before.take_if(|session| session.is_alive()) {
            Some(session) => (session, false),
            None => {
                let interpreter = interpreter(&self.companion, &self.options)?;
                (Session::start(&self.companion, &self.options, interpreter)?, was)
            }
        };
        let (result, kept) = session.run(run, watch, on_chunk)?;
        *lock(&self.session) = kept;
        let mut result = result?;
        if dead {
            result.state_lost.get_or_insert("the shell ended between two runs");
        }
        Ok(result)
    }

    /// Runs one command and returns its result with everything that it printed, without limit.
    ///
    /// # Errors
    /// As [`Shell::run`].
    pub fn output(&self, command: &str) -> Result<(RunResult, String)> {
        let mut text = String::new();
        let run = RunOptions { command: command.to_string(), ..RunOptions::default() };
        let result = self.run(&run, &Cancel::never(), &mut |chunk| {
            text.push_str(&chunk);
            ControlFlow::Continue(())
        })?;
        Ok((result, text))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
