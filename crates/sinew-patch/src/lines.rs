//! Lines, and errors at a line of the patch.

use sinew_base::{Error, ErrorCode};

/// Creates the error for an invalid line of the patch.
pub(crate) fn damaged(line: usize, message: impl std::fmt::Display) -> Error {
    Error::new(ErrorCode::InvalidData, format!("line {line} of the patch: {message}"))
}

/// Splits a text after each `\n`.
pub(crate) fn lines_of(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split_inclusive(|byte| *byte == b'\n')
}
