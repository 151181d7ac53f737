//! A tree that is kept and brought up to date folder by folder, and gives the scans that a fresh walk would give.
//!
//! The tree holds every folder that is neither ignored nor `node_modules` nor `.git`, each with its listing, its stamp and the
//! files that its rules were read from. An update looks at what changed, as a watch announced it or as stamps show it, reads
//! these folders again and leaves the rest.

mod assemble;
mod kept_names;
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
use kept_names::KeptNames;

/// The error of a folder whose names a tree cannot keep.
const TOO_LARGE: io::ErrorKind = io::ErrorKind::FileTooLarge;

/// Learns which folders a tree holds, so that their changes can be announced.
pub trait FolderObserver: Sync {
    /// Called with a folder before it is listed. Returns a number where every later change of its names, and of the files with
    /// these names, will be announced; the same folder may get the same number again. None: the tree looks at its stamp.
    fn enter(&self, folder: BorrowedFd<'_>, stamp: &Stamp) -> Option<i32>;

    /// Called with a folder after it was listed, while it is still open.
    fn listed(&self, _: &ListedFolder<'_>) {}

    /// Called when no folder of the tree has this number any more.
    fn leave(&self, watch: i32);
}

/// A folder that was listed just now.
pub struct ListedFolder<'a> {
    /// Path below the root, as bytes.
    pub path: &'a [u8],
    folder: &'a sys::Folder,
    output: &'a WorkerOutput,
}

impl ListedFolder<'_> {
    /// Asks for the stamp of each file in it that is not ignored, in the order of names: a step for each name where a path from the
    /// root takes one for each folder on the way.
    pub fn stamps(&self) -> impl Iterator<Item = (&[u8], io::Result<Stamp>)> {
        let is_file = |item: &&Item| item.bits & (TYPE | IGNORED) == bits_of(FileType::File);
        let names = self.output.items.iter().filter(is_file).map(|item| name_of(&self.output.names, item));
        names.map(|name| (name, self.folder.stamp_of(name)))
    }
}

/// Places where something may have changed. Paths are relative to the root, with `/` between names.
#[derive(Debug, Clone, Default)]
pub struct Hints {
    /// Nothing is known: every stamp is looked at.
    pub all: bool,
    /// Folders in which a name appeared, went or was exchanged.
    pub relist: HashSet<Vec<u8>>,
    /// Folders whose rules, permissions or identity changed: all that lies below is read again.
    pub reread: HashSet<Vec<u8>>,
}

/// The path of a folder below the root, as bytes: one text, whoever speaks of the folder.
pub type FolderPath = Arc<[u8]>;

/// The outcome of an update.
#[derive(Debug, Clone, Default)]
pub struct TreeUpdate {
    /// A name appeared or went, or warnings changed: scans differ from those before.
    pub names_changed: bool,
    /// Folders that were read for the first time, or again with all that lies below: nothing is known of the files in them.
    pub new_folders: Vec<FolderPath>,
}

/// A folder with all that lies below it, kept in memory.
pub struct Tree {
    reader: FolderReader,
    /// The reading of the rules above the root.
    above: RuleLog,
    folders: HashMap<FolderPath, Box<TreeFolder>>,
    /// The folders of each watch: several where one folder is mounted in two places.
    watched: HashMap<i32, SmallVec<[FolderPath; 1]>>,
    /// Folders with something that no watch announces.
    checked: HashSet<FolderPath>,
    /// The number of folders without a watch.
    unwatched: usize,
    /// The number of files that are not ignored.
    files: usize,
    scans: Vec<(ScanKey, Arc<TreeScan>)>,
}

/// The open root of a tree.
pub struct TreeFiles(sys::Root);

impl TreeFiles {
    /// Opens a file, a path below the root, for reading. A pipe that took its place does not block.
    ///
    /// # Errors
    /// Whatever the system says.
    pub fn open(&self, path: &[u8]) -> io::Result<std::fs::File> {
        self.0.open_file(path)
    }

    /// Asks the system for the stamp of an entry, a path below the root; of the link itself where it is one.
    ///
    /// # Errors
    /// Whatever the system says.
    pub fn stamp(&self, path: &[u8]) -> io::Result<Stamp> {
        self.0.stamp(path)
    }
}

/// A scan of a kept tree.
#[derive(Debug)]
pub struct TreeScan {
    /// The scan, as [`crate::scan`] gives it.
    pub scan: Arc<Scan>,
    /// The reasons why it is incomplete, in path order, each with the index of the first entry behind its place.
    pub warnings: Vec<(u32, String)>,
    /// A folder called `node_modules` was left out.
    skipped_modules: bool,
    /// It has or leaves out a name that is hidden.
    meets_hidden: bool,
}

/// One folder of a tree.
struct TreeFolder {
    names: KeptNames,
    /// The rules of the folders above.
    above: Option<Arc<Node>>,
    /// None of most folders.
    notes: Option<Box<FolderNotes>>,
    /// As it was before the listing; none where the folder could not be opened.
    stamp: Option<Stamp>,
    /// A change after the listing changes the stamp.
    settled: bool,
    watch: Option<i32>,
}

