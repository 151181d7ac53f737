//! Parses git's index file, versions 2 to 4 with SHA-1 ids: the tracked files and their recorded metadata.

use sha1::{Digest, Sha1};

use crate::row::GitId;

/// The flag of entries that git does not compare with the file (`git update-index --assume-unchanged`).
const ASSUME_VALID: u16 = 0x8000;
const EXTENDED: u16 = 0x4000;
const STAGE: u16 = 0x3000;
const NAME_LENGTH: u16 = 0x0fff;
/// Flags in the second word: the file may be missing, or is added without content.
const SKIP_WORKTREE: u16 = 0x4000;
const INTENT_TO_ADD: u16 = 0x2000;

/// A file that git tracks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexEntry {
    /// The time of the last change of the metadata, in seconds and nanoseconds.
    pub ctime: (u32, u32),
    /// The time of the last change of the content, in seconds and nanoseconds.
    pub mtime: (u32, u32),
    /// The lower bits of the inode number.
    pub inode: u32,
    /// The type and permissions.
    pub mode: u32,
    /// The lower bits of the size of the file in the work tree.
    pub size: u32,
    /// The id of the blob.
    pub id: GitId,
    /// The stage of a conflict; 0 if there is none.
    pub flags: u16,
    /// Whether git compares the entry with the file as usual.
    pub is_plain: bool,
    /// The path below the top of the work tree.
    pub path: Vec<u8>,
}

/// Returns git's id of a file with this content.
#[must_use]
pub fn blob_id(bytes: &[u8]) -> GitId {
    let mut sha = Sha1::new();
    sha.update(format!("blob {}\0", bytes.len()));
    sha.update(bytes);
    sha.finalize().into()
}

/// Parses the entries of an index. Returns `None` if the index is damaged, split, sparse, of another version, or of a
/// repository with SHA-256 ids.
#[must_use]
pub fn entries(index: &[u8]) -> Option<Vec<IndexEntry>> {
    let (body, sum) = index.split_last_chunk::<20>()?;
    // With `index.skipHash` the checksum is zero.
    if *sum != [0; 20] && Sha1::digest(body)[..] != sum[..] {
        return None;
    }
    let (header, mut rest) = body.split_first_chunk::<12>()?;
    let version = u32_at(header, 4)?;
    if &header[..4] != b"DIRC" || !(2..=4).contains(&version) {
        return None;
    }
    let count = u32_at(header, 8)?;
    let mut entries: Vec<IndexEntry> = Vec::new();
    for _ in 0..count {
        let before = entries.last().map_or(&[][..], |entry| &entry.path);
        let (entry, length) = entry(rest, version, before)?;
        rest = rest.get(length..)?;
        entries.push(entry);
    }
    // Extensions with lower-case names change the meaning of the entries: a part of the index is in another file, or
    // omitted.
    while !rest.is_empty() {
        let (name, size) = (rest.get(..4)?, u32_at(rest, 4)?);
        if name[0].is_ascii_lowercase() {
            return None;
        }
        rest = rest.get(8 + size as usize..)?;
    }
    Some(entries)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// Parses one entry; returns it with its length in the file.
fn entry(bytes: &[u8], version: u32, before: &[u8]) -> Option<(IndexEntry, usize)> {
    let word = |number: usize| u32_at(bytes, number * 4);
    let id = *bytes.get(40..)?.first_chunk::<20>()?;
    let flags = u16_at(bytes, 60)?;
    let (more, start) = if flags & EXTENDED == 0 { (0, 62) } else { (u16_at(bytes, 62)?, 64) };
    let (path, length) = if version == 4 {
        let (strip, used) = offset_number(bytes.get(start..)?)?;
        let shared = before.get(..before.len().checked_sub(strip)?)?;
        let tail = bytes.get(start + used..)?;
        let end = tail.iter().position(|byte| *byte == 0)?;
        ([shared, &tail[..end]].concat(), start + used + end + 1)
    } else {
        let tail = bytes.get(start..)?;
        let end = match flags & NAME_LENGTH {
            NAME_LENGTH => tail.iter().position(|byte| *byte == 0)?,
            length => usize::from(length),
        };
        // Between one and eight zero bytes pad the entry to a multiple of eight.
        (tail.get(..end)?.to_vec(), (start + end + 8) / 8 * 8)
    };
    let entry = IndexEntry {
        ctime: (word(0)?, word(1)?),
        mtime: (word(2)?, word(3)?),
        inode: word(5)?,
        mode: word(6)?,
        size: word(9)?,
        id,
        flags: (flags & STAGE) >> 12,
        is_plain: flags & ASSUME_VALID == 0 && more & (SKIP_WORKTREE | INTENT_TO_ADD) == 0,
        path,
    };
    Some((entry, length))
}

/// Parses a number in the offset encoding of version 4 and of packs: seven bits per byte, and each continuation adds
/// one.
pub(crate) fn offset_number(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut value = 0usize;
    for (at, byte) in bytes.iter().enumerate().take(9) {
        value = (value << 7) | usize::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Some((value, at + 1));
        }
        value += 1;
    }
    None
}
