//! Workspaces where no index is kept: each call walks. The answers are those of the plain functions because it is them who answer.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use sinew_base::{CancelToken, Error, Result};
use sinew_index::{BuildProgress, IndexOptions, IndexState, IndexStatus, StoredIndex};
use sinew_pool::Pool;
use sinew_walk::ScanCache;

use crate::ranking::Uses;
use crate::{
    FindOptions, FindResult, GlobOptions, GlobResult, GrepOptions, GrepResult, GrepTrace, OnMatch, WorkspaceChanges,
    WorkspaceStatus,
};

/// The workspaces of one program.
#[derive(Debug, Default)]
pub struct Workspaces {}

/// A folder in view. [`Workspace::grep`], [`Workspace::glob`], [`Workspace::fuzzy_find`] and [`Workspace::list`] give what the
/// plain functions give at that moment, with `path` taken from the root.
#[derive(Debug, Clone)]
pub struct Workspace {
    root: PathBuf,
    last: Arc<Mutex<GrepTrace>>,
    uses: Arc<Mutex<Uses>>,
}

impl Workspaces {
    /// Opens the folder `root`. Nothing is read yet.
    ///
    /// # Errors
    /// `root` does not exist or is no folder.
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

    /// Returns the indexes on disk: there is none.
    #[must_use]
    pub fn stored(_: &Path) -> Vec<StoredIndex> {
        Vec::new()
    }

    /// Deletes an index on disk: there is none.
    ///
    /// # Errors
    /// None.
    pub fn remove_stored(_: &StoredIndex) -> Result<()> {
        Ok(())
    }

    /// Deletes the index of `root` in the folder `cache`: there is none.
    ///
    /// # Errors
    /// None.
    pub fn remove(_: &Path, _: &Path) -> Result<bool> {
        Ok(false)
    }
}

impl Workspace {
    /// Returns the root, absolute.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
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
        let options = GrepOptions { path: self.below(&options.path), cache: false, ..options.clone() };
        let found = crate::grep(&options, &ScanCache::default(), pool, cancel, on_match)?;
        *self.last.lock() = GrepTrace { why: Some("this system has no index"), ..GrepTrace::default() };
        Ok(found)
    }

    /// Finds as [`crate::glob`] does.
    ///
    /// # Errors
    /// Those of [`crate::glob`].
    pub fn glob(&self, options: &GlobOptions, pool: &Pool, cancel: &CancelToken) -> Result<GlobResult> {
        let options = GlobOptions { path: self.below(&options.path), cache: false, ..options.clone() };
        crate::glob(&options, &ScanCache::default(), pool, cancel)
    }

    /// Finds as [`crate::fuzzy_find`] does.
    ///
    /// # Errors
    /// Those of [`crate::fuzzy_find`].
    pub fn fuzzy_find(&self, options: &FindOptions, pool: &Pool, cancel: &CancelToken) -> Result<FindResult> {
        let options = FindOptions { path: self.below(&options.path), cache: false, ..options.clone() };
        crate::fuzzy_find(&options, &ScanCache::default(), pool, cancel)
    }

    /// Returns what changed: anything, because nothing is watched.
    ///
    /// # Errors
    /// The call is cancelled.
    pub fn changes(&self, _: Option<&str>, _: &Pool, cancel: &CancelToken) -> Result<WorkspaceChanges> {
        cancel.check()?;
        Ok(WorkspaceChanges { all: true, ..WorkspaceChanges::default() })
    }

    /// Returns the state: nothing is kept.
    ///
    /// # Errors
    /// The call is cancelled.
    pub fn refresh(&self, pool: &Pool, cancel: &CancelToken) -> Result<WorkspaceStatus> {
        self.ready(pool, cancel)
    }

    /// Returns the state: there is nothing to read.
    ///
    /// # Errors
    /// The call is cancelled.
    pub fn ready(&self, _: &Pool, cancel: &CancelToken) -> Result<WorkspaceStatus> {
        cancel.check()?;
        Ok(self.status())
    }

    /// Returns the state as of the last call.
    #[must_use]
    pub fn status(&self) -> WorkspaceStatus {
        let reason = Some("an index is kept on Linux alone".to_string());
        let index = IndexStatus { state: IndexState::Plain, reason, ..IndexStatus::default() };
        WorkspaceStatus { index, last: self.last.lock().clone() }
    }

    /// Returns how far nothing has come: no file is read.
    #[must_use]
    pub fn progress(&self) -> BuildProgress {
        BuildProgress::default()
    }

    /// Waits for nothing: nothing is read in the background.
    pub fn join_background(&self) {}

    pub(crate) fn uses(&self) -> &Mutex<Uses> {
        &self.uses
    }

    /// Gives this handle back.
    pub fn close(self) {}
}
