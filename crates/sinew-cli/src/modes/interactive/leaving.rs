//! The way in which the user left: for good, or for another folder.

use std::path::PathBuf;

/// The way in which the user left.
#[derive(Debug)]
pub(crate) struct Left {
    pub(crate) code: u8,
    pub(crate) moved: Option<Moved>,
}

/// A session that goes on in another folder.
#[derive(Debug)]
pub(crate) struct Moved {
    pub(crate) folder: PathBuf,
    pub(crate) session: PathBuf,
}

impl Left {
    /// Left for good.
    pub(super) fn with(code: u8) -> Left {
        Left { code, moved: None }
    }
}
