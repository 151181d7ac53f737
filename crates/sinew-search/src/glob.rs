//! Globs over a scan.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use sinew_base::{Aborted, CancelTicker, CancelToken, Result};
use sinew_pool::Pool;
use sinew_walk::{Detail, Entry, FileType, GlobSet, GlobSyntax, GlobalExcludes, Scan, ScanCache, ScanOptions, Scope};

/// The number of entries that a thread processes at a time.
const CHUNK: usize = 4_096;

/// The globs of [`GlobOptions`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GlobPattern {
    /// One or more globs, separated by commas; see [`GlobSet::below`]. Braces without alternatives (`{a}`) are literal.
    /// A text that equals the name of an entry matches that entry, even if it contains special characters.
    Text(String),
    /// One glob per item; see [`GlobSet::of_items`]. An empty list matches nothing.
    Items(Vec<String>),
}

impl From<String> for GlobPattern {
    fn from(text: String) -> GlobPattern {
        GlobPattern::Text(text)
    }
}

impl From<&str> for GlobPattern {
    fn from(text: &str) -> GlobPattern {
        GlobPattern::Text(text.to_string())
    }
}

impl From<Vec<String>> for GlobPattern {
    fn from(items: Vec<String>) -> GlobPattern {
        GlobPattern::Items(items)
    }
}

/// Options of [`glob`]: the pattern, the directory and filters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GlobOptions {
    /// The globs to match (default: `*`). An absolute glob must be below `path`.
    pub pattern: GlobPattern,
    /// Globs of entries to exclude, one per item (default: none); see [`GlobSet::except`].
    pub ignore: Vec<String>,
    /// The directory to search, or a file.
    pub path: PathBuf,
    /// Only return entries of this type (default: all). A link has the type of its target, except for
    /// [`FileType::Symlink`], which selects links only.
    pub file_type: Option<FileType>,
    /// Match a pattern without `/` at any depth (default: true).
    pub recursive: bool,
    /// Let wildcards match names that begin with a dot (default: false).
    pub hidden: bool,
    /// Exclude ignored entries (default: true).
    pub gitignore: bool,
    /// Use a cached scan and cache a new one (default: false).
    pub cache: bool,
    /// The maximum number of matches to return (default: unlimited).
    pub max_results: Option<usize>,
    /// Sort by modification time, newest first, and return the time and size of each entry (default: false, path
    /// order).
    pub sort_by_mtime: bool,
    /// Follow links to directories, except those that lead back to a parent directory (default: false).
    pub follow_links: bool,
    /// The number of levels below the directory to search (default: unlimited).
    pub max_depth: Option<usize>,
    /// Search directories named `node_modules` even if neither `path` nor `pattern` names one (default: false).
    pub include_node_modules: bool,
    /// The user's global ignore file; see [`sinew_walk::GlobalExcludes`].
    pub global_excludes: Option<GlobalExcludes>,
}

impl GlobOptions {
    /// Creates the default options for a directory and a pattern.
    pub fn new(path: impl Into<PathBuf>, pattern: impl Into<GlobPattern>) -> GlobOptions {
        GlobOptions {
            pattern: pattern.into(),
            ignore: Vec::new(),
            path: path.into(),
            file_type: None,
            recursive: true,
            hidden: false,
            gitignore: true,
            cache: false,
            max_results: None,
            sort_by_mtime: false,
            follow_links: false,
            max_depth: None,
            include_node_modules: false,
            global_excludes: None,
        }
    }
}

/// One matching entry.
#[derive(Debug, Clone, PartialEq)]
pub struct GlobMatch<'a> {
    /// The path relative to the searched directory, with `/` separators; the given path if a file was searched.
    pub path: Cow<'a, str>,
    /// The type of the entry itself; links are not followed.
    pub file_type: FileType,
    /// The modification time in milliseconds since the epoch; `None` without `sort_by_mtime`.
    pub mtime: Option<f64>,
    /// The size in bytes; `None` without `sort_by_mtime`.
    pub size: Option<u64>,
}

