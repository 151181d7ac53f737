//! A file relative to its open directory: the directory is opened and checked, and every operation is relative to it.
//! Later changes of the path have no effect.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags};
use sinew_session::files::{opened_path, plain};

/// The maximum number of links that are followed, as in the system.
const MAX_LINKS: usize = 40;
/// The maximum number of names that are tried for a new file.
const TRIES: usize = 16;

/// A name in an open directory.
pub(super) struct WriteTarget {
    folder: File,
    /// Missing directories between the open one and the file.
    missing: Vec<OsString>,
    name: OsString,
    /// The complete path, without links.
    path: PathBuf,
}

impl WriteTarget {
    /// Opens the directory of the file that `path` names; links are followed, including the last one.
    ///
    /// # Errors
    /// Returns the system's error, and `InvalidInput` if the path is not that of a file or has too many links.
    pub(super) fn open(path: &Path) -> io::Result<WriteTarget> {
        let mut path = path.to_path_buf();
        for _ in 0..MAX_LINKS {
            let none = || io::Error::new(ErrorKind::IsADirectory, "it is a directory");
            let name = path.file_name().ok_or_else(none)?.to_os_string();
            let (folder, real, missing) = existing(path.parent().unwrap_or(Path::new("/")))?;
            if missing.is_empty()
                && let Ok(target) = rustix::fs::readlinkat(&folder, &name, Vec::new())
            {
                use std::os::unix::ffi::OsStrExt;
                path = real.join(OsStr::from_bytes(target.as_bytes()));
                // A link may end with `..`, or name a directory with a trailing `/`.
                if path.file_name().is_none() {
                    path = path.canonicalize()?;
                }
                continue;
            }
            let path = missing.iter().fold(real, |path, part| path.join(part)).join(&name);
            return Ok(WriteTarget { folder, missing, name, path });
        }
        Err(io::Error::new(ErrorKind::InvalidInput, "too many links"))
    }

    /// Returns the path without links.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Opens the file for reading; `None` if it does not exist. It must be a regular file and not a link.
    ///
    /// # Errors
    /// Returns the system's error, `IsADirectory` for a directory, and `InvalidInput` for a pipe, a socket or a device.
    pub(super) fn read(&self) -> io::Result<Option<(File, Metadata)>> {
        if !self.missing.is_empty() {
            return Ok(None);
        }
        // Opening a device may have side effects.
        let kind = match rustix::fs::statat(&self.folder, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(facts) => rustix::fs::FileType::from_raw_mode(facts.st_mode),
            Err(rustix::io::Errno::NOENT) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let flags = match kind {
            rustix::fs::FileType::RegularFile => flags,
            rustix::fs::FileType::Directory => {
                return Err(io::Error::new(ErrorKind::IsADirectory, "it is a directory"));
            }
            _ => return Err(io::Error::new(ErrorKind::InvalidInput, "it is a pipe, a socket or a device")),
        };
        let file = File::from(rustix::fs::openat(&self.folder, &self.name, flags, Mode::empty())?);
        let facts = file.metadata()?;
        plain(&facts)?;
        Ok(Some((file, facts)))
    }

    /// Checks that the user may write the existing file.
    ///
    /// # Errors
    /// Returns `PermissionDenied` if the user cannot write the file.
    pub(super) fn check_writable(&self) -> io::Result<()> {
        Ok(rustix::fs::accessat(&self.folder, &self.name, rustix::fs::Access::WRITE_OK, AtFlags::empty())?)
    }

    /// Creates missing directories. Fails if one has become a link in the meantime.
    ///
    /// # Errors
    /// Returns the system's error.
    pub(super) fn make_folders(&mut self) -> io::Result<()> {
        while let Some(part) = self.missing.first().cloned() {
            match rustix::fs::mkdirat(&self.folder, &part, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(rustix::io::Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            self.folder = rustix::fs::openat(&self.folder, &part, flags, Mode::empty())?.into();
            self.missing.remove(0);
        }
        Ok(())
    }

    /// Creates a file with a unique name in the directory and opens it for writing. A private file is readable by the
    /// user only, regardless of the umask.
    ///
    /// # Errors
    /// Returns the system's error.
    pub(super) fn create_beside(&self, private: bool) -> io::Result<NewFile<'_>> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let (own, others) = (Mode::RUSR | Mode::WUSR, Mode::RGRP | Mode::WGRP | Mode::ROTH | Mode::WOTH);
        let mode = if private { own } else { own | others };
        let mut last = io::Error::from(ErrorKind::AlreadyExists);
        for _ in 0..TRIES {
            let name = OsString::from(format!(".sinew-{:016x}.tmp", fastrand::u64(..)));
            match rustix::fs::openat(&self.folder, &name, flags, mode) {
                Ok(file) => return Ok(NewFile { place: self, name, file: file.into(), kept: false }),
                Err(rustix::io::Errno::EXIST) => last = ErrorKind::AlreadyExists.into(),
                Err(error) => return Err(error.into()),
            }
        }
        Err(std::mem::replace(&mut last, ErrorKind::Other.into()))
    }

    /// Removes the file.
    ///
    /// # Errors
    /// Returns the system's error.
    pub(super) fn remove(&self) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.folder, &self.name, AtFlags::empty())?)
    }
}

/// A new file that either replaces another one or is removed.
pub(super) struct NewFile<'a> {
    place: &'a WriteTarget,
    name: OsString,
    pub(super) file: File,
    kept: bool,
}

impl NewFile<'_> {
    /// Renames it to its final name and syncs the directory.
    ///
    /// # Errors
    /// Returns the system's error.
    pub(super) fn put(mut self) -> io::Result<()> {
        let folder = &self.place.folder;
        rustix::fs::renameat(folder, &self.name, folder, &self.place.name)?;
        self.kept = true;
        folder.sync_all()
    }
}

impl Drop for NewFile<'_> {
    fn drop(&mut self) {
        if !self.kept {
            // The operation failed already, so an error here is ignored.
            let _ = rustix::fs::unlinkat(&self.place.folder, &self.name, AtFlags::empty());
        }
    }
}

/// Returns the deepest existing directory of `path`, opened; its path; and the names below it.
fn existing(path: &Path) -> io::Result<(File, PathBuf, Vec<OsString>)> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut missing = Vec::new();
    let mut at = path;
    loop {
        match rustix::fs::open(at, flags, Mode::empty()) {
            Ok(folder) => {
                let folder = File::from(folder);
                let real = opened_path(&folder, at)?;
                missing.reverse();
                return Ok((folder, real, missing));
            }
            Err(rustix::io::Errno::NOENT) => match (at.file_name(), at.parent()) {
                // No directory can be created in place of a broken link.
                (Some(name), Some(parent)) if !at.is_symlink() => {
                    missing.push(name.to_os_string());
                    at = parent;
                }
                _ => return Err(ErrorKind::NotFound.into()),
            },
            Err(error) => return Err(error.into()),
        }
    }
}
