//! Creates sessions from sessions: fork (everything), branch (a path), move (another directory), and a new session that
//! continues an old one. Entries are copied one at a time.

use std::collections::HashSet;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use sinew_base::{Error, ErrorCode, Result};

use super::entry::{Body, Entry, Header, Kind, VERSION};
use super::paths::{artifacts, file_name, folder_name};
use super::store::{Session, explain, to_line};
use super::tree::{EntryLocation, Id};
use super::writer::{Writer, replace};
use crate::clock;

/// The location of a new session.
#[derive(Debug, Clone, Copy)]
pub struct Target<'a> {
    /// The directory of the file.
    pub folder: &'a Path,
    /// The working directory of the session.
    pub cwd: &'a Path,
}

/// The end of a path that is copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathEnd<'a> {
    /// Up to the parent of this entry.
    Before(&'a str),
    /// Up to this entry.
    At(&'a str),
}

impl Session {
    /// Copies the whole session to `folder` as a new one whose parent is this session; artifacts are hard-linked or, if
    /// that fails, copied.
    ///
    /// # Errors
    /// Returns an error if the session is in memory, or if a file cannot be written; nothing is left behind then.
    pub fn fork(&self, folder: &Path, cwd: &Path) -> Result<PathBuf> {
        if self.path.is_none() {
            return Err(Error::new(ErrorCode::InvalidState, "cannot fork an in-memory session"));
        }
        let lines = (0..self.tree.nodes.len()).map(|at| self.line_of(at));
        self.write_copy(Target { folder, cwd }, lines)
    }

    /// Copies a path as a new session whose parent is this session; artifacts are hard-linked or, if that fails,
    /// copied. A path without entries results in a session with only the parent's name.
    ///
    /// # Errors
    /// Returns an error if no entry has the id, or if a file cannot be written.
    pub fn path_to_file(&self, end: PathEnd<'_>, folder: &Path, cwd: &Path) -> Result<PathBuf> {
        let (path, asides) = self.copied_path(end)?;
        let lines = path.iter().map(|&at| self.line_of(at)).chain(asides.iter().map(bytes));
        self.write_copy(Target { folder, cwd }, lines)
    }

    /// Does the same as [`Session::path_to_file`], but creates a session in memory.
    ///
    /// # Errors
    /// Returns an error if no entry has the id, or if the file can no longer be read.
    pub fn path_in_memory(&self, end: PathEnd<'_>) -> Result<Session> {
        let (path, asides) = self.copied_path(end)?;
        let header = self.header_for(&self.options.cwd);
        let mut copy = Session::new(header.id.clone(), None, self.options.clone());
        copy.header = header;
        for entry in path.iter().map(|&at| self.read(at)).chain(asides.into_iter().map(Ok)) {
            let entry = entry?;
            let (id, parent) = (Id::from(entry.id.as_str()), entry.parent_id.as_deref().map(Id::from));
            let time = clock::from_iso(&entry.timestamp).unwrap_or_default();
            let kind = entry.body.kind();
            copy.tree.push(id, parent, time, kind, EntryLocation::Memory(Box::new(entry)));
        }
        Ok(copy)
    }

    /// Returns the entries of a path, followed by the labels of its entries and the title.
    fn copied_path(&self, end: PathEnd<'_>) -> Result<(Vec<usize>, Vec<Entry>)> {
        let (PathEnd::Before(id) | PathEnd::At(id)) = end;
        let unknown = || Error::new(ErrorCode::NotFound, format!("no entry {id:?} in this session"));
        let at = self.tree.find(id).ok_or_else(unknown)?;
        let path = self.tree.path(match end {
            PathEnd::Before(_) => self.tree.nodes[at].parent(),
            PathEnd::At(_) => Some(at),
        });
        let on_path: HashSet<usize> = path.iter().copied().collect();
        let labels_path = |target: &str| self.tree.find(target).is_some_and(|target| on_path.contains(&target));
        let (mut labels, mut title) = (Vec::new(), None);
        for at in (0..self.tree.nodes.len()).filter(|&at| self.tree.nodes[at].kind == Kind::Aside) {
            let entry = self.read(at)?;
            match &entry.body {
                // The newest title is used; one on the path is copied already.
                Body::SessionInfo { .. } => title = (!on_path.contains(&at)).then_some(entry),
                Body::Label { target_id, .. } if !on_path.contains(&at) && labels_path(target_id) => labels.push(entry),
                _ => {}
            }
        }
        labels.extend(title);
        let mut last = path.last().map(|&at| self.tree.nodes[at].id.to_string());
        for entry in &mut labels {
            entry.parent_id = last.replace(entry.id.clone());
        }
        Ok((path, labels))
    }

    /// Creates a session whose parent is this one and that begins with `entries`; its file exists when this returns.
    /// Artifacts are not copied.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub fn successor(&self, target: Target<'_>, entries: Vec<Body>) -> Result<PathBuf> {
        let now = self.options.clock.now();
        let mut parent = None;
        let mut lines = Vec::with_capacity(entries.len());
        for body in entries {
            let id = format!("{:08x}", self.options.clock.random() >> 32);
            let parent_id = parent.replace(id.clone());
            let body = self.masked(body);
            lines.push(bytes(&Entry { id, parent_id, timestamp: clock::iso(now), body }));
        }
        let header = Header { title: None, title_source: None, ..self.header_for(target.cwd) };
        let path = target.folder.join(file_name(now, &header.id));
        write_file(&path, &header, lines.into_iter())?;
        Ok(path)
    }

    /// Moves the file and its artifacts to the directory of another working directory below `sessions`; the session
    /// continues there. A failure changes nothing, and the session continues to work.
    ///
    /// # Errors
    /// Returns an error if the session is in memory, the destination exists, or a file cannot be written.
    pub fn move_to(&mut self, sessions: &Path, cwd: &Path) -> Result<PathBuf> {
        let Some(old) = self.path.clone() else {
            return Err(Error::new(ErrorCode::InvalidState, "cannot move an in-memory session"));
        };
        let new = sessions.join(folder_name(cwd)).join(old.file_name().unwrap_or_default());
        let header = Header { cwd: cwd.to_string_lossy().into_owned(), ..self.header.clone() };
        if !self.begun {
            // There is no file yet.
            self.header = header;
            self.path = Some(new.clone());
            return Ok(new);
        }
        if new == old {
            return Ok(new);
        }
        let failed = |cause: &io::Error| Error::io(format!("failed to move the session to {}", new.display()), cause);
        if new.exists() || artifacts(&new).exists() {
            return Err(failed(&io::ErrorKind::AlreadyExists.into()));
        }
        self.flush()?;
        let lines = (0..self.tree.nodes.len()).map(|at| self.line_of(at));
        let places = write_file(&new, &header, lines)?;
        let undo = |cause: Error| {
            // The old file is unchanged and remains the session.
            let _ = fs::remove_file(&new);
            cause
        };
        let writer = Writer::open(&new, self.options.sync).map_err(|refused| undo(explain(&new, refused)))?;
        let reader = writer.reader().map_err(|cause| undo(failed(&cause)))?;
        let (from, to) = (artifacts(&old), artifacts(&new));
        let moved = from.is_dir();
        if moved {
            fs::rename(&from, &to).map_err(|cause| undo(failed(&cause)))?;
        }
        if let Err(cause) = fs::remove_file(&old) {
            if moved {
                // They existed a moment ago.
                let _ = fs::rename(&to, &from);
            }
            return Err(undo(failed(&cause)));
        }
        for (node, place) in self.tree.nodes.iter_mut().zip(places) {
            node.place = place;
        }
        (self.writer, self.reader, self.whole) = (Some(writer), Some(reader), None);
        (self.header, self.path) = (header, Some(new.clone()));
        Ok(new)
    }

    fn line_of(&self, at: usize) -> Result<Vec<u8>> {
        match &self.tree.nodes[at].place {
            EntryLocation::Disk { offset, length } => self.line(*offset, *length as usize),
            EntryLocation::Memory(entry) => to_line(entry.to_value(), self.options.blobs.as_ref()).map_err(unwritable),
        }
    }

    fn header_for(&self, cwd: &Path) -> Header {
        Header {
            version: VERSION,
            id: format!("{:016x}", self.options.clock.random()),
            timestamp: clock::iso(self.options.clock.now()),
            cwd: cwd.to_string_lossy().into_owned(),
            parent_session: Some(self.header.id.clone()),
            title: self.title(),
            ..self.header.clone()
        }
    }

    fn write_copy(&self, target: Target<'_>, lines: impl Iterator<Item = Result<Vec<u8>>>) -> Result<PathBuf> {
        let header = self.header_for(target.cwd);
        let path = target.folder.join(file_name(self.options.clock.now(), &header.id));
        write_file(&path, &header, lines)?;
        if let Some(from) = self.path.as_deref().map(artifacts).filter(|from| from.is_dir())
            && let Err(cause) = link_all(&from, &artifacts(&path))
        {
            // An incomplete copy is deleted.
            let _ = fs::remove_dir_all(artifacts(&path));
            let _ = fs::remove_file(&path);
            return Err(Error::io(format!("failed to copy the artifacts of the session {}", path.display()), &cause));
        }
        Ok(path)
    }
}

