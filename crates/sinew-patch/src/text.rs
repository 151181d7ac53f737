//! Applies the change of one file to its text.

use sinew_base::{CancelToken, Result};

use crate::patch::{Edit, FilePatch};
use crate::report::AppliedText;
use crate::{chunks, image};

/// Applies the change of one file to its text. Checks the token before each hunk.
///
/// `fuzz` is that of [`ApplyOptions`](crate::ApplyOptions). Bytes outside the changed lines are kept.
///
/// # Errors
/// Returns `InvalidState` if a hunk does not match, with the most similar lines in the message, and the token's reason
/// if the call is cancelled.
pub fn apply_to_text(file: &FilePatch<'_>, old: &[u8], fuzz: usize, cancel: &CancelToken) -> Result<AppliedText> {
    let name = file.from.as_ref().unwrap_or(&file.path).to_string();
    match &file.edit {
        Edit::Hunks(hunks) => image::apply(hunks, old, fuzz, &name, cancel),
        Edit::Chunks(chunks) => chunks::apply(chunks, old, &name, cancel),
        Edit::Content(content) => Ok(AppliedText {
            text: content.clone(),
            places: Vec::new(),
            added: content.iter().filter(|byte| **byte == b'\n').count(),
            removed: 0,
        }),
    }
}
