//! Reads a segment. Its bytes are untrusted: every offset, count and gap is checked against its section.

use std::io;
use std::ops::RangeInclusive;

use super::{BLOCK, FORMAT, FileKind, FileRecord, HEAD, MAGIC, SCHEME, SECTIONS, SegmentFiles, SegmentId, form};
use crate::gram::Gram;
use crate::list::IdSet;
use crate::lookup::{self, Candidates, FileTable, PostingLists, Reach};
use crate::page::{PageReader, ReadAt, damaged};
use crate::plan::Plan;
use crate::rice;
use crate::varint::Bytes;

/// The maximum number of documents in one segment.
const DOCUMENTS: u32 = 1 << 18;
/// The maximum number of files in one segment; files that are not indexed have no documents.
const FILES: u32 = 1 << 24;
/// The maximum offset and length of a section.
const SECTION_END: u64 = 1 << 40;

/// An open segment: files and the first gram of each block are in memory, dictionary and lists are read on demand.
pub struct Segment<R> {
    number: u32,
    text: u64,
    pages: PageReader<R>,
    files: SegmentFiles,
    table: FileTable,
    blocks: Vec<(Gram, u32)>,
    dictionary: Section,
    lists: Section,
}

#[derive(Debug, Clone, Copy)]
struct Section {
    offset: u64,
    length: u64,
}

/// One gram of the dictionary.
struct Entry {
    gram: Gram,
    list: DocumentList,
}

enum DocumentList {
    All,
    /// One or two documents, stored in the dictionary; a single one is stored twice.
    Few([u32; 2]),
    Elsewhere {
        at: u64,
        length: usize,
        count: u32,
        width: Option<u8>,
    },
}

impl<R: ReadAt> Segment<R> {
    /// Opens a segment and reads its files.
    ///
    /// # Errors
    /// Returns `InvalidData` if a page is damaged or the segment has another index, format or number, and the errors of
    /// the source.
    pub fn open(from: R, id: SegmentId) -> io::Result<Segment<R>> {
        let pages = PageReader::new(from, id.number);
        let head = pages.read(0, HEAD)?;
        let mut head = Bytes::new(&head);
        if head.array()? != MAGIC
            || u32::from_le_bytes(head.array()?) != FORMAT
            || u32::from_le_bytes(head.array()?) != SCHEME
            || head.array()? != id.index
        {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "not a segment of this index and format"));
        }
        let files = u32::from_le_bytes(head.array()?);
        let documents = u32::from_le_bytes(head.array()?);
        if files > FILES || documents > DOCUMENTS {
            return Err(damaged("the number of files"));
        }
        let text = u64::from_le_bytes(head.array()?);
        let mut sections = [Section { offset: 0, length: 0 }; SECTIONS];
        for section in &mut sections {
            *section = Section { offset: u64::from_le_bytes(head.array()?), length: u64::from_le_bytes(head.array()?) };
            if section.offset > SECTION_END || section.length > SECTION_END {
                return Err(damaged("a section"));
            }
        }
        let [file_section, block_section, dictionary, lists] = sections;
        let (files, table) = read_files(&file_section.read(&pages)?, files, documents)?;
        let blocks = read_blocks(&block_section.read(&pages)?, dictionary)?;
        Ok(Segment { number: id.number, text, pages, files, table, blocks, dictionary, lists })
    }

    /// Returns the number of the segment in its index.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Returns the size of its indexed text in bytes.
    pub fn text_bytes(&self) -> u64 {
        self.text
    }

    /// Returns the files, ordered by number.
    pub fn files(&self) -> &SegmentFiles {
        &self.files
    }

    /// Returns the files that could contain a match, without those that are not text.
    ///
    /// # Errors
    /// Returns `InvalidData` if a page is damaged or inconsistent, and the errors of the source.
    pub fn candidates(&self, plan: &Plan, reach: Reach) -> io::Result<Candidates> {
        lookup::candidates(self, &self.table, plan, reach)
    }

    /// Returns the entries of these grams, reading the blocks that could contain them.
    fn entries(&self, grams: &RangeInclusive<Gram>) -> io::Result<Vec<Entry>> {
        let first = self.blocks.partition_point(|(gram, _)| gram <= grams.start()).saturating_sub(1);
        let end = self.blocks.partition_point(|(gram, _)| gram <= grams.end());
        let mut entries = Vec::new();
        for block in first..end {
            let (gram, at) = self.blocks[block];
            let until = self.blocks.get(block + 1).map_or(self.dictionary.length, |(_, next)| u64::from(*next));
            let bytes = self.dictionary.part(&self.pages, at.into(), (until - u64::from(at)) as usize)?;
            self.read_block(gram, &bytes, grams, &mut entries)?;
        }
        Ok(entries)
    }

    fn read_block(
        &self,
        first: Gram,
        block: &[u8],
        grams: &RangeInclusive<Gram>,
        entries: &mut Vec<Entry>,
    ) -> io::Result<()> {
        let documents = u64::from(self.table.documents());
        let document = |bytes: &mut Bytes<'_>| match bytes.at_most(documents)? {
            number if number < documents => Ok(number as u32),
            _ => Err(damaged("a document")),
        };
        let mut bytes = Bytes::new(block);
        let mut at = bytes.at_most(self.lists.length)?;
        let mut number = first.number();
        for _ in 0..BLOCK {
            if bytes.is_empty() {
                break;
            }
            number += bytes.at_most((Gram::COUNT as u32 - 1 - number).into())? as u32;
            let gram = Gram::from_number(number).ok_or_else(|| damaged("a gram"))?;
            let list = match bytes.byte()? {
                form::ALL => DocumentList::All,
                form::ONE => DocumentList::Few([document(&mut bytes)?; 2]),
                form::TWO => {
                    let pair = [document(&mut bytes)?, document(&mut bytes)?];
                    if pair[0] >= pair[1] {
                        return Err(damaged("a document"));
                    }
                    DocumentList::Few(pair)
                }
                form::GAPS => {
                    let width = bytes.byte()?;
                    let count = bytes.at_most(documents)? as u32;
                    let length = bytes.at_most(self.lists.length - at)? as usize;
                    DocumentList::Elsewhere { at, length, count, width: Some(width) }
                }
                form::BITS => {
                    let count = bytes.at_most(documents)? as u32;
                    let length = documents.div_ceil(64) as usize * 8;
                    DocumentList::Elsewhere { at, length, count, width: None }
                }
                _ => return Err(damaged("the form of a list")),
            };
            if let DocumentList::Elsewhere { length, .. } = list {
                at += length as u64;
                if at > self.lists.length {
                    return Err(damaged("a list"));
                }
            }
            if grams.contains(&gram) {
                entries.push(Entry { gram, list });
            }
        }
        Ok(())
    }
}

