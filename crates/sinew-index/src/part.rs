//! One part of an index: a segment and which of its files are as they were when it was made.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use sinew_base::{Aborted, CancelToken};
use sinew_pool::Pool;
use sinew_walk::{Scan, Stamp, Tree};

use crate::list::IdSet;
use crate::lookup::Reach;
use crate::plan::Plan;
use crate::segment::{FileKind, FilePath, Segment, SegmentFiles};
use crate::storage::Storage;
use crate::touched::prefix_of;

/// The number of files whose stamps a thread asks for in one go.
const SHARE: usize = 64;

/// A segment, in memory or on disk; its files are sorted by their path below the root.
pub(crate) struct Part {
    pub(crate) segment: Arc<Segment<Storage>>,
    /// Its number in the index.
    pub(crate) number: u32,
    /// It can be named by a manifest.
    pub(crate) on_disk: bool,
    /// The length of the segment.
    pub(crate) bytes: u64,
    /// Files that are as they were when they were read, as of the last barrier.
    pub(crate) current: IdSet,
    /// Files that were written to since they were read. Their stamps prove nothing any more: those of a write that takes long
    /// are of its beginning, and a store through a mapping into a page that was written before leaves them as they are.
    written: IdSet,
    /// The stamps of files that had changed so shortly before they were read that these prove nothing by themselves.
    pub(crate) unsettled: HashMap<u32, u64>,
    /// Files that had more than one name when they were looked at.
    pub(crate) linked: Vec<u32>,
    /// Its binary and its odd files.
    kinds: [usize; 2],
    /// The rows of the files in the scan that was asked for last.
    rows: Option<(Arc<Scan>, Arc<ScanRows>)>,
}

/// A part as one call sees it.
pub(crate) struct PartView {
    segment: Arc<Segment<Storage>>,
    current: IdSet,
    rows: Arc<ScanRows>,
}

/// The rows of the files of a part in a scan, both in the order of paths: the first of the files has the first of the rows.
struct ScanRows {
    files: IdSet,
    rows: IdSet,
}

/// The stamp of a file as an index compares it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StampSeen {
    pub(crate) number: u64,
    /// It has more than one name.
    pub(crate) is_linked: bool,
}

/// A look at the stamp of a file by its number in a part, or its path below the root; none where there is none.
pub(crate) type Look<'a> = dyn Fn(u32, FilePath<'_>) -> Option<StampSeen> + Sync + 'a;

/// The state of a row of a scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowState {
    /// It must be searched.
    Unknown,
    /// A text without a match.
    NoMatch,
    /// A binary file.
    Binary,
}

impl Part {
    /// Makes a part of which nothing is current yet.
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

    /// Notes that a file was written to.
    pub(crate) fn note_written(&mut self, path: &[u8]) {
        if let Some(number) = self.file(path) {
            self.written.insert(number);
            self.current.remove(number);
        }
    }

    pub(crate) fn files(&self) -> &SegmentFiles {
        self.segment.files()
    }

    /// Returns how many of the files that are as they were are binary, and odd.
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

    /// Returns the number of the file with this path.
    pub(crate) fn file(&self, path: &[u8]) -> Option<u32> {
        self.files().find(path)
    }

    /// Tells whether the file with this path is as it was when it was read.
    pub(crate) fn knows(&self, path: &[u8]) -> bool {
        self.file(path).is_some_and(|number| self.current.contains(number))
    }

    /// Returns the numbers of the files directly in a folder.
    pub(crate) fn files_in<'a>(&'a self, folder: &'a [u8]) -> impl Iterator<Item = u32> + 'a {
        let prefix = prefix_of(folder);
        let from_first = self.files().first_from(&prefix)..self.files().len();
        let below = from_first.map_while(move |at| Some((at, self.files().get(at).path.below(&prefix)?)));
        below.filter(|(_, path)| path.is_name()).map(|(number, _)| number)
    }

    /// Compares the stamps of these files, as `look` gives them, with those of when they were read. Those that were
    /// not settled count only where the changes of these files are `announced`.
    pub(crate) fn verify(
        &mut self,
        numbers: &[u32],
        announced: bool,
        look: &Look<'_>,
        pool: &Pool,
        cancel: &CancelToken,
    ) -> Result<(), Aborted> {
        // Until a look shows otherwise nothing is known of them, also where the call is cancelled.
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

    /// Finds the files in a scan of the folder `base`.
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
    /// Writes down what is known of the rows under a plan; returns how many documents satisfy it. A part that turns out damaged
    /// says nothing.
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

/// Returns a look at the stamps of a tree as they are.
pub(crate) fn look_at<'a>(
    tree: &'a Tree,
    key: &'a [u8; 16],
) -> impl Fn(u32, FilePath<'_>) -> Option<StampSeen> + Sync + 'a {
    |_, path| {
        let now = tree.stamp(&path.to_vec()).ok()?;
        Some(StampSeen { number: stamp_number(&now, key), is_linked: now.links > 1 })
    }
}

/// Makes one number of a stamp; never 0.
pub(crate) fn stamp_number(stamp: &Stamp, key: &[u8; 16]) -> u64 {
    use std::hash::{Hash, Hasher};
    let mut hasher = siphasher::sip::SipHasher13::new_with_key(key);
    stamp.hash(&mut hasher);
    hasher.finish().max(1)
}
