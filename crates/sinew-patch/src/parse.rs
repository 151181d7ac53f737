//! Detects the form of a patch.

use sinew_base::{Error, ErrorCode, Result};

use crate::limits::MAX_PATCH_BYTES;
use crate::patch::{Form, Patch};
use crate::{envelope, unified};

impl<'t> Patch<'t> {
    /// Parses a patch. Text around the diffs of a unified diff (an e-mail, a code fence) is skipped.
    ///
    /// # Errors
    /// Returns `InvalidData` if the text contains no patch, or one that is invalid, truncated, binary or of another
    /// format; `PermissionDenied` if it contains an absolute path, `..` or a file of a version control system;
    /// `LimitExceeded` if it is larger than [`MAX_PATCH_BYTES`].
    pub fn parse(text: &'t [u8]) -> Result<Patch<'t>> {
        Patch::parse_below(text, &[])
    }

    /// Parses a patch whose Begin Patch form may use absolute paths below one of `roots`.
    pub(crate) fn parse_below(text: &'t [u8], roots: &[Vec<u8>]) -> Result<Patch<'t>> {
        if text.len() > MAX_PATCH_BYTES {
            let message = format!("the patch has more than {MAX_PATCH_BYTES} bytes");
            return Err(Error::new(ErrorCode::LimitExceeded, message));
        }
        let text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text);
        match envelope::body(text)? {
            Some(body) => Ok(Patch { files: envelope::parse(&body, roots)?, form: Form::BeginPatch }),
            None => Ok(Patch { files: unified::parse(text)?, form: Form::Unified }),
        }
    }
}