/// The result of [`glob`]: rows of a shared scan, so that a large result needs four bytes per row.
#[derive(Debug, Clone)]
pub struct GlobResult {
    /// The scan that contains the rows.
    pub scan: Arc<Scan>,
    /// Indices into the scan, in result order.
    pub rows: Vec<u32>,
    /// The number of matching entries, including those beyond `max_results`.
    pub total_matches: usize,
    /// True if `max_results` excluded entries.
    pub limit_reached: bool,
    /// The reasons why the result is incomplete.
    pub warnings: Vec<String>,
    given: Option<String>,
}

impl GlobResult {
    /// Returns the matches in order.
    pub fn matches(&self) -> impl ExactSizeIterator<Item = GlobMatch<'_>> {
        self.rows.iter().map(|row| shown(self.scan.get(*row as usize), self.given.as_deref()))
    }
}

/// The matches as columns, for language bindings where many small values are expensive.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GlobColumns {
    /// All paths, concatenated.
    pub text: String,
    /// The length of each path in UTF-16 units.
    pub lengths: Vec<u32>,
    /// 1 for a file, 2 for a directory, 3 for a link.
    pub file_types: Vec<u8>,
    /// The values of [`GlobMatch::mtime`]; empty if they were not read.
    pub mtimes: Vec<f64>,
    /// The values of [`GlobMatch::size`], exact up to 2^53; empty if they were not read.
    pub sizes: Vec<f64>,
}

impl GlobResult {
    /// Returns the matches as columns.
    #[must_use]
    pub fn columns(&self) -> GlobColumns {
        let count = self.rows.len();
        let mut columns = GlobColumns {
            lengths: Vec::with_capacity(count),
            file_types: Vec::with_capacity(count),
            ..GlobColumns::default()
        };
        let mut text = Vec::with_capacity(self.scan.text_length() / self.scan.len().max(1) * count);
        for entry in self.rows.iter().map(|row| self.scan.get(*row as usize)) {
            text.extend_from_slice(entry.bytes());
            columns.lengths.push(u32::try_from(entry.bytes().len()).unwrap_or(u32::MAX));
            columns.file_types.push(match entry.file_type() {
                FileType::File => 1,
                FileType::Dir => 2,
                FileType::Symlink => 3,
            });
            columns.mtimes.extend(milliseconds(entry));
            #[allow(clippy::cast_precision_loss, reason = "JavaScript has no other number")]
            columns.sizes.extend(entry.size().map(|size| size as f64));
        }
        // ASCII, the usual case, has as many UTF-16 units as bytes.
        match String::from_utf8(text) {
            Ok(text) if self.given.is_none() && text.is_ascii() => columns.text = text,
            _ => (columns.text, columns.lengths) = self.paths(),
        }
        columns
    }

    fn paths(&self) -> (String, Vec<u32>) {
        let (mut text, mut lengths) = (String::new(), Vec::with_capacity(self.rows.len()));
        for GlobMatch { path, .. } in self.matches() {
            text.push_str(&path);
            lengths.push(u32::try_from(path.encode_utf16().count()).unwrap_or(u32::MAX));
        }
        (text, lengths)
    }
}

fn shown<'a>(entry: Entry<'a>, given: Option<&'a str>) -> GlobMatch<'a> {
    GlobMatch {
        path: given.map_or_else(|| entry.path(), Cow::Borrowed),
        file_type: entry.file_type(),
        mtime: milliseconds(entry),
        size: entry.size(),
    }
}

#[allow(clippy::cast_precision_loss, reason = "a time in milliseconds needs 41 bits")]
fn milliseconds(entry: Entry<'_>) -> Option<f64> {
    entry.mtime().map(|nanoseconds| (nanoseconds / 1_000) as f64 / 1_000.0)
}

