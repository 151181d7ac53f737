//! The result of a scan.

use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use crate::ends::Ends;
use crate::{FileType, sys};

/// Bits of an entry: its type, and what ignore rules say of it.
pub(crate) const TYPE: u8 = 0b11;
pub(crate) const IGNORED: u8 = 0b100;
/// A rule brings it back, also where names with a dot are left out.
pub(crate) const KEPT: u8 = 0b1000;

pub(crate) fn bits_of(file_type: FileType) -> u8 {
    match file_type {
        FileType::File => 0,
        FileType::Dir => 1,
        FileType::Symlink => 2,
    }
}

/// The entries below a root, in the order of the paths' bytes.
#[derive(Debug, Default)]
pub struct Scan {
    pub(crate) root: PathBuf,
    pub(crate) single_file: bool,
    pub(crate) text: Vec<u8>,
    pub(crate) ends: Ends,
    pub(crate) bits: Vec<u8>,
    /// Nanoseconds since the epoch, and bytes; empty without [`crate::Detail::Full`].
    pub(crate) details: Vec<(i64, u64)>,
    pub(crate) warnings: Vec<String>,
}

impl Scan {
    /// The folder that paths are relative to, all links resolved. For a file as root: the folder it lies in.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns true where the root is a file; its only entry is that file.
    #[must_use]
    pub fn is_single_file(&self) -> bool {
        self.single_file
    }

    /// Returns the number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bits.len()
    }

    /// Returns true without any entry.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bits.is_empty()
    }

    /// Returns the bytes of all paths together.
    #[must_use]
    pub fn text_length(&self) -> usize {
        self.text.len()
    }

    /// The entry at `index`.
    ///
    /// # Panics
    /// When `index` is not below [`Scan::len`].
    #[must_use]
    pub fn get(&self, index: usize) -> Entry<'_> {
        assert!(index < self.len(), "entry {index} of {}", self.len());
        Entry { scan: self, index }
    }

    /// All entries in path order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Entry<'_>> + DoubleEndedIterator {
        (0..self.len()).map(|index| Entry { scan: self, index })
    }

    /// The index of the entry with this path (relative, `/` between names), if it is there.
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

    /// Makes the scan of some of the entries, with their times and sizes as they are now; none where one of them cannot be asked
    /// for.
    ///
    /// # Errors
    /// The call is cancelled.
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

    /// Returns the reasons why the scan is incomplete: unreadable folders and ignore files. At most 101 sentences.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }
}

/// One file, folder or link of a [`Scan`].
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

    /// The path relative to the root, with `/` on every platform; bytes that are not UTF-8 are shown as U+FFFD.
    #[must_use]
    pub fn path(&self) -> Cow<'a, str> {
        sinew_base::lossy(self.bytes())
    }

    /// The path as the system gave it, with `/` on every platform.
    #[must_use]
    pub fn bytes(&self) -> &'a [u8] {
        &self.scan.text[self.scan.ends.range(self.index)]
    }

    /// The last name of the path.
    #[must_use]
    pub fn name(&self) -> &'a [u8] {
        let path = self.bytes();
        memchr::memrchr(b'/', path).map_or(path, |at| &path[at + 1..])
    }

    /// The type; a link is a link.
    #[must_use]
    pub fn file_type(&self) -> FileType {
        match self.scan.bits[self.index] & TYPE {
            0 => FileType::File,
            1 => FileType::Dir,
            _ => FileType::Symlink,
        }
    }

    /// The type of what a link points to, asked of the system now: none for a broken or cyclic link, or for
    /// something that is neither file nor folder. For anything but a link: its type.
    #[must_use]
    pub fn target_type(&self) -> Option<FileType> {
        match self.file_type() {
            FileType::Symlink => sys::target_type(&self.scan.root, self.bytes()),
            known => Some(known),
        }
    }

    /// The absolute path, for messages and for programs; [`Entry::open`] also opens what is too long for it.
    #[must_use]
    pub fn absolute(&self) -> PathBuf {
        self.scan.root.join(sys::path_of(self.bytes()).as_ref())
    }

    /// Opens it for reading (a link: its target), also where the path is longer than the system takes at once.
    ///
    /// # Errors
    /// Whatever the system says.
    pub fn open(&self) -> io::Result<File> {
        sys::open_file(&self.scan.root, self.bytes())
    }

    /// Returns the time of the last change of its content, in nanoseconds since the epoch; none without
    /// [`crate::Detail::Full`].
    #[must_use]
    pub fn mtime(&self) -> Option<i64> {
        self.scan.details.get(self.index).map(|detail| detail.0)
    }

    /// Its size in bytes; none without [`crate::Detail::Full`].
    #[must_use]
    pub fn size(&self) -> Option<u64> {
        self.scan.details.get(self.index).map(|detail| detail.1)
    }

    /// Returns true where an ignore rule names it or a folder above it. Always false where the scan leaves these out.
    #[must_use]
    pub fn ignored(&self) -> bool {
        self.scan.bits[self.index] & IGNORED != 0
    }

    /// Returns true where a name of the path begins with a dot.
    #[must_use]
    pub fn hidden(&self) -> bool {
        let path = self.bytes();
        path.first() == Some(&b'.') || memchr::memmem::find(path, b"/.").is_some()
    }
}
