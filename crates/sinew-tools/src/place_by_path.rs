//! A file by its path, where the system has no calls relative to an open folder.

use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};

use crate::windows_name;

/// A file in a folder.
pub(super) struct Place {
    path: PathBuf,
}

impl Place {
    /// The file that `path` names; links are followed, the last one too.
    ///
    /// # Errors
    /// The system's; `InvalidInput` for a path that names no file, or holds a name that Windows gives to none.
    pub(super) fn open(path: &Path) -> io::Result<Place> {
        let path = path.to_path_buf();
        // The real path is a verbatim one, by which the system makes files of any name.
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
                Ok(real) => return Ok(Place { path: names.iter().rev().fold(real, |path, name| path.join(name)) }),
                Err(error) => {
                    let (Some(name), Some(parent)) = (at.file_name(), at.parent()) else { return Err(error) };
                    names.push(name.to_os_string());
                    at = parent;
                }
            }
        }
    }

    /// The path without links.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Opens the file to read it, if it is there.
    ///
    /// # Errors
    /// The system's; `IsADirectory` for a folder, `InvalidInput` for what is no plain file.
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

    /// Makes the folders that are missing.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn make_folders(&mut self) -> io::Result<()> {
        fs::create_dir_all(self.folder())
    }

    /// A new file in the folder, open for writing.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn create_beside(&self, _private: bool) -> io::Result<NewFile<'_>> {
        let part = tempfile::Builder::new().prefix(".sinew-").suffix(".tmp").tempfile_in(self.folder())?;
        Ok(NewFile { place: self, file: part.reopen()?, part })
    }

    /// Removes the file.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn remove(&self) -> io::Result<()> {
        fs::remove_file(&self.path)
    }

    fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("/"))
    }
}

/// A file that takes the place of another one, or goes away.
pub(super) struct NewFile<'a> {
    place: &'a Place,
    pub(super) file: File,
    part: tempfile::NamedTempFile,
}

impl NewFile<'_> {
    /// Puts it in its place.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn put(self) -> io::Result<()> {
        drop(self.file);
        self.part.persist(&self.place.path).map(drop).map_err(|lost| lost.error)
    }
}
