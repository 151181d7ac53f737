//! A directory tree that is kept in memory, updated directory by directory, and returns the scans that a fresh walk
//! would return.
//!
//! The tree contains every directory except ignored ones, `node_modules` and `.git`, each with its listing, its stamp
//! and the files that its rules were read from. An update checks which directories changed, according to a watch or
//! their stamps, and reads only these again.

mod assemble;
mod folder_names;
mod update;

use std::collections::{HashMap, HashSet};
use std::io;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sinew_base::{CancelToken, Result};
use sinew_pool::Pool;
use smallvec::SmallVec;

use super::reader::FolderReader;
use super::worker_output::{Item, WorkerOutput, name_of};
use crate::entry::{IGNORED, TYPE, bits_of};
use crate::ignore::{Node, RuleLog};
use crate::stamp::{Source, Stamp};
use crate::{Detail, FileType, GlobSet, Scan, ScanOptions, sys};
use assemble::ScanKey;
use folder_names::FolderNames;

/// The error of a directory whose names are too large for a tree.
const TOO_LARGE: io::ErrorKind = io::ErrorKind::FileTooLarge;

/// Observes which directories a tree contains, so that their changes can be reported.
pub trait FolderObserver: Sync {
    /// Called with a directory before it is listed. Returns a watch number if every later change of its names, and of
    /// the files with these names, will be reported; the same directory may get the same number again. `None` makes the
    /// tree check the directory's stamp.
    fn enter(&self, folder: BorrowedFd<'_>, stamp: &Stamp) -> Option<i32>;

    /// Called with a directory after it was listed, while it is still open.
    fn listed(&self, _: &ListedFolder<'_>) {}

    /// Called when no directory of the tree has this number any more.
    fn leave(&self, watch: i32);
}

/// A directory that was just listed.
pub struct ListedFolder<'a> {
    /// The path below the root, as bytes.
    pub path: &'a [u8],
    folder: &'a sys::Folder,
    output: &'a WorkerOutput,
}

impl ListedFolder<'_> {
    /// Returns the stamps of the files in the directory that are not ignored, in the order of names. A lookup relative
    /// to the open directory resolves one component; a lookup from the root resolves one per directory on the path.
    pub fn stamps(&self) -> impl Iterator<Item = (&[u8], io::Result<Stamp>)> {
        let is_file = |item: &&Item| item.bits & (TYPE | IGNORED) == bits_of(FileType::File);
        let names = self.output.items.iter().filter(is_file).map(|item| name_of(&self.output.names, item));
        names.map(|name| (name, self.folder.stamp_of(name)))
    }
}

/// Paths that may have changed. They are relative to the root, with `/` separators.
#[derive(Debug, Clone, Default)]
pub struct Hints {
    /// Nothing is known: every stamp is checked.
    pub all: bool,
    /// Directories in which a name was added, removed or replaced.
    pub relist: HashSet<Vec<u8>>,
    /// Directories whose rules, permissions or identity changed: everything below is read again.
    pub reread: HashSet<Vec<u8>>,
}

/// The path of a directory below the root, as shared bytes.
pub type FolderPath = Arc<[u8]>;

/// The result of an update.
#[derive(Debug, Clone, Default)]
pub struct TreeUpdate {
    /// Names were added or removed, or warnings changed: scans differ from earlier ones.
    pub names_changed: bool,
    /// Directories that were read for the first time, or again with everything below: nothing is known about the files
    /// in them.
    pub new_folders: Vec<FolderPath>,
}

/// A directory tree in memory.
pub struct Tree {
    reader: FolderReader,
    /// The log of reading the rules above the root.
    above: RuleLog,
    folders: HashMap<FolderPath, Box<TreeFolder>>,
    /// The directories of each watch: several if one directory is mounted in two places.
    watched: HashMap<i32, SmallVec<[FolderPath; 1]>>,
    /// Directories with something that no watch reports.
    checked: HashSet<FolderPath>,
    /// The number of directories without a watch.
    unwatched: usize,
    /// The number of files that are not ignored.
    files: usize,
    scans: Vec<(ScanKey, Arc<TreeScan>)>,
}

