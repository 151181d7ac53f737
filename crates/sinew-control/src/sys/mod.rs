//! The parts of the program that differ between systems.
//!
//! Linux is tested, Windows under wine; on macOS it is compiled and was never run.

#[cfg(target_os = "linux")]
pub mod landlock;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub use unix::{
    close_memory, fill_random, group, hide_typing, kill_group, private, read_stdin, shell, signals, silent,
    terminal_name,
};

#[cfg(windows)]
pub(crate) use windows::{
    fill_random, group, hide_typing, kill_group, private, read_stdin, shell, signals, silent, terminal_name,
};
