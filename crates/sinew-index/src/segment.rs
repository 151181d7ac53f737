//! Segments: immutable files of an index, with lists, dictionary and the files that they speak of.
//!
//! A segment is a row of checked [pages](crate::page). All numbers are little-endian or of variable length.
//!
//! | section | content |
//! |---|---|
//! | head, one page | magic, format, scheme of the grams, id of the index, counts, bytes of text, offset and length of the other sections |
//! | files | of each file: kind, whether a cut goes through a line, stamp, number of documents, length of the path's beginning that it shares with the path before, the rest of the path |
//! | blocks | of each block of the dictionary: its first gram and its offset |
//! | dictionary | blocks of 128 grams: gap to the gram before, form of the list, its count and length, or the list itself where it has one or two documents |
//! | lists | Rice codes and bit sets, in the order of their grams |

mod files;
mod read;
#[cfg(test)]
mod tests;
mod write;

pub use files::{FilePath, FileRecord, SegmentFiles};
pub use read::Segment;

/// Begins every segment.
const MAGIC: [u8; 8] = *b"sinewseg";
/// Number of this layout; another one is another folder of the cache.
const FORMAT: u32 = 1;
/// Scheme of the grams: three folded bytes, documents of 16 KiB.
const SCHEME: u32 = 1;
/// Length of the head, in bytes.
const HEAD: usize = 8 + 4 + 4 + 16 + 4 + 4 + 8 + SECTIONS * 16;
/// Number of sections behind the head.
const SECTIONS: usize = 4;
/// Grams of one block of the dictionary.
const BLOCK: usize = 128;

/// Forms of a list in the dictionary.
mod form {
    pub(super) const ALL: u8 = 0;
    pub(super) const ONE: u8 = 1;
    pub(super) const TWO: u8 = 2;
    pub(super) const GAPS: u8 = 3;
    pub(super) const BITS: u8 = 4;
}

/// The place of a segment: pages that were written for another are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentId {
    /// Random bytes of the index that the segment belongs to.
    pub index: [u8; 16],
    /// Number of the segment in it.
    pub number: u32,
}

/// The kind of a file, as the engine judges it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// Text, indexed whole.
    Text,
    /// Skipped as binary: never opened.
    Binary,
    /// Neither: always searched.
    Odd,
}

impl FileKind {
    const ALL: [FileKind; 3] = [FileKind::Text, FileKind::Binary, FileKind::Odd];
}
