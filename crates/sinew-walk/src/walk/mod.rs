//! The walk: folders are shared among the threads of a pool, the listings put together in path order at the end.
//!
//! Each thread keeps the folders that it finds to itself and gives half of them away when another is idle.
//! A listing is sorted by the thread that read it, so that the end only copies.

mod ordered;
mod reader;
#[cfg(unix)]
pub(crate) mod tree;
mod worker_output;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use parking_lot::{Condvar, Mutex};
use sinew_base::{Aborted, CancelTicker, CancelToken, Error, Result};
use sinew_pool::Pool;

use crate::entry::{Scan, bits_of};
use crate::{Detail, FileType, ScanOptions, sys};
pub use ordered::{FileBatch, FolderTask, OrderedWalk, WalkFile, WalkStep, WalkWarnings};
use reader::{FolderReader, Task, root_error};
use worker_output::{WorkerOutput, assemble};

/// Reads the root and all that lies below it, on this thread and those of `pool` that are free.
///
/// Files, folders and links are listed; `.git`, sockets, pipes and devices never. What cannot be read is a
/// warning of the result. Looks at `cancel` once per folder and per [`sinew_base::CHECK_INTERVAL`] entries.
///
/// # Errors
/// When the root does not exist or cannot be read, and when cancelled.
pub fn scan(options: &ScanOptions, pool: &Pool, cancel: &CancelToken) -> Result<Scan> {
    match read(options, pool, cancel)? {
        WalkOutput::File(scan) => Ok(scan),
        WalkOutput::Folder { aborted: Some(aborted), .. } => Err(aborted.into()),
        WalkOutput::Folder { options, outputs, warnings, aborted: None } => {
            assemble(&options, outputs, warnings, cancel)
        }
    }
}

/// Scans as [`scan`] does, but the deadline of `cancel` is not an error: returns what was read until then, and true.
/// That is whole folders: one whose listing was cut short is there without its entries.
///
/// # Errors
/// When the root does not exist or cannot be read, and when the signal of `cancel` came.
pub(crate) fn scan_so_far(options: &ScanOptions, pool: &Pool, cancel: &CancelToken) -> Result<(Scan, bool)> {
    match read(options, pool, cancel)? {
        WalkOutput::File(scan) => Ok((scan, false)),
        WalkOutput::Folder { aborted: Some(Aborted::Signal), .. } => Err(Aborted::Signal.into()),
        WalkOutput::Folder { options, outputs, warnings, aborted } => {
            // The copy is short beside the reading.
            let cancel = cancel.clone().without_timeout();
            Ok((assemble(&options, outputs, warnings, &cancel)?, aborted.is_some()))
        }
    }
}

/// The output of a walk before it is assembled.
enum WalkOutput {
    File(Scan),
    Folder { options: ScanOptions, outputs: Vec<WorkerOutput>, warnings: Vec<String>, aborted: Option<Aborted> },
}

fn read(options: &ScanOptions, pool: &Pool, cancel: &CancelToken) -> Result<WalkOutput> {
    cancel.check()?;
    let options = options.clone().canonical()?;
    if !std::fs::metadata(&options.root).map_err(|cause| root_error(&options, &cause))?.is_dir() {
        return single(&options).map(WalkOutput::File);
    }
    let (reader, first, warnings) = FolderReader::open(options)?;
    let walk = Walk {
        reader: &reader,
        cancel,
        idle_workers: AtomicUsize::new(0),
        stop: AtomicBool::new(false),
        shared: Mutex::new(Shared { tasks: vec![first], working: 0, outputs: Vec::new(), aborted: None }),
        wake: Condvar::new(),
    };
    pool.broadcast(pool.size().saturating_sub(1), |_| walk.work());
    let Shared { outputs, aborted, .. } = walk.shared.into_inner();
    Ok(WalkOutput::Folder { options: reader.options, outputs, warnings, aborted })
}

