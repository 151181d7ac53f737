//! An index in memory: for each gram the documents that hold it, and for each document its file.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::ops::RangeInclusive;

use crate::documents::documents;
use crate::gram::{Gram, GramSet, Grams};
use crate::list::{IdSet, List};
use crate::lookup::{self, Candidates, FileTable, Lists, Reach};
use crate::plan::Plan;

/// An immutable index of files, numbered from 0 in the order in which they were added.
#[derive(Debug)]
pub struct Postings {
    pub(crate) table: FileTable,
    pub(crate) lists: BTreeMap<Gram, List>,
    pub(crate) text: u64,
}

/// Collects the files of [`Postings`].
pub struct PostingsBuilder {
    grams: Grams,
    file_of: Vec<u32>,
    files: u32,
    cut: Vec<u32>,
    pairs: Vec<u64>,
    text: u64,
}

impl Default for PostingsBuilder {
    fn default() -> PostingsBuilder {
        PostingsBuilder::new()
    }
}

impl PostingsBuilder {
    /// Allocates the table of 2 MiB in which grams are collected.
    pub fn new() -> PostingsBuilder {
        PostingsBuilder {
            grams: Grams::new(),
            file_of: Vec::new(),
            files: 0,
            cut: Vec::new(),
            pairs: Vec::new(),
            text: 0,
        }
    }

    /// Adds a file whole and returns its number. Needs 8 bytes for each gram of each document until [`PostingsBuilder::build`].
    pub fn add(&mut self, text: &[u8]) -> u32 {
        let file = self.files;
        self.files += 1;
        self.text += text.len() as u64;
        if text.is_empty() {
            // A document without grams: a pattern that matches nothing at all is found in it.
            self.file_of.push(file);
        }
        for document in documents(text) {
            let number = self.file_of.len() as u64;
            let grams: GramSet<'_> = self.grams.with_next(document.text, document.next);
            self.pairs.extend(grams.sorted().iter().map(|gram| u64::from(gram.number()) << 32 | number));
            self.file_of.push(file);
            if document.cuts_line && self.cut.last() != Some(&file) {
                self.cut.push(file);
            }
        }
        file
    }

    /// Returns how many bytes are held until [`PostingsBuilder::build`].
    pub fn pending_bytes(&self) -> usize {
        self.pairs.len() * size_of::<u64>()
    }

    /// Returns how many documents were added.
    pub fn documents(&self) -> u32 {
        self.file_of.len() as u32
    }

    /// Adds a file that is not indexed, so that it has a number, and returns that.
    pub fn add_without_grams(&mut self) -> u32 {
        self.files += 1;
        self.files - 1
    }

    /// Sorts what was collected into lists.
    pub fn build(mut self) -> Postings {
        self.pairs.sort_unstable();
        let documents = self.file_of.len() as u32;
        let mut lists = BTreeMap::new();
        let mut numbers: Vec<u32> = Vec::new();
        for same in self.pairs.chunk_by(|left, right| left >> 32 == right >> 32) {
            numbers.clear();
            numbers.extend(same.iter().map(|&pair| pair as u32));
            if let Some(gram) = Gram::from_number((same[0] >> 32) as u32) {
                lists.insert(gram, List::of(&numbers, documents));
            }
        }
        let mut cut = IdSet::empty(self.files);
        self.cut.iter().for_each(|&file| cut.insert(file));
        let table = FileTable { file_of: self.file_of.into_boxed_slice(), files: self.files, cut };
        Postings { table, lists, text: self.text }
    }
}

impl Postings {
    /// Returns how many files were added.
    pub fn files(&self) -> u32 {
        self.table.files
    }

    /// Returns how many documents they were cut into.
    pub fn documents(&self) -> u32 {
        self.table.documents()
    }

    /// Returns how many bytes of text were added.
    pub fn text_bytes(&self) -> u64 {
        self.text
    }

    /// Returns how many bytes the lists take, in Rice code or one bit a document.
    pub fn list_bytes(&self) -> usize {
        self.lists.values().map(List::bytes).sum()
    }

    /// Returns the files that could hold a match. A file that is not among them holds none: its grams cannot satisfy the plan.
    pub fn candidates(&self, plan: &Plan, reach: Reach) -> Candidates {
        let Ok(candidates) = lookup::candidates(self, &self.table, plan, reach);
        candidates
    }
}

impl Lists for Postings {
    type Error = Infallible;

    fn at_most(&self, grams: RangeInclusive<Gram>) -> Result<usize, Infallible> {
        Ok(self.lists.range(grams).map(|(_, list)| list.len(self.documents())).sum())
    }

    fn unite_into(&self, grams: RangeInclusive<Gram>, documents: &mut IdSet) -> Result<(), Infallible> {
        self.lists.range(grams).for_each(|(_, list)| list.unite_into(documents));
        Ok(())
    }
}
