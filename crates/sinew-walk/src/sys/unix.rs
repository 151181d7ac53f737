//! POSIX: all calls are relative to an open root, so that paths are not resolved from `/` each time.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, Mode, OFlags, openat, statat};

use super::{DirEntry, FolderId};
use crate::FileType;
use crate::stamp::Stamp;

/// The maximum path length opened in one step, in bytes; the system's limit is 4,096.
const MAX_OPEN_PATH: usize = 4_000;

pub(crate) struct Root(OwnedFd);

pub(crate) struct Folder(OwnedFd);

impl Root {
    pub(crate) fn open(path: &Path) -> io::Result<Root> {
        Ok(Root(openat(rustix::fs::CWD, path, folder_flags(), Mode::empty())?))
    }

    /// Opens a directory by a path without links. If a component has become a link in the meantime, the call fails
    /// where the system can detect it.
    pub(crate) fn open_canonical(path: &Path) -> io::Result<Root> {
        match open_without_links(rustix::fs::CWD, path.as_os_str().as_bytes()) {
            Some(opened) => opened.map(Root),
            None => Root::open(path),
        }
    }

    /// Opens a directory below the root. Links are followed only if `follow` is true; otherwise a link before the last
    /// component makes the call fail where the system can detect it.
    pub(crate) fn folder(&self, path: &[u8], follow: bool) -> io::Result<Folder> {
        if !follow
            && !path.is_empty()
            && let Some(opened) = open_without_links(self.0.as_fd(), path)
        {
            return opened.map(Folder);
        }
        let flags = if follow || path.is_empty() { folder_flags() } else { folder_flags() | OFlags::NOFOLLOW };
        let path = if path.is_empty() { b".".as_slice() } else { path };
        Ok(Folder(open_below(self.0.as_fd(), path, flags)?))
    }

    /// Opens a file below the root for reading. A pipe that replaced it since the listing does not block.
    pub(crate) fn open_file(&self, path: &[u8]) -> io::Result<File> {
        Ok(File::from(open_below(self.0.as_fd(), path, file_flags())?))
    }

    pub(crate) fn try_clone(&self) -> io::Result<Root> {
        self.0.try_clone().map(Root)
    }

    /// Returns the current path of the open directory.
    pub(crate) fn path(&self) -> io::Result<std::path::PathBuf> {
        use std::os::fd::AsRawFd;
        #[cfg(target_os = "linux")]
        return std::fs::read_link(format!("/proc/self/fd/{}", self.0.as_raw_fd()));
        #[cfg(not(target_os = "linux"))]
        std::fs::canonicalize(format!("/dev/fd/{}", self.0.as_raw_fd()))
    }

    /// Reads the stamp of an entry below the root, without following a link.
    pub(crate) fn stamp(&self, path: &[u8]) -> io::Result<Stamp> {
        if path.is_empty() {
            return Ok(Stamp::of(&rustix::fs::fstat(&self.0)?));
        }
        if path.len() > MAX_OPEN_PATH {
            let cut = memchr::memrchr(b'/', path).unwrap_or(0);
            let folder = open_below(self.0.as_fd(), &path[..cut], folder_flags())?;
            let name = OsStr::from_bytes(&path[(cut + 1).min(path.len())..]);
            return Ok(Stamp::of(&statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW)?));
        }
        Ok(Stamp::of(&statat(&self.0, OsStr::from_bytes(path), AtFlags::SYMLINK_NOFOLLOW)?))
    }
}

impl Folder {
    pub(crate) fn stamp(&self) -> io::Result<Stamp> {
        Ok(Stamp::of(&rustix::fs::fstat(&self.0)?))
    }

