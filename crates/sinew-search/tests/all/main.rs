//! Tests of searches, and of workspaces compared with the plain functions.
#![allow(clippy::unwrap_used, reason = "a failed test panics")]

#[cfg(target_os = "linux")]
mod accept;
#[cfg(target_os = "linux")]
#[path = "../../../sinew-walk/tests/all/changes/mod.rs"]
mod changes;
mod content;
mod glob_scope;
mod grep;
mod oracle;
#[cfg(target_os = "linux")]
mod pair;
mod ripgrep;
#[path = "../../../sinew-walk/tests/all/tree/mod.rs"]
mod tree;
#[cfg(windows)]
mod windows_paths;
#[cfg(target_os = "linux")]
mod workspace;
#[cfg(target_os = "linux")]
mod workspace_change_reports;
#[cfg(target_os = "linux")]
mod workspace_changes;
#[cfg(target_os = "linux")]
mod workspace_contract;
#[cfg(target_os = "linux")]
mod workspace_disk;
mod workspace_everywhere;
#[cfg(target_os = "linux")]
mod workspace_faults;
#[cfg(target_os = "linux")]
mod workspace_racing;
#[cfg(target_os = "linux")]
mod workspace_soundness;