/// The open root of a tree.
pub struct TreeFiles(sys::Root);

impl TreeFiles {
    /// Opens a file, given by its path below the root, for reading. A pipe that replaced it does not block.
    ///
    /// # Errors
    /// Returns an error if the system cannot open the file.
    pub fn open(&self, path: &[u8]) -> io::Result<std::fs::File> {
        self.0.open_file(path)
    }

    /// Reads the current stamp of an entry, given by its path below the root, without following a link.
    ///
    /// # Errors
    /// Returns an error if the system cannot read the metadata.
    pub fn stamp(&self, path: &[u8]) -> io::Result<Stamp> {
        self.0.stamp(path)
    }
}

/// A scan of a kept tree.
#[derive(Debug)]
pub struct TreeScan {
    /// The scan, equal to that of [`crate::scan`].
    pub scan: Arc<Scan>,
    /// The reasons why the scan is incomplete, in path order, each with the index of the first entry after its
    /// position.
    pub warnings: Vec<(u32, String)>,
    /// True if a directory named `node_modules` was excluded.
    skipped_modules: bool,
    /// True if the scan contains or excludes a hidden name.
    meets_hidden: bool,
}

/// One directory of a tree.
struct TreeFolder {
    names: FolderNames,
    /// The rules of the parent directories.
    above: Option<Arc<Node>>,
    /// `None` for most directories.
    notes: Option<Box<FolderNotes>>,
    /// The stamp before the listing; `None` if the directory could not be opened.
    stamp: Option<Stamp>,
    /// True if every change after the listing changes the stamp.
    settled: bool,
    watch: Option<i32>,
}

impl Tree {
    /// Reads the directory `options.root` and everything below it. Of the other options, only `skip_node_modules` and
    /// `global_excludes` are used.
    ///
    /// # Errors
    /// Returns an error if the root is not a directory or cannot be read, or if the call is cancelled.
    pub fn open(
        options: &ScanOptions,
        observer: &dyn FolderObserver,
        pool: &Pool,
        cancel: &CancelToken,
    ) -> Result<Tree> {
        let options = ScanOptions { gitignore: true, max_depth: None, ..options.clone() };
        Tree::open_filtered(&options, None, observer, pool, cancel)
    }

    /// Reads a directory as [`Tree::open`] does, without the paths that `exclude` matches, relative to the root. Also
    /// uses `options.gitignore` and `options.max_depth`: directories below that depth are neither read nor watched.
    ///
    /// # Errors
    /// Returns the errors of [`Tree::open`].
    pub fn open_filtered(
        options: &ScanOptions,
        exclude: Option<Arc<GlobSet>>,
        observer: &dyn FolderObserver,
        pool: &Pool,
        cancel: &CancelToken,
    ) -> Result<Tree> {
        let options =
            ScanOptions { hidden: true, follow_links: false, detail: Detail::Path, ..options.clone().canonical()? };
        let mut above = RuleLog::with_sources();
        let (mut reader, first) = FolderReader::open_with(options, &mut above)?;
        reader.exclude = exclude;
        let mut tree = Tree {
            reader,
            above,
            folders: HashMap::new(),
            watched: HashMap::new(),
            checked: HashSet::new(),
            unwatched: 0,
            files: 0,
            scans: Vec::new(),
        };
        tree.read_root(first, observer, pool, cancel)?;
        Ok(tree)
    }

