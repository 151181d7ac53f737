//! A file by its path, for systems without calls relative to an open directory.

use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};

use crate::windows_name;

/// A file in a directory.
pub(super) struct WriteTarget {
    path: PathBuf,
}

impl WriteTarget {
    /// Returns the file that `path` names; links are followed, including the last one.
    ///
    /// # Errors
    /// Returns the system's error, and `InvalidInput` if the path is not that of a file or contains a name that Windows
    /// reserves.
    pub(super) fn open(path: &Path) -> io::Result<WriteTarget> {
        let path = path.to_path_buf();
        // The real path is a verbatim one, which allows the system to create files with any name.
        let mut given = path.components().filter_map(|part| match part {
            Component::Normal(name) => Some(name.to_string_lossy()),
            _ => None,
        });
        if let Some(why) = given.find_map(|name| windows_name::fault(&name)) {
            return Err(io::Error::new(ErrorKind::InvalidInput, why));
        }
        let mut names: Vec<OsString> = Vec::new();
        let mut at = path.as_path();
        loop {
            match fs::canonicalize(at) {
                Ok(real) => {
                    return Ok(WriteTarget { path: names.iter().rev().fold(real, |path, name| path.join(name)) });
                }
                Err(error) => {
                    let (Some(name), Some(parent)) = (at.file_name(), at.parent()) else { return Err(error) };
                    names.push(name.to_os_string());
                    at = parent;
                }
            }
        }
    }

    /// Returns the path without links.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Opens the file for reading; `None` if it does not exist.
    ///
    /// # Errors
    /// Returns the system's error, `IsADirectory` for a directory, and `InvalidInput` for anything else but a regular
    /// file.
    pub(super) fn read(&self) -> io::Result<Option<(File, Metadata)>> {
        match sinew_session::files::open_plain(&self.path) {
            Ok(file) => {
                let facts = file.metadata()?;
                Ok(Some((file, facts)))
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Creates missing directories.
    ///
    /// # Errors
    /// Returns the system's error.
    pub(super) fn make_folders(&mut self) -> io::Result<()> {
        fs::create_dir_all(self.folder())
    }

    /// Creates a file in the directory and opens it for writing.
    ///
    /// # Errors
    /// Returns the system's error.
    pub(super) fn create_beside(&self, _private: bool) -> io::Result<NewFile<'_>> {
        let part = tempfile::Builder::new().prefix(".sinew-").suffix(".tmp").tempfile_in(self.folder())?;
        Ok(NewFile { place: self, file: part.reopen()?, part })
    }

    /// Removes the file.
    ///
    /// # Errors
    /// Returns the system's error.
    pub(super) fn remove(&self) -> io::Result<()> {
        fs::remove_file(&self.path)
    }

    fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("/"))
    }
}

/// A new file that either replaces another one or is removed.
pub(super) struct NewFile<'a> {
    place: &'a WriteTarget,
    pub(super) file: File,
    part: tempfile::NamedTempFile,
}

impl NewFile<'_> {
    /// Renames it to its final name.
    ///
    /// # Errors
    /// Returns the system's error.
    pub(super) fn put(self) -> io::Result<()> {
        drop(self.file);
        self.part.persist(&self.place.path).map(drop).map_err(|lost| lost.error)
    }
}
