//! A session: a tree and, unless it is in memory, its file.

use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;
use sinew_base::{Error, ErrorCode, Result};
use sinew_llm::message::{AgentMessage, CustomMessage};

use super::blob::{Blobs, fit, put_away};
use super::context::{self, Context, Defaults};
use super::custom;
use super::entry::{Body, Entry, Header, VERSION};
use super::migrate;
use super::parallel_map::parallel_map;
use super::paths::{artifacts, beside};
use super::read_at;
use super::tree::{EntryLocation, Id, Tree};
use super::writer::{Sync, WriteRefusal, Writer};
use crate::clock::{self, Clock};

/// The number of bytes of a file that are read together.
const PIECE: u64 = 512 * 1024;
/// The number of entries of a branch that are searched for the task list at a time.
const TODO_PART: usize = 64;
/// The maximum gap between two lines that is read rather than skipped.
const GAP: u64 = 4 * 1024;

/// The services and the directory that the host provides to a session.
#[derive(Clone)]
pub struct SessionOptions {
    /// The working directory, which is written to the header of a new file.
    pub cwd: PathBuf,
    /// The directory of large images; `None` stores them in the lines.
    pub blobs: Option<Blobs>,
    /// When the file is synced to disk.
    pub sync: Sync,
    /// The source of times and ids.
    pub clock: Arc<dyn Clock>,
    /// Changes every entry before it is stored; see [`Session::options`] for sessions created from this one. `None`
    /// changes nothing.
    pub mask: Option<Mask>,
}

/// One conversation.
pub struct Session {
    pub(super) header: Header,
    pub(super) tree: Tree,
    pub(super) options: SessionOptions,
    /// The path of the file, which is created with the first user message; `None` in memory.
    pub(super) path: Option<PathBuf>,
    /// The file, to read entries from disk.
    pub(super) reader: Option<File>,
    pub(super) writer: Option<Writer>,
    /// The offset of the end of the last complete line in an opened file, until the first append.
    pub(super) whole: Option<u64>,
    /// True if the file has its header.
    pub(super) begun: bool,
    pub(super) read_only: bool,
    failure: Option<Error>,
}

/// The type of an entry in which the user changed the task list; its data contains `phases`.
pub const USER_TODO: &str = "user_todo_edit";

/// Changes an entry before it is stored.
pub type Mask = Arc<dyn Fn(Body) -> Body + Send + std::marker::Sync>;

impl Session {
    /// Changes every entry from now on before it is stored.
    pub fn set_mask(&mut self, mask: Mask) {
        self.options.mask = Some(mask);
    }

    /// Returns the options of this session. A session that is created from it and opened with them hides the same
    /// values.
    #[must_use]
    pub fn options(&self) -> &SessionOptions {
        &self.options
    }

    /// Returns a body as it is stored: without hidden values.
    pub(super) fn masked(&self, body: Body) -> Body {
        match &self.options.mask {
            Some(mask) => mask(body),
            None => body,
        }
    }

    /// Creates a session without a file.
    #[must_use]
    pub fn in_memory(options: SessionOptions) -> Session {
        let id = format!("{:016x}", options.clock.random());
        Session::new(id, None, options)
    }

    /// Creates a session at `path` with the given `id`. The file is created with the first user message.
    #[must_use]
    pub fn create(path: PathBuf, id: String, options: SessionOptions) -> Session {
        Session::new(id, Some(path), options)
    }

    pub(super) fn new(id: String, path: Option<PathBuf>, options: SessionOptions) -> Session {
        let header = Header {
            kind: "session".into(),
            version: VERSION,
            id,
            timestamp: clock::iso(options.clock.now()),
            cwd: options.cwd.to_string_lossy().into_owned(),
            title: None,
            title_source: None,
            parent_session: None,
        };
        Session {
            header,
            tree: Tree::default(),
            options,
            path,
            reader: None,
            writer: None,
            whole: None,
            begun: false,
            read_only: false,
            failure: None,
        }
    }

