//! The files that a segment speaks of, as they lie in memory: one text for all paths.

use super::FileKind;

/// The files of a segment, numbered from 0.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SegmentFiles {
    /// All paths, one behind the other.
    text: Vec<u8>,
    rows: Vec<Row>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Row {
    stamp: u64,
    /// The end of the path in the text.
    end: u32,
    kind: FileKind,
}

/// One file as a segment keeps it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileRecord<'a> {
    /// Path below the root, as bytes.
    pub path: &'a [u8],
    /// Its kind, as the engine judges it.
    pub kind: FileKind,
    /// Number made of device, inode, size, times and mode when it was read; 0 where that proves nothing.
    pub stamp: u64,
}

impl SegmentFiles {
    /// Adds a file and returns its number; none where all paths together would have over 4 GiB.
    pub fn push(&mut self, file: FileRecord<'_>) -> Option<u32> {
        self.push_parts(0, file)
    }

    /// Adds a file whose path begins with so many bytes of the one before; `file.path` is the rest.
    pub(super) fn push_parts(&mut self, shared: usize, file: FileRecord<'_>) -> Option<u32> {
        let FileRecord { path, kind, stamp } = file;
        let start = self.text.len();
        let before = start - self.rows.last().map_or(0, |_| self.path(self.len() - 1).len());
        let number = self.len();
        let end = u32::try_from(start + shared + path.len()).ok()?;
        self.text.extend_from_within(before..before + shared);
        self.text.extend_from_slice(path);
        self.rows.push(Row { stamp, end, kind });
        Some(number)
    }

    /// Returns the number of files.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.rows.len() as u32
    }

    /// Tells whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the file with this number.
    ///
    /// # Panics
    /// No file has this number.
    #[must_use]
    pub fn get(&self, number: u32) -> FileRecord<'_> {
        let Row { stamp, kind, .. } = self.rows[number as usize];
        FileRecord { path: self.path(number), kind, stamp }
    }

    /// Returns the files in the order of their numbers.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = FileRecord<'_>> {
        (0..self.len()).map(|number| self.get(number))
    }

    /// Returns the number of the first file whose path is not below `path`, where they are sorted.
    #[cfg(target_os = "linux")]
    pub(crate) fn first_from(&self, path: &[u8]) -> u32 {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.path(middle) < path { low = middle + 1 } else { high = middle }
        }
        low
    }

    /// Returns the number of the file with this path, where they are sorted.
    #[cfg(target_os = "linux")]
    pub(crate) fn find(&self, path: &[u8]) -> Option<u32> {
        let at = self.first_from(path);
        (at < self.len() && self.path(at) == path).then_some(at)
    }

    /// Gives back what is held beyond the content.
    pub(super) fn shrink(&mut self) {
        self.text.shrink_to_fit();
        self.rows.shrink_to_fit();
    }

    fn path(&self, number: u32) -> &[u8] {
        let at = number as usize;
        let start = at.checked_sub(1).map_or(0, |before| self.rows[before].end as usize);
        &self.text[start..self.rows[at].end as usize]
    }
}
