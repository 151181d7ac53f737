//! The implementation for systems without views: opening fails, so that no other call is reachable.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sinew_base::{CancelToken, Error, ErrorCode, Result};

use crate::answer::{ApplyResult, Changes, Leftover};
use crate::options::{ApplyOptions, ChangesOptions, OpenOptions, ViewMode};

/// The time after which a view that no process uses should be removed: seven days.
pub const VIEW_LIFETIME: Duration = Duration::from_hours(7 * 24);

/// A view, which this system does not support.
#[derive(Debug)]
pub struct IsolatedView {
    never: Infallible,
}

impl IsolatedView {
    /// Fails, because this system is not supported.
    ///
    /// # Errors
    /// Always returns `Unsupported`.
    pub fn open(_root: &Path, _options: &OpenOptions, _cancel: &CancelToken) -> Result<IsolatedView> {
        Err(Error::new(ErrorCode::Unsupported, "view: not available on this system; views need Linux or macOS"))
    }

    /// Fails, because this system is not supported.
    ///
    /// # Errors
    /// Always returns `Unsupported`.
    pub fn reopen(_home: &Path, _id: &str, _cancel: &CancelToken) -> Result<IsolatedView> {
        Err(Error::new(ErrorCode::Unsupported, "view: not available on this system; views need Linux or macOS"))
    }

    /// Unreachable, because [`IsolatedView::open`] fails.
    #[must_use]
    pub fn id(&self) -> &str {
        match self.never {}
    }

    /// Unreachable, because [`IsolatedView::open`] fails.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self.never {}
    }

    /// Unreachable, because [`IsolatedView::open`] fails.
    #[must_use]
    pub fn root(&self) -> &Path {
        match self.never {}
    }

    /// Unreachable, because [`IsolatedView::open`] fails.
    #[must_use]
    pub fn mode(&self) -> ViewMode {
        match self.never {}
    }

    /// Unreachable, because [`IsolatedView::open`] fails.
    #[must_use]
    pub fn label(&self) -> Option<&str> {
        match self.never {}
    }

    /// Unreachable, because [`IsolatedView::open`] fails.
    #[must_use]
    pub fn missing(&self) -> &[Vec<u8>] {
        match self.never {}
    }

    /// Unreachable, because [`IsolatedView::open`] fails.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        match self.never {}
    }

    /// Unreachable, because [`IsolatedView::open`] fails.
    #[must_use]
    pub fn environment(&self) -> Vec<(String, PathBuf)> {
        match self.never {}
    }

    /// Unreachable, because [`IsolatedView::open`] fails.
    ///
    /// # Errors
    /// Never returns an error, because it is unreachable.
    pub fn changes(&self, _options: &ChangesOptions, _cancel: &CancelToken) -> Result<Changes> {
        match self.never {}
    }

    /// Unreachable, because [`IsolatedView::open`] fails.
    ///
    /// # Errors
    /// Never returns an error, because it is unreachable.
    pub fn apply(&mut self, _options: &ApplyOptions, _cancel: &CancelToken) -> Result<ApplyResult> {
        match self.never {}
    }

    /// Unreachable, because [`IsolatedView::open`] fails.
    ///
    /// # Errors
    /// Never returns an error, because it is unreachable.
    pub fn discard(self) -> Result<()> {
        match self.never {}
    }
}

/// Returns no view, because this system has none.
///
/// # Errors
/// Never returns an error.
pub fn leftovers(_home: &Path, _cancel: &CancelToken) -> Result<Vec<Leftover>> {
    Ok(Vec::new())
}

/// Removes nothing, because this system has no views.
///
/// # Errors
/// Never returns an error.
pub fn remove_expired(_home: &Path, _age: Duration, _cancel: &CancelToken) -> Result<Vec<String>> {
    Ok(Vec::new())
}
