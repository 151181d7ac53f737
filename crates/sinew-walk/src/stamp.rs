//! Stamps: a file's metadata, used to detect later changes.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{FileType, Stat};
use rustix::io::Errno;

/// A change within this time after the previous one may leave the times unchanged, in nanoseconds.
const CLOCK_STEP: i64 = 50_000_000;
/// The same for file systems that store whole seconds or pairs of seconds.
const COARSE_CLOCK_STEP: i64 = 2_100_000_000;

/// The errors that describe the state of the path; other errors (no descriptors, no memory) are temporary.
const SETTLED_ERRORS: [Errno; 4] = [Errno::NOENT, Errno::NOTDIR, Errno::ACCESS, Errno::LOOP];

/// The identity, size, times and mode of a file or directory. A change of content or mode changes the stamp, unless it
/// happens within one step of the file system's clock after the previous change: see [`Stamp::is_settled`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Stamp {
    /// The number of the device.
    pub device: u64,
    /// The inode number on the device.
    pub inode: u64,
    /// The size in bytes.
    pub size: u64,
    /// The time of the last change of content, in nanoseconds since the epoch (up to the year 2262); programs can set
    /// it.
    pub mtime: i64,
    /// The time of the last change of content or metadata, in nanoseconds since the epoch; programs cannot set it.
    pub ctime: i64,
    /// The type and the permissions.
    pub mode: u32,
    /// The number of hard links.
    pub links: u32,
}

impl Stamp {
    #[allow(clippy::unnecessary_cast, clippy::cast_sign_loss, reason = "the types differ between systems")]
    pub(crate) fn of(stat: &Stat) -> Stamp {
        let time = |seconds: i64, more: i64| seconds.saturating_mul(1_000_000_000).saturating_add(more);
        Stamp {
            device: stat.st_dev as u64,
            inode: stat.st_ino as u64,
            size: stat.st_size as u64,
            mtime: time(stat.st_mtime as i64, stat.st_mtime_nsec as i64),
            ctime: time(stat.st_ctime as i64, stat.st_ctime_nsec as i64),
            mode: stat.st_mode as u32,
            links: u32::try_from(stat.st_nlink as u64).unwrap_or(u32::MAX),
        }
    }

    /// Reads the stamp of a path; links are followed.
    pub(crate) fn of_path(path: &Path) -> std::io::Result<Stamp> {
        Ok(Stamp::of(&rustix::fs::stat(path)?))
    }

    /// Reads the stamp of an open file.
    ///
    /// # Errors
    /// Returns an error if the system cannot read the metadata.
    pub fn of_file(file: &std::fs::File) -> std::io::Result<Stamp> {
        Ok(Stamp::of(&rustix::fs::fstat(file)?))
    }

    /// Returns true for a regular file.
    #[must_use]
    pub fn is_file(&self) -> bool {
        self.file_type() == FileType::RegularFile
    }

    /// Returns true if every later change will change the stamp: the last change is older than one step of the clock.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        let Ok(now) = SystemTime::now().duration_since(UNIX_EPOCH) else { return false };
        let whole_seconds = self.ctime % 1_000_000_000 == 0 && self.mtime % 1_000_000_000 == 0;
        let step = if whole_seconds { COARSE_CLOCK_STEP } else { CLOCK_STEP };
        i64::try_from(now.as_nanos()).is_ok_and(|now| self.ctime.saturating_add(step) < now)
    }

    /// Returns true if both stamps belong to the same file, even if it changed in between.
    #[must_use]
    pub fn is_same_file(&self, other: &Stamp) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }

    fn file_type(&self) -> FileType {
        FileType::from_raw_mode(self.mode as _)
    }
}

/// A path that ignore rules were read from, and its state at that time.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    path: PathBuf,
    /// The stamp of the path itself and of its target if it is a link; the system's error code if there is no such
    /// file.
    states: [Result<Stamp, i32>; 2],
    settled: bool,
}

impl Source {
    /// Returns the path.
    pub(crate) fn into_path(self) -> PathBuf {
        self.path
    }

    pub(crate) fn of(path: &Path) -> Source {
        let state = |found: rustix::io::Result<Stat>| match found.map(|stat| Stamp::of(&stat)) {
            // Names in a repository directory change all the time, so only its identity matters.
            Ok(stamp) if stamp.file_type() == FileType::Directory => {
                Ok(Stamp { size: 0, mtime: 0, ctime: 0, links: 0, ..stamp })
            }
            found => found.map_err(Errno::raw_os_error),
        };
        let own = state(rustix::fs::lstat(path));
        let target = match own {
            Ok(stamp) if stamp.file_type() == FileType::Symlink => state(rustix::fs::stat(path)),
            own => own,
        };
        let states = [own, target];
        let settled = states.iter().all(|state| match state {
            Ok(stamp) => stamp.ctime == 0 || stamp.is_settled(),
            Err(error) => SETTLED_ERRORS.map(Errno::raw_os_error).contains(error),
        });
        Source { path: path.to_path_buf(), states, settled }
    }

    /// Returns true if the path is still in the state that was read.
    pub(crate) fn is_current(&self) -> bool {
        self.settled && Source::of(&self.path).states == self.states
    }

    /// Returns true if both readings of the path found the same state.
    pub(crate) fn is_same(&self, later: &Source) -> bool {
        self.settled && self.path == later.path && self.states == later.states
    }

    /// Returns true if a watch of `folder` reports every change: the file is a regular file in it without another hard
    /// link.
    pub(crate) fn is_announced_in(&self, folder: &Path) -> bool {
        self.path.parent() == Some(folder)
            && matches!(&self.states[0], Ok(stamp) if stamp.file_type() == FileType::RegularFile && stamp.links == 1)
    }
}
