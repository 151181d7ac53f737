//! One entry of a directory in a checkpoint.

use std::cmp::Ordering;

use rustix::fs::{FileType, Stat};

/// A SHA-256 hash.
pub(crate) type Hash = [u8; 32];

/// The id of a git object, SHA-1 of its header and content.
pub type GitId = [u8; 20];

/// A change within this time after the last one may not change the times; in nanoseconds.
const CLOCK_STEP: i64 = 50_000_000;
/// The same for file systems that store times in steps of one or two seconds.
const COARSE_CLOCK_STEP: i64 = 2_100_000_000;

/// The content of a pipe, which can be recreated; sockets and devices have none.
pub(crate) const FIFO: &[u8] = b"fifo";

/// The type of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Directory,
    Link,
    /// A pipe, socket or device. It is listed and never opened.
    Special,
    /// The data of a repository (`.git`, `.hg`, a bare repository, …). It is listed and never entered.
    Repository,
}

/// Why the store does not have the content of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Gap {
    /// The file exceeds the limit for one file.
    TooLarge,
    /// The file exceeds the remaining limit of the checkpoint.
    OverBudget,
    /// The user must not read it, or reading failed.
    Unreadable,
    /// The store could not be written.
    StoreFailed,
}

/// The content of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Content {
    /// No content: directories and special files.
    Nothing,
    /// A file whose content is in the store under this hash; with the git id of the content.
    Stored(Hash, GitId),
    /// A file whose content is the git object with this id.
    Git(GitId),
    /// The target of a link; [`FIFO`] for a pipe.
    Target(Box<[u8]>),
    /// The position of a repository: see [`crate::repository::Position`].
    Position(Box<[u8]>),
    /// Content that is not stored. For a directory: its entries are unknown.
    Missing(Gap),
    /// A file that a scan found changed and that was not read yet.
    Pending,
}

/// An entry: its path below the root, and its metadata and content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) path: Box<[u8]>,
    pub(crate) kind: Kind,
    /// The permission bits, with set-user-id, set-group-id and sticky.
    pub(crate) mode: u32,
    pub(crate) size: u64,
    /// The number of bytes on disk; less than `size` for a sparse file.
    pub(crate) allocated: u64,
    /// The modification time, in nanoseconds since the epoch.
    pub(crate) mtime: i64,
    pub(crate) ctime: i64,
    pub(crate) device: u64,
    pub(crate) inode: u64,
    pub(crate) links: u32,
    pub(crate) owner: (u32, u32),
    pub(crate) content: Content,
    /// The hash of the extended attributes, if there are any and they were read.
    pub(crate) attributes: Option<Hash>,
    /// Whether a change right after the scan may have left the times unchanged, so that the next scan reads the content
    /// again.
    pub(crate) racy: bool,
}

