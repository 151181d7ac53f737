//! Searches files: all threads search the candidates of a walk, and the rows are returned in path order.

#[cfg(target_os = "linux")]
mod cached_listing;
mod selection;

use std::convert::Infallible;
use std::fs::File;
use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use ignore::types::Types;
use parking_lot::Mutex;
use sinew_base::{Aborted, CancelTicker, CancelToken, Error, Result};
use sinew_pool::Pool;
use sinew_walk::{
    FileBatch, FileType, FolderTask, GlobalExcludes, OrderedWalk, Scan, ScanCache, ScanOptions, Scope, WalkStep,
};

use crate::SearchOptions;
use crate::accept::{Accept, AcceptedRoot};
use crate::collector::{CollectOptions, Mode};
use crate::file::{FileSearch, Job, Root, open, path_of};
use crate::glob::GlobPattern;
use crate::matcher::Size;
use crate::parallel::{FileResults, FileSource, Limits, SearchOutput, Step, search_in_order};
use crate::pattern::{Pattern, Syntax};
use crate::rows::Rows;
use crate::types::file_type;
#[cfg(target_os = "linux")]
pub(crate) use cached_listing::grep_in;
use selection::Selection;

/// The maximum number of warnings in a result.
const WARNINGS: usize = 100;

/// Options of [`grep`]: the pattern, the path, filters and limits.
#[derive(Debug, Clone)]
pub struct GrepOptions {
    /// A regular expression in the syntax of Rust's `regex` crate, or literal text with `literal`. What only a
    /// backtracking engine accepts (look-around, backreferences, atomic groups) is searched with one, with a warning. An
    /// empty pattern matches every line.
    pub pattern: String,
    /// A directory, a file, or a link to either. A file named here is searched independently of `glob` and `file_type`,
    /// even if it is binary (with a warning).
    pub path: PathBuf,
    /// Only search files that match these globs, which mean the same as in [`crate::GlobOptions`]. They filter the files
    /// of the walk; unlike `rg -g` they do not re-include ignored files.
    pub glob: Option<GlobPattern>,
    /// Only search files of this ripgrep type (`rust`, `js`).
    pub file_type: Option<String>,
    /// Search for the pattern as literal text. Default: `false`.
    pub literal: bool,
    /// Ignore case. Default: `false`.
    pub ignore_case: bool,
    /// Allow matches to span several lines. Default: `false`.
    pub multiline: bool,
    /// Search files whose name or directory begins with a dot. Files that `glob` names including the dot are always
    /// searched. Default: `true`.
    pub hidden: bool,
    /// Exclude ignored files. Default: `true`.
    pub gitignore: bool,
    /// The user's global ignore file. Default: `None`.
    pub global_excludes: Option<GlobalExcludes>,
    /// Use a cached scan. Default: `false`.
    pub cache: bool,
    /// The maximum number of rows. Default: unlimited.
    pub max_count: Option<u32>,
    /// The maximum number of matching lines per file; with 0, no file is searched. Default: unlimited.
    pub max_count_per_file: Option<u32>,
    /// The number of rows to skip. Default: 0.
    pub offset: u32,
    /// The number of lines to show before and after each match. Default: 0.
    pub context: Option<u32>,
    /// The number of lines to show before each match; overrides `context`.
    pub context_before: Option<u32>,
    /// The number of lines to show after each match; overrides `context`.
    pub context_after: Option<u32>,
    /// The maximum line width in characters: longer lines are cut to a window around the match. Default (and 0): 16 Mi.
    pub max_columns: Option<u32>,
    /// The kind of rows to collect. Default: [`Mode::Content`].
    pub mode: Mode,
    /// Called with each opened file; a rejected file is treated as missing. Default: all files are accepted.
    pub accept: Option<Accept>,
}

impl GrepOptions {
    /// Creates the default options for a pattern and a path.
    pub fn new(pattern: impl Into<String>, path: impl Into<PathBuf>) -> GrepOptions {
        GrepOptions {
            pattern: pattern.into(),
            path: path.into(),
            glob: None,
            file_type: None,
            literal: false,
            ignore_case: false,
            multiline: false,
            hidden: true,
            gitignore: true,
            global_excludes: None,
            cache: false,
            max_count: None,
            max_count_per_file: None,
            offset: 0,
            context: None,
            context_before: None,
            context_after: None,
            max_columns: None,
            mode: Mode::Content,
            accept: None,
        }
    }
}

