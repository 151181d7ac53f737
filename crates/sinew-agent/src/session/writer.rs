//! Appending to a session file: one writer, whole lines, nothing glued to a torn one.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

use super::blob::make_private;
use super::place::beside;

/// When a session file is forced to the disk.
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

/// A session file that is open for appending, and locked while it is.
#[derive(Debug)]
pub(super) struct Writer {
    file: File,
    end: u64,
    sync: Sync,
    /// Written since it was last forced to the disk.
    dirty: bool,
}

/// Why a file cannot be written.
#[derive(Debug)]
pub(super) enum Refused {
    /// Another process has it open; its id where the system tells.
    InUse(Option<u32>),
    Io(std::io::Error),
}

impl From<std::io::Error> for Refused {
    fn from(cause: std::io::Error) -> Refused {
        Refused::Io(cause)
    }
}

impl Writer {
    /// Makes a file that does not exist yet, with its folders.
    pub(super) fn create(path: &Path, sync: Sync) -> Result<Writer, Refused> {
        if let Some(folder) = path.parent() {
            make_private(folder)?;
        }
        let mut options = OpenOptions::new();
        options.append(true).read(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(path)?;
        lock(&file)?;
        Ok(Writer { file, end: 0, sync, dirty: false })
    }

    /// Opens a file and locks it. Changes nothing yet.
    pub(super) fn open(path: &Path, sync: Sync) -> Result<Writer, Refused> {
        let file = OpenOptions::new().append(true).read(true).open(path)?;
        lock(&file)?;
        let end = file.metadata()?.len();
        Ok(Writer { file, end, sync, dirty: false })
    }

    /// Cuts off what stands behind `whole` and keeps it as `<file>.torn`; ends a last line that lacks its line feed.
    pub(super) fn mend(&mut self, path: &Path, whole: u64) -> std::io::Result<()> {
        if self.end > whole {
            self.file.seek(SeekFrom::Start(whole))?;
            let mut torn = Vec::new();
            (&self.file).take(self.end - whole).read_to_end(&mut torn)?;
            fs::write(beside(path, ".torn"), torn)?;
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

    /// Appends one line in one write and gives its offset. After a failure the file ends as before: what a full
    /// disk took of the line is cut off again.
    pub(super) fn append(&mut self, line: &[u8]) -> std::io::Result<u64> {
        let offset = self.end;
        let mut whole = Vec::with_capacity(line.len() + 1);
        whole.extend_from_slice(line);
        whole.push(b'\n');
        if let Err(cause) = self.file.write_all(&whole) {
            // Where even this fails the torn line is cut off at the next opening.
            let _ = self.file.set_len(offset);
            return Err(cause);
        }
        self.end += whole.len() as u64;
        self.dirty = true;
        if self.sync == Sync::Always {
            self.flush()?
        }
        Ok(offset)
    }

    /// Forces what was written to the disk, unless the session never does.
    pub(super) fn flush(&mut self) -> std::io::Result<()> {
        if self.dirty && self.sync != Sync::Never {
            self.file.sync_data()?;
            self.dirty = false;
        }
        Ok(())
    }
}

fn lock(file: &File) -> Result<(), Refused> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(Refused::InUse(owner(file))),
        // A file system without locks must not keep a user from their session.
        Err(TryLockError::Error(cause)) if cause.kind() == std::io::ErrorKind::Unsupported => Ok(()),
        Err(TryLockError::Error(cause)) => Err(Refused::Io(cause)),
    }
}

/// The process that holds the lock, where the kernel lists locks.
#[cfg(target_os = "linux")]
fn owner(file: &File) -> Option<u32> {
    use std::os::unix::fs::MetadataExt;
    let inode = file.metadata().ok()?.ino().to_string();
    let table = fs::read_to_string("/proc/locks").ok()?;
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

/// Writes a whole file anew: temp file, fsync, rename, fsync of the folder.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    make_private(folder)?;
    let mut part = tempfile::NamedTempFile::new_in(folder)?;
    part.write_all(bytes)?;
    part.as_file().sync_all()?;
    part.persist(path).map_err(|lost| lost.error)?;
    File::open(folder)?.sync_all()
}
