//! Changes without an event, and when they end the trust in events.

use std::collections::HashSet;

/// The number of files that may change without an event before events are not trusted any more.
const MOST: usize = 16;

/// The paths that changed without an event.
#[derive(Debug, Default)]
pub(crate) struct UnreportedChanges {
    files: HashSet<Vec<u8>>,
    /// The path that ended the trust.
    last: Option<Vec<u8>>,
}

impl UnreportedChanges {
    /// Adds a file: it is checked in each call from now on.
    pub(crate) fn add_file(&mut self, path: &[u8]) {
        self.files.insert(path.to_vec());
        if self.files.len() > MOST {
            self.last.get_or_insert_with(|| path.to_vec());
        }
    }

    /// Adds a directory whose names changed: its other content is unknown now.
    pub(crate) fn add_folder(&mut self, path: &[u8]) {
        self.last.get_or_insert_with(|| path.to_vec());
    }

    /// Returns the path that ended the trust; `None` if events are still trusted.
    pub(crate) fn end_of_trust(&self) -> Option<&[u8]> {
        self.last.as_deref()
    }

    pub(crate) fn files(&self) -> impl Iterator<Item = &[u8]> {
        self.files.iter().map(Vec::as_slice)
    }
}
