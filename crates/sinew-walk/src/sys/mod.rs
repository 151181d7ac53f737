//! The system calls of a walk, per platform: list a folder, ask for details, open by a path of any length.

#[cfg(not(unix))]
mod portable;
#[cfg(unix)]
mod unix;

#[cfg(not(unix))]
pub(crate) use portable::{Folder, Root, open_file, path_of, target_type};
#[cfg(unix)]
pub(crate) use unix::{Folder, Root, open_file, path_of, target_type};

use crate::FileType;

/// One name of a folder; none as type where it is neither file, folder nor link.
pub(crate) struct DirEntry<'a> {
    pub(crate) name: &'a [u8],
    pub(crate) file_type: Option<FileType>,
}

/// The numbers that tell one folder from another.
pub(crate) type FolderId = (u64, u64);
