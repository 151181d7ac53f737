//! The index of one directory: the barrier at the start of each call, and the listing that the call uses.

mod background;
mod check;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};
use sinew_base::{CancelToken, Error, Result};
use sinew_pool::Pool;
use sinew_walk::{Scan, ScanOptions, TreeScan};

use crate::changes::Changes;
use crate::indexed_root::IndexedRoot;
use crate::lookup::Reach;
use crate::part::{PartView, RowState};
use crate::plan::Plan;
use crate::progress::{BuildProgress, Progress};
use crate::status::{BuildPolicy, IndexCounts, IndexOptions, IndexState, IndexStatus, StoredIndex};
use background::BackgroundBuild;
use sinew_watch::WatchQueue;

/// How often a call that waits for another one checks for cancellation.
const CANCEL_POLL: Duration = Duration::from_millis(5);
/// The number of panics after which the index is disabled.
const PANICS: u64 = 2;

/// An indexed directory. Every listing reflects the time of the call.
pub struct Index {
    root: PathBuf,
    pub(crate) options: IndexOptions,
    queue: Arc<WatchQueue>,
    pub(crate) state: Mutex<State>,
    /// The state after the last call, stored separately so that reading it never waits.
    status: Mutex<IndexStatus>,
    /// Locked while the index is built.
    pub(crate) build: Mutex<()>,
    pub(crate) panics: Arc<AtomicU64>,
    pub(crate) progress: Arc<Progress>,
    background: Mutex<BackgroundBuild>,
}

#[derive(Default)]
pub(crate) struct State {
    pub(crate) held: Option<IndexedRoot>,
    pub(crate) counts: IndexCounts,
    /// The duration of the last barrier.
    barrier: Duration,
    closed: bool,
}

/// The entries below a directory at the time of the call, with their state in the index.
pub struct Listing {
    /// The scan and its warnings.
    pub scan: Arc<TreeScan>,
    parts: Vec<PartView>,
}

impl Index {
    /// Creates the index of a directory, which receives changes through `queue`. Reads nothing before the first call of
    /// [`Index::listing`].
    ///
    /// # Errors
    /// Returns an error if `root` does not exist or is not a directory.
    pub fn open(root: &Path, options: IndexOptions, queue: Arc<WatchQueue>) -> Result<Index> {
        let failed = |cause| Error::io(format_args!("failed to read {:?}", root.to_string_lossy()), &cause);
        let root_path = std::path::absolute(root).map_err(failed)?;
        if !std::fs::metadata(&root_path).map_err(failed)?.is_dir() {
            return Err(Error::invalid(format!("{:?} is not a folder", root.to_string_lossy())));
        }
        Ok(Index {
            root: root_path,
            options,
            queue,
            state: Mutex::default(),
            status: Mutex::default(),
            build: Mutex::new(()),
            panics: Arc::default(),
            progress: Arc::default(),
            background: Mutex::default(),
        })
    }

    /// Returns the root as it was given, made absolute.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Updates the index and lists what [`sinew_walk::scan`] would list. `None` if the index does not support these
    /// options, or if stamps cannot be trusted: the caller then walks.
    ///
    /// Checks the paths with events, and the stamps of paths without a watch. The first call, and one that finds a
    /// different directory at the root, needs a walk.
    ///
    /// # Errors
    /// Returns an error if the call is cancelled.
    pub fn listing(&self, options: &ScanOptions, pool: &Pool, cancel: &CancelToken) -> Result<Option<Listing>> {
        let (mut state, is_held) = self.current(pool, cancel)?;
        let Some(held) = state.held.as_mut().filter(|_| is_held) else { return Ok(None) };
        // If the root is missing or not a directory, the walk reports it.
        let Ok(options) = options.clone().canonical() else { return Ok(None) };
        let Some(scan) = held.tree.scan(&options, cancel)? else { return Ok(None) };
        let base = scan.scan.root().strip_prefix(held.tree.root()).map(|base| base.as_os_str().as_encoded_bytes());
        let Ok(base) = base.map(<[u8]>::to_vec) else { return Ok(None) };
        let parts = held.parts.iter_mut().map(|part| part.view(&scan.scan, &base)).collect();
        Ok(Some(Listing { scan, parts }))
    }

    /// Returns the changes since an earlier call, identified by its token. Without a token, or if the changes are
    /// unknown, `all` is true. Ignored directories are not watched and never listed.
    ///
    /// # Errors
    /// Returns an error if the call is cancelled.
    pub fn changes(&self, since: Option<&str>, pool: &Pool, cancel: &CancelToken) -> Result<Changes> {
        let (mut state, is_held) = self.current(pool, cancel)?;
        let held = state.held.as_mut().filter(|_| is_held);
        Ok(held.map_or_else(|| Changes { all: true, ..Changes::default() }, |held| held.changes(since)))
    }

    /// Updates the index as [`Index::listing`] does.
    ///
    /// # Errors
    /// Returns an error if the call is cancelled.
    pub fn refresh(&self, pool: &Pool, cancel: &CancelToken) -> Result<()> {
        self.current(pool, cancel).map(drop)
    }

    /// Locks the state, updates it and stores its status; returns false if the index cannot be used.
    fn current(&self, pool: &Pool, cancel: &CancelToken) -> Result<(MutexGuard<'_, State>, bool)> {
        let mut state = lock(&self.state, cancel)?;
        let started = Instant::now();
        let is_held = self.barrier(&mut state, pool, cancel)?;
        state.barrier = started.elapsed();
        self.note_status(&state);
        Ok((state, is_held))
    }

