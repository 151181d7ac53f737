//! Shells without a supervisor: the implementation of [`crate::execute_shell`] and [`crate::Shell`] on Windows and
//! macOS. It is also available on Linux, so that tests can run the same cases against both implementations.
//!
//! Scripts run in a bash of version 3.2 or later: the one that [`crate::ShellOptions::bash`] names, otherwise that of
//! Git for Windows, otherwise the first one on `PATH` except that of WSL. Without a bash, runs fail; there is no
//! embedded interpreter.
//!
//! - The processes of a run end with it, or with its shell. On Windows, a job object includes all of them; elsewhere,
//!   they are the session of processes and all descendants, except a process that left both (`setsid` whose parent is
//!   gone).
//! - If the host dies, Windows terminates all processes; other systems guarantee nothing.
//! - A [`Shell`] starts a bash for each run, which restores the state of the previous run and saves it for the next
//!   one: variables, functions, aliases, options, traps, arguments, directories, umask. A run that is stopped does not
//!   change the state. The state of a process ends with the run: open descriptors, limits, `$$`, `$!`, and the jobs of
//!   `wait`, `fg` and `%1`. Line numbers of a function refer to the file that it was saved in, and a trap for every
//!   command (`DEBUG`) also runs for the lines that save the state, with its output discarded.

mod find_bash;
mod input;
mod one_shot;
mod run;
mod session;
mod state;
#[cfg_attr(windows, path = "tree_windows.rs")]
#[cfg_attr(unix, path = "tree_unix.rs")]
mod tree;

pub use input::InputPipe;
pub use one_shot::{StreamOptions, execute_shell, execute_streams};
pub use session::Shell;
