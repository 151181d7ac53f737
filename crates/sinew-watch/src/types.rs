//! The options and the results of a watcher.

use std::time::Duration;

/// How a directory is watched.
#[derive(Debug, Clone)]
pub struct WatchOptions {
    /// Globs of paths that are neither watched nor reported, as [`sinew_walk::GlobSet`] parses them. Default: none.
    pub ignore: Vec<String>,
    /// Apply ignore files, and exclude `node_modules`. Default: true.
    pub gitignore: bool,
    /// Also watch subdirectories. Default: true.
    pub recursive: bool,
    /// The time after the first change during which more are collected. Default: 20 ms.
    pub debounce: Duration,
    /// The maximum number of watches; other directories are scanned. Default: half of the system's limit, at most
    /// 65,536.
    pub max_watches: Option<usize>,
    /// The user's global ignore file. Default: `None`.
    pub global_excludes: Option<sinew_walk::GlobalExcludes>,
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

/// How changes are detected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WatchMode {
    /// The system reports the changes of every directory.
    Events,
    /// Some directories have no watch and are scanned about once a second.
    Mixed,
    /// All directories are scanned.
    Scan,
}

impl WatchMode {
    /// Returns the name of the mode: `"events"`, `"mixed"` or `"scan"`.
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
    /// The path was renamed, with everything below it.
    Renamed,
    /// Changes of content may have been missed. Changes of names are complete, because names are compared again.
    Overflow,
}

impl ChangeKind {
    /// Returns the name of the kind: `"created"`, `"changed"`, `"deleted"`, `"renamed"` or `"overflow"`.
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
    /// The kind of the change.
    pub kind: ChangeKind,
    /// The path below the watched directory, with `/` separators; empty for an overflow.
    pub path: Vec<u8>,
    /// The new path of a rename; `None` for any other change.
    pub to: Option<Vec<u8>>,
}

#[cfg(target_os = "linux")]
impl Change {
    pub(crate) fn new(kind: ChangeKind, path: &[u8]) -> Change {
        Change { kind, path: path.to_vec(), to: None }
    }
}