    /// Reads the stamp of a name, without following a link.
    pub(crate) fn stamp_of(&self, name: &[u8]) -> io::Result<Stamp> {
        Ok(Stamp::of(&statat(&self.0, OsStr::from_bytes(name), AtFlags::SYMLINK_NOFOLLOW)?))
    }

    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    /// Calls `each` for every name except `.` and `..`, until it returns false.
    #[cfg(target_os = "linux")]
    pub(crate) fn list(&self, buffer: &mut Vec<u8>, mut each: impl FnMut(DirEntry<'_>) -> bool) -> io::Result<()> {
        buffer.clear();
        buffer.reserve(64 << 10);
        let room: &mut [std::mem::MaybeUninit<u8>] = buffer.spare_capacity_mut();
        let mut names = rustix::fs::RawDir::new(self.0.as_fd(), room);
        while let Some(entry) = names.next() {
            let entry = entry?;
            if !self.give(entry.file_name().to_bytes(), entry.file_type(), &mut each) {
                break;
            }
        }
        Ok(())
    }

    /// Calls `each` for every name except `.` and `..`, until it returns false.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn list(&self, _buffer: &mut Vec<u8>, mut each: impl FnMut(DirEntry<'_>) -> bool) -> io::Result<()> {
        for entry in rustix::fs::Dir::read_from(&self.0)? {
            let entry = entry?;
            if !self.give(entry.file_name().to_bytes(), entry.file_type(), &mut each) {
                break;
            }
        }
        Ok(())
    }

    /// Returns the types of the names that exist, in the order in which they are given. `None` if only a listing can
    /// say how they are spelled or what they are.
    pub(crate) fn look_up<'n>(&self, names: impl IntoIterator<Item = &'n [u8]>) -> Option<Vec<(&'n [u8], FileType)>> {
        let stat = |name: &[u8]| match statat(&self.0, OsStr::from_bytes(name), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(rustix::io::Errno::NOENT) => Ok(None),
            Err(error) => Err(error),
        };
        let mut found: Vec<(&[u8], FileType)> = Vec::new();
        for name in names {
            let is_known = found.iter().any(|(other, _)| *other == name);
            if is_known || matches!(name, b"" | b"." | b"..") {
                continue;
            }
            let Some(entry) = stat(name).ok()? else { continue };
            // Where case does not matter, the name in the directory may be spelled in another way; names beyond ASCII
            // may even be normalized.
            let flipped: Vec<u8> = name.iter().map(|byte| flip_case(*byte)).collect();
            if !name.is_ascii()
                || (flipped != name && stat(&flipped).ok()?.is_some_and(|other| is_same(&entry, &other)))
            {
                return None;
            }
            found.extend(kind(rustix::fs::FileType::from_raw_mode(entry.st_mode)).map(|kind| (name, kind)));
        }
        Some(found)
    }

    fn give(&self, name: &[u8], file_type: rustix::fs::FileType, each: &mut impl FnMut(DirEntry<'_>) -> bool) -> bool {
        if name == b"." || name == b".." {
            return true;
        }
        let file_type = match file_type {
            // Some file systems do not report types in a listing.
            rustix::fs::FileType::Unknown => {
                match statat(&self.0, OsStr::from_bytes(name), AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(stat) => kind(rustix::fs::FileType::from_raw_mode(stat.st_mode)),
                    Err(_) => None,
                }
            }
            known => kind(known),
        };
        each(DirEntry { name, file_type })
    }

    /// Returns the time in nanoseconds and the size of a name, without following a link.
    pub(crate) fn detail(&self, name: &[u8]) -> Option<(i64, u64)> {
        self.stamp_of(name).ok().map(|stamp| (stamp.mtime, stamp.size))
    }

    /// Opens a file of the directory as [`Root::open_file`] does.
    pub(crate) fn open_file(&self, name: &[u8]) -> io::Result<File> {
        let open = || openat(&self.0, OsStr::from_bytes(name), file_flags(), Mode::empty());
        Ok(File::from(rustix::io::retry_on_intr(open)?))
    }

    pub(crate) fn target_type(&self, name: &[u8]) -> Option<FileType> {
        let stat = statat(&self.0, OsStr::from_bytes(name), AtFlags::empty()).ok()?;
        kind(rustix::fs::FileType::from_raw_mode(stat.st_mode))
    }

    pub(crate) fn folder_id(&self) -> io::Result<FolderId> {
        let stat = rustix::fs::fstat(&self.0)?;
        #[allow(clippy::useless_conversion, clippy::cast_sign_loss, reason = "the types differ between systems")]
        Ok((stat.st_dev as u64, stat.st_ino as u64))
    }
}

