//! The index of a file: its entries and their offsets. Reads the file once, in blocks shared by a few threads, and
//! stores a few words per line. Files, entries and lines are limited, so that no content makes this unbounded.

use std::fs::File;
use std::io;

use memchr::memchr;
use serde_json::{Map, Value};

use super::depth;
use super::entry::{Header, Kind};
use super::files::size_text;
use super::parallel_map::parallel_map;
use super::read_at;
use super::scan::Head;
use super::tree::{EntryLocation, Id, Tree};
use super::whole_characters;
use crate::clock;

/// The size of a block, which fits the cache of a core.
const BLOCK: usize = 512 * 1024;
/// The number of blocks whose lines are collected before they are added to the tree.
const BATCH: usize = 64;
/// The maximum size of a session file. A larger one is rejected: a long session has some megabytes, and a sparse file
/// may have any size.
const LARGEST_FILE: u64 = 4 << 30;
/// The maximum number of entries of a session file. Each needs about a hundred bytes of memory.
const MOST_ENTRIES: usize = 5_000_000;
/// The maximum length of a line. A longer one is skipped in chunks.
const LONGEST_LINE: usize = 128 << 20;
/// The number of bytes read beyond a block: most lines that begin in it end there.
const BEHIND: usize = 16 * 1024;

/// The entries and offsets found in one pass over a file.
#[derive(Debug, Default)]
pub(super) struct Index {
    /// The header; `None` if the first line is not a header.
    pub(super) header: Option<Header>,
    pub(super) tree: Tree,
    /// The number of invalid lines, except a torn one at the end.
    pub(super) bad: usize,
    /// The number of entries with values that are nested too deeply, which are removed when they are read.
    pub(super) deep: usize,
    /// The number of entries whose parents would have formed a cycle.
    pub(super) circles: usize,
    /// The number of entries without `id`: those of version 1 and of flat files.
    pub(super) without_id: usize,
    /// The offset at which the last complete line ends; the bytes after it were torn by a crash.
    pub(super) whole: u64,
    /// The size of the file.
    pub(super) size: u64,
}

/// Reads `file`. A last line without a line feed counts if it is complete JSON. Data that another process appends in
/// the meantime is ignored.
///
/// # Errors
/// Returns the system's error, and `FileTooLarge` if the file exceeds the size limit or the maximum number of entries.
pub(super) fn read(file: &File) -> io::Result<Index> {
    read_in_blocks(file, BLOCK)
}

/// Does the same as [`read`] in blocks of `length`, which does not affect the result.
pub(super) fn read_in_blocks(file: &File, length: usize) -> io::Result<Index> {
    let size = file.metadata()?.len();
    if size > LARGEST_FILE {
        let (size, most) = (size_text(size), size_text(LARGEST_FILE));
        return Err(too_large(format!("it has {size}, and a session file has at most {most}")));
    }
    let (header, first) = match first_line(file, size)? {
        Some((header, at)) => (Some(header), Some(at)),
        None => (None, None),
    };
    let mut index = Index { header, size, ..Index::default() };
    let count = usize::try_from(size.div_ceil(length as u64)).unwrap_or(usize::MAX);
    let mut torn = None;
    for begin in (0..count).step_by(BATCH) {
        let blocks = parallel_map(BATCH.min(count - begin), |buffer: &mut Vec<u8>, number| {
            let from = (begin + number) as u64 * length as u64;
            block(file, buffer, from..size.min(from + length as u64), size, first)
        });
        for block in blocks {
            let block = block?;
            torn = torn.or(block.torn);
            index.add(block);
        }
        if index.tree.nodes.len() > MOST_ENTRIES {
            return Err(too_large(format!("a session file has at most {MOST_ENTRIES} entries, and it has more")));
        }
    }
    index.whole = torn.unwrap_or(index.size);
    index.circles = index.tree.settle();
    Ok(index)
}

impl Index {
    fn add(&mut self, block: Block) {
        self.bad += block.bad;
        self.deep += block.deep;
        self.without_id += block.without_id;
        self.size = self.size.min(block.size);
        self.tree.reserve(block.rows.len());
        for Row { id, parent, time, kind, offset, length } in block.rows {
            let added = self.tree.push(id, parent, time, kind, EntryLocation::Disk { offset, length });
            self.bad += usize::from(!added);
        }
    }
}

fn too_large(reason: String) -> io::Error {
    io::Error::new(io::ErrorKind::FileTooLarge, reason)
}

