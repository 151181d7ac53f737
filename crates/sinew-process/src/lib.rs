//! The process table: who descends from whom, signals that hit the right process, trees that end.
//!
//! A pid names a process only until it is over and another one gets the number. Everything here therefore goes
//! by pid *and* start time, and on Linux by a pidfd, which stays with its process.
//!
//! `kept` starts programs that end with this process, whatever ends it (Unix).

#[cfg(unix)]
pub mod kept;
mod process;
mod sys;
mod tree;

#[cfg(unix)]
pub use process::session_members;
pub use process::{Process, Status, Terminate, Termination};
pub use tree::{descendants, kill_tree, resident_bytes};
