//! Search of files: the candidates of a walk in path order, searched by all threads, answered in path order.

use std::fs::File;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use ignore::types::Types;
use sinew_base::{Cancel, Error, Pace, Result};
use sinew_pool::Pool;
use sinew_walk::{Entry, FileType, GlobSet, GlobSyntax, Scan, ScanCache, ScanOptions};

use crate::SearchOptions;
use crate::collector::{Keep, Mode};
use crate::crew::{Answer, Found, Limits, search_in_order};
use crate::file::{FileSearch, Job, Outcome, Root, open, path_of};
use crate::pattern::{Pattern, Size, Syntax};
use crate::rows::Rows;
use crate::types::file_type;

/// The most warnings that a result holds.
const WARNINGS: usize = 100;

/// What to search, and where.
#[derive(Debug, Clone)]
pub struct GrepOptions {
    /// A regular expression in the syntax of Rust's `regex` crate, or text with `literal`. An empty one matches
    /// every line.
    pub pattern: String,
    /// A folder, a file, or a link to either. A file that is named here is searched whatever `glob` and
    /// `file_type` say, also where it is binary (with a warning).
    pub path: PathBuf,
    /// Only files that these globs match: `!` negates, commas outside of braces separate. They choose among the files
    /// that the walk yields; unlike `rg -g` they bring no ignored file back.
    pub glob: Option<String>,
    /// Only files of this type of ripgrep (`rust`, `js`).
    pub file_type: Option<String>,
    /// Search for the pattern as it stands. Default: `false`.
    pub literal: bool,
    /// Upper and lower case are the same. Default: `false`.
    pub ignore_case: bool,
    /// A match may run over several lines. Default: `false`.
    pub multiline: bool,
    /// Search files whose name or folder begins with a dot; those that `glob` names with their dot always are.
    /// Default: `true`.
    pub hidden: bool,
    /// Leave out what ignore rules name. Default: `true`.
    pub gitignore: bool,
    /// The user's own ignore file. Default: none.
    pub global_excludes: Option<PathBuf>,
    /// Use a scan that the cache holds. Default: `false`.
    pub cache: bool,
    /// At most this many rows in all. Default: all.
    pub max_count: Option<u32>,
    /// At most this many matching lines of each file. Default: all.
    pub max_count_per_file: Option<u32>,
    /// Leave out the first rows. Default: 0.
    pub offset: u32,
    /// Lines to show before and after each match. Default: 0.
    pub context: Option<u32>,
    /// Lines to show before; beats `context`.
    pub context_before: Option<u32>,
    /// Lines to show after; beats `context`.
    pub context_after: Option<u32>,
    /// The widest line, in characters: a longer one is cut to a window that holds the match. Default (and 0):
    /// 16 Mi.
    pub max_columns: Option<u32>,
    /// What to collect. Default: [`Mode::Content`].
    pub mode: Mode,
    /// Asked about each file once it is open; one that it does not accept counts as if it was not there. Default: all
    /// are accepted.
    pub accept: Option<Accept>,
}

/// A function of a path and the file that was opened by it.
type AcceptFile = dyn Fn(&Path, &File) -> bool + Send + Sync;

/// Decides whether an open file, found by this path, is searched.
#[derive(Clone)]
pub struct Accept(Arc<AcceptFile>);

impl Accept {
    /// Decides by `accept`, which several threads call.
    pub fn new(accept: impl Fn(&Path, &File) -> bool + Send + Sync + 'static) -> Accept {
        Accept(Arc::new(accept))
    }
}

impl std::fmt::Debug for Accept {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Accept")
    }
}

impl GrepOptions {
    /// The defaults for a pattern and a path.
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

/// The part that has nothing to do with files.
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

/// What [`grep`] found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GrepResult {
    /// The rows, in path order, in pieces of about a megabyte; see [`GrepResult::rows`].
    pub matches: Vec<Rows>,
    /// The rows; with [`Mode::Count`] the matching lines that they stand for.
    pub total_matches: u32,
    /// How many files the rows come from.
    pub files_with_matches: u32,
    /// How many files were searched, in path order, until the answer was complete.
    pub files_searched: u32,
    /// There is more than `max_count`.
    pub limit_reached: bool,
    /// Files that were not searched, or not to their end.
    pub skipped: Skipped,
    /// Whatever makes the answer less than complete or other than asked; at most 101 sentences.
    pub warnings: Vec<String>,
}

