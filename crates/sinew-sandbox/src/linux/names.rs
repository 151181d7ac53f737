//! Finds the other names of files that have several hard links.

use std::collections::{BTreeSet, HashMap};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::scan::{Stamp, walk};

/// The device and inode numbers of a file.
pub(super) type Identity = (u64, u64);

/// A file whose names are searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LinkedFile {
    pub(super) links: u64,
    stamp: Stamp,
}

impl LinkedFile {
    /// Returns the identity and the facts of a file; `None` if it is not a file with several names.
    pub(super) fn of(path: &Path) -> Option<(Identity, LinkedFile)> {
        let data = path.symlink_metadata().ok().filter(|data| data.is_file() && data.nlink() > 1)?;
        Some(((data.dev(), data.ino()), LinkedFile { links: data.nlink(), stamp: Stamp::of(&data) }))
    }
}

/// The names that the last search found. A search walks whole directories, so it is only repeated if a name may be new.
#[derive(Debug, Default)]
pub(super) struct OtherNames {
    files: HashMap<Identity, LinkedFile>,
    names: HashMap<Identity, BTreeSet<PathBuf>>,
    is_complete: bool,
}

impl OtherNames {
    /// Returns the names of `files` below `bases`.
    pub(super) fn find(
        &mut self,
        bases: &BTreeSet<PathBuf>,
        files: HashMap<Identity, LinkedFile>,
    ) -> &HashMap<Identity, BTreeSet<PathBuf>> {
        if self.is_current(&files) {
            return &self.names;
        }
        self.names.clear();
        for base in bases {
            walk(base, &mut |path, inode| {
                if files.keys().any(|(_, wanted)| *wanted == inode)
                    && let Some((file, _)) = LinkedFile::of(path)
                    && files.contains_key(&file)
                {
                    self.names.entry(file).or_default().insert(path.to_path_buf());
                }
            });
        }
        self.is_complete = files.iter().all(|(file, LinkedFile { links, stamp })| {
            stamp.is_stable() && self.names.get(file).is_some_and(|names| names.len() as u64 == *links)
        });
        self.files = files;
        &self.names
    }

    /// Returns true if a search would find the same names. A new name changes the number of links and the change time of
    /// the file. The name of a directory above it does not, so each name is checked.
    fn is_current(&self, files: &HashMap<Identity, LinkedFile>) -> bool {
        let is_name = |file: &Identity, path: &PathBuf| LinkedFile::of(path).is_some_and(|(found, _)| found == *file);
        self.is_complete
            && self.files == *files
            && self.names.iter().all(|(file, names)| names.iter().all(|path| is_name(file, path)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn searches_again_only_if_a_name_may_be_new() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("a")).unwrap();
        std::fs::write(root.join("file"), "").unwrap();
        std::fs::hard_link(root.join("file"), root.join("a/link")).unwrap();
        let mut names = OtherNames::default();
        let mut find = |bases: &[&str]| {
            std::thread::sleep(std::time::Duration::from_millis(60));
            let bases = bases.iter().map(|name| root.join(name)).collect();
            let found = names.find(&bases, LinkedFile::of(&root.join("file")).into_iter().collect());
            found
                .values()
                .flatten()
                .map(|path| path.strip_prefix(&root).unwrap().to_str().unwrap().to_string())
                .collect::<Vec<String>>()
        };
        let both: Vec<String> = vec!["a/link".into(), "file".into()];
        assert_eq!(find(&[""]), both);
        // Without a directory to search, only names that are still known can be found.
        assert_eq!(find(&[]), both);
        std::fs::rename(root.join("a"), root.join("b")).unwrap();
        assert_eq!(find(&[""]), ["b/link", "file"]);
        std::fs::hard_link(root.join("file"), root.join("third")).unwrap();
        assert_eq!(find(&[""]), ["b/link", "file", "third"]);
        // An incomplete result is not kept.
        std::fs::remove_file(root.join("third")).unwrap();
        assert_eq!(find(&["b"]), ["b/link"]);
        assert_eq!(find(&[""]), ["b/link", "file"]);
    }
}
