//! Searches one file: it is opened once, read once and never mapped, because truncating a mapped file would crash the
//! process.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use grep_searcher::{BinaryDetection, Searcher};
use parking_lot::Mutex;
use sinew_base::{CancelToken, PageBuffer};
use sinew_walk::Entry;

use crate::blocks::Blocks;
use crate::collector::{CollectOptions, Collector, Mode};
use crate::matcher::{End, PatternMatcher};
use crate::pattern::Pattern;
use crate::rows::Rows;

/// The size of ripgrep's first read: a file that is binary within it yields no results.
const FIRST: usize = 64 << 10;
/// The maximum size of a text that is read completely before it is searched, which avoids moving lines in a buffer and
/// copying the text twice. It fits the cache of a core.
const WHOLE: usize = 1 << 20;
/// The length of the longest byte order mark.
const BOM: usize = 3;
/// The maximum size of a file for a multi-line search, in bytes.
const MULTILINE_LIMIT: u64 = 1 << 30;
/// Only one file larger than this is in memory at a time.
const LARGE: usize = 16 << 20;

/// Paths longer than this are opened step by step.
const LONG_PATH: usize = 3_900;

/// The state shared by all threads of a search.
pub(crate) struct Job<'a> {
    pub(crate) pattern: &'a Pattern,
    pub(crate) collect: CollectOptions,
    pub(crate) cancel: &'a CancelToken,
    /// True once enough rows were found.
    pub(crate) stop: Arc<AtomicBool>,
    /// Locked while a large file is in memory.
    pub(crate) large: &'a Mutex<()>,
    /// The caller named the file, so it is searched even if it is binary.
    pub(crate) named: bool,
}

impl Job<'_> {
    /// Creates a searcher that stops at a NUL byte, except in a file that the caller named. Each file gets a new
    /// searcher: a long line grows the buffer, and a larger chunk of the next file would reveal NUL bytes after the
    /// last requested match, so that the result for one file would depend on another.
    fn binary_aware(&self) -> Searcher {
        let binary = if self.named { BinaryDetection::none() } else { BinaryDetection::quit(0) };
        self.collect.searcher(self.pattern, binary)
    }

    /// Fails if the search has ended.
    fn go_on(&self) -> io::Result<()> {
        match self.stop.load(Ordering::Relaxed) || self.cancel.is_cancelled() {
            true => Err(io::Error::other("the search is over")),
            false => Ok(()),
        }
    }
}

/// The result of searching one file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct FileSearchResult {
    pub(crate) outcome: Outcome,
    /// True if the file has more matching lines than [`CollectOptions::per_file`].
    pub(crate) more: bool,
}

impl From<Outcome> for FileSearchResult {
    fn from(outcome: Outcome) -> FileSearchResult {
        FileSearchResult { outcome, more: false }
    }
}

/// How the search of a file ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Outcome {
    #[default]
    Searched,
    Binary,
    TooLarge,
    Unreadable,
    /// The file was deleted after the directory was read.
    Gone,
}

/// The searcher of one thread with its buffers.
pub(crate) struct FileSearch<'a> {
    job: &'a Job<'a>,
    matcher: PatternMatcher,
    /// Searches text without NUL bytes, and files that the caller named.
    text: Searcher,
    buffer: PageBuffer,
    whole: Vec<u8>,
    /// `None` if the pattern cannot be searched in blocks.
    blocks: Option<Blocks>,
}

