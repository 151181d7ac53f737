//! A session: a tree and, unless it lives in memory, the file that it grows in.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value};
use sinew::base::{Error, ErrorCode, Result};
use sinew_llm::message::AgentMessage;

use super::blob::{Blobs, shrink};
use super::context::{self, Context, Defaults};
use super::entry::{Body, Entry, Header, VERSION};
use super::index::{self, Index};
use super::migrate;
use super::place::{artifacts, beside, stamp};
use super::tree::{Place, Tree};
use super::writer::{Refused, Sync, Writer, replace};
use crate::clock::{self, Clock};

/// What a session needs of its host.
#[derive(Clone)]
pub struct SessionOptions {
    /// The folder in which the session works; it stands in the header of a new file.
    pub cwd: PathBuf,
    /// Where large pictures are kept; none keeps them in the lines.
    pub blobs: Option<Blobs>,
    /// When the file is forced to the disk.
    pub sync: Sync,
    /// Times and ids.
    pub clock: Arc<dyn Clock>,
}

/// One conversation.
pub struct Session {
    pub(super) header: Header,
    pub(super) tree: Tree,
    pub(super) options: SessionOptions,
    /// Where the file is, or will be with the first message of the user.
    pub(super) path: Option<PathBuf>,
    reader: Option<File>,
    writer: Option<Writer>,
    /// Where the last whole line of an opened file ends, until its first append.
    whole: Option<u64>,
    read_only: bool,
    failure: Option<Error>,
}

/// A session that was opened, and what the user should know about it.
pub struct Opened {
    /// The session.
    pub session: Session,
    /// One sentence each: lines skipped, a file moved aside, a migration.
    pub warnings: Vec<String>,
    /// The entries that could be read of a damaged file, as a session of its own.
    pub recovered: Option<PathBuf>,
}

impl Session {
    /// A session without a file.
    #[must_use]
    pub fn in_memory(options: SessionOptions) -> Session {
        let id = format!("{:016x}", options.clock.random());
        Session::new(id, None, options)
    }

    /// A new session at `path`, named `id`. The file is made with the first message of the user.
    #[must_use]
    pub fn create(path: PathBuf, id: String, options: SessionOptions) -> Session {
        Session::new(id, Some(path), options)
    }

