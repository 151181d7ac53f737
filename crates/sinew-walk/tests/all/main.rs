//! Tests of scans, ignore rules and the cache, with git and ripgrep as references.
#![allow(clippy::unwrap_used, reason = "a failed test panics")]

mod cache;
#[cfg(unix)]
mod changes;
#[cfg(unix)]
mod git_settings;
mod ignore_rules;
mod ordered;
mod tree;
#[cfg(unix)]
mod tree_updates;
mod walk;
