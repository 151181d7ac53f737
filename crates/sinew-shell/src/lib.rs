//! Shell sessions, pseudo-terminals and output sinks.
//!
//! On Linux a script runs under a supervisor process (`host`): a script can crash its interpreter but never the host,
//! and if the host ends, every process of the script is terminated. Two engines run scripts: the system's bash, or an
//! embedded interpreter if there is none. On other systems a bash is started without a supervisor ([`direct`]), with
//! the same API.
//!
//! - [`execute_shell`]: runs one command in a new shell.
//! - [`execute_streams`]: does the same with separate output streams, or runs a program without a shell.
//! - [`Shell`]: runs commands one after another in a shell that keeps its state.
//! - [`pty`]: programs that need a terminal.
//! - `TtyWriter` (Unix): writes to a terminal that may be slow or gone.
//! - [`output`]: converts bytes to a small number of text chunks within a limit.
//!
//! All functions block; the caller chooses the thread. This crate reads no environment variables.

pub mod direct;
pub mod output;
pub mod pty;

mod delivery;
mod environment;
#[cfg(target_os = "linux")]
mod fair_deadline;
#[cfg(target_os = "linux")]
pub mod host;
#[cfg(target_os = "linux")]
mod input;
mod known_bashes;
#[cfg(not(target_os = "linux"))]
mod no_supervisor;
#[cfg(target_os = "linux")]
mod one_shot;
mod options;
#[cfg(target_os = "linux")]
mod output_relay;
mod queue;
mod request;
#[cfg(target_os = "linux")]
mod session;
#[cfg(unix)]
mod signals;
#[cfg(target_os = "linux")]
mod supervisor;
#[cfg(unix)]
mod tty_writer;
#[cfg(target_os = "linux")]
mod wire;

#[cfg(not(target_os = "linux"))]
pub use direct::{InputPipe, Shell, StreamOptions, execute_shell, execute_streams};
pub use environment::{is_exported_function, is_private};
#[cfg(target_os = "linux")]
pub use input::InputPipe;
#[cfg(not(target_os = "linux"))]
pub use no_supervisor::{Supervisor, host};
#[cfg(target_os = "linux")]
pub use one_shot::{StreamOptions, execute_shell, execute_streams};
pub use options::{Engine, Environment, GRACE, Job, OnChunk, OnStreamChunk, RunOptions, RunResult, ShellOptions};
pub use queue::Ticket;
#[cfg(target_os = "linux")]
pub use session::Shell;
#[cfg(target_os = "linux")]
pub use supervisor::Supervisor;
#[cfg(unix)]
pub use tty_writer::TtyWriter;
