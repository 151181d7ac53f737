//! Tests of process trees, with and without a keeper.
#![allow(clippy::unwrap_used, reason = "a failed test panics")]

#[cfg(target_os = "linux")]
mod kept;
#[cfg(target_os = "linux")]
mod trees;
