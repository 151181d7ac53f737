//! The agent loop and its surroundings: sessions, compaction, events, extensions, permissions, hooks and resources.
//! Tools and file formats are in other crates. Nothing here depends on a terminal.

pub mod agent;
pub mod compaction;
pub mod context;
pub mod core;
pub mod event;
pub mod extension;
mod hook_call;
pub mod hook_points;
pub mod hooks;
pub mod mcp;
mod permissions;
mod plain_text;
pub mod resource;
pub mod subagent;
pub mod undo;

#[cfg(test)]
mod test_tools;
