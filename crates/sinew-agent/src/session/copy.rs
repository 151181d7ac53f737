//! Sessions made from sessions: fork (everything), branch (a path), move (another folder).

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use sinew::base::{Error, ErrorCode, Result};

use super::entry::{Body, Entry, Header};
use super::place::{artifacts, file_name, folder_name};
use super::store::Session;
use super::tree::Place;
use super::writer::replace;
use crate::clock;

impl Session {
    /// Copies the whole session into `folder` as a new one that names this one as its parent; artifacts are
    /// hard-linked, else copied.
    ///
    /// # Errors
    /// The session is in memory, or a file cannot be written; nothing is left behind then.
    pub fn fork(&self, folder: &Path, cwd: &Path) -> Result<PathBuf> {
        let entries = (0..self.tree.nodes.len()).map(|at| self.line_of(at)).collect::<Result<Vec<_>>>()?;
        self.write_copy(folder, cwd, &entries)
    }

    /// Copies the path from the root to the parent of `from`, with the labels of its entries. `from` is a message of
    /// the user; of a first message nothing is left but the parent's name.
    ///
    /// # Errors
    /// No entry has the id, or a file cannot be written.
    pub fn branch_to_file(&self, from: &str, folder: &Path, cwd: &Path) -> Result<PathBuf> {
        let unknown = || Error::new(ErrorCode::NotFound, format!("no entry {from:?} in this session"));
        let at = self.tree.find(from).ok_or_else(unknown)?;
        let path = self.tree.path(self.tree.nodes[at].parent);
        let mut entries = path.iter().map(|&at| self.line_of(at)).collect::<Result<Vec<_>>>()?;
        let mut last = path.last().map(|&at| self.tree.nodes[at].id.to_string());
        for label in (0..self.tree.nodes.len()).filter(|&at| self.tree.nodes[at].kind == super::entry::Kind::Aside) {
            let mut entry = self.read(label)?;
            let Body::Label { target_id, label: Some(_) } = &entry.body else { continue };
            if path.iter().any(|&at| *self.tree.nodes[at].id == **target_id) {
                entry.parent_id = last.replace(entry.id.clone());
                entries.push(bytes(&entry.to_value())?);
            }
        }
        self.write_copy(folder, cwd, &entries)
    }

    /// Moves the file and its artifacts to the folder of another working directory below `sessions`. A failure
    /// leaves everything where it was.
    ///
    /// # Errors
    /// The session is in memory, or a file cannot be written.
    pub fn move_to(mut self, sessions: &Path, cwd: &Path) -> Result<PathBuf> {
        let Some(old) = self.path.clone() else {
            return Err(Error::new(ErrorCode::InvalidState, "cannot move an in-memory session"));
        };
        let name = old.file_name().unwrap_or_default();
        let new = sessions.join(folder_name(cwd)).join(name);
        self.flush()?;
        let failed =
            |cause: &std::io::Error| Error::io(format!("failed to move the session to {}", new.display()), cause);
        let mut header = self.header.clone();
        header.cwd = cwd.to_string_lossy().into_owned();
        let entries = (0..self.tree.nodes.len()).map(|at| self.line_of(at)).collect::<Result<Vec<_>>>()?;
        write_file(&new, &header, &entries).map_err(|cause| failed(&cause))?;
        let (from, to) = (artifacts(&old), artifacts(&new));
        if from.is_dir()
            && let Err(cause) = fs::rename(&from, &to)
        {
            // The copy goes; the old file was not touched.
            let _ = fs::remove_file(&new);
            return Err(failed(&cause));
        }
        drop(self);
        fs::remove_file(&old).map_err(|cause| failed(&cause))?;
        Ok(new)
    }

    fn line_of(&self, at: usize) -> Result<Vec<u8>> {
        match &self.tree.nodes[at].place {
            Place::Disk { offset, length } => self.line(*offset, *length as usize),
            Place::Memory(entry) => {
                let mut value = Entry::to_value(entry);
                super::blob::shrink(&mut value, self.options.blobs.as_ref());
                bytes(&value)
            }
        }
    }

    fn write_copy(&self, folder: &Path, cwd: &Path, entries: &[Vec<u8>]) -> Result<PathBuf> {
        let now = self.options.clock.now();
        let id = format!("{:016x}", self.options.clock.random());
        let header = Header {
            id: id.clone(),
            timestamp: clock::iso(now),
            cwd: cwd.to_string_lossy().into_owned(),
            parent_session: Some(self.header.id.clone()),
            title: self.title(),
            ..self.header.clone()
        };
        let path = folder.join(file_name(now, &id));
        let failed =
            |cause: &std::io::Error| Error::io(format!("failed to write the session {}", path.display()), cause);
        write_file(&path, &header, entries).map_err(|cause| failed(&cause))?;
        if let Some(from) = self.path.as_deref().map(artifacts).filter(|from| from.is_dir())
            && let Err(cause) = link_all(&from, &artifacts(&path))
        {
            let _ = fs::remove_dir_all(artifacts(&path));
            let _ = fs::remove_file(&path);
            return Err(failed(&cause));
        }
        Ok(path)
    }
}

fn bytes(value: &Value) -> Result<Vec<u8>> {
    serde_json::to_vec(value)
        .map_err(|cause| Error::new(ErrorCode::Internal, format!("failed to write an entry: {cause}")))
}

fn write_file(path: &Path, header: &Header, entries: &[Vec<u8>]) -> std::io::Result<()> {
    let mut whole = serde_json::to_vec(header)?;
    whole.push(b'\n');
    for entry in entries {
        whole.extend_from_slice(entry);
        whole.push(b'\n');
    }
    replace(path, &whole)
}

/// Hard links where the disk allows them: artifacts are written once and never changed.
fn link_all(from: &Path, to: &Path) -> std::io::Result<()> {
    super::blob::make_private(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            link_all(&entry.path(), &target)?;
        } else if fs::hard_link(entry.path(), &target).is_err() {
            fs::copy(entry.path(), &target)?;
        }
    }
    Ok(())
}