impl GrepResult {
    /// The rows one by one.
    pub fn rows(&self) -> impl Iterator<Item = crate::Row<'_>> {
        self.matches.iter().flatten()
    }
}

/// Counts of files that were not searched, or not to their end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Skipped {
    /// They hold a NUL byte.
    pub binary: u32,
    /// They cannot be held in memory: a line of more than 256 MiB, or a multi-line search of more than 1 GiB.
    pub too_large: u32,
    /// The system refused them.
    pub unreadable: u32,
}

/// Takes the rows of each file while the search goes on; `Break` ends it.
pub type OnMatch<'a> = &'a mut (dyn FnMut(&Rows) -> ControlFlow<()> + Send);

/// Searches files for lines that match a pattern: the same as `rg --crlf --json` with these options, in path order.
///
/// Files are read whole, whatever their size. Files with a NUL byte are skipped as `rg` does, UTF-16 with a byte order
/// mark is transcoded, invalid UTF-8 is searched as bytes and shown with U+FFFD. Pipes, sockets and devices are never
/// opened. The walk is that of [`sinew_walk::scan`]; it leaves out `node_modules` unless `path` or `glob` names it.
///
/// The threads of `pool` share the work. Rows come in path order whatever their number, and the search stops as
/// soon as `max_count` rows are known to be the first. `on_match` gets rows in the same order while the search runs,
/// a piece at a time; they are in the result too. `cancel` is looked at before each file and every 64 KiB within one
/// (a multi-line search holds the file in memory and looks only at each match).
///
/// # Errors
/// `InvalidArgument` or `LimitExceeded` for a pattern, glob or type that cannot be used, those of the walk for a root
/// that cannot be read, and the abort.
pub fn grep(
    options: &GrepOptions,
    cache: &ScanCache,
    pool: &Pool,
    cancel: &Cancel,
    on_match: Option<OnMatch<'_>>,
) -> Result<GrepResult> {
    attempt(options, cache, pool, cancel, on_match).map_err(|error| error.within("grep"))
}

fn attempt(
    options: &GrepOptions,
    cache: &ScanCache,
    pool: &Pool,
    cancel: &Cancel,
    on_match: Option<OnMatch<'_>>,
) -> Result<GrepResult> {
    cancel.check()?;
    let request = Request::new(options)?;
    let metadata = std::fs::metadata(&options.path)
        .map_err(|cause| Error::io(format!("failed to read \"{}\"", options.path.display()), &cause))?;
    if metadata.is_file() {
        return request.named_file(pool, cancel, on_match);
    }
    if !metadata.is_dir() {
        return Err(Error::invalid(format!(
            "\"{}\" is a pipe, a socket or a device: name a file or a folder",
            options.path.display()
        )));
    }
    let look = |scan: &Arc<Scan>| Ok((Arc::clone(scan), request.candidates(scan, cancel)?));
    let (scan, files) =
        cache.query(&request.scan, options.cache, pool, cancel, look, |(_, files)| !files.is_empty())?;
    request.tree(&scan, &files, pool, cancel, on_match)
}

/// The options, checked and compiled.
struct Request<'a> {
    options: &'a GrepOptions,
    pattern: Pattern,
    keep: Keep,
    limits: Limits,
    glob: Option<GlobSet>,
    types: Option<Types>,
    scan: ScanOptions,
}

