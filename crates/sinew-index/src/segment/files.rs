//! The list of files of a segment in memory: all names in one text, and all directories in another.

use std::cmp::Ordering;

use super::FileKind;

/// The files of a segment, numbered from 0.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SegmentFiles {
    /// All names, concatenated.
    names: Vec<u8>,
    /// The end of each name in the text.
    ends: Vec<u32>,
    stamps: Vec<u64>,
    kinds: Vec<FileKind>,
    /// The directories of consecutive files, concatenated, each with its slash.
    folders: Vec<u8>,
    runs: Vec<Run>,
}

/// Consecutive files in one directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Run {
    /// The number of the first file after them.
    end: u32,
    /// The end of the directory in the text.
    folder: u32,
}

/// One file in a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileRecord<P> {
    /// The path below the root, as bytes.
    pub path: P,
    /// The kind, as the engine treats it.
    pub kind: FileKind,
    /// A hash of device, inode, size, times and mode when the file was read; 0 if that proves nothing.
    pub stamp: u64,
}

/// The path of a file, in two parts.
#[derive(Debug, Clone, Copy)]
pub struct FilePath<'a> {
    /// With a trailing slash; empty at the root.
    folder: &'a [u8],
    name: &'a [u8],
}

impl FilePath<'_> {
    /// Returns the complete path.
    #[must_use]
    pub fn to_vec(self) -> Vec<u8> {
        [self.folder, self.name].concat()
    }

    /// Compares with a complete path.
    #[must_use]
    pub fn compare(self, path: &[u8]) -> Ordering {
        let (above, rest) = path.split_at(self.folder.len().min(path.len()));
        self.folder.cmp(above).then_with(|| self.name.cmp(rest))
    }

    /// Returns the rest of the path after a directory, which ends in a slash; `None` if the path is not below it.
    #[cfg(target_os = "linux")]
    pub(crate) fn below(self, folder: &[u8]) -> Option<Self> {
        self.folder.strip_prefix(folder).map(|rest| FilePath { folder: rest, name: self.name })
    }

    /// Returns true if the file is directly in the directory passed to [`below`](FilePath::below).
    #[cfg(target_os = "linux")]
    pub(crate) fn is_name(self) -> bool {
        self.folder.is_empty()
    }
}

impl SegmentFiles {
    /// Creates a list with capacity for this number of files; the memory for names is not included.
    pub(super) fn with_capacity(files: usize) -> SegmentFiles {
        SegmentFiles {
            ends: Vec::with_capacity(files),
            stamps: Vec::with_capacity(files),
            kinds: Vec::with_capacity(files),
            ..SegmentFiles::default()
        }
    }

    /// Adds a file and returns its number; `None` if all names or directories together would exceed 4 GiB.
    pub fn push(&mut self, file: FileRecord<&[u8]>) -> Option<u32> {
        let FileRecord { path, kind, stamp } = file;
        let (folder, name) = path.split_at(memchr::memrchr(b'/', path).map_or(0, |cut| cut + 1));
        let number = self.len();
        let end = u32::try_from(self.names.len() + name.len()).ok()?;
        let is_same = self.runs.len().checked_sub(1).is_some_and(|last| self.folder(last) == folder);
        if !is_same {
            let folder_end = u32::try_from(self.folders.len() + folder.len()).ok()?;
            self.folders.extend_from_slice(folder);
            self.runs.push(Run { end: number, folder: folder_end });
        }
        self.runs.iter_mut().next_back()?.end = number + 1;
        self.names.extend_from_slice(name);
        self.ends.push(end);
        self.stamps.push(stamp);
        self.kinds.push(kind);
        Some(number)
    }

