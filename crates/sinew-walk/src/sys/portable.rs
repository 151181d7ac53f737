//! The standard library's calls, for other systems. Names that are not Unicode are converted lossily and cannot be
//! opened again.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use super::{DirEntry, FolderId};
use crate::FileType;

pub(crate) struct Root(PathBuf);

pub(crate) struct Folder(PathBuf);

impl Root {
    pub(crate) fn open(path: &Path) -> io::Result<Root> {
        Ok(Root(path.to_path_buf()))
    }

    /// Opens a directory by a path without links.
    pub(crate) fn open_canonical(path: &Path) -> io::Result<Root> {
        Root::open(path)
    }

    pub(crate) fn folder(&self, path: &[u8], _follow: bool) -> io::Result<Folder> {
        Ok(Folder(self.0.join(path_of(path).as_ref())))
    }

    pub(crate) fn open_file(&self, path: &[u8]) -> io::Result<File> {
        File::open(self.0.join(path_of(path).as_ref()))
    }
}

impl Folder {
    pub(crate) fn list(&self, _buffer: &mut Vec<u8>, mut each: impl FnMut(DirEntry<'_>) -> bool) -> io::Result<()> {
        for entry in fs::read_dir(&self.0)? {
            let entry = entry?;
            let file_type = entry.file_type().ok().and_then(kind);
            let name = entry.file_name();
            if !each(DirEntry { name: name.to_string_lossy().as_bytes(), file_type }) {
                break;
            }
        }
        Ok(())
    }

    pub(crate) fn detail(&self, name: &[u8]) -> Option<(i64, u64)> {
        let meta = fs::symlink_metadata(self.0.join(path_of(name).as_ref())).ok()?;
        let time = meta.modified().ok()?.duration_since(UNIX_EPOCH).unwrap_or_default();
        Some((i64::try_from(time.as_nanos()).unwrap_or(i64::MAX), meta.len()))
    }

    pub(crate) fn open_file(&self, name: &[u8]) -> io::Result<File> {
        File::open(self.0.join(path_of(name).as_ref()))
    }

    pub(crate) fn target_type(&self, name: &[u8]) -> Option<FileType> {
        kind(fs::metadata(self.0.join(path_of(name).as_ref())).ok()?.file_type())
    }

    /// Returns the canonical path, which identifies the directory: the standard library has no file numbers here.
    pub(crate) fn folder_id(&self) -> io::Result<FolderId> {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut hasher = DefaultHasher::new();
        fs::canonicalize(&self.0)?.hash(&mut hasher);
        Ok((0, hasher.finish()))
    }
}

fn kind(file_type: fs::FileType) -> Option<FileType> {
    if file_type.is_symlink() {
        Some(FileType::Symlink)
    } else if file_type.is_dir() {
        Some(FileType::Dir)
    } else {
        file_type.is_file().then_some(FileType::File)
    }
}

pub(crate) fn path_of(bytes: &[u8]) -> Cow<'_, Path> {
    Cow::Owned(PathBuf::from(String::from_utf8_lossy(bytes).into_owned()))
}

pub(crate) fn open_file(root: &Path, path: &[u8]) -> io::Result<File> {
    File::open(root.join(path_of(path).as_ref()))
}

pub(crate) fn target_type(root: &Path, path: &[u8]) -> Option<FileType> {
    kind(fs::metadata(root.join(path_of(path).as_ref())).ok()?.file_type())
}
