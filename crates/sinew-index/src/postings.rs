//! An index in memory: for each gram the documents that contain it, and for each document its file.

use std::convert::Infallible;
use std::ops::RangeInclusive;

use crate::documents::documents;
use crate::gram::{Gram, Grams};
use crate::list::{IdSet, List};
use crate::lookup::{self, Candidates, FileTable, PostingLists, Reach};
use crate::plan::Plan;
use crate::storage::roomy;

/// An immutable index of files, numbered from 0 in the order in which they were added.
#[derive(Debug)]
pub struct Postings {
    pub(crate) table: FileTable,
    /// Ordered by gram.
    pub(crate) lists: Vec<(Gram, List)>,
    pub(crate) text: u64,
}

/// The maximum number of documents of one index: as many as fit next to the lower half of a gram in 32 bits.
const DOCUMENTS: u32 = 1 << (32 - HALF);
/// The number of bits of half a gram.
const HALF: u32 = 12;
/// The number of values of half a gram.
const HALVES: usize = 1 << HALF;

/// Collects the files of [`Postings`].
pub struct PostingsBuilder {
    seen: Grams,
    file_of: Vec<u32>,
    files: u32,
    cut: Vec<u32>,
    /// The grams of all documents, concatenated.
    grams: Vec<Gram>,
    /// The end of each document in `grams`.
    ends: Vec<usize>,
    text: u64,
}

impl Default for PostingsBuilder {
    fn default() -> PostingsBuilder {
        PostingsBuilder::new()
    }
}

impl PostingsBuilder {
    /// Creates a builder with the table of 2 MiB that collects grams.
    pub fn new() -> PostingsBuilder {
        PostingsBuilder {
            seen: Grams::new(),
            file_of: Vec::new(),
            files: 0,
            cut: Vec::new(),
            grams: roomy(),
            ends: Vec::new(),
            text: 0,
        }
    }

    /// Adds a whole file and returns its number. Needs 8 bytes for each gram of each document until the end of
    /// [`PostingsBuilder::build`].
    pub fn add(&mut self, text: &[u8]) -> u32 {
        let file = self.files;
        self.files += 1;
        self.text += text.len() as u64;
        if text.is_empty() {
            // A document without grams, so that a pattern that matches the empty text finds it.
            self.file_of.push(file);
            self.ends.push(self.grams.len());
        }
        for document in documents(text) {
            self.grams.extend_from_slice(self.seen.with_next(document.text, document.next).grams());
            self.file_of.push(file);
            self.ends.push(self.grams.len());
            if document.cuts_line && self.cut.last() != Some(&file) {
                self.cut.push(file);
            }
        }
        file
    }

    /// Returns the number of bytes in use until [`PostingsBuilder::build`].
    pub fn pending_bytes(&self) -> usize {
        self.grams.len() * size_of::<u64>()
    }

    /// Returns the number of added documents.
    pub fn documents(&self) -> u32 {
        self.file_of.len() as u32
    }

    /// Returns the number of added bytes of text.
    pub fn text_bytes(&self) -> u64 {
        self.text
    }

    /// Adds a file without indexing it, and returns its number.
    pub fn add_without_grams(&mut self) -> u32 {
        self.files += 1;
        self.files - 1
    }

    /// Builds the index.
    ///
    /// # Panics
    /// Panics if the builder has more than 2^20 documents.
    pub fn build(self) -> Postings {
        let mut lists = Vec::new();
        let documents = self.documents();
        let (table, text) = self.sort(|gram, numbers| lists.push((gram, List::of(numbers, documents))));
        Postings { table, lists, text }
    }

