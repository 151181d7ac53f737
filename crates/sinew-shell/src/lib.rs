//! Shell sessions, pseudo-terminals and output sinks.

pub mod output;
