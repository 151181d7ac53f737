//! The agent's loop, tools and sessions, without a terminal.

pub mod agent;
pub mod artifacts;
pub mod child;
pub mod clock;
pub mod compaction;
pub mod context;
pub mod core;
pub mod event;
pub mod export;
pub mod extension;
pub mod files;
pub mod history;
pub mod hooks;
pub mod links;
pub mod permissions;
pub mod points;
pub mod resource;
pub mod secrets;
pub mod session;
pub mod settings;
pub mod tool;
pub mod tools;
pub mod trust;

#[cfg(test)]
mod stage;