fn unwritable(cause: io::Error) -> Error {
    Error::new(ErrorCode::Internal, format!("failed to write an entry: {cause}"))
}

/// Serialises an entry as a line.
fn bytes(entry: &Entry) -> Result<Vec<u8>> {
    to_line(entry.to_value(), None).map_err(unwritable)
}

/// Writes a file with a header and entries; returns the location of each entry.
fn write_file(
    path: &Path,
    header: &Header,
    lines: impl Iterator<Item = Result<Vec<u8>>>,
) -> Result<Vec<EntryLocation>> {
    // An entry that cannot be read is not an error of the output file.
    let mut unread = None;
    let written = replace(path, |out| {
        let mut head = serde_json::to_vec(header)?;
        head.push(b'\n');
        out.write_all(&head)?;
        let mut offset = head.len() as u64;
        let mut places = Vec::with_capacity(lines.size_hint().0);
        for line in lines {
            let mut line = line.map_err(|error| {
                let cause = io::Error::other(error.message().to_string());
                unread = Some(error);
                cause
            })?;
            let length = u32::try_from(line.len()).map_err(io::Error::other)?;
            line.push(b'\n');
            out.write_all(&line)?;
            places.push(EntryLocation::Disk { offset, length });
            offset += line.len() as u64;
        }
        Ok(places)
    });
    written.map_err(|cause| {
        unread.unwrap_or_else(|| Error::io(format!("failed to write the session {}", path.display()), &cause))
    })
}

/// Creates hard links if possible: artifacts are never changed once they are written.
fn link_all(from: &Path, to: &Path) -> io::Result<()> {
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