impl<R: ReadAt> PostingLists for Segment<R> {
    type Error = io::Error;

    fn at_most(&self, grams: RangeInclusive<Gram>) -> io::Result<usize> {
        Ok(self
            .entries(&grams)?
            .iter()
            .map(|entry| match &entry.list {
                DocumentList::All => self.table.documents() as usize,
                DocumentList::Few(pair) => 1 + usize::from(pair[0] < pair[1]),
                DocumentList::Elsewhere { count, .. } => *count as usize,
            })
            .sum())
    }

    fn unite_into(&self, grams: RangeInclusive<Gram>, documents: &mut IdSet) -> io::Result<()> {
        for entry in self.entries(&grams)? {
            match entry.list {
                DocumentList::All => *documents = IdSet::full(documents.limit()),
                DocumentList::Few(pair) => pair.into_iter().for_each(|document| documents.insert(document)),
                DocumentList::Elsewhere { at, length, count, width: Some(width) } => {
                    let code = self.lists.part(&self.pages, at, length)?;
                    let limit = documents.limit();
                    let mut found = 0;
                    for number in rice::decode(&code, width, count as usize).take_while(|number| *number < limit) {
                        documents.insert(number);
                        found += 1;
                    }
                    if found != count {
                        return Err(damaged(&format!("the list of {}", entry.gram)));
                    }
                }
                DocumentList::Elsewhere { at, length, width: None, .. } => {
                    let bits = self.lists.part(&self.pages, at, length)?;
                    documents.unite(&IdSet::from_bytes(&bits, documents.limit()));
                }
            }
        }
        Ok(())
    }
}

impl Section {
    fn read<R: ReadAt>(self, pages: &PageReader<R>) -> io::Result<Vec<u8>> {
        let length = usize::try_from(self.length)
            .ok()
            .filter(|length| *length <= 1 << 30)
            .ok_or_else(|| damaged("a section"))?;
        pages.read(self.offset, length)
    }

    fn part<R: ReadAt>(self, pages: &PageReader<R>, at: u64, length: usize) -> io::Result<Vec<u8>> {
        if at + length as u64 > self.length {
            return Err(damaged("an offset"));
        }
        pages.read(self.offset + at, length)
    }
}

fn read_files(section: &[u8], files: u32, documents: u32) -> io::Result<(SegmentFiles, FileTable)> {
    let mut bytes = Bytes::new(section);
    // A file needs at least a dozen bytes.
    let mut records = SegmentFiles::with_capacity(section.len().div_ceil(12).min(files as usize));
    let mut file_of = Vec::new();
    let mut path = Vec::new();
    let mut cut = IdSet::empty(files);
    for number in 0..files {
        let flags = bytes.byte()?;
        let kind = *FileKind::ALL.get(usize::from(flags & 0x7F)).ok_or_else(|| damaged("the kind of a file"))?;
        if flags & 0x80 != 0 {
            cut.insert(number);
        }
        let stamp = u64::from_le_bytes(bytes.array()?);
        let own = bytes.at_most(u64::from(documents) - file_of.len() as u64)? as usize;
        file_of.extend(std::iter::repeat_n(number, own));
        let shared = bytes.at_most(path.len() as u64)? as usize;
        let rest = bytes.varint()?;
        let rest = bytes.take(usize::try_from(rest).map_err(|_| damaged("a path"))?)?;
        path.truncate(shared);
        path.extend_from_slice(rest);
        let added = records.push(FileRecord { path: path.as_slice(), kind, stamp });
        added.ok_or_else(|| damaged("the length of the paths"))?;
    }
    if file_of.len() != documents as usize || !bytes.is_empty() {
        return Err(damaged("the number of documents"));
    }
    records.shrink();
    Ok((records, FileTable::new(&file_of, cut)))
}

fn read_blocks(section: &[u8], dictionary: Section) -> io::Result<Vec<(Gram, u32)>> {
    let mut bytes = Bytes::new(section);
    let mut blocks = Vec::with_capacity(section.len() / 8);
    while !bytes.is_empty() {
        let gram = Gram::from_number(u32::from_le_bytes(bytes.array()?)).ok_or_else(|| damaged("a gram"))?;
        let at = u32::from_le_bytes(bytes.array()?);
        let rising = blocks.last().is_none_or(|&(before, last)| before < gram && last < at);
        if !rising || u64::from(at) >= dictionary.length {
            return Err(damaged("a block"));
        }
        blocks.push((gram, at));
    }
    Ok(blocks)
}
