//! The terminal: input, modes, replies.

pub(crate) mod input;
pub(crate) mod modes;
