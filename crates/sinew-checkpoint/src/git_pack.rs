//! Reads git's objects on disk: loose files, and packs with their indexes.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::Path;

use flate2::read::ZlibDecoder;
use rustix::fs::{CWD, OFlags};

use crate::directory::open_quietly;
use crate::git_index::offset_number;
use crate::row::GitId;

/// A larger index is not read; the files are copied instead.
const MAX_INDEX: u64 = 128 << 20;
/// The maximum size of an object, in bytes.
const MAX_OBJECT: usize = 1 << 30;
/// The maximum length of a chain of deltas; git's default is 50.
const MAX_CHAIN: usize = 10_000;

const BLOB: u8 = 3;
const OFFSET_DELTA: u8 = 6;
const ID_DELTA: u8 = 7;

/// Opens a regular file. A pipe in its place does not block the call.
pub(crate) fn open_file(path: &Path) -> Option<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(open_quietly(CWD, path, flags).ok()?);
    file.metadata().is_ok_and(|metadata| metadata.is_file()).then_some(file)
}

/// Reads a regular file of at most `limit` bytes.
pub(crate) fn read_file(path: &Path, limit: u64) -> Option<Vec<u8>> {
    sinew_base::read_limited(open_file(path)?, limit).ok()?
}

/// The index of a pack, version 2 with SHA-1 ids.
#[derive(Debug)]
pub(crate) struct PackIndex {
    bytes: Vec<u8>,
    count: usize,
}

/// The offsets of the parts of an index.
const FANOUT: usize = 8;
const IDS: usize = FANOUT + 256 * 4;

impl PackIndex {
    /// Reads an index; `None` if it is damaged, too large, or of another version.
    pub(crate) fn open(path: &Path) -> Option<PackIndex> {
        let bytes = read_file(path, MAX_INDEX)?;
        let index = PackIndex { count: 0, bytes };
        let count = index.word(FANOUT + 255 * 4)? as usize;
        let is_whole = index.bytes.len() >= IDS + count * 28 + 40;
        (index.bytes.starts_with(b"\xfftOc\0\0\0\x02") && is_whole).then_some(PackIndex { count, ..index })
    }

    fn word(&self, at: usize) -> Option<u32> {
        Some(u32::from_be_bytes(*self.bytes.get(at..)?.first_chunk()?))
    }

    /// Returns the offset of an object in the pack.
    pub(crate) fn find(&self, id: &GitId) -> Option<u64> {
        let first = usize::from(id[0]);
        let mut low = if first == 0 { 0 } else { self.word(FANOUT + (first - 1) * 4)? as usize };
        let mut high = (self.word(FANOUT + first * 4)? as usize).min(self.count);
        while low < high {
            let middle = usize::midpoint(low, high);
            let found = self.bytes.get(IDS + middle * 20..)?.first_chunk::<20>()?;
            match found.cmp(id) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return self.offset(middle),
            }
        }
        None
    }

    fn offset(&self, number: usize) -> Option<u64> {
        let offsets = IDS + self.count * 24;
        let offset = self.word(offsets + number * 4)?;
        if offset & 0x8000_0000 == 0 {
            return Some(offset.into());
        }
        let large = offsets + self.count * 4 + (offset & 0x7fff_ffff) as usize * 8;
        Some(u64::from_be_bytes(*self.bytes.get(large..)?.first_chunk()?))
    }
}

/// Reads a blob from a pack.
pub(crate) fn read_packed(pack: &Path, index: &PackIndex, id: &GitId) -> Option<Vec<u8>> {
    let file = open_file(pack)?;
    let mut offset = index.find(id)?;
    let mut deltas = Vec::new();
    loop {
        let entry = read_entry(&file, offset)?;
        match entry.kind {
            BLOB => {
                return deltas.into_iter().rev().try_fold(entry.data, |base, delta: Vec<u8>| apply(&base, &delta));
            }
            OFFSET_DELTA => offset = offset.checked_sub(entry.base_distance).filter(|_| entry.base_distance > 0)?,
            ID_DELTA => offset = index.find(&entry.base_id)?,
            _ => return None,
        }
        deltas.push(entry.data);
        if deltas.len() > MAX_CHAIN {
            return None;
        }
    }
}

struct Entry {
    kind: u8,
    base_distance: u64,
    base_id: GitId,
    data: Vec<u8>,
}