/// Copies the options that are independent of files.
impl From<GrepOptions> for SearchOptions {
    fn from(options: GrepOptions) -> SearchOptions {
        SearchOptions {
            pattern: options.pattern,
            literal: options.literal,
            ignore_case: options.ignore_case,
            multiline: options.multiline,
            max_count: options.max_count,
            max_count_per_file: options.max_count_per_file,
            offset: options.offset,
            context: options.context,
            context_before: options.context_before,
            context_after: options.context_after,
            max_columns: options.max_columns,
            mode: options.mode,
        }
    }
}

/// The result of [`grep`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GrepResult {
    /// The rows in path order, in chunks of about a megabyte; see [`GrepResult::rows`].
    pub matches: Vec<Rows>,
    /// The number of rows in `matches`; with [`Mode::Count`] the number of matching lines. If `limit_reached` is true,
    /// there are more.
    pub total_matches: u32,
    /// The number of files that have rows.
    pub files_with_matches: u32,
    /// The number of files, in path order, that were searched until the result was complete.
    pub files_searched: u32,
    /// True if there are more than `max_count` rows, or a file has more than `max_count_per_file` matching lines.
    pub limit_reached: bool,
    /// The files that were not searched, or not completely.
    pub skipped: SkippedFiles,
    /// Every reason why the result is incomplete or differs from the request; at most 101 sentences.
    pub warnings: Vec<String>,
}

impl GrepResult {
    /// Returns the rows one by one.
    pub fn rows(&self) -> impl Iterator<Item = crate::Row<'_>> {
        self.matches.iter().flatten()
    }
}

/// The numbers of files that were not searched, or not completely.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SkippedFiles {
    /// Files with a NUL byte.
    pub binary: u32,
    /// Files that do not fit in memory (a line of more than 256 MiB, or a multi-line search of more than 1 GiB), and
    /// files with lines on which look-around or backreferences take too long.
    pub too_large: u32,
    /// Files that the system could not read.
    pub unreadable: u32,
}

/// Receives the rows of each file during the search; `Break` ends it.
pub type OnMatch<'a> = &'a mut (dyn FnMut(&Rows) -> ControlFlow<()> + Send);

/// Searches files for lines that match a pattern: returns the same as `rg --crlf --json` with these options, in path
/// order.
///
/// Files of any size are read completely. Files with a NUL byte are skipped as in `rg`, UTF-16 with a byte order mark
/// is transcoded, and invalid UTF-8 is searched as bytes and shown with U+FFFD. Pipes, sockets and devices are never
/// opened. The walk is that of [`sinew_walk::scan`]; it excludes `node_modules` unless `path` or `glob` names it.
///
/// The threads of `pool` share the work. The order of rows does not depend on the number of threads, and the search
/// stops as soon as the first `max_count` rows are known. `on_match` receives the rows in the same order during the
/// search, in chunks; the result contains them too. `cancel` is checked before each file and every 64 KiB within one (a
/// multi-line search reads the whole file into memory and only checks at each match); with look-around or
/// backreferences, before each line.
///
/// # Errors
/// Returns `InvalidArgument` or `LimitExceeded` if a pattern, glob or type is invalid, the errors of the walk if the
/// root cannot be read, and `Aborted` if the call is cancelled.
pub fn grep(
    options: &GrepOptions,
    cache: &ScanCache,
    pool: &Pool,
    cancel: &CancelToken,
    on_match: Option<OnMatch<'_>>,
) -> Result<GrepResult> {
    attempt(options, cache, pool, cancel, on_match).map_err(|error| error.within("grep"))
}

fn attempt(
    options: &GrepOptions,
    cache: &ScanCache,
    pool: &Pool,
    cancel: &CancelToken,
    on_match: Option<OnMatch<'_>>,
) -> Result<GrepResult> {
    cancel.check()?;
    let request = Request::new(options)?;
    if request.names_file()? {
        return request.named_file(pool, cancel, on_match);
    }
    request.tree(cache, pool, cancel, on_match)
}

