//! Tests across crates on a real tree, this repository, with real tools as oracles. One binary: one link instead of
//! many.
#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

mod repository;
