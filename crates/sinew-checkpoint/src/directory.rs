//! Directories as file descriptors. Every path is opened relative to the root, and links are never followed.

use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat, openat, statat};
use rustix::io::{Errno, Result};
use rustix::path::Arg;

use crate::row::parent_of;

/// The maximum length of a path that is opened in one call, in bytes; the system's limit is 4,096.
#[cfg(target_os = "linux")]
const MAX_OPEN_PATH: usize = 4_000;

/// An open directory, through which entries below it are reached without following links.
#[derive(Debug)]
pub struct Directory(OwnedFd);

fn directory_flags() -> OFlags {
    OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC
}

/// Opens a file or directory. Its access time stays, where the system allows that: for the owner of the file.
///
/// # Errors
/// Returns the system's error.
pub(crate) fn open_quietly(directory: impl AsFd, path: impl Arg + Copy, flags: OFlags) -> Result<OwnedFd> {
    #[cfg(target_os = "linux")]
    match openat(&directory, path, flags | OFlags::NOATIME, Mode::empty()) {
        // The file belongs to another user.
        Err(Errno::PERM) => {}
        opened => return opened,
    }
    openat(&directory, path, flags, Mode::empty())
}

/// Opens a directory below another one in one call, without following links.
#[cfg(target_os = "linux")]
fn open_beneath(directory: &OwnedFd, path: &OsStr, flags: OFlags) -> Result<OwnedFd> {
    use rustix::fs::ResolveFlags;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    rustix::fs::openat2(directory, path, flags, Mode::empty(), resolve)
}

/// Converts bytes of the system to a name or path.
pub(crate) fn as_name(bytes: &[u8]) -> &OsStr {
    OsStr::from_bytes(bytes)
}

impl Directory {
    /// Opens a directory by its path.
    ///
    /// # Errors
    /// Returns the system's error.
    pub fn open(path: &Path) -> Result<Directory> {
        Ok(Directory(open_quietly(CWD, path, directory_flags() - OFlags::NOFOLLOW)?))
    }

    /// Opens a directory below this one. A link anywhere in the path is an error: `ELOOP`, or `ENOTDIR` for the last
    /// name.
    ///
    /// # Errors
    /// Returns the system's error.
    pub fn open_below(&self, path: &[u8]) -> Result<Directory> {
        if path.is_empty() {
            return Ok(Directory(open_quietly(&self.0, c".", directory_flags())?));
        }
        #[cfg(target_os = "linux")]
        if path.len() <= MAX_OPEN_PATH {
            let opened = match open_beneath(&self.0, as_name(path), directory_flags() | OFlags::NOATIME) {
                Err(Errno::PERM) => open_beneath(&self.0, as_name(path), directory_flags()),
                opened => opened,
            };
            match opened {
                // Old kernels lack the call, and some containers forbid it.
                Err(Errno::NOSYS | Errno::PERM | Errno::INVAL | Errno::AGAIN) => {}
                opened => return opened.map(Directory),
            }
        }
        let mut names = path.split(|byte| *byte == b'/');
        let first = names.next().unwrap_or_default();
        let mut directory = open_quietly(&self.0, as_name(first), directory_flags())?;
        for name in names {
            directory = open_quietly(&directory, as_name(name), directory_flags())?;
        }
        Ok(Directory(directory))
    }

