//! Advisory locks on files, by which processes take turns.
//!
//! A lock belongs to the value that holds it, not to its process: a second one of the same file waits also in the same process. It ends when the
//! value is dropped and when the process ends, however that happens. It holds back nobody who does not ask for it, and is that of `flock(2)`:
//! programs that use the same, such as `flock(1)`, take turns with it.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use sinew_base::{Aborted, CancelToken, Error, ErrorCode, Result};

/// The others that may hold a lock at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// Nobody.
    #[default]
    Exclusive,
    /// All that want it shared too, as readers do.
    Shared,
}

/// A lock that is held until the value is dropped.
#[derive(Debug)]
pub struct FileLock {
    file: File,
    path: PathBuf,
}

impl Drop for FileLock {
    fn drop(&mut self) {
        // A child that was forked meanwhile holds the file open until its exec, and would hold the lock with it.
        let _ = self.file.unlock();
    }
}

/// The first pause between two attempts, and the longest: each is twice the one before.
const PAUSES: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(50));

impl FileLock {
    /// Takes the lock of a file, and creates the file where it is missing. Returns `None` where others hold it.
    ///
    /// The file is left as it is, also afterwards: who deletes the file of a lock takes it from the next who asks.
    ///
    /// # Errors
    /// A path that names no regular file, or that cannot be opened or created; a file system without locks.
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
            // The file was deleted or replaced meanwhile: others would lock another one.
        }
    }

    /// Takes the lock of a file as soon as others have let go of it.
    ///
    /// The system has no wait for a lock that can be ended from outside, so it is asked again after a pause of 1 to 50 ms. `cancel` ends a pause
    /// at once. It is looked at after the first attempt, so that a time limit of zero is one attempt; one that is set already makes none.
    ///
    /// # Errors
    /// As [`FileLock::try_acquire`]; [`Aborted`] when `cancel` ended the wait.
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

    /// A file that is open keeps its name there.
    #[cfg(not(unix))]
    fn is_at_its_path(&self) -> bool {
        true
    }
}

/// Opens the file without waiting for whatever else the path may name. One that may not be written is opened for reading: it can be
/// locked all the same.
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
        // Windows says that access is denied.
        _ if path.is_dir() => no_file(),
        _ => failed(path, &cause),
    })?;
    let metadata = file.metadata().map_err(|cause| failed(path, &cause))?;
    if metadata.is_file() { Ok(file) } else { Err(no_file()) }
}

fn failed(path: &Path, cause: &io::Error) -> Error {
    Error::io(format!("FileLock: failed to open {path:?}"), cause)
}
