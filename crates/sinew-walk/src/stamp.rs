//! Stamps: what the system says of a file beside its content, to be compared with what it says later.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{FileType, Stat};
use rustix::io::Errno;

/// A change within this time of the last one may leave the times as they are; in nanoseconds.
const CLOCK_STEP: i64 = 50_000_000;
/// The same on file systems that store whole seconds or pairs of them.
const COARSE_CLOCK_STEP: i64 = 2_100_000_000;

/// The errors that tell of the path as it is; others (no descriptor, no memory) are of the moment.
const SETTLED_ERRORS: [Errno; 4] = [Errno::NOENT, Errno::NOTDIR, Errno::ACCESS, Errno::LOOP];

/// Identity, size, times and mode of a file or folder. A change of content or mode changes it, unless it comes within one
/// step of the file system's clock after the change before: see [`Stamp::is_settled`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Stamp {
    /// Number of the device.
    pub device: u64,
    /// Number of the file on it.
    pub inode: u64,
    /// Size in bytes.
    pub size: u64,
    /// Time of the last change of content, in nanoseconds since the epoch; programs can set it. The last one is in 2262.
    pub mtime: i64,
    /// Time of the last change of content or of what is known of it, in nanoseconds since the epoch; programs cannot set it.
    pub ctime: i64,
    /// Type and permissions.
    pub mode: u32,
    /// Number of names.
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

    /// Asks for the stamp of what a path leads to.
    pub(crate) fn of_path(path: &Path) -> std::io::Result<Stamp> {
        Ok(Stamp::of(&rustix::fs::stat(path)?))
    }

    /// Asks for the stamp of an open file.
    ///
    /// # Errors
    /// Whatever the system says.
    pub fn of_file(file: &std::fs::File) -> std::io::Result<Stamp> {
        Ok(Stamp::of(&rustix::fs::fstat(file)?))
    }

    /// Tells whether it is of a regular file.
    #[must_use]
    pub fn is_file(&self) -> bool {
        self.file_type() == FileType::RegularFile
    }

    /// Tells whether a change after now would change the stamp: its time is further back than one step of the clock.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        let Ok(now) = SystemTime::now().duration_since(UNIX_EPOCH) else { return false };
        let whole_seconds = self.ctime % 1_000_000_000 == 0 && self.mtime % 1_000_000_000 == 0;
        let step = if whole_seconds { COARSE_CLOCK_STEP } else { CLOCK_STEP };
        i64::try_from(now.as_nanos()).is_ok_and(|now| self.ctime.saturating_add(step) < now)
    }

    /// Tells whether both are of one file, whatever happened to it.
    #[must_use]
    pub fn is_same_file(&self, other: &Stamp) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }

    fn file_type(&self) -> FileType {
        FileType::from_raw_mode(self.mode as _)
    }
}

/// A path that rules were read from, and what was there.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    path: PathBuf,
    /// The name itself, and what it leads to where it is a link; the system's error where there is nothing.
    states: [Result<Stamp, i32>; 2],
    settled: bool,
}

impl Source {
    /// The path that was looked at.
    pub(crate) fn into_path(self) -> PathBuf {
        self.path
    }

    pub(crate) fn of(path: &Path) -> Source {
        let state = |found: rustix::io::Result<Stat>| match found.map(|stat| Stamp::of(&stat)) {
            // Names come and go in a repository all the time.
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

    /// Tells whether the path still holds what was read.
    pub(crate) fn is_current(&self) -> bool {
        self.settled && Source::of(&self.path).states == self.states
    }

    /// Tells whether two looks at one path saw the same.
    pub(crate) fn is_same(&self, later: &Source) -> bool {
        self.settled && self.path == later.path && self.states == later.states
    }

    /// Tells whether a watch of `folder` announces every change: a regular file in it that has no other name.
    pub(crate) fn is_announced_in(&self, folder: &Path) -> bool {
        self.path.parent() == Some(folder)
            && matches!(&self.states[0], Ok(stamp) if stamp.file_type() == FileType::RegularFile && stamp.links == 1)
    }
}
