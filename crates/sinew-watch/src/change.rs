//! Computes changes from two scans and the events between them.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use sinew_walk::{FileType, Scan};

use crate::types::{Change, ChangeKind};

/// The changes reported since the last batch.
#[derive(Debug, Default)]
pub(crate) struct ReportedChanges {
    /// Files with events.
    pub(crate) touched: BTreeSet<Vec<u8>>,
    /// The old and the new name of each rename, in order.
    pub(crate) renames: Vec<(Vec<u8>, Vec<u8>)>,
    /// How often each name was added, removed or replaced.
    pub(crate) names: BTreeMap<Vec<u8>, usize>,
    /// The directories among these names.
    pub(crate) folders: BTreeSet<Vec<u8>>,
}

impl ReportedChanges {
    /// Adds a rename; a chain of renames becomes one.
    pub(crate) fn add_rename(&mut self, from: Vec<u8>, to: Vec<u8>) {
        match self.renames.iter_mut().find(|(_, last)| *last == from) {
            Some((_, last)) => *last = to,
            None => self.renames.push((from, to)),
        }
    }
}

/// The names that are only in one of two scans.
struct Differences<'a> {
    deleted: BTreeMap<&'a [u8], FileType>,
    created: BTreeMap<&'a [u8], FileType>,
}

fn differences<'a>(before: &'a Scan, after: &'a Scan) -> Differences<'a> {
    let at = |scan: &'a Scan, index: usize| {
        let entry = scan.get(index);
        (entry.bytes(), entry.file_type())
    };
    let shorter = before.len().min(after.len());
    let begin = (0..shorter).take_while(|index| at(before, *index) == at(after, *index)).count();
    let same_end = |step: &usize| at(before, before.len() - 1 - step) == at(after, after.len() - 1 - step);
    let end = (0..shorter - begin).take_while(same_end).count();
    let mut deleted: HashMap<&[u8], FileType> = (begin..before.len() - end).map(|index| at(before, index)).collect();
    let mut created = BTreeMap::new();
    for (path, kind) in (begin..after.len() - end).map(|index| at(after, index)) {
        if deleted.get(path) == Some(&kind) {
            deleted.remove(path);
        } else {
            created.insert(path, kind);
        }
    }
    Differences { deleted: deleted.into_iter().collect(), created }
}

/// Returns the new path of `path` after its directory was renamed from `from` to `to`; `None` if it is not below
/// `from`.
fn moved(path: &[u8], from: &[u8], to: &[u8]) -> Option<Vec<u8>> {
    let rest = path.strip_prefix(from)?;
    (rest.is_empty() || rest.starts_with(b"/")).then(|| [to, rest].concat())
}

/// Returns the renames of a batch that explain a removed name and an added one. The names of each rename, and those
/// below, are removed from the differences. A doubtful rename is dropped: its names are then a deletion and a creation.
fn accept_renames<'a>(
    differences: &mut Differences<'_>,
    after: &Scan,
    announced: &'a ReportedChanges,
) -> Vec<Rename<'a>> {
    let Differences { deleted, created } = differences;
    let renames = &announced.renames;
    let once = |path: &[u8]| announced.names.get(path).is_some_and(|count| *count == 1);
    // Events name a directory by its path before the batch.
    let in_doubt: BTreeSet<Vec<u8>> = announced.folders.iter().cloned().collect();
    let is_stable = |path: &[u8]| {
        let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        slashes.map(|(at, _)| &path[..at]).all(|folder| !in_doubt.contains(folder))
    };
    let mut accepted = Vec::new();
    for (from, to) in renames {
        let is_same = match (deleted.get(from.as_slice()), created.get(to.as_slice())) {
            (Some(from), Some(to)) => from == to,
            // It replaced another file.
            (Some(from), None) => *from != FileType::Dir && after.find(to).is_some(),
            (None, _) => false,
        };
        if !is_same || !once(from) || !once(to) || !is_stable(from) || !is_stable(to) {
            continue;
        }
        let below: Vec<&[u8]> = deleted.keys().copied().filter(|path| moved(path, from, to).is_some()).collect();
        for path in below {
            let target = moved(path, from, to).unwrap_or_default();
            if path == from.as_slice() || created.get(target.as_slice()) == deleted.get(path) {
                deleted.remove(path);
                created.remove(target.as_slice());
            }
        }
        accepted.push((from.as_slice(), to.as_slice()));
    }
    accepted
}

/// The old and the new path.
type Rename<'a> = (&'a [u8], &'a [u8]);

/// Returns the changes that lead from one scan to the other, in an order in which they can be replayed: deletions from
/// the deepest path on, renames, creations, then changes of content. `changed` are files whose stamps differ.
pub(crate) fn changes(
    before: &Scan,
    after: &Scan,
    announced: &ReportedChanges,
    changed: &BTreeSet<Vec<u8>>,
) -> Vec<Change> {
    let mut names = differences(before, after);
    let renamed = accept_renames(&mut names, after, announced);
    let Differences { deleted, created } = names;
    let mut content: BTreeSet<Vec<u8>> = changed.clone();
    let now =
        |path: &[u8]| renamed.iter().find_map(|(from, to)| moved(path, from, to)).unwrap_or_else(|| path.to_vec());
    content.extend(announced.touched.iter().map(|path| now(path)));
    // If a path was renamed to an existing name, but the rename is not reported, the content is new.
    let is_accepted = |path: &[u8]| renamed.iter().any(|(from, to)| *from == path || *to == path);
    content.extend(announced.names.keys().filter(|path| !is_accepted(path)).map(|path| now(path)));
    // A directory that replaced another one may contain different files with the same names.
    for folder in announced.folders.iter().filter(|folder| !is_accepted(folder)) {
        let prefix = [&now(folder)[..], b"/"].concat();
        let first = first_below(after, &prefix);
        let below = (first..after.len()).map(|at| after.get(at).bytes()).take_while(|path| path.starts_with(&prefix));
        content.extend(below.map(<[u8]>::to_vec));
    }
    let is_file = |path: &[u8]| after.find(path).is_some_and(|at| after.get(at).file_type() != FileType::Dir);
    content.retain(|path| {
        !created.contains_key(path.as_slice()) && !deleted.contains_key(path.as_slice()) && is_file(path)
    });
    let mut list: Vec<Change> = deleted.keys().rev().map(|path| Change::new(ChangeKind::Deleted, path)).collect();
    list.extend(renamed.iter().map(|(from, to)| Change {
        kind: ChangeKind::Renamed,
        path: from.to_vec(),
        to: Some(to.to_vec()),
    }));
    list.extend(created.keys().map(|path| Change::new(ChangeKind::Created, path)));
    list.extend(content.iter().map(|path| Change::new(ChangeKind::Changed, path)));
    list
}

/// Returns the index of the first entry that is not less than `prefix`.
fn first_below(scan: &Scan, prefix: &[u8]) -> usize {
    let (mut low, mut high) = (0, scan.len());
    while low < high {
        let middle = low + (high - low) / 2;
        if scan.get(middle).bytes() < prefix { low = middle + 1 } else { high = middle }
    }
    low
}
