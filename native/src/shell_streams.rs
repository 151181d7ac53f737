//! The binding of `executeShell` and `run`: one command with its streams.

use std::sync::Arc;

use napi::bindgen_prelude::{Function, Object, Uint8Array};
use napi::{Env, Unknown};
use napi_derive::napi;
use parking_lot::Mutex;
use sinew::shell::output::Encoding;
use sinew::shell::{self, InputPipe, OnStreamChunk, StreamOptions};

use crate::abort::{self, Abort};
use crate::chunk::OutputChunk;
use crate::sandbox::SandboxHandle;
use crate::shell::streamed;
use crate::shell_request::{ShellRun, ShellSetup};
use crate::task;

/// The streams of one command.
#[napi(object)]
pub(crate) struct ShellStreams {
    /// A program and its arguments, instead of a script.
    pub args: Option<Vec<String>>,
    /// Whether standard error is separate.
    pub separate: Option<bool>,
    /// Chunks are bytes, not text.
    pub bytes: Option<bool>,
}

impl ShellStreams {
    fn into_core(self, input: Option<&ShellInput>) -> StreamOptions {
        let ShellStreams { args, separate, bytes } = self;
        StreamOptions {
            argv: args,
            separate: separate.unwrap_or_default(),
            encoding: if bytes == Some(true) { Encoding::Bytes } else { Encoding::Text },
            input: input.and_then(ShellInput::pipe),
        }
    }
}

/// Runs one command in its own shell, or one program.
#[allow(clippy::too_many_arguments, reason = "an object of JavaScript cannot pass handles")]
#[napi(ts_return_type = "Promise<ShellAnswer>")]
pub(crate) fn execute_shell<'env>(
    env: &'env Env,
    setup: ShellSetup,
    run: ShellRun,
    streams: ShellStreams,
    input: Option<&ShellInput>,
    sandbox: Option<&SandboxHandle>,
    on_chunk: Option<Function<'env, OutputChunk, Unknown<'static>>>,
    abort: Option<&Abort>,
) -> napi::Result<Object<'env>> {
    let (supervisor, options) = setup.into_core(sandbox);
    let (run, cancel) = run.into_core(abort);
    let streams = streams.into_core(input);
    let ends = cancel.clone();
    let work = move |on_chunk: OnStreamChunk<'_>| {
        shell::execute_streams(&supervisor, &options, &run, &streams, &cancel, on_chunk)
    };
    streamed(env, on_chunk, abort, &ends, OutputChunk::from, work)
}

/// The standard input of a command while it runs.
#[napi]
pub(crate) struct ShellInput {
    /// `None` after it was released, because the garbage collector may keep this object for a long time.
    pipe: Mutex<Option<Arc<InputPipe>>>,
}

impl ShellInput {
    fn pipe(&self) -> Option<Arc<InputPipe>> {
        self.pipe.lock().clone()
    }
}

impl Drop for ShellInput {
    fn drop(&mut self) {
        self.release();
    }
}

#[napi]
impl ShellInput {
    /// Creates a pipe without a reader.
    #[napi(constructor)]
    pub fn new(env: &Env) -> napi::Result<ShellInput> {
        task::now(env, "shell", || Ok(ShellInput { pipe: Mutex::new(Some(Arc::new(InputPipe::new()?))) }))
    }

    /// Writes bytes; resolves to false if there is no reader any more.
    #[napi(ts_return_type = "Promise<boolean>")]
    pub fn write<'env>(&self, env: &'env Env, bytes: Uint8Array, abort: Option<&Abort>) -> napi::Result<Object<'env>> {
        let (pipe, bytes, cancel) = (self.pipe(), bytes.to_vec(), abort::cancel(abort, None));
        task::alone(env, "shell", move || pipe.map_or(Ok(false), |pipe| pipe.write(&bytes, &cancel)), |taken| taken)
    }

    /// Ends the input.
    #[napi]
    pub fn end(&self) {
        if let Some(pipe) = self.pipe() {
            pipe.close();
        }
    }

    /// Ends the input and closes its descriptors, once the command has ended.
    #[napi]
    pub fn release(&self) {
        if let Some(pipe) = self.pipe.lock().take() {
            pipe.close();
        }
    }
}
