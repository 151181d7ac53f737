//! Reads file stamps while the directories of a tree are listed: by name in the open directory, which costs a third of
//! a lookup from the root.

use std::collections::HashSet;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use sinew_walk::{FolderObserver, ListedFolder, Stamp};

use crate::changed_paths::prefix_of;
use crate::part::{StampSeen, stamp_number};
use crate::segment::SegmentFiles;
use sinew_watch::FolderWatches;

/// An observer that records the stamps of the files of some segments after their directories got their watches.
pub(crate) struct StampReader<'a> {
    watcher: &'a FolderWatches,
    key: [u8; 16],
    parts: Vec<SegmentStamps<'a>>,
}

/// The files of a segment, and the stamps that the threads of a walk read.
struct SegmentStamps<'a> {
    files: &'a SegmentFiles,
    stamps: Box<[AtomicU64]>,
    linked: Mutex<HashSet<u32>>,
}

/// The stamps read for the files of one segment.
pub(crate) struct SeenFiles {
    /// Indexed by the number of the file; 0 if it was not read.
    stamps: Box<[AtomicU64]>,
    /// Files with more than one hard link.
    linked: HashSet<u32>,
}

impl StampReader<'_> {
    /// Watches directories, and records stamps under a key for segments, each with its sorted files.
    pub(crate) fn new<'a>(
        watcher: &'a FolderWatches,
        key: [u8; 16],
        parts: impl IntoIterator<Item = &'a SegmentFiles>,
    ) -> StampReader<'a> {
        let part = |files: &'a SegmentFiles| SegmentStamps {
            files,
            stamps: (0..files.len()).map(|_| AtomicU64::new(0)).collect(),
            linked: Mutex::default(),
        };
        StampReader { watcher, key, parts: parts.into_iter().map(part).collect() }
    }

    /// Returns the recorded stamps of each segment.
    pub(crate) fn into_seen(self) -> Vec<SeenFiles> {
        let seen = |part: SegmentStamps<'_>| SeenFiles { stamps: part.stamps, linked: part.linked.into_inner() };
        self.parts.into_iter().map(seen).collect()
    }
}

impl FolderObserver for StampReader<'_> {
    fn enter(&self, folder: BorrowedFd<'_>, stamp: &Stamp) -> Option<i32> {
        self.watcher.enter(folder, stamp)
    }

    fn listed(&self, folder: &ListedFolder<'_>) {
        let mut path = prefix_of(folder.path);
        // A directory belongs to few of the segments.
        let parts = self.parts.iter().filter_map(|part| Some((part, part.files.first_below(&path)?)));
        let mut parts: Vec<_> = parts.collect();
        if parts.is_empty() {
            return;
        }
        let start = path.len();
        for (name, stamp) in folder.stamps() {
            let Ok(stamp) = stamp else { continue };
            let stamp = StampSeen { number: stamp_number(&stamp, &self.key), is_linked: stamp.links > 1 };
            path.truncate(start);
            path.extend_from_slice(name);
            for (part, next) in &mut parts {
                if let Some(file) = part.files.find_next(next, &path) {
                    part.note(file, stamp);
                }
            }
        }
    }

    fn leave(&self, watch: i32) {
        self.watcher.leave(watch);
    }
}

impl SegmentStamps<'_> {
    fn note(&self, file: u32, StampSeen { number, is_linked }: StampSeen) {
        self.stamps[file as usize].store(number, Ordering::Relaxed);
        if is_linked {
            self.linked.lock().insert(file);
        }
    }
}

impl SeenFiles {
    /// Returns the stamp of the file with this number; `None` if it was not read.
    pub(crate) fn get(&self, file: u32) -> Option<StampSeen> {
        let number = self.stamps[file as usize].load(Ordering::Relaxed);
        (number != 0).then(|| StampSeen { number, is_linked: self.linked.contains(&file) })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use sinew_base::CancelToken;
    use sinew_pool::Pool;
    use sinew_walk::{ScanOptions, Tree};

    use super::*;
    use crate::part::look_at;
    use crate::segment::{FileKind, FileRecord};
    use sinew_watch::WatchQueue;

    #[test]
    fn stamps_from_a_listing_equal_those_of_a_lookup_by_path() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        for file in ["a", "b/c", "b/d/e", ".h", "b/.i", "ignored/f", "b.x/g"] {
            let path = root.join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, file).unwrap();
        }
        std::fs::write(root.join(".ignore"), "ignored\n").unwrap();
        std::fs::hard_link(root.join("a"), root.join("b/second")).unwrap();
        let (never, pool) = (CancelToken::never(), Pool::new("test", 2));
        let watcher = FolderWatches::new(Arc::new(WatchQueue::default()), true, None);
        let key = [7; 16];
        let part = |paths: &[&str]| {
            let mut files = SegmentFiles::default();
            for path in paths {
                files.push(FileRecord { path: path.as_bytes(), kind: FileKind::Text, stamp: 0 }).unwrap();
            }
            assert!(files.are_sorted());
            files
        };
        let there = [".h", "a", "b.x/g", "b/.i", "b/c", "b/d/e", "b/second"];
        let absent = [".ignore/x", "b", "b/d", "b/missing", "ignored/f", "nowhere/a"];
        let mut all = [&there[..], &absent].concat();
        all.sort_unstable();
        let parts = [part(&all), part(&there[2..4]), part(&absent), part(&[])];
        let listed = StampReader::new(&watcher, key, &parts);
        let tree = Tree::open(&ScanOptions::new(&root), &listed, &pool, &never).unwrap();
        for (files, seen) in parts.iter().zip(listed.into_seen()) {
            for file in 0..files.len() {
                let path = files.get(file).path;
                let text = String::from_utf8(path.to_vec()).unwrap();
                let expected = there.contains(&&*text).then(|| look_at(&tree, &key)(file, path).unwrap());
                assert_eq!(seen.get(file), expected, "{text}");
                let is_linked = ["a", "b/second"].contains(&&*text);
                assert_eq!(expected.is_some_and(|seen| seen.is_linked), is_linked, "{text}");
            }
        }
    }
}
