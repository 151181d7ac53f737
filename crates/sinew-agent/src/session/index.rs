//! Which entries a file has and where they stand. Reads the file once, in one pass, and keeps a few words of
//! each line.

use std::fs::File;
use std::io::{BufRead, BufReader};

use super::entry::{Head, Header, Kind};
use super::tree::{Place, Tree};
use crate::clock;

/// What one pass over a file found.
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
    /// Where the last whole line ends; what stands behind it was torn by a crash.
    pub(super) whole: u64,
    /// The file's size.
    pub(super) size: u64,
}

/// Reads `file` from where it stands, which is its start. A last line without line feed counts when it is whole JSON.
pub(super) fn read(file: &File) -> std::io::Result<Index> {
    let mut index = Index::default();
    let mut reader = BufReader::with_capacity(256 * 1024, file);
    let mut line = Vec::new();
    let mut first = true;
    loop {
        line.clear();
        let length = reader.read_until(b'\n', &mut line)?;
        if length == 0 {
            index.circles = index.tree.settle();
            return Ok(index);
        }
        let offset = index.size;
        index.size += length as u64;
        let ended = line.last() == Some(&b'\n');
        let text = line.trim_ascii();
        if ended {
            index.whole = index.size;
        }
        if text.is_empty() {
            continue;
        }
        if std::mem::take(&mut first)
            && let Ok(header) = serde_json::from_slice::<Header>(text)
            && header.kind == "session"
        {
            index.header = Some(header);
            index.whole = index.size;
            continue;
        }
        let start = offset + (text.as_ptr() as u64 - line.as_ptr() as u64);
        match serde_json::from_slice::<Head<'_>>(text) {
            Ok(head) => {
                index.whole = index.size;
                let time = head.timestamp.as_deref().and_then(clock::from_iso).unwrap_or_default();
                let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
                let place = Place::Disk { offset: start, length };
                let added = index.tree.push(&head.id, head.parent_id.as_deref(), time, Kind::of(&head.kind), place);
                index.bad += usize::from(!added);
            }
            Err(_) if ended && is_object(text) => index.without_id += 1,
            Err(_) if ended => index.bad += 1,
            // The torn line: cut off at the next append.
            Err(_) => {}
        }
    }
}

fn is_object(text: &[u8]) -> bool {
    serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(text).is_ok()
}
