//! A folder in view: searches that answer what the plain ones answer at that moment, with less work.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use sinew_base::{CancelToken, Result};
use sinew_index::{BuildProgress, Changes, Index, IndexOptions, Listing, StoredIndex, WatchQueue};
use sinew_pool::Pool;
use sinew_walk::{Scan, ScanOptions};

use crate::find::{KeptLetters, find_in};
use crate::glob::glob_in;
use crate::grep::grep_in;
use crate::ranking::Uses;
use crate::{
    FindOptions, FindResult, GlobOptions, GlobResult, GrepOptions, GrepResult, GrepTrace, OnMatch, WorkspaceChanges,
    WorkspaceStatus,
};

/// The workspaces of one program: two opens of one root share what is kept, and all share the queue of changes.
#[derive(Debug, Default)]
pub struct Workspaces {
    queue: Arc<WatchQueue>,
    /// By root and options.
    open: Mutex<HashMap<(PathBuf, IndexOptions), Weak<OpenIndex>>>,
}

/// An index that handles share. With the last of them it ends what it reads in the background.
#[derive(Debug)]
struct OpenIndex {
    index: Arc<Index>,
    uses: Mutex<Uses>,
    letters: KeptLetters,
}

impl Drop for OpenIndex {
    fn drop(&mut self) {
        self.index.cancel_background();
    }
}

/// A folder in view. [`Workspace::grep`], [`Workspace::glob`], [`Workspace::fuzzy_find`] and [`Workspace::list`] give what the
/// plain functions give at that moment, with `path` taken from the root. Dropped, it gives everything back.
#[derive(Debug, Clone)]
pub struct Workspace {
    open: Arc<OpenIndex>,
    last: Arc<Mutex<GrepTrace>>,
}

impl Workspaces {
    /// Opens the folder `root`. Nothing is read yet.
    ///
    /// # Errors
    /// `root` does not exist or is no folder.
    pub fn open(&self, root: impl AsRef<Path>, options: &IndexOptions) -> Result<Workspace> {
        let index = Index::open(root.as_ref(), options.clone(), Arc::clone(&self.queue));
        let index = index.map_err(|error| error.within("Workspace.open"))?;
        let key = (index.root().to_path_buf(), options.clone());
        let mut open = self.open.lock();
        open.retain(|_, index| index.strong_count() > 0);
        let shared = open.get(&key).and_then(Weak::upgrade);
        let index = shared.unwrap_or_else(|| {
            let index =
                Arc::new(OpenIndex { index: Arc::new(index), uses: Mutex::default(), letters: KeptLetters::default() });
            open.insert(key, Arc::downgrade(&index));
            index
        });
        Ok(Workspace { open: index, last: Arc::default() })
    }

    /// Returns the queue of changes, which other watches of the program share.
    #[must_use]
    pub fn queue(&self) -> Arc<WatchQueue> {
        Arc::clone(&self.queue)
    }

    /// Returns the indexes on disk in the folder `cache`, those that were used last first.
    #[must_use]
    pub fn stored(cache: &Path) -> Vec<StoredIndex> {
        Index::stored(cache)
    }

    /// Deletes an index on disk.
    ///
    /// # Errors
    /// It is in use, or the system refuses.
    pub fn remove_stored(index: &StoredIndex) -> Result<()> {
        Index::remove_stored(index)
    }

    /// Deletes the index of `root` in the folder `cache`; false where there is none.
    ///
    /// # Errors
    /// It is in use, or the system refuses.
    pub fn remove(cache: &Path, root: &Path) -> Result<bool> {
        Index::remove(cache, root).map_err(|error| error.within("Workspace.remove"))
    }
}

impl Workspace {
    /// Returns the root, absolute.
    #[must_use]
    pub fn root(&self) -> &Path {
        self.index().root()
    }

