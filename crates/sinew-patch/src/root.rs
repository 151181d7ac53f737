//! Files below a root, opened relative to descriptors and never through a symbolic link.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use sinew_base::{Error, ErrorCode, Result, lossy, read_limited};

use crate::limits::MAX_FILE_BYTES;

/// The directory whose files a patch may change.
pub(crate) struct Root {
    folder: OwnedFd,
}

/// The state of a file on disk.
#[derive(Debug, Clone)]
pub(crate) enum Entry {
    /// It does not exist, or a component of its path is missing or a file.
    Missing,
    /// A directory.
    Folder,
    /// A file or a symbolic link.
    File(Node, Stamp),
    /// A pipe, a socket or a device.
    Special,
}

/// The content of a file, or the target of a symbolic link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) content: Vec<u8>,
    pub(crate) kind: NodeKind,
}

/// A regular file with its permissions (12 bits), or a symbolic link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NodeKind {
    /// A file with the permissions of a new file; true for an executable one.
    NewFile(bool),
    /// A file with these permissions.
    File(u32),
    /// A symbolic link.
    Link,
}

/// The identity of a file that was read: device, inode, size, and time of change in seconds and nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp([i128; 5]);

impl Stamp {
    #[allow(clippy::unnecessary_cast, reason = "the types of these fields differ between systems")]
    fn of(stat: &Stat) -> Stamp {
        let numbers = [stat.st_dev as i128, stat.st_ino as i128, stat.st_size as i128];
        Stamp([numbers[0], numbers[1], numbers[2], stat.st_mtime as i128, stat.st_mtime_nsec as i128])
    }
}

fn folder_flags() -> OFlags {
    // O_PATH allows passing through a directory that may not be listed.
    #[cfg(target_os = "linux")]
    let access = OFlags::PATH;
    #[cfg(not(target_os = "linux"))]
    let access = OFlags::RDONLY;
    access | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC
}

pub(crate) fn name_of(bytes: &[u8]) -> &OsStr {
    OsStr::from_bytes(bytes)
}

/// Splits a path into its directory, empty for the root, and its name.
pub(crate) fn split(path: &[u8]) -> (&[u8], &[u8]) {
    path.iter().rposition(|byte| *byte == b'/').map_or((&path[..0], path), |slash| (&path[..slash], &path[slash + 1..]))
}

