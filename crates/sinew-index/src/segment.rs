//! Segments: immutable index files with posting lists, a dictionary and the list of indexed files.
//!
//! A segment is a sequence of verified [pages](crate::page). All numbers are little-endian or of variable length.
//!
//! | section | content |
//! |---|---|
//! | head, one page | magic, format, scheme of the grams, id of the index, counts, bytes of text, offset and length of the other sections |
//! | files | of each file: kind, whether a document ends inside a line, stamp, number of documents, length of the prefix shared with the previous path, the rest of the path |
//! | blocks | of each block of the dictionary: its first gram and its offset |
//! | dictionary | blocks of 128 grams: gap to the previous gram, form of the list, its count and length, or the list itself if it has one or two documents |
//! | lists | Rice codes and bit sets, in the order of their grams |

mod files;
mod read;
#[cfg(test)]
mod tests;
mod write;

pub use files::{FilePath, FileRecord, SegmentFiles};
pub use read::Segment;

/// The first bytes of every segment.
const MAGIC: [u8; 8] = *b"sinewseg";
/// The version of this layout; each version has its own directory in the cache.
const FORMAT: u32 = 1;
/// The version of the gram scheme: three folded bytes, documents of 16 KiB.
const SCHEME: u32 = 1;
/// The length of the head, in bytes.
const HEAD: usize = 8 + 4 + 4 + 16 + 4 + 4 + 8 + SECTIONS * 16;
/// The number of sections after the head.
const SECTIONS: usize = 4;
/// The number of grams in a block of the dictionary.
const BLOCK: usize = 128;

/// The forms of a list in the dictionary.
mod form {
    pub(super) const ALL: u8 = 0;
    pub(super) const ONE: u8 = 1;
    pub(super) const TWO: u8 = 2;
    pub(super) const GAPS: u8 = 3;
    pub(super) const BITS: u8 = 4;
}

/// The identity of a segment: pages that were written for another one are rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentId {
    /// The random id of the index that the segment belongs to.
    pub index: [u8; 16],
    /// The number of the segment in the index.
    pub number: u32,
}

/// The kind of a file, as the engine treats it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// Text that is indexed completely.
    Text,
    /// A binary file, which is skipped.
    Binary,
    /// Neither of these; always searched.
    Odd,
}

impl FileKind {
    const ALL: [FileKind; 3] = [FileKind::Text, FileKind::Binary, FileKind::Odd];
}
