//! Tests of calls, frames and messages.
#![allow(clippy::unwrap_used, reason = "a failed test panics")]

mod calls;
mod frames;
mod messages;