    /// Returns the id in the header.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.header.id
    }

    /// Returns the first line.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Returns the file; `None` if the session is in memory.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Returns the directory of the session's artifacts; `None` in memory.
    #[must_use]
    pub fn artifacts(&self) -> Option<PathBuf> {
        self.path.as_deref().map(artifacts)
    }

    /// Returns the first write error, which later appends return again; `None` without one. The session continues in
    /// memory.
    #[must_use]
    pub fn failure(&self) -> Option<&Error> {
        self.failure.as_ref()
    }

    /// Returns the number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tree.nodes.len()
    }

    /// Returns true if there are no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tree.nodes.is_empty()
    }

    /// Returns the parent of the next entry; `None` before the first one.
    #[must_use]
    pub fn leaf(&self) -> Option<&str> {
        self.tree.leaf().map(|at| &*self.tree.nodes[at].id)
    }

    /// Moves the leaf to `id`, or before the first entry.
    ///
    /// # Errors
    /// Returns an error if no entry has the id.
    pub fn set_leaf(&mut self, id: Option<&str>) -> Result<()> {
        let leaf = id.map(|id| self.position(id)).transpose()?;
        self.tree.set_leaf(leaf);
        Ok(())
    }

    /// Adds an entry after the leaf, makes it the leaf and returns its id. It is in the file when this returns; the
    /// file itself is created with the first user message. Strings beyond [`LARGEST_STRING`](super::LARGEST_STRING) are
    /// cut, in memory and in the file.
    ///
    /// # Errors
    /// Returns the first write error, now and from every later call. The entry is in memory in any case.
    pub fn append(&mut self, body: Body) -> Result<String> {
        self.add(body).0
    }

    /// Adds a message as [`Session::append`] does, and changes it to what a later reader of the session will find.
    ///
    /// # Errors
    /// Returns the errors of [`Session::append`].
    pub fn append_message(&mut self, message: &mut AgentMessage) -> Result<String> {
        let (id, kept) = self.add(custom::to_body(message.clone()));
        match kept {
            Some(Body::Message { message: kept }) => *message = kept,
            Some(Body::CustomMessage { custom_type, content, display, details, attribution }) => {
                let custom = CustomMessage { custom_type, content, display, details, attribution, timestamp: 0 };
                *message = custom::to_message(custom);
            }
            _ => {}
        }
        if let Some(node) = self.tree.nodes.last() {
            // These messages have no time of their own and take that of the entry.
            match message {
                AgentMessage::Custom(custom) => custom.timestamp = node.time,
                AgentMessage::FileMention(mention) => mention.timestamp = node.time,
                _ => {}
            }
        }
        id
    }

    /// Adds an entry; also returns its body if it was changed.
    fn add(&mut self, body: Body) -> (Result<String>, Option<Body>) {
        let body = self.masked(body);
        let id = migrate::new_id(&*self.options.clock, |id| self.tree.find(id).is_some());
        let now = self.options.clock.now();
        let mut entry =
            Entry { id: id.clone(), parent_id: self.leaf().map(str::to_string), timestamp: clock::iso(now), body };
        let mut value = entry.to_value();
        let mut kept = None;
        if fit(&mut value)
            && let Ok(body) = Body::deserialize(&value).map(Body::folded)
        {
            entry.body = body.clone();
            kept = Some(body);
        }
        let user = matches!(&entry.body, Body::Message { message: AgentMessage::User(_) });
        let written = self.write(value, user);
        let (kind, parent) = (entry.body.kind(), entry.parent_id.clone());
        let place = match &written {
            Ok(Some(place)) => place.clone(),
            _ => EntryLocation::Memory(Box::new(entry)),
        };
        self.tree.push(id.as_str().into(), parent.as_deref().map(Id::from), now, kind, place);
        if let (Err(error), None) = (&written, &self.failure) {
            self.failure = Some(error.clone());
            self.mark_incomplete();
        }
        (written.map(|_| id), kept)
    }

    /// Writes an entry if there is a file; before the first user message there is none.
    fn write(&mut self, entry: Value, user: bool) -> Result<Option<EntryLocation>> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        let Some(path) = self.path.clone() else { return Ok(None) };
        if self.read_only {
            let message = format!("the session {} is open for reading only", path.display());
            return Err(Error::new(ErrorCode::InvalidState, message));
        }
        if !self.begun && !user {
            return Ok(None);
        }
        let failed =
            |cause: &std::io::Error| Error::io(format!("failed to write the session {}", path.display()), cause);
        let writer = match &mut self.writer {
            Some(writer) => writer,
            none => none.insert(Writer::create(&path, self.options.sync).map_err(|why| explain(&path, why))?),
        };
        if let Some(whole) = self.whole.take() {
            writer.mend(&path, whole).map_err(|cause| failed(&cause))?;
        }
        let blobs = self.options.blobs.as_ref();
        if !self.begun {
            let header = serde_json::to_value(&self.header).unwrap_or_default();
            line(writer, header, None).map_err(|cause| failed(&cause))?;
            self.reader = Some(writer.reader().map_err(|cause| failed(&cause))?);
            self.begun = true;
            // Entries before the first message, for example the model, are written before it.
            for node in &mut self.tree.nodes {
                if let EntryLocation::Memory(early) = &node.place {
                    node.place = line(writer, early.to_value(), blobs).map_err(|cause| failed(&cause))?;
                }
            }
        }
        line(writer, entry, blobs).map(Some).map_err(|cause| failed(&cause))
    }

    /// Creates a marker file: the end of the session is missing. Does nothing if the disk accepts no empty file either.
    fn mark_incomplete(&self) {
        if let (true, false, Some(path)) = (self.begun, self.read_only, self.path.as_ref().filter(|path| path.exists()))
        {
            // The user is told of the failure itself; the marker is for a later reader of the file.
            let _ = File::create(beside(path, INCOMPLETE));
        }
    }

    /// Makes every later write fail, like a full disk.
    #[cfg(test)]
    pub(super) fn refuse_writes(&mut self) {
        if let Some(writer) = &mut self.writer {
            writer.refuse();
        }
    }

    /// Syncs appended entries to disk, according to the policy.
    ///
    /// # Errors
    /// Returns an error if the disk fails.
    pub fn flush(&mut self) -> Result<()> {
        let Some(writer) = &mut self.writer else { return Ok(()) };
        writer.flush().map_err(|cause| Error::io("failed to write the session to the disk", &cause))
    }

    /// Reads an entry. Large images are references as in the file; [`Session::context`] restores them.
    ///
    /// # Errors
    /// Returns an error if no entry has the id, or if the file can no longer be read.
    pub fn entry(&self, id: &str) -> Result<Entry> {
        self.read(self.position(id)?)
    }

    /// Builds the context that the model sees at the leaf.
    ///
    /// # Errors
    /// Returns an error if the file can no longer be read.
    pub fn context(&self, defaults: &Defaults) -> Result<Context> {
        context::build(&self.tree, self.tree.leaf(), defaults, self.options.blobs.as_ref(), |at| self.read_all(at))
    }

    /// Replaces the image references of a message by the images; a text replaces missing ones. Returns the references
    /// of those.
    pub fn restore_images(&self, message: &mut AgentMessage) -> Vec<String> {
        context::images(message, self.options.blobs.as_ref())
    }

    /// Returns the ids from the root to the leaf.
    #[must_use]
    pub fn path_ids(&self) -> Vec<&str> {
        self.tree.path(self.tree.leaf()).into_iter().map(|at| &*self.tree.nodes[at].id).collect()
    }

    /// Returns the ids of all entries, in file order.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.tree.nodes.iter().map(|node| &*node.id)
    }

    /// Returns the number of messages of [`Session::context`] plus those that it excludes. Reads at most one entry.
    ///
    /// # Errors
    /// Returns an error if the file can no longer be read.
    pub fn context_len(&self) -> Result<usize> {
        let path = self.tree.path(self.tree.leaf());
        let kind = |at: usize| self.tree.nodes[at].kind;
        let compaction = path.iter().rposition(|&at| kind(at) == super::entry::Kind::Compaction);
        let (mut kept, mut summaries) = (0, 0);
        if let Some(at) = compaction
            && let Body::Compaction { first_kept_entry_id, .. } = self.read(path[at])?.body
        {
            kept = path[..at].iter().position(|&at| *self.tree.nodes[at].id == *first_kept_entry_id).unwrap_or(at + 1);
            summaries = 1;
        }
        Ok(summaries + path[kept..].iter().filter(|&&at| kind(at).is_message()).count())
    }

    /// Returns the task list at the end of the branch: the last result of one of `tools`, or the user's later change.
    /// `None` if there is none. The value contains `phases`. Reads the branch backwards as far as necessary.
    ///
    /// # Errors
    /// Returns an error if the file can no longer be read.
    pub fn todo(&self, tools: &[&str]) -> Result<Option<Value>> {
        let path = self.tree.path(self.tree.leaf());
        let names: Vec<_> = tools.iter().copied().chain([USER_TODO]).map(memchr::memmem::Finder::new).collect();
        let names_list = |line: &[u8]| names.iter().any(|name| name.find(line).is_some());
        let mut buffer = Vec::new();
        // A branch without a list is read to its beginning: in parts, the newest first.
        for part in path.rchunks(TODO_PART) {
            for piece in pieces(&self.tree, part).iter().rev() {
                let bytes = self.fill_piece(piece, &mut buffer)?;
                let may_have = |at: &usize| match &self.tree.nodes[*at].place {
                    EntryLocation::Memory(_) => true,
                    EntryLocation::Disk { offset, length } => names_list(piece.line(bytes, *offset, *length)),
                };
                for &at in part[piece.nodes.clone()].iter().rev().filter(|at| may_have(at)) {
                    match self.read(at)?.body {
                        Body::Message { message: AgentMessage::ToolResult(result) }
                            if tools.contains(&&*result.tool_name) && result.details.is_some() =>
                        {
                            return Ok(result.details.clone());
                        }
                        Body::Custom { custom_type, data } if custom_type == USER_TODO => return Ok(Some(data)),
                        _ => {}
                    }
                }
            }
        }
        Ok(None)
    }

    /// Returns the mode at the end of the branch: `plan` or `none`; `none` if it was never set. Only reads entries that
    /// set state.
    ///
    /// # Errors
    /// Returns an error if the file can no longer be read.
    pub fn mode(&self) -> Result<String> {
        Ok(self.last_mode()?.map_or_else(|| "none".into(), |(mode, _)| mode))
    }

    /// Returns the data of the current mode; `None` if it has none.
    ///
    /// # Errors
    /// Returns an error if the file can no longer be read.
    pub fn mode_data(&self) -> Result<Option<serde_json::Value>> {
        Ok(self.last_mode()?.and_then(|(_, data)| data))
    }

    fn last_mode(&self) -> Result<Option<(String, Option<serde_json::Value>)>> {
        let path = self.tree.path(self.tree.leaf());
        for at in path.into_iter().rev().filter(|&at| self.tree.nodes[at].kind == super::entry::Kind::State) {
            if let Body::ModeChange { mode, data } = self.read(at)?.body {
                return Ok(Some((mode, data)));
            }
        }
        Ok(None)
    }

    /// Sets the parent of a session that has no file yet.
    pub fn set_parent(&mut self, id: &str) {
        if !self.begun {
            self.header.parent_session = Some(id.to_string());
        }
    }

    /// Returns the ids of the children of an entry, or of the roots, by time.
    ///
    /// # Errors
    /// Returns an error if no entry has the id.
    pub fn children(&self, of: Option<&str>) -> Result<Vec<&str>> {
        let of = of.map(|id| self.position(id)).transpose()?;
        Ok(self.tree.children(of).into_iter().map(|at| &*self.tree.nodes[at].id).collect())
    }

    /// Returns the last entry that the paths of two leaves share; `None` if they share none.
    ///
    /// # Errors
    /// Returns an error if no entry has one of the ids.
    pub fn common_ancestor(&self, a: &str, b: &str) -> Result<Option<&str>> {
        let common = self.tree.common(Some(self.position(a)?), Some(self.position(b)?));
        Ok(common.map(|at| &*self.tree.nodes[at].id))
    }

    /// Returns the entries that are no longer on the path if the leaf moves to `place`, oldest first.
    ///
    /// # Errors
    /// Returns an error if no entry has the id, or if the file can no longer be read.
    pub fn left_behind(&self, place: Option<&str>) -> Result<Vec<Entry>> {
        let place = place.map(|id| self.position(id)).transpose()?;
        let shared = self.tree.common(self.tree.leaf(), place);
        let path = self.tree.path(self.tree.leaf());
        let from = shared.and_then(|at| path.iter().position(|&on| on == at)).map_or(0, |at| at + 1);
        path[from..].iter().map(|&at| self.read(at)).collect()
    }

    /// Returns the newest title of an entry, otherwise that of the header; `None` if there is none or the newest entry
    /// removes it.
    #[must_use]
    pub fn title(&self) -> Option<String> {
        let asides =
            (0..self.tree.nodes.len()).rev().filter(|&at| self.tree.nodes[at].kind == super::entry::Kind::Aside);
        for at in asides {
            if let Ok(Entry { body: Body::SessionInfo { title, .. }, .. }) = self.read(at) {
                return Some(title).filter(|title| !title.is_empty());
            }
        }
        self.header.title.clone()
    }

    fn position(&self, id: &str) -> Result<usize> {
        self.tree.find(id).ok_or_else(|| Error::new(ErrorCode::NotFound, format!("no entry {id:?} in this session")))
    }

    pub(super) fn read(&self, at: usize) -> Result<Entry> {
        match &self.tree.nodes[at].place {
            EntryLocation::Memory(entry) => Ok((**entry).clone()),
            EntryLocation::Disk { offset, length } => self.parsed(at, &self.line(*offset, *length as usize)?),
        }
    }

    fn parsed(&self, at: usize, line: &[u8]) -> Result<Entry> {
        Entry::parse(line).or_else(|_| Entry::parse_unknown(line)).map_err(|cause| {
            let id = &*self.tree.nodes[at].id;
            Error::new(ErrorCode::InvalidData, format!("failed to read the entry {id}: {cause}"))
        })
    }

    /// Reads entries in order: adjacent lines together, parts concurrently.
    pub(super) fn read_all(&self, wanted: &[usize]) -> Result<impl Iterator<Item = Entry> + use<>> {
        let pieces = pieces(&self.tree, wanted);
        let read = parallel_map(pieces.len(), |buffer: &mut Vec<u8>, number| {
            let piece = &pieces[number];
            let bytes = self.fill_piece(piece, buffer)?;
            let entries = wanted[piece.nodes.clone()].iter().map(|&at| match &self.tree.nodes[at].place {
                EntryLocation::Memory(entry) => Ok((**entry).clone()),
                EntryLocation::Disk { offset, length } => self.parsed(at, piece.line(bytes, *offset, *length)),
            });
            entries.collect::<Result<Vec<Entry>>>()
        });
        // The results are not moved again, because a conversation may be long.
        Ok(read.into_iter().collect::<Result<Vec<_>>>()?.into_iter().flatten())
    }

    /// Reads the bytes of a part into a buffer, which grows as needed.
    pub(super) fn fill_piece<'a>(&self, piece: &Piece, buffer: &'a mut Vec<u8>) -> Result<&'a [u8]> {
        let length = usize::try_from(piece.bytes.end - piece.bytes.start).unwrap_or(usize::MAX);
        if buffer.len() < length {
            buffer.resize(length, 0);
        }
        self.fill(&mut buffer[..length], piece.bytes.start)?;
        Ok(&buffer[..length])
    }

    /// Reads the bytes of a line from the file.
    pub(super) fn line(&self, offset: u64, length: usize) -> Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        self.fill(&mut bytes, offset)?;
        Ok(bytes)
    }

    fn fill(&self, bytes: &mut [u8], offset: u64) -> Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let Some(file) = &self.reader else {
            return Err(Error::new(ErrorCode::InvalidState, "the session has no file to read"));
        };
        read_at::exactly(file, bytes, offset).map_err(|cause| Error::io("failed to read the session", &cause))
    }
}