/// Reads the header of an entry; returns it with the size of its data, and the offset at which the data starts.
fn read_header(file: &File, offset: u64) -> Option<(Entry, usize, u64)> {
    let mut head = [0u8; 64];
    let length = file.read_at(&mut head, offset).ok()?;
    let head = &head[..length];
    let first = *head.first()?;
    let kind = first >> 4 & 7;
    let mut size = usize::from(first & 15);
    let mut at = 1;
    let mut shift = 4;
    let mut byte = first;
    while byte & 0x80 != 0 {
        byte = *head.get(at)?;
        size |= usize::from(byte & 0x7f).checked_shl(shift)?;
        shift += 7;
        at += 1;
    }
    let mut entry = Entry { kind, base_distance: 0, base_id: [0; 20], data: Vec::new() };
    if kind == OFFSET_DELTA {
        let (distance, used) = offset_number(head.get(at..)?)?;
        entry.base_distance = distance as u64;
        at += used;
    } else if kind == ID_DELTA {
        entry.base_id = *head.get(at..)?.first_chunk()?;
        at += 20;
    }
    (size <= MAX_OBJECT).then_some((entry, size, offset + at as u64))
}

fn read_entry(file: &File, offset: u64) -> Option<Entry> {
    let (mut entry, size, offset) = read_header(file, offset)?;
    let source = FileAt { file, offset };
    ZlibDecoder::new(source).take(size as u64 + 1).read_to_end(&mut entry.data).ok()?;
    (entry.data.len() == size).then_some(entry)
}

/// Returns the size of an object in a pack without reading its content.
pub(crate) fn packed_size(file: &File, index: &PackIndex, id: &GitId) -> Option<u64> {
    let (entry, length, offset) = read_header(file, index.find(id)?)?;
    if entry.kind == BLOB {
        return Some(length as u64);
    }
    if entry.kind != OFFSET_DELTA && entry.kind != ID_DELTA {
        return None;
    }
    // A delta starts with the sizes of its base and of its result.
    let mut sizes = Vec::new();
    ZlibDecoder::new(FileAt { file, offset }).take(20).read_to_end(&mut sizes).ok()?;
    let mut rest = &sizes[..];
    size(&mut rest)?;
    Some(size(&mut rest)? as u64)
}

/// Returns the size of a blob in a loose file without reading its content.
pub(crate) fn loose_size(path: &Path) -> Option<u64> {
    let mut head = Vec::new();
    ZlibDecoder::new(open_file(path)?).take(32).read_to_end(&mut head).ok()?;
    let end = head.iter().position(|byte| *byte == 0)?;
    std::str::from_utf8(head[..end].strip_prefix(b"blob ")?).ok()?.parse().ok()
}

/// Reads a file from an offset on, without changing the file's position.
struct FileAt<'a> {
    file: &'a File,
    offset: u64,
}

impl Read for FileAt<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let length = self.file.read_at(buffer, self.offset)?;
        self.offset += length as u64;
        Ok(length)
    }
}

/// Applies a delta to its base content.
fn apply(base: &[u8], delta: &[u8]) -> Option<Vec<u8>> {
    let mut rest = delta;
    if size(&mut rest)? != base.len() {
        return None;
    }
    let length = size(&mut rest)?;
    let mut result = Vec::with_capacity(length.min(MAX_OBJECT));
    while let Some((&command, tail)) = rest.split_first() {
        rest = tail;
        if command & 0x80 == 0 {
            let (text, tail) = rest.split_at_checked(usize::from(command)).filter(|_| command != 0)?;
            result.extend_from_slice(text);
            rest = tail;
            continue;
        }
        let mut numbers = [0usize; 2];
        for bit in 0..7 {
            if command & (1 << bit) != 0 {
                let (&byte, tail) = rest.split_first()?;
                rest = tail;
                let (number, shift) = if bit < 4 { (0, bit * 8) } else { (1, (bit - 4) * 8) };
                numbers[number] |= usize::from(byte) << shift;
            }
        }
        let [start, count] = numbers;
        let count = if count == 0 { 0x1_0000 } else { count };
        result.extend_from_slice(base.get(start..start.checked_add(count)?)?);
    }
    (result.len() == length).then_some(result)
}

fn size(rest: &mut &[u8]) -> Option<usize> {
    let mut value = 0usize;
    for shift in (0..56).step_by(7) {
        let (&byte, tail) = rest.split_first()?;
        *rest = tail;
        value |= usize::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

/// Reads a blob from a loose file.
pub(crate) fn read_loose(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    ZlibDecoder::new(open_file(path)?).take(MAX_OBJECT as u64).read_to_end(&mut bytes).ok()?;
    let end = bytes.iter().take(64).position(|byte| *byte == 0)?;
    bytes.starts_with(b"blob ").then(|| bytes.split_off(end + 1))
}
