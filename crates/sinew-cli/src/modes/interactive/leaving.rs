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

/// The way out, while the face is still there.
#[derive(Debug, Default)]
pub(super) struct Leaving {
    /// The exit code; none: nobody leaves.
    pub(super) code: Option<u8>,
    /// The run goes on after the exit, without the terminal.
    pub(super) goes_behind: bool,
    /// The folder in which the session goes on after the exit.
    pub(super) moved: Option<Moved>,
}

impl Left {
    /// Left for good.
    pub(super) fn with(code: u8) -> Left {
        Left { code, moved: None, behind: None }
    }
}
