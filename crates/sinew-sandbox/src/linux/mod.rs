//! The sandbox of Linux: namespaces, Landlock and seccomp.

mod application;
mod entry;
mod filter;
mod git;
mod git_config;
mod glob;
/// Sends a sandbox to another process that applies it to its child.
pub mod handoff;
mod judge;
mod landlock;
mod layout;
mod mounts;
mod names;
mod namespace;
mod notify;
mod paths;
mod readable;
mod rules;
mod sandbox;
mod scan;
mod strength;
mod take_back;

pub use entry::Entry;
pub use handoff::Handoff;
pub use judge::Judge;
pub use sandbox::Sandbox;
