//! Terminal text and keys.
