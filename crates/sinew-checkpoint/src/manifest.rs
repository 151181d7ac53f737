//! The file of one checkpoint: its origin and time, and the changes since the previous checkpoint.

use sinew_base::Result;

use crate::codec::{Reader, Writer, damaged};
use crate::options::CheckpointKind;
use crate::row::{Content, Gap, Kind, Row};
use crate::state::Delta;

/// The first bytes of a manifest; the last byte is the version of the format.
const MAGIC: &[u8; 8] = b"sinewck\x01";

/// The metadata of a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Head {
    /// The name of the file in the store. Names sort by age.
    pub(crate) id: String,
    /// When it was created, in milliseconds since the epoch.
    pub(crate) time: u64,
    pub(crate) kind: CheckpointKind,
    pub(crate) label: Option<String>,
    pub(crate) session: Option<String>,
    /// The checkpoint that the delta is relative to; `None` if the manifest lists every entry.
    pub(crate) base: Option<String>,
    /// The redo checkpoint of the same restore, for [`CheckpointKind::Restored`].
    pub(crate) redo: Option<String>,
}

fn optional(writer: &mut Writer, text: Option<&String>) {
    writer.number(u64::from(text.is_some()));
    if let Some(text) = text {
        writer.block(text.as_bytes());
    }
}

fn read_text(reader: &mut Reader<'_>) -> Result<String> {
    String::from_utf8(reader.block()?.to_vec()).map_err(|_| damaged())
}

fn read_optional(reader: &mut Reader<'_>) -> Result<Option<String>> {
    Ok(if reader.number()? == 1 { Some(read_text(reader)?) } else { None })
}

/// Encodes a manifest.
pub(crate) fn encode(head: &Head, delta: &Delta) -> Vec<u8> {
    let mut writer = Writer::default();
    writer.array(MAGIC);
    writer.block(head.id.as_bytes());
    writer.number(head.time);
    writer.number(CheckpointKind::ALL.iter().position(|kind| *kind == head.kind).unwrap_or(0) as u64);
    for text in [&head.label, &head.session, &head.base, &head.redo] {
        optional(&mut writer, text.as_ref());
    }
    // A list of paths, which readers skip.
    writer.number(0);
    writer.number(delta.len() as u64);
    // Adjacent paths share a prefix.
    let mut before: &[u8] = b"";
    for (path, row) in delta {
        let shared = path.iter().zip(before).take_while(|(one, two)| one == two).count();
        writer.number(shared as u64);
        writer.block(&path[shared..]);
        match row {
            None => writer.number(0),
            Some(row) => write_row(&mut writer, row),
        }
        before = path;
    }
    writer.sealed()
}

/// Decodes the head of a manifest; the checksum covers the whole file.
///
/// # Errors
/// Returns `InvalidData` if the file is damaged or of another version.
pub(crate) fn decode_head(bytes: &[u8]) -> Result<Head> {
    read_head(&mut Reader::sealed(bytes)?)
}

/// Decodes a manifest.
///
/// # Errors
/// Returns `InvalidData` if the file is damaged or of another version.
pub(crate) fn decode(bytes: &[u8]) -> Result<(Head, Delta)> {
    let mut reader = Reader::sealed(bytes)?;
    let head = read_head(&mut reader)?;
    let count = reader.number()?;
    let mut delta = Delta::new();
    let mut path: Vec<u8> = Vec::new();
    for _ in 0..count {
        let shared = usize::try_from(reader.number()?).map_err(|_| damaged())?;
        if shared > path.len() {
            return Err(damaged());
        }
        path.truncate(shared);
        path.extend_from_slice(reader.block()?);
        let row = read_row(&mut reader, &path)?;
        delta.push((path.clone().into(), row));
    }
    if reader.is_empty() { Ok((head, delta)) } else { Err(damaged()) }
}

fn read_head(reader: &mut Reader<'_>) -> Result<Head> {
    if &reader.array::<8>()? != MAGIC {
        return Err(damaged());
    }
    let id = read_text(reader)?;
    let time = reader.number()?;
    let kind = usize::try_from(reader.number()?).ok().and_then(|at| CheckpointKind::ALL.get(at).copied());
    let mut head = Head { id, time, kind: kind.ok_or_else(damaged)?, ..Head::default() };
    for text in [&mut head.label, &mut head.session, &mut head.base, &mut head.redo] {
        *text = read_optional(reader)?;
    }
    for _ in 0..reader.number()? {
        reader.block()?;
    }
    Ok(head)
}

const KINDS: [Kind; 5] = [Kind::File, Kind::Directory, Kind::Link, Kind::Special, Kind::Repository];
const GAPS: [Gap; 4] = [Gap::TooLarge, Gap::OverBudget, Gap::Unreadable, Gap::StoreFailed];

