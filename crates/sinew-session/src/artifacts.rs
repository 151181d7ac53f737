//! Artifacts: files of a session with outputs that were too long for the model.
//!
//! `<n>.<tool>.log` is the complete output of a call; `n` counts from 0 and continues after a resume. The model reads
//! it as `artifact://<n>`. As in the session file, secrets are hidden.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

use crate::files::private_folder;
use crate::secrets::{HidingWriter, Secrets};

/// The artifacts of one session. Opens no file before it is needed.
#[derive(Debug)]
pub struct Artifacts {
    state: Mutex<State>,
    secrets: Option<Arc<Secrets>>,
}

/// An artifact that is being written.
pub struct ArtifactFile(Target);

enum Target {
    Plain(BufWriter<File>),
    Hiding(HidingWriter<BufWriter<File>>),
}

impl ArtifactFile {
    /// Appends text, which may be split between any two characters.
    ///
    /// # Errors
    /// Returns an error if writing fails.
    pub fn push(&mut self, text: &[u8]) -> std::io::Result<()> {
        match &mut self.0 {
            Target::Plain(file) => file.write_all(text),
            Target::Hiding(file) => file.push(&String::from_utf8_lossy(text)),
        }
    }

    /// Writes the buffered rest.
    ///
    /// # Errors
    /// Returns an error if writing fails.
    pub fn finish(&mut self) -> std::io::Result<()> {
        match &mut self.0 {
            Target::Plain(file) => file.flush(),
            Target::Hiding(file) => file.finish(),
        }
    }
}

#[derive(Debug)]
struct State {
    place: ArtifactStorage,
    next: Option<u64>,
}

#[derive(Debug)]
enum ArtifactStorage {
    Kept(PathBuf),
    /// Created on demand, deleted with its owner.
    Temporary(Option<tempfile::TempDir>),
}

impl Artifacts {
    /// Stores artifacts in `folder`, which is created on demand.
    #[must_use]
    pub fn in_folder(folder: PathBuf) -> Artifacts {
        Artifacts { state: Mutex::new(State { place: ArtifactStorage::Kept(folder), next: None }), secrets: None }
    }

    /// Stores artifacts that are deleted when this value is dropped, for a session without a file.
    #[must_use]
    pub fn temporary() -> Artifacts {
        Artifacts { state: Mutex::new(State { place: ArtifactStorage::Temporary(None), next: None }), secrets: None }
    }

    /// Returns the directory, and creates it if necessary.
    ///
    /// # Errors
    /// Returns an error if it cannot be created.
    pub fn folder(&self) -> std::io::Result<PathBuf> {
        self.state().folder()
    }

    /// Returns the scratch directory of the model, `local://`, and creates it if necessary.
    ///
    /// # Errors
    /// Returns an error if it cannot be created.
    pub fn scratch(&self) -> std::io::Result<PathBuf> {
        let folder = self.folder()?.join("local");
        private_folder(&folder)?;
        Ok(folder)
    }

    /// Returns true if the artifacts are deleted, because the session has no file.
    #[must_use]
    pub fn is_temporary(&self) -> bool {
        matches!(self.state().place, ArtifactStorage::Temporary(_))
    }

    /// Returns the id and the path of a new artifact of `tool`. Does not create the file; the id is never used again.
    ///
    /// # Errors
    /// Returns an error if the directory cannot be created or read.
    pub fn next(&self, tool: &str) -> std::io::Result<(u64, PathBuf)> {
        let mut state = self.state();
        let folder = state.folder()?;
        let id = match state.next {
            Some(id) => id,
            None => ids(&folder)?.last().map_or(0, |last| last + 1),
        };
        state.next = Some(id + 1);
        Ok((id, folder.join(format!("{id}.{tool}.log"))))
    }

    /// Hides the values of `secrets` in everything that is written from now on: markers replace them, for the model and
    /// for commands.
    #[must_use]
    pub fn hiding(self, secrets: Arc<Secrets>) -> Artifacts {
        Artifacts { secrets: Some(secrets), ..self }
    }

    /// Returns the hidden values; `None` if nothing is hidden.
    #[must_use]
    pub fn secrets(&self) -> Option<&Secrets> {
        self.secrets.as_deref()
    }

