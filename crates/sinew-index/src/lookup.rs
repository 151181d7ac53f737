//! Evaluates a plan over lists in memory or on disk, and returns the files that could contain a match.

use std::ops::RangeInclusive;

use crate::gram::Gram;
use crate::list::{Cursor, IdSet};
use crate::plan::Plan;

/// The cost of reading a list, relative to decoding one of its numbers.
const LIST: u64 = 2_000;
/// The cost of opening and searching a file for a document, in the same unit.
const FILE: u64 = 4_000;

/// The extent of one match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// One line, so one document must satisfy the plan.
    Line,
    /// Several lines: each gram may be in any document of the file.
    File,
}

/// The files that could contain a match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidates {
    /// The numbers of the files.
    pub files: IdSet,
    /// The number of documents that satisfy the plan; 0 if whole files were compared.
    pub documents: usize,
}

/// The files of an index and their documents, both numbered from 0 in the same order. Needs two bits per entry instead
/// of a file number per document.
#[derive(Debug)]
pub(crate) struct FileTable {
    /// The first document of each file that has any.
    firsts: IdSet,
    /// Files that have a document.
    texts: IdSet,
    /// Files in which a document ends inside a line.
    pub(crate) cut: IdSet,
}

impl FileTable {
    /// Creates the table from the file of each document, in ascending order, and the files in which a document ends
    /// inside a line.
    pub(crate) fn new(file_of: &[u32], cut: IdSet) -> FileTable {
        let (mut firsts, mut texts) = (IdSet::empty(file_of.len() as u32), IdSet::empty(cut.limit()));
        for (document, file) in (0..).zip(file_of) {
            if !texts.contains(*file) {
                texts.insert(*file);
                firsts.insert(document);
            }
        }
        FileTable { firsts, texts, cut }
    }

    pub(crate) fn files(&self) -> u32 {
        self.texts.limit()
    }

    pub(crate) fn documents(&self) -> u32 {
        self.firsts.limit()
    }

    /// Returns the number of documents of each file.
    pub(crate) fn document_counts(&self) -> impl Iterator<Item = u32> + '_ {
        let (mut start, mut ends) = (0, self.firsts.iter().skip(1));
        (0..self.files()).map(move |file| {
            let before = start;
            if self.texts.contains(file) {
                start = ends.next().unwrap_or(self.documents());
            }
            start - before
        })
    }

    fn files_of(&self, documents: &IdSet) -> IdSet {
        let mut files = IdSet::empty(self.files());
        let (mut firsts, mut texts) = (Cursor::new(&self.firsts), Cursor::new(&self.texts));
        let found = documents.iter().filter_map(|document| texts.pass(firsts.pass_to(document)));
        found.for_each(|file| files.insert(file));
        files
    }
}

/// Lists of documents by gram.
pub(crate) trait PostingLists {
    /// The error of reading a list.
    type Error;

    /// Returns an upper limit of the number of documents in the lists of these grams.
    fn at_most(&self, grams: RangeInclusive<Gram>) -> Result<usize, Self::Error>;

    /// Adds the documents of these grams to a set.
    fn unite_into(&self, grams: RangeInclusive<Gram>, documents: &mut IdSet) -> Result<(), Self::Error>;
}

/// Returns the files whose grams satisfy the plan.
pub(crate) fn candidates<L: PostingLists>(
    lists: &L,
    table: &FileTable,
    plan: &Plan,
    reach: Reach,
) -> Result<Candidates, L::Error> {
    if reach == Reach::File {
        return Ok(Candidates { files: files_satisfying(lists, table, plan)?, documents: 0 });
    }
    let documents = documents_satisfying(lists, table, plan)?;
    let mut files = table.files_of(&documents);
    if !table.cut.is_empty() {
        let mut across = files_satisfying(lists, table, plan)?;
        across.intersect(&table.cut);
        files.unite(&across);
    }
    Ok(Candidates { files, documents: documents.len() })
}

fn documents_satisfying<L: PostingLists>(lists: &L, table: &FileTable, plan: &Plan) -> Result<IdSet, L::Error> {
    let whole = table.documents();
    match plan {
        Plan::All => Ok(IdSet::full(whole)),
        Plan::Nothing => Ok(IdSet::empty(whole)),
        Plan::Gram(_) | Plan::Pair(_) => documents_with(lists, table, plan),
        Plan::And(parts) => {
            let counts = parts.iter().map(|part| at_most(lists, table, part)).collect::<Result<Vec<_>, _>>()?;
            let mut order: Vec<usize> = (0..parts.len()).collect();
            order.sort_by_key(|&at| counts[at]);
            let mut left = IdSet::full(whole);
            for at in order {
                // A list is read if it saves more than it costs, assuming that its documents are independent of the
                // others.
                let spared = left.len() as u64 * (u64::from(whole) - counts[at].min(whole as usize) as u64);
                if spared * FILE < (LIST + counts[at] as u64) * u64::from(whole) {
                    break;
                }
                left.intersect(&documents_satisfying(lists, table, &parts[at])?);
            }
            Ok(left)
        }
        Plan::Or(parts) => {
            let mut any = IdSet::empty(whole);
            for part in parts {
                any.unite(&documents_satisfying(lists, table, part)?);
            }
            Ok(any)
        }
    }
}

