//! The coding agent for the terminal.

fn main() {}
