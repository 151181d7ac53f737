//! The native core for coding agents.