    /// Sorts the collected data by the upper half of the grams and then by the lower half, and passes each gram with
    /// its documents to `add`. Returns the files, and the number of bytes of their text.
    ///
    /// # Panics
    /// Panics if the builder has more than 2^20 documents.
    pub(crate) fn sort(self, mut add: impl FnMut(Gram, &[u32])) -> (FileTable, u64) {
        let documents = self.documents();
        assert!(documents <= DOCUMENTS, "{documents} documents in one index");
        let PostingsBuilder { file_of, files, cut: cut_files, grams, ends, text, .. } = self;
        let (sorted, starts) = by_upper_half(&grams, &ends);
        drop(grams);
        let (mut counts, mut numbers) = (vec![0; HALVES], Vec::new());
        for (upper, range) in starts.windows(2).enumerate().filter(|(_, range)| range[0] < range[1]) {
            let same = &sorted[range[0]..range[1]];
            counts.fill(0);
            same.iter().for_each(|pair| counts[(pair >> (32 - HALF)) as usize] += 1);
            // Each position moves from the end of its list to the start.
            let mut places = ends_of(&counts);
            numbers.resize(same.len(), 0);
            for &pair in same.iter().rev() {
                let place = &mut places[(pair >> (32 - HALF)) as usize];
                *place -= 1;
                numbers[*place] = pair & (DOCUMENTS - 1);
            }
            for lower in (0..HALVES).filter(|lower| counts[*lower] > 0) {
                if let Some(gram) = Gram::from_number((upper << HALF | lower) as u32) {
                    add(gram, &numbers[places[lower]..places[lower] + counts[lower]]);
                }
            }
        }
        let mut cut = IdSet::empty(files);
        cut_files.iter().for_each(|&file| cut.insert(file));
        (FileTable::new(&file_of, cut), text)
    }
}

/// Returns the lower half of each gram combined with its document, sorted by the upper half and then by document, and
/// the start of each upper half.
fn by_upper_half(grams: &[Gram], ends: &[usize]) -> (Vec<u32>, Vec<usize>) {
    let upper = |gram: &Gram| (gram.number() >> HALF) as usize;
    let mut counts = vec![0; HALVES];
    grams.iter().for_each(|gram| counts[upper(gram)] += 1);
    let mut places = ends_of(&counts);
    let mut sorted = roomy();
    sorted.resize(grams.len(), 0);
    let mut end = grams.len();
    for (document, start) in (0..ends.len()).rev().map(|at| (at as u32, at.checked_sub(1).map_or(0, |at| ends[at]))) {
        for gram in &grams[start..end] {
            let place = &mut places[upper(gram)];
            *place -= 1;
            sorted[*place] = gram.number() << (32 - HALF) | document;
        }
        end = start;
    }
    places.push(grams.len());
    (sorted, places)
}

/// Returns the running sums of the counts.
fn ends_of(counts: &[usize]) -> Vec<usize> {
    let sums = counts.iter().scan(0, |sum, count| {
        *sum += count;
        Some(*sum)
    });
    sums.collect()
}

impl Postings {
    /// Returns the number of added files.
    pub fn files(&self) -> u32 {
        self.table.files()
    }

    /// Returns the number of documents of the files.
    pub fn documents(&self) -> u32 {
        self.table.documents()
    }

    /// Returns the number of added bytes of text.
    pub fn text_bytes(&self) -> u64 {
        self.text
    }

    /// Returns the size of the lists in bytes, in Rice code or one bit per document.
    pub fn list_bytes(&self) -> usize {
        self.lists.iter().map(|(_, list)| list.bytes()).sum()
    }

    /// Returns the files that could contain a match. Other files contain none, because their grams do not satisfy the
    /// plan.
    pub fn candidates(&self, plan: &Plan, reach: Reach) -> Candidates {
        let Ok(candidates) = lookup::candidates(self, &self.table, plan, reach);
        candidates
    }
}

impl Postings {
    fn lists_of(&self, grams: &RangeInclusive<Gram>) -> &[(Gram, List)] {
        let first = self.lists.partition_point(|(gram, _)| gram < grams.start());
        let end = self.lists.partition_point(|(gram, _)| gram <= grams.end());
        &self.lists[first..end.max(first)]
    }
}

impl PostingLists for Postings {
    type Error = Infallible;

    fn at_most(&self, grams: RangeInclusive<Gram>) -> Result<usize, Infallible> {
        Ok(self.lists_of(&grams).iter().map(|(_, list)| list.len(self.documents())).sum())
    }

    fn unite_into(&self, grams: RangeInclusive<Gram>, documents: &mut IdSet) -> Result<(), Infallible> {
        self.lists_of(&grams).iter().for_each(|(_, list)| list.unite_into(documents));
        Ok(())
    }
}
