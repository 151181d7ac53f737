//! Finds the matches of a policy's globs, and repositories. Directories that have not changed since the last scan are
//! not read again.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsString;
use std::fs::{DirEntry, Metadata};
use std::os::unix::fs::{DirEntryExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::glob::Glob;

/// If a directory changed less than this before it was read, another change may have the same time stamp.
const UNSTABLE: Duration = Duration::from_millis(50);

/// Directories without user files.
const SKIPPED: [&str; 3] = ["/proc", "/sys", "/dev"];

/// Why a path was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Match {
    /// A glob matches; contains its index.
    Glob(usize),
    /// It is the `.git` of a repository.
    Repository,
}

/// Identifies a state of a directory or a file. Programs can set the modification time to an older one, but not the change time.
/// The modification time is for file systems that keep no change time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    modified: (i64, i64),
    changed: (i64, i64),
    inode: u64,
    device: u64,
}

impl Stamp {
    pub(super) fn of(data: &Metadata) -> Stamp {
        Stamp {
            modified: (data.mtime(), data.mtime_nsec()),
            changed: (data.ctime(), data.ctime_nsec()),
            inode: data.ino(),
            device: data.dev(),
        }
    }

    /// Returns true if a change from now on gets another stamp.
    pub(super) fn is_stable(&self) -> bool {
        let (seconds, nanoseconds) = self.modified.max(self.changed);
        let since_epoch = Duration::new(u64::try_from(seconds).unwrap_or(0), u32::try_from(nanoseconds).unwrap_or(0));
        SystemTime::now().duration_since(UNIX_EPOCH + since_epoch).is_ok_and(|age| age > UNSTABLE)
    }
}

#[derive(Debug)]
struct Directory {
    stamp: Stamp,
    is_stable: bool,
    subdirectories: Vec<OsString>,
    matches: Vec<(OsString, Match)>,
}

/// The directories that were read, and the matches in them.
#[derive(Debug, Default)]
pub(super) struct Scan {
    globs: Vec<Glob>,
    directories: HashMap<PathBuf, Directory>,
}

impl Scan {
    pub(super) fn new(globs: Vec<Glob>) -> Scan {
        Scan { globs, directories: HashMap::new() }
    }

    /// Returns the matches below the bases of the globs and below `roots`, with one walk for all globs. Links can
    /// match, but are not followed. A directory that cannot be read is treated as empty, because programs of the same
    /// user cannot read it either.
    pub(super) fn matches(&mut self, roots: &[PathBuf]) -> Vec<(Match, PathBuf)> {
        let bases: BTreeSet<PathBuf> =
            self.globs.iter().map(|glob| glob.base.clone()).chain(roots.iter().cloned()).collect();
        let is_outermost = |base: &&PathBuf| !base.ancestors().skip(1).any(|above| bases.contains(above));
        let mut waiting: Vec<PathBuf> = bases.iter().filter(is_outermost).cloned().collect();
        let mut found = Vec::new();
        while let Some(path) = waiting.pop() {
            let Some(data) = directory_data(&path) else { continue };
            let stamp = Stamp::of(&data);
            let is_known = self.directories.get(&path).is_some_and(|known| known.is_stable && known.stamp == stamp);
            if !is_known {
                let directory = self.read(&path, stamp);
                self.directories.insert(path.clone(), directory);
            }
            let directory = &self.directories[&path];
            found.extend(directory.matches.iter().map(|(name, reason)| (*reason, path.join(name))));
            waiting.extend(directory.subdirectories.iter().map(|name| path.join(name)));
        }
        found
    }

    fn read(&self, path: &Path, stamp: Stamp) -> Directory {
        let is_stable = stamp.is_stable();
        let mut directory = Directory { stamp, is_stable, subdirectories: Vec::new(), matches: Vec::new() };
        let globs: Vec<(usize, &Glob, &Path)> = self
            .globs
            .iter()
            .enumerate()
            .filter_map(|(number, glob)| Some((number, glob, path.strip_prefix(&glob.base).ok()?)))
            .collect();
        for entry in entries(path) {
            let name = entry.file_name();
            for (number, glob, below) in &globs {
                if glob.is_match(&below.join(&name)) {
                    directory.matches.push((name.clone(), Match::Glob(*number)));
                }
            }
            if name == ".git" {
                directory.matches.push((name.clone(), Match::Repository));
            }
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                directory.subdirectories.push(name);
            }
        }
        directory
    }
}

/// Calls `visit` with the path and the inode number of every entry below `base`. Stores nothing.
pub(super) fn walk(base: &Path, visit: &mut dyn FnMut(&Path, u64)) {
    let mut waiting = vec![base.to_path_buf()];
    while let Some(path) = waiting.pop() {
        if directory_data(&path).is_none() {
            continue;
        }
        for entry in entries(&path) {
            visit(&entry.path(), entry.ino());
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                waiting.push(entry.path());
            }
        }
    }
}

fn directory_data(path: &Path) -> Option<Metadata> {
    if SKIPPED.iter().any(|skipped| path == Path::new(skipped)) {
        return None;
    }
    path.symlink_metadata().ok().filter(Metadata::is_dir)
}

/// Returns the entries of a directory; none if it cannot be read.
pub(super) fn entries(path: &Path) -> impl Iterator<Item = DirEntry> + use<> {
    std::fs::read_dir(path).into_iter().flatten().filter_map(Result::ok)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_walk_finds_all_globs_and_repositories_even_after_a_change() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for directory in ["a/b", "c/.git"] {
            std::fs::create_dir_all(root.join(directory)).unwrap();
        }
        for file in ["a/b/.env", "a/key.pem", "plain"] {
            std::fs::write(root.join(file), "").unwrap();
        }
        let globs = ["**/.env", "a/*.pem"].map(|glob| Glob::new(&root.join(glob)).unwrap());
        let mut scan = Scan::new(globs.to_vec());
        let mut found = |expected: &[(Match, &str)]| {
            let mut matches = scan.matches(std::slice::from_ref(&root));
            matches.sort_by(|one, other| one.1.cmp(&other.1));
            let expected: Vec<_> = expected.iter().map(|(reason, path)| (*reason, root.join(path))).collect();
            assert_eq!(matches, expected);
        };
        let all = [(Match::Glob(0), "a/b/.env"), (Match::Glob(1), "a/key.pem"), (Match::Repository, "c/.git")];
        found(&all);
        found(&all);
        std::fs::rename(root.join("a/b/.env"), root.join("c/.env")).unwrap();
        found(&[(Match::Glob(1), "a/key.pem"), (Match::Glob(0), "c/.env"), (Match::Repository, "c/.git")]);
    }
}
