//! The binding of `Shell`.

use std::ops::ControlFlow;
use std::sync::Arc;

use napi::bindgen_prelude::{Function, JsValuesTupleIntoVec, Object};
use napi::{Env, Unknown};
use napi_derive::napi;
use sinew::base::{CancelToken, Result};
use sinew::shell::{self, RunResult};

use crate::abort::{self, Abort};
use crate::sandbox::SandboxHandle;
use crate::shell_request::{ShellAnswer, ShellJob, ShellRun, ShellSetup};
use crate::stream::Stream;
use crate::task;

/// Runs `work` on its own thread; the promise settles after the last chunk was delivered.
pub(crate) fn streamed<'env, T: Send + 'static, J: JsValuesTupleIntoVec + 'static>(
    env: &'env Env,
    on_chunk: Option<Function<'env, J, Unknown<'static>>>,
    abort: Option<&Abort>,
    cancel: &CancelToken,
    translate: fn(T) -> J,
    work: impl FnOnce(&mut dyn FnMut(T) -> ControlFlow<()>) -> Result<RunResult> + Send + 'static,
) -> napi::Result<Object<'env>> {
    let mut stream = on_chunk.map(|callback| Stream::new(&callback, abort, cancel, translate)).transpose()?;
    let work = move || {
        let result = work(&mut |chunk| match &stream {
            Some(stream) if !stream.send(chunk) => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        });
        if let Some(stream) = &mut stream {
            stream.finish();
        }
        result
    };
    task::alone(env, "shell", work, ShellAnswer::from)
}

/// A shell that keeps its state between commands.
#[napi]
pub(crate) struct ShellHandle {
    shell: Arc<shell::Shell>,
}

#[napi]
impl ShellHandle {
    /// Creates a shell that starts with its first command.
    #[napi(constructor)]
    pub fn new(setup: ShellSetup, sandbox: Option<&SandboxHandle>) -> ShellHandle {
        let (supervisor, options) = setup.into_core(sandbox);
        let shell = Arc::new(shell::Shell::new(supervisor, options));
        abort::close_at_end(&shell);
        ShellHandle { shell }
    }

    /// Runs one command after the previous ones.
    #[napi(ts_return_type = "Promise<ShellAnswer>")]
    pub fn run<'env>(
        &self,
        env: &'env Env,
        run: ShellRun,
        on_chunk: Option<Function<'env, String, Unknown<'static>>>,
        abort: Option<&Abort>,
    ) -> napi::Result<Object<'env>> {
        let (run, cancel) = run.into_core(abort);
        let shell = Arc::clone(&self.shell);
        let ticket = shell.line_up();
        let ends = cancel.clone();
        let work = move |on_chunk: shell::OnChunk<'_>| shell.run_at(&ticket, &run, &cancel, on_chunk);
        streamed(env, on_chunk, abort, &ends, |text| text, work)
    }

    /// Stops the running command.
    #[napi(ts_return_type = "Promise<void>")]
    pub fn abort<'env>(&self, env: &'env Env) -> napi::Result<Object<'env>> {
        let abort = self.shell.aborting();
        let work = move || {
            abort();
            Ok(())
        };
        task::alone(env, "shell", work, |()| ())
    }

    /// Returns the processes of earlier runs that are still running.
    #[napi(ts_return_type = "Promise<Array<ShellJob>>")]
    pub fn jobs<'env>(&self, env: &'env Env) -> napi::Result<Object<'env>> {
        let shell = Arc::clone(&self.shell);
        let rows = |jobs: Vec<shell::Job>| jobs.into_iter().map(ShellJob::from).collect::<Vec<_>>();
        task::alone(env, "shell", move || shell.jobs(), rows)
    }

    /// Ends the shell and its processes.
    #[napi(ts_return_type = "Promise<void>")]
    pub fn close<'env>(&self, env: &'env Env) -> napi::Result<Object<'env>> {
        let shell = Arc::clone(&self.shell);
        let work = move || {
            shell.close();
            Ok(())
        };
        task::alone(env, "shell", work, |()| ())
    }

    /// The engine: `"bash"` or `"brush"`.
    #[napi(getter)]
    pub fn engine(&self) -> &'static str {
        self.shell.engine().as_str()
    }
}