/// A file as root: one entry, whatever the rules say of it.
fn single(options: &ScanOptions) -> Result<Scan> {
    let (Some(folder), Some(name)) = (options.root.parent(), options.root.file_name()) else {
        return Err(Error::invalid(format!("{:?} is not a file", options.root.to_string_lossy())));
    };
    let name = name.as_encoded_bytes().to_vec();
    let details = match options.detail {
        Detail::Path => Vec::new(),
        Detail::Full => sys::Root::open(folder)
            .and_then(|root| root.folder(b"", false))
            .ok()
            .map(|folder| folder.detail(&name).unwrap_or_default())
            .into_iter()
            .collect(),
    };
    Ok(Scan {
        root: folder.to_path_buf(),
        single_file: true,
        ends: vec![name.len()],
        text: name,
        bits: vec![bits_of(FileType::File)],
        details,
        warnings: Vec::new(),
    })
}

struct Shared {
    tasks: Vec<Task>,
    working: usize,
    outputs: Vec<WorkerOutput>,
    aborted: Option<Aborted>,
}

struct Walk<'a> {
    reader: &'a FolderReader,
    cancel: &'a CancelToken,
    idle_workers: AtomicUsize,
    stop: AtomicBool,
    shared: Mutex<Shared>,
    wake: Condvar,
}

impl Walk<'_> {
    fn work(&self) {
        // Whatever ends this thread's part, also a panic, the others must not wait for it.
        struct Leave<'a, 'b>(&'a Walk<'b>);
        impl Drop for Leave<'_, '_> {
            fn drop(&mut self) {
                if std::thread::panicking() {
                    self.0.stop.store(true, Ordering::Relaxed);
                    // Under the lock: a notice between another's look and its wait would be lost.
                    drop(self.0.shared.lock());
                    self.0.wake.notify_all();
                }
            }
        }
        let _leave = Leave(self);
        let mut output = WorkerOutput::default();
        let mut buffer = Vec::new();
        let mut own: Vec<Task> = Vec::new();
        let mut ticker = CancelTicker::new(self.cancel);
        while self.take(&mut own) {
            while let Some(task) = own.pop() {
                if self.stop.load(Ordering::Relaxed) {
                    own.clear();
                    break;
                }
                let known = own.len();
                if let Err(aborted) = self.reader.read(task, &mut own, &mut output, &mut buffer, &mut ticker) {
                    self.stop.store(true, Ordering::Relaxed);
                    self.shared.lock().aborted.get_or_insert(aborted);
                    own.clear();
                }
                // In path order, so that what is read together lies together.
                let found = known.min(own.len());
                own[found..].reverse();
                if own.len() > 1 && self.idle_workers.load(Ordering::Relaxed) > 0 {
                    let half = own.len() / 2;
                    self.shared.lock().tasks.extend(own.drain(..half));
                    self.wake.notify_all();
                }
            }
        }
        self.shared.lock().outputs.push(output);
    }

    /// Waits for work; false when there will be none.
    fn take(&self, own: &mut Vec<Task>) -> bool {
        let mut shared = self.shared.lock();
        // Every call but the first of a thread follows a time of work.
        if own.capacity() > 0 {
            shared.working -= 1;
        }
        loop {
            if self.stop.load(Ordering::Relaxed) || (shared.tasks.is_empty() && shared.working == 0) {
                drop(shared);
                self.wake.notify_all();
                return false;
            }
            if !shared.tasks.is_empty() {
                let share = shared.tasks.len().div_ceil(2);
                let at = shared.tasks.len() - share;
                own.reserve(share.max(8));
                own.extend(shared.tasks.drain(at..));
                shared.working += 1;
                return true;
            }
            self.idle_workers.fetch_add(1, Ordering::Relaxed);
            self.wake.wait(&mut shared);
            self.idle_workers.fetch_sub(1, Ordering::Relaxed);
        }
    }
}
