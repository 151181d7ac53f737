//! Tests of sandboxes with real programs.
#![allow(clippy::unwrap_used, reason = "a failed test panics")]
#![allow(clippy::print_stdout, reason = "a test prints what it skipped")]

#[cfg(target_os = "linux")]
mod attacks;
#[cfg(target_os = "linux")]
mod judge;
#[cfg(target_os = "linux")]
mod play;
#[cfg(target_os = "linux")]
mod status;
#[cfg(target_os = "linux")]
mod weaker;
