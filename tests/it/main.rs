//! Tests across crates on a real tree, this repository, with real tools as oracles. All are in one binary, which links
//! only once.
#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

mod repository;