fn files_satisfying<L: PostingLists>(lists: &L, table: &FileTable, plan: &Plan) -> Result<IdSet, L::Error> {
    match plan {
        // A file without documents is in no list, and the empty pattern matches it.
        Plan::All => Ok(IdSet::full(table.files())),
        Plan::Nothing => Ok(IdSet::empty(table.files())),
        Plan::Gram(_) | Plan::Pair(_) => Ok(table.files_of(&documents_with(lists, table, plan)?)),
        Plan::And(parts) => {
            let mut left = IdSet::full(table.files());
            for part in parts {
                left.intersect(&files_satisfying(lists, table, part)?);
            }
            Ok(left)
        }
        Plan::Or(parts) => {
            let mut any = IdSet::empty(table.files());
            for part in parts {
                any.unite(&files_satisfying(lists, table, part)?);
            }
            Ok(any)
        }
    }
}

fn documents_with<L: PostingLists>(lists: &L, table: &FileTable, leaf: &Plan) -> Result<IdSet, L::Error> {
    let mut documents = IdSet::empty(table.documents());
    if let Some(grams) = grams_of(leaf) {
        lists.unite_into(grams, &mut documents)?;
    }
    Ok(documents)
}

/// Returns the grams of which a text must contain one; `None` if the plan is not that simple.
fn grams_of(leaf: &Plan) -> Option<RangeInclusive<Gram>> {
    match *leaf {
        Plan::Gram(gram) => Some(gram..=gram),
        Plan::Pair([first, second]) => Some(Gram::of([first, second, 0])..=Gram::of([first, second, u8::MAX])),
        _ => None,
    }
}

/// Returns an upper limit of the number of documents that satisfy a plan.
fn at_most<L: PostingLists>(lists: &L, table: &FileTable, plan: &Plan) -> Result<usize, L::Error> {
    let counts = |parts: &[Plan]| parts.iter().map(|part| at_most(lists, table, part)).collect::<Result<Vec<_>, _>>();
    Ok(match plan {
        Plan::All => table.documents() as usize,
        Plan::Nothing => 0,
        Plan::Gram(_) | Plan::Pair(_) => grams_of(plan).map_or(Ok(0), |grams| lists.at_most(grams))?,
        Plan::And(parts) => counts(parts)?.into_iter().min().unwrap_or(0),
        Plan::Or(parts) => counts(parts)?.into_iter().sum(),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::postings::PostingsBuilder;

    proptest! {
        #[test]
        fn a_table_maps_files_to_documents(
            counts in prop::collection::vec(prop_oneof![Just(1_u32), 0_u32..4, 0_u32..200], 0..100),
            picked in prop::collection::vec(any::<u32>(), 0..50),
        ) {
            let file_of: Vec<u32> =
                (0..).zip(&counts).flat_map(|(file, count)| std::iter::repeat_n(file, *count as usize)).collect();
            let table = FileTable::new(&file_of, IdSet::empty(counts.len() as u32));
            prop_assert_eq!((table.files() as usize, table.documents() as usize), (counts.len(), file_of.len()));
            prop_assert_eq!(table.document_counts().collect::<Vec<_>>(), counts);
            let (mut documents, mut files) = (IdSet::empty(table.documents()), IdSet::empty(table.files()));
            for document in picked.iter().filter_map(|picked| picked.checked_rem(table.documents())) {
                documents.insert(document);
                files.insert(file_of[document as usize]);
            }
            prop_assert_eq!(table.files_of(&documents), files);
        }
    }

    #[test]
    fn lists_are_read_only_if_they_save_more_than_they_cost() {
        let mut builder = PostingsBuilder::new();
        for file in 0..30 {
            let parts = [(1, "nee"), (2, "eed"), (3, "edl"), (5, "dle")].into_iter();
            let text: Vec<&str> = parts.filter(|(every, _)| file % every == 0).map(|(_, part)| part).collect();
            builder.add(text.join("\n").as_bytes());
        }
        let postings = builder.build();
        let plan = Plan::of(&regex_syntax::parse("needle").unwrap());
        assert_eq!(postings.candidates(&plan, Reach::Line).files.iter().collect::<Vec<_>>(), [0], "of 30 files");
    }
}
