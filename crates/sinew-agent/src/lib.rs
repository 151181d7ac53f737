//! The agent's loop, tools and sessions, without a terminal.

pub mod agent;
pub mod artifacts;
pub mod clock;
pub mod compaction;
pub mod context;
pub mod core;
pub mod event;
pub mod extension;
pub mod session;
pub mod settings;
pub mod tool;
pub mod tools;

#[cfg(test)]
mod stage;
