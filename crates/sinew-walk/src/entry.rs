//! The result of a scan.

use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use crate::end_offsets::EndOffsets;
use crate::{FileType, sys};

/// The bits of an entry: its type and the verdict of the ignore rules.
pub(crate) const TYPE: u8 = 0b11;
pub(crate) const IGNORED: u8 = 0b100;
/// A rule re-includes the entry, even if hidden names are excluded.
pub(crate) const KEPT: u8 = 0b1000;

pub(crate) fn bits_of(file_type: FileType) -> u8 {
    match file_type {
        FileType::File => 0,
        FileType::Dir => 1,
        FileType::Symlink => 2,
    }
}

/// The entries below a root, ordered by the bytes of their paths.
#[derive(Debug, Default)]
pub struct Scan {
    pub(crate) root: PathBuf,
    pub(crate) single_file: bool,
    pub(crate) text: Vec<u8>,
    pub(crate) ends: EndOffsets,
    pub(crate) bits: Vec<u8>,
    /// Modification time in nanoseconds since the epoch, and size in bytes; empty without [`crate::Detail::Full`].
    pub(crate) details: Vec<(i64, u64)>,
    pub(crate) warnings: Vec<String>,
}

impl Scan {
    /// Returns the directory that paths are relative to, with all links resolved. If the root is a file, the directory
    /// of that file.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns true if the root is a file; its only entry is that file.
    #[must_use]
    pub fn is_single_file(&self) -> bool {
        self.single_file
    }

    /// Returns the number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bits.len()
    }

    /// Returns true if there are no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bits.is_empty()
    }

    /// Returns the total length of all paths in bytes.
    #[must_use]
    pub fn text_length(&self) -> usize {
        self.text.len()
    }

    /// Returns the entry at `index`.
    ///
    /// # Panics
    /// Panics if `index` is not less than [`Scan::len`].
    #[must_use]
    pub fn get(&self, index: usize) -> Entry<'_> {
        assert!(index < self.len(), "entry {index} of {}", self.len());
        Entry { scan: self, index }
    }

    /// Returns all entries in path order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Entry<'_>> + DoubleEndedIterator {
        (0..self.len()).map(|index| Entry { scan: self, index })
    }

    /// Returns the index of the entry with this path (relative, with `/` separators); `None` if there is no such entry.
    #[must_use]
    pub fn find(&self, path: &[u8]) -> Option<usize> {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            match self.get(middle).bytes().cmp(path) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return Some(middle),
            }
        }
        None
    }

    /// Creates a scan of some of the entries, with their current times and sizes. Returns `None` if one of them can no
    /// longer be read.
    ///
    /// # Errors
    /// Returns an error if the call is cancelled.
    #[cfg(unix)]
    pub fn with_details(
        &self,
        rows: &[u32],
        cancel: &sinew_base::CancelToken,
    ) -> Result<Option<Scan>, sinew_base::Aborted> {
        let mut some = Scan { root: self.root.clone(), warnings: self.warnings.clone(), ..Scan::default() };
        let Ok(root) = sys::Root::open(&self.root) else { return Ok(None) };
        let mut ticker = sinew_base::CancelTicker::new(cancel);
        for row in rows {
            ticker.step()?;
            let entry = self.get(*row as usize);
            let Ok(stamp) = root.stamp(entry.bytes()) else { return Ok(None) };
            some.text.extend_from_slice(entry.bytes());
            some.ends.push(some.text.len());
            some.bits.push(self.bits[entry.index()]);
            some.details.push((stamp.mtime, stamp.size));
        }
        Ok(Some(some))
    }

    /// Returns the reasons why the scan is incomplete: directories and ignore files that could not be read. At most 101
    /// sentences.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }
}

/// A file, directory or link of a [`Scan`].
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    scan: &'a Scan,
    index: usize,
}

impl<'a> Entry<'a> {
    /// Returns the index in the scan.
    #[must_use]
    pub fn index(&self) -> usize {
        self.index
    }

    /// Returns the path relative to the root, with `/` on every platform. Invalid UTF-8 is replaced by U+FFFD.
    #[must_use]
    pub fn path(&self) -> Cow<'a, str> {
        sinew_base::lossy(self.bytes())
    }

    /// Returns the path as the system reported it, with `/` on every platform.
    #[must_use]
    pub fn bytes(&self) -> &'a [u8] {
        &self.scan.text[self.scan.ends.range(self.index)]
    }

    /// Returns the last component of the path.
    #[must_use]
    pub fn name(&self) -> &'a [u8] {
        let path = self.bytes();
        memchr::memrchr(b'/', path).map_or(path, |at| &path[at + 1..])
    }

    /// Returns the type of the entry itself; links are not followed.
    #[must_use]
    pub fn file_type(&self) -> FileType {
        match self.scan.bits[self.index] & TYPE {
            0 => FileType::File,
            1 => FileType::Dir,
            _ => FileType::Symlink,
        }
    }

    /// Returns the current type of a link's target: `None` for a broken or cyclic link, or if the target is neither a
    /// file nor a directory. For anything but a link, returns its own type.
    #[must_use]
    pub fn target_type(&self) -> Option<FileType> {
        match self.file_type() {
            FileType::Symlink => sys::target_type(&self.scan.root, self.bytes()),
            known => Some(known),
        }
    }

    /// Returns the absolute path, for messages and other programs; [`Entry::open`] also opens entries whose absolute
    /// path is too long.
    #[must_use]
    pub fn absolute(&self) -> PathBuf {
        self.scan.root.join(sys::path_of(self.bytes()).as_ref())
    }

    /// Opens the entry for reading (for a link: its target), even if the path is longer than the system allows in one
    /// call.
    ///
    /// # Errors
    /// Returns an error if the system cannot open the file.
    pub fn open(&self) -> io::Result<File> {
        sys::open_file(&self.scan.root, self.bytes())
    }

    /// Returns the time of the last change of the content, in nanoseconds since the epoch; `None` without
    /// [`crate::Detail::Full`].
    #[must_use]
    pub fn mtime(&self) -> Option<i64> {
        self.scan.details.get(self.index).map(|detail| detail.0)
    }

    /// Returns the size in bytes; `None` without [`crate::Detail::Full`].
    #[must_use]
    pub fn size(&self) -> Option<u64> {
        self.scan.details.get(self.index).map(|detail| detail.1)
    }

    /// Returns true if an ignore rule matches the entry or one of its parent directories. Always false if the scan
    /// excludes ignored entries.
    #[must_use]
    pub fn ignored(&self) -> bool {
        self.scan.bits[self.index] & IGNORED != 0
    }

    /// Returns true if a component of the path begins with a dot.
    #[must_use]
    pub fn hidden(&self) -> bool {
        let path = self.bytes();
        path.first() == Some(&b'.') || memchr::memmem::find(path, b"/.").is_some()
    }
}
