//! Reads the files that a scan found changed: computes their hashes and copies them to the store.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;

use sinew_base::{CancelToken, Result};

use crate::attributes;
use crate::directory::{Directory, as_name};
use crate::git_index::blob_id;
use crate::git_objects::GitSource;
use crate::options::Limits;
use crate::pack::{PackWriter, digest};
use crate::row::{Content, Gap, GitId, Hash, Kind, Row, parent_of};
use crate::scan::now;

/// Reads files. With a pack, their contents are stored.
pub(crate) struct ContentReader<'a, 'p> {
    root: &'a Directory,
    limits: Limits,
    pack: Option<&'a mut PackWriter<'p>>,
    /// Git's objects, which need no copy.
    git: Option<&'a mut GitSource>,
    /// The files whose content git's index knows.
    pub(crate) clean: HashMap<Box<[u8]>, GitId>,
    /// The number of bytes added to the pack.
    added: u64,
    /// The directory of the last file.
    folder: Option<(Vec<u8>, Directory)>,
    buffer: Vec<u8>,
    /// The error after which nothing more was written to the store.
    pub(crate) failure: Option<io::Error>,
}

impl<'a, 'p> ContentReader<'a, 'p> {
    pub(crate) fn new(
        root: &'a Directory,
        limits: Limits,
        pack: Option<&'a mut PackWriter<'p>>,
        git: Option<&'a mut GitSource>,
    ) -> Self {
        ContentReader {
            root,
            limits,
            pack,
            git,
            clean: HashMap::new(),
            added: 0,
            folder: None,
            buffer: Vec::new(),
            failure: None,
        }
    }

    /// Reads every row that is [`Content::Pending`]. Files that are not `ignored` are read first, so that they use the
    /// limit of the checkpoint first. `cancel` is checked before each file.
    ///
    /// # Errors
    /// Returns an error if the call is cancelled.
    pub(crate) fn read_all(
        &mut self,
        rows: &mut [Row],
        ignored: &HashSet<Box<[u8]>>,
        cancel: &CancelToken,
    ) -> Result<()> {
        for is_ignored in [false, true] {
            for row in rows.iter_mut().filter(|row| row.content == Content::Pending) {
                if is_ignored || !ignored.contains(&row.path) {
                    cancel.check()?;
                    self.read(row);
                }
            }
        }
        Ok(())
    }

    fn read(&mut self, row: &mut Row) {
        if row.size > self.limits.file {
            row.content = Content::Missing(Gap::TooLarge);
            return;
        }
        if let Some(id) = self.clean.get(&row.path).copied()
            && self.keep_clean(row, &id)
        {
            row.content = Content::Git(id);
            return;
        }
        let read = self.open(row).and_then(|file| self.load(&file, row));
        row.content = match read {
            Ok(true) => self.keep(),
            Ok(false) => Content::Missing(Gap::TooLarge),
            Err(_) => Content::Missing(Gap::Unreadable),
        };
    }

    fn open(&mut self, row: &Row) -> io::Result<File> {
        let parent = parent_of(&row.path);
        if self.folder.as_ref().is_none_or(|(path, _)| path != parent) {
            self.folder = Some((parent.to_vec(), self.root.open_below(parent)?));
        }
        let name = &row.path[if parent.is_empty() { 0 } else { parent.len() + 1 }..];
        match &self.folder {
            Some((_, folder)) => Ok(folder.open_file(as_name(name))?),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    /// Uses git's object as the content of a file that has not changed since the scan. Returns false if the file must be
    /// read.
    fn keep_clean(&mut self, row: &mut Row, id: &GitId) -> bool {
        let Ok(file) = self.open(row) else { return false };
        let is_same = rustix::fs::fstat(&file).is_ok_and(|stat| Row::of(&row.path, &stat, 0).has_same_stamp(row));
        if !is_same || !self.git.as_mut().is_some_and(|git| git.keep_sized(id, row.size)) {
            return false;
        }
        row.attributes = self.attributes(&file);
        true
    }

    /// Reads a file into the buffer and updates its row. Returns false if the file grew beyond the limit.
    fn load(&mut self, file: &File, row: &mut Row) -> io::Result<bool> {
        let before = Row::of(&row.path, &rustix::fs::fstat(file)?, now());
        self.buffer.clear();
        file.take(self.limits.file.saturating_add(1)).read_to_end(&mut self.buffer)?;
        let after = Row::of(&row.path, &rustix::fs::fstat(file)?, now());
        // The file was written meanwhile, so the next scan reads it again.
        let is_torn = !before.has_same_stamp(&after) || self.buffer.len() as u64 != after.size;
        let racy = after.racy || is_torn;
        *row = Row { racy, kind: Kind::File, attributes: self.attributes(file), ..after };
        Ok(self.buffer.len() as u64 <= self.limits.file)
    }

    /// Stores the extended attributes of a file. If the store fails here, it will fail for the content too.
    fn attributes(&mut self, file: &File) -> Option<Hash> {
        let pack = self.pack.as_mut()?;
        let bytes = attributes::read(file.as_fd())?;
        let hash = digest(&bytes);
        self.added += pack.add(hash, &bytes).ok()?;
        Some(hash)
    }

    fn keep(&mut self) -> Content {
        let id = blob_id(&self.buffer);
        if self.git.as_mut().is_some_and(|git| git.keep(&id)) {
            return Content::Git(id);
        }
        if self.pack.is_some() && self.added.saturating_add(self.buffer.len() as u64) > self.limits.checkpoint {
            return Content::Missing(Gap::OverBudget);
        }
        let hash = digest(&self.buffer);
        if let Some(pack) = &mut self.pack {
            match pack.add(hash, &self.buffer) {
                Ok(added) => self.added += added,
                Err(cause) => {
                    // A full or broken disk fails for the next file too.
                    self.failure = Some(cause);
                    self.pack = None;
                }
            }
        }
        if self.failure.is_some() {
            return Content::Missing(Gap::StoreFailed);
        }
        Content::Stored(hash, id)
    }
}
