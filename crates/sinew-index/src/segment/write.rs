//! Writes a segment.

use std::io;

use super::{BLOCK, FORMAT, HEAD, MAGIC, SCHEME, SECTIONS, SegmentFiles, SegmentId, form};
use crate::gram::Gram;
use crate::list::List;
use crate::lookup::FileTable;
use crate::page::PageWriter;
use crate::postings::{Postings, PostingsBuilder};
use crate::storage::roomy;
use crate::varint;

/// The sections with grams, which are all append-only.
struct Dictionary {
    blocks: Vec<u8>,
    dictionary: Vec<u8>,
    lists: Vec<u8>,
    count: usize,
    last: u32,
}

impl Postings {
    /// Writes the index as a segment. `files` has one record for each file that was added, in the same order.
    ///
    /// # Errors
    /// Returns `InvalidInput` if the number of records differs from the number of files.
    pub fn write_segment(&self, files: &SegmentFiles, id: SegmentId) -> io::Result<Vec<u8>> {
        let mut dictionary = Dictionary::new();
        self.lists.iter().for_each(|(gram, list)| dictionary.add(*gram, list));
        write(&self.table, self.text, files, &dictionary, id)
    }
}

impl PostingsBuilder {
    /// Writes the collected data as a segment, like [`PostingsBuilder::build`] and [`Postings::write_segment`] but with
    /// less memory.
    ///
    /// # Errors
    /// Returns the errors of [`Postings::write_segment`].
    ///
    /// # Panics
    /// Panics if [`PostingsBuilder::build`] does.
    pub fn write_segment(self, files: &SegmentFiles, id: SegmentId) -> io::Result<Vec<u8>> {
        let documents = self.documents();
        let mut dictionary = Dictionary::new();
        let (table, text) = self.sort(|gram, numbers| dictionary.add(gram, &List::of(numbers, documents)));
        write(&table, text, files, &dictionary, id)
    }
}

impl Dictionary {
    fn new() -> Dictionary {
        Dictionary { blocks: Vec::new(), dictionary: roomy(), lists: roomy(), count: 0, last: 0 }
    }

    fn add(&mut self, gram: Gram, list: &List) {
        if self.count.is_multiple_of(BLOCK) {
            self.blocks.extend(gram.number().to_le_bytes());
            self.blocks.extend((self.dictionary.len() as u32).to_le_bytes());
            varint::push(&mut self.dictionary, self.lists.len() as u64);
            self.last = gram.number();
        }
        self.count += 1;
        varint::push(&mut self.dictionary, (gram.number() - self.last).into());
        self.last = gram.number();
        write_list(list, &mut self.dictionary, &mut self.lists);
    }
}

fn write(
    table: &FileTable,
    text: u64,
    files: &SegmentFiles,
    Dictionary { blocks, dictionary, lists, .. }: &Dictionary,
    id: SegmentId,
) -> io::Result<Vec<u8>> {
    if files.len() != table.files() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("a segment of {} files cannot be written with {} records", table.files(), files.len()),
        ));
    }
    let file_section = file_section(table, files);
    let sections = [&file_section, blocks, dictionary, lists];
    let mut head = Vec::with_capacity(HEAD);
    head.extend(MAGIC);
    head.extend(FORMAT.to_le_bytes());
    head.extend(SCHEME.to_le_bytes());
    head.extend(id.index);
    head.extend(table.files().to_le_bytes());
    head.extend(table.documents().to_le_bytes());
    head.extend(text.to_le_bytes());
    let mut pages = PageWriter::new(roomy(), id.number);
    let mut offset = pages.after_page();
    for section in sections {
        head.extend(offset.to_le_bytes());
        head.extend((section.len() as u64).to_le_bytes());
        offset += section.len() as u64;
    }
    debug_assert_eq!((head.len(), sections.len()), (HEAD, SECTIONS));
    pages.write(&head)?;
    pages.end_page()?;
    sections.iter().try_for_each(|section| pages.write(section))?;
    pages.finish()
}

fn file_section(table: &FileTable, files: &SegmentFiles) -> Vec<u8> {
    let mut section = Vec::new();
    let mut before = Vec::new();
    for ((number, file), own) in (0..).zip(files.iter()).zip(table.document_counts()) {
        let path = file.path.to_vec();
        let shared = before.iter().zip(&path).take_while(|(left, right)| left == right).count();
        section.push(file.kind as u8 | u8::from(table.cut.contains(number)) << 7);
        section.extend(file.stamp.to_le_bytes());
        varint::push(&mut section, own.into());
        varint::push(&mut section, shared as u64);
        varint::push(&mut section, (path.len() - shared) as u64);
        section.extend(&path[shared..]);
        before = path;
    }
    section
}

fn write_list(list: &List, dictionary: &mut Vec<u8>, lists: &mut Vec<u8>) {
    match list {
        List::All => dictionary.push(form::ALL),
        List::Gaps { count: count @ (1 | 2), .. } => {
            dictionary.push(if *count == 1 { form::ONE } else { form::TWO });
            list.numbers().for_each(|number| varint::push(dictionary, number.into()));
        }
        List::Gaps { count, width, code } => {
            dictionary.extend([form::GAPS, *width]);
            varint::push(dictionary, (*count).into());
            varint::push(dictionary, code.len() as u64);
            lists.extend(code);
        }
        List::Bits(bits) => {
            dictionary.push(form::BITS);
            varint::push(dictionary, bits.len() as u64);
            lists.extend(bits.words().iter().flat_map(|word| word.to_le_bytes()));
        }
    }
}
