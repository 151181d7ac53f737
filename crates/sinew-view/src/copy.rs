//! Copies files, sharing their data on disk if the file system can.

use std::fs::File;
use std::io::{self, Read as _, Seek, SeekFrom, Write};
use std::path::Path;

use rustix::fs::{Mode, OFlags, Stat, Timespec, Timestamps};
use rustix::io::Errno;
use sinew_base::CancelToken;
use sinew_checkpoint::{Directory, EntryKind};

use crate::scan::{as_name, entry_at, joined};

/// Creates a file that must not exist, for writing by the owner only.
///
/// # Errors
/// Returns the system's error.
pub(crate) fn create(directory: &Directory, name: &[u8]) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(File::from(rustix::fs::openat(directory, as_name(name), flags, Mode::RUSR | Mode::WUSR)?))
}

/// Makes `target` share the data of `source`. Returns false if the file system cannot.
#[cfg(target_os = "linux")]
pub(crate) fn share_data(source: &File, target: &File) -> bool {
    rustix::fs::ioctl_ficlone(target, source).is_ok()
}

/// Makes `target` share the data of `source`. Returns false if the file system cannot.
#[cfg(not(target_os = "linux"))]
pub(crate) fn share_data(_source: &File, _target: &File) -> bool {
    false
}

/// Copies the content of a file; holes stay holes.
///
/// # Errors
/// Returns the system's error.
pub(crate) fn copy_data(source: &mut File, target: &mut File) -> io::Result<()> {
    let size = source.metadata()?.len();
    let mut at = 0;
    while at < size {
        let start = match rustix::fs::seek(&*source, rustix::fs::SeekFrom::Data(at)) {
            Ok(start) => start,
            // No data follows.
            Err(Errno::NXIO) => break,
            // The file system does not report holes.
            Err(_) => at,
        };
        let end = rustix::fs::seek(&*source, rustix::fs::SeekFrom::Hole(start)).unwrap_or(size).max(start + 1);
        source.seek(SeekFrom::Start(start))?;
        target.seek(SeekFrom::Start(start))?;
        let copied = io::copy(&mut source.take(end - start), target)?;
        if copied == 0 {
            break;
        }
        at = start + copied;
    }
    target.set_len(size)
}

/// Shares or copies the content of a file.
///
/// # Errors
/// Returns the system's error.
pub(crate) fn copy_file(source: &mut File, target: &mut File) -> io::Result<()> {
    if share_data(source, target) { Ok(()) } else { copy_data(source, target) }
}

/// Writes content to a new file.
///
/// # Errors
/// Returns the system's error.
pub(crate) fn write_new(directory: &Directory, name: &[u8], content: &[u8]) -> io::Result<File> {
    let mut file = create(directory, name)?;
    file.write_all(content)?;
    Ok(file)
}

/// Sets the permissions and the time of the last change of the content, and returns the metadata.
///
/// # Errors
/// Returns the system's error.
pub(crate) fn finish(file: &File, mode: u32, mtime: Option<i128>) -> io::Result<Stat> {
    rustix::fs::fchmod(file, Mode::from_raw_mode(mode as rustix::fs::RawMode))?;
    if let Some(mtime) = mtime {
        let time = Timespec {
            tv_sec: i64::try_from(mtime.div_euclid(1_000_000_000)).unwrap_or(0),
            tv_nsec: i64::try_from(mtime.rem_euclid(1_000_000_000)).unwrap_or(0),
        };
        rustix::fs::futimens(file, &Timestamps { last_access: time, last_modification: time })?;
    }
    Ok(rustix::fs::fstat(file)?)
}

/// Opens a regular file by its path. Does not wait for pipes.
///
/// # Errors
/// Returns the system's error, and `InvalidInput` for anything but a regular file.
pub(crate) fn open_path(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::ErrorKind::InvalidInput.into()) }
}

/// Reads a regular file of at most `limit` bytes by its path.
///
/// # Errors
/// Returns the system's error, `InvalidInput` for anything but a regular file, and `FileTooLarge`.
pub(crate) fn read_path(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    sinew_base::read_limited(open_path(path)?, limit)?.ok_or_else(|| io::ErrorKind::FileTooLarge.into())
}

/// Returns `Interrupted` if the call is cancelled, for functions with the system's errors.
///
/// # Errors
/// Returns `Interrupted`.
pub(crate) fn check(cancel: &CancelToken) -> io::Result<()> {
    cancel.check().map_err(|_| io::ErrorKind::Interrupted.into())
}

/// Copies a directory with everything below it as it is, for the data of repositories. Pipes, sockets and devices are
/// skipped. `cancel` is checked before each entry.
///
/// # Errors
/// Returns the system's error, and `Interrupted` if the call is cancelled.
fn copy_tree(source: &Directory, target: &Directory, cancel: &CancelToken) -> io::Result<()> {
    let mut folders: Vec<Vec<u8>> = vec![Vec::new()];
    while let Some(folder) = folders.pop() {
        let (from, to) = (source.open_below(&folder)?, target.open_below(&folder)?);
        for name in from.names()? {
            check(cancel)?;
            let path = joined(&folder, &name);
            if copy_entry(&from, &to, &name)? {
                folders.push(path);
            }
        }
    }
    Ok(())
}

/// Copies an entry, but of a directory only the directory itself. Returns true for a directory.
fn copy_entry(from: &Directory, to: &Directory, name: &[u8]) -> io::Result<bool> {
    let Some(entry) = entry_at(from, as_name(name), name)? else { return Ok(false) };
    match entry.kind {
        EntryKind::Directory => {
            rustix::fs::mkdirat(to, as_name(name), Mode::from_raw_mode(0o755))?;
            return Ok(true);
        }
        EntryKind::Link => rustix::fs::symlinkat(as_name(&entry.target), to, as_name(name))?,
        EntryKind::File => {
            let mut source = from.open_file(as_name(name))?;
            let mut copy = create(to, name)?;
            copy_file(&mut source, &mut copy)?;
            finish(&copy, entry.mode | 0o600, Some(entry.stamp.mtime))?;
        }
        EntryKind::Special | EntryKind::Repository => {}
    }
    Ok(false)
}

/// Reads a file of at most `limit` bytes; `None` if it is larger.
///
/// # Errors
/// Returns the system's error.
pub(crate) fn read_file(directory: &Directory, path: &[u8], limit: u64) -> io::Result<Option<Vec<u8>>> {
    let (parent, name) = directory.open_parent(path)?;
    sinew_base::read_limited(parent.open_file(name)?, limit)
}

/// Opens a file of a view for reading, also if a program took the permission to read it away.
///
/// # Errors
/// Returns the system's error.
pub(crate) fn open_own(view: &Directory, path: &[u8]) -> rustix::io::Result<File> {
    let (parent, name) = view.open_parent(path)?;
    match parent.open_file(name) {
        Err(Errno::ACCESS) => {}
        opened => return opened,
    }
    let mode = entry_at(&parent, name, path)?.ok_or(Errno::NOENT)?.mode;
    parent.set_mode(name, mode | 0o400)?;
    let opened = parent.open_file(name);
    parent.set_mode(name, mode)?;
    opened
}

/// Copies an entry from one directory to another, with everything below it. `cancel` is checked before each entry.
///
/// # Errors
/// Returns the system's error, and `Interrupted` if the call is cancelled.
pub(crate) fn copy_whole(from: &Directory, to: &Directory, name: &[u8], cancel: &CancelToken) -> io::Result<()> {
    if copy_entry(from, to, name)? {
        copy_tree(&from.open_below(name)?, &to.open_below(name)?, cancel)?;
    }
    Ok(())
}