/// Finds the matching entries below a directory.
///
/// Reads the directories that can contain a match, and looks up the names that a pattern contains literally. With
/// `cache`, it reads the whole tree unless a scan is cached. Compares each entry once; checks `cancel` once per
/// [`sinew_base::CHECK_INTERVAL`] entries of both.
///
/// # Errors
/// Returns an error if the pattern is invalid, the path does not exist, or the call is cancelled.
pub fn glob(options: &GlobOptions, cache: &ScanCache, pool: &Pool, cancel: &CancelToken) -> Result<GlobResult> {
    let cached = |scan: &ScanOptions, matcher: &Matcher| {
        let look = |scan: &Arc<Scan>| matcher.rows(scan, options, pool, cancel).map(|rows| (Arc::clone(scan), rows));
        if !options.cache {
            return look(&Arc::new(sinew_walk::scan_within(scan, matcher.scope(), pool, cancel)?));
        }
        cache.query(scan, true, pool, cancel, look, |(_, rows)| !rows.is_empty())
    };
    run(options, cancel, cached).map_err(|error| error.within("glob"))
}

/// Finds as [`glob`] does, but a passed deadline of `cancel` is not an error: returns the entries found so far, and
/// true if there may be more. Entries that were read before the deadline are still matched after it.
///
/// # Errors
/// Returns the errors of [`glob`] except the deadline.
pub fn glob_so_far(
    options: &GlobOptions,
    cache: &ScanCache,
    pool: &Pool,
    cancel: &CancelToken,
) -> Result<(GlobResult, bool)> {
    let untimed = cancel.clone().without_timeout();
    let mut partial = false;
    let cached = |scan: &ScanOptions, matcher: &Matcher| {
        let look = |scan: &Arc<Scan>| matcher.rows(scan, options, pool, &untimed).map(|rows| (Arc::clone(scan), rows));
        if !options.cache {
            let (scan, late) = sinew_walk::scan_within_so_far(scan, matcher.scope(), pool, cancel)?;
            partial = late;
            return look(&Arc::new(scan));
        }
        let (found, late) = cache.query_so_far(scan, true, pool, cancel, look, |(_, rows)| !rows.is_empty())?;
        partial = late;
        Ok(found)
    };
    let found = run(options, &untimed, cached).map_err(|error| error.within("glob"))?;
    Ok((found, partial))
}

/// Finds as [`glob`] does, in the scan that `cached` returns, or in a fresh one if it returns `None`.
#[cfg(target_os = "linux")]
pub(crate) fn glob_in(
    options: &GlobOptions,
    pool: &Pool,
    cancel: &CancelToken,
    cached: impl FnOnce(&ScanOptions) -> Result<Option<Arc<Scan>>>,
) -> Result<GlobResult> {
    let query = |wanted: &ScanOptions, matcher: &Matcher| {
        if let Some(scan) = cached(&ScanOptions { detail: Detail::Path, ..wanted.clone() })? {
            let rows = matcher.rows(&scan, options, pool, cancel)?;
            if wanted.detail == Detail::Path {
                return Ok((scan, rows));
            }
            if let Some(detailed) = scan.with_details(&rows, cancel)? {
                let count = u32::try_from(detailed.len()).unwrap_or(u32::MAX);
                return Ok((Arc::new(detailed), (0..count).collect()));
            }
        }
        let scan = Arc::new(sinew_walk::scan_within(wanted, matcher.scope(), pool, cancel)?);
        let rows = matcher.rows(&scan, options, pool, cancel)?;
        Ok((scan, rows))
    };
    run(options, cancel, query).map_err(|error| error.within("glob"))
}

fn run(
    options: &GlobOptions,
    cancel: &CancelToken,
    query: impl FnOnce(&ScanOptions, &Matcher) -> Result<(Arc<Scan>, Vec<u32>)>,
) -> Result<GlobResult> {
    cancel.check()?;
    let roots = roots(&options.path);
    let matcher = Matcher::new(&roots, options)?;
    let named = |name: &str| matcher.globs.as_ref().is_ok_and(|globs| globs.names(name));
    let scan_options = ScanOptions {
        hidden: options.hidden || matcher.names_dot,
        gitignore: options.gitignore,
        skip_node_modules: !options.include_node_modules
            && !named("node_modules")
            && !options.path.iter().any(|name| name == "node_modules"),
        follow_links: options.follow_links,
        max_depth: options.max_depth,
        detail: if options.sort_by_mtime { Detail::Full } else { Detail::Path },
        global_excludes: options.global_excludes.clone(),
        ..ScanOptions::new(&options.path)
    };
    let (scan, mut rows) = query(&scan_options, &matcher)?;
    if let (Err(error), true) = (&matcher.globs, rows.is_empty()) {
        return Err(error.clone());
    }
    if options.sort_by_mtime {
        rows.sort_by_key(|row| (std::cmp::Reverse(scan.get(*row as usize).mtime()), *row));
    }
    let total_matches = rows.len();
    rows.truncate(options.max_results.unwrap_or(usize::MAX));
    let given = scan.is_single_file().then(|| {
        let path = options.path.to_string_lossy();
        if cfg!(windows) { path.replace('\\', "/") } else { path.into_owned() }
    });
    let warnings = scan.warnings().to_vec();
    Ok(GlobResult { limit_reached: total_matches > rows.len(), scan, rows, total_matches, warnings, given })
}

