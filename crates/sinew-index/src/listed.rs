//! Stamps of files that were read while the folders of a tree were listed: by name in the open folder, which costs a third of a
//! path from the root.

use std::collections::HashMap;
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
    folders: Option<Mutex<HashMap<Box<[u8]>, FolderStamps>>>,
}

/// The stamps of the files in one folder.
#[derive(Default)]
struct FolderStamps {
    /// The names, one behind the other.
    names: Vec<u8>,
    /// The end of each name, in the order of names.
    files: Vec<(u32, StampSeen)>,
}

impl ListedStamps<'_> {
    /// Collects stamps under a key where they are `wanted`.
    pub(crate) fn new(watcher: &Watcher, key: [u8; 16], wanted: bool) -> ListedStamps<'_> {
        ListedStamps { watcher, key, folders: wanted.then(Mutex::default) }
    }

    /// Returns a look at what was collected; none where it was not wanted.
    pub(crate) fn into_look(self) -> Option<impl Fn(&[u8]) -> Option<StampSeen> + Sync + use<>> {
        let folders = self.folders?.into_inner();
        Some(move |path: &[u8]| {
            let folder = folder_of(path);
            let name = &path[if folder.is_empty() { 0 } else { folder.len() + 1 }..];
            folders.get(folder)?.find(name)
        })
    }
}

impl FolderObserver for ListedStamps<'_> {
    fn enter(&self, folder: BorrowedFd<'_>, stamp: &Stamp) -> Option<i32> {
        self.watcher.enter(folder, stamp)
    }

    fn listed(&self, folder: &ListedFolder<'_>) {
        let Some(folders) = &self.folders else { return };
        let mut found = FolderStamps::default();
        for (name, stamp) in folder.stamps() {
            let Ok(stamp) = stamp else { continue };
            found.names.extend_from_slice(name);
            let Ok(end) = u32::try_from(found.names.len()) else { return };
            let seen = StampSeen { number: stamp_number(&stamp, &self.key), is_linked: stamp.links > 1 };
            found.files.push((end, seen));
        }
        folders.lock().insert(folder.path.into(), found);
    }

    fn leave(&self, watch: i32) {
        self.watcher.leave(watch);
    }
}

impl FolderStamps {
    fn find(&self, name: &[u8]) -> Option<StampSeen> {
        let name_at = |at: usize| {
            let start = at.checked_sub(1).map_or(0, |before| self.files[before].0);
            &self.names[start as usize..self.files[at].0 as usize]
        };
        let (mut low, mut high) = (0, self.files.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if name_at(middle) < name { low = middle + 1 } else { high = middle }
        }
        (low < self.files.len() && name_at(low) == name).then(|| self.files[low].1)
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
