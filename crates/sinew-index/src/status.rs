//! The options and the status of an index.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

/// When files are indexed without a call of [`Index::build`](crate::Index::build).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum BuildPolicy {
    /// In the background at the second search, from 5,000 files or 32 MB on.
    #[default]
    Auto,
    /// In the background at the first search.
    Always,
    /// Never.
    Never,
}

/// Options of an index: freshness, size limits and location.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct IndexOptions {
    /// The user's global ignore file; see [`sinew_walk::GlobalExcludes`]. Default: `None`.
    pub global_excludes: Option<sinew_walk::GlobalExcludes>,
    /// When files are indexed automatically.
    pub build: BuildPolicy,
    /// Check every stamp in each call instead of relying on events.
    pub sweep: bool,
    /// The maximum number of watches (default: 65,536; together with other indexes at most that, and half of the
    /// system's limit).
    pub max_watches: Option<usize>,
    /// The cache directory that contains the index. `None` keeps it in memory.
    pub cache: Option<PathBuf>,
    /// The maximum size of the index on disk in bytes (default: 2 GiB). Files beyond it are searched.
    pub max_disk: Option<u64>,
    /// The maximum size of lists in memory in bytes, if there is no cache directory (default: 32 MiB). Files beyond it
    /// are searched.
    pub max_memory: Option<u64>,
    /// The user's home directory: it and its parents are not indexed.
    pub home: Option<PathBuf>,
}

// Only the index of Linux uses these options.
#[cfg(target_os = "linux")]
impl IndexOptions {
    pub(crate) const DISK: u64 = 2 << 30;
    pub(crate) const MEMORY: u64 = 32 << 20;
}

/// Counters of an index.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IndexCounts {
    /// How often every stamp was checked.
    pub sweeps: u64,
    /// How often the system lost events.
    pub overflows: u64,
    /// How often the tree was read again because the root had become a different directory.
    pub reopened: u64,
    /// The number of changes without an event.
    pub surprises: u64,
    /// The number of files whose indexing panicked; the second panic disables the index.
    pub panics: u64,
}

/// An index on disk, whether or not a process uses it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredIndex {
    /// The indexed directory; `None` if the index is incomplete or damaged.
    pub root: Option<PathBuf>,
    /// True if the root does not exist any more.
    pub is_root_gone: bool,
    /// The directory that contains the index.
    pub folder: PathBuf,
    /// The total size of its files in bytes.
    pub bytes: u64,
    /// The time of its last use.
    pub used: SystemTime,
}

/// The time without use after which an index is deleted.
const UNUSED: Duration = Duration::from_secs(30 * 24 * 3_600);

impl StoredIndex {
    /// Returns how long the index was not used. A time of use in the future counts as now.
    #[must_use]
    pub fn unused(&self, now: SystemTime) -> Duration {
        now.duration_since(self.used).unwrap_or_default()
    }

    /// Returns true if the index has been unused long enough to be deleted.
    #[must_use]
    pub fn is_old(&self, now: SystemTime) -> bool {
        self.unused(now) >= UNUSED
    }
}

/// How an index is kept up to date.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Freshness {
    /// Nothing is indexed: each call walks.
    #[default]
    Walk,
    /// Each call checks every stamp.
    Sweep,
    /// The system reports changes.
    Watch,
}

/// The stages of an index.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum IndexState {
    /// The directory has not been listed yet, or is being listed for the first time.
    #[default]
    Listing,
    /// Nothing is indexed: each call walks.
    Plain,
    /// Files are being indexed.
    Building,
    /// The list of files is in memory, and the index is as complete as requested.
    Ready,
    /// The index was closed.
    Closed,
}

/// The state of an index at its last barrier.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IndexStatus {
    /// The current stage.
    pub state: IndexState,
    /// The reason why it is not watched completely, as a sentence; `None` if it is.
    pub reason: Option<String>,
    /// The number of files in the tree.
    pub listed: usize,
    /// The number of files in the segments that are always searched: noise, UTF-16, names of secrets.
    pub odd: usize,
    /// The number of binary files in the segments.
    pub binary: usize,
    /// The size of the texts in the segments in bytes.
    pub text: u64,
    /// The duration of the last barrier.
    pub barrier: Duration,
    /// How it is kept up to date.
    pub freshness: Freshness,
    /// The number of indexed directories.
    pub folders: usize,
    /// The number of directories without a watch; they are checked in each call.
    pub unwatched: usize,
    /// The number of watches.
    pub watches: usize,
    /// True if the index is on disk.
    pub persisted: bool,
    /// True if this process is the writer.
    pub writer: bool,
    /// The number of segments.
    pub segments: usize,
    /// The size of the segments in bytes.
    pub bytes: u64,
    /// The part of it in memory.
    pub memory: u64,
    /// The number of files in the segments.
    pub files: usize,
    /// The number of these files that have not changed since they were read.
    pub current: usize,
    /// True if a size limit was reached: other files are searched.
    pub full: bool,
    /// The counters.
    pub counts: IndexCounts,
}
