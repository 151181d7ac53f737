//! A shell that keeps its state between commands.

mod bash;
mod names;
mod report;
mod script;
mod syntax;
mod traps;

use std::ops::ControlFlow;
use std::sync::OnceLock;

use parking_lot::Mutex;
use sinew_base::{CancelToken, Error, ErrorCode, Result};

use crate::one_shot::{bash as bash_of, interpreter};
use crate::output_relay::Watch;
use crate::queue::{RunQueue, Ticket};
use crate::supervisor::Supervisor;
use crate::{Engine, GRACE, Job, OnChunk, RunOptions, RunResult, ShellOptions, environment, request};
use bash::Session;

/// A shell whose variables, functions, options, directory and background jobs persist from run to run.
///
/// Nothing is started before the first run. Dropping it, or [`Shell::close`], terminates all its processes. All methods
/// may be called from any thread. If the host is marked as not dumpable, the files for the shell are stored in a
/// private temporary directory.
#[derive(Debug)]
pub struct Shell {
    supervisor: Supervisor,
    options: ShellOptions,
    engine: OnceLock<Engine>,
    queue: RunQueue,
    session: Mutex<Option<Session>>,
    closed: std::sync::atomic::AtomicBool,
}

impl Shell {
    /// Creates a shell that is not started yet.
    pub fn new(supervisor: Supervisor, options: ShellOptions) -> Shell {
        Shell {
            supervisor,
            options,
            engine: OnceLock::new(),
            queue: RunQueue::default(),
            session: Mutex::default(),
            closed: false.into(),
        }
    }

    /// Returns the interpreter of scripts: [`Engine::Bash`] or [`Engine::Brush`]. The first call may start a bash to
    /// check its version.
    pub fn engine(&self) -> Engine {
        *self.engine.get_or_init(|| match self.options.engine {
            // A missing bash that was explicitly named is an error, not a reason to use another interpreter.
            Engine::Auto if self.options.bash.is_some() || bash_of(&self.supervisor, &self.options).is_some() => {
                Engine::Bash
            }
            Engine::Auto => Engine::Brush,
            engine => engine,
        })
    }

    /// Runs one command, after the ones queued before it. Blocks until the command has ended and its output is
    /// delivered; background jobs continue.
    ///
    /// `cancel` and [`Shell::abort`] stop it: its processes receive TERM, and KILL after [`GRACE`]; jobs of earlier
    /// runs continue. The shell keeps its state if possible, and otherwise reports the loss in
    /// [`RunResult::state_lost`]. While background jobs keep the output open, it is read for another 80 ms.
    ///
    /// # Errors
    /// Returns an error if the command, a variable, the directory or the snapshot is invalid, if the shell cannot be
    /// started, or if it is closed.
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
        if run.env.iter().any(|(name, _)| environment::function_name(name).is_some()) {
            environment::check_functions(&run.env, self.engine() == Engine::Bash)?;
        }
        if let Err(why) = cancel.check().and_then(|()| ticket.wait(cancel)) {
            return Ok(RunResult::stopped(why));
        }
        if self.closed.load(std::sync::atomic::Ordering::Acquire) {
            return Err(Error::new(ErrorCode::InvalidState, "shell: the shell is closed: make a new one"));
        }
        let watch =
            Watch::new(cancel, ticket.abort()).map_err(|cause| Error::io("shell: failed to prepare a run", &cause))?;
        if let Some(why) = watch.why() {
            return Ok(RunResult::stopped(why));
        }
        request::check_cwd(run.cwd.as_deref())?;
        self.run_now(run, &watch, on_chunk)
    }

    /// Stops the running command, if there is one, and waits for its end. Queued commands continue.
    pub fn abort(&self) {
        self.aborting()();
    }

    /// Does the same in two steps: the running command is stopped now, and the returned function waits for its end.
    pub fn aborting(&self) -> impl FnOnce() + Send + 'static {
        self.queue.abort()
    }

    /// Returns the running processes of earlier runs.
    ///
    /// # Errors
    /// Returns an error if the supervisor does not answer.
    pub fn jobs(&self) -> Result<Vec<Job>> {
        let ticket = self.line_up();
        if ticket.wait(&CancelToken::never()).is_err() {
            return Ok(Vec::new());
        }
        match &mut *self.session.lock() {
            Some(session) => session.jobs(),
            None => Ok(Vec::new()),
        }
    }

    /// Terminates the running command and every job: TERM, and KILL after [`GRACE`]. Returns when all are gone. Later
    /// runs fail.
    pub fn close(&self) {
        self.closed.store(true, std::sync::atomic::Ordering::Release);
        self.abort();
        let ticket = self.line_up();
        let waited = ticket.wait(&CancelToken::never()).is_ok();
        let session = self.session.lock().take();
        if let Some(session) = session.filter(|_| waited) {
            session.close(GRACE);
        }
    }

    fn run_now(&self, run: &RunOptions, watch: &Watch, on_chunk: OnChunk<'_>) -> Result<RunResult> {
        let mut before = self.session.lock().take();
        let was = before.is_some();
        let (session, dead) = match before.take_if(|session| session.is_alive()) {
            Some(session) => (session, false),
            None => {
                let interpreter = interpreter(&self.supervisor, &self.options)?;
                (Session::start(&self.supervisor, &self.options, interpreter)?, was)
            }
        };
        let (result, kept) = session.run(run, watch, on_chunk)?;
        *self.session.lock() = kept;
        let mut result = result?;
        if dead {
            result.state_lost.get_or_insert("the shell ended between two runs");
        }
        Ok(result)
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
