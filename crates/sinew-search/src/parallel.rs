//! Parallel search with ordered results: each thread searches the next files, results wait until all earlier ones are
//! known, and the limits apply to the ordered whole.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use sinew_base::{Aborted, Result};
use sinew_pool::Pool;
use sinew_walk::WalkWarnings;

use crate::GrepResult;
use crate::collector::Mode;
use crate::file::{FileSearch, FileSearchResult, Job, Outcome};
use crate::grep::OnMatch;
use crate::rows::{Rows, clamp};

/// The maximum number of files that a thread takes at once.
const MAX_BATCH: usize = 16;
/// How far threads may be ahead of the settled files, in bytes of rows.
const MAX_AHEAD_BYTES: usize = 32 << 20;
/// How far threads may be ahead in files, if a limit may end the search at any file.
const MAX_AHEAD_FILES: usize = 64;
/// The size at which a chunk of the result is closed, in bytes.
const PIECE_SIZE: usize = 1 << 20;
/// How often a thread that is too far ahead checks for cancellation.
const CANCEL_POLL: Duration = Duration::from_millis(5);

/// The requested range of the ordered rows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) skip: usize,
    pub(crate) most: usize,
}

impl Limits {
    pub(crate) fn any(self) -> bool {
        self.skip > 0 || self.most < usize::MAX
    }

    /// Returns the number of rows that complete the result: one more than requested, to detect whether there are more.
    fn wanted(self) -> usize {
        self.skip.saturating_add(self.most).saturating_add(1)
    }
}

/// The results of one or more consecutive files.
#[derive(Default)]
pub(crate) struct FileResults {
    rows: Rows,
    searched: u32,
    /// The number of binary files that were not opened.
    passed: u32,
    skipped: crate::SkippedFiles,
    files: u32,
    /// True if a file has more matching lines than the limit for each file allows.
    more: bool,
    warnings: Vec<String>,
    /// The warnings of the directories before the files.
    pub(crate) walk_warnings: WalkWarnings,
}

impl FileResults {
    /// Adds the result of `search` for the next file.
    pub(crate) fn visit(&mut self, search: impl FnOnce(&mut Rows, &mut Vec<String>) -> FileSearchResult) {
        let before = self.rows.len();
        let FileSearchResult { outcome, more } = search(&mut self.rows, &mut self.warnings);
        self.more |= more;
        let found = self.rows.len() > before;
        self.files += u32::from(found);
        self.searched += u32::from(found || outcome == Outcome::Searched);
        match outcome {
            Outcome::Searched | Outcome::Gone => {}
            Outcome::Binary => self.skipped.binary += 1,
            Outcome::TooLarge => self.skipped.too_large += 1,
            Outcome::Unreadable => self.skipped.unreadable += 1,
        }
    }

    /// Adds files that were not opened: text files without a match, and binary files.
    #[cfg(target_os = "linux")]
    pub(crate) fn pass(&mut self, texts: u32, binaries: u32) {
        self.searched += texts;
        self.passed += binaries;
    }

    fn size(&self) -> usize {
        self.rows.size() + self.warnings.iter().map(String::len).sum::<usize>()
    }
}

/// The whole result and its warnings.
#[derive(Default)]
pub(crate) struct SearchOutput {
    pub(crate) result: GrepResult,
    pub(crate) warnings: Vec<String>,
    /// The warnings of the directories that were passed.
    pub(crate) walk_warnings: WalkWarnings,
    /// True if the result includes every file.
    pub(crate) complete: bool,
}

/// The files in result order, shared by several threads.
pub(crate) trait FileSource: Sync {
    /// Consecutive files.
    type Batch;
    /// A directory that has to be read before more files are known.
    type Folder;

    /// Returns the number of useful threads in addition to the calling one.
    fn helpers(&self, pool: &Pool) -> usize;

    /// Returns the next step, with at most `most` files. Called while the search is locked, so batches are in order.
    fn next(&self, most: usize, threads: usize) -> Step<Self::Batch, Self::Folder>;

    /// Reads a directory.
    fn read(&self, folder: Self::Folder, buffer: &mut Vec<u8>) -> Result<(), Aborted>;

