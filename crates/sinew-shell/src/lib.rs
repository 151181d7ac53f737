//! Shell sessions, pseudo-terminals and output sinks.
//!
//! A script runs under a supervisor process ([`host`]): whatever it does to its interpreter ends that and never the
//! host, and whatever happens to the host ends everything that the script started. Two engines run scripts: the
//! system's bash, and an embedded interpreter where there is none.
//!
//! - [`execute_shell`]: one command in a shell of its own.
//! - [`execute_streams`]: the same with its streams apart, or a program without a shell.
//! - [`Shell`]: commands one after another in a shell that keeps its state.
//! - [`pty`]: programs that need a terminal.
//! - `TtyWriter` (Unix): output to a terminal that may be slow or gone.
//! - [`output`]: from bytes to few chunks of text within a limit.
//!
//! All of it blocks its thread; the caller chooses the thread. Nothing here reads the environment.

pub mod output;
pub mod pty;

#[cfg(target_os = "linux")]
mod environment;
#[cfg(target_os = "linux")]
pub mod host;
#[cfg(target_os = "linux")]
mod input;
#[cfg(target_os = "linux")]
mod one_shot;
mod options;
#[cfg(target_os = "linux")]
mod output_relay;
#[cfg(target_os = "linux")]
mod request;
#[cfg(target_os = "linux")]
mod session;
#[cfg(target_os = "linux")]
mod signals;
#[cfg(target_os = "linux")]
mod supervisor;
#[cfg(unix)]
mod tty_writer;
#[cfg(not(target_os = "linux"))]
mod unsupported;
#[cfg(target_os = "linux")]
mod wire;

#[cfg(target_os = "linux")]
pub use environment::is_private;
#[cfg(target_os = "linux")]
pub use input::InputPipe;
#[cfg(target_os = "linux")]
pub use one_shot::{StreamOptions, execute_shell, execute_streams};
pub use options::{Engine, Environment, GRACE, Job, RunOptions, RunResult, ShellOptions};
#[cfg(target_os = "linux")]
pub use output_relay::{OnChunk, OnStreamChunk};
#[cfg(target_os = "linux")]
pub use session::{Shell, Ticket};
#[cfg(target_os = "linux")]
pub use supervisor::Supervisor;
#[cfg(unix)]
pub use tty_writer::TtyWriter;
#[cfg(not(target_os = "linux"))]
pub use unsupported::{
    InputPipe, OnChunk, OnStreamChunk, Shell, StreamOptions, Supervisor, Ticket, execute_shell, execute_streams, host,
};
