//! What crosses for `Shell` and `executeShell`.

use std::collections::HashMap;
use std::sync::OnceLock;

use napi::bindgen_prelude::Uint8Array;
use napi_derive::napi;
use sinew::base::Cancel;
use sinew::shell::{Companion, Engine, Job, RunOptions, RunResult, ShellOptions};

use crate::abort::{self, Abort};

/// How a shell is set up.
#[napi(object)]
pub(crate) struct ShellSetup {
    /// The companion's file.
    pub companion: String,
    /// The whole environment.
    pub env: HashMap<String, String>,
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

/// How it ended.
#[napi(object)]
pub(crate) struct ShellAnswer {
    pub exit_code: Option<i32>,
    pub signal: Option<String>,
    pub cancelled: bool,
    pub timed_out: bool,
    pub working_dir: Option<String>,
    pub state_lost_reason: Option<String>,
}

/// A process of an earlier run.
#[napi(object)]
pub(crate) struct ShellJob {
    pub pid: i32,
    pub command: String,
}

impl ShellSetup {
    pub(crate) fn into_core(self) -> (Companion, ShellOptions) {
        // All shells share what was learned about the machine's bash.
        static COMPANION: OnceLock<Companion> = OnceLock::new();
        let ShellSetup { companion, env, snapshot_path, engine } = self;
        let companion = COMPANION.get_or_init(|| Companion::new(companion)).clone();
        let options = ShellOptions {
            env: env.into_iter().map(|(name, value)| (name.into(), value.into())).collect(),
            cwd: None,
            snapshot: snapshot_path.map(Into::into),
            engine: engine.and_then(|name| Engine::from_name(&name)).unwrap_or_default(),
            bash: None,
        };
        (companion, options)
    }
}

impl ShellRun {
    pub(crate) fn into_core(self, abort: Option<&Abort>) -> (RunOptions, Cancel) {
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
        let RunResult { exit_code, signal, cancelled, timed_out, working_dir, state_lost } = result;
        ShellAnswer {
            exit_code,
            signal: signal.map(str::to_string),
            cancelled,
            timed_out,
            working_dir: working_dir.map(|path| path.to_string_lossy().into_owned()),
            state_lost_reason: state_lost.map(str::to_string),
        }
    }
}

impl From<Job> for ShellJob {
    fn from(job: Job) -> ShellJob {
        let Job { pid, command } = job;
        ShellJob { pid, command }
    }
}
