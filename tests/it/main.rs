//! One binary for all tests across crates: one link instead of many.