    /// Returns the root, with all links resolved.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.reader.options.root
    }

    /// Returns the number of directories.
    #[must_use]
    pub fn folders(&self) -> usize {
        self.folders.len()
    }

    /// Returns the number of files that are not ignored.
    #[must_use]
    pub fn file_count(&self) -> usize {
        self.files
    }

    /// Returns the number of directories without a watch.
    #[must_use]
    pub fn unwatched(&self) -> usize {
        self.unwatched
    }

    /// Returns true if changes of a directory, given by its path below the root, are reported.
    #[must_use]
    pub fn is_watched(&self, folder: &[u8]) -> bool {
        self.folders.get(folder).is_some_and(|folder| folder.watch.is_some())
    }

    /// Returns the paths of the files directly in a directory.
    pub fn files_in<'a>(&'a self, folder: &'a [u8]) -> impl Iterator<Item = Box<[u8]>> + 'a {
        let node = self.folders.get(folder).into_iter();
        node.flat_map(move |node| {
            let files = node.names.iter().filter(|name| name.is_file());
            files.map(move |name| below(folder, name.text))
        })
    }

    /// Returns the directories of a watch.
    #[must_use]
    pub fn folders_of(&self, watch: i32) -> &[FolderPath] {
        self.watched.get(&watch).map_or(&[], SmallVec::as_slice)
    }

    /// Reads the current stamp of an entry, given by its path below the root, without following a link.
    ///
    /// # Errors
    /// Returns an error if the system cannot read the metadata.
    pub fn stamp(&self, path: &[u8]) -> io::Result<Stamp> {
        self.reader.handle.stamp(path)
    }

    /// Returns true if `path` leads to the root directory of the tree and the root has not been moved.
    #[must_use]
    pub fn is_at(&self, path: &Path) -> bool {
        let same = |now: Stamp| self.stamp(b"").is_ok_and(|stamp| stamp.is_same_file(&now));
        Stamp::of_path(path).is_ok_and(same) && self.reader.handle.path().is_ok_and(|now| now == self.root())
    }

    /// Returns the options of the widest scan that the tree can return.
    #[must_use]
    pub fn options(&self) -> &ScanOptions {
        &self.reader.options
    }

    /// Returns a handle that opens files independently of the lifetime of the tree.
    ///
    /// # Errors
    /// Returns an error if the system has no free descriptors.
    pub fn files(&self) -> io::Result<TreeFiles> {
        self.reader.handle.try_clone().map(TreeFiles)
    }

    fn absolute(&self, path: &[u8]) -> PathBuf {
        if path.is_empty() { self.root().to_path_buf() } else { self.root().join(sys::path_of(path)) }
    }
}

/// The results of reading a directory apart from its names.
struct FolderNotes {
    failure: Option<io::Error>,
    warnings: Vec<String>,
    /// The rule files that were checked.
    sources: Vec<Source>,
}

impl TreeFolder {
    fn failure(&self) -> Option<&io::Error> {
        self.notes.as_ref()?.failure.as_ref()
    }

    fn warnings(&self) -> &[String] {
        self.notes.as_ref().map_or(&[], |notes| &notes.warnings)
    }

    fn sources(&self) -> &[Source] {
        self.notes.as_ref().map_or(&[], |notes| &notes.sources)
    }

    /// Returns the number of files directly in the directory that are not ignored.
    fn file_count(&self) -> usize {
        self.names.iter().filter(|name| name.is_file() && !name.is_ignored()).count()
    }

    /// Returns the names of the subdirectories that are entered, in path order.
    fn children(&self) -> impl Iterator<Item = &[u8]> {
        self.names.iter().filter(|name| name.is_entered()).map(|name| name.text)
    }

    /// Returns true if both have the same entries and warnings.
    fn is_alike(&self, other: &TreeFolder) -> bool {
        let failure = |folder: &TreeFolder| folder.failure().map(ToString::to_string);
        self.names == other.names && self.warnings() == other.warnings() && failure(self) == failure(other)
    }
}

/// Appends a name to the path of its directory.
fn below(folder: &[u8], name: &[u8]) -> Box<[u8]> {
    let separator: &[u8] = if folder.is_empty() { b"" } else { b"/" };
    [folder, separator, name].concat().into()
}

/// Splits a path into its directory and its name.
fn split(path: &[u8]) -> (&[u8], &[u8]) {
    memchr::memrchr(b'/', path).map_or((b"", path), |cut| (&path[..cut], &path[cut + 1..]))
}

impl std::fmt::Debug for Tree {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Tree").field("root", &self.root()).field("folders", &self.folders.len()).finish()
    }
}
