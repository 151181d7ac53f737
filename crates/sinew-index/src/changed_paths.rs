//! Files with events since they were last checked.

use std::collections::{HashMap, HashSet};

use sinew_walk::FolderPath;

/// The maximum number of recorded names; beyond it, everything is checked.
const MAX_NAMES: usize = 256 << 10;
/// The number of recently changed files that are checked in each call: stores through an open mapping have no event.
const RECENT: usize = 1_024;

/// A set of paths below the root.
#[derive(Debug, Clone, Default)]
pub(crate) struct ChangedPaths {
    /// Every file.
    pub(crate) all: bool,
    pub(crate) files: HashSet<Vec<u8>>,
    /// Directories whose files were all touched, without the files of subdirectories.
    pub(crate) folders: HashSet<FolderPath>,
}

impl ChangedPaths {
    pub(crate) fn everything() -> ChangedPaths {
        ChangedPaths { all: true, ..ChangedPaths::default() }
    }

    pub(crate) fn add_file(&mut self, path: Vec<u8>) {
        if self.files.len() + self.folders.len() < MAX_NAMES {
            self.files.insert(path);
        } else {
            // The known names are kept: these files have changed regardless of their stamps.
            self.all = true;
        }
    }

    pub(crate) fn extend(&mut self, other: &ChangedPaths) {
        self.all |= other.all;
        self.folders.extend(other.folders.iter().cloned());
        other.files.iter().for_each(|path| self.add_file(path.clone()));
    }
}

/// The most recently changed files, each once.
#[derive(Debug, Default)]
pub(crate) struct RecentFiles {
    turns: HashMap<Vec<u8>, u64>,
    turn: u64,
}

impl RecentFiles {
    pub(crate) fn add(&mut self, path: &[u8]) {
        self.turn += 1;
        match self.turns.get_mut(path) {
            Some(turn) => *turn = self.turn,
            None => drop(self.turns.insert(path.to_vec(), self.turn)),
        }
        if self.turns.len() >= 2 * RECENT {
            let mut turns: Vec<u64> = self.turns.values().copied().collect();
            let cut = turns.len() - RECENT;
            let oldest = *turns.select_nth_unstable(cut).1;
            self.turns.retain(|_, turn| *turn >= oldest);
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.turns.keys().map(Vec::as_slice)
    }
}

/// Returns the common prefix of all paths in a directory.
pub(crate) fn prefix_of(folder: &[u8]) -> Vec<u8> {
    if folder.is_empty() { Vec::new() } else { [folder, b"/"].concat() }
}

/// Returns the parent directory of a path.
pub(crate) fn folder_of(path: &[u8]) -> &[u8] {
    memchr::memrchr(b'/', path).map_or(b"", |cut| &path[..cut])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alternating_changes_do_not_evict_other_files() {
        let mut recent = RecentFiles::default();
        recent.add(b"mapped");
        (0..100_000_u32).for_each(|turn| recent.add(&[(turn % 2) as u8]));
        assert!(recent.iter().any(|path| path == b"mapped"));
        assert_eq!(recent.iter().count(), 3);
    }

    #[test]
    fn keeps_the_most_recent_files() {
        let mut recent = RecentFiles::default();
        let name = |file: usize| file.to_string().into_bytes();
        (0..10_000).for_each(|file| recent.add(&name(file)));
        let kept: HashSet<&[u8]> = recent.iter().collect();
        assert!((10_000 - RECENT..10_000).all(|file| kept.contains(name(file).as_slice())));
        assert!(kept.len() < 2 * RECENT);
    }

    #[test]
    fn too_many_names_mean_everything_but_known_names_are_kept() {
        let mut touched = ChangedPaths::default();
        (0..=MAX_NAMES).for_each(|file| touched.add_file(file.to_le_bytes().to_vec()));
        assert!(touched.all && touched.files.len() == MAX_NAMES);
    }
}