    /// Returns the number of files.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.ends.len() as u32
    }

    /// Returns true if there are no files.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns the file with this number.
    ///
    /// # Panics
    /// Panics if there is no such file.
    #[must_use]
    pub fn get(&self, number: u32) -> FileRecord<FilePath<'_>> {
        self.at(number, self.runs.partition_point(|run| run.end <= number))
    }

    /// Returns the kind of the file with this number.
    ///
    /// # Panics
    /// Panics if there is no such file.
    #[must_use]
    pub fn kind(&self, number: u32) -> FileKind {
        self.kinds[number as usize]
    }

    /// Returns the files in the order of their numbers.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = FileRecord<FilePath<'_>>> {
        let mut run = 0;
        (0..self.len()).map(move |number| {
            run += usize::from(self.runs[run].end <= number);
            self.at(number, run)
        })
    }

    /// Returns the number of the first file whose path is not less than `path`, in a sorted list. Needs no search if
    /// that is the first or none, as in most segments.
    #[cfg(target_os = "linux")]
    pub(crate) fn first_from(&self, path: &[u8]) -> u32 {
        let is_below = |file: FileRecord<FilePath<'_>>| file.path.compare(path).is_lt();
        let Some(last) = self.len().checked_sub(1) else { return 0 };
        if is_below(self.at(last, self.runs.len() - 1)) {
            return last + 1;
        }
        let (mut low, mut high) = (0, if is_below(self.at(0, 0)) { last } else { 0 });
        while low < high {
            let middle = low + (high - low) / 2;
            if is_below(self.get(middle)) { low = middle + 1 } else { high = middle }
        }
        low
    }

    /// Returns the number of the first file below a directory, which ends in a slash, in a sorted list; `None` if it
    /// contains no file.
    #[cfg(target_os = "linux")]
    pub(crate) fn first_below(&self, folder: &[u8]) -> Option<u32> {
        let first = self.first_from(folder);
        (first < self.len()).then(|| self.get(first).path.below(folder))?.map(|_| first)
    }

    /// Returns the number of the file with this path, in a sorted list; `None` if the list does not contain it.
    #[cfg(target_os = "linux")]
    pub(crate) fn find(&self, path: &[u8]) -> Option<u32> {
        self.find_next(&mut self.first_from(path), path)
    }

    /// Returns the number of the file with this path, in a sorted list. `next` is a lower limit of the result, and is
    /// updated for subsequent, greater paths.
    #[cfg(target_os = "linux")]
    pub(crate) fn find_next(&self, next: &mut u32, path: &[u8]) -> Option<u32> {
        let compare =
            |number| if number < self.len() { self.get(number).path.compare(path) } else { Ordering::Greater };
        let mut order = compare(*next);
        if order.is_lt() {
            *next = self.first_from(path);
            order = compare(*next);
        }
        order.is_eq().then(|| {
            *next += 1;
            *next - 1
        })
    }

    /// Returns true if the files are in ascending order.
    #[cfg(target_os = "linux")]
    pub(crate) fn are_sorted(&self) -> bool {
        let mut before = None;
        self.iter().all(|file| {
            let path = file.path.to_vec();
            let is_behind = before.as_ref().is_none_or(|before| *before < path);
            before = Some(path);
            is_behind
        })
    }

    /// Frees unused capacity.
    pub(super) fn shrink(&mut self) {
        self.names.shrink_to_fit();
        self.ends.shrink_to_fit();
        self.stamps.shrink_to_fit();
        self.kinds.shrink_to_fit();
        self.folders.shrink_to_fit();
        self.runs.shrink_to_fit();
    }

    fn at(&self, number: u32, run: usize) -> FileRecord<FilePath<'_>> {
        let at = number as usize;
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        let path = FilePath { folder: self.folder(run), name: &self.names[start as usize..self.ends[at] as usize] };
        FileRecord { path, kind: self.kinds[at], stamp: self.stamps[at] }
    }

    fn folder(&self, run: usize) -> &[u8] {
        let start = run.checked_sub(1).map_or(0, |before| self.runs[before].folder);
        &self.folders[start as usize..self.runs[run].folder as usize]
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn paths() -> impl Strategy<Value = BTreeSet<String>> {
        prop::collection::btree_set("[ab.]{1,2}(/[ab.]{1,2}){0,2}", 0..24)
    }

    proptest! {
        #[test]
        fn finds_files_at_their_position(there in paths(), asked in paths(), folder in "([ab.]{1,2}/){0,2}") {
            let mut files = SegmentFiles::default();
            for path in &there {
                files.push(FileRecord { path: path.as_bytes(), kind: FileKind::Text, stamp: 0 }).unwrap();
            }
            let position = |holds: &dyn Fn(&String) -> bool| there.iter().position(holds).map(|at| at as u32);
            prop_assert_eq!(files.first_below(folder.as_bytes()), position(&|path| path.starts_with(&folder)));
            let mut next = 0;
            for path in &asked {
                let at = position(&|each| each == path);
                let from = position(&|each| each >= path).unwrap_or(files.len());
                prop_assert_eq!(files.first_from(path.as_bytes()), from, "{}", path);
                prop_assert_eq!(files.find(path.as_bytes()), at, "{}", path);
                prop_assert_eq!(files.find_next(&mut next, path.as_bytes()), at, "{}", path);
            }
        }
    }
}