    fn new(id: String, path: Option<PathBuf>, options: SessionOptions) -> Session {
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
            read_only: false,
            failure: None,
        }
    }

    /// Opens the file at `path`; a missing one is a new session there. A file that is no session is moved aside,
    /// never overwritten. Older versions are migrated and kept as `.v<n>.bak`. Costs one pass over the file.
    ///
    /// # Errors
    /// The file cannot be read, or another process writes it (`ERR_INVALID_STATE`): fork it then.
    pub fn open(path: &Path, options: SessionOptions) -> Result<Opened> {
        let mut warnings = Vec::new();
        let fresh = |options: SessionOptions, warnings, recovered| {
            let id = format!("{:016x}", options.clock.random());
            Opened { session: Session::create(path.to_path_buf(), id, options), warnings, recovered }
        };
        let failed =
            |cause: &std::io::Error| Error::io(format!("failed to open the session {}", path.display()), cause);
        let file = match File::open(path) {
            Ok(file) => file,
            Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => return Ok(fresh(options, warnings, None)),
            Err(cause) => return Err(failed(&cause)),
        };
        let mut index = index::read(&file).map_err(|cause| failed(&cause))?;
        let newer = index.header.as_ref().is_some_and(|header| header.version > VERSION);
        let older = index.header.as_ref().is_some_and(|header| header.version < VERSION);
        let flat = index.header.is_none() && (index.without_id > 0 || !index.tree.nodes.is_empty());
        let mut writer = if newer { None } else { Some(take(path, options.sync)?) };
        let mut reader = file;
        if index.size > 0 && index.header.is_none() && !(flat && is_flat(path).map_err(|cause| failed(&cause))?) {
            drop(writer);
            let (aside, recovered) = set_aside(path, &options).map_err(|cause| failed(&cause))?;
            warnings.push(format!("{} is no session file: it was kept as {}", path.display(), aside.display()));
            return Ok(fresh(options, warnings, recovered));
        }
        if older || flat {
            drop(writer.take());
            let version = index.header.as_ref().map_or(0, |header| header.version);
            rewrite(path, version, &options).map_err(|cause| failed(&cause))?;
            warnings
                .push(format!("{} was brought to version {VERSION}; the old file is kept beside it", path.display()));
            writer = Some(take(path, options.sync)?);
            reader = File::open(path).map_err(|cause| failed(&cause))?;
            index = index::read(&reader).map_err(|cause| failed(&cause))?;
        }
        let Index { header, tree, bad, whole, size, .. } = index;
        if bad > 0 {
            warnings.push(format!("{}: {bad} lines could not be read and were skipped", path.display()));
        }
        if newer {
            warnings.push(format!("{} was written by a newer version: it is opened for reading", path.display()));
        }
        let mut session = Session::new(String::new(), Some(path.to_path_buf()), options);
        if let Some(header) = header {
            session.header = header;
        }
        session.tree = tree;
        session.reader = Some(reader);
        session.read_only = newer;
        // An empty file gets its header with the first message, as a missing one does.
        session.whole = (size > 0).then_some(whole);
        session.writer = writer;
        if size == 0 {
            session.header.id = format!("{:016x}", session.options.clock.random());
        }
        Ok(Opened { session, warnings, recovered: None })
    }

    /// The id that the header has.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.header.id
    }

    /// Line 1.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The file, if the session has or will have one.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// The folder of the session's artifacts; none in memory.
    #[must_use]
    pub fn artifacts(&self) -> Option<PathBuf> {
        self.path.as_deref().map(artifacts)
    }

    /// The first failure to write, which later appends give again. The session goes on in memory.
    #[must_use]
    pub fn failure(&self) -> Option<&Error> {
        self.failure.as_ref()
    }

    /// How many entries there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tree.nodes.len()
    }

    /// Whether there is no entry.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tree.nodes.is_empty()
    }

    /// The entry that the next one follows.
    #[must_use]
    pub fn leaf(&self) -> Option<&str> {
        self.tree.leaf().map(|at| &*self.tree.nodes[at].id)
    }

    /// Moves the leaf to `id`, or before the first entry.
    ///
    /// # Errors
    /// No entry has the id.
    pub fn set_leaf(&mut self, id: Option<&str>) -> Result<()> {
        let leaf = id.map(|id| self.position(id)).transpose()?;
        self.tree.set_leaf(leaf);
        Ok(())
    }

    /// Adds an entry behind the leaf, makes it the leaf and gives its id. It is in the file when this returns; the
    /// file itself is made with the first message of the user.
    ///
    /// # Errors
    /// The first failure to write, from then on always. The entry is in memory all the same.
    pub fn append(&mut self, body: Body) -> Result<String> {
        let id = migrate::new_id(&*self.options.clock, |id| self.tree.find(id).is_some());
        let now = self.options.clock.now();
        let entry =
            Entry { id: id.clone(), parent_id: self.leaf().map(str::to_string), timestamp: clock::iso(now), body };
        let user = matches!(&entry.body, Body::Message { message: AgentMessage::User(_) });
        let kind = entry.body.kind();
        let written = self.write(&entry, user);
        let place = match &written {
            Ok(Some(place)) => place.clone(),
            _ => Place::Memory(Box::new(entry.clone())),
        };
        self.tree.push(&id, entry.parent_id.as_deref(), now, kind, place);
        match written {
            Ok(_) => Ok(id),
            Err(error) => {
                self.failure.get_or_insert(error.clone());
                Err(error)
            }
        }
    }

    /// Writes an entry where there is a file to write to; before the first message of the user there is none.
    fn write(&mut self, entry: &Entry, user: bool) -> Result<Option<Place>> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        let Some(path) = self.path.clone() else { return Ok(None) };
        if self.read_only {
            let message = format!("the session {} is open for reading only", path.display());
            return Err(Error::new(ErrorCode::InvalidState, message));
        }
        let failed =
            |cause: &std::io::Error| Error::io(format!("failed to write the session {}", path.display()), cause);
        if self.writer.is_none() {
            if !user {
                return Ok(None);
            }
            self.writer = Some(Writer::create(&path, self.options.sync).map_err(|refused| explain(&path, refused))?);
        }
        let begin = self.reader.is_none() || (self.whole.is_none() && self.tree.nodes.iter().all(in_memory));
        let mut pending = Vec::new();
        if begin && user {
            // What came before the first message, the model for instance, goes in front of it.
            pending = (0..self.tree.nodes.len()).filter(|&at| in_memory(&self.tree.nodes[at])).collect();
        } else if begin {
            return Ok(None);
        }
        let Some(writer) = &mut self.writer else { return Ok(None) };
        if let Some(whole) = self.whole.take() {
            writer.mend(&path, whole).map_err(|cause| failed(&cause))?;
        }
        if begin {
            let header = serde_json::to_vec(&self.header).unwrap_or_default();
            writer.append(&header).map_err(|cause| failed(&cause))?;
            self.reader = Some(File::open(&path).map_err(|cause| failed(&cause))?);
        }
        for at in pending {
            if let Place::Memory(entry) = self.tree.nodes[at].place.clone() {
                self.tree.nodes[at].place =
                    line(writer, &entry, self.options.blobs.as_ref()).map_err(|cause| failed(&cause))?;
            }
        }
        line(writer, entry, self.options.blobs.as_ref()).map(Some).map_err(|cause| failed(&cause))
    }

    /// Forces what was appended to the disk, as the policy says.
    ///
    /// # Errors
    /// The disk refused.
    pub fn flush(&mut self) -> Result<()> {
        let Some(writer) = &mut self.writer else { return Ok(()) };
        writer.flush().map_err(|cause| Error::io("failed to write the session to the disk", &cause))
    }

    /// Reads an entry.
    ///
    /// # Errors
    /// No entry has the id, or the file can no longer be read.
    pub fn entry(&self, id: &str) -> Result<Entry> {
        self.read(self.position(id)?)
    }

    /// What the model sees from the leaf.
    ///
    /// # Errors
    /// The file can no longer be read.
    pub fn context(&self, defaults: &Defaults) -> Result<Context> {
        context::build(&self.tree, self.tree.leaf(), defaults, self.options.blobs.as_ref(), |at| self.read(at))
    }

    /// The ids from the root to the leaf.
    #[must_use]
    pub fn path_ids(&self) -> Vec<&str> {
        self.tree.path(self.tree.leaf()).into_iter().map(|at| &*self.tree.nodes[at].id).collect()
    }

    /// The ids of the children of an entry, or of the roots, by time.
    ///
    /// # Errors
    /// No entry has the id.
    pub fn children(&self, of: Option<&str>) -> Result<Vec<&str>> {
        let of = of.map(|id| self.position(id)).transpose()?;
        Ok(self.tree.children(of).into_iter().map(|at| &*self.tree.nodes[at].id).collect())
    }

    /// The last entry that the paths of two leaves share.
    ///
    /// # Errors
    /// No entry has one of the ids.
    pub fn common_ancestor(&self, a: &str, b: &str) -> Result<Option<&str>> {
        let common = self.tree.common(Some(self.position(a)?), Some(self.position(b)?));
        Ok(common.map(|at| &*self.tree.nodes[at].id))
    }

    /// The newest title that an entry gives, else the header's.
    #[must_use]
    pub fn title(&self) -> Option<String> {
        let asides =
            (0..self.tree.nodes.len()).rev().filter(|&at| self.tree.nodes[at].kind == super::entry::Kind::Aside);
        for at in asides {
            if let Ok(Entry { body: Body::SessionInfo { title, .. }, .. }) = self.read(at) {
                return Some(title);
            }
        }
        self.header.title.clone()
    }

    fn position(&self, id: &str) -> Result<usize> {
        self.tree.find(id).ok_or_else(|| Error::new(ErrorCode::NotFound, format!("no entry {id:?} in this session")))
    }

    pub(super) fn read(&self, at: usize) -> Result<Entry> {
        match &self.tree.nodes[at].place {
            Place::Memory(entry) => Ok((**entry).clone()),
            Place::Disk { offset, length } => {
                let line = self.line(*offset, *length as usize)?;
                Entry::parse(&line).or_else(|_| unknown(&line)).map_err(|cause| {
                    let id = &self.tree.nodes[at].id;
                    Error::new(ErrorCode::InvalidData, format!("failed to read the entry {id}: {cause}"))
                })
            }
        }
    }

    /// The bytes of a line of the file.
    pub(super) fn line(&self, offset: u64, length: usize) -> Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        let failed = |cause: &std::io::Error| Error::io("failed to read the session", cause);
        let Some(file) = &self.reader else {
            return Err(Error::new(ErrorCode::InvalidState, "the session has no file to read"));
        };
        read_at(file, &mut bytes, offset).map_err(|cause| failed(&cause))?;
        Ok(bytes)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // The last chance: who wants to know of a failure calls `flush`.
        let _ = self.flush();
    }
}

