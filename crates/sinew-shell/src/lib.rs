//! Shell sessions, pseudo-terminals and output sinks.