fn flip_case(byte: u8) -> u8 {
    if byte.is_ascii_alphabetic() { byte ^ 0x20 } else { byte }
}

fn is_same(left: &rustix::fs::Stat, right: &rustix::fs::Stat) -> bool {
    (left.st_dev, left.st_ino) == (right.st_dev, right.st_ino)
}

fn file_flags() -> OFlags {
    OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY
}

fn folder_flags() -> OFlags {
    OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC
}

fn kind(file_type: rustix::fs::FileType) -> Option<FileType> {
    match file_type {
        rustix::fs::FileType::RegularFile => Some(FileType::File),
        rustix::fs::FileType::Directory => Some(FileType::Dir),
        rustix::fs::FileType::Symlink => Some(FileType::Symlink),
        _ => None,
    }
}

/// Opens a directory if no component of the path is a link. `None` if the system has no such call, or not for this
/// path.
#[cfg(target_os = "linux")]
fn open_without_links(start: BorrowedFd<'_>, path: &[u8]) -> Option<io::Result<OwnedFd>> {
    use rustix::fs::{ResolveFlags, openat2};
    use rustix::io::Errno;
    let open = || openat2(start, OsStr::from_bytes(path), folder_flags(), Mode::empty(), ResolveFlags::NO_SYMLINKS);
    match rustix::io::retry_on_intr(open) {
        Ok(folder) => Some(Ok(folder)),
        Err(Errno::LOOP) => Some(Err(Errno::NOTDIR.into())),
        Err(_) => None,
    }
}

#[cfg(not(target_os = "linux"))]
fn open_without_links(_: BorrowedFd<'_>, _: &[u8]) -> Option<io::Result<OwnedFd>> {
    None
}

fn open_below(start: BorrowedFd<'_>, path: &[u8], flags: OFlags) -> io::Result<OwnedFd> {
    let mut step: Option<OwnedFd> = None;
    let mut rest = path;
    while rest.len() > MAX_OPEN_PATH {
        let Some(cut) = memchr::memrchr(b'/', &rest[..MAX_OPEN_PATH]) else { break };
        let from = step.as_ref().map_or(start, OwnedFd::as_fd);
        step = Some(openat(from, OsStr::from_bytes(&rest[..cut]), folder_flags(), Mode::empty())?);
        rest = &rest[cut + 1..];
    }
    let from = step.as_ref().map_or(start, OwnedFd::as_fd);
    Ok(openat(from, OsStr::from_bytes(rest), flags, Mode::empty())?)
}

pub(crate) fn path_of(bytes: &[u8]) -> Cow<'_, Path> {
    Cow::Borrowed(Path::new(OsStr::from_bytes(bytes)))
}

pub(crate) fn open_file(root: &Path, path: &[u8]) -> io::Result<File> {
    if root.as_os_str().len() + path.len() < MAX_OPEN_PATH {
        return File::open(root.join(path_of(path)));
    }
    let root = Root::open(root)?;
    Ok(File::from(open_below(root.0.as_fd(), path, OFlags::RDONLY | OFlags::CLOEXEC)?))
}

pub(crate) fn target_type(root: &Path, path: &[u8]) -> Option<FileType> {
    let root = Root::open(root).ok()?;
    match memchr::memrchr(b'/', path) {
        Some(cut) => root.folder(&path[..cut], true).ok()?.target_type(&path[cut + 1..]),
        None => Folder(root.0).target_type(path),
    }
}
