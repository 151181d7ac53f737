//! Many threads search files, one answer comes out in order: each takes the next files, what they found waits until
//! all before it is known, and the limits are applied to the ordered whole.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use sinew_base::Result;
use sinew_pool::Pool;

use crate::GrepResult;
use crate::collector::Mode;
use crate::file::{FileSearch, Job, Outcome};
use crate::grep::OnMatch;
use crate::rows::{Rows, clamp};

/// The most files that a thread takes at once.
const RUN: usize = 16;
/// How far threads may be ahead of the settled files, in bytes of rows.
const AHEAD_BYTES: usize = 32 << 20;
/// The same in files, where a limit may end the search at any file.
const AHEAD_FILES: usize = 64;
/// A piece of the result is closed when it has this size.
const PIECE: usize = 1 << 20;
/// How long a thread that is too far ahead waits between two looks at the cancel.
const LOOK: Duration = Duration::from_millis(5);

/// Which of the ordered rows are wanted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) skip: usize,
    pub(crate) most: usize,
}

impl Limits {
    fn any(self) -> bool {
        self.skip > 0 || self.most < usize::MAX
    }

    /// The rows that settle the answer: one more than wanted tells whether there is more.
    fn wanted(self) -> usize {
        self.skip.saturating_add(self.most).saturating_add(1)
    }
}

/// What came out of one or more files that follow each other.
#[derive(Default)]
pub(crate) struct Found {
    rows: Rows,
    searched: u32,
    skipped: crate::Skipped,
    files: u32,
    warnings: Vec<String>,
}

impl Found {
    /// Adds what `search` finds in the next file.
    pub(crate) fn visit(&mut self, search: impl FnOnce(&mut Rows, &mut Vec<String>) -> Outcome) -> Outcome {
        let before = self.rows.len();
        let outcome = search(&mut self.rows, &mut self.warnings);
        let found = self.rows.len() > before;
        self.files += u32::from(found);
        self.searched += u32::from(found || outcome == Outcome::Searched);
        match outcome {
            Outcome::Searched | Outcome::Gone => {}
            Outcome::Binary => self.skipped.binary += 1,
            Outcome::TooLarge => self.skipped.too_large += 1,
            Outcome::Unreadable => self.skipped.unreadable += 1,
        }
        outcome
    }

    fn size(&self) -> usize {
        self.rows.size() + self.warnings.iter().map(String::len).sum::<usize>()
    }
}

/// The whole answer.
#[derive(Default)]
pub(crate) struct Answer {
    pub(crate) result: GrepResult,
    pub(crate) warnings: Vec<String>,
}

/// Calls `visit` for each of `files` files, on all threads of `pool`, and puts the answers in order.
///
/// # Errors
/// The abort of `job.cancel`, unless the answer was complete by then.
pub(crate) fn search_in_order(
    job: &Job<'_>,
    files: usize,
    limits: Limits,
    pool: &Pool,
    on_match: Option<OnMatch<'_>>,
    visit: impl Fn(&mut FileSearch<'_>, usize, usize, &mut Found) -> Outcome + Sync,
) -> Result<Answer> {
    let order = Order {
        job,
        files,
        run: if limits.any() { 1 } else { (files / (pool.size() * 8)).clamp(1, RUN) },
        limited: limits.any(),
        wanted: AtomicUsize::new(limits.wanted()),
        state: Mutex::new(State {
            next: 0,
            settled: 0,
            waiting: BTreeMap::new(),
            ahead: 0,
            limits,
            answer: Answer::default(),
            on_match,
        }),
        turn: Condvar::new(),
    };
    // A thread that starts for a handful of files costs more than it brings.
    let helpers = (pool.size() - 1).min(files / 8);
    pool.crew(helpers, |_| order.work(&visit));
    let Order { state, .. } = order;
    let state = state.into_inner().unwrap_or_else(PoisonError::into_inner);
    if state.settled < files && !job.stop.load(Ordering::Relaxed) {
        job.cancel.check()?;
    }
    Ok(state.answer)
}

struct Order<'j, 's> {
    job: &'j Job<'j>,
    files: usize,
    run: usize,
    limited: bool,
    /// How many rows are still wanted, an upper limit for what one file need give.
    wanted: AtomicUsize,
    state: Mutex<State<'s>>,
    turn: Condvar,
}

struct State<'a> {
    next: usize,
    settled: usize,
    /// Answers that wait for those before them, by their first file; with the file after their last.
    waiting: BTreeMap<usize, (usize, Found)>,
    ahead: usize,
    limits: Limits,
    answer: Answer,
    on_match: Option<OnMatch<'a>>,
}

