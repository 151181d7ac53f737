//! A cache of what servers reported in earlier runs: their tools, prompts, resources and instructions.
//!
//! The cache decides which tools are part of requests and which servers need not be started. One file is shared by all
//! projects. An entry is identified by a hash of the server's configuration, so that a changed command counts as
//! another server.
//!
//! The file may contain a thousand definitions and is read before the first request of a session. Therefore its first
//! line, a JSON object, contains the facts and the names and lengths of the definitions; the definitions follow as the
//! servers wrote them and are only read when one is used.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use sinew::base::{Error, ErrorCode, Result};
use sinew_mcp::era::Era;
use sinew_mcp::{Definition, JsonPart, JsonText};
use sinew_session::files;

/// Entries expire after this number of milliseconds: 30 days.
const KEPT: i64 = 30 * 24 * 3600 * 1000;
/// The maximum number of bytes of the file.
const LARGEST: usize = 32 << 20;

/// The facts that a server reported.
#[derive(Debug, Clone, Default)]
pub struct KnownServer {
    /// The protocol era of the server; `None` if uncertain.
    pub era: Option<Era>,
    /// The instructions of the server.
    pub instructions: Option<String>,
    /// Its tools.
    pub tools: Vec<Definition>,
    /// Its prompts.
    pub prompts: Vec<Definition>,
    /// Its resources, by address; at most [`MOST_RESOURCES`].
    pub resources: Vec<Definition>,
}

/// The maximum number of resources per server that a search covers.
pub const MOST_RESOURCES: usize = 1_000;

/// The cache, in memory and in a file.
#[derive(Debug)]
pub struct Cache {
    path: Option<PathBuf>,
    entries: Mutex<Vec<Entry>>,
}

/// A cached server.
#[derive(Debug, Clone)]
struct Entry {
    hash: String,
    known: Arc<KnownServer>,
    /// When it was listed, in milliseconds since the epoch.
    listed: i64,
}

/// The first line of the file.
#[derive(Serialize, Deserialize)]
struct Head {
    version: u32,
    servers: Vec<CachedServer>,
}

const VERSION: u32 = 2;

/// A server in the first line, with the names of its definitions and their lengths in bytes.
#[derive(Serialize, Deserialize)]
struct CachedServer {
    hash: String,
    /// `modern` or `legacy`; `None` if uncertain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    era: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    instructions: Option<String>,
    tools: Vec<(String, usize)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    prompts: Vec<(String, usize)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    resources: Vec<(String, usize)>,
    listed: i64,
}

impl Cache {
    /// Reads the file. If it cannot be read, the cache is empty and the servers are asked again. `now` is in
    /// milliseconds since the epoch.
    #[must_use]
    pub fn read(path: PathBuf, now: i64) -> Cache {
        let mut entries = Definitions::open(&path).ok().flatten().unwrap_or_default();
        entries.retain(|entry| now.saturating_sub(entry.listed) < KEPT);
        Cache { path: Some(path), entries: Mutex::new(entries) }
    }

    /// Creates a cache without a file, for servers that a client supplies.
    #[must_use]
    pub fn in_memory() -> Cache {
        Cache { path: None, entries: Mutex::default() }
    }

    /// Returns the facts of the server with this hash.
    #[must_use]
    pub fn get(&self, hash: &str) -> Option<Arc<KnownServer>> {
        let entries = self.entries.lock();
        entries.iter().find(|entry| entry.hash == hash).map(|entry| Arc::clone(&entry.known))
    }

    /// Stores the facts of a server, in memory and in the file. Blocks on the disk. Entries that other processes added
    /// meanwhile are preserved; if the file grows too large, the entries that were listed longest ago are removed.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written; the facts are stored in memory nevertheless.
    pub fn keep(&self, hash: &str, known: Arc<KnownServer>, now: i64) -> Result<()> {
        let entry = Entry { hash: hash.to_string(), known, listed: now };
        {
            let mut entries = self.entries.lock();
            entries.retain(|entry| entry.hash != hash);
            entries.push(entry.clone());
        }
        let Some(path) = &self.path else { return Ok(()) };
        files::update_bytes(path, |old| {
            let old = old.and_then(|old| String::from_utf8(old.to_vec()).ok());
            let mut entries = old.and_then(parse).unwrap_or_default();
            entries.retain(|entry| entry.hash != hash && now.saturating_sub(entry.listed) < KEPT && entry.is_whole());
            entries.push(entry);
            loop {
                let text = text_of(&entries).map_err(|error| {
                    Error::new(ErrorCode::Internal, format!("failed to write the MCP cache: {error}"))
                })?;
                if text.len() <= LARGEST || entries.len() < 2 {
                    return Ok(text);
                }
                entries.sort_by_key(|entry| entry.listed);
                entries.remove(0);
            }
        })
    }
}

