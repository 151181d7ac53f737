//! The N-API mouth.
