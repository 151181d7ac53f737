//! Writes a segment.

use std::io::{self, Write};

use super::{BLOCK, FORMAT, FileKind, HEAD, MAGIC, SCHEME, SECTIONS, SegmentId, form};
use crate::list::List;
use crate::page::PageWriter;
use crate::postings::Postings;
use crate::varint;

/// One file as a segment keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRecord {
    /// Path below the root, as bytes.
    pub path: Vec<u8>,
    /// Its kind, as the engine judges it.
    pub kind: FileKind,
    /// Number made of device, inode, size, times and mode when it was read; 0 where that proves nothing.
    pub stamp: u64,
}

impl Postings {
    /// Writes the index as a segment. `files` has one record for each file that was added, in that order. The writer gets whole
    /// pages; it should buffer them.
    ///
    /// # Errors
    /// `InvalidInput` where the number of records differs from that of the files, and whatever the writer answers.
    pub fn write_segment<W: Write>(&self, files: &[FileRecord], id: SegmentId, to: W) -> io::Result<W> {
        if files.len() != self.files() as usize {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("a segment of {} files cannot be written with {} records", self.files(), files.len()),
            ));
        }
        let (blocks, dictionary, lists) = self.dictionary();
        let sections = [self.file_section(files), blocks, dictionary, lists];
        let mut head = Vec::with_capacity(HEAD);
        head.extend(MAGIC);
        head.extend(FORMAT.to_le_bytes());
        head.extend(SCHEME.to_le_bytes());
        head.extend(id.index);
        head.extend(self.files().to_le_bytes());
        head.extend(self.documents().to_le_bytes());
        head.extend(self.text_bytes().to_le_bytes());
        let mut pages = PageWriter::new(to, id.number);
        let mut offset = pages.after_page();
        for section in &sections {
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

    fn file_section(&self, files: &[FileRecord]) -> Vec<u8> {
        let mut section = Vec::new();
        let mut documents = self.table.file_of.chunk_by(|left, right| left == right).peekable();
        let mut before: &[u8] = b"";
        for (number, file) in (0..).zip(files) {
            let own = documents.next_if(|same| same[0] == number).map_or(0, <[u32]>::len);
            let shared = before.iter().zip(&file.path).take_while(|(left, right)| left == right).count();
            section.push(file.kind as u8 | u8::from(self.table.cut.contains(number)) << 7);
            section.extend(file.stamp.to_le_bytes());
            varint::push(&mut section, own as u64);
            varint::push(&mut section, shared as u64);
            varint::push(&mut section, (file.path.len() - shared) as u64);
            section.extend(&file.path[shared..]);
            before = &file.path;
        }
        section
    }

    /// Returns the sections of blocks, dictionary and lists.
    fn dictionary(&self) -> (Vec<u8>, Vec<u8>, Vec<u8>) {
        let (mut blocks, mut dictionary, mut lists) = (Vec::new(), Vec::new(), Vec::new());
        let mut last = 0;
        for (at, (gram, list)) in self.lists.iter().enumerate() {
            if at % BLOCK == 0 {
                blocks.extend(gram.number().to_le_bytes());
                blocks.extend((dictionary.len() as u32).to_le_bytes());
                varint::push(&mut dictionary, lists.len() as u64);
                last = gram.number();
            }
            varint::push(&mut dictionary, (gram.number() - last).into());
            last = gram.number();
            write_list(list, &mut dictionary, &mut lists);
        }
        (blocks, dictionary, lists)
    }
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