fn write_row(writer: &mut Writer, row: &Row) {
    let kind = KINDS.iter().position(|kind| *kind == row.kind).unwrap_or(0) as u64;
    writer.number(1 + kind * 2 + u64::from(row.racy));
    for number in [u64::from(row.mode), row.size, row.allocated, row.device, row.inode, u64::from(row.links)] {
        writer.number(number);
    }
    writer.signed(row.mtime);
    // For most files, both times are equal.
    writer.signed(row.ctime.wrapping_sub(row.mtime));
    writer.number(row.owner.0.into());
    writer.number(row.owner.1.into());
    match &row.content {
        Content::Nothing => writer.number(0),
        Content::Stored(hash, id) => {
            writer.number(1);
            writer.array(hash);
            writer.array(id);
        }
        Content::Git(id) => {
            writer.number(2);
            writer.array(id);
        }
        Content::Target(bytes) => {
            writer.number(3);
            writer.block(bytes);
        }
        Content::Position(bytes) => {
            writer.number(4);
            writer.block(bytes);
        }
        Content::Missing(gap) => writer.number(5 + GAPS.iter().position(|known| known == gap).unwrap_or(0) as u64),
        // A state with unread contents is never written; if it were, they would be unknown.
        Content::Pending => writer.number(5 + 2),
    }
    match row.attributes {
        None => writer.number(0),
        Some(hash) => {
            writer.number(1);
            writer.array(&hash);
        }
    }
}

fn read_row(reader: &mut Reader<'_>, path: &[u8]) -> Result<Option<Row>> {
    let Some(first) = reader.number()?.checked_sub(1) else { return Ok(None) };
    let kind = usize::try_from(first / 2).ok().and_then(|at| KINDS.get(at).copied()).ok_or_else(damaged)?;
    let (mode, size, allocated) = (reader.small()?, reader.number()?, reader.number()?);
    let (device, inode, links) = (reader.number()?, reader.number()?, reader.small()?);
    let mtime = reader.signed()?;
    let ctime = mtime.wrapping_add(reader.signed()?);
    let owner = (reader.small()?, reader.small()?);
    let content = match reader.number()? {
        0 => Content::Nothing,
        1 => Content::Stored(reader.array()?, reader.array()?),
        2 => Content::Git(reader.array()?),
        3 => Content::Target(reader.block()?.into()),
        4 => Content::Position(reader.block()?.into()),
        other => {
            let gap = usize::try_from(other - 5).ok().and_then(|at| GAPS.get(at).copied());
            Content::Missing(gap.ok_or_else(damaged)?)
        }
    };
    let attributes = if reader.number()? == 1 { Some(reader.array()?) } else { None };
    let path = path.into();
    let racy = first % 2 == 1;
    Ok(Some(Row {
        path,
        kind,
        mode,
        size,
        allocated,
        mtime,
        ctime,
        device,
        inode,
        links,
        owner,
        content,
        attributes,
        racy,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_round_trips() {
        let row = |path: &[u8], kind, content| Row {
            path: path.into(),
            kind,
            mode: 0o4755,
            size: 1 << 40,
            allocated: 512,
            mtime: -5,
            ctime: 1_700_000_000_000_000_001,
            device: 7,
            inode: u64::MAX,
            links: 3,
            owner: (0, 65_534),
            content,
            attributes: Some([9; 32]),
            racy: path.len().is_multiple_of(2),
        };
        let mut delta: Delta = vec![
            (b"a"[..].into(), None),
            (b"a/b\xff"[..].into(), Some(row(b"a/b\xff", Kind::File, Content::Stored([1; 32], [2; 20])))),
            (b"a/c"[..].into(), Some(row(b"a/c", Kind::File, Content::Git([3; 20])))),
            (b"d"[..].into(), Some(row(b"d", Kind::Directory, Content::Nothing))),
            (b"l"[..].into(), Some(row(b"l", Kind::Link, Content::Target(b"to"[..].into())))),
            (b"r"[..].into(), Some(row(b"r", Kind::Repository, Content::Position(b"at"[..].into())))),
        ];
        let gaps = GAPS.iter().map(|gap| Some(row(b"x", Kind::File, Content::Missing(*gap))));
        delta.extend(gaps.map(|row| (b"x"[..].into(), row)));
        let head = Head {
            id: "0000000001-ab".into(),
            time: 12,
            kind: CheckpointKind::Restored,
            label: Some("é".into()),
            base: Some("0000000000-cd".into()),
            ..Head::default()
        };
        let bytes = encode(&head, &delta);
        assert_eq!(decode(&bytes), Ok((head.clone(), delta)));
        assert_eq!(decode_head(&bytes), Ok(head));
        assert!(decode(&bytes[..bytes.len() - 1]).is_err());
    }
}
