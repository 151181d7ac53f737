//! The names of the supervisor on systems that have none.

use std::path::{Path, PathBuf};

use crate::known_bashes::KnownBashes;

/// The supervisor program, which no shell of this system needs: its path is never looked at. Clones share what was
/// learned about the bashes of this machine.
#[derive(Debug, Clone)]
pub struct Supervisor {
    path: PathBuf,
    bashes: KnownBashes,
}

impl Supervisor {
    /// The supervisor at `path`.
    pub fn new(path: impl Into<PathBuf>) -> Supervisor {
        Supervisor { path: path.into(), bashes: KnownBashes::default() }
    }

    /// The path of the program.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn known_bashes(&self) -> &KnownBashes {
        &self.bashes
    }
}

/// The roles of the supervisor program.
pub mod host {
    use std::ffi::CString;

    /// Returns the exit code for a role that is not known: there is none on this system.
    #[must_use]
    pub fn main(_: &[CString]) -> i32 {
        2
    }
}