fn syntax(options: &GrepOptions) -> Syntax {
    Syntax {
        literal: options.literal,
        ignore_case: options.ignore_case,
        multiline: options.multiline,
        skips_binary: true,
    }
}

/// The validated and compiled options.
struct Request<'a> {
    options: &'a GrepOptions,
    pattern: Pattern,
    collect: CollectOptions,
    limits: Limits,
    glob: Option<Selection>,
    types: Option<Types>,
    scan: ScanOptions,
}

impl<'a> Request<'a> {
    fn new(options: &'a GrepOptions) -> Result<Request<'a>> {
        let syntax = syntax(options);
        let context = [options.context, options.context_before, options.context_after];
        let mut collect = CollectOptions::new(options.mode, options.multiline, context, options.max_columns);
        collect.per_file = options.max_count_per_file.map_or(usize::MAX, |count| count as usize);
        let glob = options.glob.as_ref().map(|glob| Selection::new(glob, options.hidden)).transpose()?.flatten();
        let names_dot = glob.as_ref().is_some_and(Selection::names_dot);
        let names_modules = glob.as_ref().is_some_and(|glob| glob.globs.names("node_modules"))
            || options.path.components().any(|part| part.as_os_str() == "node_modules");
        Ok(Request {
            options,
            pattern: Pattern::lines(&options.pattern, syntax, Size::WHOLE)?,
            collect,
            limits: Limits {
                skip: options.offset as usize,
                most: options.max_count.map_or(usize::MAX, |count| count as usize),
            },
            glob,
            types: options.file_type.as_deref().map(file_type).transpose()?,
            scan: ScanOptions {
                hidden: options.hidden || names_dot,
                gitignore: options.gitignore,
                skip_node_modules: !names_modules,
                global_excludes: options.global_excludes.clone(),
                ..ScanOptions::new(&options.path)
            },
        })
    }

    /// Returns true if the path is a file, false for a directory.
    fn names_file(&self) -> Result<bool> {
        let path = &self.options.path;
        let metadata = std::fs::metadata(path)
            .map_err(|cause| Error::io(format!("failed to read \"{}\"", path.display()), &cause))?;
        if !metadata.is_file() && !metadata.is_dir() {
            return Err(Error::invalid(format!(
                "\"{}\" is a pipe, a socket or a device: name a file or a folder",
                path.display()
            )));
        }
        Ok(metadata.is_file())
    }

    /// Returns the part of the tree whose files the globs can select; `None` for the whole tree.
    fn scope(&self) -> Option<Scope> {
        self.glob.as_ref().and_then(Selection::scope)
    }

    /// Returns the indices of the entries to search.
    fn candidates(&self, scan: &Scan, cancel: &CancelToken) -> Result<Vec<u32>> {
        let mut ticker = CancelTicker::new(cancel);
        let mut files = Vec::new();
        for entry in scan.iter() {
            ticker.step()?;
            if entry.file_type() == FileType::File && self.selects(entry.bytes(), || entry.name()) {
                files.push(crate::rows::clamp(entry.index()));
            }
        }
        Ok(files)
    }

    /// Returns true if the glob and the type select a file, given its path and name.
    fn selects<'n>(&self, path: &[u8], name: impl FnOnce() -> &'n [u8]) -> bool {
        self.glob.as_ref().is_none_or(|glob| glob.is_match(path))
            && self.types.as_ref().is_none_or(|types| !types.matched(path_of(name()), false).is_ignore())
    }

    /// Opens the directory if [`GrepOptions::accept`] accepts all of it.
    fn accepted(&self, root: &Path) -> AcceptedRoot {
        self.options.accept.as_ref().map_or_else(AcceptedRoot::default, |accept| AcceptedRoot::open(root, accept))
    }

