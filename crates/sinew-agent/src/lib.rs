//! The agent's loop, tools and sessions, without a terminal.

pub mod agent;
pub mod clock;
pub mod compaction;
pub mod core;
pub mod event;
pub mod extension;
pub mod session;
pub mod tool;

#[cfg(test)]
mod stage;
