//! From a plan to the files that could hold a match, over lists in memory or on disk.

use std::ops::RangeInclusive;

use crate::gram::Gram;
use crate::list::IdSet;
use crate::plan::Plan;

/// The cost of reading a list, in numbers of it decoded.
const LIST: u64 = 2_000;
/// The cost of opening and searching a file for a document, in the same unit.
const FILE: u64 = 4_000;

/// The reach of one match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Over one line, so one document must satisfy the plan.
    Line,
    /// Over several lines: each gram may come from any document of the file.
    File,
}

/// The files that could hold a match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidates {
    /// Their numbers.
    pub files: IdSet,
    /// The documents that satisfy the plan; 0 where it is asked of whole files.
    pub documents: usize,
}

/// The files of an index and the documents that they were cut into, both numbered from 0.
#[derive(Debug)]
pub(crate) struct FileTable {
    /// The file of each document; rising.
    pub(crate) file_of: Box<[u32]>,
    pub(crate) files: u32,
    /// Files with a line that a cut goes through.
    pub(crate) cut: IdSet,
}

impl FileTable {
    pub(crate) fn documents(&self) -> u32 {
        self.file_of.len() as u32
    }

    fn files_of(&self, documents: &IdSet) -> IdSet {
        let mut files = IdSet::empty(self.files);
        documents.iter().for_each(|document| files.insert(self.file_of[document as usize]));
        files
    }
}

/// Lists of documents by gram.
pub(crate) trait Lists {
    /// The error of reading a list.
    type Error;

    /// Returns how many documents the lists of these grams name together at most.
    fn at_most(&self, grams: RangeInclusive<Gram>) -> Result<usize, Self::Error>;

    /// Adds the documents of these grams to a set.
    fn unite_into(&self, grams: RangeInclusive<Gram>, documents: &mut IdSet) -> Result<(), Self::Error>;
}

/// Returns the files whose grams satisfy the plan.
pub(crate) fn candidates<L: Lists>(
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

fn documents_satisfying<L: Lists>(lists: &L, table: &FileTable, plan: &Plan) -> Result<IdSet, L::Error> {
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
                // A list is read where it spares more than it costs, if its documents lie independently of the others.
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

fn files_satisfying<L: Lists>(lists: &L, table: &FileTable, plan: &Plan) -> Result<IdSet, L::Error> {
    match plan {
        // A file without documents is in no list, and the empty pattern is found in it.
        Plan::All => Ok(IdSet::full(table.files)),
        Plan::Nothing => Ok(IdSet::empty(table.files)),
        Plan::Gram(_) | Plan::Pair(_) => Ok(table.files_of(&documents_with(lists, table, plan)?)),
        Plan::And(parts) => {
            let mut left = IdSet::full(table.files);
            for part in parts {
                left.intersect(&files_satisfying(lists, table, part)?);
            }
            Ok(left)
        }
        Plan::Or(parts) => {
            let mut any = IdSet::empty(table.files);
            for part in parts {
                any.unite(&files_satisfying(lists, table, part)?);
            }
            Ok(any)
        }
    }
}

fn documents_with<L: Lists>(lists: &L, table: &FileTable, leaf: &Plan) -> Result<IdSet, L::Error> {
    let mut documents = IdSet::empty(table.documents());
    if let Some(grams) = grams_of(leaf) {
        lists.unite_into(grams, &mut documents)?;
    }
    Ok(documents)
}

/// Returns the grams of which a text must hold one.
fn grams_of(leaf: &Plan) -> Option<RangeInclusive<Gram>> {
    match *leaf {
        Plan::Gram(gram) => Some(gram..=gram),
        Plan::Pair([first, second]) => Some(Gram::of([first, second, 0])..=Gram::of([first, second, u8::MAX])),
        _ => None,
    }
}

/// Returns how many documents satisfy a part at most.
fn at_most<L: Lists>(lists: &L, table: &FileTable, plan: &Plan) -> Result<usize, L::Error> {
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
    use super::*;
    use crate::postings::PostingsBuilder;

    #[test]
    fn lists_are_read_while_they_spare_more_than_they_cost() {
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
