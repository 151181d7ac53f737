//! A loaded segment, and which of its files have not changed since it was built.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use sinew_base::{Aborted, CancelToken};
use sinew_pool::Pool;
use sinew_walk::{Scan, Stamp, Tree};

use crate::changed_paths::prefix_of;
use crate::list::IdSet;
use crate::lookup::Reach;
use crate::plan::Plan;
use crate::segment::{FileKind, FilePath, Segment, SegmentFiles};
use crate::storage::Storage;

/// The number of files whose stamps a thread reads at a time.
const SHARE: usize = 64;

/// A segment, in memory or on disk; its files are sorted by their path below the root.
pub(crate) struct Part {
    pub(crate) segment: Arc<Segment<Storage>>,
    /// The number of the segment in the index.
    pub(crate) number: u32,
    /// True if a manifest can contain it.
    pub(crate) on_disk: bool,
    /// The size of the segment in bytes.
    pub(crate) bytes: u64,
    /// The files that were unchanged at the last barrier.
    pub(crate) current: IdSet,
    /// The files that were written to since they were read. Their stamps prove nothing: a long write has the stamp of
    /// its beginning, and a store through a mapping into an already dirty page does not change the stamp.
    written: IdSet,
    /// The stamps of files that changed so shortly before they were read that the stamps alone prove nothing.
    pub(crate) unsettled: HashMap<u32, u64>,
    /// Files that had more than one hard link when they were checked.
    pub(crate) linked: Vec<u32>,
    /// The numbers of binary and of odd files.
    kinds: [usize; 2],
    /// The rows of the files in the most recent scan.
    rows: Option<(Arc<Scan>, Arc<ScanRows>)>,
}

/// A segment as one call uses it.
pub(crate) struct PartView {
    segment: Arc<Segment<Storage>>,
    current: IdSet,
    rows: Arc<ScanRows>,
}

/// The rows of a segment's files in a scan, both in path order: the n-th file has the n-th row.
struct ScanRows {
    files: IdSet,
    rows: IdSet,
}

/// The stamp of a file in the form that an index compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StampSeen {
    pub(crate) number: u64,
    /// True if it has more than one hard link.
    pub(crate) is_linked: bool,
}

/// Reads the stamp of a file, given by its number in a segment and its path below the root; `None` if the file does not
/// exist.
pub(crate) type StampLookup<'a> = dyn Fn(u32, FilePath<'_>) -> Option<StampSeen> + Sync + 'a;

/// The state of a row of a scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowState {
    /// The file must be searched.
    Unknown,
    /// A text file without a match.
    NoMatch,
    /// A binary file.
    Binary,
}

impl Part {
    /// Creates a segment of which no file is current yet.
    pub(crate) fn new(segment: Segment<Storage>, bytes: u64, on_disk: bool) -> Part {
        let current = IdSet::empty(segment.files().len());
        let count = |kind| segment.files().iter().filter(|file| file.kind == kind).count();
        let kinds = [FileKind::Binary, FileKind::Odd].map(count);
        Part {
            number: segment.number(),
            segment: Arc::new(segment),
            on_disk,
            bytes,
            written: current.clone(),
            current,
            unsettled: HashMap::new(),
            linked: Vec::new(),
            kinds,
            rows: None,
        }
    }

    /// Records that a file was written to.
    pub(crate) fn note_written(&mut self, path: &[u8]) {
        if let Some(number) = self.file(path) {
            self.written.insert(number);
            self.current.remove(number);
        }
    }

    pub(crate) fn files(&self) -> &SegmentFiles {
        self.segment.files()
    }

    /// Returns how many of the unchanged files are binary, and how many are odd.
    pub(crate) fn current_kinds(&self) -> [usize; 2] {
        let mut kinds = self.kinds;
        for number in self.current.absent() {
            match self.files().kind(number) {
                FileKind::Binary => kinds[0] -= 1,
                FileKind::Odd => kinds[1] -= 1,
                FileKind::Text => {}
            }
        }
        kinds
    }

    /// Returns the number of the file with this path; `None` if the segment does not contain it.
    pub(crate) fn file(&self, path: &[u8]) -> Option<u32> {
        self.files().find(path)
    }

    /// Returns true if the file with this path has not changed since it was read.
    pub(crate) fn knows(&self, path: &[u8]) -> bool {
        self.file(path).is_some_and(|number| self.current.contains(number))
    }

    /// Returns the numbers of the files directly in a directory.
    pub(crate) fn files_in<'a>(&'a self, folder: &'a [u8]) -> impl Iterator<Item = u32> + 'a {
        let prefix = prefix_of(folder);
        let from_first = self.files().first_from(&prefix)..self.files().len();
        let below = from_first.map_while(move |at| Some((at, self.files().get(at).path.below(&prefix)?)));
        below.filter(|(_, path)| path.is_name()).map(|(number, _)| number)
    }