    /// Searches as [`crate::grep`] does.
    ///
    /// # Errors
    /// Those of [`crate::grep`].
    pub fn grep(
        &self,
        options: &GrepOptions,
        pool: &Pool,
        cancel: &CancelToken,
        on_match: Option<OnMatch<'_>>,
    ) -> Result<GrepResult> {
        let options = GrepOptions { path: self.below(&options.path), ..options.clone() };
        let kept = |scan: &ScanOptions| {
            let listing = self.listing(scan, pool, cancel)?;
            listing.iter().for_each(|listing| self.index().note_search(listing));
            Ok(listing)
        };
        let (result, trace) = grep_in(&options, pool, cancel, kept, on_match)?;
        *self.last.lock() = trace;
        Ok(result)
    }

    /// Finds as [`crate::glob`] does.
    ///
    /// # Errors
    /// Those of [`crate::glob`].
    pub fn glob(&self, options: &GlobOptions, pool: &Pool, cancel: &CancelToken) -> Result<GlobResult> {
        let options = GlobOptions { path: self.below(&options.path), ..options.clone() };
        glob_in(&options, pool, cancel, |scan| self.scan(scan, pool, cancel))
    }

    /// Finds as [`crate::fuzzy_find`] does.
    ///
    /// # Errors
    /// Those of [`crate::fuzzy_find`].
    pub fn fuzzy_find(&self, options: &FindOptions, pool: &Pool, cancel: &CancelToken) -> Result<FindResult> {
        let options = FindOptions { path: self.below(&options.path), ..options.clone() };
        find_in(&options, &self.open.letters, pool, cancel, |scan| self.scan(scan, pool, cancel))
    }

    /// Returns what changed since the moment of a token, which an earlier call gave; without one, and where that is not known,
    /// `all` is true. What lies in ignored folders is not watched and never named.
    ///
    /// # Errors
    /// The call is cancelled.
    pub fn changes(&self, since: Option<&str>, pool: &Pool, cancel: &CancelToken) -> Result<WorkspaceChanges> {
        let changes = self.index().changes(since, pool, cancel);
        let Changes { token, all, paths } = changes.map_err(|error| error.within("Workspace.changes"))?;
        let paths = paths.iter().map(|path| String::from_utf8_lossy(path).into_owned()).collect();
        Ok(WorkspaceChanges { token, all, paths })
    }

    /// Brings what is kept up to date as a search does at its start; the first time that is a walk.
    ///
    /// # Errors
    /// The call is cancelled.
    pub fn refresh(&self, pool: &Pool, cancel: &CancelToken) -> Result<WorkspaceStatus> {
        self.index().refresh(pool, cancel).map_err(|error| error.within("Workspace.refresh"))?;
        Ok(self.status())
    }

    /// Reads what the index does not know as it is now, so that later searches open few files. Calls go on meanwhile.
    ///
    /// # Errors
    /// The call is cancelled.
    pub fn ready(&self, pool: &Pool, cancel: &CancelToken) -> Result<WorkspaceStatus> {
        self.index().build(pool, cancel).map_err(|error| error.within("Workspace.ready"))?;
        Ok(self.status())
    }

    /// Returns the state as of the last call.
    #[must_use]
    pub fn status(&self) -> WorkspaceStatus {
        WorkspaceStatus { index: self.index().status(), last: self.last.lock().clone() }
    }

    /// Returns how far [`Workspace::ready`], or the reading in the background, has come. Never waits for it.
    #[must_use]
    pub fn progress(&self) -> BuildProgress {
        self.index().progress()
    }

    /// Waits for the end of a reading in the background, if one goes on.
    pub fn join_background(&self) {
        self.index().join_background();
    }

    /// Gives this handle back. The last one of a root waits until nothing is read in the background any more, which is stopped.
    pub fn close(self) {
        if let Some(last) = Arc::into_inner(self.open) {
            last.index.close();
        }
    }

    pub(crate) fn uses(&self) -> &Mutex<Uses> {
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
