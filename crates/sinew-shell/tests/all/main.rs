//! Tests of shells, programs and terminals, with real programs.
#![allow(clippy::unwrap_used, reason = "a failed test panics")]

#[cfg(target_os = "linux")]
mod direct;
#[cfg(windows)]
mod direct_windows;
#[cfg(unix)]
mod embedded;
#[cfg(target_os = "linux")]
mod emulated;
#[cfg(unix)]
mod host_safety;
#[cfg(target_os = "linux")]
mod pty;
#[cfg(target_os = "linux")]
mod pty_control;
#[cfg(target_os = "linux")]
mod sandbox;
#[cfg(target_os = "linux")]
mod session;
#[cfg(target_os = "linux")]
mod streams;
#[cfg(unix)]
mod support;
#[cfg(unix)]
mod table;
