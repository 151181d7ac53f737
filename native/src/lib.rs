//! The N-API binding: converts values, schedules work, forwards errors. It contains no algorithms.
//!
//! `README.md` beside this file describes how to add an export.

// There is nothing to test here (TypeScript tests the binding), and napi's macros register nothing in a test build, so
// every export would be dead code.
#![cfg(not(test))]
#![expect(unreachable_pub, reason = "the macros export what is `pub`; no crate imports this one")]

mod abort;
mod cache;
mod checkpoints;
mod checkpoints_answer;
mod checkpoints_request;
mod checkpoints_store;
mod chunk;
mod clipboard;
mod column_text;
mod diff;
mod error;
mod file_lock;
mod find;
mod glob;
mod grep;
mod grep_request;
mod highlight;
mod html;
mod image;
mod keys;
mod output_sink;
mod patch;
mod process;
mod profile;
mod pty;
mod pty_request;
mod sandbox;
mod sandbox_request;
mod shell;
mod shell_request;
mod shell_streams;
mod stream;
mod sync;
mod system;
mod task;
mod text;
mod tty_writer;
mod view;
mod view_answer;
mod view_open;
mod watch;
mod workspace;
mod workspace_changes;
mod workspace_progress;
mod workspace_request;
mod workspace_status;

use std::sync::LazyLock;

use napi_derive::napi;
use sinew::Sinew;

/// Returns the handle of the process: the scan cache, the pool and the work profile.
fn handle() -> &'static Sinew {
    static HANDLE: LazyLock<Sinew> = LazyLock::new(|| Sinew::in_environment(|name| std::env::var_os(name)));
    &HANDLE
}

/// Returns the version compiled into the addon; the loader compares it with the package's.
#[napi]
pub fn native_version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}
