//! The index of a file: its entries and their offsets. Reads the file once, in blocks that a few threads share, and
//! keeps
//! a few words of each line.

use std::fs::File;
use std::io;

use memchr::memchr;

use super::entry::{Header, Kind};
use super::parallel_map::parallel_map;
use super::read_at;
use super::scan::Head;
use super::tree::{Id, Place, Tree};
use crate::clock;

/// Bytes that a thread takes at a time: they stay in its cache.
const BLOCK: usize = 512 * 1024;
/// Bytes behind a block that are read with it: most lines that begin in it end there.
const BEHIND: usize = 16 * 1024;

/// The entries and offsets that one pass over a file found.
#[derive(Debug, Default)]
pub(super) struct Index {
    /// The header, unless line 1 is none.
    pub(super) header: Option<Header>,
    pub(super) tree: Tree,
    /// Lines that are no entries, the torn one at the end left out.
    pub(super) bad: usize,
    /// Entries whose parents would have closed a circle.
    pub(super) circles: usize,
    /// Entries without `id`: those of version 1 and of flat files.
    pub(super) without_id: usize,
    /// The offset at which the last whole line ends; the bytes behind it were torn by a crash.
    pub(super) whole: u64,
    /// The file's size.
    pub(super) size: u64,
}

/// Reads `file`. A last line without line feed counts when it is whole JSON. What another process appends meanwhile is
/// not seen.
pub(super) fn read(file: &File) -> io::Result<Index> {
    read_in_blocks(file, BLOCK)
}

/// [`read`] in blocks of `length`: the same whatever it is.
pub(super) fn read_in_blocks(file: &File, length: usize) -> io::Result<Index> {
    let size = file.metadata()?.len();
    let (header, first) = match first_line(file, size)? {
        Some((header, at)) => (Some(header), Some(at)),
        None => (None, None),
    };
    let mut index = Index { header, size, ..Index::default() };
    let blocks = size.div_ceil(length as u64);
    let blocks = parallel_map(usize::try_from(blocks).unwrap_or(usize::MAX), |buffer: &mut Vec<u8>, number| {
        let from = number as u64 * length as u64;
        block(file, buffer, from..size.min(from + length as u64), size, first)
    });
    let blocks = blocks.into_iter().collect::<io::Result<Vec<Block>>>()?;
    index.tree.reserve(blocks.iter().map(|block| block.rows.len()).sum());
    let mut torn = None;
    for block in blocks {
        index.bad += block.bad;
        index.without_id += block.without_id;
        index.size = index.size.min(block.size);
        torn = torn.or(block.torn);
        for Row { id, parent, time, kind, offset, length } in block.rows {
            let added = index.tree.push(id, parent, time, kind, Place::Disk { offset, length });
            index.bad += usize::from(!added);
        }
    }
    index.whole = torn.unwrap_or(index.size);
    index.circles = index.tree.settle();
    Ok(index)
}

/// The lines that begin in a part of a file.
#[derive(Default)]
struct Block {
    rows: Vec<Row>,
    bad: usize,
    without_id: usize,
    /// The offset at which the torn last line begins.
    torn: Option<u64>,
    /// The file's size, smaller than it was where somebody has cut it meanwhile.
    size: u64,
}

struct Row {
    id: Id,
    parent: Option<Id>,
    time: i64,
    kind: Kind,
    offset: u64,
    length: u32,
}

/// The header and where its line begins; none where the first line that is not blank is none.
fn first_line(file: &File, size: u64) -> io::Result<Option<(Header, u64)>> {
    let mut buffer = Vec::new();
    let mut lines = Lines::new(file, &mut buffer, 0, size);
    while let Some(line) = lines.next(4 * 1024)? {
        let text = line.bytes.trim_ascii();
        if !text.is_empty() {
            let header = serde_json::from_slice::<Header>(text).ok().filter(|header| header.kind == "session");
            return Ok(header.map(|header| (header, line.offset)));
        }
    }
    Ok(None)
}