/// Returns the absolute paths of the searched directory: as given, and with links resolved.
fn roots(path: &Path) -> Vec<String> {
    let paths = [std::path::absolute(path), std::fs::canonicalize(path)];
    let text = |path: PathBuf| {
        let path = path.to_string_lossy();
        if cfg!(windows) { path.replace('\\', "/") } else { path.into_owned() }
    };
    paths.into_iter().flatten().map(text).collect()
}

/// Removes a root from the start of a pattern, because the path may contain characters that are special in globs.
fn below<'a>(pattern: &'a str, roots: &[String]) -> Cow<'a, str> {
    let slashed = if cfg!(windows) { Cow::Owned(pattern.replace('\\', "/")) } else { Cow::Borrowed(pattern) };
    let inside = roots.iter().find_map(|root| {
        let root = root.trim_end_matches('/');
        let rest = sinew_walk::strip_folder(&slashed, root)?;
        let below = rest.is_empty() || rest.starts_with('/');
        below.then(|| pattern[root.len()..].trim_start_matches(std::path::is_separator))
    });
    // The leading `./` prevents a match at any depth.
    inside.map_or(Cow::Borrowed(pattern), |rest| Cow::Owned(format!("./{rest}")))
}

/// Returns a pattern without its "from the root".
fn plain_name(pattern: &str) -> &str {
    pattern.trim_start_matches("./").trim_start_matches('/')
}

/// Returns the path of the entry that a pattern spells, if the pattern contains special characters.
pub(crate) fn spelled_name(pattern: &str) -> Option<&str> {
    Some(plain_name(pattern)).filter(|name| name.contains(['*', '?', '[', ']', '{', '}', '!', ',', '\\']))
}

struct Matcher {
    globs: Result<GlobSet>,
    /// The paths that `ignore` leaves; `None` if it is empty.
    left: Option<GlobSet>,
    names_dot: bool,
    /// The pattern as the name of an entry, if it also contains special characters.
    literal: Option<String>,
    any_depth: bool,
}

impl Matcher {
    fn new(roots: &[String], options: &GlobOptions) -> Result<Matcher> {
        let syntax = GlobSyntax { any_depth: options.recursive, dot: true };
        let matcher = match &options.pattern {
            GlobPattern::Text(text) => Matcher::of_text(&below(text, roots), roots, syntax),
            GlobPattern::Items(items) => {
                let globs = GlobSet::of_items(items, syntax, roots)?;
                Matcher { names_dot: globs.names_dot(), globs: Ok(globs), left: None, literal: None, any_depth: false }
            }
        };
        let left = (!options.ignore.is_empty()).then(|| GlobSet::except(&options.ignore, syntax, roots));
        // If the scan excludes hidden entries, wildcards cannot match any.
        let dot = options.hidden || !matcher.names_dot;
        Ok(Matcher { globs: matcher.globs.map(|globs| globs.with_dot(dot)), left: left.transpose()?, ..matcher })
    }

