//! The walk: the threads of a pool share the directories, and the listings are combined in path order at the end.
//!
//! The thread that reads a listing also sorts it, so that the end only copies.

mod ordered;
mod reader;
#[cfg(unix)]
pub(crate) mod tree;
mod work_queue;
mod worker_output;

use parking_lot::Mutex;
use sinew_base::{Aborted, CancelTicker, CancelToken, Error, ErrorCode, Result};
use sinew_pool::Pool;

use crate::end_offsets::EndOffsets;
use crate::entry::{Scan, bits_of};
use crate::{Detail, FileType, ScanOptions, Scope, sys};
pub use ordered::{FileBatch, FolderTask, OrderedWalk, WalkFile, WalkStep, WalkWarnings};
use reader::{FolderReader, root_error};
use work_queue::WorkQueue;
use worker_output::{WorkerOutput, assemble};

/// Reads the root and everything below it, on this thread and the free threads of `pool`.
///
/// Lists files, directories and links, but never `.git`, sockets, pipes and devices. Anything that cannot be read is a
/// warning of the result. Checks `cancel` once per directory and per [`sinew_base::CHECK_INTERVAL`] entries.
///
/// # Errors
/// Returns an error if the root does not exist or cannot be read, or if `cancel` is set.
pub fn scan(options: &ScanOptions, pool: &Pool, cancel: &CancelToken) -> Result<Scan> {
    scan_within(options, None, pool, cancel)
}

/// Scans as [`scan`] does, but reads only the directories of `scope`, and may leave out names outside it.
///
/// # Errors
/// Returns the errors of [`scan`].
pub fn scan_within(options: &ScanOptions, scope: Option<Scope>, pool: &Pool, cancel: &CancelToken) -> Result<Scan> {
    match read(options, scope, pool, cancel)? {
        WalkOutput::File(scan) => Ok(scan),
        WalkOutput::Folder { aborted: Some(aborted), .. } => Err(aborted.into()),
        WalkOutput::Folder { options, outputs, warnings, aborted: None } => {
            assemble(&options, outputs, warnings, cancel)
        }
    }
}

/// Scans as [`scan`] does, but a passed deadline of `cancel` is not an error: returns the entries read so far, and
/// true. Directories are complete or empty: one whose listing was cut short is listed without its entries.
///
/// # Errors
/// Returns an error if the root does not exist or cannot be read, or if `cancel` was cancelled explicitly.
pub(crate) fn scan_so_far(options: &ScanOptions, pool: &Pool, cancel: &CancelToken) -> Result<(Scan, bool)> {
    scan_within_so_far(options, None, pool, cancel)
}

/// Scans as [`scan_within`] does, but a passed deadline of `cancel` is not an error: returns the entries read so far,
/// and true.
///
/// # Errors
/// Returns an error if the root does not exist or cannot be read, or if `cancel` was cancelled explicitly.
pub fn scan_within_so_far(
    options: &ScanOptions,
    scope: Option<Scope>,
    pool: &Pool,
    cancel: &CancelToken,
) -> Result<(Scan, bool)> {
    let read = match read(options, scope, pool, cancel) {
        // The deadline passed before the walk began.
        Err(error) if error.code() == ErrorCode::TimedOut => return Ok((Scan::default(), true)),
        read => read?,
    };
    match read {
        WalkOutput::File(scan) => Ok((scan, false)),
        WalkOutput::Folder { aborted: Some(Aborted::Signal), .. } => Err(Aborted::Signal.into()),
        WalkOutput::Folder { options, outputs, warnings, aborted } => {
            // Copying is fast compared with reading.
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

fn read(options: &ScanOptions, scope: Option<Scope>, pool: &Pool, cancel: &CancelToken) -> Result<WalkOutput> {
    cancel.check()?;
    let options = options.clone().canonical()?;
    if !std::fs::metadata(&options.root).map_err(|cause| root_error(&options, &cause))?.is_dir() {
        return single(&options).map(WalkOutput::File);
    }
    let (mut reader, first, warnings) = FolderReader::open(options)?;
    let helpers = if scope.as_ref().is_some_and(Scope::is_narrow) { 0 } else { pool.size().saturating_sub(1) };
    reader.scope = scope;
    let queue = WorkQueue::new(vec![first]);
    let outputs = Mutex::new(Vec::new());
    pool.broadcast(helpers, |_| {
        let (mut output, mut buffer) = (WorkerOutput::default(), Vec::new());
        let mut ticker = CancelTicker::new(cancel);
        queue.work(|task, found| reader.read(task, found, &mut output, &mut buffer, &mut ticker).map(drop));
        outputs.lock().push(output);
    });
    let (outputs, aborted) = (outputs.into_inner(), queue.into_aborted());
    Ok(WalkOutput::Folder { options: reader.options, outputs, warnings, aborted })
}

/// Scans a root that is a file: one entry, even if the rules ignore it.
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
        ends: EndOffsets::from_iter([name.len()]),
        text: name,
        bits: vec![bits_of(FileType::File)],
        details,
        warnings: Vec::new(),
    })
}
