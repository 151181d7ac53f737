//! Advisory file locks between processes.
//!
//! A lock belongs to the value that holds it, not to the process: a second lock of the same file waits even in the same
//! process. The lock is released when the value is dropped or the process ends for any reason. It only affects
//! processes that lock the same file. The lock is that of `flock(2)`, so it works together with programs such as
//! `flock(1)`.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use sinew_base::{Aborted, CancelToken, Error, ErrorCode, Result};

/// The kind of a lock, which determines the other locks that may exist at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// No other lock.
    #[default]
    Exclusive,
    /// Other shared locks, for example of readers.
    Shared,
}

/// A file lock that is released when the value is dropped.
#[derive(Debug)]
pub struct FileLock {
    file: File,
    path: PathBuf,
}

impl Drop for FileLock {
    fn drop(&mut self) {
        // A child process forked in the meantime keeps the file open until its exec, and would keep the lock.
        let _ = self.file.unlock();
    }
}

/// The first and the longest pause between two attempts; each pause is twice the previous one.
const PAUSES: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(50));

impl FileLock {
    /// Locks a file and creates it if it is missing. Returns `None` if another lock conflicts.
    ///
    /// The file is never changed or removed: if a process deletes it, the next process locks a different file.
    ///
    /// # Errors
    /// Returns an error if the path is not a regular file, if it cannot be opened or created, or if the file system
    /// does not support locks.
    pub fn try_acquire(path: &Path, mode: Mode) -> Result<Option<FileLock>> {
        loop {
            let file = open(path)?;
            let taken = match mode {
                Mode::Exclusive => file.try_lock(),
                Mode::Shared => file.try_lock_shared(),
            };
            match taken {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(cause)) => {
                    return Err(Error::io(format!("FileLock: failed to lock {path:?}"), &cause));
                }
            }
            let lock = FileLock { file, path: path.to_owned() };
            if lock.is_at_its_path() {
                return Ok(Some(lock));
            }
            // The file was deleted or replaced in the meantime, so other processes would lock a different file.
        }
    }

    /// Locks a file, and waits until no other lock conflicts.
    ///
    /// The system has no cancellable wait for a lock, so it is tried again after a pause of 1 to 50 ms. `cancel` ends a
    /// pause at once. It is checked after the first attempt, so a timeout of zero makes one attempt; a token that is
    /// already cancelled makes none.
    ///
    /// # Errors
    /// Returns the errors of [`FileLock::try_acquire`], and [`Aborted`] if `cancel` ended the wait.
    pub fn acquire(path: &Path, mode: Mode, cancel: &CancelToken) -> Result<FileLock> {
        if cancel.check() == Err(Aborted::Signal) {
            return Err(Aborted::Signal.into());
        }
        let ended = Arc::new((Mutex::new(false), Condvar::new()));
        let end = Arc::clone(&ended);
        let _hook = cancel.on_cancel(move || {
            *end.0.lock() = true;
            end.1.notify_all();
        });
        let (mut pause, longest) = PAUSES;
        loop {
            if let Some(lock) = FileLock::try_acquire(path, mode)? {
                return Ok(lock);
            }
            cancel.check()?;
            let mut is_ended = ended.0.lock();
            if !*is_ended {
                ended.1.wait_for(&mut is_ended, pause);
            }
            pause = (pause * 2).min(longest);
        }
    }

    /// Returns the path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    #[cfg(unix)]
    fn is_at_its_path(&self) -> bool {
        use std::fs::Metadata;
        use std::os::unix::fs::MetadataExt;
        let same = |open: Metadata, named: Metadata| (open.dev(), open.ino()) == (named.dev(), named.ino());
        self.file.metadata().and_then(|open| Ok(same(open, std::fs::metadata(&self.path)?))).unwrap_or(false)
    }

    /// On this system an open file cannot be renamed or deleted.
    #[cfg(not(unix))]
    fn is_at_its_path(&self) -> bool {
        true
    }
}

/// Opens the file without blocking on special files. A file without write permission is opened for reading, because it
/// can still be locked.
fn open(path: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        use std::os::unix::fs::OpenOptionsExt;
        options.custom_flags((OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed());
    }
    let writable = options.read(true).write(true).create(true).truncate(false).open(path);
    let opened = match writable {
        Err(cause) if matches!(cause.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem) => options
            .write(false)
            .create(false)
            .open(path)
            .map_err(|second| if second.kind() == ErrorKind::NotFound { cause } else { second }),
        other => other,
    };
    let no_file = || {
        Error::new(
            ErrorCode::InvalidArgument,
            format!("FileLock: {path:?} is no regular file; name one, it is created where it is missing"),
        )
    };
    let file = opened.map_err(|cause| match cause.kind() {
        ErrorKind::IsADirectory => no_file(),
        // Windows reports this as access denied.
        _ if path.is_dir() => no_file(),
        _ => failed(path, &cause),
    })?;
    let metadata = file.metadata().map_err(|cause| failed(path, &cause))?;
    if metadata.is_file() { Ok(file) } else { Err(no_file()) }
}

fn failed(path: &Path, cause: &io::Error) -> Error {
    Error::io(format!("FileLock: failed to open {path:?}"), cause)
}