    fn of_text(pattern: &str, roots: &[String], syntax: GlobSyntax) -> Matcher {
        // The path of a directory may contain braces, too, and is compared literally.
        let is_root = roots.iter().any(|root| root.contains('{') && pattern.contains(root.as_str()));
        let written = if is_root { Cow::Borrowed(pattern) } else { sinew_walk::literal_braces(pattern) };
        let globs = GlobSet::below(&written, syntax, roots);
        let plain = plain_name(pattern);
        let literal_dot = plain.starts_with('.') || plain.contains("/.");
        let names_dot = globs.as_ref().map_or(literal_dot, GlobSet::names_dot);
        Matcher {
            globs,
            left: None,
            names_dot,
            literal: spelled_name(pattern).map(str::to_string),
            any_depth: syntax.any_depth && !pattern.contains('/'),
        }
    }

    /// Returns the part of the tree that can contain a match; `None` for the whole tree.
    fn scope(&self) -> Option<Scope> {
        let name = self.literal.as_deref();
        if name.is_some() && self.any_depth {
            return None;
        }
        match &self.globs {
            Ok(globs) => globs.scope(name),
            Err(_) => name.map(Scope::of_path),
        }
    }

    /// Returns the matching entries in order; all threads of the pool compare them.
    fn rows(&self, scan: &Scan, options: &GlobOptions, pool: &Pool, cancel: &CancelToken) -> Result<Vec<u32>> {
        // `!a` is either the name of an entry or a negation, never both.
        let only_literal = self.literal.as_deref().is_some_and(|text| text.starts_with('!'))
            && scan.iter().any(|entry| self.is_literal(&entry));
        let globs = self.globs.as_ref().ok().filter(|_| !only_literal);
        let next = AtomicUsize::new(0);
        let found = Mutex::new((BTreeMap::new(), None));
        pool.broadcast((scan.len() / CHUNK).min(pool.size().saturating_sub(1)), |_| {
            loop {
                let first = next.fetch_add(CHUNK, Ordering::Relaxed);
                if first >= scan.len() {
                    break;
                }
                let rows = self.rows_in(first..scan.len().min(first + CHUNK), scan, globs, options, cancel);
                let mut found = found.lock();
                match rows {
                    Ok(rows) => drop(found.0.insert(first, rows)),
                    Err(aborted) => {
                        found.1 = Some(aborted);
                        break;
                    }
                }
            }
        });
        let (found, aborted) = found.into_inner();
        match aborted {
            Some(aborted) => Err(aborted.into()),
            None => Ok(found.into_values().flatten().collect()),
        }
    }

    fn rows_in(
        &self,
        range: Range<usize>,
        scan: &Scan,
        globs: Option<&GlobSet>,
        options: &GlobOptions,
        cancel: &CancelToken,
    ) -> Result<Vec<u32>, Aborted> {
        let mut rows = Vec::new();
        let mut ticker = CancelTicker::new(cancel);
        let asks_for_folders = [globs, self.left.as_ref()].into_iter().flatten().any(GlobSet::asks_for_folders);
        for entry in range.map(|row| scan.get(row)) {
            ticker.step()?;
            let is_dir = || match entry.file_type() {
                FileType::Symlink => asks_for_folders && entry.target_type() == Some(FileType::Dir),
                other => other == FileType::Dir,
            };
            let hit = globs.is_some_and(|globs| globs.is_match(entry.bytes(), is_dir())) || self.is_literal(&entry);
            let is_left = || self.left.as_ref().is_none_or(|left| left.is_match(entry.bytes(), is_dir()));
            if hit && is_left() && of_type(&entry, options.file_type) {
                rows.push(u32::try_from(entry.index()).unwrap_or(u32::MAX));
            }
        }
        Ok(rows)
    }

    fn is_literal(&self, entry: &Entry<'_>) -> bool {
        let literal = self.literal.as_deref().map(str::as_bytes);
        let before = literal.and_then(|text| entry.bytes().strip_suffix(text));
        before.is_some_and(|before| before.is_empty() || self.any_depth && before.ends_with(b"/"))
    }
}

fn of_type(entry: &Entry<'_>, wanted: Option<FileType>) -> bool {
    match wanted {
        None => true,
        Some(FileType::Symlink) => entry.file_type() == FileType::Symlink,
        Some(wanted) => entry.target_type() == Some(wanted),
    }
}