    /// Opens a file by its path below a root: through `accepted` if possible, otherwise with `open`. `None` if
    /// [`GrepOptions::accept`] rejects it.
    fn open(
        &self,
        accepted: &AcceptedRoot,
        root: &Path,
        path: &[u8],
        open: impl FnOnce() -> std::io::Result<File>,
    ) -> Option<std::io::Result<File>> {
        if let Some(file) = accepted.open_file(path) {
            return Some(Ok(file));
        }
        let opened = open();
        let accepts = match (&self.options.accept, &opened) {
            (Some(accept), Ok(file)) => accept.accepts_file(&root.join(path_of(path)), file),
            _ => true,
        };
        accepts.then_some(opened)
    }

    /// Searches a directory.
    fn tree(
        &self,
        cache: &ScanCache,
        pool: &Pool,
        cancel: &CancelToken,
        on_match: Option<OnMatch<'_>>,
    ) -> Result<GrepResult> {
        // If the first rows are enough, or needed at once, files are searched during the walk. Without a limit the scan
        // is completed first: alternating between listing directories and reading files takes a sixth longer.
        let cached = self.options.cache;
        if !cached && (self.limits.any() || on_match.is_some()) {
            return self.walked_tree(pool, cancel, on_match);
        }
        let look = |scan: &Arc<Scan>| Ok((Arc::clone(scan), self.candidates(scan, cancel)?));
        if !cached {
            let scan = Arc::new(sinew_walk::scan_within(&self.scan, self.scope(), pool, cancel)?);
            return self.scanned_tree(&scan, &self.candidates(&scan, cancel)?, pool, cancel, on_match);
        }
        let (scan, files) = cache.query(&self.scan, cached, pool, cancel, look, |(_, files)| !files.is_empty())?;
        self.scanned_tree(&scan, &files, pool, cancel, on_match)
    }

    /// Searches a directory during its walk.
    fn walked_tree(&self, pool: &Pool, cancel: &CancelToken, on_match: Option<OnMatch<'_>>) -> Result<GrepResult> {
        let walk = OrderedWalk::open_within(&self.scan, self.scope())?;
        let source = WalkedFiles { request: self, walk: &walk, accepted: self.accepted(walk.root()), cancel };
        let mut output = self.run(false, &source, pool, cancel, on_match)?;
        let mut warnings = std::mem::take(&mut output.walk_warnings);
        // The warnings of directories after the last file are included only if that file was searched.
        if output.complete {
            warnings.append(walk.take_warnings());
        }
        Ok(self.result(output, warnings.into_sentences()))
    }

    fn scanned_tree(
        &self,
        scan: &Scan,
        files: &[u32],
        pool: &Pool,
        cancel: &CancelToken,
        on_match: Option<OnMatch<'_>>,
    ) -> Result<GrepResult> {
        let source = ListedFiles {
            files: files.len(),
            next: AtomicUsize::new(0),
            visit: {
                let (root, accepted) = (Root::new(scan.root()), self.accepted(scan.root()));
                move |search: &mut FileSearch<'_>, index: usize, limit: usize, results: &mut FileResults| {
                    let entry = scan.get(files[index] as usize);
                    if let Some(opened) = self.open(&accepted, scan.root(), entry.bytes(), || root.open(entry)) {
                        results.visit(|rows, warnings| search.search(opened, &entry.path(), limit, rows, warnings));
                    }
                }
            },
        };
        let output = self.run(false, &source, pool, cancel, on_match)?;
        Ok(self.result(output, scan.warnings().to_vec()))
    }

    fn named_file(&self, pool: &Pool, cancel: &CancelToken, on_match: Option<OnMatch<'_>>) -> Result<GrepResult> {
        let path = &self.options.path;
        let name = display_path(path);
        let visit = |search: &mut FileSearch<'_>, _: usize, limit: usize, results: &mut FileResults| {
            // Joining an empty path to it leaves the path unchanged.
            let bytes = path.as_os_str().as_encoded_bytes();
            if let Some(opened) = self.open(&AcceptedRoot::default(), Path::new(""), bytes, || open(path)) {
                results.visit(|rows, warnings| search.search(opened, &name, limit, rows, warnings));
            }
        };
        let source = ListedFiles { files: 1, next: AtomicUsize::new(0), visit };
        let output = self.run(true, &source, pool, cancel, on_match)?;
        Ok(self.result(output, Vec::new()))
    }

    fn run(
        &self,
        named: bool,
        source: &impl FileSource,
        pool: &Pool,
        cancel: &CancelToken,
        on_match: Option<OnMatch<'_>>,
    ) -> Result<SearchOutput> {
        let large = Mutex::new(());
        let stop = Arc::new(AtomicBool::new(false));
        let job = Job { pattern: &self.pattern, collect: self.collect, cancel, stop, large: &large, named };
        search_in_order(&job, source, self.limits, pool, on_match)
    }

    fn result(&self, output: SearchOutput, walk: Vec<String>) -> GrepResult {
        let mut warnings: Vec<String> = self.pattern.warning.iter().cloned().chain(walk).collect();
        warnings.extend(output.warnings);
        if warnings.len() > WARNINGS {
            let more = warnings.len() - WARNINGS;
            warnings.truncate(WARNINGS);
            warnings.push(format!("{more} more warnings"));
        }
        GrepResult { warnings, ..output.result }
    }
}

