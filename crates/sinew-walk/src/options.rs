//! Options of a scan.

use std::path::PathBuf;

/// The type of an entry. A link is a link, whatever it points to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FileType {
    /// A regular file.
    File,
    /// A folder.
    Dir,
    /// A symbolic link.
    Symlink,
}

/// The facts that a scan reads of each entry.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Detail {
    /// Path and type.
    #[default]
    Path,
    /// Also time of change and size: one system call more per entry.
    Full,
}

/// The root of a scan and its filters. Equal options (with a root that [`ScanOptions::canonical`] resolved) are one
/// entry of the cache.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ScanOptions {
    /// The folder, or a file, or a link to either.
    pub root: PathBuf,
    /// List names that begin with a dot (default: true). `.git` never is.
    pub hidden: bool,
    /// Leave out ignored entries (default: true). When false they are listed and marked.
    pub gitignore: bool,
    /// Leave out folders called `node_modules` (default: true).
    pub skip_node_modules: bool,
    /// Enter links to folders (default: false).
    pub follow_links: bool,
    /// Number of levels below the root that are listed (default: all).
    pub max_depth: Option<usize>,
    /// The facts to read of each entry (default: path and type).
    pub detail: Detail,
    /// The user's own ignore file, valid in every work tree (default: none); [`crate::global_excludes`] finds it.
    pub global_excludes: Option<PathBuf>,
}

impl ScanOptions {
    /// The defaults for a root.
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
    /// When the root does not exist or cannot be reached.
    pub fn canonical(mut self) -> sinew_base::Result<ScanOptions> {
        self.root = std::fs::canonicalize(&self.root).map_err(|cause| {
            sinew_base::Error::io(format_args!("failed to read {:?}", self.root.to_string_lossy()), &cause)
        })?;
        Ok(self)
    }
}
