//! The index of a file: its entries and their offsets. Reads the file once, in blocks that a few threads share, and
//! keeps a few words of each line. Nothing that a file holds makes that unbounded: files, entries and lines have limits.

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
use super::tree::{Id, Place, Tree};
use super::whole_characters;
use crate::clock;

/// Bytes that a thread takes at a time: they stay in its cache.
const BLOCK: usize = 512 * 1024;
/// Blocks whose lines are held at a time before they become a part of the tree.
const BATCH: usize = 64;
/// Bytes of a session file. A larger one is refused: a long session has some megabytes, and a file with holes may say
/// any size.
const LARGEST_FILE: u64 = 4 << 30;
/// Entries of a session file. About a hundred bytes of memory are kept for each.
const MOST_ENTRIES: usize = 5_000_000;
/// Bytes of a line. A longer one is passed by, in pieces.
const LONGEST_LINE: usize = 128 << 20;
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
    /// Entries of which something nests too deep, and is left out when they are read.
    pub(super) deep: usize,
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
///
/// # Errors
/// The system's; `FileTooLarge` if the file is larger, or has more entries, than a session may.
pub(super) fn read(file: &File) -> io::Result<Index> {
    read_in_blocks(file, BLOCK)
}

/// [`read`] in blocks of `length`: the same whatever it is.
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
            let added = self.tree.push(id, parent, time, kind, Place::Disk { offset, length });
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
            // Cut off at the next append.
            Err(_) => block.torn = Some(offset),
        }
    }
    block.size = lines.size;
    Ok(block)
}

/// The lines of a file that are objects. A line that is longer than one may be is left out.
///
/// # Errors
/// The system's.
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

/// A line and where it begins.
struct Line<'a> {
    bytes: &'a [u8],
    offset: u64,
    /// It has its line feed, which is not among its bytes.
    ended: bool,
    /// It is longer than a line may be: its bytes were passed by, and are not here.
    passed: bool,
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

    /// Takes the lines that were read out of the buffer.
    fn drop_read(&mut self) {
        self.buffer.copy_within(self.at..self.filled, 0);
        self.begin += self.at as u64;
        (self.filled, self.at) = (self.filled - self.at, 0);
    }

    /// Goes behind the line that begins here, and holds none of it.
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
