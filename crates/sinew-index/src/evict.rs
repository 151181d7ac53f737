//! Deletes indexes that nobody needs any more: unused for long, of a root that is gone, or beyond the room of all together.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::store::{USE_LOCK, check_owner, open_private, remove_folder, root_of};

const HOUR: Duration = Duration::from_secs(3_600);
/// The time without use after which an index is deleted.
const UNUSED: Duration = Duration::from_secs(30 * 24 * 3_600);
/// The same where its root is gone.
const ROOT_GONE: Duration = Duration::from_secs(7 * 24 * 3_600);
/// The most bytes of all indexes.
const ALL: u64 = 8 << 30;
/// The file whose time is that of the last eviction.
const LAST: &str = "evict.lock";

/// One index on disk.
struct Stored {
    folder: PathBuf,
    unused: Duration,
    bytes: u64,
}

/// Evicts unless that was done within the last hour.
///
/// # Errors
/// Whatever the system says of the folder of all indexes.
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

/// Deletes the indexes that are too old, and then those that were not used for the longest time until the others have at most
/// `most` bytes. Those in use stay.
fn evict(indexes: &Path, now: SystemTime, most: u64) -> io::Result<()> {
    let mut stored: Vec<Stored> =
        fs::read_dir(indexes)?.flatten().filter_map(|entry| look(entry.path(), now)).collect();
    // A root that cannot be read is not gone.
    let is_gone = |folder: &Path| {
        root_of(folder)
            .is_ok_and(|root| fs::symlink_metadata(root).is_err_and(|error| error.kind() == io::ErrorKind::NotFound))
    };
    stored.retain(|index| {
        let is_old = index.unused >= UNUSED || (index.unused >= ROOT_GONE && is_gone(&index.folder));
        !(is_old && remove_folder(&index.folder).is_ok())
    });
    stored.sort_by_key(|index| index.unused);
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

fn look(folder: PathBuf, now: SystemTime) -> Option<Stored> {
    let used = fs::symlink_metadata(folder.join(USE_LOCK)).ok()?.modified().ok()?;
    let lengths = fs::read_dir(&folder).ok()?.flatten().filter_map(|entry| entry.metadata().ok());
    // A time that lies ahead is no reason to delete.
    let unused = now.duration_since(used).unwrap_or_default();
    Some(Stored { bytes: lengths.map(|found| found.len()).sum(), unused, folder })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops where it fails")]
mod tests {
    use super::*;
    use crate::store::{RootId, Store};

    const DAY: Duration = Duration::from_secs(24 * 3_600);

    /// An index of a root that was not used for some days.
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
    fn item_38_what_is_old_or_has_no_root_goes() {
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
    fn item_22_the_longest_unused_go_first_and_those_in_use_stay() {
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
        // Room for two: each has one page.
        evict(&cache.join("index/1"), SystemTime::now(), 2 * 4_096).unwrap();
        assert_eq!(left(&cache, &roots), [true, false, true]);
        drop(used);
        evict(&cache.join("index/1"), SystemTime::now(), 0).unwrap();
        assert_eq!(left(&cache, &roots), [false, false, false]);
    }

    #[test]
    fn an_hour_lies_between_two_evictions() {
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
