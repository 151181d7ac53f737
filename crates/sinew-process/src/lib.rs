//! The process table: descendants, signals, kill trees.
