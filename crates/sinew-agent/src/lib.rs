//! The agent's loop, tools and sessions, without a terminal.

pub mod clock;
pub mod event;
pub mod session;
pub mod tool;
