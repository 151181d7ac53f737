//! The differences between two states.

use std::collections::HashMap;

use crate::answer::{Change, ChangeKind, Coverage, EntryKind};
use crate::row::{Content, Gap, Hash, Kind, Row};
use crate::state::{State, merge};

/// The maximum number of entries in a list of changes.
const MOST_CHANGES: usize = 100_000;

pub(crate) fn entry_kind(kind: Kind) -> EntryKind {
    match kind {
        Kind::File => EntryKind::File,
        Kind::Directory => EntryKind::Directory,
        Kind::Link => EntryKind::Link,
        Kind::Special => EntryKind::Special,
        Kind::Repository => EntryKind::Repository,
    }
}

/// Returns a path as callers see it: `.` for the directory itself.
pub(crate) fn public_path(path: &[u8]) -> Vec<u8> {
    if path.is_empty() { b".".to_vec() } else { path.to_vec() }
}

/// Returns the change between two rows of one path; `None` if there is none. `regrouped` says that the file has other
/// hard links now.
pub(crate) fn change_of(old: Option<&Row>, new: Option<&Row>, regrouped: bool) -> Option<ChangeKind> {
    match (old, new) {
        (None, None) => None,
        (None, Some(_)) => Some(ChangeKind::Created),
        (Some(_), None) => Some(ChangeKind::Deleted),
        (Some(old), Some(new)) if old.kind != new.kind => {
            let folders = [old.kind, new.kind].contains(&Kind::Directory);
            Some(if folders { ChangeKind::Directory } else { ChangeKind::Modified })
        }
        (Some(old), Some(new)) if !old.has_same_content(new) => {
            Some(if new.kind == Kind::Link { ChangeKind::Link } else { ChangeKind::Modified })
        }
        (Some(old), Some(new)) if !old.is_equal(new) => Some(ChangeKind::Mode),
        _ => regrouped.then_some(ChangeKind::Link),
    }
}

/// Returns true if the file at a path has different hard links in the two states.
pub(crate) fn is_regrouped(one: &State, old: Option<&Row>, two: &State, new: Option<&Row>) -> bool {
    match (old, new) {
        (Some(old), Some(new)) => one.names_of(old) != two.names_of(new),
        _ => false,
    }
}

/// Returns the differences in path order, with renames. The flag is true if the list was truncated.
pub(crate) fn changes(from: &State, to: &State) -> (Vec<Change>, bool) {
    let mut entries = Vec::new();
    let mut deleted: Vec<&Row> = Vec::new();
    let mut created: Vec<&Row> = Vec::new();
    merge(from, to, |old, new| {
        let Some(change) = change_of(old, new, is_regrouped(from, old, to, new)) else { return };
        let Some(row) = new.or(old) else { return };
        match change {
            ChangeKind::Created => created.push(row),
            ChangeKind::Deleted => deleted.push(row),
            _ => entries.push(Change { path: public_path(&row.path), change, kind: entry_kind(row.kind), from: None }),
        }
    });
    let mut renames = renames(&deleted, &created);
    for row in created {
        let from = renames.iter().position(|(_, to)| *to == &*row.path).map(|at| renames[at].0.to_vec());
        let change = if from.is_some() { ChangeKind::Renamed } else { ChangeKind::Created };
        entries.push(Change { path: public_path(&row.path), change, kind: entry_kind(row.kind), from });
    }
    renames.sort_unstable();
    for row in deleted.into_iter().filter(|row| renames.binary_search_by_key(&&*row.path, |(from, _)| *from).is_err()) {
        let (change, kind) = (ChangeKind::Deleted, entry_kind(row.kind));
        entries.push(Change { path: public_path(&row.path), change, kind, from: None });
    }
    entries.sort_by(|one, two| crate::row::compare_paths(&one.path, &two.path));
    let is_truncated = entries.len() > MOST_CHANGES;
    entries.truncate(MOST_CHANGES);
    (entries, is_truncated)
}

/// Pairs deleted files with created ones: by inode, otherwise by content if exactly one pair has it.
fn renames<'a>(deleted: &[&'a Row], created: &[&'a Row]) -> Vec<(&'a [u8], &'a [u8])> {
    let mut pairs: Vec<(&[u8], &[u8])> = Vec::new();
    let is_file = |row: &&&Row| row.kind == Kind::File;
    let inodes: HashMap<(u64, u64), &Row> =
        deleted.iter().filter(is_file).map(|row| ((row.device, row.inode), *row)).collect();
    let mut left: Vec<&Row> = Vec::new();
    let mut used: Vec<&[u8]> = Vec::new();
    for row in created.iter().filter(is_file) {
        match inodes.get(&(row.device, row.inode)) {
            Some(old) if old.has_same_content(row) && !used.contains(&&*old.path) => {
                used.push(&old.path);
                pairs.push((&old.path, &row.path));
            }
            _ => left.push(row),
        }
    }
    let mut contents: HashMap<&Hash, (Vec<&Row>, Vec<&Row>)> = HashMap::new();
    let stored = |row: &&'a Row| match &row.content {
        Content::Stored(hash, _) if row.size > 0 => Some(hash),
        _ => None,
    };
    for row in deleted.iter().filter(is_file).filter(|row| !used.contains(&&*row.path)) {
        if let Some(hash) = stored(row) {
            contents.entry(hash).or_default().0.push(row);
        }
    }
    for row in &left {
        if let Some(hash) = stored(row) {
            contents.entry(hash).or_default().1.push(row);
        }
    }
    for (old, new) in contents.into_values() {
        if let ([old], [new]) = (&old[..], &new[..]) {
            pairs.push((&old.path, &new.path));
        }
    }
    pairs
}

/// Returns the contents that a state could not store.
pub(crate) fn coverage(state: &State, file_limit: u64) -> Coverage {
    let count = |gap: Gap| state.rows().iter().filter(|row| row.content == Content::Missing(gap)).count();
    let files = |count: usize| if count == 1 { "1 file".to_string() } else { format!("{count} files") };
    let mut gaps = Vec::new();
    let limit = match file_limit {
        limit if limit % 1_000_000 == 0 => format!("{} MB", limit / 1_000_000),
        limit => format!("{limit} bytes"),
    };
    let words = [
        (Gap::TooLarge, format!("over {limit}")),
        (Gap::OverBudget, "beyond the limit of one checkpoint".into()),
        (Gap::Unreadable, "cannot be read".into()),
        (Gap::StoreFailed, "not kept, because the store could not be written".into()),
    ];
    for (gap, text) in words {
        match count(gap) {
            0 => {}
            count => gaps.push(format!("{} {text}", files(count))),
        }
    }
    Coverage { gaps }
}
