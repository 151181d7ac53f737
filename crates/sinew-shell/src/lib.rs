//! Shell sessions, pseudo-terminals and output sinks.

pub mod output;
pub mod pty;

#[cfg(target_os = "linux")]
mod carrier;
#[cfg(target_os = "linux")]
mod companion;
#[cfg(target_os = "linux")]
mod environment;
#[cfg(target_os = "linux")]
pub mod host;
#[cfg(target_os = "linux")]
mod one_shot;
mod options;
#[cfg(target_os = "linux")]
mod request;
#[cfg(target_os = "linux")]
mod session;
#[cfg(target_os = "linux")]
mod signals;
#[cfg(target_os = "linux")]
mod wire;

#[cfg(target_os = "linux")]
pub use carrier::OnChunk;
#[cfg(target_os = "linux")]
pub use companion::Companion;
#[cfg(target_os = "linux")]
pub use environment::is_private;
#[cfg(target_os = "linux")]
pub use one_shot::execute_shell;
pub use options::{Engine, Environment, GRACE, Job, RunOptions, RunResult, ShellOptions};
#[cfg(target_os = "linux")]
pub use session::{Place, Shell};
