//! The check of the watcher: compares every stamp between two reads of the queue. A difference without an event is a
//! surprise.

use std::sync::Arc;

use sinew_base::{CancelToken, Result};
use sinew_pool::Pool;

use super::{Index, lock};
use crate::list::IdSet;
use crate::part::stamp_number;
use crate::segment::Segment;
use crate::storage::Storage;

/// The number of files between two checks for cancellation.
const SHARE: usize = 64;

impl Index {
    /// Checks every watched file and directory. Other calls continue while the files are checked.
    ///
    /// # Errors
    /// Returns an error if the call is cancelled.
    pub fn check_events(&self, pool: &Pool, cancel: &CancelToken) -> Result<()> {
        let Some((key, known, files)) = self.known_files(pool, cancel)? else { return Ok(()) };
        let mut differing = Vec::new();
        for (segment, current) in &known {
            let stamped = current.iter().map(|number| segment.files().get(number)).filter(|file| file.stamp != 0);
            for (at, file) in stamped.enumerate() {
                if at.is_multiple_of(SHARE) {
                    cancel.check()?;
                }
                let path = file.path.to_vec();
                if files.stamp(&path).map_or(0, |now| stamp_number(&now, &key)) != file.stamp {
                    differing.push(path);
                }
            }
        }
        let mut state = lock(&self.state, cancel)?;
        // Files with events in the meantime are not in the recorded state any more.
        if !self.barrier(&mut state, pool, cancel)? {
            return Ok(());
        }
        let Some(held) = state.held.as_mut().filter(|held| held.key == key) else { return Ok(()) };
        let mut found = held.note_surprises(&differing);
        found += held.check_folders(pool, cancel)?;
        state.counts.surprises += found;
        state.counts.sweeps += 1;
        self.note_status(&state);
        Ok(())
    }