impl<'a> FileSearch<'a> {
    pub(crate) fn new(job: &'a Job<'a>) -> FileSearch<'a> {
        FileSearch {
            job,
            matcher: job.pattern.matcher.for_thread(End { cancel: job.cancel.clone(), stop: Arc::clone(&job.stop) }),
            text: job.collect.searcher(job.pattern, BinaryDetection::none()),
            buffer: PageBuffer::with_room(FIRST),
            whole: Vec::new(),
            blocks: job.pattern.is_searched_in_blocks().then(Blocks::new),
        }
    }

    /// Searches a file, named `name` in the results, for at most `limit` matching lines. Warnings are added to
    /// `warnings`.
    pub(crate) fn search(
        &mut self,
        opened: io::Result<File>,
        name: &str,
        limit: usize,
        rows: &mut Rows,
        warnings: &mut Vec<String>,
    ) -> FileSearchResult {
        let mut file = match opened {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Outcome::Gone.into(),
            Err(error) => {
                warnings
                    .push(sinew_base::Error::io(format!("failed to open \"{name}\""), &error).message().to_string());
                return Outcome::Unreadable.into();
            }
        };
        let matcher = &self.matcher;
        let mut collector = Collector::new(matcher, self.job.collect, limit, name, rows, self.job.cancel);
        if !collector.wants_any() {
            return Outcome::Searched.into();
        }
        let searched = Self::read(
            self.job,
            &mut self.text,
            (&mut self.buffer, &mut self.whole, &mut self.blocks),
            matcher,
            &mut file,
            &mut collector,
        );
        let (found, binary_at, more) = (collector.found, collector.binary_at, collector.more);
        let shows_nul = collector.shows_nul;
        let outcome = match searched {
            Ok(outcome) => outcome,
            // The search has ended, which is not an error of the file.
            Err(_) if self.job.stop.load(Ordering::Relaxed) || self.job.cancel.is_cancelled() => Outcome::Searched,
            // All that is requested was found before.
            Err(_) if collector.is_full() => Outcome::Searched,
            Err(error) if error.to_string().contains("allocation limit") => Outcome::TooLarge,
            Err(error) => {
                warnings
                    .push(sinew_base::Error::io(format!("failed to read \"{name}\""), &error).message().to_string());
                Outcome::Unreadable
            }
        };
        match (outcome, binary_at) {
            (Outcome::TooLarge, _) => {
                let why = match self.job.collect.multiline {
                    true => "it is too large for a multi-line search",
                    false => "one of its lines does not fit in memory",
                };
                warnings.push(format!("\"{name}\" was not searched completely: {why}"));
            }
            (Outcome::Binary, Some(at)) if found > 0 => {
                warnings.push(format!("\"{name}\" is binary: the search stopped at the NUL byte at {at}"));
                if self.job.collect.mode == Mode::Count {
                    // The count of a part must not look like the count of the whole file.
                    collector.found = 0;
                }
            }
            _ if self.job.named && (shows_nul || binary_at.is_some()) => {
                warnings.push(format!("\"{name}\" is binary: it contains NUL bytes and was searched as text"));
            }
            _ => {}
        }
        collector.close();
        if let Some(omission) = self.matcher.take_omission(&format!("\"{name}\"")) {
            warnings.push(omission);
            if outcome == Outcome::Searched {
                return FileSearchResult { outcome: Outcome::TooLarge, more };
            }
        }
        FileSearchResult { outcome, more }
    }

    fn read(
        job: &Job<'_>,
        text: &mut Searcher,
        (buffer, whole, blocks): (&mut PageBuffer, &mut Vec<u8>, &mut Option<Blocks>),
        matcher: &PatternMatcher,
        file: &mut File,
        collector: &mut Collector<'_>,
    ) -> io::Result<Outcome> {
        buffer.clear();
        let mut ended = buffer.read(file, FIRST)?;
        let first = buffer.content();
        collector.begins_with(first);
        let (encoded, together) = (has_bom(first), text.multi_line_with_matcher(matcher));
        let mut binary_aware_first = false;
        if !encoded && let Some(at) = memchr::memchr(0, first) {
            collector.binary_at = Some(at as u64);
            // ripgrep searches the bytes it read for a byte order mark before it reads on, and finds lines that end
            // within them even if the file is binary.
            binary_aware_first = !job.named && !together && at >= BOM && memchr::memchr(b'\n', &first[..BOM]).is_some();
            if !job.named && !binary_aware_first {
                return Ok(Outcome::Binary);
            }
        }
        let plain = !encoded && !binary_aware_first;
        if !ended
            && plain
            && !job.named
            && !together
            && let Some(blocks) = blocks
            // A file that cannot be read twice is not scanned first.
            && file.stream_position().is_ok_and(|at| at == buffer.content().len() as u64)
        {
            if blocks.rule_out(matcher, buffer.content(), file, || job.go_on())? {
                return Ok(Outcome::Searched);
            }
            file.seek(SeekFrom::Start(buffer.content().len() as u64))?;
        }
        if !ended && plain {
            let looked_at = first.len();
            ended = buffer.read(file, WHOLE)? && memchr::memchr(0, &buffer.content()[looked_at..]).is_none();
        }
        let first = buffer.content();
        let mut guarded = CancellableReader { job, inner: first.chain(file) };
        if ended && plain {
            // A file that fits needs neither a second buffer nor a second scan for NUL bytes.
            text.search_slice(matcher, first, &mut *collector)?;
            return Ok(Outcome::Searched);
        }
        if !encoded && together {
            let _one = match guarded.inner.get_ref().1.metadata()?.len() {
                size if size > MULTILINE_LIMIT => return Ok(Outcome::TooLarge),
                size if size > LARGE as u64 => Some(job.large.lock()),
                _ => None,
            };
            whole.clear();
            (&mut guarded).take(MULTILINE_LIMIT + 1).read_to_end(whole)?;
            if whole.len() as u64 > MULTILINE_LIMIT {
                *whole = Vec::new();
                return Ok(Outcome::TooLarge);
            }
            let searched = job.binary_aware().search_slice(matcher, whole, &mut *collector);
            if whole.len() > LARGE {
                *whole = Vec::new();
            }
            searched?;
        } else {
            job.binary_aware().search_reader(matcher, guarded, &mut *collector)?;
        }
        let binary = !job.named && collector.binary_at.is_some();
        Ok(if binary { Outcome::Binary } else { Outcome::Searched })
    }
}

