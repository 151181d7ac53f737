//! Lists a directory with everything below it, without contents.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{FileType, Stat};
use sinew_base::{CancelTicker, CancelToken, Error, ErrorCode, Result};
use sinew_checkpoint::{Directory, EntryKind};

use crate::records::{Reader, Writer};

/// The names of directories that contain the data of a repository.
const REPOSITORIES: [&[u8]; 7] = [b".git", b".hg", b".svn", b".jj", b".bzr", b"_darcs", b".pijul"];

/// The prefix of the temporary directory of a hand-back. Checkpoints skip names with this prefix.
pub(crate) const TEMPORARY_PREFIX: &str = ".sinew-restore-";

/// A change within this time after the last one may not change the times; in nanoseconds.
const CLOCK_STEP: i128 = 50_000_000;

/// The identity of a version of a file: device, inode, size, and times of change in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Stamp {
    pub(crate) device: u64,
    pub(crate) inode: u64,
    pub(crate) size: u64,
    pub(crate) mtime: i128,
    pub(crate) ctime: i128,
}

impl Stamp {
    #[allow(
        clippy::unnecessary_cast,
        clippy::cast_sign_loss,
        reason = "the types of these fields differ between systems"
    )]
    pub(crate) fn of(stat: &Stat) -> Stamp {
        let time = |seconds: i128, nanoseconds: i128| seconds * 1_000_000_000 + nanoseconds;
        Stamp {
            device: stat.st_dev as u64,
            inode: stat.st_ino as u64,
            size: stat.st_size as u64,
            mtime: time(stat.st_mtime as i128, stat.st_mtime_nsec as i128),
            ctime: time(stat.st_ctime as i128, stat.st_ctime_nsec as i128),
        }
    }

    /// Returns true if it is the same version of a file that may have been renamed, which changes its ctime.
    pub(crate) fn is_renamed(&self, other: &Stamp) -> bool {
        Stamp { ctime: 0, ..*self } == Stamp { ctime: 0, ..*other }
    }

    /// Returns true if a change at this moment may not change the stamp.
    pub(crate) fn is_racy(&self) -> bool {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        now.as_nanos().cast_signed() - self.ctime < CLOCK_STEP
    }

    pub(crate) fn write(&self, writer: &mut Writer) {
        writer.number(self.device);
        writer.number(self.inode);
        writer.number(self.size);
        writer.number(self.mtime);
        writer.number(self.ctime);
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Stamp> {
        Ok(Stamp {
            device: reader.number()?,
            inode: reader.number()?,
            size: reader.number()?,
            mtime: reader.number()?,
            ctime: reader.number()?,
        })
    }
}

/// An entry of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) path: Vec<u8>,
    pub(crate) kind: EntryKind,
    /// The permissions; 0 for a link.
    pub(crate) mode: u32,
    pub(crate) stamp: Stamp,
    /// The target of a link.
    pub(crate) target: Vec<u8>,
    /// Whether the entries of a directory could not be listed.
    pub(crate) is_unreadable: bool,
}

/// Converts bytes of the system to a name or path.
pub(crate) fn as_name(bytes: &[u8]) -> &OsStr {
    OsStr::from_bytes(bytes)
}

/// Returns a path for messages.
pub(crate) fn shown(path: &[u8]) -> String {
    format!("{:?}", as_name(path))
}

/// Appends a name to a path.
pub(crate) fn joined(path: &[u8], name: &[u8]) -> Vec<u8> {
    if path.is_empty() { name.to_vec() } else { [path, b"/", name].concat() }
}

/// Returns the path of the parent directory; empty for an entry of the root.
pub(crate) fn parent_of(path: &[u8]) -> &[u8] {
    path.iter().rposition(|byte| *byte == b'/').map_or(&[], |at| &path[..at])
}

/// Returns true if the path is below the directory.
pub(crate) fn is_below(path: &[u8], folder: &[u8]) -> bool {
    path.len() > folder.len() && path.starts_with(folder) && (folder.is_empty() || path[folder.len()] == b'/')
}

/// Returns the permissions.
pub(crate) fn mode_of(stat: &Stat) -> u32 {
    u32::from(stat.st_mode as u16) & 0o7777
}

/// Returns the entry of a name in a directory; `None` if it does not exist.
///
/// # Errors
/// Returns the system's error.
pub(crate) fn entry_at(directory: &Directory, name: &OsStr, path: &[u8]) -> rustix::io::Result<Option<Entry>> {
    let Some(stat) = directory.stat(name)? else { return Ok(None) };
    let kind = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => EntryKind::File,
        FileType::Directory => EntryKind::Directory,
        FileType::Symlink => EntryKind::Link,
        _ => EntryKind::Special,
    };
    let target = if kind == EntryKind::Link {
        rustix::fs::readlinkat(directory, name, Vec::new())?.into_bytes()
    } else {
        Vec::new()
    };
    let mode = if kind == EntryKind::Link { 0 } else { mode_of(&stat) };
    Ok(Some(Entry { path: path.to_vec(), kind, mode, stamp: Stamp::of(&stat), target, is_unreadable: false }))
}

/// Returns true if a directory with these names is a bare git repository.
pub(crate) fn is_bare_repository(names: &[Box<[u8]>]) -> bool {
    [b"HEAD".as_slice(), b"objects", b"refs"].iter().all(|wanted| names.iter().any(|name| **name == **wanted))
}

/// Lists the entries below a directory in path order. The data of a repository is one entry. Directories in `skip`,
/// given by device and inode, are not listed. `cancel` is checked every 128 entries.
///
/// # Errors
/// Returns an error if the call is cancelled, or `LimitExceeded` if there are more entries than `max_entries`.
pub(crate) fn scan(
    root: &Directory,
    skip: &[(u64, u64)],
    max_entries: usize,
    cancel: &CancelToken,
) -> Result<Vec<Entry>> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut folders: Vec<(Vec<u8>, Option<usize>)> = vec![(Vec::new(), None)];
    let mut ticker = CancelTicker::new(cancel);
    while let Some((folder, index)) = folders.pop() {
        let listed = root.open_below(&folder).and_then(|directory| Ok((directory.names()?, directory)));
        let (names, directory) = match (listed, index) {
            (Ok(listed), _) => listed,
            (Err(_), Some(index)) => {
                entries[index].is_unreadable = true;
                continue;
            }
            (Err(errno), None) => return Err(Error::io("view: failed to list the directory", &errno.into())),
        };
        if let Some(index) = index.filter(|_| is_bare_repository(&names)) {
            entries[index].kind = EntryKind::Repository;
            continue;
        }
        for name in names {
            ticker.step()?;
            if folder.is_empty() && name.starts_with(TEMPORARY_PREFIX.as_bytes()) {
                continue;
            }
            let path = joined(&folder, &name);
            // An entry that was removed after the listing is skipped.
            let Ok(Some(mut entry)) = entry_at(&directory, as_name(&name), &path) else { continue };
            if skip.contains(&(entry.stamp.device, entry.stamp.inode)) {
                continue;
            }
            if REPOSITORIES.contains(&&*name) && entry.kind != EntryKind::Special {
                entry.kind = EntryKind::Repository;
            }
            if entry.kind == EntryKind::Directory {
                folders.push((path, Some(entries.len())));
            }
            entries.push(entry);
        }
        if entries.len() > max_entries {
            let text = format!(
                "view: the directory has more than {max_entries} entries; open a view of a part of it, or raise maxEntries"
            );
            return Err(Error::new(ErrorCode::LimitExceeded, text));
        }
    }
    entries.sort_unstable_by(|one, two| one.path.cmp(&two.path));
    Ok(entries)
}