    /// Returns the key of the stamps, the unchanged files with their stamps, and a handle to read their current stamps.
    #[allow(clippy::type_complexity, reason = "three values that belong to the same moment")]
    fn known_files(
        &self,
        pool: &Pool,
        cancel: &CancelToken,
    ) -> Result<Option<([u8; 16], Vec<(Arc<Segment<Storage>>, IdSet)>, sinew_walk::TreeFiles)>> {
        let mut state = lock(&self.state, cancel)?;
        if !self.barrier(&mut state, pool, cancel)? {
            return Ok(None);
        }
        let Some(held) = state.held.as_ref().filter(|held| held.is_watched()) else { return Ok(None) };
        let Ok(files) = held.tree.files() else { return Ok(None) };
        let known = held.parts.iter().map(|part| (Arc::clone(&part.segment), part.current.clone()));
        Ok(Some((held.key, known.collect(), files)))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed test panics")]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use sinew_walk::{FileType, ScanOptions, Stamp};

    use super::*;
    use crate::lookup::Reach;
    use crate::part::RowState;
    use crate::plan::Plan;
    use crate::status::{BuildPolicy, Freshness, IndexOptions, IndexStatus};
    use sinew_watch::WatchQueue;

    struct WatchedIndex {
        place: tempfile::TempDir,
        queue: Arc<WatchQueue>,
        index: Index,
        pool: Pool,
    }

    /// Creates an indexed and settled tree of 20 files; `None` if its file system has no events.
    fn watched() -> Option<WatchedIndex> {
        let place = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(place.path().join("root/a")).unwrap();
        for file in 0..20 {
            std::fs::write(place.path().join(format!("root/a/f{file:02}")), "hay\n").unwrap();
        }
        let last = std::fs::File::open(place.path().join("root/a/f19")).unwrap();
        while !Stamp::of_file(&last).unwrap().is_settled() {
            std::thread::yield_now();
        }
        let queue = Arc::new(WatchQueue::default());
        let options = IndexOptions { build: BuildPolicy::Never, ..IndexOptions::default() };
        let index = Index::open(&place.path().join("root"), options, Arc::clone(&queue)).unwrap();
        let pool = Pool::new("test", 1);
        index.build(&pool, &CancelToken::never()).unwrap();
        let is_watched = index.status().freshness == Freshness::Watch;
        is_watched.then_some(WatchedIndex { place, queue, index, pool })
    }

    impl WatchedIndex {
        fn root(&self) -> &Path {
            self.index.root()
        }

        fn check(&self) -> IndexStatus {
            self.index.check_events(&self.pool, &CancelToken::never()).unwrap();
            self.index.status()
        }

        /// Returns the number of files that a plan without matches rules out, and the number of listed files.
        fn left_out(&self) -> (usize, usize) {
            let never = CancelToken::never();
            let listing = self.index.listing(&ScanOptions::new(self.root()), &self.pool, &never).unwrap().unwrap();
            let (states, _) = listing.judge(&Plan::Nothing, Reach::Line);
            (
                states.iter().filter(|state| **state == RowState::NoMatch).count(),
                listing.entries().iter().filter(|entry| entry.file_type() == FileType::File).count(),
            )
        }
    }

    #[test]
    fn status_does_not_wait_for_a_running_call() {
        let Some(watched) = watched() else { return };
        let _call = watched.index.state.lock();
        let status = watched.index.status();
        assert_eq!((status.listed, status.current, status.reason), (20, 20, None));
    }

    #[test]
    fn reported_changes_do_not_count_as_surprises() {
        let Some(watched) = watched() else { return };
        assert_eq!(watched.check().counts.surprises, 0);
        std::fs::write(watched.root().join("a/f03"), "straw\n").unwrap();
        std::fs::write(watched.root().join("a/new"), "straw\n").unwrap();
        std::fs::create_dir(watched.root().join("b")).unwrap();
        let status = watched.check();
        assert_eq!((status.counts.surprises, status.freshness, status.reason), (0, Freshness::Watch, None));
        assert_eq!(watched.left_out(), (19, 21));
    }

    #[test]
    fn checks_a_file_with_an_unreported_change_in_each_call() {
        let Some(watched) = watched() else { return };
        // A second hard link elsewhere has no event, but changes the time of the first one.
        let outside = watched.place.path().join("outside");
        std::fs::hard_link(watched.root().join("a/f05"), &outside).unwrap();
        assert_eq!(watched.left_out(), (20, 20));
        let status = watched.check();
        assert_eq!((status.counts.surprises, status.freshness), (1, Freshness::Watch));
        assert_eq!(watched.left_out(), (19, 20));
        let file = std::fs::File::open(&outside).unwrap();
        while !Stamp::of_file(&file).unwrap().is_settled() {
            std::thread::yield_now();
        }
        watched.index.build(&watched.pool, &CancelToken::never()).unwrap();
        assert_eq!(watched.left_out(), (20, 20), "read again");
        std::fs::write(&outside, "a needle\n").unwrap();
        assert_eq!(watched.left_out(), (19, 20), "a write through the other name is detected immediately");
    }

    #[test]
    fn unreported_names_switch_from_watching_to_sweeping() {
        let Some(watched) = watched() else { return };
        watched.queue.lose_events(true);
        std::fs::write(watched.root().join("a/new"), "straw\n").unwrap();
        assert_eq!(watched.left_out(), (20, 20), "no event was received");
        let status = watched.check();
        watched.queue.lose_events(false);
        assert_eq!((status.counts.surprises, status.freshness), (1, Freshness::Sweep));
        assert_eq!(status.reason.as_deref(), Some("the system did not report a change of \"a\""));
        assert_eq!(watched.left_out().1, 21);
        watched.queue.lose_events(true);
        std::fs::write(watched.root().join("a/f00"), "a needle\n").unwrap();
        std::fs::remove_file(watched.root().join("a/f01")).unwrap();
        assert_eq!(watched.left_out(), (18, 20), "each call checks the stamps");
    }

    #[test]
    fn the_seventeenth_unreported_file_switches_to_sweeping() {
        let Some(watched) = watched() else { return };
        watched.queue.lose_events(true);
        for file in 0..17 {
            std::fs::write(watched.root().join(format!("a/f{file:02}")), "a needle\n").unwrap();
            let expect = if file < 16 { Freshness::Watch } else { Freshness::Sweep };
            assert_eq!(watched.check().freshness, expect, "file {file}");
        }
        assert_eq!(watched.check().counts.surprises, 17);
    }
}