    /// Creates an artifact of `tool` that only the user can read; returns its id and the open file.
    ///
    /// # Errors
    /// Returns an error if the directory or the file cannot be created.
    pub fn begin(&self, tool: &str) -> std::io::Result<(u64, ArtifactFile)> {
        let (id, path) = self.next(tool)?;
        let mut options = File::options();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = BufWriter::with_capacity(64 * 1024, options.open(path)?);
        Ok((
            id,
            match &self.secrets {
                Some(secrets) => ArtifactFile(Target::Hiding(HidingWriter::new(file, Arc::clone(secrets)))),
                None => ArtifactFile(Target::Plain(file)),
            },
        ))
    }

    /// Returns the path of the newest artifact of `tool`; `None` if there is none.
    #[must_use]
    pub fn latest_of(&self, tool: &str) -> Option<PathBuf> {
        let end = format!(".{tool}.log");
        let folder = self.existing()?;
        let own = named(&folder).filter(|(_, path)| path.to_string_lossy().ends_with(&end));
        own.max_by_key(|(id, _)| *id).map(|(_, path)| path)
    }

    /// Returns the path of an existing artifact.
    ///
    /// # Errors
    /// Returns `No artifacts directory found`, or a list of the known ids if the id is unknown.
    pub fn find(&self, id: u64) -> Result<PathBuf, String> {
        let folder = self.existing().ok_or("No artifacts directory found")?;
        let known = ids(&folder).map_err(|_| "No artifacts directory found")?;
        named(&folder).find(|(number, _)| *number == id).map(|(_, path)| path).ok_or_else(|| {
            let known: Vec<String> = known.iter().map(u64::to_string).collect();
            let known = if known.is_empty() { "none".to_string() } else { known.join(", ") };
            format!("Artifact {id} not found. Known: {known}")
        })
    }

    fn existing(&self) -> Option<PathBuf> {
        match &self.state().place {
            ArtifactStorage::Kept(folder) => folder.is_dir().then(|| folder.clone()),
            ArtifactStorage::Temporary(folder) => folder.as_ref().map(|folder| folder.path().to_path_buf()),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

impl State {
    fn folder(&mut self) -> std::io::Result<PathBuf> {
        match &mut self.place {
            ArtifactStorage::Kept(folder) => {
                private_folder(folder)?;
                Ok(folder.clone())
            }
            ArtifactStorage::Temporary(Some(folder)) => Ok(folder.path().to_path_buf()),
            ArtifactStorage::Temporary(none) => {
                let folder = tempfile::Builder::new().prefix("sinew-").tempdir()?;
                Ok(none.insert(folder).path().to_path_buf())
            }
        }
    }
}

fn named(folder: &Path) -> impl Iterator<Item = (u64, PathBuf)> {
    fs::read_dir(folder).into_iter().flatten().flatten().filter_map(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        let (id, rest) = name.split_once('.')?;
        (rest.ends_with(".log")).then_some(())?;
        Some((id.parse().ok()?, entry.path()))
    })
}

fn ids(folder: &Path) -> std::io::Result<Vec<u64>> {
    fs::read_dir(folder)?;
    let mut ids: Vec<u64> = named(folder).map(|(id, _)| id).collect();
    ids.sort_unstable();
    Ok(ids)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn artifact_numbers_continue_after_existing_files() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("of-a-session");
        let artifacts = Artifacts::in_folder(folder.clone());
        assert_eq!(artifacts.find(0).unwrap_err(), "No artifacts directory found");
        let (id, path) = artifacts.next("bash").unwrap();
        assert_eq!((id, &path), (0, &folder.join("0.bash.log")));
        fs::write(&path, "x").unwrap();
        assert_eq!(artifacts.next("eval").unwrap().0, 1);
        fs::write(folder.join("9.bash.log"), "y").unwrap();
        fs::write(folder.join("77.md"), "y").unwrap();
        let resumed = Artifacts::in_folder(folder.clone());
        assert_eq!(resumed.next("bash").unwrap(), (10, folder.join("10.bash.log")));
        assert_eq!(resumed.find(9).unwrap(), folder.join("9.bash.log"));
        assert_eq!(resumed.find(5).unwrap_err(), "Artifact 5 not found. Known: 0, 9");
    }

    #[test]
    fn temporary_artifacts_are_deleted_on_drop() {
        let artifacts = Artifacts::temporary();
        assert!(artifacts.find(0).is_err());
        let folder = artifacts.folder().unwrap();
        fs::write(artifacts.next("bash").unwrap().1, "x").unwrap();
        assert!(artifacts.find(0).is_ok());
        drop(artifacts);
        assert!(!folder.exists());
    }
}
