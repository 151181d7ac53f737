//! Fuzzy search of paths in a scan.

#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::PathBuf;
use std::sync::Arc;
#[cfg(target_os = "linux")]
use std::sync::Weak;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use parking_lot::Mutex;
use sinew_base::{Aborted, CHECK_INTERVAL, CancelToken, Result};
use sinew_fuzzy::{LetterFilter, Matcher, Query, letters_of};
use sinew_pool::Pool;
use sinew_walk::{Entry, FileType, GlobalExcludes, Scan, ScanCache, ScanOptions};

/// The penalty of an ignored entry, and an additional one for a hidden entry.
const IGNORED: i32 = 40;
const HIDDEN: i32 = 60;
/// The penalty of a directory: of two similar entries, users usually mean the file.
const FOLDER: i32 = 2;
/// The number of entries that a thread processes at a time.
const CHUNK: usize = 1_024;
/// The minimum number of entries for which more threads pay off.
const MIN_PARALLEL: usize = 4_096;

/// Options of [`fuzzy_find`]: the query, the directory and filters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FindOptions {
    /// Letters of the path in order; words separated by blanks may occur in any order. An empty query returns every
    /// entry in path order.
    pub query: String,
    /// The directory to search.
    pub path: PathBuf,
    /// Include names that begin with a dot (default: false).
    pub hidden: bool,
    /// Exclude ignored entries (default: true). If false, they rank after similar entries.
    pub gitignore: bool,
    /// Use a cached scan and cache a new one (default: false).
    pub cache: bool,
    /// The maximum number of matches to return (default: 100).
    pub max_results: usize,
    /// The user's global ignore file; see [`sinew_walk::GlobalExcludes`].
    pub global_excludes: Option<GlobalExcludes>,
}

impl FindOptions {
    /// Creates the default options for a directory and a query.
    pub fn new(path: impl Into<PathBuf>, query: impl Into<String>) -> FindOptions {
        FindOptions {
            query: query.into(),
            path: path.into(),
            hidden: false,
            gitignore: true,
            cache: false,
            max_results: 100,
            global_excludes: None,
        }
    }
}

/// One matching entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FindMatch {
    /// The path relative to the searched directory, with `/` separators.
    pub path: String,
    /// True for a directory.
    pub is_directory: bool,
    /// Higher is better; only scores of one call can be compared. 0 for an empty query.
    pub score: i32,
    /// The positions of the matched letters: UTF-16 units of `path`, ascending.
    pub positions: Vec<u32>,
}

/// The result of [`fuzzy_find`]: the best match first, equal scores ordered by length, then by path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FindResult {
    /// At most `max_results` matches.
    pub matches: Vec<FindMatch>,
    /// The total number of entries that match the query.
    pub total_matches: usize,
    /// The reasons why the result is incomplete.
    pub warnings: Vec<String>,
    /// The directory that was searched, with links resolved.
    pub root: PathBuf,
}

/// The matches as columns, for language bindings where many small values are expensive.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FindColumns {
    /// All paths, concatenated.
    pub text: String,
    /// For each match: the length of its path in UTF-16 units, 1 for a directory or else 0, the score, the number of
    /// positions, and the positions.
    pub numbers: Vec<i32>,
}

impl FindResult {
    /// Returns the matches as columns.
    #[must_use]
    pub fn columns(&self) -> FindColumns {
        let mut columns = FindColumns::default();
        let number = |value: usize| i32::try_from(value).unwrap_or(i32::MAX);
        for FindMatch { path, is_directory, score, positions } in &self.matches {
            columns.text.push_str(path);
            columns.numbers.extend([
                number(path.encode_utf16().count()),
                i32::from(*is_directory),
                *score,
                number(positions.len()),
            ]);
            columns.numbers.extend(positions.iter().map(|at| number(*at as usize)));
        }
        columns
    }
}

/// Finds the files and directories whose path matches a query best. Links are excluded.
///
/// If no path has the query at the starts of its words, one extra letter or two swapped neighbours are tolerated. Upper
/// case in the query is significant unless it finds nothing. Large scans are ranked on this thread and the free threads
/// of `pool`; each checks `cancel` once per [`sinew_base::CHECK_INTERVAL`] entries.
///
/// # Errors
/// Returns an error if the path does not exist or the call is cancelled.
pub fn fuzzy_find(options: &FindOptions, cache: &ScanCache, pool: &Pool, cancel: &CancelToken) -> Result<FindResult> {
    let scan_options = scan_options(options);
    let look = |scan: &Arc<Scan>| find(scan, None, options, pool, cancel).map_err(Into::into);
    // An empty query returns everything, so a second attempt would find nothing new.
    let found = |result: &FindResult| result.total_matches > 0 || options.query.trim().is_empty();
    cancel
        .check()
        .map_err(Into::into)
        .and_then(|()| cache.query(&scan_options, options.cache, pool, cancel, look, found))
        .map_err(|error| error.within("fuzzyFind"))
}

