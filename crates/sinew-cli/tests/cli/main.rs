//! The real program: its output, its exit codes, and the files that it writes.
#![allow(clippy::unwrap_used, reason = "a test that cannot continue panics")]

mod acp;
#[cfg(unix)]
mod acp_sessions;
#[cfg(target_os = "linux")]
mod behind;
#[cfg(target_os = "linux")]
mod characters;
mod client;
#[cfg(unix)]
mod closed;
mod completions;
mod config;
#[cfg(unix)]
mod disk;
mod editor;
#[cfg(target_os = "linux")]
mod endings;
mod export;
#[cfg(target_os = "linux")]
mod faces;
#[cfg(target_os = "linux")]
mod forced;
mod frames;
mod guards;
#[cfg(target_os = "linux")]
mod index;
#[cfg(target_os = "linux")]
mod interactive;
mod json;
#[cfg(target_os = "linux")]
mod keys;
#[cfg(unix)]
mod lanes;
#[cfg(target_os = "linux")]
mod linear;
mod lines;
#[cfg(unix)]
mod login;
#[cfg(target_os = "linux")]
mod looks;
mod manual;
#[cfg(target_os = "linux")]
mod mcp;
#[cfg(target_os = "linux")]
mod mcp_confined;
#[cfg(target_os = "linux")]
mod mcp_login;
#[cfg(target_os = "linux")]
mod mcp_native;
#[cfg(unix)]
mod mcp_serve;
#[cfg(target_os = "linux")]
mod mcp_session;
#[cfg(target_os = "linux")]
mod models;
#[cfg(target_os = "linux")]
mod panels;
#[cfg(target_os = "linux")]
mod pasting;
#[cfg(target_os = "linux")]
mod pictures;
mod programs;
mod resources;
mod rpc;
mod rpc_commands;
#[cfg(unix)]
mod rpc_flow;
mod rpc_sessions;
mod rpc_tools;
#[cfg(unix)]
mod same_events;
mod sandbox;

#[cfg(target_os = "linux")]
mod screen;
#[cfg(unix)]
mod secrets;
#[cfg(target_os = "linux")]
mod sent;
mod sessions;
#[cfg(unix)]
mod signals;
mod stage;
#[cfg(target_os = "linux")]
mod subagents;
#[cfg(unix)]
mod subagents_isolated;
#[cfg(unix)]
mod subagents_long;
mod subagents_review;
mod subcommands;
#[cfg(target_os = "linux")]
mod terminal;
#[cfg(target_os = "linux")]
mod tmux;
#[cfg(target_os = "linux")]
mod tmux_scripts;
#[cfg(unix)]
mod tools;
#[cfg(unix)]
mod trust;
#[cfg(unix)]
mod undo;
#[cfg(target_os = "linux")]
mod vi;
mod wire;
