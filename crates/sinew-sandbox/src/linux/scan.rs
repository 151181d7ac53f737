//! Finds what the globs of a policy match. A directory that did not change since it was read is not read again.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::{DirEntry, Metadata};
use std::os::unix::fs::{DirEntryExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// A directory that changed less than this before it was read may change again under the same time stamp.
const UNSTABLE: Duration = Duration::from_millis(50);

/// Directories without files of a user.
const SKIPPED: [&str; 3] = ["/proc", "/sys", "/dev"];

/// The name of an entry, the number of its file, and whether it is a directory.
#[derive(Debug, Clone)]
struct Name {
    name: OsString,
    inode: u64,
    is_directory: bool,
}

#[derive(Debug)]
struct Directory {
    stamp: (i64, i64, u64, u64),
    is_stable: bool,
    names: Vec<Name>,
}

/// The directories that were read.
#[derive(Debug, Default)]
pub(super) struct Scan {
    directories: HashMap<PathBuf, Directory>,
}

/// An entry of the tree.
pub(super) struct Visited<'a> {
    pub(super) path: &'a Path,
    pub(super) inode: u64,
    pub(super) is_directory: bool,
}

impl Scan {
    /// Calls `visit` with every entry below `base`. Links are entries and are not followed. A directory that cannot be read is
    /// empty: programs of the same user cannot read it either.
    pub(super) fn walk(&mut self, base: &Path, visit: &mut dyn FnMut(&Visited<'_>)) {
        let mut waiting = vec![base.to_path_buf()];
        while let Some(path) = waiting.pop() {
            if SKIPPED.iter().any(|skipped| path == Path::new(skipped)) {
                continue;
            }
            let Ok(data) = path.symlink_metadata() else { continue };
            if !data.is_dir() {
                continue;
            }
            let stamp = (data.mtime(), data.mtime_nsec(), data.ino(), data.dev());
            let known = self.directories.get(&path).is_some_and(|known| known.is_stable && known.stamp == stamp);
            if !known {
                let names = read(&path);
                self.directories.insert(path.clone(), Directory { stamp, is_stable: is_stable(&data), names });
            }
            for name in &self.directories[&path].names {
                let entry = path.join(&name.name);
                visit(&Visited { path: &entry, inode: name.inode, is_directory: name.is_directory });
                if name.is_directory {
                    waiting.push(entry);
                }
            }
        }
    }
}

fn is_stable(data: &Metadata) -> bool {
    data.modified().is_ok_and(|time| SystemTime::now().duration_since(time).is_ok_and(|age| age > UNSTABLE))
}

fn read(path: &Path) -> Vec<Name> {
    let Ok(entries) = std::fs::read_dir(path) else { return Vec::new() };
    let name = |entry: DirEntry| Name {
        inode: entry.ino(),
        is_directory: entry.file_type().is_ok_and(|kind| kind.is_dir()),
        name: entry.file_name(),
    };
    entries.filter_map(Result::ok).map(name).collect()
}
