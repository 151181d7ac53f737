//! Bytes shown as text.

use std::borrow::Cow;

/// Returns bytes as text, with U+FFFD in place of invalid UTF-8, as [`String::from_utf8_lossy`] does. Checks many bytes
/// at a time, because most input is valid.
#[must_use]
pub fn lossy(bytes: &[u8]) -> Cow<'_, str> {
    str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}
