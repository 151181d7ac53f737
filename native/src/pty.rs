//! The binding of `PtySession`.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use napi::bindgen_prelude::{Either, Function, Object, Uint8Array};
use napi::{Env, Unknown};
use napi_derive::napi;
use sinew::base::CancelToken;
use sinew::shell::pty::{self, PtyEnd, PtyOptions};

use crate::abort::{self, Abort};
use crate::stream::Stream;
use crate::task;

/// A program to run and the terminal to run it on.
#[napi(object)]
pub(crate) struct PtyRequest {
    pub command: String,
    pub shell: Option<String>,
    pub cwd: Option<String>,
    /// The whole environment of the program.
    pub env: HashMap<String, String>,
    pub cols: Option<u32>,
    pub rows: Option<u32>,
    pub timeout_ms: Option<u32>,
    /// The file of the supervisor program.
    pub supervisor: Option<String>,
}

impl PtyRequest {
    fn into_core(self, abort: Option<&Abort>) -> (PtyOptions, CancelToken) {
        let PtyRequest { command, shell, cwd, env, cols, rows, timeout_ms, supervisor } = self;
        let default = PtyOptions::new(command);
        let options = PtyOptions {
            shell: shell.unwrap_or(default.shell),
            cwd: cwd.map_or(default.cwd, |path| Some(path.into())),
            env: env.into_iter().map(|(name, value)| (name.into(), value.into())).collect(),
            cols: cols.unwrap_or(default.cols),
            rows: rows.unwrap_or(default.rows),
            supervisor: supervisor.map(Into::into),
            command: default.command,
        };
        (options, abort::cancel(abort, timeout_ms))
    }
}

/// The end of a program.
#[napi(object)]
pub(crate) struct PtyResult {
    pub exit_code: Option<i32>,
    pub cancelled: bool,
    pub timed_out: bool,
}

impl From<PtyEnd> for PtyResult {
    fn from(end: PtyEnd) -> PtyResult {
        let PtyEnd { exit_code, cancelled, timed_out } = end;
        PtyResult { exit_code, cancelled, timed_out }
    }
}

/// A pseudo-terminal session.
#[napi]
pub(crate) struct PtyHandle {
    session: pty::PtySession,
}

impl Drop for PtyHandle {
    fn drop(&mut self) {
        // JavaScript holds every session that runs, so this is the end of its thread: nobody waits any more. A
        // session that does not run needs no end.
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
        on_chunk: Option<Function<'env, String, Unknown<'static>>>,
        abort: Option<&Abort>,
    ) -> napi::Result<Object<'env>> {
        let (options, cancel) = options.into_core(abort);
        let stream = on_chunk
            .map(|callback| Stream::<String, String>::new(&callback, abort, &cancel, |text| text))
            .transpose()?;
        let stream = Arc::new(stream);
        let last = Arc::clone(&stream);
        let on_chunk = move |text| match &*stream {
            Some(stream) if !stream.send(text) => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        };
        task::settled(env, "pty", PtyResult::from, |settle| {
            self.session.start(options, &cancel, on_chunk, move |end| {
                // The other holder is gone, so this waits until all of it was delivered.
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

    /// Gives the terminal another size.
    #[napi]
    pub fn resize(&self, env: &Env, cols: u32, rows: u32) -> napi::Result<()> {
        task::now(env, "pty", || self.session.resize(cols, rows))
    }

    /// Ends the program and all that came from it.
    #[napi]
    pub fn kill(&self, env: &Env) -> napi::Result<()> {
        task::now(env, "pty", || self.session.kill())
    }

    /// The number of bytes that wait to be typed.
    #[napi(getter)]
    pub fn pending_bytes(&self) -> u32 {
        u32::try_from(self.session.pending_bytes()).unwrap_or(u32::MAX)
    }
}
