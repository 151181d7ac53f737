//! A watched directory: its searches return the same as the plain functions do at that moment, with less work.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use sinew_base::{CancelToken, Result};
use sinew_index::{BuildProgress, Changes, Index, IndexOptions, Listing, StoredIndex, WatchQueue};
use sinew_pool::Pool;
use sinew_walk::{Scan, ScanOptions};

use crate::find::{LetterCache, find_in};
use crate::glob::glob_in;
use crate::grep::grep_in;
use crate::ranking::PathUses;
use crate::{
    FindOptions, FindResult, GlobOptions, GlobResult, GrepOptions, GrepResult, GrepTrace, OnMatch, WorkspaceChanges,
    WorkspaceStatus,
};

/// The workspaces of one program: opening a root twice shares its index, and all share the event queue.
#[derive(Debug, Default)]
pub struct Workspaces {
    queue: Arc<WatchQueue>,
    /// Keyed by root and options.
    open: Mutex<HashMap<(PathBuf, IndexOptions), Weak<OpenIndex>>>,
}

/// An index shared by handles. Dropping the last handle stops its background work.
#[derive(Debug)]
struct OpenIndex {
    index: Arc<Index>,
    uses: Mutex<PathUses>,
    letters: LetterCache,
}

impl Drop for OpenIndex {
    fn drop(&mut self) {
        self.index.cancel_background();
    }
}

/// A watched directory. [`Workspace::grep`], [`Workspace::glob`], [`Workspace::fuzzy_find`] and [`Workspace::list`]
/// return what the plain functions return at that moment, with `path` relative to the root. Dropping it releases all
/// resources.
#[derive(Debug, Clone)]
pub struct Workspace {
    open: Arc<OpenIndex>,
    last: Arc<Mutex<GrepTrace>>,
}

impl Workspaces {
    /// Opens the directory `root`. Reads nothing yet.
    ///
    /// # Errors
    /// Returns an error if `root` does not exist or is not a directory.
    pub fn open(&self, root: impl AsRef<Path>, options: &IndexOptions) -> Result<Workspace> {
        let index = Index::open(root.as_ref(), options.clone(), Arc::clone(&self.queue));
        let index = index.map_err(|error| error.within("Workspace.open"))?;
        let key = (index.root().to_path_buf(), options.clone());
        let mut open = self.open.lock();
        open.retain(|_, index| index.strong_count() > 0);
        let shared = open.get(&key).and_then(Weak::upgrade);
        let index = shared.unwrap_or_else(|| {
            let index =
                Arc::new(OpenIndex { index: Arc::new(index), uses: Mutex::default(), letters: LetterCache::default() });
            open.insert(key, Arc::downgrade(&index));
            index
        });
        Ok(Workspace { open: index, last: Arc::default() })
    }

    /// Returns the event queue, which other watches of the program share.
    #[must_use]
    pub fn queue(&self) -> Arc<WatchQueue> {
        Arc::clone(&self.queue)
    }

    /// Returns the indexes on disk in the directory `cache`, the most recently used first.
    #[must_use]
    pub fn stored(cache: &Path) -> Vec<StoredIndex> {
        Index::stored(cache)
    }

    /// Deletes an index on disk.
    ///
    /// # Errors
    /// Returns an error if the index is in use or the system cannot delete it.
    pub fn remove_stored(index: &StoredIndex) -> Result<()> {
        Index::remove_stored(index)
    }

    /// Deletes the index of `root` in the directory `cache`; returns false if there is none.
    ///
    /// # Errors
    /// Returns an error if the index is in use or the system cannot delete it.
    pub fn remove(cache: &Path, root: &Path) -> Result<bool> {
        Index::remove(cache, root).map_err(|error| error.within("Workspace.remove"))
    }
}

impl Workspace {
    /// Returns the absolute root.
    #[must_use]
    pub fn root(&self) -> &Path {
        self.index().root()
    }

