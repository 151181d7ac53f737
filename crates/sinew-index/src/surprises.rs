//! Changes that no event announced: what they cost the trust in events.

use std::collections::HashSet;

/// The files that may change unannounced before events are trusted no more.
const MOST: usize = 16;

/// The paths of which the system kept silent.
#[derive(Debug, Default)]
pub(crate) struct Surprises {
    files: HashSet<Vec<u8>>,
    /// The path at which the trust ended.
    last: Option<Vec<u8>>,
}

impl Surprises {
    /// Adds a file: it is looked at in each call from now on.
    pub(crate) fn add_file(&mut self, path: &[u8]) {
        self.files.insert(path.to_vec());
        if self.files.len() > MOST {
            self.last.get_or_insert_with(|| path.to_vec());
        }
    }

    /// Adds a folder whose names changed: what else is in it now nobody knows.
    pub(crate) fn add_folder(&mut self, path: &[u8]) {
        self.last.get_or_insert_with(|| path.to_vec());
    }

    /// Returns the path at which the trust ended, if it has.
    pub(crate) fn end_of_trust(&self) -> Option<&[u8]> {
        self.last.as_deref()
    }

    pub(crate) fn files(&self) -> impl Iterator<Item = &[u8]> {
        self.files.iter().map(Vec::as_slice)
    }
}
