//! Options of an index, and what it tells of itself.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

/// The time at which files are read into the index without [`Index::build`](crate::Index::build).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum BuildPolicy {
    /// In the background, from 5,000 files or 32 MB on, at the second search.
    #[default]
    Auto,
    /// In the background, at the first search.
    Always,
    /// Not at all.
    Never,
}

/// Options of an index: freshness, limits and the place on disk.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct IndexOptions {
    /// The user's own ignore file; see [`sinew_walk::global_excludes`].
    pub global_excludes: Option<PathBuf>,
    /// The time at which files are read unasked.
    pub build: BuildPolicy,
    /// Look at every stamp in each call, whatever the system announces.
    pub sweep: bool,
    /// The most watches (default: 65,536; together with those of other indexes at most that, and half of what the system
    /// grants).
    pub max_watches: Option<usize>,
    /// The folder of the caches, in which the index lies on disk. None: in memory alone.
    pub cache: Option<PathBuf>,
    /// The most bytes of the index on disk (default: 2 GiB). What does not fit is searched.
    pub max_disk: Option<u64>,
    /// The most bytes of lists in memory, where there is no place on disk (default: 32 MiB). What does not fit is searched.
    pub max_memory: Option<u64>,
    /// The user's home: neither it nor a folder above it is held.
    pub home: Option<PathBuf>,
}

// Only the index of Linux holds anything.
#[cfg(target_os = "linux")]
impl IndexOptions {
    pub(crate) const DISK: u64 = 2 << 30;
    pub(crate) const MEMORY: u64 = 32 << 20;
}

/// Numbers about the work of an index.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IndexCounts {
    /// Times that every stamp was looked at.
    pub sweeps: u64,
    /// Times that the system lost events.
    pub overflows: u64,
    /// Times that the tree was read anew because the root was another folder.
    pub reopened: u64,
    /// Changes that no event announced.
    pub surprises: u64,
    /// Files at which reading ended in a panic; from the second on nothing is held any more.
    pub panics: u64,
}

/// An index on disk, whether or not some process uses it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredIndex {
    /// The folder that it is of; none where the index does not say so: it was never whole, or is damaged.
    pub root: Option<PathBuf>,
    /// The root does not exist any more.
    pub is_root_gone: bool,
    /// The folder that it lies in.
    pub folder: PathBuf,
    /// Bytes of its files.
    pub bytes: u64,
    /// The time of its last use.
    pub used: SystemTime,
}

/// The time without use after which an index is deleted.
const UNUSED: Duration = Duration::from_secs(30 * 24 * 3_600);

impl StoredIndex {
    /// Returns how long nobody used it. A time of use that lies ahead is no reason to delete.
    #[must_use]
    pub fn unused(&self, now: SystemTime) -> Duration {
        now.duration_since(self.used).unwrap_or_default()
    }

    /// Tells whether nobody used it for so long that it is deleted.
    #[must_use]
    pub fn is_old(&self, now: SystemTime) -> bool {
        self.unused(now) >= UNUSED
    }
}

/// The way in which an index is kept fresh.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Freshness {
    /// Nothing is held: each call walks.
    #[default]
    Walk,
    /// Each call looks at every stamp.
    Sweep,
    /// The system announces changes.
    Watch,
}

/// The stages of an index.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum IndexState {
    /// The folder was not listed yet, or is listed for the first time.
    #[default]
    Listing,
    /// Nothing is held: each call walks.
    Plain,
    /// Files are read into the index.
    Building,
    /// The list of files is held, and the index is as whole as it was asked to be.
    Ready,
    /// It was closed.
    Closed,
}

/// The state of an index as of its last barrier.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IndexStatus {
    /// The stage that it is in.
    pub state: IndexState,
    /// The reason why it is not watched in whole, as a sentence.
    pub reason: Option<String>,
    /// Files of the tree.
    pub listed: usize,
    /// Files in the segments that are always searched: noise, UTF-16, secrets by name.
    pub odd: usize,
    /// Binary files in the segments.
    pub binary: usize,
    /// Bytes of the texts in the segments.
    pub text: u64,
    /// The time that the last barrier took.
    pub barrier: Duration,
    /// The way in which it is kept fresh.
    pub freshness: Freshness,
    /// Folders that are held.
    pub folders: usize,
    /// Folders whose changes are announced by nobody; they are looked at in each call.
    pub unwatched: usize,
    /// Watches.
    pub watches: usize,
    /// The index lies on disk.
    pub persisted: bool,
    /// This process is the one that writes it.
    pub writer: bool,
    /// Segments.
    pub segments: usize,
    /// Bytes of the segments.
    pub bytes: u64,
    /// Of these, bytes in memory.
    pub memory: u64,
    /// Files in the segments.
    pub files: usize,
    /// Of these, files that are as they were when they were read.
    pub current: usize,
    /// A limit of bytes was reached: other files are searched.
    pub full: bool,
    /// Numbers about its work.
    pub counts: IndexCounts,
}