impl Root {
    pub(crate) fn open(path: &Path) -> Result<Root> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::open(path, flags, Mode::empty());
        let folder = folder.map_err(|errno| Error::io(format!("failed to open the root {path:?}"), &errno.into()))?;
        Ok(Root { folder })
    }

    /// Opens a directory below the root. A link on the path fails with `ELOOP` or `ENOTDIR`.
    pub(crate) fn folder(&self, path: &[u8]) -> io::Result<OwnedFd> {
        if path.is_empty() {
            return self.folder.try_clone();
        }
        if let Some(folder) = open_beneath(self.folder.as_fd(), path) {
            return folder;
        }
        let mut folder = self.folder.try_clone()?;
        for part in path.split(|byte| *byte == b'/') {
            folder = rustix::fs::openat(&folder, name_of(part), folder_flags(), Mode::empty())?;
        }
        Ok(folder)
    }

    /// Reads a file of at most [`MAX_FILE_BYTES`]. Does not wait for pipes and follows no links.
    pub(crate) fn entry(&self, path: &[u8]) -> Result<Entry> {
        self.read(path).map_err(|cause| match cause.kind() {
            io::ErrorKind::FileTooLarge => {
                let message = format!("{}: the file has more than {MAX_FILE_BYTES} bytes", lossy(path));
                Error::new(ErrorCode::LimitExceeded, message)
            }
            _ => Error::io(format!("failed to read {}", lossy(path)), &cause),
        })
    }

    fn read(&self, path: &[u8]) -> io::Result<Entry> {
        let (folder, name) = split(path);
        let folder = match self.folder(folder) {
            Ok(folder) => folder,
            Err(cause) if is_no_folder(&cause) => return Ok(Entry::Missing),
            Err(cause) => return Err(cause),
        };
        let name = name_of(name);
        let stat = match rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT | Errno::NOTDIR) => return Ok(Entry::Missing),
            Err(errno) => return Err(errno.into()),
        };
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => Ok(Entry::Folder),
            FileType::Symlink => {
                let content = rustix::fs::readlinkat(&folder, name, Vec::new())?.into_bytes();
                Ok(Entry::File(Node { content, kind: NodeKind::Link }, Stamp::of(&stat)))
            }
            FileType::RegularFile => read_file(&folder, name),
            _ => Ok(Entry::Special),
        }
    }

    /// Returns true if a directory only contains files for which `gone` returns true, and directories with the same
    /// property. Paths are relative to the root.
    pub(crate) fn holds_only(&self, path: &[u8], gone: &dyn Fn(&[u8]) -> bool) -> io::Result<bool> {
        let mut open = vec![path.to_vec()];
        while let Some(path) = open.pop() {
            let listed = self.folder(&path)?;
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let listed = rustix::fs::openat(&listed, ".", flags, Mode::empty())?;
            for entry in rustix::fs::Dir::new(listed)? {
                let entry = entry?;
                let name = entry.file_name().to_bytes();
                if name == b"." || name == b".." {
                    continue;
                }
                let below = [&path[..], b"/", name].concat();
                match self.entry(&below) {
                    Ok(Entry::Folder) => open.push(below),
                    _ if gone(&below) => {}
                    _ => return Ok(false),
                }
            }
        }
        Ok(true)
    }

    /// Returns true if the caller may write to a file or directory; the empty path is the root.
    pub(crate) fn may_write(&self, path: &[u8]) -> bool {
        let (folder, name) = split(path);
        let name = if name.is_empty() { OsStr::new(".") } else { name_of(name) };
        let write = rustix::fs::Access::WRITE_OK;
        self.folder(folder).is_ok_and(|folder| rustix::fs::accessat(folder, name, write, AtFlags::empty()).is_ok())
    }
}

/// Returns the stamp of a name in a directory; `None` if it does not exist.
pub(crate) fn stamp_at(folder: &OwnedFd, name: &OsStr) -> Option<Stamp> {
    rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok().map(|stat| Stamp::of(&stat))
}

fn read_file(folder: &OwnedFd, name: &OsStr) -> io::Result<Entry> {
    // The file may have been replaced by a pipe or a link in the meantime.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = rustix::fs::openat(folder, name, flags, Mode::empty())?;
    let stat = rustix::fs::fstat(&file)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Ok(Entry::Special);
    }
    let content = read_limited(File::from(file), MAX_FILE_BYTES)?.ok_or(io::ErrorKind::FileTooLarge)?;
    let kind = NodeKind::File(Mode::from_raw_mode(stat.st_mode).bits() as u32 & 0o7777);
    Ok(Entry::File(Node { content, kind }, Stamp::of(&stat)))
}

/// Returns true if a component of the path is missing or not a directory.
pub(crate) fn is_no_folder(cause: &io::Error) -> bool {
    let known = [Errno::NOENT, Errno::NOTDIR, Errno::LOOP];
    known.iter().any(|errno| cause.raw_os_error() == Some(errno.raw_os_error()))
}

/// Opens a directory in one step if the system can restrict the whole path to the root and to no links. `None` if it
/// cannot.
#[cfg(target_os = "linux")]
fn open_beneath(root: BorrowedFd<'_>, path: &[u8]) -> Option<io::Result<OwnedFd>> {
    use rustix::fs::{ResolveFlags, openat2};
    let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let open = || openat2(root, name_of(path), folder_flags(), Mode::empty(), beneath);
    match rustix::io::retry_on_intr(open) {
        Ok(folder) => Some(Ok(folder)),
        Err(errno @ (Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS)) => Some(Err(errno.into())),
        // A sandbox without this call, a path that is too long for one step, or a concurrent rename.
        Err(_) => None,
    }
}

#[cfg(not(target_os = "linux"))]
fn open_beneath(_: BorrowedFd<'_>, _: &[u8]) -> Option<io::Result<OwnedFd>> {
    None
}
