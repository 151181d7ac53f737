//! Reads the files that a scan found changed: their digests, and copies for the store.

use std::collections::HashSet;
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
use crate::row::{Content, Gap, Hash, Kind, Row, parent_of};
use crate::scan::now;

/// Reads files; with a pack, what is read is kept.
pub(crate) struct ContentReader<'a, 'p> {
    root: &'a Directory,
    limits: Limits,
    pack: Option<&'a mut PackWriter<'p>>,
    /// Git's objects, which need no copy.
    git: Option<&'a mut GitSource>,
    /// The bytes that were added to the pack.
    added: u64,
    /// The directory of the last file.
    folder: Option<(Vec<u8>, Directory)>,
    buffer: Vec<u8>,
    /// The error that ended writing to the store.
    pub(crate) failure: Option<io::Error>,
}

impl<'a, 'p> ContentReader<'a, 'p> {
    pub(crate) fn new(
        root: &'a Directory,
        limits: Limits,
        pack: Option<&'a mut PackWriter<'p>>,
        git: Option<&'a mut GitSource>,
    ) -> Self {
        ContentReader { root, limits, pack, git, added: 0, folder: None, buffer: Vec::new(), failure: None }
    }

    /// Reads every row that is [`Content::Pending`]: first those that are not `ignored`, for which the limit of the
    /// checkpoint is meant. `cancel` is looked at before each file.
    ///
    /// # Errors
    /// The call is cancelled.
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

    /// Reads a file into the buffer; the row becomes that of what was read. Returns false if the file grew over the limit.
    fn load(&mut self, file: &File, row: &mut Row) -> io::Result<bool> {
        let before = Row::of(&row.path, &rustix::fs::fstat(file)?, now());
        self.buffer.clear();
        file.take(self.limits.file.saturating_add(1)).read_to_end(&mut self.buffer)?;
        let after = Row::of(&row.path, &rustix::fs::fstat(file)?, now());
        // Somebody writes to it: the next scan looks again.
        let is_torn = !before.has_same_stamp(&after) || self.buffer.len() as u64 != after.size;
        let racy = after.racy || is_torn;
        *row = Row { racy, kind: Kind::File, attributes: self.attributes(file), ..after };
        Ok(self.buffer.len() as u64 <= self.limits.file)
    }

    /// Keeps the extended attributes of a file. Where the store fails, the content will fail too.
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
