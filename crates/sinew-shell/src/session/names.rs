//! The paths by which the bash of a session opens the host's pipes and files.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, open};
use tempfile::TempDir;

use crate::supervisor::{memory_file, pipe, write_at_start};

/// The names of a session's files. Other processes may access the descriptors of a dumpable host, so those are used as
/// names. A host that is not dumpable creates a directory for them, which is deleted with the session.
#[derive(Debug)]
pub(super) struct Names {
    folder: Option<TempDir>,
    /// The number of the next file in the directory.
    next: u64,
}

/// An open file or one end of a pipe, which the shell opens by its name.
#[derive(Debug)]
pub(super) struct NamedDescriptor {
    pub(super) fd: OwnedFd,
    path: Option<PathBuf>,
}

impl NamedDescriptor {
    /// Returns the name.
    pub(super) fn name(&self) -> String {
        match &self.path {
            Some(path) => path.to_string_lossy().into_owned(),
            None => format!("/proc/{}/fd/{}", std::process::id(), self.fd.as_raw_fd()),
        }
    }
}

impl Drop for NamedDescriptor {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            // The directory is deleted with the session; a name that cannot be removed before is harmless.
            let _ = std::fs::remove_file(path);
        }
    }
}

impl Names {
    /// Creates names for a session of this process. Programs in a sandbox cannot access the host's descriptors.
    ///
    /// # Errors
    /// Returns an error if the directory cannot be created.
    pub(super) fn new(in_sandbox: bool) -> io::Result<Names> {
        Ok(Names { folder: if is_dumpable() && !in_sandbox { None } else { Some(folder()?) }, next: 0 })
    }

    fn path(&mut self) -> Option<PathBuf> {
        self.next += 1;
        Some(self.folder.as_ref()?.path().join(self.next.to_string()))
    }

    /// Creates a file with these bytes.
    pub(super) fn file(&mut self, bytes: &[u8]) -> io::Result<NamedDescriptor> {
        let Some(path) = self.path() else { return Ok(NamedDescriptor { fd: memory_file(bytes)?, path: None }) };
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let fd = open(&path, flags, Mode::RUSR | Mode::WUSR)?;
        let file = NamedDescriptor { fd, path: Some(path) };
        write_at_start(&file.fd, bytes)?;
        Ok(file)
    }

    /// Creates a pipe with a capacity of `size` bytes that the shell opens for writing; returns the read end and the
    /// named write end.
    pub(super) fn pipe_from_shell(&mut self, size: usize) -> io::Result<(OwnedFd, NamedDescriptor)> {
        let Some(path) = self.path() else {
            let (reader, fd) = pipe(size)?;
            return Ok((reader, NamedDescriptor { fd, path: None }));
        };
        let (reader, fd) = fifo(&path, size)?;
        Ok((reader, NamedDescriptor { fd, path: Some(path) }))
    }

    /// Creates a pipe that the shell opens for reading; returns the named read end and the write end.
    pub(super) fn pipe_to_shell(&mut self, size: usize) -> io::Result<(NamedDescriptor, OwnedFd)> {
        let Some(path) = self.path() else {
            let (fd, writer) = pipe(size)?;
            return Ok((NamedDescriptor { fd, path: None }, writer));
        };
        let (fd, writer) = fifo(&path, size)?;
        Ok((NamedDescriptor { fd, path: Some(path) }, writer))
    }
}

/// Creates a named pipe and returns both ends.
fn fifo(path: &Path, size: usize) -> io::Result<(OwnedFd, OwnedFd)> {
    rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
    // Without a writer, a blocking open for reading waits; a writer then finds the reader.
    let reader = open(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())?;
    let writer = open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::fs::fcntl_setfl(&reader, OFlags::empty())?;
    let _ = rustix::pipe::fcntl_setpipe_size(&writer, size);
    Ok((reader, writer))
}

/// Creates a private directory whose path needs no quotes in bash.
fn folder() -> io::Result<TempDir> {
    let plain = |path: &Path| {
        let letter = |byte: &u8| byte.is_ascii_alphanumeric() || b"/._-".contains(byte);
        path.is_absolute() && path.as_os_str().as_bytes().iter().all(letter)
    };
    let usual = std::env::temp_dir();
    let place = if plain(&usual) { usual } else { "/tmp".into() };
    let mut builder = tempfile::Builder::new();
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
    builder.prefix("sinew-shell-").tempdir_in(place)
}

/// Returns true if other processes of the user may access this one.
fn is_dumpable() -> bool {
    // SAFETY: only integers are passed.
    unsafe { libc::prctl(libc::PR_GET_DUMPABLE, 0, 0, 0, 0) == 1 }
}