    /// Searches as [`crate::grep`] does.
    ///
    /// # Errors
    /// Returns the errors of [`crate::grep`].
    pub fn grep(
        &self,
        options: &GrepOptions,
        pool: &Pool,
        cancel: &CancelToken,
        on_match: Option<OnMatch<'_>>,
    ) -> Result<GrepResult> {
        let options = GrepOptions { path: self.below(&options.path), ..options.clone() };
        let cached = |scan: &ScanOptions| {
            let listing = self.listing(scan, pool, cancel)?;
            listing.iter().for_each(|listing| self.index().note_search(listing));
            Ok(listing)
        };
        let (result, trace) = grep_in(&options, pool, cancel, cached, on_match)?;
        *self.last.lock() = trace;
        Ok(result)
    }

    /// Finds as [`crate::glob`] does.
    ///
    /// # Errors
    /// Returns the errors of [`crate::glob`].
    pub fn glob(&self, options: &GlobOptions, pool: &Pool, cancel: &CancelToken) -> Result<GlobResult> {
        let options = GlobOptions { path: self.below(&options.path), ..options.clone() };
        glob_in(&options, pool, cancel, |scan| self.scan(scan, pool, cancel))
    }

    /// Finds as [`crate::fuzzy_find`] does.
    ///
    /// # Errors
    /// Returns the errors of [`crate::fuzzy_find`].
    pub fn fuzzy_find(&self, options: &FindOptions, pool: &Pool, cancel: &CancelToken) -> Result<FindResult> {
        let options = FindOptions { path: self.below(&options.path), ..options.clone() };
        find_in(&options, &self.open.letters, pool, cancel, |scan| self.scan(scan, pool, cancel))
    }

    /// Returns the changes since an earlier call, identified by its token. Without a token, or if the changes are
    /// unknown, `all` is true. Ignored directories are not watched and never listed.
    ///
    /// # Errors
    /// Returns an error if the call is cancelled.
    pub fn changes(&self, since: Option<&str>, pool: &Pool, cancel: &CancelToken) -> Result<WorkspaceChanges> {
        let changes = self.index().changes(since, pool, cancel);
        let Changes { token, all, paths } = changes.map_err(|error| error.within("Workspace.changes"))?;
        let paths = paths.iter().map(|path| String::from_utf8_lossy(path).into_owned()).collect();
        Ok(WorkspaceChanges { token, all, paths })
    }

    /// Updates the cached state as a search does at its start; the first call walks the directory.
    ///
    /// # Errors
    /// Returns an error if the call is cancelled.
    pub fn refresh(&self, pool: &Pool, cancel: &CancelToken) -> Result<WorkspaceStatus> {
        self.index().refresh(pool, cancel).map_err(|error| error.within("Workspace.refresh"))?;
        Ok(self.status())
    }

    /// Indexes every file that is not indexed in its current state, so that later searches open few files.
    /// Other calls can run at the same time.
    ///
    /// # Errors
    /// Returns an error if the call is cancelled.
    pub fn ready(&self, pool: &Pool, cancel: &CancelToken) -> Result<WorkspaceStatus> {
        self.index().build(pool, cancel).map_err(|error| error.within("Workspace.ready"))?;
        Ok(self.status())
    }

    /// Returns the state after the last call.
    #[must_use]
    pub fn status(&self) -> WorkspaceStatus {
        WorkspaceStatus { index: self.index().status(), last: self.last.lock().clone() }
    }

    /// Returns the progress of [`Workspace::ready`] or of background indexing. Never waits for it.
    #[must_use]
    pub fn progress(&self) -> BuildProgress {
        self.index().progress()
    }

    /// Waits until background indexing ends, if it is running.
    pub fn join_background(&self) {
        self.index().join_background();
    }

    /// Releases this handle. The last handle of a root stops background indexing and waits for its end.
    pub fn close(self) {
        if let Some(last) = Arc::into_inner(self.open) {
            last.index.close();
        }
    }

    pub(crate) fn uses(&self) -> &Mutex<PathUses> {
        &self.open.uses
    }

    fn index(&self) -> &Arc<Index> {
        &self.open.index
    }

    fn listing(&self, options: &ScanOptions, pool: &Pool, cancel: &CancelToken) -> Result<Option<Listing>> {
        self.index().listing(options, pool, cancel)
    }

    fn scan(&self, options: &ScanOptions, pool: &Pool, cancel: &CancelToken) -> Result<Option<Arc<Scan>>> {
        Ok(self.listing(options, pool, cancel)?.map(|listing| Arc::clone(&listing.scan.scan)))
    }
}