/// Entries that are read together.
pub(super) struct Piece {
    /// The indices of the requested entries.
    pub(super) nodes: Range<usize>,
    /// From the first line to the end of the last.
    pub(super) bytes: Range<u64>,
}

impl Piece {
    /// Returns a line of the part from its bytes.
    pub(super) fn line<'a>(&self, bytes: &'a [u8], offset: u64, length: u32) -> &'a [u8] {
        let from = usize::try_from(offset - self.bytes.start).unwrap_or(usize::MAX);
        &bytes[from..from + length as usize]
    }
}

/// Splits the requested entries into parts. Only a single line is longer than [`PIECE`].
pub(super) fn pieces(tree: &Tree, wanted: &[usize]) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    for (number, &at) in wanted.iter().enumerate() {
        // Entries in memory are added to the preceding part.
        let place = match &tree.nodes[at].place {
            EntryLocation::Disk { offset, length } => Some(*offset..offset + u64::from(*length)),
            EntryLocation::Memory(_) => None,
        };
        match (pieces.last_mut(), place) {
            (Some(piece), None) => piece.nodes.end = number + 1,
            (Some(piece), Some(line))
                if line.start >= piece.bytes.end
                    && line.start - piece.bytes.end <= GAP
                    && line.end - piece.bytes.start <= PIECE =>
            {
                piece.nodes.end = number + 1;
                piece.bytes.end = line.end;
            }
            (_, place) => pieces.push(Piece { nodes: number..number + 1, bytes: place.unwrap_or(0..0) }),
        }
    }
    pieces
}

