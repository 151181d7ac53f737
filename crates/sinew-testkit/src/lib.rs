//! Fixtures, oracles and scripted servers for tests.

pub mod provider;