/// The letters of each row of the most recently ranked scan, four bytes per row. 0 means not computed yet.
#[cfg(target_os = "linux")]
#[derive(Debug, Default)]
pub(crate) struct LetterCache(Mutex<Option<RowLetters>>);

/// The letters of each row of a scan.
#[cfg(target_os = "linux")]
type RowLetters = (Weak<Scan>, Arc<[AtomicU32]>);

#[cfg(target_os = "linux")]
impl LetterCache {
    fn of(&self, scan: &Arc<Scan>) -> Arc<[AtomicU32]> {
        let mut cached = self.0.lock();
        match &*cached {
            Some((of, letters)) if std::ptr::eq(of.as_ptr(), Arc::as_ptr(scan)) => Arc::clone(letters),
            _ => {
                let letters: Arc<[AtomicU32]> = std::iter::repeat_with(AtomicU32::default).take(scan.len()).collect();
                *cached = Some((Arc::downgrade(scan), Arc::clone(&letters)));
                letters
            }
        }
    }
}

/// Finds as [`fuzzy_find`] does, in the scan that `cached` returns, or in a fresh one if it returns `None`.
#[cfg(target_os = "linux")]
pub(crate) fn find_in(
    options: &FindOptions,
    letters: &LetterCache,
    pool: &Pool,
    cancel: &CancelToken,
    cached: impl FnOnce(&ScanOptions) -> Result<Option<Arc<Scan>>>,
) -> Result<FindResult> {
    let found = || -> Result<FindResult> {
        cancel.check()?;
        let wanted = scan_options(options);
        match cached(&wanted)? {
            Some(scan) => Ok(find(&scan, Some(&letters.of(&scan)), options, pool, cancel)?),
            None => Ok(find(&sinew_walk::scan(&wanted, pool, cancel)?, None, options, pool, cancel)?),
        }
    };
    found().map_err(|error| error.within("fuzzyFind"))
}

fn scan_options(options: &FindOptions) -> ScanOptions {
    ScanOptions {
        hidden: options.hidden,
        gitignore: options.gitignore,
        skip_node_modules: !options.path.iter().any(|name| name == "node_modules"),
        global_excludes: options.global_excludes.clone(),
        ..ScanOptions::new(&options.path)
    }
}

fn find(
    scan: &Scan,
    letters: Option<&[AtomicU32]>,
    options: &FindOptions,
    pool: &Pool,
    cancel: &CancelToken,
) -> Result<FindResult, Aborted> {
    let query = Query::new(&options.query);
    let warnings = scan.warnings().to_vec();
    if query.is_empty() {
        return everything(scan, options.max_results, warnings, cancel);
    }
    let most = options.max_results;
    let mut form = (query, false);
    let rank = |(query, typos): &(Query, bool)| rank(scan, letters, query, *typos, most, pool, cancel);
    let mut ranked = rank(&form)?;
    if ranked.total == 0 && form.0.keeps_case() {
        form.0 = Query::with_case(&options.query, false);
        ranked = rank(&form)?;
    }
    // If the best match has scattered letters, the query may contain a typo.
    let clean = ranked.best.is_some_and(|row| Matcher::new(&form.0).is_clean(&scan.get(row as usize).path()));
    if !clean {
        form.1 = true;
        ranked = rank(&form)?;
    }
    let mut matcher = matcher(&form.0, form.1);
    let mut matches = Vec::with_capacity(ranked.rows.len());
    for (score, row) in ranked.rows {
        let entry = scan.get(row as usize);
        let path = entry.path().into_owned();
        let mut positions = Vec::new();
        matcher.score_with_positions(&path, &mut positions);
        matches.push(FindMatch { path, is_directory: entry.file_type() == FileType::Dir, score, positions });
    }
    Ok(FindResult { matches, total_matches: ranked.total, warnings, root: scan.root().to_path_buf() })
}

fn matcher(query: &Query, typos: bool) -> Matcher<'_> {
    if typos { Matcher::new(query).with_typos() } else { Matcher::new(query) }
}

