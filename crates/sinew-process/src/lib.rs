//! Process trees: finding descendants, signalling exactly the intended process, and terminating whole trees.
//!
//! A process id can be reused after its process has ended. All functions therefore identify a process by id *and* start
//! time, and on Linux by a pidfd, which always refers to the same process.
//!
//! `supervision` starts programs that are terminated when this process ends for any reason (Unix).

mod process;
#[cfg(unix)]
pub mod supervision;
mod sys;
mod tree;

#[cfg(unix)]
pub use process::session_members;
pub use process::{Process, Status, Terminate, Termination};
pub use tree::{descendants, kill_tree, resident_bytes};