/// The lines that begin in a part of a file.
#[derive(Default)]
struct Block {
    rows: Vec<Row>,
    bad: usize,
    deep: usize,
    without_id: usize,
    /// The offset at which the torn last line begins; `None` if there is none.
    torn: Option<u64>,
    /// The size of the file, which is smaller if another process has truncated it in the meantime.
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

/// Returns the header and the offset of its line; `None` if the first line that is not blank is not a header.
fn first_line(file: &File, size: u64) -> io::Result<Option<(Header, u64)>> {
    let mut buffer = Vec::new();
    let mut lines = Lines::new(file, &mut buffer, 0, size);
    while let Some(line) = lines.next(4 * 1024)? {
        if line.passed {
            return Ok(None);
        }
        let text = line.bytes.trim_ascii();
        if !text.is_empty() {
            let header = whole_characters::from_slice::<Header>(text).ok().filter(|header| header.kind == "session");
            return Ok(header.map(|header| (header, line.offset)));
        }
    }
    Ok(None)
}

/// Reads the lines that begin in `range`, except the header at `first`.
fn block(
    file: &File,
    buffer: &mut Vec<u8>,
    range: std::ops::Range<u64>,
    size: u64,
    first: Option<u64>,
) -> io::Result<Block> {
    let mut block = Block::default();
    // The byte before the range shows whether a line begins with it: text up to a line feed is otherwise the end of an
    // earlier line.
    let begin = range.start.saturating_sub(1);
    let mut lines = Lines::new(file, buffer, begin, size);
    lines.fill(range.end - begin + BEHIND as u64)?;
    if range.start > 0 && !lines.skip(range.end) {
        block.size = lines.size;
        return Ok(block);
    }
    while lines.offset() < range.end
        && let Some(line) = lines.next(BEHIND)?
    {
        let Line { bytes, offset, ended, passed } = line;
        let text = bytes.trim_ascii();
        if Some(offset) == first {
            continue;
        }
        if passed && ended {
            block.bad += 1;
            continue;
        }
        if text.is_empty() {
            block.torn = (!ended).then_some(offset);
            continue;
        }
        match Head::parse(text) {
            Ok(head) => {
                block.deep += usize::from(depth::is_deep(text));
                block.rows.push(Row {
                    id: Id::from(&*head.id),
                    parent: head.parent_id.as_deref().map(Id::from),
                    time: head.timestamp.as_deref().and_then(clock::from_iso).unwrap_or_default(),
                    kind: Kind::of(&head.kind),
                    offset: offset + (text.as_ptr() as u64 - bytes.as_ptr() as u64),
                    length: u32::try_from(text.len()).unwrap_or(u32::MAX),
                });
            }
            Err(_) if ended && is_object(text) => block.without_id += 1,
            Err(_) if ended => block.bad += 1,
            // Removed by the next append.
            Err(_) => block.torn = Some(offset),
        }
    }
    block.size = lines.size;
    Ok(block)
}

/// Returns the lines of a file that are objects. Lines beyond the maximum length are skipped.
///
/// # Errors
/// Returns the system's error.
pub(super) fn objects(file: &File) -> io::Result<Vec<Map<String, Value>>> {
    let mut buffer = Vec::new();
    let mut lines = Lines::new(file, &mut buffer, 0, file.metadata()?.len());
    let mut objects = Vec::new();
    while let Some(line) = lines.next(BLOCK)? {
        objects.extend(depth::parse::<Map<String, Value>>(line.bytes).ok());
    }
    Ok(objects)
}

fn is_object(text: &[u8]) -> bool {
    depth::parse::<Map<String, Value>>(text).is_ok()
}

/// A line with its offset.
struct Line<'a> {
    bytes: &'a [u8],
    offset: u64,
    /// True if it has a line feed, which is not part of its bytes.
    ended: bool,
    /// True if it exceeds the maximum length: its bytes were skipped.
    passed: bool,
}

/// The lines of a file from an offset on.
struct Lines<'a> {
    file: &'a File,
    /// The buffer, which may be longer than the bytes read.
    buffer: &'a mut Vec<u8>,
    /// The number of bytes in the buffer that were read.
    filled: usize,
    /// The file offset of the buffer.
    begin: u64,
    /// The offset of the next line in the buffer.
    at: usize,
    size: u64,
}

impl<'a> Lines<'a> {
    fn new(file: &'a File, buffer: &'a mut Vec<u8>, begin: u64, size: u64) -> Lines<'a> {
        Lines { file, buffer, filled: 0, begin, at: 0, size }
    }

    /// Returns the file offset of the next line.
    fn offset(&self) -> u64 {
        self.begin + self.at as u64
    }

    /// Reads until `length` bytes are available, or the end.
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

    /// Skips to the first line feed; returns false if no line begins after it before `end`.
    fn skip(&mut self, end: u64) -> bool {
        let found = memchr(b'\n', &self.buffer[..self.filled]);
        self.at = found.map_or(self.filled, |at| at + 1);
        found.is_some() && self.offset() < end
    }

    /// Returns the next line; reads in steps of `step`, which grow.
    fn next(&mut self, step: usize) -> io::Result<Option<Line<'_>>> {
        let mut from = self.at;
        let end = loop {
            if let Some(more) = memchr(b'\n', &self.buffer[from..self.filled]) {
                break Some(from + more);
            }
            self.drop_read();
            from = self.filled;
            if self.begin + self.filled as u64 >= self.size {
                break None;
            }
            let length = self.filled - self.at;
            if length > LONGEST_LINE {
                return self.pass().map(Some);
            }
            self.fill((self.filled + step.max(length)) as u64)?;
        };
        let (start, stop) = (self.at, end.unwrap_or(self.filled));
        let line =
            Line { bytes: &self.buffer[start..stop], offset: self.offset(), ended: end.is_some(), passed: false };
        if end.is_none() && start == stop {
            return Ok(None);
        }
        self.at = end.map_or(stop, |end| end + 1);
        Ok(Some(line))
    }

    /// Removes the processed lines from the buffer.
    fn drop_read(&mut self) {
        self.buffer.copy_within(self.at..self.filled, 0);
        self.begin += self.at as u64;
        (self.filled, self.at) = (self.filled - self.at, 0);
    }

    /// Skips the line that begins here, without storing it.
    fn pass(&mut self) -> io::Result<Line<'_>> {
        let offset = self.offset();
        self.begin += self.filled as u64;
        (*self.buffer, self.filled, self.at) = (Vec::new(), 0, 0);
        let ended = loop {
            self.fill(BLOCK as u64)?;
            if let Some(end) = memchr(b'\n', &self.buffer[..self.filled]) {
                self.at = end + 1;
                break true;
            }
            self.begin += self.filled as u64;
            if std::mem::take(&mut self.filled) == 0 {
                break false;
            }
        };
        Ok(Line { bytes: &[], offset, ended, passed: true })
    }
}

#[cfg(test)]
mod tests;
