//! The binding of `PtySession`.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use napi::bindgen_prelude::{Either, Function, Object, Uint8Array};
use napi::{Env, Unknown};
use napi_derive::napi;
use sinew::shell::output::Chunk;
use sinew::shell::pty;

use crate::abort::Abort;
use crate::chunk::{self, Data};
use crate::pty_request::{PtyRequest, PtyResult, PtyTerminal};
use crate::sandbox::SandboxHandle;
use crate::stream::Stream;
use crate::task;

/// The maximum time for a program to start.
const START: Duration = Duration::from_secs(30);

/// A pseudo-terminal session.
#[napi]
pub(crate) struct PtyHandle {
    session: pty::PtySession,
}

impl Drop for PtyHandle {
    fn drop(&mut self) {
        // JavaScript keeps every running session, so its thread is ending and nothing waits for it. A session that is
        // not running needs no cleanup.
        let _ = self.session.kill();
    }
}

#[napi]
impl PtyHandle {
    /// Creates a session without a program.
    #[napi(constructor)]
    pub fn new() -> PtyHandle {
        PtyHandle { session: pty::PtySession::new() }
    }

    /// Starts a program; the promise settles after the last chunk was delivered.
    #[napi(ts_return_type = "Promise<PtyResult>")]
    pub fn start<'env>(
        &self,
        env: &'env Env,
        options: PtyRequest,
        sandbox: Option<&SandboxHandle>,
        on_chunk: Option<Function<'env, Either<String, Uint8Array>, Unknown<'static>>>,
        abort: Option<&Abort>,
    ) -> napi::Result<Object<'env>> {
        let (options, cancel) = options.into_core(sandbox, abort);
        let stream =
            on_chunk.map(|callback| Stream::<Chunk, Data>::new(&callback, abort, &cancel, chunk::data)).transpose()?;
        let stream = Arc::new(stream);
        let last = Arc::clone(&stream);
        let on_chunk = move |chunk| match &*stream {
            Some(stream) if !stream.send(chunk) => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        };
        task::settled(env, "pty", PtyResult::from, |settle| {
            self.session.start_chunks(options, &cancel, on_chunk, move |end| {
                // The other reference is gone, so this waits until everything was delivered.
                drop(last);
                settle(end);
            })
        })
    }

    /// Queues input.
    #[napi]
    pub fn write(&self, env: &Env, data: Either<String, Uint8Array>) -> napi::Result<()> {
        let bytes = match &data {
            Either::A(text) => text.as_bytes(),
            Either::B(bytes) => bytes.as_ref(),
        };
        task::now(env, "pty", || self.session.write(bytes))
    }

    /// Resizes the terminal.
    #[napi]
    pub fn resize(&self, env: &Env, cols: u32, rows: u32) -> napi::Result<()> {
        task::now(env, "pty", || self.session.resize(cols, rows))
    }

    /// Ends the program and all its descendants.
    #[napi]
    pub fn kill(&self, env: &Env) -> napi::Result<()> {
        task::now(env, "pty", || self.session.kill())
    }

    /// Pauses or resumes reading the terminal.
    #[napi]
    pub fn pause(&self, env: &Env, paused: bool) -> napi::Result<()> {
        task::now(env, "pty", || self.session.pause(paused))
    }

    /// Returns the running program; null before the start.
    #[napi]
    pub fn terminal(&self) -> Option<PtyTerminal> {
        self.session.terminal().map(PtyTerminal::from)
    }

    /// Blocks until the program was started; null if it could not be started.
    #[napi]
    pub fn wait_terminal(&self) -> Option<PtyTerminal> {
        self.session.wait_terminal(START).map(PtyTerminal::from)
    }

    /// Resolves when the program was started; to null if it could not be started.
    #[napi(ts_return_type = "Promise<PtyTerminal | null>")]
    pub fn started<'env>(&self, env: &'env Env) -> napi::Result<Object<'env>> {
        // Obtained now, because a program that ends immediately counts as started.
        let wait = self.session.terminal_waiter();
        task::alone(env, "pty", move || Ok(wait(START)), |it| it.map(PtyTerminal::from))
    }

    /// Returns the columns and rows of the terminal; null if no program runs.
    #[napi]
    pub fn size(&self) -> Option<Vec<u32>> {
        self.session.size().map(|(cols, rows)| vec![cols.into(), rows.into()])
    }

    /// Returns the number of bytes of queued input.
    #[napi(getter)]
    pub fn pending_bytes(&self) -> u32 {
        u32::try_from(self.session.pending_bytes()).unwrap_or(u32::MAX)
    }
}
