//! Workspaces on systems without an index: each call walks the directory and returns the result of the plain function.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use sinew_base::{CancelToken, Error, Result};
use sinew_index::{BuildProgress, IndexOptions, IndexState, IndexStatus, StoredIndex};
use sinew_pool::Pool;
use sinew_walk::ScanCache;

use crate::ranking::PathUses;
use crate::{
    FindOptions, FindResult, GlobOptions, GlobResult, GrepOptions, GrepResult, GrepTrace, OnMatch, WorkspaceChanges,
    WorkspaceStatus,
};

/// The workspaces of one program.
#[derive(Debug, Default)]
pub struct Workspaces {}

/// A directory. [`Workspace::grep`], [`Workspace::glob`], [`Workspace::fuzzy_find`] and [`Workspace::list`] return what
/// the plain functions return, with `path` relative to the root.
#[derive(Debug, Clone)]
pub struct Workspace {
    root: PathBuf,
    last: Arc<Mutex<GrepTrace>>,
    uses: Arc<Mutex<PathUses>>,
}

impl Workspaces {
    /// Opens the directory `root`. Reads nothing yet.
    ///
    /// # Errors
    /// Returns an error if `root` does not exist or is not a directory.
    pub fn open(&self, root: impl AsRef<Path>, _: &IndexOptions) -> Result<Workspace> {
        let root = root.as_ref();
        let failed = |cause| {
            Error::io(format_args!("failed to read {:?}", root.to_string_lossy()), &cause).within("Workspace.open")
        };
        let path = std::path::absolute(root).map_err(failed)?;
        if !std::fs::metadata(&path).map_err(failed)?.is_dir() {
            return Err(
                Error::invalid(format!("{:?} is not a folder", root.to_string_lossy())).within("Workspace.open")
            );
        }
        Ok(Workspace { root: path, last: Arc::default(), uses: Arc::default() })
    }

    /// Returns the indexes on disk: always empty on this system.
    #[must_use]
    pub fn stored(_: &Path) -> Vec<StoredIndex> {
        Vec::new()
    }

    /// Does nothing: there are no indexes on this system.
    ///
    /// # Errors
    /// Never fails.
    pub fn remove_stored(_: &StoredIndex) -> Result<()> {
        Ok(())
    }

    /// Returns false: there are no indexes on this system.
    ///
    /// # Errors
    /// Never fails.
    pub fn remove(_: &Path, _: &Path) -> Result<bool> {
        Ok(false)
    }
}

impl Workspace {
    /// Returns the absolute root.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
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
        let options = GrepOptions { path: self.below(&options.path), cache: false, ..options.clone() };
        let found = crate::grep(&options, &ScanCache::default(), pool, cancel, on_match)?;
        *self.last.lock() = GrepTrace { why: Some("indexes are only supported on Linux"), ..GrepTrace::default() };
        Ok(found)
    }

    /// Finds as [`crate::glob`] does.
    ///
    /// # Errors
    /// Returns the errors of [`crate::glob`].
    pub fn glob(&self, options: &GlobOptions, pool: &Pool, cancel: &CancelToken) -> Result<GlobResult> {
        let options = GlobOptions { path: self.below(&options.path), cache: false, ..options.clone() };
        crate::glob(&options, &ScanCache::default(), pool, cancel)
    }

    /// Finds as [`crate::fuzzy_find`] does.
    ///
    /// # Errors
    /// Returns the errors of [`crate::fuzzy_find`].
    pub fn fuzzy_find(&self, options: &FindOptions, pool: &Pool, cancel: &CancelToken) -> Result<FindResult> {
        let options = FindOptions { path: self.below(&options.path), cache: false, ..options.clone() };
        crate::fuzzy_find(&options, &ScanCache::default(), pool, cancel)
    }

    /// Returns that anything may have changed, because nothing is watched.
    ///
    /// # Errors
    /// Returns an error if the call is cancelled.
    pub fn changes(&self, _: Option<&str>, _: &Pool, cancel: &CancelToken) -> Result<WorkspaceChanges> {
        cancel.check()?;
        Ok(WorkspaceChanges { all: true, ..WorkspaceChanges::default() })
    }

    /// Returns the state; there is nothing to update.
    ///
    /// # Errors
    /// Returns an error if the call is cancelled.
    pub fn refresh(&self, pool: &Pool, cancel: &CancelToken) -> Result<WorkspaceStatus> {
        self.ready(pool, cancel)
    }

    /// Returns the state; there is nothing to index.
    ///
    /// # Errors
    /// Returns an error if the call is cancelled.
    pub fn ready(&self, _: &Pool, cancel: &CancelToken) -> Result<WorkspaceStatus> {
        cancel.check()?;
        Ok(self.status())
    }

    /// Returns the state after the last call.
    #[must_use]
    pub fn status(&self) -> WorkspaceStatus {
        let reason = Some("indexes are only supported on Linux".to_string());
        let index = IndexStatus { state: IndexState::Plain, reason, ..IndexStatus::default() };
        WorkspaceStatus { index, last: self.last.lock().clone() }
    }

    /// Returns an empty progress, because nothing is indexed.
    #[must_use]
    pub fn progress(&self) -> BuildProgress {
        BuildProgress::default()
    }

    /// Does nothing, because nothing runs in the background.
    pub fn join_background(&self) {}

    pub(crate) fn uses(&self) -> &Mutex<PathUses> {
        &self.uses
    }

    /// Releases this handle.
    pub fn close(self) {}
}
