//! The supervisor API on systems without a supervisor.

use std::path::{Path, PathBuf};

use crate::known_bashes::KnownBashes;

/// The supervisor program, which this system does not use: its path is ignored. Clones share the cache of known bashes.
#[derive(Debug, Clone)]
pub struct Supervisor {
    path: PathBuf,
    bashes: KnownBashes,
}

impl Supervisor {
    /// Creates a supervisor with the given path.
    pub fn new(path: impl Into<PathBuf>) -> Supervisor {
        Supervisor { path: path.into(), bashes: KnownBashes::default() }
    }

    /// Returns the path of the program.
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

    /// Returns the exit code for an unknown role, because this system has none.
    #[must_use]
    pub fn main(_: &[CString]) -> i32 {
        2
    }
}
