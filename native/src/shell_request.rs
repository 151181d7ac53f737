//! Options and results of `Shell` and `executeShell`.

use std::collections::HashMap;
use std::sync::LazyLock;

use napi::bindgen_prelude::Uint8Array;
use napi_derive::napi;
use parking_lot::Mutex;
use sinew::base::CancelToken;
use sinew::shell::{Engine, Job, RunOptions, RunResult, ShellOptions, Supervisor};

use crate::abort::{self, Abort};
use crate::sandbox::{SandboxHandle, SandboxRefusal};

/// The options of a shell.
#[napi(object)]
pub(crate) struct ShellSetup {
    /// The file of the supervisor program.
    pub supervisor: String,
    /// The whole environment.
    pub env: HashMap<String, String>,
    /// The initial directory. Default: that of the process.
    pub cwd: Option<String>,
    pub snapshot_path: Option<String>,
    pub engine: Option<String>,
}

/// One command.
#[napi(object)]
pub(crate) struct ShellRun {
    pub command: String,
    pub cwd: Option<String>,
    pub env: Option<HashMap<String, String>>,
    pub stdin: Option<Uint8Array>,
    pub timeout_ms: Option<u32>,
}

/// The result of a command.
#[napi(object)]
pub(crate) struct ShellAnswer {
    pub exit_code: Option<i32>,
    pub signal: Option<String>,
    pub cancelled: bool,
    pub timed_out: bool,
    pub working_dir: Option<String>,
    pub state_lost_reason: Option<String>,
    /// The calls that the sandbox denied.
    pub refused: Vec<SandboxRefusal>,
}

/// A process of an earlier run.
#[napi(object)]
pub(crate) struct ShellJob {
    pub pid: i32,
    pub command: String,
}

impl ShellSetup {
    pub(crate) fn into_core(self, sandbox: Option<&SandboxHandle>) -> (Supervisor, ShellOptions) {
        let ShellSetup { supervisor, env, cwd, snapshot_path, engine } = self;
        let default = ShellOptions::default();
        let options = ShellOptions {
            env: env.into_iter().map(|(name, value)| (name.into(), value.into())).collect(),
            cwd: cwd.map_or(default.cwd, |path| Some(path.into())),
            snapshot: snapshot_path.map_or(default.snapshot, |path| Some(path.into())),
            engine: engine.and_then(|name| Engine::from_name(&name)).unwrap_or(default.engine),
            bash: default.bash,
            sandbox: sandbox.map(|handle| handle.sandbox.clone()),
        };
        (supervisor_at(supervisor), options)
    }
}

/// Returns the supervisor program at a path. Shells with the same path share the cache of known bashes.
fn supervisor_at(path: String) -> Supervisor {
    static BY_PATH: LazyLock<Mutex<HashMap<String, Supervisor>>> = LazyLock::new(Mutex::default);
    let mut by_path = BY_PATH.lock();
    by_path.entry(path).or_insert_with_key(|path| Supervisor::new(path)).clone()
}

impl ShellRun {
    pub(crate) fn into_core(self, abort: Option<&Abort>) -> (RunOptions, CancelToken) {
        let ShellRun { command, cwd, env, stdin, timeout_ms } = self;
        let options = RunOptions {
            command,
            cwd: cwd.map(Into::into),
            env: env.unwrap_or_default().into_iter().collect(),
            stdin: stdin.map(|bytes| bytes.to_vec()),
        };
        (options, abort::cancel(abort, timeout_ms))
    }
}

impl From<RunResult> for ShellAnswer {
    fn from(result: RunResult) -> ShellAnswer {
        let RunResult { exit_code, signal, cancelled, timed_out, working_dir, state_lost, refused } = result;
        ShellAnswer {
            exit_code,
            signal: signal.map(str::to_string),
            cancelled,
            timed_out,
            working_dir: working_dir.map(|path| path.to_string_lossy().into_owned()),
            state_lost_reason: state_lost.map(str::to_string),
            refused: refused.into_iter().map(SandboxRefusal::from).collect(),
        }
    }
}

impl From<Job> for ShellJob {
    fn from(job: Job) -> ShellJob {
        let Job { pid, command } = job;
        ShellJob { pid, command }
    }
}