/// Reads the lines that begin in `range`, but the header at `first`.
fn block(
    file: &File,
    buffer: &mut Vec<u8>,
    range: std::ops::Range<u64>,
    size: u64,
    first: Option<u64>,
) -> io::Result<Block> {
    let mut block = Block::default();
    // The byte before the range tells whether a line begins with it: what stands up to a line feed is the end of one
    // that began earlier.
    let begin = range.start.saturating_sub(1);
    let mut lines = Lines::new(file, buffer, begin, size);
    lines.fill(range.end - begin + BEHIND as u64)?;
    if range.start > 0 && !lines.skip(range.end) {
        block.size = lines.size;
        return Ok(block);
    }
    while lines.offset() < range.end
        && let Some(Line { bytes, offset, ended }) = lines.next(BEHIND)?
    {
        let text = bytes.trim_ascii();
        if Some(offset) == first {
            continue;
        }
        if text.is_empty() {
            block.torn = (!ended).then_some(offset);
            continue;
        }
        match Head::parse(text) {
            Ok(head) => block.rows.push(Row {
                id: Id::from(&*head.id),
                parent: head.parent_id.as_deref().map(Id::from),
                time: head.timestamp.as_deref().and_then(clock::from_iso).unwrap_or_default(),
                kind: Kind::of(&head.kind),
                offset: offset + (text.as_ptr() as u64 - bytes.as_ptr() as u64),
                length: u32::try_from(text.len()).unwrap_or(u32::MAX),
            }),
            Err(_) if ended && is_object(text) => block.without_id += 1,
            Err(_) if ended => block.bad += 1,
            // Cut off at the next append.
            Err(_) => block.torn = Some(offset),
        }
    }
    block.size = lines.size;
    Ok(block)
}

fn is_object(text: &[u8]) -> bool {
    serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(text).is_ok()
}

/// A line and where it begins.
struct Line<'a> {
    bytes: &'a [u8],
    offset: u64,
    /// It has its line feed, which is not among its bytes.
    ended: bool,
}

/// The lines of a file from some place on.
struct Lines<'a> {
    file: &'a File,
    /// The buffer; longer than what was read after it has held more.
    buffer: &'a mut Vec<u8>,
    /// The number of bytes of the buffer that were read.
    filled: usize,
    /// The offset in the file at which the buffer begins.
    begin: u64,
    /// The offset in the buffer at which the next line begins.
    at: usize,
    size: u64,
}

impl<'a> Lines<'a> {
    fn new(file: &'a File, buffer: &'a mut Vec<u8>, begin: u64, size: u64) -> Lines<'a> {
        Lines { file, buffer, filled: 0, begin, at: 0, size }
    }

    /// Returns the offset in the file at which the next line begins.
    fn offset(&self) -> u64 {
        self.begin + self.at as u64
    }

    /// Reads on until `length` bytes are there, or all.
    fn fill(&mut self, length: u64) -> io::Result<()> {
        let length = length.min(self.size - self.begin);
        let wanted = usize::try_from(length).map_err(|_| io::ErrorKind::OutOfMemory)?;
        if self.buffer.len() < wanted {
            self.buffer.resize(wanted, 0);
        }
        if wanted > self.filled {
            let place = self.begin + self.filled as u64;
            self.filled += read_at::read(self.file, &mut self.buffer[self.filled..wanted], place)?;
            if self.filled < wanted {
                self.size = self.begin + self.filled as u64;
            }
        }
        Ok(())
    }

    /// Goes behind the first line feed; false where it stands so late that no line begins before `end`.
    fn skip(&mut self, end: u64) -> bool {
        let found = memchr(b'\n', &self.buffer[..self.filled]);
        self.at = found.map_or(self.filled, |at| at + 1);
        found.is_some() && self.offset() < end
    }

    /// The next line; reads on in steps of `step`, which grow with what there is.
    fn next(&mut self, step: usize) -> io::Result<Option<Line<'_>>> {
        let mut from = self.at;
        let end = loop {
            if let Some(more) = memchr(b'\n', &self.buffer[from..self.filled]) {
                break Some(from + more);
            }
            from = self.filled;
            if self.begin + self.filled as u64 >= self.size {
                break None;
            }
            self.fill((self.filled + step.max(self.filled - self.at)) as u64)?;
        };
        let (start, stop) = (self.at, end.unwrap_or(self.filled));
        let line = Line { bytes: &self.buffer[start..stop], offset: self.offset(), ended: end.is_some() };
        if end.is_none() && start == stop {
            return Ok(None);
        }
        self.at = end.map_or(stop, |end| end + 1);
        Ok(Some(line))
    }
}

#[cfg(test)]
mod tests;
