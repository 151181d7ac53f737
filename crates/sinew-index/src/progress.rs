//! The progress of a build.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use parking_lot::Mutex;

/// The steps of a build.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum BuildPhase {
    /// The directory is being listed.
    #[default]
    List,
    /// Files are being read.
    Read,
    /// The files that were read are being added to the index.
    Merge,
}

/// The progress of a build.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BuildProgress {
    /// The current step.
    pub phase: BuildPhase,
    /// The number of files read.
    pub files: usize,
    /// The number of files to read; 0 until they are listed.
    pub total_files: usize,
    /// The number of bytes read.
    pub bytes: u64,
}

/// The counters of a running build.
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "indexes are built on Linux only"))]
#[derive(Debug, Default)]
pub(crate) struct Progress {
    step: Mutex<(BuildPhase, usize)>,
    files: AtomicUsize,
    bytes: AtomicU64,
}

#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "indexes are built on Linux only"))]
impl Progress {
    /// Resets the counters and starts with the list of files.
    pub(crate) fn begin(&self) {
        *self.step.lock() = (BuildPhase::List, 0);
        self.files.store(0, Ordering::Relaxed);
        self.bytes.store(0, Ordering::Relaxed);
    }

    pub(crate) fn read(&self, total: usize) {
        *self.step.lock() = (BuildPhase::Read, total);
    }

    pub(crate) fn add(&self, bytes: u64) {
        self.files.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn merge(&self) {
        self.step.lock().0 = BuildPhase::Merge;
    }

    pub(crate) fn now(&self) -> BuildProgress {
        let (phase, total_files) = *self.step.lock();
        let (files, bytes) = (self.files.load(Ordering::Relaxed), self.bytes.load(Ordering::Relaxed));
        BuildProgress { phase, files, total_files, bytes }
    }
}
