//! A file by the folder that holds it: the folder is opened, looked at, and everything happens relative to it. What
//! somebody makes of the path meanwhile changes nothing.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags};
use sinew_session::files::{opened_path, plain};

/// Links that are followed at most, as the system does.
const MAX_LINKS: usize = 40;
/// Names that are tried for a new file.
const TRIES: usize = 16;

/// A name in a folder that is held open.
pub(super) struct Place {
    folder: File,
    /// Folders between the open one and the file, which do not exist yet.
    missing: Vec<OsString>,
    name: OsString,
    /// The whole path, without links.
    path: PathBuf,
}

impl Place {
    /// Opens the folder of the file that `path` names; links are followed, the last one too.
    ///
    /// # Errors
    /// The system's; `InvalidInput` for a path that names no file, or for too many links.
    pub(super) fn open(path: &Path) -> io::Result<Place> {
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
                // A link may end with `..`, or name a folder with `/` behind it.
                if path.file_name().is_none() {
                    path = path.canonicalize()?;
                }
                continue;
            }
            let path = missing.iter().fold(real, |path, part| path.join(part)).join(&name);
            return Ok(Place { folder, missing, name, path });
        }
        Err(io::Error::new(ErrorKind::InvalidInput, "too many links"))
    }

    /// The path without links.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Opens the file to read it, if it is there: a plain one, and no link.
    ///
    /// # Errors
    /// The system's; `IsADirectory` for a folder, `InvalidInput` for a pipe, a socket or a device.
    pub(super) fn read(&self) -> io::Result<Option<(File, Metadata)>> {
        if !self.missing.is_empty() {
            return Ok(None);
        }
        // A device may do something when it is opened.
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

    /// Checks that the user may write the file that is there.
    ///
    /// # Errors
    /// He may not.
    pub(super) fn check_writable(&self) -> io::Result<()> {
        Ok(rustix::fs::accessat(&self.folder, &self.name, rustix::fs::Access::WRITE_OK, AtFlags::empty())?)
    }

    /// Makes the folders that are missing. One that somebody made a link meanwhile is an error.
    ///
    /// # Errors
    /// The system's.
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

    /// A new file in the folder under a name of its own, open for writing. A private one is the user's alone, whatever the mask.
    ///
    /// # Errors
    /// The system's.
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
    /// The system's.
    pub(super) fn remove(&self) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.folder, &self.name, AtFlags::empty())?)
    }
}

/// A file that takes the place of another one, or goes away.
pub(super) struct NewFile<'a> {
    place: &'a Place,
    name: OsString,
    pub(super) file: File,
    kept: bool,
}

impl NewFile<'_> {
    /// Puts it in its place; the name is on the disk when this returns.
    ///
    /// # Errors
    /// The system's.
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
            // Nothing more can be done for what failed already.
            let _ = rustix::fs::unlinkat(&self.place.folder, &self.name, AtFlags::empty());
        }
    }
}

/// The deepest folder of `path` that exists, open; where it is; and the names below it.
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
                // A link that leads nowhere cannot be made a folder.
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
