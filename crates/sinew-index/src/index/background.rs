//! The background build: one thread at low priority, which exits when all files are read.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use sinew_base::{CancelHandle, CancelToken};
use sinew_pool::Pool;
use sinew_walk::{FileType, Scan};

use super::{Index, Listing};
use crate::status::{BuildPolicy, IndexStatus};

/// The minimum number of files for an automatic build.
const FILES: usize = 5_000;
/// The minimum size of the files in bytes, if there are fewer.
const BYTES: u64 = 32 << 20;
/// The minimum number of searches.
const SEARCHES: u64 = 2;
/// The number of changed or new files that starts another build.
const CHANGED: usize = 256;
/// The time between two checks of the watcher while there are searches.
const CHECK: Duration = Duration::from_secs(60);
/// The nice increment of the thread; the maximum is 19.
const NICE: i32 = 10;

/// The thread, and the state that decides when it starts.
#[derive(Default)]
pub(super) struct BackgroundBuild {
    searches: u64,
    /// True if a build was started.
    begun: bool,
    /// The time of the last check of the watcher; `None` before the first one.
    checked: Option<Instant>,
    running: Option<(CancelHandle, JoinHandle<()>)>,
}

impl Index {
    /// Records that a search used a listing, and starts a background build if it pays off. The counts are those of the
    /// whole tree, even if only a part of it was searched.
    pub fn note_search(self: &Arc<Self>, listing: &Listing) {
        if self.options.build == BuildPolicy::Never {
            return;
        }
        let mut background = self.background.lock();
        background.searches += 1;
        let searches = background.searches;
        if background.running.as_ref().is_some_and(|(_, thread)| !thread.is_finished()) {
            return;
        }
        let IndexStatus { listed: files, current, full, .. } = self.status();
        let unknown = files.saturating_sub(current);
        let is_worth = match (self.options.build, background.begun) {
            (_, true) => unknown >= CHANGED && !full,
            (BuildPolicy::Always, false) => unknown > 0,
            (_, false) if files >= FILES => searches >= SEARCHES && unknown >= CHANGED,
            // Measuring needs a check of each file, so it happens less and less often.
            (_, false) => searches >= SEARCHES && searches.is_power_of_two() && unknown > 0,
        };
        let is_due = background.checked.get_or_insert_with(Instant::now).elapsed() >= CHECK;
        if !is_worth && !is_due {
            return;
        }
        if is_due {
            background.checked = Some(Instant::now());
        }
        let few = (!background.begun && self.options.build == BuildPolicy::Auto && files < FILES)
            .then(|| Arc::clone(&listing.scan.scan));
        let (handle, cancel) = CancelHandle::new();
        let index = Arc::clone(self);
        let thread = thread::Builder::new().name("sinew-index".to_string()).spawn(move || {
            // Relative to the priority of the program, which may be low itself. If this fails, the thread has normal
            // priority.
            let usual = rustix::process::getpriority_process(None).unwrap_or(0);
            let _ = rustix::process::setpriority_process(None, (usual + NICE).min(19));
            if is_due {
                index.check_alone(&cancel);
            }
            if is_worth && few.is_none_or(|few| holds(&few, BYTES, &cancel)) {
                index.background.lock().begun = true;
                index.build_alone(&cancel);
            }
        });
        // Without a thread files stay searched; a later search tries again.
        if let Ok(thread) = thread {
            background.running = Some((handle, thread));
        }
    }

    /// Waits until the background build ends, if one is running.
    pub fn join_background(&self) {
        let running = self.background.lock().running.take();
        if let Some((_, thread)) = running {
            // A panic of the thread was already counted.
            let _ = thread.join();
        }
    }

    /// Stops the background build without waiting for its thread.
    pub fn cancel_background(&self) {
        if let Some((handle, _)) = &self.background.lock().running {
            handle.cancel();
        }
    }

    /// Stops the background build and waits for its thread.
    pub(super) fn stop_background(&self) {
        self.cancel_background();
        self.join_background();
    }

    fn check_alone(&self, cancel: &CancelToken) {
        let check = || self.check_events(&Pool::new("sinew-index", 1), cancel);
        if std::panic::catch_unwind(std::panic::AssertUnwindSafe(check)).is_err() {
            self.panics.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn build_alone(&self, cancel: &CancelToken) {
        let built = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            // A pool that only uses the calling thread.
            self.build(&Pool::new("sinew-index", 1), cancel)
        }));
        if built.is_err() {
            self.panics.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Returns true if the files of a scan have at least this many bytes together.
fn holds(scan: &Scan, bytes: u64, cancel: &CancelToken) -> bool {
    let files = scan.iter().filter(|entry| entry.file_type() == FileType::File);
    let mut held = 0;
    for entry in files {
        if cancel.check().is_err() {
            return false;
        }
        let path = scan.root().join(OsStr::from_bytes(entry.bytes()));
        held += std::fs::symlink_metadata(path).map_or(0, |file| file.len());
        if held >= bytes {
            return true;
        }
    }
    false
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed test panics")]
mod tests {
    use sinew_walk::ScanOptions;

    use super::*;
    use crate::status::IndexOptions;

    /// Returns the nice values of the threads of this process whose names begin with `name`.
    fn nice_of(name: &str) -> Vec<i32> {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
        // A thread that ended in the meantime has no line.
        let stats = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("stat")).ok());
        let named = stats.filter(|stat| stat.contains(&format!("({name}")));
        // The fields from the third on follow the name; the nineteenth is the nice value.
        named.map(|stat| stat[stat.rfind(')').unwrap() + 2..].split(' ').nth(16).unwrap().parse().unwrap()).collect()
    }

    #[test]
    fn builds_on_one_low_priority_thread_without_blocking_calls() {
        let place = tempfile::tempdir().unwrap();
        std::fs::write(place.path().join("a"), "hay\n").unwrap();
        let options = IndexOptions { build: BuildPolicy::Always, ..IndexOptions::default() };
        let index = Arc::new(Index::open(place.path(), options, Arc::default()).unwrap());
        let (pool, never) = (Pool::new("test-32", 1), CancelToken::never());
        let listing = || index.listing(&ScanOptions::new(place.path()), &pool, &never).unwrap().unwrap();
        let usual = rustix::process::getpriority_process(None).unwrap();
        // The background build cannot finish while this lock is held.
        let reading = index.build.lock();
        index.note_search(&listing());
        let expect = (usual + NICE).min(19);
        while nice_of("sinew-index") != [expect] {
            thread::yield_now();
        }
        for _ in 0..5 {
            index.note_search(&listing());
            assert_eq!(nice_of("sinew-index"), [expect], "one thread for any number of searches");
        }
        assert_eq!(index.status().current, 0, "other calls continue during the build");
        drop(reading);
        index.join_background();
        assert_eq!(index.status().current, 1);
    }
}
