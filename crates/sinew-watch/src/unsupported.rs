//! The API on systems where directories cannot be watched: opening a watcher fails.

use std::convert::Infallible;
use std::path::Path;
use std::sync::Arc;

use sinew_base::{CancelToken, Error, ErrorCode, Result};
use sinew_pool::Pool;

use crate::types::{Change, WatchMode, WatchOptions};

/// An event queue without events.
#[derive(Debug, Default)]
pub struct WatchQueue {}

/// Ends the wait of a [`TreeWatcher`] from another thread.
#[derive(Debug, Clone)]
pub struct WatchCloser(Infallible);

impl WatchCloser {
    /// Ends the wait.
    pub fn close(&self) {
        match self.0 {}
    }
}

/// A watcher, which cannot be created on this system.
#[derive(Debug)]
pub struct TreeWatcher(Infallible);

impl TreeWatcher {
    /// Fails on this system.
    ///
    /// # Errors
    /// Always returns `Unsupported`.
    pub fn open(_: &Path, _: WatchOptions, _: Arc<WatchQueue>, _: Pool, _: &CancelToken) -> Result<TreeWatcher> {
        Err(Error::new(ErrorCode::Unsupported, "watch: directories are watched on Linux only"))
    }

    /// Returns how changes are currently detected.
    #[must_use]
    pub fn mode(&self) -> WatchMode {
        match self.0 {}
    }

    /// Returns the changes up to now.
    pub fn poll(&mut self) -> Vec<Change> {
        match self.0 {}
    }

    /// Returns a handle that ends [`TreeWatcher::wait`] from another thread.
    #[must_use]
    pub fn closer(&self) -> WatchCloser {
        match self.0 {}
    }

    /// Waits for changes.
    ///
    /// # Errors
    /// Never fails.
    pub fn wait(&mut self) -> Result<Option<Vec<Change>>> {
        match self.0 {}
    }
}
