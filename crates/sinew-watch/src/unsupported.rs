//! Where no directory can be watched.

use std::convert::Infallible;
use std::path::Path;
use std::sync::Arc;

use sinew_base::{CancelToken, Error, ErrorCode, Result};
use sinew_pool::Pool;

use crate::types::{Change, WatchMode, WatchOptions};

/// The queue of events that the watches of one program share: there is none.
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

/// A directory of which changes are reported: there is none.
#[derive(Debug)]
pub struct TreeWatcher(Infallible);

impl TreeWatcher {
    /// Fails.
    ///
    /// # Errors
    /// `Unsupported`.
    pub fn open(_: &Path, _: WatchOptions, _: Arc<WatchQueue>, _: Pool, _: &CancelToken) -> Result<TreeWatcher> {
        Err(Error::new(ErrorCode::Unsupported, "watch: directories are watched on Linux only"))
    }

    /// Returns how changes are found now.
    #[must_use]
    pub fn mode(&self) -> WatchMode {
        match self.0 {}
    }

    /// Returns the changes up to now.
    pub fn poll(&mut self) -> Vec<Change> {
        match self.0 {}
    }

    /// Returns a handle by which another thread ends [`TreeWatcher::wait`].
    #[must_use]
    pub fn closer(&self) -> WatchCloser {
        match self.0 {}
    }

    /// Waits for changes.
    ///
    /// # Errors
    /// None.
    pub fn wait(&mut self) -> Result<Option<Vec<Change>>> {
        match self.0 {}
    }
}