impl Tree {
    /// Reads the folder `options.root` with all that lies below it. Of the other options only `skip_node_modules` and
    /// `global_excludes` count.
    ///
    /// # Errors
    /// The root is no folder or cannot be read, and cancellation.
    pub fn open(
        options: &ScanOptions,
        observer: &dyn FolderObserver,
        pool: &Pool,
        cancel: &CancelToken,
    ) -> Result<Tree> {
        let options = ScanOptions { gitignore: true, max_depth: None, ..options.clone() };
        Tree::open_filtered(&options, None, observer, pool, cancel)
    }

    /// Reads a folder as [`Tree::open`] does, without what `exclude` matches; paths are relative to the root. Here
    /// `options.gitignore` and `options.max_depth` count too: a folder below the depth is neither read nor watched.
    ///
    /// # Errors
    /// Those of [`Tree::open`].
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

    /// Returns the root, all links resolved.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.reader.options.root
    }

    /// Returns the number of folders.
    #[must_use]
    pub fn folders(&self) -> usize {
        self.folders.len()
    }

    /// Returns the number of files that are not ignored.
    #[must_use]
    pub fn file_count(&self) -> usize {
        self.files
    }

    /// Returns the number of folders whose changes nobody announces.
    #[must_use]
    pub fn unwatched(&self) -> usize {
        self.unwatched
    }

    /// Tells whether the changes of a folder, a path below the root, are announced.
    #[must_use]
    pub fn is_watched(&self, folder: &[u8]) -> bool {
        self.folders.get(folder).is_some_and(|folder| folder.watch.is_some())
    }

    /// Returns the paths of the files directly in a folder.
    pub fn files_in<'a>(&'a self, folder: &'a [u8]) -> impl Iterator<Item = Box<[u8]>> + 'a {
        let held = self.folders.get(folder).into_iter();
        held.flat_map(move |held| {
            let files = held.names.iter().filter(|name| name.is_file());
            files.map(move |name| below(folder, name.text))
        })
    }

    /// Returns the folders that a watch is for.
    #[must_use]
    pub fn folders_of(&self, watch: i32) -> &[FolderPath] {
        self.watched.get(&watch).map_or(&[], SmallVec::as_slice)
    }

    /// Asks the system for the stamp of an entry, a path below the root; of the link itself where it is one.
    ///
    /// # Errors
    /// Whatever the system says.
    pub fn stamp(&self, path: &[u8]) -> io::Result<Stamp> {
        self.reader.handle.stamp(path)
    }

    /// Tells whether a path leads to the folder that the tree holds, and this still lies where it lay.
    #[must_use]
    pub fn is_at(&self, path: &Path) -> bool {
        let same = |now: Stamp| self.stamp(b"").is_ok_and(|held| held.is_same_file(&now));
        Stamp::of_path(path).is_ok_and(same) && self.reader.handle.path().is_ok_and(|now| now == self.root())
    }

    /// Returns the options of the widest scan that the tree gives.
    #[must_use]
    pub fn options(&self) -> &ScanOptions {
        &self.reader.options
    }

    /// Returns a handle by which files are opened, whatever becomes of the tree.
    ///
    /// # Errors
    /// The system gives no descriptor.
    pub fn files(&self) -> io::Result<TreeFiles> {
        self.reader.handle.try_clone().map(TreeFiles)
    }

    fn absolute(&self, path: &[u8]) -> PathBuf {
        if path.is_empty() { self.root().to_path_buf() } else { self.root().join(sys::path_of(path)) }
    }
}

/// Whatever the reading of a folder noted beside its names.
struct FolderNotes {
    failure: Option<io::Error>,
    warnings: Vec<String>,
    /// The files of rules that were looked at.
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

    /// Returns the number of files directly in it that are not ignored.
    fn file_count(&self) -> usize {
        self.names.iter().filter(|name| name.is_file() && !name.is_ignored()).count()
    }

    /// Returns the names of the folders in it that are entered, in path order.
    fn children(&self) -> impl Iterator<Item = &[u8]> {
        self.names.iter().filter(|name| name.is_entered()).map(|name| name.text)
    }

    /// Tells whether both give the same entries and warnings.
    fn is_alike(&self, other: &TreeFolder) -> bool {
        let failure = |folder: &TreeFolder| folder.failure().map(ToString::to_string);
        self.names == other.names && self.warnings() == other.warnings() && failure(self) == failure(other)
    }
}

/// Puts a name behind the path of its folder.
fn below(folder: &[u8], name: &[u8]) -> Box<[u8]> {
    let separator: &[u8] = if folder.is_empty() { b"" } else { b"/" };
    [folder, separator, name].concat().into()
}

/// Splits a path into the folder's and the name.
fn split(path: &[u8]) -> (&[u8], &[u8]) {
    memchr::memrchr(b'/', path).map_or((b"", path), |cut| (&path[..cut], &path[cut + 1..]))
}

impl std::fmt::Debug for Tree {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Tree").field("root", &self.root()).field("folders", &self.folders.len()).finish()
    }
}
