//! Builds segments for the files that are not indexed yet, while other calls continue.

use std::collections::HashMap;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use parking_lot::Mutex;
use sinew_base::{Aborted, CancelToken, PageBuffer, Result};
use sinew_pool::Pool;
use sinew_walk::{FileType, Stamp, TreeFiles, TreeScan};

use crate::changed_paths::ChangedPaths;
use crate::index::{Index, lock};
use crate::indexed_root::IndexedRoot;
use crate::kind::{MAX_TEXT, is_secret, kind_of};
use crate::list::IdSet;
use crate::part::{Part, stamp_number};
use crate::postings::PostingsBuilder;
use crate::progress::Progress;
use crate::segment::{FileKind, FileRecord, Segment, SegmentFiles, SegmentId};
use crate::status::IndexOptions;
use crate::storage::{ROOM, Storage};
use crate::store::Store;

/// The memory for grams at which all threads close their segments, in bytes.
const PARTS_BYTES: usize = 96 << 20;
/// The memory for grams at which a thread closes its segment, in bytes.
const PART_BYTES: usize = 48 << 20;
/// The number of documents at which a thread closes its segment.
const DOCUMENTS: u32 = 200_000;
/// The number of files below which a segment is small, and the bytes of text: reading it again needs a fraction of a
/// second. A thread that reads a large tree closes segments of ten times this size.
const SMALL: u32 = 4_096;
const SMALL_TEXT: u64 = 4 << 20;
/// The number of small segments beyond which they are merged by reading them again.
const SMALL_PARTS: usize = 8;
/// The number of files for which one more thread builds its own segment.
const FILES_PER_THREAD: usize = 8_192;
/// Only one file larger than this is in memory at a time, in bytes.
const LARGE: u64 = 16 << 20;
/// The number of files that a thread processes at a time.
const SHARE: usize = 64;
/// A segment may use at most this fraction of its text on disk.
const TEXT_SHARE: u64 = 4;
/// The bytes that a segment may always use on disk: a segment of few files consists of pages rather than lists.
const FREE: u64 = 1 << 20;
/// The size of the engine's first read.
const FIRST: usize = 64 << 10;

/// A running build, which reads and writes files while other calls continue.
struct Task {
    scan: Arc<TreeScan>,
    /// The rows of the scan to read.
    rows: Vec<u32>,
    files: TreeFiles,
    /// The key of the stamps and the id of the segments.
    key: [u8; 16],
    next_segment: AtomicU32,
    /// `None` if the segments stay in memory.
    store: Option<Arc<Store>>,
    /// The segments whose files are read again.
    replaced: Vec<u32>,
    /// The remaining bytes for segments on disk, and in memory.
    room: Mutex<[u64; 2]>,
    /// True if a size limit was reached.
    is_full: AtomicBool,
    panics: Arc<AtomicU64>,
    progress: Arc<Progress>,
    /// Locked while a large file is in memory.
    large: Mutex<()>,
}

impl Index {
    /// Indexes every file that is not indexed in its current state. Other calls continue and never wait. A file that
    /// changes while it is read is not indexed. Checks `cancel` before each file.
    ///
    /// # Errors
    /// Returns an error if the call is cancelled.
    pub fn build(&self, pool: &Pool, cancel: &CancelToken) -> Result<()> {
        let _one = lock(&self.build, cancel)?;
        self.progress.begin();
        let Some(task) = self.begin_build(pool, cancel)? else { return Ok(()) };
        let read = task.read(pool, cancel);
        if read.is_err()
            && let Some(mut state) = self.state.try_lock()
        {
            // The events recorded during the build are not needed any more.
            state.held.iter_mut().for_each(|held| held.building = None);
        }
        let parts = read?;
        self.progress.merge();
        let mut state = lock(&self.state, cancel)?;
        // The new segments need the events up to this point too.
        self.barrier(&mut state, pool, cancel)?;
        // Otherwise the root is a different directory now.
        let Some(held) = state.held.as_mut().filter(|held| held.key == task.key) else { return Ok(()) };
        held.next_segment = task.next_segment.load(Ordering::Relaxed);
        held.is_full = task.is_full.load(Ordering::Relaxed);
        held.adopt(parts, &task.replaced, pool, cancel)?;
        let numbers: Vec<u32> = held.parts.iter().filter(|part| part.on_disk).map(|part| part.number).collect();
        self.note_status(&state);
        drop(state);
        // A segment that cannot be published is used as long as this process has it open.
        let failed = task.store.is_some_and(|store| store.publish(&numbers).is_err());
        if failed {
            let mut state = lock(&self.state, cancel)?;
            state.held.iter_mut().for_each(|held| held.store = None);
            self.note_status(&state);
        }
        Ok(())
    }

