//! The system calls of a walk, per platform: listing directories, reading metadata, and opening paths of any length.

#[cfg(not(unix))]
mod portable;
#[cfg(unix)]
mod unix;

#[cfg(not(unix))]
pub(crate) use portable::{Folder, Root, open_file, path_of, target_type};
#[cfg(unix)]
pub(crate) use unix::{Folder, Root, open_file, path_of, target_type};

use crate::FileType;

/// One name in a directory; the type is `None` for anything but a file, directory or link.
pub(crate) struct DirEntry<'a> {
    pub(crate) name: &'a [u8],
    pub(crate) file_type: Option<FileType>,
}

/// The numbers that identify a directory.
pub(crate) type FolderId = (u64, u64);