impl<'a> Request<'a> {
    fn new(options: &'a GrepOptions) -> Result<Request<'a>> {
        let syntax = Syntax {
            literal: options.literal,
            ignore_case: options.ignore_case,
            multiline: options.multiline,
            skips_binary: true,
        };
        let context = [options.context, options.context_before, options.context_after];
        let mut keep = Keep::new(options.mode, options.multiline, context, options.max_columns);
        keep.per_file = options.max_count_per_file.map_or(usize::MAX, |count| count as usize);
        let glob = options.glob.as_deref().filter(|glob| !glob.trim().is_empty());
        let glob = glob
            .map(|glob| GlobSet::new(glob, GlobSyntax { dot: options.hidden, ..GlobSyntax::default() }))
            .transpose()?;
        let names_dot = glob.as_ref().is_some_and(GlobSet::names_dot);
        let names_modules = glob.as_ref().is_some_and(|glob| glob.names("node_modules"))
            || options.path.components().any(|part| part.as_os_str() == "node_modules");
        Ok(Request {
            options,
            pattern: Pattern::lines(&options.pattern, syntax, Size::WHOLE)?,
            keep,
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

    /// The entries to search, by their index.
    fn candidates(&self, scan: &Scan, cancel: &Cancel) -> Result<Vec<u32>> {
        let mut pace = Pace::new(cancel);
        let mut files = Vec::new();
        for entry in scan.iter() {
            pace.step()?;
            if entry.file_type() == FileType::File && self.chooses(entry) {
                files.push(crate::rows::clamp(entry.index()));
            }
        }
        Ok(files)
    }

    /// Whether glob and type leave a file in.
    fn chooses(&self, file: Entry<'_>) -> bool {
        self.glob.as_ref().is_none_or(|glob| glob.is_match(file.bytes(), false))
            && self.types.as_ref().is_none_or(|types| !types.matched(path_of(file.name()), false).is_ignore())
    }

    /// Whether a file is kept from the search.
    fn refuses(&self, opened: &std::io::Result<File>, path: impl Fn() -> PathBuf) -> bool {
        match (&self.options.accept, opened) {
            (Some(accept), Ok(file)) => !(accept.0)(&path(), file),
            _ => false,
        }
    }

    fn tree(
        &self,
        scan: &Scan,
        files: &[u32],
        pool: &Pool,
        cancel: &Cancel,
        on_match: Option<OnMatch<'_>>,
    ) -> Result<GrepResult> {
        let root = Root::new(scan.root());
        let visit = |search: &mut FileSearch<'_>, index: usize, limit: usize, found: &mut Found| {
            let entry = scan.get(files[index] as usize);
            let opened = root.open(entry);
            if self.refuses(&opened, || scan.root().join(path_of(entry.bytes()))) {
                return Outcome::Gone;
            }
            found.visit(|rows, warnings| search.search(opened, &entry.path(), limit, rows, warnings))
        };
        let answer = self.run(false, files.len(), pool, cancel, on_match, visit)?;
        Ok(self.result(answer, scan.warnings()))
    }

    fn named_file(&self, pool: &Pool, cancel: &Cancel, on_match: Option<OnMatch<'_>>) -> Result<GrepResult> {
        let path = &self.options.path;
        let name = shown(path);
        let visit = |search: &mut FileSearch<'_>, _: usize, limit: usize, found: &mut Found| {
            let opened = open(path);
            if self.refuses(&opened, || path.clone()) {
                return Outcome::Gone;
            }
            found.visit(|rows, warnings| search.search(opened, &name, limit, rows, warnings))
        };
        let answer = self.run(true, 1, pool, cancel, on_match, visit)?;
        Ok(self.result(answer, &[]))
    }

    fn run(
        &self,
        named: bool,
        files: usize,
        pool: &Pool,
        cancel: &Cancel,
        on_match: Option<OnMatch<'_>>,
        visit: impl Fn(&mut FileSearch<'_>, usize, usize, &mut Found) -> Outcome + Sync,
    ) -> Result<Answer> {
        let (stop, large) = (AtomicBool::new(false), Mutex::new(()));
        let job = Job { pattern: &self.pattern, keep: self.keep, cancel, stop: &stop, large: &large, named };
        search_in_order(&job, files, self.limits, pool, on_match, visit)
    }

    fn result(&self, answer: Answer, walk: &[String]) -> GrepResult {
        let mut warnings: Vec<String> = self.pattern.warning.iter().chain(walk).cloned().collect();
        warnings.extend(answer.warnings);
        if warnings.len() > WARNINGS {
            let more = warnings.len() - WARNINGS;
            warnings.truncate(WARNINGS);
            warnings.push(format!("{more} more warnings"));
        }
        GrepResult { warnings, ..answer.result }
    }
}

/// A path as results name it.
fn shown(path: &Path) -> String {
    let text = path.to_string_lossy();
    if cfg!(windows) { text.replace('\\', "/") } else { text.into_owned() }
}
