//! JSON of programs that cut characters into halves: pi writes a lone surrogate as an escape, which `serde_json`
//! rejects, as it rejects invalid UTF-8.

use std::borrow::Cow;

use serde::de::DeserializeOwned;
use sinew_base::replace_lone_surrogates;

/// Parses JSON, with lone surrogates and invalid UTF-8 replaced by U+FFFD. Text without any is read once.
///
/// # Errors
/// Returns an error if the text is not JSON of this shape.
pub(super) fn from_slice<T: DeserializeOwned>(text: &[u8]) -> serde_json::Result<T> {
    serde_json::from_slice(text).or_else(|cause| match replaced(text) {
        Some(whole) => serde_json::from_slice(&whole),
        None => Err(cause),
    })
}

/// Returns the text with U+FFFD in place of lone surrogates and of invalid UTF-8; `None` if it has none.
pub(super) fn replaced(text: &[u8]) -> Option<Vec<u8>> {
    let valid = String::from_utf8_lossy(text);
    if let Cow::Owned(whole) = replace_lone_surrogates(valid.as_bytes()) {
        return Some(whole);
    }
    match valid {
        Cow::Borrowed(_) => None,
        Cow::Owned(valid) => Some(valid.into_bytes()),
    }
}
