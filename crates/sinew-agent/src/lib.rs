//! The agent's loop and everything around it that is no tool and no file format: sessions of an agent, compaction,
//! events, extensions, permissions, hooks, resources. Knows no terminal.

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
pub mod resource;
pub mod subagent;
pub mod undo;

#[cfg(test)]
mod test_tools;
