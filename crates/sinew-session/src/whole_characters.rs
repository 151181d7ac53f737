//! JSON of programs that cut a character into halves: pi writes a lone surrogate as an escape, which `serde_json` refuses.

use std::borrow::Cow;

use serde::de::DeserializeOwned;
use sinew_base::replace_lone_surrogates;

/// Reads JSON in which a lone surrogate is U+FFFD. Text without one is read once.
///
/// # Errors
/// Returns an error if the text is not JSON of this shape.
pub(super) fn from_slice<T: DeserializeOwned>(text: &[u8]) -> serde_json::Result<T> {
    serde_json::from_slice(text).or_else(|cause| match replaced(text) {
        Some(whole) => serde_json::from_slice(&whole),
        None => Err(cause),
    })
}

/// The text with U+FFFD in place of lone surrogates; `None` if it has none.
pub(super) fn replaced(text: &[u8]) -> Option<Vec<u8>> {
    match replace_lone_surrogates(text) {
        Cow::Borrowed(_) => None,
        Cow::Owned(whole) => Some(whole),
    }
}
