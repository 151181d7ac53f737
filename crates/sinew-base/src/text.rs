//! Bytes that are shown as text.

use std::borrow::Cow;

/// Returns bytes as text, with U+FFFD in the place of what is not UTF-8, as [`String::from_utf8_lossy`] does; valid text, the
/// rule, is looked at many bytes at a time.
#[must_use]
pub fn lossy(bytes: &[u8]) -> Cow<'_, str> {
    str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}
