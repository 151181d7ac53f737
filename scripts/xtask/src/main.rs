//! `cargo xtask ci | tidy | gen`.

fn main() {}