    /// Collects the files of the tree that are not indexed in their current state, in path order. Events are recorded
    /// from now on.
    fn begin_build(&self, pool: &Pool, cancel: &CancelToken) -> Result<Option<Task>> {
        let mut state = lock(&self.state, cancel)?;
        if !self.barrier(&mut state, pool, cancel)? {
            return Ok(None);
        }
        let Some(held) = &mut state.held else { return Ok(None) };
        // Files that another process indexed need not be read again.
        held.take_published(&self.options, pool, cancel)?;
        let options = held.tree.options().clone();
        let Some(scan) = held.tree.scan(&options, cancel)? else { return Ok(None) };
        let Ok(files) = held.tree.files() else { return Ok(None) };
        let replaced = held.parts_to_replace();
        let kept = || held.parts.iter().filter(|part| !replaced.contains(&part.number));
        let known = |path: &[u8]| kept().any(|part| part.knows(path)) || held.mounted.iter().any(|place| place == path);
        let unknown = scan.scan.iter().filter(|entry| entry.file_type() == FileType::File && !known(entry.bytes()));
        let rows: Vec<u32> = unknown.filter_map(|entry| u32::try_from(entry.index()).ok()).collect();
        let used = |on_disk| kept().filter(|part| part.on_disk == on_disk).map(|part| part.bytes).sum::<u64>();
        let most = [
            self.options.max_disk.unwrap_or(IndexOptions::DISK),
            self.options.max_memory.unwrap_or(IndexOptions::MEMORY),
        ];
        let room = [most[0].saturating_sub(used(true)), most[1].saturating_sub(used(false))];
        held.building = Some(ChangedPaths::default());
        self.progress.read(rows.len());
        Ok(Some(Task {
            scan: Arc::clone(&scan),
            rows,
            files,
            key: held.key,
            next_segment: AtomicU32::new(held.next_segment),
            store: held.store.clone().filter(|store| store.is_writer()),
            replaced,
            room: Mutex::new(room),
            is_full: AtomicBool::new(false),
            panics: Arc::clone(&self.panics),
            progress: Arc::clone(&self.progress),
            large: Mutex::new(()),
        }))
    }
}

impl IndexedRoot {
    /// Returns the segments worth reading again: a quarter of their files is outdated, or they are small and too many.
    /// They are used until they are replaced.
    fn parts_to_replace(&self) -> Vec<u32> {
        let is_small = |part: &&Part| part.files().len() < SMALL && part.segment.text_bytes() < SMALL_TEXT;
        let too_many = self.parts.iter().filter(is_small).count() > SMALL_PARTS;
        let is_stale = |part: &Part| part.current.len() * 4 < part.files().len() as usize * 3;
        let replaced = self.parts.iter().filter(|part| is_stale(part) || (too_many && is_small(part)));
        replaced.map(|part| part.number).collect()
    }
}

impl Task {
    /// Reads the files into segments on all threads.
    fn read(&self, pool: &Pool, cancel: &CancelToken) -> Result<Vec<Part>, Aborted> {
        let rows = &self.rows;
        let next = AtomicUsize::new(0);
        let done: Mutex<(Vec<Part>, Option<Aborted>)> = Mutex::default();
        let helpers = (rows.len() / FILES_PER_THREAD).min(pool.size().saturating_sub(1));
        let most = PART_BYTES.min(PARTS_BYTES / (helpers + 1));
        pool.broadcast(helpers, |_| {
            let mut part = PartBuilder::new(&self.key);
            while !self.is_full.load(Ordering::Relaxed) {
                let first = next.fetch_add(SHARE, Ordering::Relaxed);
                if first >= rows.len() {
                    break;
                }
                for row in &rows[first..rows.len().min(first + SHARE)] {
                    if let Err(aborted) = cancel.check() {
                        done.lock().1 = Some(aborted);
                        return;
                    }
                    let before = part.read;
                    self.add(&mut part, |part| {
                        part.add(&self.files, &self.large, self.scan.scan.get(*row as usize).bytes())
                    });
                    self.progress.add(part.read.saturating_sub(before));
                    if part.is_full(most) {
                        let full = std::mem::replace(&mut part, PartBuilder::new(&self.key));
                        let full = self.finish(full);
                        done.lock().0.extend(full);
                    }
                }
            }
            let last = self.finish(part);
            done.lock().0.extend(last);
        });
        let (parts, aborted) = done.into_inner();
        aborted.map_or(Ok(parts), Err)
    }

