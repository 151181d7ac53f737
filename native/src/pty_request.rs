//! Options and results of `PtySession`.

use std::collections::HashMap;

use napi::Env;
use napi_derive::napi;
use sinew::base::{CancelToken, Result};
use sinew::shell::output::Encoding;
use sinew::shell::pty::{PtyEnd, PtyOptions, Terminal};

use crate::abort::{self, Abort};
use crate::sandbox::SandboxHandle;
use crate::task;

/// A program to run and the terminal to run it on.
#[napi(object)]
pub(crate) struct PtyRequest {
    pub command: Option<String>,
    /// A program and its arguments, instead of a command.
    pub args: Option<Vec<String>>,
    pub shell: Option<String>,
    pub login: Option<bool>,
    /// Chunks are bytes, not text.
    pub bytes: Option<bool>,
    pub cwd: Option<String>,
    /// The whole environment of the program.
    pub env: HashMap<String, String>,
    /// The variables that login files cannot replace.
    pub kept: Vec<String>,
    pub cols: Option<u32>,
    pub rows: Option<u32>,
    pub timeout_ms: Option<u32>,
    /// The file of the supervisor program.
    pub supervisor: Option<String>,
}

impl PtyRequest {
    pub(crate) fn into_core(self, sandbox: Option<&SandboxHandle>, abort: Option<&Abort>) -> (PtyOptions, CancelToken) {
        let PtyRequest { command, args, shell, login, bytes, cwd, env, kept, cols, rows, timeout_ms, supervisor } =
            self;
        let default = PtyOptions::new(command.unwrap_or_default());
        let options = PtyOptions {
            shell: shell.unwrap_or(default.shell),
            login: login.unwrap_or(default.login),
            argv: args,
            encoding: if bytes == Some(true) { Encoding::Bytes } else { Encoding::Text },
            cwd: cwd.map_or(default.cwd, |path| Some(path.into())),
            env: env.into_iter().map(|(name, value)| (name.into(), value.into())).collect(),
            kept,
            cols: cols.unwrap_or(default.cols),
            rows: rows.unwrap_or(default.rows),
            supervisor: supervisor.map(Into::into),
            sandbox: sandbox.map(|handle| handle.sandbox.clone()),
            command: default.command,
        };
        (options, abort::cancel(abort, timeout_ms))
    }
}

/// The result of a program.
#[napi(object)]
pub(crate) struct PtyResult {
    pub exit_code: Option<i32>,
    /// The number of the signal that ended it.
    pub signal: Option<i32>,
    pub cancelled: bool,
    pub timed_out: bool,
}

impl From<PtyEnd> for PtyResult {
    fn from(end: PtyEnd) -> PtyResult {
        let PtyEnd { exit_code, signal, cancelled, timed_out } = end;
        PtyResult { exit_code, signal, cancelled, timed_out }
    }
}

/// A terminal without a program; the caller must close both ends.
#[napi(object)]
pub(crate) struct PtyPair {
    pub master: i32,
    pub slave: i32,
    pub name: String,
}

/// Opens a terminal.
#[napi]
pub(crate) fn open_pty(env: &Env, cols: u32, rows: u32) -> napi::Result<PtyPair> {
    task::now(env, "pty", || open(cols, rows))
}

#[cfg(unix)]
fn open(cols: u32, rows: u32) -> Result<PtyPair> {
    use std::os::fd::IntoRawFd;
    let (master, slave, name) = sinew::shell::pty::open_pair(cols, rows)?;
    Ok(PtyPair { master: master.into_raw_fd(), slave: slave.into_raw_fd(), name })
}

#[cfg(not(unix))]
fn open(_: u32, _: u32) -> Result<PtyPair> {
    Err(sinew::base::Error::new(sinew::base::ErrorCode::Unsupported, "open: terminals have no descriptors on Windows"))
}

/// A running program and its terminal.
#[napi(object)]
pub(crate) struct PtyTerminal {
    pub pid: u32,
    /// The file descriptor of the host's end of the terminal.
    pub fd: i32,
    /// The path of the program's end of the terminal.
    pub name: String,
}

impl From<Terminal> for PtyTerminal {
    fn from(terminal: Terminal) -> PtyTerminal {
        let Terminal { pid, fd, name } = terminal;
        PtyTerminal { pid, fd, name }
    }
}
