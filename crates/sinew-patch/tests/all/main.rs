//! Tests of patches on real directories: the conformance suites, comparison with `git apply`, and hostile patches.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test that cannot continue panics")]
#![allow(clippy::print_stdout, reason = "a suite prints how many of its rows passed")]

mod directory;
mod git;
mod hostile;
mod suites;
mod tree;
