//! Deletes indexes that are not needed any more: unused for a long time, without their root, or beyond the total size
//! limit.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::status::StoredIndex;
use crate::store::{USE_LOCK, check_owner, folder_of_all, open_private, remove_folder, root_of};

const HOUR: Duration = Duration::from_secs(3_600);
/// The same if its root is gone.
const ROOT_GONE: Duration = Duration::from_secs(7 * 24 * 3_600);
/// The maximum size of all indexes in bytes.
const ALL: u64 = 8 << 30;
/// The file whose modification time is that of the last eviction.
const LAST: &str = "evict.lock";

/// Returns the indexes on disk, the most recently used first; empty if their directory does not exist or does not
/// belong to this user alone.
pub(crate) fn stored(cache: &Path) -> Vec<StoredIndex> {
    let indexes = folder_of_all(cache);
    let entries = check_owner(&indexes).and_then(|()| fs::read_dir(&indexes));
    let mut stored: Vec<StoredIndex> =
        entries.into_iter().flatten().flatten().filter_map(|entry| read_index(entry.path())).collect();
    stored.sort_by_key(|index| std::cmp::Reverse(index.used));
    stored
}

/// Evicts unless that happened within the last hour.
///
/// # Errors
/// Returns an error if the system cannot access the directory of all indexes.
pub(crate) fn evict_hourly(indexes: &Path, now: SystemTime) -> io::Result<()> {
    check_owner(indexes)?;
    let mark = indexes.join(LAST);
    let last = fs::symlink_metadata(&mark).and_then(|found| found.modified());
    if last.is_ok_and(|last| now.duration_since(last).is_ok_and(|since| since < HOUR)) {
        return Ok(());
    }
    open_private(&mark, true)?.set_modified(now)?;
    evict(indexes, now, ALL)
}

/// Deletes the indexes that are too old, and then the least recently used ones until the rest has at most `most` bytes.
/// Indexes in use are kept.
fn evict(indexes: &Path, now: SystemTime, most: u64) -> io::Result<()> {
    let mut stored: Vec<StoredIndex> =
        fs::read_dir(indexes)?.flatten().filter_map(|entry| read_index(entry.path())).collect();
    stored.retain(|index| {
        let is_old = index.is_old(now) || (index.unused(now) >= ROOT_GONE && index.is_root_gone);
        !(is_old && remove_folder(&index.folder).is_ok())
    });
    stored.sort_by_key(|index| index.unused(now));
    let mut bytes: u64 = stored.iter().map(|index| index.bytes).sum();
    while bytes > most
        && let Some(index) = stored.pop()
    {
        if remove_folder(&index.folder).is_ok() {
            bytes -= index.bytes;
        }
    }
    Ok(())
}

