//! Lines, and faults of the patch at one of them.

use sinew_base::{Error, ErrorCode};

/// A fault of the patch itself, at a line of it.
pub(crate) fn damaged(line: usize, message: impl std::fmt::Display) -> Error {
    Error::new(ErrorCode::InvalidData, format!("line {line} of the patch: {message}"))
}

/// Splits a text behind each `\n`.
pub(crate) fn lines_of(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split_inclusive(|byte| *byte == b'\n')
}