impl Drop for Session {
    fn drop(&mut self) {
        // This is the last attempt: callers that need the error call `flush`.
        let _ = self.flush();
    }
}

/// The suffix of the marker of a file whose end is missing.
pub(super) const INCOMPLETE: &str = ".incomplete";

/// Appends an entry as a line.
fn line(writer: &mut Writer, entry: Value, blobs: Option<&Blobs>) -> std::io::Result<EntryLocation> {
    let mut bytes = to_line(entry, blobs)?;
    let length = u32::try_from(bytes.len()).map_err(|_| std::io::Error::other("an entry is larger than 4 GB"))?;
    bytes.push(b'\n');
    Ok(EntryLocation::Disk { offset: writer.append(&bytes)?, length })
}

/// Serialises an entry as in a file, without its line feed.
pub(super) fn to_line(mut entry: Value, blobs: Option<&Blobs>) -> std::io::Result<Vec<u8>> {
    if let Some(blobs) = blobs {
        put_away(&mut entry, blobs);
    }
    Ok(serde_json::to_vec(&entry)?)
}

/// Creates the error for a user who cannot write a session.
pub(super) fn explain(path: &Path, refused: WriteRefusal) -> Error {
    match refused {
        WriteRefusal::InUse(owner) => {
            let who = owner.map_or_else(|| "another process".to_string(), |pid| format!("process {pid}"));
            let message = format!("Session is in use by {who}. Open a copy? [fork]");
            Error::new(ErrorCode::InvalidState, message)
        }
        WriteRefusal::Io(cause) => {
            Error::io(format!("failed to open the session {} for writing", path.display()), &cause)
        }
    }
}
