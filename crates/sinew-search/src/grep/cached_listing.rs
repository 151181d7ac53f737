//! Searches a cached listing: files that the index rules out are counted without opening them.

use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use sinew_base::{Aborted, CancelTicker, CancelToken, Result};
use sinew_index::{Listing, Plan, Reach, RowState};
use sinew_pool::Pool;
use sinew_walk::{FileType, ScanCache, ScanOptions, WalkWarnings};

use super::{GrepOptions, GrepResult, OnMatch, Request, syntax};
use crate::accept::AcceptedRoot;
use crate::file::{FileSearch, Root};
use crate::parallel::{FileResults, FileSource, Step};
use crate::rows::clamp;
use crate::workspace_status::GrepTrace;

/// Searches as [`super::grep`] does, in the listing that `cached` returns, or with a walk if it returns `None`.
pub(crate) fn grep_in(
    options: &GrepOptions,
    pool: &Pool,
    cancel: &CancelToken,
    cached: impl FnOnce(&ScanOptions) -> Result<Option<Listing>>,
    on_match: Option<OnMatch<'_>>,
) -> Result<(GrepResult, GrepTrace)> {
    let attempt = || {
        cancel.check()?;
        // A cached scan may be older than this call.
        let options = &GrepOptions { cache: false, ..options.clone() };
        let request = Request::new(options)?;
        let walked = |why| GrepTrace { why: Some(why), ..GrepTrace::default() };
        if request.names_file()? {
            return Ok((request.named_file(pool, cancel, on_match)?, walked("the path is a file")));
        }
        let Some(listing) = cached(&request.scan)? else {
            return Ok((
                request.tree(&ScanCache::default(), pool, cancel, on_match)?,
                walked("the index does not contain these files"),
            ));
        };
        let accepted = request.accepted(listing.entries().root());
        // Without reading it, a binary file counts as searched; and an `accept` filter has to see each file.
        let plain = options.max_count_per_file == Some(0) || options.accept.is_some() && !accepted.is_accepted();
        let plan = if plain { Plan::All } else { request.pattern.plan(syntax(options)) };
        let reach = if options.multiline { Reach::File } else { Reach::Line };
        let (states, documents) = match plain {
            true => (vec![RowState::Unknown; listing.entries().len()], 0),
            false => listing.judge(&plan, reach),
        };
        let (files, after) = request.files_to_search(&listing, &states, cancel)?;
        let trace = GrepTrace { plan: plan.to_string(), documents, opened: files.len(), why: None };
        let source = CandidateFiles {
            request: &request,
            root: Root::new(listing.entries().root()),
            accepted,
            listing: &listing,
            files,
            after,
            returned: Mutex::default(),
            next: AtomicUsize::new(0),
        };
        let mut output = request.run(false, &source, pool, cancel, on_match)?;
        let mut warnings = std::mem::take(&mut output.walk_warnings);
        // The warnings of directories after the last file are included only if that file was searched.
        if output.complete {
            warnings.append(source.warnings_before(u32::MAX));
        }
        Ok((request.result(output, warnings.into_sentences()), trace))
    };
    attempt().map_err(|error: sinew_base::Error| error.within("grep"))
}

/// A file to search.
struct CandidateFile {
    row: u32,
    passed: RuledOutCounts,
}

/// Files before a searched one that are known to contain no match.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct RuledOutCounts {
    texts: u32,
    binaries: u32,
}

impl Request<'_> {
    /// Returns the files to search in path order, and the counts after the last of them.
    fn files_to_search(
        &self,
        listing: &Listing,
        states: &[RowState],
        cancel: &CancelToken,
    ) -> Result<(Vec<CandidateFile>, RuledOutCounts), Aborted> {
        let (mut files, mut passed) = (Vec::new(), RuledOutCounts::default());
        let mut ticker = CancelTicker::new(cancel);
        for (entry, state) in listing.entries().iter().zip(states) {
            ticker.step()?;
            if entry.file_type() != FileType::File || !self.selects(entry.bytes(), || entry.name()) {
                continue;
            }
            match state {
                RowState::NoMatch => passed.texts += 1,
                RowState::Binary => passed.binaries += 1,
                RowState::Unknown => {
                    files.push(CandidateFile { row: clamp(entry.index()), passed: std::mem::take(&mut passed) });
                }
            }
        }
        Ok((files, passed))
    }
}

/// The files of a cached listing.
struct CandidateFiles<'a> {
    request: &'a Request<'a>,
    root: Root<'a>,
    accepted: AcceptedRoot,
    listing: &'a Listing,
    files: Vec<CandidateFile>,
    after: RuledOutCounts,
    /// The number of warnings that were returned with files.
    returned: Mutex<usize>,
    next: AtomicUsize,
}

/// Consecutive files, and the warnings of the directories before them. The step after the last file is empty.
struct CandidateBatch {
    first: usize,
    end: usize,
    warnings: WalkWarnings,
}

impl CandidateFiles<'_> {
    /// Returns the pending warnings of the directories before a row.
    fn warnings_before(&self, row: u32) -> WalkWarnings {
        let mut taken = WalkWarnings::default();
        let mut returned = self.returned.lock();
        let all = &self.listing.scan.warnings;
        while let Some((_, sentence)) = all.get(*returned).filter(|(at, _)| *at <= row) {
            taken.push(sentence.clone());
            *returned += 1;
        }
        taken
    }
}

impl FileSource for CandidateFiles<'_> {
    type Batch = CandidateBatch;
    type Folder = std::convert::Infallible;

    fn helpers(&self, _: &Pool) -> usize {
        // Starting a thread for a few files costs more than it saves.
        self.files.len() / 8
    }

    fn next(&self, most: usize, threads: usize) -> Step<CandidateBatch, std::convert::Infallible> {
        let total = self.files.len();
        let count = (total / (threads * 4)).clamp(1, most);
        let first = self.next.fetch_add(count, Ordering::Relaxed);
        if first < total {
            let end = (first + count).min(total);
            return Step::Files(CandidateBatch { first, end, warnings: self.warnings_before(self.files[end - 1].row) });
        }
        // The counts after the last file are one more step, returned once.
        let is_pending = self.after != RuledOutCounts::default() && first < total + count;
        match is_pending {
            true => Step::Files(CandidateBatch { first: total, end: total, warnings: WalkWarnings::default() }),
            false => Step::End,
        }
    }

    fn read(&self, folder: std::convert::Infallible, _: &mut Vec<u8>) -> std::result::Result<(), Aborted> {
        match folder {}
    }

    fn search(
        &self,
        batch: &CandidateBatch,
        search: &mut FileSearch<'_>,
        limit: &dyn Fn() -> Option<usize>,
        results: &mut FileResults,
    ) {
        results.walk_warnings = batch.warnings.clone();
        if batch.first == self.files.len() {
            results.pass(self.after.texts, self.after.binaries);
        }
        for CandidateFile { row, passed } in &self.files[batch.first..batch.end] {
            let Some(limit) = limit() else { return };
            results.pass(passed.texts, passed.binaries);
            let entry = self.listing.entries().get(*row as usize);
            let (path, open) = (self.listing.entries().root(), || self.root.open(entry));
            if let Some(opened) = self.request.open(&self.accepted, path, entry.bytes(), open) {
                results.visit(|rows, warnings| search.search(opened, &entry.path(), limit, rows, warnings));
            }
        }
    }
}
