//! Shell sessions, pseudo-terminals and output sinks.
//!
//! On Linux a script runs under a supervisor process (`host`): whatever it does to its interpreter ends that and never
//! the host, and whatever happens to the host ends everything that the script started. Two engines run scripts: the
//! system's bash, and an embedded interpreter where there is none. Elsewhere a bash is started without a supervisor
//! ([`direct`]), under the same names.
//!
//! - [`execute_shell`]: one command in a shell of its own.
//! - [`execute_streams`]: the same with its streams apart, or a program without a shell.
//! - [`Shell`]: commands one after another in a shell that keeps its state.
//! - [`pty`]: programs that need a terminal.
//! - `TtyWriter` (Unix): output to a terminal that may be slow or gone.
//! - [`output`]: from bytes to few chunks of text within a limit.
//!
//! All of it blocks its thread; the caller chooses the thread. Nothing here reads the environment.

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
pub use environment::is_private;
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