fn everything(scan: &Scan, most: usize, warnings: Vec<String>, cancel: &CancelToken) -> Result<FindResult, Aborted> {
    let mut result = FindResult { warnings, root: scan.root().to_path_buf(), ..FindResult::default() };
    let mut ticker = sinew_base::CancelTicker::new(cancel);
    for entry in scan.iter().filter(|entry| entry.file_type() != FileType::Symlink) {
        ticker.step()?;
        result.total_matches += 1;
        if result.matches.len() < most {
            result.matches.push(FindMatch {
                path: entry.path().into_owned(),
                is_directory: entry.file_type() == FileType::Dir,
                score: 0,
                positions: Vec::new(),
            });
        }
    }
    Ok(result)
}

/// The best rows in descending order.
#[derive(Default)]
struct RankedRows {
    rows: Vec<(i32, u32)>,
    best: Option<u32>,
    total: usize,
}

/// The sort key of results: the score, then the shorter path, then the earlier path.
type Rank = (Reverse<i32>, usize, u32);

fn rank(
    scan: &Scan,
    letters: Option<&[AtomicU32]>,
    query: &Query,
    typos: bool,
    most: usize,
    pool: &Pool,
    cancel: &CancelToken,
) -> Result<RankedRows, Aborted> {
    let next = AtomicUsize::new(0);
    let total = AtomicUsize::new(0);
    let filter = LetterFilter::new(query, typos);
    let is_out = |row: usize| letters.is_some_and(|letters| !filter.admits(letters_at(letters, scan, row)));
    let state: Mutex<(Vec<Rank>, Option<Aborted>)> = Mutex::default();
    let work = |_| {
        let mut matcher = matcher(query, typos);
        // The worst is on top, so that it can be removed. One place is reserved for the best even if no rows are
        // requested.
        let mut heap: BinaryHeap<Rank> = BinaryHeap::new();
        let mut count = 0;
        let mut aborted = None;
        'shares: loop {
            let from = next.fetch_add(CHUNK, Ordering::Relaxed);
            if from >= scan.len() {
                break;
            }
            for row in from..scan.len().min(from + CHUNK) {
                if row % CHECK_INTERVAL as usize == 0
                    && let Err(now) = cancel.check()
                {
                    aborted = Some(now);
                    next.store(scan.len(), Ordering::Relaxed);
                    break 'shares;
                }
                if is_out(row) {
                    continue;
                }
                let entry = scan.get(row);
                let floor = heap.peek().filter(|_| heap.len() >= most.max(1)).map_or(i32::MIN, |worst| worst.0.0);
                let Some(score) = score(&mut matcher, &entry, floor) else { continue };
                count += 1;
                let rank = (Reverse(score), entry.bytes().len(), u32::try_from(row).unwrap_or(u32::MAX));
                if heap.len() < most.max(1) {
                    heap.push(rank);
                } else if heap.peek().is_some_and(|worst| rank < *worst) {
                    heap.pop();
                    heap.push(rank);
                }
            }
        }
        total.fetch_add(count, Ordering::Relaxed);
        let mut state = state.lock();
        state.0.extend(heap);
        state.1 = state.1.or(aborted);
    };
    pool.broadcast(if scan.len() < MIN_PARALLEL { 0 } else { pool.size().saturating_sub(1) }, work);
    let (mut ranks, aborted) = state.into_inner();
    if let Some(aborted) = aborted {
        return Err(aborted);
    }
    ranks.sort_unstable();
    let best = ranks.first().map(|rank| rank.2);
    ranks.truncate(most);
    let rows = ranks.into_iter().map(|(Reverse(score), _, row)| (score, row)).collect();
    Ok(RankedRows { rows, best, total: total.into_inner() })
}

/// Returns the letters of a row and caches them.
fn letters_at(cached: &[AtomicU32], scan: &Scan, row: usize) -> u32 {
    match cached[row].load(Ordering::Relaxed) {
        0 => {
            let letters = letters_of(scan.get(row).bytes());
            cached[row].store(letters, Ordering::Relaxed);
            letters
        }
        letters => letters,
    }
}

/// Returns the score, or any number below `floor` if the score is below it.
fn score(matcher: &mut Matcher<'_>, entry: &Entry<'_>, floor: i32) -> Option<i32> {
    if entry.file_type() == FileType::Symlink {
        return None;
    }
    let score = matcher.score_over(entry.bytes(), floor)?;
    let ignored = if entry.ignored() { IGNORED } else { 0 };
    let hidden = if entry.hidden() { HIDDEN } else { 0 };
    let folder = if entry.file_type() == FileType::Dir { FOLDER } else { 0 };
    Some(score - ignored - hidden - folder)
}
