//! File contents by tag, for the line numbers of patches.

use std::collections::VecDeque;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use crate::read_tracker::hash;

/// The number of snapshots; the oldest is dropped first.
const MOST: usize = 100;
/// Larger contents are not stored: patches of them only apply while the tag matches.
const LARGEST: usize = 4 << 20;
/// The maximum total size of all contents in bytes.
const TOTAL: usize = 32 << 20;

/// The content of a file when it was shown or written.
#[derive(Debug, Clone)]
pub(crate) struct Snapshot {
    /// `None` if it is too large to store.
    pub(crate) content: Option<Arc<[u8]>>,
    /// The lines that the model knows, from 0, as sorted disjoint ranges.
    pub(crate) known: Vec<Range<usize>>,
}

/// A snapshot with its path and tag.
type SnapshotEntry = (PathBuf, String, Snapshot);

/// The most recent snapshots of a session.
#[derive(Default)]
pub(crate) struct Snapshots {
    kept: Mutex<VecDeque<SnapshotEntry>>,
}

/// Returns the first eight hexadecimal digits of the SHA-256 of `content`.
pub(crate) fn tag(content: &[u8]) -> String {
    hash(content)[..4].iter().fold(String::new(), |tag, byte| tag + &format!("{byte:02x}"))
}

impl Snapshots {
    /// Records that lines of `content` were shown, numbered from 0. Returns the tag.
    pub(crate) fn showed(&self, path: &Path, content: &[u8], lines: &[Range<usize>]) -> String {
        let tag = tag(content);
        let mut all = self.kept.lock();
        let old = all.iter().position(|(known, other, _)| known == path && *other == tag);
        let mut known = old.and_then(|index| all.remove(index)).map_or_else(Vec::new, |(_, _, old)| old.known);
        known.extend(lines.iter().filter(|range| !range.is_empty()).cloned());
        known.sort_by_key(|range| range.start);
        let content = (content.len() <= LARGEST).then(|| Arc::from(content));
        all.push_back((path.to_path_buf(), tag.clone(), Snapshot { content, known: joined(known) }));
        let size = |kept: &SnapshotEntry| kept.2.content.as_ref().map_or(0, |content| content.len());
        while all.len() > MOST || all.iter().map(size).sum::<usize>() > TOTAL {
            all.pop_front();
        }
        tag
    }

    pub(crate) fn get(&self, path: &Path, tag: &str) -> Option<Snapshot> {
        let all = self.kept.lock();
        all.iter().find(|(known, other, _)| known == path && other == tag).map(|(_, _, snapshot)| snapshot.clone())
    }
}

impl Snapshot {
    /// Returns true if all of these lines were shown.
    pub(crate) fn knows(&self, lines: &Range<usize>) -> bool {
        lines.is_empty() || self.known.iter().any(|known| known.start <= lines.start && lines.end <= known.end)
    }
}

/// Sorts ranges and merges adjacent ones.
fn joined(ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    let mut out: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        match out.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => out.push(range),
        }
    }
    out
}
