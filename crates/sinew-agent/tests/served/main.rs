//! An agent whose model answers over a real socket, in each of the protocols. The servers refuse what the real ones
//! refuse.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod after;
mod bad;
mod remote;
mod stage;
mod tap;
mod thinking;
mod torn;
mod words;