    /// Compares the current stamps of these files, read by `look`, with those of when they were indexed. Stamps that
    /// were not settled are only accepted if changes of these files are `announced`.
    pub(crate) fn verify(
        &mut self,
        numbers: &[u32],
        announced: bool,
        look: &StampLookup<'_>,
        pool: &Pool,
        cancel: &CancelToken,
    ) -> Result<(), Aborted> {
        // The files are not current until their stamps are checked, even if the call is cancelled.
        numbers.iter().for_each(|number| self.current.remove(*number));
        let (files, written, unsettled) = (self.segment.files(), &self.written, &self.unsettled);
        let current_stamp = |number: u32| {
            let file = files.get(number);
            let then = match file.stamp {
                0 if announced => *unsettled.get(&number)?,
                stamp => stamp,
            };
            let has_proof = then != 0 && !written.contains(number);
            let now = has_proof.then(|| look(number, file.path)).flatten()?;
            (now.number == then).then_some((number, now.is_linked))
        };
        let next = AtomicUsize::new(0);
        let looked_at: Mutex<(Vec<_>, Option<Aborted>)> = Mutex::default();
        let work = |_| {
            let mut current = Vec::new();
            loop {
                let first = next.fetch_add(SHARE, Ordering::Relaxed);
                if first >= numbers.len() {
                    break;
                }
                if let Err(aborted) = cancel.check() {
                    looked_at.lock().1 = Some(aborted);
                    break;
                }
                let share = &numbers[first..numbers.len().min(first + SHARE)];
                current.extend(share.iter().filter_map(|number| current_stamp(*number)));
            }
            looked_at.lock().0.extend(current);
        };
        pool.broadcast((numbers.len() / SHARE).min(pool.size().saturating_sub(1)), work);
        let (current, aborted) = looked_at.into_inner();
        for (number, linked) in current {
            self.current.insert(number);
            if linked && !self.linked.contains(&number) {
                self.linked.push(number);
            }
        }
        aborted.map_or(Ok(()), Err)
    }

    pub(crate) fn view(&mut self, scan: &Arc<Scan>, base: &[u8]) -> PartView {
        let rows = match &self.rows {
            Some((known, rows)) if Arc::ptr_eq(known, scan) => Arc::clone(rows),
            _ => self.rows_of(scan, base),
        };
        self.rows = Some((Arc::clone(scan), Arc::clone(&rows)));
        PartView { segment: Arc::clone(&self.segment), current: self.current.clone(), rows }
    }

    /// Finds the files in a scan of the directory `base`.
    fn rows_of(&self, scan: &Scan, base: &[u8]) -> Arc<ScanRows> {
        let prefix = prefix_of(base);
        let length = u32::try_from(scan.len()).unwrap_or(u32::MAX);
        let mut found = ScanRows { files: IdSet::empty(self.files().len()), rows: IdSet::empty(length) };
        let mut row = 0;
        for (number, file) in (0..).zip(self.files().iter()) {
            let Some(path) = file.path.below(&prefix) else { continue };
            while row < length && path.compare(scan.get(row as usize).bytes()).is_gt() {
                row += 1;
            }
            if row < length && path.compare(scan.get(row as usize).bytes()).is_eq() {
                found.files.insert(number);
                found.rows.insert(row);
            }
        }
        Arc::new(found)
    }
}

impl PartView {
    /// Stores the state of each row for a plan; returns the number of documents that satisfy it. A damaged segment
    /// changes no state.
    pub(crate) fn judge(&self, plan: &Plan, reach: Reach, states: &mut [RowState]) -> usize {
        let Ok(candidates) = self.segment.candidates(plan, reach) else { return 0 };
        for (number, row) in self.rows.files.iter().zip(self.rows.rows.iter()) {
            let Some(state) = states.get_mut(row as usize).filter(|_| self.current.contains(number)) else { continue };
            match self.segment.files().kind(number) {
                FileKind::Binary => *state = RowState::Binary,
                FileKind::Text if !candidates.files.contains(number) => *state = RowState::NoMatch,
                FileKind::Text | FileKind::Odd => {}
            }
        }
        candidates.documents
    }
}

/// Returns a function that reads the current stamps of a tree.
pub(crate) fn look_at<'a>(
    tree: &'a Tree,
    key: &'a [u8; 16],
) -> impl Fn(u32, FilePath<'_>) -> Option<StampSeen> + Sync + 'a {
    |_, path| {
        let now = tree.stamp(&path.to_vec()).ok()?;
        Some(StampSeen { number: stamp_number(&now, key), is_linked: now.links > 1 })
    }
}

/// Hashes a stamp to a number; never 0.
pub(crate) fn stamp_number(stamp: &Stamp, key: &[u8; 16]) -> u64 {
    use std::hash::{Hash, Hasher};
    let mut hasher = siphasher::sip::SipHasher13::new_with_key(key);
    stamp.hash(&mut hasher);
    hasher.finish().max(1)
}