fn in_memory(node: &super::tree::Node) -> bool {
    matches!(node.place, Place::Memory(_))
}

/// An entry whose type is known but whose shape is not: kept as it is.
fn unknown(line: &[u8]) -> serde_json::Result<Entry> {
    let head: super::entry::Head<'_> = serde_json::from_slice(line)?;
    let fields: Map<String, Value> = serde_json::from_slice(line)?;
    Ok(Entry {
        id: head.id.into_owned(),
        parent_id: head.parent_id.map(std::borrow::Cow::into_owned),
        timestamp: head.timestamp.map(std::borrow::Cow::into_owned).unwrap_or_default(),
        body: Body::Other(fields),
    })
}

#[cfg(unix)]
fn read_at(file: &File, bytes: &mut [u8], offset: u64) -> std::io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, offset)
}

#[cfg(windows)]
fn read_at(file: &File, bytes: &mut [u8], offset: u64) -> std::io::Result<()> {
    let mut done = 0;
    while done < bytes.len() {
        match std::os::windows::fs::FileExt::seek_read(file, &mut bytes[done..], offset + done as u64)? {
            0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
            more => done += more,
        }
    }
    Ok(())
}

/// Appends an entry as a line.
fn line(writer: &mut Writer, entry: &Entry, blobs: Option<&Blobs>) -> std::io::Result<Place> {
    let mut value = entry.to_value();
    shrink(&mut value, blobs);
    let bytes = serde_json::to_vec(&value)?;
    let length = u32::try_from(bytes.len()).map_err(|_| std::io::Error::other("an entry is larger than 4 GB"))?;
    Ok(Place::Disk { offset: writer.append(&bytes)?, length })
}