impl Row {
    /// Creates the row of a path from its metadata. `now` is in nanoseconds since the epoch.
    #[allow(
        clippy::unnecessary_cast,
        clippy::cast_sign_loss,
        clippy::useless_conversion,
        reason = "the types differ between systems"
    )]
    pub(crate) fn of(path: &[u8], stat: &Stat, now: i64) -> Row {
        let time = |seconds: i64, more: i64| seconds.saturating_mul(1_000_000_000).saturating_add(more);
        let mtime = time(stat.st_mtime as i64, stat.st_mtime_nsec as i64);
        let ctime = time(stat.st_ctime as i64, stat.st_ctime_nsec as i64);
        let kind = match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Kind::File,
            FileType::Directory => Kind::Directory,
            FileType::Symlink => Kind::Link,
            _ => Kind::Special,
        };
        let is_coarse = mtime % 1_000_000_000 == 0 && ctime % 1_000_000_000 == 0;
        let step = if is_coarse { COARSE_CLOCK_STEP } else { CLOCK_STEP };
        Row {
            path: path.into(),
            kind,
            mode: stat.st_mode as u32 & 0o7777,
            size: stat.st_size as u64,
            allocated: (stat.st_blocks as u64).saturating_mul(512),
            mtime,
            ctime,
            device: stat.st_dev as u64,
            inode: stat.st_ino as u64,
            links: u32::try_from(stat.st_nlink as u64).unwrap_or(u32::MAX),
            owner: (stat.st_uid, stat.st_gid),
            content: if kind == Kind::File { Content::Pending } else { Content::Nothing },
            attributes: None,
            racy: kind == Kind::File && ctime.saturating_add(step) >= now,
        }
    }

    /// Returns true if the metadata of both is equal, so that the content is equal too (unless one is racy).
    pub(crate) fn has_same_stamp(&self, other: &Row) -> bool {
        self.kind == other.kind
            && (self.size, self.mtime, self.ctime, self.mode) == (other.size, other.mtime, other.ctime, other.mode)
            && self.is_same_inode(other)
    }

    /// Returns true if both are the same file, possibly with different names.
    pub(crate) fn is_same_inode(&self, other: &Row) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }

    /// Returns true if both are the same file, possibly renamed, and its content was not written in between.
    pub(crate) fn is_same_version(&self, other: &Row) -> bool {
        self.kind == other.kind && self.is_same_inode(other) && (self.size, self.mtime) == (other.size, other.mtime)
    }

    /// Returns true if both have equal type and content or target. Times and inodes are ignored if the content is
    /// known.
    pub(crate) fn has_same_content(&self, other: &Row) -> bool {
        if self.kind != other.kind {
            return false;
        }
        match (&self.content, &other.content) {
            (Content::Stored(one, _), Content::Stored(two, _)) => one == two,
            (Content::Git(one) | Content::Stored(_, one), Content::Git(two) | Content::Stored(_, two)) => one == two,
            _ if self.kind == Kind::File => self.is_same_version(other),
            // A directory that could not be listed is still a directory.
            _ if self.kind == Kind::Directory => true,
            (one, two) => one == two,
        }
    }

    /// Returns true if both have equal content and permissions.
    pub(crate) fn is_equal(&self, other: &Row) -> bool {
        let modes = matches!(self.kind, Kind::Link | Kind::Repository) || self.mode == other.mode;
        modes && self.has_same_content(other)
    }

    /// Returns true for a pipe.
    pub(crate) fn is_fifo(&self) -> bool {
        self.kind == Kind::Special && self.content == Content::Target(FIFO.into())
    }

    /// Returns true if the content can be read back from the store or from git.
    pub(crate) fn is_kept(&self) -> bool {
        matches!(self.content, Content::Stored(..) | Content::Git(_))
    }
}

/// Compares two paths so that a directory sorts directly before everything below it.
pub(crate) fn compare_paths(one: &[u8], two: &[u8]) -> Ordering {
    let at = one.iter().zip(two).position(|(a, b)| a != b);
    match at {
        None => one.len().cmp(&two.len()),
        // No name contains the byte 0, so the slash sorts first.
        Some(at) => {
            let rank = |byte: u8| if byte == b'/' { 0 } else { byte };
            rank(one[at]).cmp(&rank(two[at]))
        }
    }
}

/// Returns true if `path` is `folder` or below it; the empty path is the root.
pub(crate) fn is_within(path: &[u8], folder: &[u8]) -> bool {
    folder.is_empty() || path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
}

/// Returns the directory of a path; the empty path is the root.
pub(crate) fn parent_of(path: &[u8]) -> &[u8] {
    path.iter().rposition(|byte| *byte == b'/').map_or(b"", |at| &path[..at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_below_a_directory_follow_it_directly() {
        let mut paths: Vec<&[u8]> = vec![b"a-b", b"a/b", b"a", b"a.c", b"a/b/c", b"a/b-"];
        paths.sort_by(|one, two| compare_paths(one, two));
        assert_eq!(paths, [b"a".as_slice(), b"a/b", b"a/b/c", b"a/b-", b"a-b", b"a.c"]);
    }

    #[test]
    fn a_path_with_the_same_prefix_is_not_inside() {
        for (path, folder, expect) in
            [("a/b", "a", true), ("a", "a", true), ("ab", "a", false), ("a", "", true), ("a", "a/b", false)]
        {
            assert_eq!(is_within(path.as_bytes(), folder.as_bytes()), expect, "{path} in {folder}");
        }
    }
}
