//! Appends to a session file: one writer, complete lines, and nothing appended to a torn one.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::blob::make_private;
use super::paths::beside;

/// When a session file is synced to disk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Sync {
    /// After each user message and each turn, and at the end.
    #[default]
    Turn,
    /// After each entry.
    Always,
    /// Never: the system decides.
    Never,
}

/// A session file that is open for appending, and locked.
#[derive(Debug)]
pub(super) struct Writer {
    file: File,
    end: u64,
    sync: Sync,
    /// True if there are writes that have not been synced.
    dirty: bool,
    /// The directory of a new file, until its name is synced too.
    unnamed: Option<PathBuf>,
}

/// The reason why a file cannot be written.
#[derive(Debug)]
pub(super) enum WriteRefusal {
    /// Another process has it open; contains its process id if the system reports it.
    InUse(Option<u32>),
    Io(io::Error),
}

impl From<io::Error> for WriteRefusal {
    fn from(cause: io::Error) -> WriteRefusal {
        WriteRefusal::Io(cause)
    }
}

impl Writer {
    /// Creates a new file, with its directories.
    pub(super) fn create(path: &Path, sync: Sync) -> Result<Writer, WriteRefusal> {
        let folder = folder_of(path);
        make_private(folder)?;
        let mut options = OpenOptions::new();
        options.append(true).read(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(path)?;
        lock(&file)?;
        Ok(Writer { file, end: 0, sync, dirty: false, unnamed: Some(folder.to_path_buf()) })
    }

    /// Opens a file and locks it. Changes nothing yet.
    pub(super) fn open(path: &Path, sync: Sync) -> Result<Writer, WriteRefusal> {
        loop {
            let file = OpenOptions::new().append(true).read(true).open(path)?;
            lock(&file)?;
            // Between the two calls another process may have replaced it by a migrated file.
            if is_at(&file, path)? {
                let end = file.metadata()?.len();
                return Ok(Writer { file, end, sync, dirty: false, unnamed: None });
            }
        }
    }

    /// Returns the file for reading under this writer's lock, positioned at the start.
    pub(super) fn reader(&self) -> io::Result<File> {
        let mut file = self.file.try_clone()?;
        file.rewind()?;
        Ok(file)
    }

    /// Moves everything after `whole` to `<file>.torn`; adds a missing line feed to the last line.
    pub(super) fn mend(&mut self, path: &Path, whole: u64) -> io::Result<()> {
        if self.end > whole {
            self.file.seek(SeekFrom::Start(whole))?;
            let mut kept = OpenOptions::new();
            kept.append(true).create(true);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut kept, 0o600);
            io::copy(&mut (&self.file).take(self.end - whole), &mut kept.open(beside(path, ".torn"))?)?;
            self.file.set_len(whole)?;
            self.end = whole;
        }
        if self.end > 0 {
            let mut last = [0];
            self.file.seek(SeekFrom::Start(self.end - 1))?;
            self.file.read_exact(&mut last)?;
            if last != *b"\n" {
                self.file.write_all(b"\n")?;
                self.end += 1;
            }
        }
        Ok(())
    }

    /// Appends a line, including its line feed, with one write and returns its offset. After a failure the file is
    /// truncated to its previous end.
    pub(super) fn append(&mut self, line: &[u8]) -> io::Result<u64> {
        let offset = self.end;
        if is_removed(&self.file)? {
            return Err(io::Error::new(io::ErrorKind::NotFound, "its file was removed while it was open"));
        }
        if let Err(cause) = self.file.write_all(line) {
            // If this fails too, the next opening removes the torn line.
            let _ = self.file.set_len(offset);
            return Err(cause);
        }
        self.end += line.len() as u64;
        self.dirty = true;
        if self.sync == Sync::Always {
            self.flush()?;
        }
        Ok(offset)
    }

    /// Makes every later write fail.
    #[cfg(test)]
    pub(super) fn refuse(&mut self) {
        self.file = File::open(std::env::current_exe().unwrap()).unwrap();
    }