    /// Searches the files of a batch in order, each for at most `limit()` rows, until `limit` returns `None`.
    fn search(
        &self,
        batch: &Self::Batch,
        search: &mut FileSearch<'_>,
        limit: &dyn Fn() -> Option<usize>,
        results: &mut FileResults,
    );
}

/// The next step of a [`FileSource`].
pub(crate) enum Step<B, F> {
    Files(B),
    Folder(F),
    /// Another thread has to finish a directory first.
    Wait,
    End,
}

/// Searches the files of `source` on all threads of `pool` and orders the results.
///
/// # Errors
/// Returns an error if `job.cancel` is set before the result is complete.
pub(crate) fn search_in_order<S: FileSource>(
    job: &Job<'_>,
    source: &S,
    limits: Limits,
    pool: &Pool,
    on_match: Option<OnMatch<'_>>,
) -> Result<SearchOutput> {
    let helpers = source.helpers(pool).min(pool.size().saturating_sub(1));
    let order = OrderedSearch {
        job,
        source,
        threads: helpers + 1,
        limited: limits.any(),
        wanted: AtomicUsize::new(limits.wanted()),
        state: Mutex::new(State {
            next: 0,
            settled: 0,
            ended: false,
            waiting: BTreeMap::new(),
            ahead: 0,
            idle: 0,
            limits,
            output: SearchOutput::default(),
            on_match,
        }),
        turn: Condvar::new(),
    };
    pool.broadcast(helpers, |_| order.work());
    let OrderedSearch { state, .. } = order;
    let state = state.into_inner();
    // A result with enough rows ends with its last file, even if another thread has found in the meantime that no files
    // are left.
    let stopped = job.stop.load(Ordering::Relaxed);
    let complete = state.ended && state.settled == state.next && !stopped;
    if !complete && !stopped {
        job.cancel.check()?;
    }
    Ok(SearchOutput { complete, ..state.output })
}

struct OrderedSearch<'j, 's, S> {
    job: &'j Job<'j>,
    source: &'j S,
    threads: usize,
    limited: bool,
    /// The number of rows that are still needed, which limits each file.
    wanted: AtomicUsize,
    state: Mutex<State<'s>>,
    turn: Condvar,
}

struct State<'a> {
    /// The number of the next batch.
    next: usize,
    /// The number of the first batch that is not in the result.
    settled: usize,
    /// True if no batch is left.
    ended: bool,
    /// Results that wait for earlier ones, by the number of their batch.
    waiting: BTreeMap<usize, FileResults>,
    /// The size of the waiting results in bytes.
    ahead: usize,
    /// The number of waiting threads.
    idle: usize,
    limits: Limits,
    output: SearchOutput,
    on_match: Option<OnMatch<'a>>,
}

impl<S: FileSource> OrderedSearch<'_, '_, S> {
    fn work(&self) {
        let _stop_on_panic = StopOnPanic(self);
        let mut search = FileSearch::new(self.job);
        let mut buffer = Vec::new();
        let limit = || (!self.is_over()).then(|| self.wanted.load(Ordering::Relaxed));
        while let Some(step) = self.next_step() {
            match step {
                Ok((number, batch)) => {
                    let mut results = FileResults::default();
                    self.source.search(&batch, &mut search, &limit, &mut results);
                    // A file that was interrupted by the end of the search has no result.
                    if self.is_over() {
                        return;
                    }
                    self.submit(number, results);
                }
                // The next call of `next_step` notices an abort.
                Err(folder) => drop(self.source.read(folder, &mut buffer)),
            }
        }
    }

    fn is_over(&self) -> bool {
        self.job.stop.load(Ordering::Relaxed) || self.job.cancel.is_cancelled()
    }