fn take(path: &Path, sync: Sync) -> Result<Writer> {
    Writer::open(path, sync).map_err(|refused| explain(path, refused))
}

fn explain(path: &Path, refused: Refused) -> Error {
    match refused {
        Refused::InUse(owner) => {
            let who = owner.map_or_else(|| "another process".to_string(), |pid| format!("process {pid}"));
            let message = format!("Session is in use by {who}. Open a copy? [fork]");
            Error::new(ErrorCode::InvalidState, message)
        }
        Refused::Io(cause) => Error::io(format!("failed to open the session {} for writing", path.display()), &cause),
    }
}

/// Whether the lines are messages without header, as one predecessor wrote them.
fn is_flat(path: &Path) -> std::io::Result<bool> {
    let lines = objects(path)?;
    Ok(!lines.is_empty() && lines.iter().all(|line| line.contains_key("role") && line.contains_key("content")))
}

/// The lines of a file that are objects.
pub(super) fn objects(path: &Path) -> std::io::Result<Vec<Map<String, Value>>> {
    let mut bytes = Vec::new();
    File::open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect())
}

fn to_bytes(lines: &[Map<String, Value>]) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    for line in lines {
        serde_json::to_writer(&mut bytes, line)?;
        bytes.push(b'\n');
    }
    Ok(bytes)
}

/// Brings a file to the current version; the old one stays as `.v<n>.bak`.
fn rewrite(path: &Path, version: u64, options: &SessionOptions) -> std::io::Result<()> {
    let (lines, _) = migrate::to_current(objects(path)?, &options.cwd.to_string_lossy(), &*options.clock);
    fs::copy(path, beside(path, &format!(".v{version}.bak")))?;
    replace(path, &to_bytes(&lines)?)
}

/// Moves a file that is no session aside; what can be read of it becomes a session beside it.
fn set_aside(path: &Path, options: &SessionOptions) -> std::io::Result<(PathBuf, Option<PathBuf>)> {
    let stamp = stamp(options.clock.now());
    let aside = beside(path, &format!(".damaged-{stamp}"));
    let entries: Vec<_> =
        objects(path)?.into_iter().filter(|line| line.contains_key("id") && line.contains_key("type")).collect();
    fs::rename(path, &aside)?;
    let entries: Vec<_> =
        entries.into_iter().filter(|line| line.get("type") != Some(&Value::from("session"))).collect();
    if entries.is_empty() {
        return Ok((aside, None));
    }
    let id = format!("{:016x}", options.clock.random());
    let recovered = path.with_file_name(format!("{stamp}_{id}.jsonl"));
    let header = Session::new(id, None, options.clone()).header.clone();
    let mut lines = vec![match serde_json::to_value(&header)? {
        Value::Object(object) => object,
        _ => Map::new(),
    }];
    lines.extend(entries);
    replace(&recovered, &to_bytes(&lines)?)?;
    Ok((aside, Some(recovered)))
}
