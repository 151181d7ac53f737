//! Shells without a supervisor: what [`crate::execute_shell`] and [`crate::Shell`] are on Windows and macOS. Linux has
//! it too, beside the supervised ones, so that the same cases are asked of both.
//!
//! Scripts are those of a bash, of version 3.2 or later: the one that [`crate::ShellOptions::bash`] names, else that of
//! Git for Windows, else the first one on `PATH` that is not the one of WSL. Without a bash nothing runs, and the error
//! says so; there is no embedded interpreter.
//!
//! - What a run started ends with it, or with its shell: on Windows everything, by a job object; elsewhere its session
//!   of processes and all that descends from it, but not a process that left both (`setsid` whose parent is gone).
//! - When the host dies, on Windows everything ends with it; elsewhere nothing is promised.
//! - A [`Shell`] starts a bash for each run, which reads what the run before left and leaves it to the next one:
//!   variables, functions, aliases, options, traps, arguments, directories, umask. A run that is stopped leaves
//!   the shell as it was before. What belongs to a process ends with the run: open descriptors, limits, `$$`, `$!`, and
//!   the jobs that `wait`, `fg` and `%1` know. A function counts its lines in the file that it was kept in, and a trap
//!   for every command (`DEBUG`) also runs, with its output thrown away, for the lines that keep the state.

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