/// The files of a walk that runs during the search.
struct WalkedFiles<'a> {
    request: &'a Request<'a>,
    walk: &'a OrderedWalk,
    accepted: AcceptedRoot,
    cancel: &'a CancelToken,
}

impl FileSource for WalkedFiles<'_> {
    type Batch = FileBatch;
    type Folder = FolderTask;

    fn helpers(&self, pool: &Pool) -> usize {
        pool.size()
    }

    fn next(&self, most: usize, threads: usize) -> Step<FileBatch, FolderTask> {
        match self.walk.next(most, threads) {
            WalkStep::Files(batch) => Step::Files(batch),
            WalkStep::Folder(folder) => Step::Folder(folder),
            WalkStep::Wait => Step::Wait,
            WalkStep::End => Step::End,
        }
    }

    fn read(&self, folder: FolderTask, buffer: &mut Vec<u8>) -> std::result::Result<(), Aborted> {
        self.walk.read(folder, buffer, |path, name| self.request.selects(path, || name), self.cancel)
    }

    fn search(
        &self,
        batch: &FileBatch,
        search: &mut FileSearch<'_>,
        limit: &dyn Fn() -> Option<usize>,
        results: &mut FileResults,
    ) {
        results.walk_warnings = batch.warnings.clone();
        for file in batch.files() {
            let Some(limit) = limit() else { return };
            let path = file.path();
            let open = || self.walk.open_file(file);
            if let Some(opened) = self.request.open(&self.accepted, self.walk.root(), &path, open) {
                let name = String::from_utf8_lossy(&path);
                results.visit(|rows, warnings| search.search(opened, &name, limit, rows, warnings));
            }
        }
    }
}

/// Files that are known before the search begins, by index.
struct ListedFiles<V> {
    files: usize,
    next: AtomicUsize,
    visit: V,
}

impl<V: Fn(&mut FileSearch<'_>, usize, usize, &mut FileResults) + Sync> FileSource for ListedFiles<V> {
    type Batch = Range<usize>;
    type Folder = Infallible;

    fn helpers(&self, _: &Pool) -> usize {
        // Starting a thread for a few files costs more than it saves.
        self.files / 8
    }

    fn next(&self, most: usize, threads: usize) -> Step<Range<usize>, Infallible> {
        let count = (self.files / (threads * 4)).clamp(1, most);
        let first = self.next.fetch_add(count, Ordering::Relaxed);
        if first >= self.files { Step::End } else { Step::Files(first..(first + count).min(self.files)) }
    }

    fn read(&self, folder: Infallible, _: &mut Vec<u8>) -> std::result::Result<(), Aborted> {
        match folder {}
    }

    fn search(
        &self,
        batch: &Range<usize>,
        search: &mut FileSearch<'_>,
        limit: &dyn Fn() -> Option<usize>,
        results: &mut FileResults,
    ) {
        for index in batch.clone() {
            let Some(limit) = limit() else { return };
            (self.visit)(search, index, limit, results);
        }
    }
}

/// Returns a path as results show it.
fn display_path(path: &Path) -> String {
    let text = path.to_string_lossy();
    if cfg!(windows) { text.replace('\\', "/") } else { text.into_owned() }
}