impl Order<'_, '_> {
    fn work(&self, visit: &(impl Fn(&mut FileSearch<'_>, usize, usize, &mut Found) -> Outcome + Sync)) {
        let _bail = Bail(self);
        let mut search = FileSearch::new(self.job);
        while let Some((first, end)) = self.take() {
            let mut found = Found::default();
            for index in first..end {
                if self.over() {
                    return;
                }
                visit(&mut search, index, self.wanted.load(Ordering::Relaxed), &mut found);
            }
            // What was cut off by the end of the search is no answer.
            if self.over() {
                return;
            }
            self.put(first, end, found);
        }
    }

    fn over(&self) -> bool {
        self.job.stop.load(Ordering::Relaxed) || self.job.cancel.is_cancelled()
    }

    /// The next files, as soon as this thread is not too far ahead.
    fn take(&self) -> Option<(usize, usize)> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if self.over() || state.next >= self.files {
                return None;
            }
            let first = state.next;
            let room = state.ahead < AHEAD_BYTES && !(self.limited && first - state.settled >= AHEAD_FILES);
            if room || first == state.settled {
                state.next = (first + self.run).min(self.files);
                return Some((first, state.next));
            }
            state = self.turn.wait_timeout(state, LOOK).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn put(&self, first: usize, end: usize, found: Found) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        // The answer may have become complete while this thread waited for the lock: nothing counts any more.
        if self.over() {
            return;
        }
        if first != state.settled {
            state.ahead += found.size();
            state.waiting.insert(first, (end, found));
            return;
        }
        let mut next = Some((end, found));
        while let Some((end, found)) = next {
            // Whoever takes the rows may have kept this thread waiting.
            if self.job.cancel.is_cancelled() {
                break;
            }
            let goes_on = state.settle(found, self.job.keep.mode);
            state.settled = end;
            self.wanted.store(state.limits.wanted(), Ordering::Relaxed);
            if goes_on.is_break() {
                self.job.stop.store(true, Ordering::Relaxed);
                break;
            }
            next = state.waiting.remove(&end);
            if let Some((_, found)) = &next {
                state.ahead -= found.size();
            }
        }
        drop(state);
        self.turn.notify_all();
    }
}

impl State<'_> {
    /// Adds the next files to the answer; `Break` when it is complete.
    fn settle(&mut self, found: Found, mode: Mode) -> ControlFlow<()> {
        let answer = &mut self.answer;
        let result = &mut answer.result;
        result.files_searched = result.files_searched.saturating_add(found.searched);
        result.skipped.binary = result.skipped.binary.saturating_add(found.skipped.binary);
        result.skipped.too_large = result.skipped.too_large.saturating_add(found.skipped.too_large);
        result.skipped.unreadable = result.skipped.unreadable.saturating_add(found.skipped.unreadable);
        answer.warnings.extend(found.warnings);
        let Limits { skip, most } = self.limits;
        let rest = found.rows.len().saturating_sub(skip);
        self.limits.skip = skip.saturating_sub(found.rows.len());
        result.limit_reached = rest > most;
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
            // With limits each answer is one file; without, none of its files is cut away.
            result.files_with_matches = result.files_with_matches.saturating_add(found.files);
            let total = match mode {
                Mode::Count => rows.iter().filter_map(|row| row.match_count).map(u64::from).sum(),
                Mode::Content | Mode::FilesWithMatches => rows.len() as u64,
            };
            result.total_matches = result.total_matches.saturating_add(clamp(total));
            match result.matches.last_mut().filter(|piece| piece.size() < PIECE) {
                Some(piece) => piece.append(rows),
                None => result.matches.push(rows.clone()),
            }
            if let Some(on_match) = &mut self.on_match
                && on_match(rows).is_break()
            {
                return ControlFlow::Break(());
            }
        }
        if result.limit_reached { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// Ends the search when a thread panics, so that no other waits for its answer.
struct Bail<'a, 'j, 's>(&'a Order<'j, 's>);

impl Drop for Bail<'_, '_, '_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.job.stop.store(true, Ordering::Relaxed);
            self.0.turn.notify_all();
        }
    }
}
