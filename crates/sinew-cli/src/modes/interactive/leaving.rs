//! The way in which the user left: for good, or for another folder.

use std::path::PathBuf;

/// The way in which the user left.
#[derive(Debug)]
pub(crate) struct Left {
    pub(crate) code: u8,
    pub(crate) moved: Option<Moved>,
    /// The run goes on without the terminal: the bytes that tell that terminal when it is over.
    pub(super) behind: Option<Vec<u8>>,
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
        Left { code, moved: None, behind: None }
    }
}
