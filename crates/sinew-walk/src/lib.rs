//! Directory walks, ignore rules, globs and the scan cache.
//!
//! [`scan`] reads a directory and everything below it into a [`Scan`]: entries in path order, stored in one buffer. The
//! threads of a pool share the work by directory. A scan only reads the name and type that the system reports in a
//! listing; size and time need one call per entry and are read only with [`Detail::Full`].
//!
//! An [`OrderedWalk`] yields files in path order while other directories are still unread.
//!
//! The ignore rules follow git and are implemented here, because ripgrep's `ignore` crate interprets some patterns
//! differently (`{a,b}` is not an alternation in a `.gitignore`, a class never matches `/`, an escaped trailing blank
//! is kept). An unclosed `[`, whose line git drops, matches itself, as in ripgrep. [`GlobSet`] matches the globs of
//! callers. Both share the matcher of one path component, whose time is bounded by pattern length times name length.
//!
//! A [`ScanCache`] caches scans for a short while and has an explicit owner: this crate has no statics and reads no
//! environment variables.

mod cache;
mod end_offsets;
mod entry;
mod file_type;
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
pub use file_type::FileType;
pub use glob::{GlobSet, GlobSyntax, Scope, literal_braces, strip_folder};
#[cfg(unix)]
pub use ignore::rule_files;
pub use ignore::{GitHome, GlobalExcludes, UserExcludes};
pub use options::{Detail, ScanOptions};
#[cfg(unix)]
pub use stamp::Stamp;
#[cfg(unix)]
pub use walk::tree::{FolderObserver, FolderPath, Hints, ListedFolder, Tree, TreeFiles, TreeScan, TreeUpdate};
pub use walk::{
    FileBatch, FolderTask, OrderedWalk, WalkFile, WalkStep, WalkWarnings, scan, scan_within, scan_within_so_far,
};
