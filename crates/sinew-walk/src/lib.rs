//! Directory walks, ignore rules, globs and the scan cache.
//!
//! [`scan`] reads a folder with all that lies below it into a [`Scan`]: entries in path order, held in one
//! buffer. The threads of a pool share the work folder by folder. What the system tells when it lists a folder
//! (name and type) is all that a scan asks for; size and time cost one call per entry and come only with
//! [`Detail::Full`].
//!
//! An [`OrderedWalk`] yields files in path order while folders are still unread.
//!
//! Ignore rules are git's, of our own: ripgrep's `ignore` crate reads some patterns otherwise (`{a,b}` is no
//! alternation in a `.gitignore`, a class never matches `/`, an escaped blank at the end stays). An unclosed `[`,
//! whose line git drops, is itself, as in ripgrep.
//! [`GlobSet`] matches what callers write; both share the matcher of one path segment, whose time is limited by
//! pattern length times name length.
//!
//! A [`ScanCache`] keeps scans for a short while. It is an object with an owner: this crate has no statics and
//! reads no environment.

mod cache;
mod ends;
mod entry;
mod glob;
mod ignore;
mod options;
mod pattern;
#[cfg(unix)]
mod stamp;
mod sys;
mod walk;

pub use cache::{CachePolicy, ScanCache};
pub use entry::{Entry, Scan};
pub use glob::{GlobSet, GlobSyntax, strip_folder};
#[cfg(unix)]
pub use ignore::rule_files;
pub use ignore::{GitHome, global_excludes};
pub use options::{Detail, FileType, ScanOptions};
#[cfg(unix)]
pub use stamp::Stamp;
#[cfg(unix)]
pub use walk::tree::{FolderObserver, FolderPath, Hints, ListedFolder, Tree, TreeFiles, TreeScan, TreeUpdate};
pub use walk::{FileBatch, FolderTask, OrderedWalk, WalkFile, WalkStep, WalkWarnings, scan};