    /// Returns the next files with their batch number, or a directory to read, once this thread is not too far ahead.
    #[allow(clippy::type_complexity, reason = "either of two kinds of work, used once")]
    fn next_step(&self) -> Option<std::result::Result<(usize, S::Batch), S::Folder>> {
        let mut state = self.state.lock();
        // This thread may have read the directory that another one waits for.
        if state.idle > 0 {
            self.turn.notify_all();
        }
        loop {
            if self.is_over() || state.ended {
                return None;
            }
            let number = state.next;
            let room = state.ahead < MAX_AHEAD_BYTES && !(self.limited && number - state.settled >= MAX_AHEAD_FILES);
            if room || number == state.settled {
                match self.source.next(if self.limited { 1 } else { MAX_BATCH }, 2 * self.threads) {
                    Step::Files(batch) => {
                        state.next += 1;
                        return Some(Ok((number, batch)));
                    }
                    Step::Folder(folder) => return Some(Err(folder)),
                    Step::End => {
                        state.ended = true;
                        self.turn.notify_all();
                        return None;
                    }
                    Step::Wait => {}
                }
            }
            state.idle += 1;
            self.turn.wait_for(&mut state, CANCEL_POLL);
            state.idle -= 1;
        }
    }

    fn submit(&self, number: usize, results: FileResults) {
        let mut state = self.state.lock();
        // The result may have been completed while this thread waited for the lock; later results are dropped.
        if self.is_over() {
            return;
        }
        if number != state.settled {
            state.ahead += results.size();
            state.waiting.insert(number, results);
            return;
        }
        let mut next = Some(results);
        while let Some(results) = next {
            // The consumer of the rows may have delayed this thread.
            if self.job.cancel.is_cancelled() {
                break;
            }
            let goes_on = state.settle(results, self.job);
            state.settled += 1;
            self.wanted.store(state.limits.wanted(), Ordering::Relaxed);
            if goes_on.is_break() {
                self.job.stop.store(true, Ordering::Relaxed);
                break;
            }
            let number = state.settled;
            next = state.waiting.remove(&number);
            if let Some(results) = &next {
                state.ahead -= results.size();
            }
        }
        if state.idle > 0 {
            self.turn.notify_all();
        }
    }
}

impl State<'_> {
    /// Adds the next files to the result; `Break` if it is complete.
    fn settle(&mut self, mut found: FileResults, job: &Job<'_>) -> ControlFlow<()> {
        let output = &mut self.output;
        let result = &mut output.result;
        let Limits { skip, most } = self.limits;
        let rest = found.rows.len().saturating_sub(skip);
        self.limits.skip = skip.saturating_sub(found.rows.len());
        let ended = rest > most;
        result.limit_reached |= ended || found.more;
        if ended && !job.named {
            // How far a file was read after the last row depends on the limit that its thread knew at the time.
            found.skipped = crate::SkippedFiles::default();
            found.warnings.clear();
        }
        result.files_searched = result.files_searched.saturating_add(found.searched);
        result.skipped.binary = result.skipped.binary.saturating_add(found.skipped.binary + found.passed);
        result.skipped.too_large = result.skipped.too_large.saturating_add(found.skipped.too_large);
        result.skipped.unreadable = result.skipped.unreadable.saturating_add(found.skipped.unreadable);
        output.warnings.extend(found.warnings);
        output.walk_warnings.append(found.walk_warnings);
        let cut;
        let rows = if skip == 0 && rest <= most {
            &found.rows
        } else {
            cut = found.rows.cut(skip, most);
            &cut
        };
        if most < usize::MAX {
            self.limits.most = most - rows.len();
        }
        if !rows.is_empty() {
            // With limits each batch is one file; without limits none of its files is cut off.
            result.files_with_matches = result.files_with_matches.saturating_add(found.files);
            let total = match job.collect.mode {
                Mode::Count => rows.iter().filter_map(|row| row.match_count).map(u64::from).sum(),
                Mode::Content | Mode::FilesWithMatches => rows.len() as u64,
            };
            result.total_matches = result.total_matches.saturating_add(clamp(total));
            match result.matches.last_mut().filter(|piece| piece.size() < PIECE_SIZE) {
                Some(piece) => piece.append(rows),
                None => result.matches.push(rows.clone()),
            }
            if let Some(on_match) = &mut self.on_match
                && on_match(rows).is_break()
            {
                return ControlFlow::Break(());
            }
        }
        if ended { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// Ends the search if a thread panics, so that no other thread waits for its result.
struct StopOnPanic<'a, 'j, 's, S>(&'a OrderedSearch<'j, 's, S>);

impl<S> Drop for StopOnPanic<'_, '_, '_, S> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.job.stop.store(true, Ordering::Relaxed);
            self.0.turn.notify_all();
        }
    }
}
