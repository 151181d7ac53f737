//! The state of a whole directory at one moment.

use std::collections::HashMap;

use crate::row::{Kind, Row, compare_paths, is_within, parent_of};

/// The entries of a directory, in the order of [`compare_paths`].
#[derive(Debug, Default, Clone)]
pub(crate) struct State {
    rows: Vec<Row>,
    /// The rows of files with several hard links in the directory, by device and inode.
    groups: HashMap<(u64, u64), Vec<u32>>,
}

/// The changes of a checkpoint relative to the previous state: paths with their rows; `None` if the entry was deleted.
pub(crate) type Delta = Vec<(Box<[u8]>, Option<Row>)>;

impl State {
    /// Creates a state from sorted rows.
    pub(crate) fn new(rows: Vec<Row>) -> State {
        debug_assert!(rows.is_sorted_by(|one, two| compare_paths(&one.path, &two.path).is_lt()));
        let mut groups: HashMap<(u64, u64), Vec<u32>> = HashMap::new();
        for (at, row) in rows.iter().enumerate().filter(|(_, row)| row.kind == Kind::File && row.links > 1) {
            groups.entry((row.device, row.inode)).or_default().push(u32::try_from(at).unwrap_or(u32::MAX));
        }
        groups.retain(|_, members| members.len() > 1);
        State { rows, groups }
    }

    pub(crate) fn rows(&self) -> &[Row] {
        &self.rows
    }

    pub(crate) fn into_rows(self) -> Vec<Row> {
        self.rows
    }

    pub(crate) fn find(&self, path: &[u8]) -> Option<&Row> {
        let at = self.rows.binary_search_by(|row| compare_paths(&row.path, path)).ok()?;
        Some(&self.rows[at])
    }

    /// Returns the row of a path and the rows below it.
    pub(crate) fn subtree(&self, path: &[u8]) -> &[Row] {
        let start = self.rows.partition_point(|row| compare_paths(&row.path, path).is_lt());
        let length = self.rows[start..].partition_point(|row| is_within(&row.path, path));
        &self.rows[start..start + length]
    }

    /// Returns the paths of a file within the directory if it has several hard links.
    pub(crate) fn names_of(&self, row: &Row) -> Vec<&[u8]> {
        let members = self.groups.get(&(row.device, row.inode)).map_or(&[][..], Vec::as_slice);
        let is_member = row.kind == Kind::File && row.links > 1;
        members.iter().filter(|_| is_member).map(|at| &*self.rows[*at as usize].path).collect()
    }

    /// Returns true if the file has a hard link outside of the directory.
    pub(crate) fn is_shared_outside(&self, row: &Row) -> bool {
        row.kind == Kind::File && row.links as usize > self.names_of(row).len().max(1)
    }

    /// Returns true if the state is known at `path`, because every directory above it was listed or is missing.
    pub(crate) fn knows(&self, path: &[u8]) -> bool {
        let mut folder = path;
        while !folder.is_empty() {
            folder = parent_of(folder);
            match self.find(folder) {
                Some(row) if row.kind == Kind::Directory => return row.content == crate::row::Content::Nothing,
                Some(row) => return row.kind != Kind::Repository,
                None => {}
            }
        }
        true
    }

    /// Returns the changes from this state to `next`. Rows that differ only in times are not included.
    pub(crate) fn delta(&self, next: &State) -> Delta {
        let mut delta = Delta::new();
        merge(self, next, |old, new| match (old, new) {
            (Some(old), Some(new)) => {
                if !old.is_equal(new) || self.names_of(old) != next.names_of(new) {
                    delta.push((new.path.clone(), Some(new.clone())));
                }
            }
            (Some(old), None) => delta.push((old.path.clone(), None)),
            (None, Some(new)) => delta.push((new.path.clone(), Some(new.clone()))),
            (None, None) => {}
        });
        delta
    }

    /// Returns the state after the changes of a delta.
    pub(crate) fn apply(self, delta: &Delta) -> State {
        let mut rows = Vec::with_capacity(self.rows.len() + delta.len());
        let mut old = self.rows.into_iter().peekable();
        for (path, row) in delta {
            while let Some(before) = old.next_if(|row| compare_paths(&row.path, path).is_lt()) {
                rows.push(before);
            }
            old.next_if(|row| row.path == *path);
            rows.extend(row.clone());
        }
        rows.extend(old);
        State::new(rows)
    }
}

/// Calls `each` with the rows of both states for every path that one of them has, in order.
pub(crate) fn merge<'a>(one: &'a State, two: &'a State, mut each: impl FnMut(Option<&'a Row>, Option<&'a Row>)) {
    let (mut left, mut right) = (one.rows.iter().peekable(), two.rows.iter().peekable());
    loop {
        let order = match (left.peek(), right.peek()) {
            (None, None) => return,
            (Some(_), None) => std::cmp::Ordering::Less,
            (None, Some(_)) => std::cmp::Ordering::Greater,
            (Some(old), Some(new)) => compare_paths(&old.path, &new.path),
        };
        match order {
            std::cmp::Ordering::Less => each(left.next(), None),
            std::cmp::Ordering::Greater => each(None, right.next()),
            std::cmp::Ordering::Equal => each(left.next(), right.next()),
        }
    }
}