    /// Adds a file to a segment. If that panics, the files of the segment remain searched.
    fn add<'a>(&'a self, part: &mut PartBuilder<'a>, add: impl FnOnce(&mut PartBuilder<'a>)) {
        if catch_unwind(AssertUnwindSafe(|| add(part))).is_err() {
            self.panics.fetch_add(1, Ordering::Relaxed);
            *part = PartBuilder::new(&self.key);
        }
    }

    /// Writes the segment, on disk if possible. `None` if it exceeds the size limits.
    fn finish(&self, part: PartBuilder<'_>) -> Option<Part> {
        let PartBuilder { postings, records, unsettled, linked, .. } = part;
        if records.is_empty() {
            return None;
        }
        let number = self.next_segment.fetch_add(1, Ordering::Relaxed);
        let id = SegmentId { index: self.key, number };
        let text = postings.text_bytes();
        let bytes = postings.write_segment(&records, id).ok()?;
        // Frees this memory first, so that the result can reuse it.
        drop(records);
        let length = bytes.len() as u64;
        if self.store.is_some() && length > FREE.max(text / TEXT_SHARE) {
            // The file is noise: its lists would cost more than searching it.
            self.is_full.store(true, Ordering::Relaxed);
            return None;
        }
        let written = self
            .store
            .as_ref()
            .and_then(|store| self.take_room(0, length).then(|| store.write_segment(number, &bytes).ok()).flatten());
        let on_disk = written.is_some();
        let in_memory = || match self.take_room(1, length) {
            true => Segment::open(Storage::Memory(bytes.as_slice().into()), id).ok(),
            false => {
                self.is_full.store(true, Ordering::Relaxed);
                None
            }
        };
        let mut made = Part::new(written.or_else(in_memory)?, length, on_disk);
        // All files are current as read, except those checked when the segment is adopted.
        made.current = IdSet::full(made.current.limit());
        made.linked = linked;
        made.unsettled = unsettled;
        Some(made)
    }

    /// Reserves bytes on disk (`place` 0) or in memory (1); returns false if not enough are left.
    fn take_room(&self, place: usize, bytes: u64) -> bool {
        let mut room = self.room.lock();
        let left = room[place].checked_sub(bytes);
        room[place] = left.unwrap_or(room[place]);
        left.is_some()
    }
}

/// Collects the files of one segment, in path order.
struct PartBuilder<'a> {
    key: &'a [u8; 16],
    postings: PostingsBuilder,
    records: SegmentFiles,
    unsettled: HashMap<u32, u64>,
    linked: Vec<u32>,
    content: PageBuffer,
    /// The number of bytes read.
    read: u64,
}

impl PartBuilder<'_> {
    fn new(key: &[u8; 16]) -> PartBuilder<'_> {
        PartBuilder {
            key,
            postings: PostingsBuilder::new(),
            records: SegmentFiles::default(),
            unsettled: HashMap::new(),
            linked: Vec::new(),
            content: PageBuffer::with_room(ROOM),
            read: 0,
        }
    }

    fn is_full(&self, most: usize) -> bool {
        self.postings.pending_bytes() >= most || self.postings.documents() >= DOCUMENTS
    }

    /// Adds a file; skips it if it cannot be read or changes in the meantime.
    fn add(&mut self, files: &TreeFiles, large: &Mutex<()>, path: &[u8]) {
        let Ok((kind, stamp, is_settled)) = self.read(files, large, path) else { return };
        let number_of_stamp = stamp_number(&stamp, self.key);
        let record = FileRecord { path, kind, stamp: if is_settled { number_of_stamp } else { 0 } };
        let Some(number) = self.records.push(record) else { return };
        match kind {
            FileKind::Text => self.postings.add(self.content.content()),
            FileKind::Binary | FileKind::Odd => self.postings.add_without_grams(),
        };
        if stamp.links > 1 {
            self.linked.push(number);
        }
        if !is_settled {
            self.unsettled.insert(number, number_of_stamp);
        }
        if self.content.content().len() as u64 > LARGE {
            self.content = PageBuffer::with_room(ROOM);
        }
    }

    /// Reads a file. Returns its kind, its stamp, and whether the stamp was settled before reading began: a change
    /// within one clock step after the previous one leaves the stamp unchanged, no matter how long reading takes.
    fn read(&mut self, files: &TreeFiles, large: &Mutex<()>, path: &[u8]) -> io::Result<(FileKind, Stamp, bool)> {
        let mut file = files.open(path)?;
        let before = Stamp::of_file(&file)?;
        let is_settled = before.is_settled();
        if !before.is_file() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        if before.size > MAX_TEXT || is_secret(&path[path.len() - name_length(path)..]) {
            return Ok((FileKind::Odd, before, is_settled));
        }
        let _one = (before.size > LARGE).then(|| large.lock());
        self.content.clear();
        let ended = self.content.read(&mut file, FIRST)?;
        let mut kind = kind_of(self.content.content());
        if !ended && kind != FileKind::Binary {
            self.content.read(&mut file, FIRST + MAX_TEXT as usize)?;
            kind = kind_of(self.content.content());
        }
        self.read += self.content.content().len() as u64;
        if Stamp::of_file(&file)? != before {
            return Err(io::ErrorKind::Interrupted.into());
        }
        Ok((kind, before, is_settled))
    }
}

