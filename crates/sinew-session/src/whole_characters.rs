//! JSON of programs that cut characters into halves: pi writes a lone surrogate as an escape, which `serde_json`
//! rejects.

use std::borrow::Cow;

use serde::de::DeserializeOwned;
use sinew_base::replace_lone_surrogates;

/// Parses JSON, with lone surrogates replaced by U+FFFD. Text without any is read once.
///
/// # Errors
/// Returns an error if the text is not JSON of this shape.
pub(super) fn from_slice<T: DeserializeOwned>(text: &[u8]) -> serde_json::Result<T> {
    serde_json::from_slice(text).or_else(|cause| match replaced(text) {
        Some(whole) => serde_json::from_slice(&whole),
        None => Err(cause),
    })
}

/// Returns the text with U+FFFD in place of lone surrogates; `None` if it has none.
pub(super) fn replaced(text: &[u8]) -> Option<Vec<u8>> {
    match replace_lone_surrogates(text) {
        Cow::Borrowed(_) => None,
        Cow::Owned(whole) => Some(whole),
    }
}
