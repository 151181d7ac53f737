//! Fixtures, oracles and scripted servers for tests.
