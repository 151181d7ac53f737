//! The implementation for systems without checkpoints: opening fails, so that no other call is reachable.

use std::path::Path;

use sinew_base::{CancelToken, Error, ErrorCode, Result};

use crate::answer::{Changes, Checkpoint, CollectResult, ContentVisitor, Plan, RestoreResult, Usage};
use crate::options::{OpenOptions, RestoreOptions, TakeOptions};

/// The checkpoints of a directory, which this system does not support.
#[derive(Debug)]
pub struct Checkpoints {
    never: std::convert::Infallible,
}

impl Checkpoints {
    /// Fails, because this system is not supported.
    ///
    /// # Errors
    /// Always returns `Unsupported`.
    pub fn open(_root: &Path, _options: &OpenOptions) -> Result<Checkpoints> {
        Err(Error::new(ErrorCode::Unsupported, "checkpoints: not available on this system; they need Linux or macOS"))
    }

    /// Unreachable, because [`Checkpoints::open`] fails.
    #[must_use]
    pub fn root(&self) -> &Path {
        match self.never {}
    }

    /// Unreachable, because [`Checkpoints::open`] fails.
    #[must_use]
    pub fn scan_time(&self) -> Option<std::time::Duration> {
        match self.never {}
    }

    /// Unreachable, because [`Checkpoints::open`] fails.
    ///
    /// # Errors
    /// Never returns an error, because it is unreachable.
    pub fn measure_scan(&self, _cancel: &CancelToken) -> Result<std::time::Duration> {
        match self.never {}
    }

    /// Unreachable, because [`Checkpoints::open`] fails.
    ///
    /// # Errors
    /// Never returns an error, because it is unreachable.
    pub fn take(&self, _options: &TakeOptions, _cancel: &CancelToken) -> Result<Checkpoint> {
        match self.never {}
    }

    /// Unreachable, because [`Checkpoints::open`] fails.
    ///
    /// # Errors
    /// Never returns an error, because it is unreachable.
    pub fn note(&self, _paths: &[Vec<u8>], _session: Option<&str>, _cancel: &CancelToken) -> Result<Checkpoint> {
        match self.never {}
    }

    /// Unreachable, because [`Checkpoints::open`] fails.
    ///
    /// # Errors
    /// Never returns an error, because it is unreachable.
    pub fn list(&self) -> Result<Vec<Checkpoint>> {
        match self.never {}
    }

    /// Unreachable, because [`Checkpoints::open`] fails.
    ///
    /// # Errors
    /// Never returns an error, because it is unreachable.
    pub fn usage(&self) -> Result<Usage> {
        match self.never {}
    }

    /// Unreachable, because [`Checkpoints::open`] fails.
    ///
    /// # Errors
    /// Never returns an error, because it is unreachable.
    pub fn gc(&self, _cancel: &CancelToken) -> Result<CollectResult> {
        match self.never {}
    }

    /// Unreachable, because [`Checkpoints::open`] fails.
    ///
    /// # Errors
    /// Never returns an error, because it is unreachable.
    pub fn changes(&self, _from: &str, _to: &str, _cancel: &CancelToken) -> Result<Changes> {
        match self.never {}
    }

    /// Unreachable, because [`Checkpoints::open`] fails.
    ///
    /// # Errors
    /// Never returns an error, because it is unreachable.
    pub fn plan(&self, _id: &str, _options: &RestoreOptions, _cancel: &CancelToken) -> Result<Plan> {
        match self.never {}
    }

    /// Unreachable, because [`Checkpoints::open`] fails.
    ///
    /// # Errors
    /// Never returns an error, because it is unreachable.
    pub fn plan_with_contents(
        &self,
        _id: &str,
        _options: &RestoreOptions,
        _most: u64,
        _cancel: &CancelToken,
        _see: ContentVisitor<'_>,
    ) -> Result<Plan> {
        match self.never {}
    }

    /// Unreachable, because [`Checkpoints::open`] fails.
    ///
    /// # Errors
    /// Never returns an error, because it is unreachable.
    pub fn restore(&self, _id: &str, _options: &RestoreOptions, _cancel: &CancelToken) -> Result<RestoreResult> {
        match self.never {}
    }
}
