//! Stamps of files that were read while the folders of a tree were listed: by name in the open folder, which costs a third of a
//! path from the root.

use std::collections::HashMap;
use std::ops::Range;
use std::os::fd::BorrowedFd;

use parking_lot::Mutex;
use sinew_walk::{FolderObserver, ListedFolder, Stamp};

use crate::part::{StampSeen, stamp_number};
use crate::touched::folder_of;
use crate::watch::Watcher;

/// The stamps of all files of a tree, as of after their folder got its watch.
pub(crate) struct ListedStamps<'a> {
    watcher: &'a Watcher,
    key: [u8; 16],
    /// None where nobody wants them.
    collected: Option<Mutex<Collected>>,
}

/// The stamps that were collected, in few long pieces: many short ones would leave holes between those that the tree keeps.
#[derive(Default)]
struct Collected {
    /// The names, one behind the other.
    names: Vec<u8>,
    /// The end of each name; those of one folder follow each other, in the order of names.
    files: Vec<(usize, StampSeen)>,
    /// The files of each folder.
    folders: HashMap<Box<[u8]>, Range<usize>>,
}

impl ListedStamps<'_> {
    /// Collects stamps under a key where they are `wanted`.
    pub(crate) fn new(watcher: &Watcher, key: [u8; 16], wanted: bool) -> ListedStamps<'_> {
        ListedStamps { watcher, key, collected: wanted.then(Mutex::default) }
    }

    /// Returns a look at what was collected; none where it was not wanted.
    pub(crate) fn into_look(self) -> Option<impl Fn(&[u8]) -> Option<StampSeen> + Sync + use<>> {
        let collected = self.collected?.into_inner();
        Some(move |path: &[u8]| collected.find(path))
    }
}

impl FolderObserver for ListedStamps<'_> {
    fn enter(&self, folder: BorrowedFd<'_>, stamp: &Stamp) -> Option<i32> {
        self.watcher.enter(folder, stamp)
    }

    fn listed(&self, folder: &ListedFolder<'_>) {
        let Some(collected) = &self.collected else { return };
        // Asked for before the others are kept from theirs.
        let seen = |stamp: Stamp| StampSeen { number: stamp_number(&stamp, &self.key), is_linked: stamp.links > 1 };
        let found: Vec<(&[u8], StampSeen)> =
            folder.stamps().filter_map(|(name, stamp)| Some((name, seen(stamp.ok()?)))).collect();
        collected.lock().add(folder.path, &found);
    }

    fn leave(&self, watch: i32) {
        self.watcher.leave(watch);
    }
}

impl Collected {
    fn add(&mut self, folder: &[u8], found: &[(&[u8], StampSeen)]) {
        let first = self.files.len();
        for (name, seen) in found {
            self.names.extend_from_slice(name);
            self.files.push((self.names.len(), *seen));
        }
        self.folders.insert(folder.into(), first..self.files.len());
    }

    fn find(&self, path: &[u8]) -> Option<StampSeen> {
        let folder = folder_of(path);
        let name = &path[if folder.is_empty() { 0 } else { folder.len() + 1 }..];
        let Range { start: mut low, end } = self.folders.get(folder)?.clone();
        let mut high = end;
        while low < high {
            let middle = low + (high - low) / 2;
            if self.name(middle) < name { low = middle + 1 } else { high = middle }
        }
        (low < end && self.name(low) == name).then(|| self.files[low].1)
    }

    fn name(&self, at: usize) -> &[u8] {
        let start = at.checked_sub(1).map_or(0, |before| self.files[before].0);
        &self.names[start..self.files[at].0]
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use sinew_base::CancelToken;
    use sinew_pool::Pool;
    use sinew_walk::{FileType, ScanOptions, Tree};

    use super::*;
    use crate::part::look_at;
    use crate::watch::WatchQueue;

    #[test]
    fn item_4_what_was_seen_in_a_listing_is_what_a_path_leads_to() {
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
        let watcher = Watcher::new(Arc::new(WatchQueue::default()), true, None);
        let key = [7; 16];
        let listed = ListedStamps::new(&watcher, key, true);
        let mut tree = Tree::open(&ScanOptions::new(&root), &listed, &pool, &never).unwrap();
        let look = listed.into_look().unwrap();
        let options = ScanOptions { hidden: true, ..ScanOptions::new(&root) };
        let scan = tree.scan(&options, &never).unwrap().unwrap();
        let files = || scan.scan.iter().filter(|entry| entry.file_type() == FileType::File);
        assert_eq!(files().count(), 8);
        for file in files() {
            let seen = look(file.bytes());
            assert!(seen.is_some(), "{}", file.path());
            assert_eq!(seen, look_at(&tree, &key)(file.bytes()), "{}", file.path());
        }
        assert!(look(b"b/second").unwrap().is_linked);
        for path in [&b"missing"[..], b"b/missing", b"nowhere/a", b"ignored/f", b"b"] {
            assert_eq!(look(path), None);
        }
    }
}
