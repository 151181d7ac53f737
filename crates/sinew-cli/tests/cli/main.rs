//! The real program: what it writes, how it ends, what it leaves.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod acp;
mod client;
mod completions;
mod config;
mod disk;
mod editor;
mod export;
#[cfg(target_os = "linux")]
mod forced;
mod frames;
mod guards;
#[cfg(target_os = "linux")]
mod interactive;
mod json;
#[cfg(target_os = "linux")]
mod keys;
mod linear;
mod lines;
mod login;
mod manual;
#[cfg(target_os = "linux")]
mod mcp;
#[cfg(target_os = "linux")]
mod mcp_login;
mod mcp_serve;
#[cfg(target_os = "linux")]
mod mcp_session;
mod models;
#[cfg(target_os = "linux")]
mod panels;
mod programs;
mod resources;
mod rpc;
mod rpc_commands;
mod rpc_flow;
mod rpc_sessions;
mod rpc_tools;
#[cfg(target_os = "linux")]
mod screen;
mod secrets;
mod sessions;
mod signals;
mod stage;
#[cfg(target_os = "linux")]
mod terminal;
mod tools;
mod trust;
mod wire;