/// Returns true if the text begins with the byte order mark of UTF-8 or UTF-16.
fn has_bom(text: &[u8]) -> bool {
    [&b"\xEF\xBB\xBF"[..], b"\xFE\xFF", b"\xFF\xFE"].iter().any(|bom| text.starts_with(bom))
}

/// A reader that fails once the search has ended.
struct CancellableReader<'a, R> {
    job: &'a Job<'a>,
    inner: R,
}

impl<R: Read> Read for CancellableReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.job.go_on()?;
        self.inner.read(buffer)
    }
}

/// Opens a file for reading. A pipe that replaced the file does not block.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.custom_flags(careful().bits() as i32);
    }
    options.open(path)
}

#[cfg(unix)]
pub(crate) fn careful() -> rustix::fs::OFlags {
    rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY
}

/// The root of a walk, opened if the system supports relative paths, so that paths are not resolved from `/` each time.
pub(crate) struct Root<'a> {
    path: &'a Path,
    #[cfg(unix)]
    folder: Option<File>,
}

impl<'a> Root<'a> {
    pub(crate) fn new(path: &'a Path) -> Root<'a> {
        Root {
            path,
            #[cfg(unix)]
            folder: File::open(path).ok(),
        }
    }

    /// Opens an entry of the walk as [`open`] does.
    pub(crate) fn open(&self, entry: Entry<'_>) -> io::Result<File> {
        // A path that is too long for one system call is opened step by step.
        if self.path.as_os_str().len() + entry.bytes().len() > LONG_PATH {
            return entry.open();
        }
        #[cfg(unix)]
        if let Some(folder) = &self.folder {
            use rustix::fs::{Mode, OFlags, openat};
            let flags = OFlags::RDONLY | OFlags::CLOEXEC | careful();
            let path = path_of(entry.bytes());
            return Ok(rustix::io::retry_on_intr(|| openat(folder, path.as_ref(), flags, Mode::empty()))?.into());
        }
        open(&self.path.join(path_of(entry.bytes())))
    }
}

/// Returns the path of an entry, relative to the root.
pub(crate) fn path_of(bytes: &[u8]) -> Cow<'_, Path> {
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt;
        Cow::Borrowed(Path::new(std::ffi::OsStr::from_bytes(bytes)))
    }
    #[cfg(not(unix))]
    Cow::Owned(std::path::PathBuf::from(String::from_utf8_lossy(bytes).into_owned()))
}
