//! Tests the servers of an agent: files, cache, states, and the tools that a model sees.

mod cache;
mod calls;
mod config;
mod elicit;
mod front;
#[cfg(target_os = "linux")]
mod hostile;
mod life;
mod result;
#[cfg(unix)]
mod simulation;
mod stage;
