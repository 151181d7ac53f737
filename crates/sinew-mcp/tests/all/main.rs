//! Tests of the protocol against third-party servers and clients, hostile servers and scripts.
#![allow(clippy::unwrap_used, reason = "a failed test panics")]

mod catalogue;
#[cfg(target_os = "linux")]
mod everything;
mod fuzz;
mod http_asking;
mod http_hostile;
mod http_serving;
mod oauth;
#[cfg(target_os = "linux")]
mod python;
#[cfg(target_os = "linux")]
mod random_calls;
#[cfg(target_os = "linux")]
mod replays;
#[cfg(target_os = "linux")]
mod serving;
#[cfg(target_os = "linux")]
mod support;
