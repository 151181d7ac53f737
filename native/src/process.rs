//! The binding of processes.

use std::time::Duration;

use napi::Env;
use napi::bindgen_prelude::Object;
use napi_derive::napi;
use sinew::process::{self, Process, Status, Terminate};

use crate::abort::{self, Abort};
use crate::task;

/// Signals a process and all its descendants.
#[napi]
pub(crate) fn kill_tree(env: &Env, pid: u32, signal: i32) -> napi::Result<u32> {
    task::now(env, "killTree", || Ok(process::kill_tree(pid, signal) as u32))
}

/// Returns the process ids of all descendants of a process.
#[napi]
pub(crate) fn list_descendants(env: &Env, pid: u32) -> napi::Result<Vec<u32>> {
    task::now(env, "listDescendants", || Ok(process::descendants(pid)))
}

/// The options of ending a process.
#[napi(object)]
pub(crate) struct TerminateRequest {
    pub graceful_ms: Option<u32>,
    pub timeout_ms: Option<u32>,
    pub group: Option<bool>,
}

impl TerminateRequest {
    fn into_core(self) -> Terminate {
        let TerminateRequest { graceful_ms, timeout_ms, group } = self;
        let default = Terminate::default();
        let or = |ms: Option<u32>, default| ms.map_or(default, |ms| Duration::from_millis(ms.into()));
        Terminate {
            graceful: or(graceful_ms, default.graceful),
            timeout: or(timeout_ms, default.timeout),
            group: group.unwrap_or(default.group),
        }
    }
}

/// The result of ending a process and its tree.
#[napi(object)]
pub(crate) struct Termination {
    pub signalled: u32,
    pub exited: u32,
    pub survivors: Vec<u32>,
}

impl From<process::Termination> for Termination {
    fn from(ended: process::Termination) -> Termination {
        let process::Termination { signalled, exited, survivors } = ended;
        Termination { signalled: signalled as u32, exited: exited as u32, survivors }
    }
}

/// A handle to one process. It keeps no system resources between calls.
#[napi]
pub(crate) struct ProcessHandle {
    process: Process,
}

impl From<Process> for ProcessHandle {
    fn from(process: Process) -> ProcessHandle {
        ProcessHandle { process }
    }
}

/// Returns the running process with this id; null if there is none.
#[napi]
pub(crate) fn process_from_pid(pid: u32) -> Option<ProcessHandle> {
    Process::from_pid(pid).map(ProcessHandle::from)
}

#[napi]
impl ProcessHandle {
    /// The process id.
    #[napi(getter)]
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// The process id of the parent; null if it is unknown.
    #[napi]
    pub fn ppid(&self) -> Option<u32> {
        self.process.ppid()
    }

    /// The command line; null if it is unknown.
    #[napi]
    pub fn args(&self) -> Option<Vec<String>> {
        self.process.args()
    }

    /// The running child processes.
    #[napi]
    pub fn children(&self) -> Vec<ProcessHandle> {
        self.process.children().into_iter().map(ProcessHandle::from).collect()
    }

    /// Returns true if the process is running.
    #[napi]
    pub fn running(&self) -> bool {
        self.process.status() == Status::Running
    }

    /// Ends the process and all its descendants.
    #[napi(ts_return_type = "Promise<Termination>")]
    pub fn terminate<'env>(&self, env: &'env Env, options: TerminateRequest) -> napi::Result<Object<'env>> {
        let (process, options) = (self.process, options.into_core());
        task::alone(env, "terminate", move || Ok(process.terminate(&options)), Termination::from)
    }

    /// Waits until the process has ended.
    #[napi(ts_args_type = "timeoutMs?: number, abort?: Abort", ts_return_type = "Promise<void>")]
    pub fn wait_for_exit<'env>(
        &self,
        env: &'env Env,
        timeout_ms: Option<u32>,
        abort: Option<&Abort>,
    ) -> napi::Result<Object<'env>> {
        let (process, cancel) = (self.process, abort::cancel(abort, timeout_ms));
        task::alone(env, "waitForExit", move || Ok(process.wait_for_exit(&cancel)?), |()| ())
    }
}