    /// Opens the parent directory of a path below this one; returns it with the last name.
    ///
    /// # Errors
    /// Returns the system's error.
    pub fn open_parent<'p>(&self, path: &'p [u8]) -> Result<(Directory, &'p OsStr)> {
        let parent = parent_of(path);
        let name = &path[if parent.is_empty() { 0 } else { parent.len() + 1 }..];
        Ok((self.open_below(parent)?, as_name(name)))
    }

    /// Returns the metadata of an entry of this directory, without following a link. `None` if there is no such entry.
    ///
    /// # Errors
    /// Returns the system's error.
    pub fn stat(&self, name: &OsStr) -> Result<Option<Stat>> {
        match statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the metadata of the directory itself.
    ///
    /// # Errors
    /// Returns the system's error.
    pub fn own_stat(&self) -> Result<Stat> {
        rustix::fs::fstat(&self.0)
    }

    /// Opens a regular file of this directory for reading. If it has become a pipe, this fails instead of blocking.
    ///
    /// # Errors
    /// Returns the system's error.
    pub fn open_file(&self, name: &OsStr) -> Result<File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = File::from(open_quietly(&self.0, name, flags)?);
        match FileType::from_raw_mode(rustix::fs::fstat(&file)?.st_mode) {
            FileType::RegularFile => Ok(file),
            _ => Err(Errno::INVAL),
        }
    }

    /// Returns the paths of the entries of a folder; none if it cannot be listed.
    pub(crate) fn paths_in(folder: &Path) -> Vec<PathBuf> {
        let names = Directory::open(folder).and_then(|directory| directory.names()).unwrap_or_default();
        names.iter().map(|name| folder.join(as_name(name))).collect()
    }

    /// Sets the permissions of an entry that is not a link.
    ///
    /// # Errors
    /// Returns the system's error.
    pub fn set_mode(&self, name: &OsStr, mode: u32) -> Result<()> {
        let mode = Mode::from_raw_mode(mode as rustix::fs::RawMode);
        #[cfg(target_os = "linux")]
        {
            use std::os::fd::AsRawFd;
            // A descriptor opened with `O_PATH` pins the entry, so that a link that replaces it is not followed.
            let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let pinned = openat(&self.0, name, flags, Mode::empty())?;
            if FileType::from_raw_mode(rustix::fs::fstat(&pinned)?.st_mode) == FileType::Symlink {
                return Err(Errno::LOOP);
            }
            rustix::fs::chmod(format!("/proc/self/fd/{}", pinned.as_raw_fd()), mode)
        }
        #[cfg(not(target_os = "linux"))]
        rustix::fs::chmodat(&self.0, name, mode, AtFlags::SYMLINK_NOFOLLOW)
    }

    /// Returns the names of the directory, unsorted.
    ///
    /// # Errors
    /// Returns the system's error.
    pub fn names(&self) -> Result<Vec<Box<[u8]>>> {
        let mut names = Vec::new();
        for entry in rustix::fs::Dir::read_from(&self.0)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                names.push(name.into());
            }
        }
        Ok(names)
    }

    /// Removes an entry of this directory with everything below it; permissions that prevent this are changed.
    ///
    /// # Errors
    /// Returns the system's error.
    pub fn remove_tree(&self, name: &OsStr) -> Result<()> {
        let Some(stat) = self.stat(name)? else { return Ok(()) };
        if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
            return rustix::fs::unlinkat(&self.0, name, AtFlags::empty());
        }
        if stat.st_mode & 0o700 != 0o700 {
            self.set_mode(name, 0o700)?;
        }
        // Files first, then directories from the deepest up. Without recursion, deep directories need memory but no
        // stack.
        let top = self.open_below(name.as_bytes())?;
        let mut directories: Vec<Vec<u8>> = vec![Vec::new()];
        let mut at = 0;
        while at < directories.len() {
            let path = directories[at].clone();
            at += 1;
            let directory = top.open_below(&path)?;
            for entry in directory.names()? {
                let entry_name = as_name(&entry);
                match directory.stat(entry_name)? {
                    Some(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::Directory => {
                        if stat.st_mode & 0o700 != 0o700 {
                            directory.set_mode(entry_name, 0o700)?;
                        }
                        directories.push(joined(&path, &entry));
                    }
                    Some(_) => rustix::fs::unlinkat(&directory, entry_name, AtFlags::empty())?,
                    None => {}
                }
            }
        }
        for path in directories.iter().skip(1).rev() {
            let (parent, last) = top.open_parent(path)?;
            rustix::fs::unlinkat(&parent, last, AtFlags::REMOVEDIR)?;
        }
        rustix::fs::unlinkat(&self.0, name, AtFlags::REMOVEDIR)
    }
}

/// Appends a name to a path.
pub(crate) fn joined(path: &[u8], name: &[u8]) -> Vec<u8> {
    if path.is_empty() { name.to_vec() } else { [path, b"/", name].concat() }
}

impl AsFd for Directory {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl From<OwnedFd> for Directory {
    fn from(descriptor: OwnedFd) -> Directory {
        Directory(descriptor)
    }
}