    /// Returns the state after the last call. Never waits for another call.
    #[must_use]
    pub fn status(&self) -> IndexStatus {
        let status = self.status.lock().clone();
        let is_building = status.state == IndexState::Ready && self.build.is_locked();
        if is_building { IndexStatus { state: IndexState::Building, ..status } } else { status }
    }

    /// Returns the progress of the running build, or of the last one. Never waits for it.
    #[must_use]
    pub fn progress(&self) -> BuildProgress {
        self.progress.now()
    }

    pub(crate) fn note_status(&self, state: &State) {
        let counts = IndexCounts { panics: self.panics.load(Ordering::Relaxed), ..state.counts };
        let status = match &state.held {
            Some(held) => held.status(counts),
            None if state.closed => IndexStatus { state: IndexState::Closed, counts, ..IndexStatus::default() },
            None => {
                IndexStatus { state: IndexState::Plain, reason: self.why_plain(), counts, ..IndexStatus::default() }
            }
        };
        *self.status.lock() = IndexStatus { barrier: state.barrier, ..status };
    }

    /// Returns the indexes on disk below a cache directory, the most recently used first.
    #[must_use]
    pub fn stored(cache: &Path) -> Vec<StoredIndex> {
        crate::evict::stored(cache)
    }

    /// Deletes an index on disk.
    ///
    /// # Errors
    /// Returns an error if the index is in use or the system cannot delete it.
    pub fn remove_stored(index: &StoredIndex) -> Result<()> {
        let failed = |cause| Error::io(format_args!("failed to remove {:?}", index.folder), &cause);
        crate::store::remove_folder(&index.folder).map_err(failed)
    }

    /// Deletes the index of a root on disk; returns false if there is none.
    ///
    /// # Errors
    /// Returns an error if the index is in use or the system cannot delete it.
    pub fn remove(cache: &Path, root: &Path) -> Result<bool> {
        let failed =
            |cause| Error::io(format_args!("failed to remove the index of {:?}", root.to_string_lossy()), &cause);
        // The root itself may not exist any more.
        let path = std::fs::canonicalize(root).or_else(|_| std::path::absolute(root)).map_err(failed)?;
        crate::store::remove(cache, &path).map_err(failed)
    }

    /// Stops the background build and releases memory, descriptors and watches. Later calls of [`Index::listing`]
    /// return `None`.
    pub fn close(&self) {
        self.stop_background();
        let mut state = self.state.lock();
        state.closed = true;
        state.held = None;
        self.note_status(&state);
    }

    /// Updates everything to a moment after the call began; returns false if the index cannot be used.
    pub(crate) fn barrier(&self, state: &mut State, pool: &Pool, cancel: &CancelToken) -> Result<bool> {
        if state.closed || self.panics.load(Ordering::Relaxed) >= PANICS {
            state.held = None;
            return Ok(false);
        }
        if state.held.as_ref().is_some_and(|held| !held.is_at(&self.root)) {
            state.counts.reopened += 1;
            state.held = None;
        }
        if state.held.is_none() && self.is_too_large() {
            return Ok(false);
        }
        let updated = match &mut state.held {
            Some(held) => held.update(&self.options, &mut state.counts, pool, cancel),
            None => IndexedRoot::open(&self.root, &self.options, &self.queue, pool, cancel).map(|held| {
                state.held = Some(held);
            }),
        };
        if let Err(error) = updated {
            cancel.check()?;
            // The root cannot be read; the walk reports why.
            drop(error);
            state.held = None;
        }
        Ok(state.held.as_ref().is_some_and(IndexedRoot::is_trusted))
    }

    fn why_plain(&self) -> Option<String> {
        Some(match self.panics.load(Ordering::Relaxed) {
            PANICS.. => "indexing is disabled because it panicked twice".into(),
            _ if self.is_too_large() => "it is the user's home directory or one of its parents".into(),
            _ => format!("{:?} cannot be read", self.root.to_string_lossy()),
        })
    }

    /// Returns true for the root of the system and for the user's home directory and its parents, even through a link.
    /// They are only indexed if the caller requests it.
    fn is_too_large(&self) -> bool {
        if self.options.build == BuildPolicy::Always {
            return false;
        }
        let resolved = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        let root = resolved(&self.root);
        root.parent().is_none() || self.options.home.as_ref().is_some_and(|home| resolved(home).starts_with(&root))
    }
}

impl Listing {
    /// Returns the state of each row of the scan for a plan, and the number of indexed documents that satisfy the plan.
    #[must_use]
    pub fn judge(&self, plan: &Plan, reach: Reach) -> (Vec<RowState>, usize) {
        let mut states = vec![RowState::Unknown; self.scan.scan.len()];
        let documents = self.parts.iter().map(|part| part.judge(plan, reach, &mut states)).sum();
        (states, documents)
    }

    /// Returns the scan.
    #[must_use]
    pub fn entries(&self) -> &Scan {
        &self.scan.scan
    }
}

/// Locks a mutex that another call may keep locked for a long time.
pub(crate) fn lock<'a, T>(mutex: &'a Mutex<T>, cancel: &CancelToken) -> Result<MutexGuard<'a, T>> {
    loop {
        cancel.check()?;
        if let Some(held) = mutex.try_lock_for(CANCEL_POLL) {
            return Ok(held);
        }
    }
}

impl std::fmt::Debug for Index {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Index").field("root", &self.root).finish_non_exhaustive()
    }
}