/// Returns the length of the last component of a path.
fn name_length(path: &[u8]) -> usize {
    memchr::memrchr(b'/', path).map_or(path.len(), |cut| path.len() - cut - 1)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed test panics")]
mod tests {
    use super::*;
    use std::path::Path;

    use sinew_base::CancelHandle;
    use sinew_walk::ScanOptions;

    use crate::lookup::Reach;
    use crate::part::RowState;
    use crate::plan::Plan;
    use crate::status::BuildPolicy;

    fn open(root: &Path) -> Index {
        Index::open(root, IndexOptions { build: BuildPolicy::Never, ..IndexOptions::default() }, Arc::default())
            .unwrap()
    }

    /// Returns the number of files that a plan without matches rules out.
    fn left_out(index: &Index, pool: &Pool) -> usize {
        let never = CancelToken::never();
        let Some(listing) = index.listing(&ScanOptions::new(index.root()), pool, &never).unwrap() else { return 0 };
        let (states, _) = listing.judge(&Plan::Nothing, Reach::Line);
        states.iter().filter(|state| **state == RowState::NoMatch).count()
    }

    #[test]
    fn keeps_changes_reported_during_a_cancelled_build() {
        let place = tempfile::tempdir().unwrap();
        for file in ["a", "b", "c"] {
            std::fs::write(place.path().join(file), "hay\n").unwrap();
        }
        let (index, pool, never) = (open(place.path()), Pool::new("test", 1), CancelToken::never());
        let task = index.begin_build(&pool, &never).unwrap().unwrap();
        // One segment for each file.
        let parts = ["a", "b", "c"].map(|file| {
            let mut part = PartBuilder::new(&task.key);
            part.add(&task.files, &task.large, file.as_bytes());
            task.finish(part).unwrap()
        });
        std::fs::write(place.path().join("c"), "needle\n").unwrap();
        let (handle, cancelled) = CancelHandle::new();
        {
            let mut state = index.state.lock();
            index.barrier(&mut state, &pool, &never).unwrap();
            handle.cancel();
            let held = state.held.as_mut().unwrap();
            assert!(held.adopt(Vec::from(parts), &[], &pool, &cancelled).is_err());
        }
        assert_eq!(left_out(&index, &pool), 2);
    }

    #[test]
    fn a_panic_leaves_files_unindexed_and_a_second_disables_the_index() {
        let place = tempfile::tempdir().unwrap();
        for file in ["a", "b"] {
            std::fs::write(place.path().join(file), "hay\n").unwrap();
        }
        let (index, pool, never) = (open(place.path()), Pool::new("test", 1), CancelToken::never());
        for left in [2, 0] {
            let task = index.begin_build(&pool, &never).unwrap().unwrap();
            let mut part = PartBuilder::new(&task.key);
            part.add(&task.files, &task.large, b"a");
            task.add(&mut part, |_| panic!("failed while a file was read"));
            assert!(task.finish(part).is_none(), "the segment is discarded");
            index.build(&pool, &never).unwrap();
            assert_eq!(left_out(&index, &pool), left);
        }
        assert_eq!((index.status().folders, index.status().counts.panics), (0, 2));
    }
}
