//! Options of a watcher, and what it reports.

use std::path::PathBuf;
use std::time::Duration;

/// How a directory is watched.
#[derive(Debug, Clone)]
pub struct WatchOptions {
    /// Globs of paths that are neither watched nor named, as [`sinew_walk::GlobSet`] reads them. Default: none.
    pub ignore: Vec<String>,
    /// Whether ignore files count, and `node_modules` is left out. Default: true.
    pub gitignore: bool,
    /// Whether folders below the directory are watched too. Default: true.
    pub recursive: bool,
    /// The time after the first change in which more are gathered. Default: 20 ms.
    pub debounce: Duration,
    /// The most watches; folders beyond are scanned. Default: half of the system's limit, at most 65,536.
    pub max_watches: Option<usize>,
    /// The user's own ignore file. Default: none.
    pub global_excludes: Option<PathBuf>,
}

impl Default for WatchOptions {
    fn default() -> WatchOptions {
        WatchOptions {
            ignore: Vec::new(),
            gitignore: true,
            recursive: true,
            debounce: Duration::from_millis(20),
            max_watches: None,
            global_excludes: None,
        }
    }
}

/// How changes are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WatchMode {
    /// The system announces the changes of every folder.
    Events,
    /// Some folders have no watch and are scanned about once a second.
    Mixed,
    /// All folders are scanned.
    Scan,
}

impl WatchMode {
    /// The name of the mode: `"events"`, `"mixed"` or `"scan"`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            WatchMode::Events => "events",
            WatchMode::Mixed => "mixed",
            WatchMode::Scan => "scan",
        }
    }
}

/// The kind of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ChangeKind {
    /// The path is new.
    Created,
    /// The content or the attributes of a file changed.
    Changed,
    /// The path is gone.
    Deleted,
    /// The path has another name, with everything below it.
    Renamed,
    /// Changes of content may have been missed. Names are not: they are compared again.
    Overflow,
}

impl ChangeKind {
    /// The name of the kind: `"created"`, `"changed"`, `"deleted"`, `"renamed"` or `"overflow"`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            ChangeKind::Created => "created",
            ChangeKind::Changed => "changed",
            ChangeKind::Deleted => "deleted",
            ChangeKind::Renamed => "renamed",
            ChangeKind::Overflow => "overflow",
        }
    }
}

/// A change of a path below the watched directory.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Change {
    /// The change.
    pub kind: ChangeKind,
    /// The path below the watched directory, with `/` between names; empty for an overflow.
    pub path: Vec<u8>,
    /// The new path of a rename.
    pub to: Option<Vec<u8>>,
}

#[cfg(target_os = "linux")]
impl Change {
    pub(crate) fn new(kind: ChangeKind, path: &[u8]) -> Change {
        Change { kind, path: path.to_vec(), to: None }
    }
}
