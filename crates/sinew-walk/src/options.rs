//! Options of a scan.

use std::path::PathBuf;

use crate::GlobalExcludes;

/// The information that a scan reads for each entry.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Detail {
    /// The path and the type.
    #[default]
    Path,
    /// Also the modification time and the size: one more system call per entry.
    Full,
}

/// The root of a scan and its filters. Equal options (with a root resolved by [`ScanOptions::canonical`]) share one
/// cache entry.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ScanOptions {
    /// A directory, a file, or a link to either.
    pub root: PathBuf,
    /// List names that begin with a dot (default: true). `.git` is never listed.
    pub hidden: bool,
    /// Exclude ignored entries (default: true). If false, they are listed and marked.
    pub gitignore: bool,
    /// Exclude directories named `node_modules` (default: true).
    pub skip_node_modules: bool,
    /// Follow links to directories (default: false).
    pub follow_links: bool,
    /// The number of levels below the root to list. `None` (the default) lists all.
    pub max_depth: Option<usize>,
    /// The information to read for each entry (default: path and type).
    pub detail: Detail,
    /// The user's global ignore file, which applies in every work tree (default: `None`);
    /// [`GlobalExcludes::of`] finds it.
    pub global_excludes: Option<GlobalExcludes>,
}

impl ScanOptions {
    /// Creates the default options for a root.
    pub fn new(root: impl Into<PathBuf>) -> ScanOptions {
        ScanOptions {
            root: root.into(),
            hidden: true,
            gitignore: true,
            skip_node_modules: true,
            follow_links: false,
            max_depth: None,
            detail: Detail::Path,
            global_excludes: None,
        }
    }

    /// Resolves every link of the root.
    ///
    /// # Errors
    /// Returns an error if the root does not exist or cannot be reached.
    pub fn canonical(mut self) -> sinew_base::Result<ScanOptions> {
        self.root = std::fs::canonicalize(&self.root).map_err(|cause| {
            sinew_base::Error::io(format_args!("failed to read {:?}", self.root.to_string_lossy()), &cause)
        })?;
        Ok(self)
    }
}