impl Entry {
    fn definitions(&self) -> impl Iterator<Item = &Definition> {
        let KnownServer { tools, prompts, resources, .. } = &*self.known;
        tools.iter().chain(prompts).chain(resources)
    }

    /// Returns false if the definitions do not match their recorded lengths.
    fn is_whole(&self) -> bool {
        self.definitions().all(|definition| definition.raw.get().len() == definition.raw.bytes())
    }
}

/// The definitions of an open file, read on first use. The file is only ever replaced and never overwritten, so its
/// content matches the first line that was read.
struct Definitions {
    file: Mutex<Option<File>>,
    begin: u64,
    text: OnceLock<String>,
}

impl Definitions {
    /// Opens a file and reads the entries of its first line. Returns `None` if it is not a valid cache file.
    fn open(path: &Path) -> io::Result<Option<Vec<Entry>>> {
        const BUFFER: usize = 64 * 1024;
        let file = files::open_plain(path)?;
        let whole = file.metadata()?.len();
        let mut reader = BufReader::with_capacity(BUFFER, file);
        let mut line = Vec::new();
        let begin = reader.by_ref().take(LARGEST as u64).read_until(b'\n', &mut line)? as u64;
        let file = Mutex::new(Some(reader.into_inner()));
        let behind: Arc<dyn JsonText> = Arc::new(Definitions { file, begin, text: OnceLock::new() });
        let bytes = usize::try_from(whole.saturating_sub(begin)).ok().filter(|bytes| *bytes <= LARGEST);
        Ok(bytes.and_then(|bytes| entries(&line, bytes, &behind, 0)))
    }

    fn read(&self) -> io::Result<String> {
        let mut text = String::new();
        if let Some(mut file) = self.file.lock().take() {
            file.seek(SeekFrom::Start(self.begin))?;
            file.take(LARGEST as u64).read_to_string(&mut text)?;
        }
        Ok(text)
    }
}

impl JsonText for Definitions {
    fn text(&self) -> &str {
        // Unreadable definitions are requested again when the server runs.
        self.text.get_or_init(|| self.read().unwrap_or_default())
    }
}

/// Parses the entries of a text. Returns `None` if it is not a complete cache file of this version.
fn parse(text: String) -> Option<Vec<Entry>> {
    let (line, rest) = text.split_once('\n')?;
    let (begin, bytes) = (line.len() + 1, rest.len());
    let whole: Arc<dyn JsonText> = Arc::new(text);
    entries(&whole.text().as_bytes()[..begin], bytes, &whole, begin)
}

/// Parses the entries of a first line. `bytes` bytes of definitions follow it, in `whole` from `begin` on.
fn entries(line: &[u8], bytes: usize, whole: &Arc<dyn JsonText>, begin: usize) -> Option<Vec<Entry>> {
    let head: Head = serde_json::from_slice(line.strip_suffix(b"\n")?).ok()?;
    let mut at = begin;
    let mut definitions = |list: Vec<(String, usize)>| {
        let parts = list.into_iter().map(|(name, bytes)| {
            let end = at.checked_add(bytes)?;
            let raw = JsonPart::new(whole, at..end);
            at = end;
            Some(Definition { name, raw })
        });
        parts.collect::<Option<Vec<_>>>()
    };
    let entries = head.servers.into_iter().map(|stored| {
        let known = KnownServer {
            era: match stored.era.as_deref() {
                Some("modern") => Some(Era::Modern),
                Some("legacy") => Some(Era::Legacy),
                _ => None,
            },
            instructions: stored.instructions,
            tools: definitions(stored.tools)?,
            prompts: definitions(stored.prompts)?,
            resources: definitions(stored.resources)?,
        };
        Some(Entry { hash: stored.hash, known: Arc::new(known), listed: stored.listed })
    });
    let entries = entries.collect::<Option<Vec<_>>>()?;
    (head.version == VERSION && at == begin + bytes).then_some(entries)
}

/// Formats a file with these entries.
fn text_of(entries: &[Entry]) -> serde_json::Result<String> {
    let lengths = |list: &[Definition]| list.iter().map(|one| (one.name.clone(), one.raw.bytes())).collect();
    let servers = entries.iter().map(|Entry { hash, known, listed }| CachedServer {
        hash: hash.clone(),
        era: known.era.map(|era| if era == Era::Modern { "modern" } else { "legacy" }.to_string()),
        instructions: known.instructions.clone(),
        tools: lengths(&known.tools),
        prompts: lengths(&known.prompts),
        resources: lengths(&known.resources),
        listed: *listed,
    });
    let mut text = serde_json::to_string(&Head { version: VERSION, servers: servers.collect() })?;
    text.push('\n');
    for entry in entries {
        entry.definitions().for_each(|definition| text.push_str(definition.raw.get()));
    }
    Ok(text)
}
