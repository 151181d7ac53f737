//! Files of which something was heard since they were last looked at.

use std::collections::HashSet;

/// The most names that are kept apart; beyond, everything is looked at.
const MAX_NAMES: usize = 256 << 10;

/// A set of paths below the root.
#[derive(Debug, Clone, Default)]
pub(crate) struct Touched {
    /// Every file.
    pub(crate) all: bool,
    pub(crate) files: HashSet<Vec<u8>>,
    /// Folders whose files were all touched; not those in folders below.
    pub(crate) folders: HashSet<Box<[u8]>>,
}

impl Touched {
    pub(crate) fn add_file(&mut self, path: Vec<u8>) {
        if self.files.len() + self.folders.len() < MAX_NAMES {
            self.files.insert(path);
        } else {
            *self = Touched { all: true, ..Touched::default() };
        }
    }

    pub(crate) fn extend(&mut self, other: &Touched) {
        self.all |= other.all;
        self.folders.extend(other.folders.iter().cloned());
        other.files.iter().for_each(|path| self.add_file(path.clone()));
    }
}