    /// Syncs the writes to disk, unless the policy is never.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        if self.dirty && self.sync != Sync::Never {
            self.file.sync_data()?;
            if let Some(folder) = &self.unnamed {
                sync_folder(folder)?;
                self.unnamed = None;
            }
            self.dirty = false;
        }
        Ok(())
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // A child process forked in the meantime keeps the file open until its exec, and would keep the lock.
        let _ = self.file.unlock();
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The longest wait for a process that is ending, and the pause between two attempts.
const ENDING: (Duration, Duration) = (Duration::from_secs(3), Duration::from_millis(5));

/// Locks the file. A process that has ended keeps its lock until the system has closed its files, which takes a while if
/// it had threads or the machine is busy; this waits for that.
fn lock(file: &File) -> Result<(), WriteRefusal> {
    let until = Instant::now() + ENDING.0;
    let mut is_first = true;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) => {
                let owner = owner(file);
                // Without an owner, the lock was released in the meantime, or this system does not list locks.
                if !owner.map_or(is_first, has_ended) || Instant::now() > until {
                    return Err(WriteRefusal::InUse(owner));
                }
                is_first = false;
                std::thread::sleep(ENDING.1);
            }
            // A file system without locks must not prevent users from opening their sessions.
            Err(TryLockError::Error(cause)) if cause.kind() == io::ErrorKind::Unsupported => return Ok(()),
            Err(TryLockError::Error(cause)) => return Err(WriteRefusal::Io(cause)),
        }
    }
}

/// Returns true if `path` still refers to the open file.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let (open, named) = (file.metadata()?, std::fs::metadata(path)?);
    Ok((open.dev(), open.ino()) == (named.dev(), named.ino()))
}

/// On this system a file that is open for writing cannot be replaced.
#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> io::Result<bool> {
    Ok(true)
}

/// Returns true if the open file was deleted: its content is lost with the process.
#[cfg(unix)]
fn is_removed(file: &File) -> io::Result<bool> {
    Ok(std::os::unix::fs::MetadataExt::nlink(&file.metadata()?) == 0)
}

#[cfg(not(unix))]
fn is_removed(_: &File) -> io::Result<bool> {
    Ok(false)
}

/// Returns the process that owns the lock; `None` if the kernel does not list locks.
#[cfg(target_os = "linux")]
fn owner(file: &File) -> Option<u32> {
    use std::os::unix::fs::MetadataExt;
    let inode = file.metadata().ok()?.ino().to_string();
    let table = std::fs::read_to_string("/proc/locks").ok()?;
    table.lines().find_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let place = words.iter().find(|word| word.matches(':').count() == 2)?;
        if words.get(1) != Some(&"FLOCK") || place.rsplit(':').next() != Some(inode.as_str()) {
            return None;
        }
        words.get(4)?.parse().ok()
    })
}

#[cfg(not(target_os = "linux"))]
fn owner(_: &File) -> Option<u32> {
    None
}

/// Returns true if a process does not run any more. Its files may still be open.
fn has_ended(process: u32) -> bool {
    match std::fs::read_to_string(format!("/proc/{process}/stat")) {
        // The name of the program is in parentheses, and may contain some.
        Ok(stat) => stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with(['Z', 'X'])),
        Err(cause) => cause.kind() == io::ErrorKind::NotFound,
    }
}

/// Replaces a file atomically: temporary file, fsync, rename, fsync of the directory. `write` writes the content.
pub(super) fn replace<T>(path: &Path, write: impl FnOnce(&mut io::BufWriter<&File>) -> io::Result<T>) -> io::Result<T> {
    let folder = folder_of(path);
    make_private(folder)?;
    let part = tempfile::NamedTempFile::new_in(folder)?;
    let mut out = io::BufWriter::new(part.as_file());
    let given = write(&mut out)?;
    out.flush()?;
    drop(out);
    part.as_file().sync_all()?;
    part.persist(path).map_err(|lost| lost.error)?;
    sync_folder(folder)?;
    Ok(given)
}

/// Syncs the names in a directory to disk.
#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Does nothing: directories cannot be opened there, and the file system keeps its names in a journal.
#[cfg(not(unix))]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}