fn read_index(folder: PathBuf) -> Option<StoredIndex> {
    let used = fs::symlink_metadata(folder.join(USE_LOCK)).ok()?.modified().ok()?;
    let lengths = fs::read_dir(&folder).ok()?.flatten().filter_map(|entry| entry.metadata().ok());
    let bytes = lengths.map(|found| found.len()).sum();
    let root = root_of(&folder).ok();
    // A root that cannot be read is not gone.
    let is_gone = |root| fs::symlink_metadata(root).is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
    let is_root_gone = root.as_ref().is_some_and(is_gone);
    Some(StoredIndex { root, is_root_gone, bytes, used, folder })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed test panics")]
mod tests {
    use super::*;
    use crate::store::{RootId, Store};

    const DAY: Duration = Duration::from_secs(24 * 3_600);

    /// Creates an index of a root that was last used some days ago.
    fn stored(cache: &Path, root: &Path, days: u32) {
        fs::create_dir_all(root).unwrap();
        let id = RootId::new(root, &sinew_walk::Stamp::of_file(&fs::File::open(root).unwrap()).unwrap());
        let (store, _) = Store::open(cache, id).unwrap();
        store.publish(&[]).unwrap();
        let lock = crate::store::folder_of(cache, root).join(USE_LOCK);
        fs::File::options().write(true).open(lock).unwrap().set_modified(SystemTime::now() - DAY * days).unwrap();
    }

    fn left(cache: &Path, roots: &[PathBuf]) -> Vec<bool> {
        roots.iter().map(|root| crate::store::folder_of(cache, root).exists()).collect()
    }

    #[test]
    fn evicts_old_indexes_and_those_whose_root_is_gone() {
        let place = tempfile::tempdir().unwrap();
        let cache = place.path().join("cache");
        let roots: Vec<PathBuf> =
            ["new", "old", "gone", "gone lately"].iter().map(|name| place.path().join(name)).collect();
        for (root, days) in roots.iter().zip([1, 31, 8, 6]) {
            stored(&cache, root, days);
        }
        roots[2..].iter().for_each(|root| fs::remove_dir(root).unwrap());
        evict(&cache.join("index/1"), SystemTime::now(), ALL).unwrap();
        assert_eq!(left(&cache, &roots), [true, false, false, true]);
    }

    #[test]
    fn evicts_the_least_recently_used_first_and_keeps_those_in_use() {
        let place = tempfile::tempdir().unwrap();
        let cache = place.path().join("cache");
        let roots: Vec<PathBuf> = ["a", "b", "c"].iter().map(|name| place.path().join(name)).collect();
        for (root, days) in roots.iter().zip([3, 2, 1]) {
            stored(&cache, root, days);
        }
        let id = RootId::new(&roots[0], &sinew_walk::Stamp::of_file(&fs::File::open(&roots[0]).unwrap()).unwrap());
        let used = Store::open(&cache, id).unwrap();
        let lock = crate::store::folder_of(&cache, &roots[0]).join(USE_LOCK);
        fs::File::options().write(true).open(lock).unwrap().set_modified(SystemTime::now() - DAY * 3).unwrap();
        // The limit fits two: each has one page.
        evict(&cache.join("index/1"), SystemTime::now(), 2 * 4_096).unwrap();
        assert_eq!(left(&cache, &roots), [true, false, true]);
        drop(used);
        evict(&cache.join("index/1"), SystemTime::now(), 0).unwrap();
        assert_eq!(left(&cache, &roots), [false, false, false]);
    }

    #[test]
    fn lists_and_removes_stored_indexes() {
        let place = tempfile::tempdir().unwrap();
        let cache = place.path().join("cache");
        assert_eq!(super::stored(&cache), []);
        let roots: Vec<PathBuf> = ["a", "b", "c"].iter().map(|name| place.path().join(name)).collect();
        for (root, days) in roots.iter().zip([29, 1, 31]) {
            stored(&cache, root, days);
        }
        fs::remove_dir(&roots[0]).unwrap();
        let told = super::stored(&cache);
        let now = SystemTime::now();
        let facts =
            |index: &StoredIndex| (index.root.clone().unwrap(), index.is_root_gone, index.is_old(now), index.bytes);
        let expect = [(1, false, false), (0, true, false), (2, false, true)];
        let expect = expect.map(|(root, is_gone, is_old)| (roots[root].clone(), is_gone, is_old, 4_096));
        assert_eq!(told.iter().map(facts).collect::<Vec<_>>(), expect);
        let id = RootId::new(&roots[1], &sinew_walk::Stamp::of_file(&fs::File::open(&roots[1]).unwrap()).unwrap());
        let used = Store::open(&cache, id).unwrap();
        let refused = crate::Index::remove_stored(&told[0]).unwrap_err();
        assert!(refused.message().ends_with("it is in use"), "{refused}");
        drop(used);
        told.iter().for_each(|index| crate::Index::remove_stored(index).unwrap());
        assert_eq!(super::stored(&cache), []);
    }

    #[test]
    fn evicts_at_most_once_an_hour() {
        let place = tempfile::tempdir().unwrap();
        let cache = place.path().join("cache");
        let root = place.path().join("root");
        stored(&cache, &root, 31);
        fs::write(cache.join("index/1").join(LAST), "").unwrap();
        evict_hourly(&cache.join("index/1"), SystemTime::now()).unwrap();
        assert_eq!(left(&cache, std::slice::from_ref(&root)), [true]);
        evict_hourly(&cache.join("index/1"), SystemTime::now() + 2 * HOUR).unwrap();
        assert_eq!(left(&cache, &[root]), [false]);
    }
}
