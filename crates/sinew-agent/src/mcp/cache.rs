//! The facts of servers that do not run: their tools, as they told them last.
//!
//! The cache decides what stands in front of requests and which servers need not be started. One file for all projects;
//! an entry is named by a digest of what the user wrote about the server, so that another command is another server.
//!
//! The file is read before the first request of a session and has a thousand definitions, so it is not parsed: its first
//! line, JSON, has the facts, and names and lengths of the definitions, which follow as the servers wrote them.

use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use sinew::base::{Error, ErrorCode, Result};
use sinew_mcp::era::Era;
use sinew_mcp::{Definition, JsonPart};
use sinew_session::files;

/// Milliseconds after which an entry is no longer known: 30 days.
const KEPT: i64 = 30 * 24 * 3600 * 1000;
/// Bytes of the file at most.
const LARGEST: usize = 32 << 20;

/// The facts that a server told of itself.
#[derive(Debug, Clone, Default)]
pub struct KnownServer {
    /// The protocol era of the server; None: not certain.
    pub era: Option<Era>,
    /// Its own words about itself.
    pub instructions: Option<String>,
    /// Its tools.
    pub tools: Vec<Definition>,
    /// Its prompts.
    pub prompts: Vec<Definition>,
    /// Its resources, by their addresses; at most [`MOST_RESOURCES`].
    pub resources: Vec<Definition>,
}

/// Resources of one server that a search finds.
pub const MOST_RESOURCES: usize = 1_000;

/// The file.
#[derive(Debug)]
pub struct Cache {
    path: Option<PathBuf>,
    entries: Mutex<Vec<Entry>>,
}

/// A server in the memory.
#[derive(Debug, Clone)]
struct Entry {
    hash: String,
    known: Arc<KnownServer>,
    /// Milliseconds since 1970.
    listed: i64,
}

/// The first line.
#[derive(Serialize, Deserialize)]
struct Head {
    version: u32,
    servers: Vec<Stored>,
}

const VERSION: u32 = 2;

/// A server in the first line. Its definitions are names and lengths in bytes.
#[derive(Serialize, Deserialize)]
struct Stored {
    hash: String,
    /// `modern` or `legacy`.
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
    /// Reads the file. One that cannot be read is an empty one: everything in it can be asked for again. `now` is in
    /// milliseconds since 1970.
    #[must_use]
    pub fn read(path: PathBuf, now: i64) -> Cache {
        let text = files::read_plain(&path, LARGEST as u64).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        let mut entries = text.and_then(parse).unwrap_or_default();
        entries.retain(|entry| now.saturating_sub(entry.listed) < KEPT);
        Cache { path: Some(path), entries: Mutex::new(entries) }
    }

    /// A cache without a file, for servers that a client brings.
    #[must_use]
    pub fn in_memory() -> Cache {
        Cache { path: None, entries: Mutex::default() }
    }

    /// The facts of the server with this hash.
    #[must_use]
    pub fn get(&self, hash: &str) -> Option<Arc<KnownServer>> {
        let entries = self.entries.lock();
        entries.iter().find(|entry| entry.hash == hash).map(|entry| Arc::clone(&entry.known))
    }

    /// Keeps what a server told, in memory and in the file. Blocks on the disk. What other processes kept meanwhile
    /// stays; the entries that were listed longest ago leave where the file is too large.
    ///
    /// # Errors
    /// The file cannot be written; the memory has it all the same.
    pub fn keep(&self, hash: &str, known: Arc<KnownServer>, now: i64) -> Result<()> {
        let entry = Entry { hash: hash.to_string(), known, listed: now };
        {
            let mut entries = self.entries.lock();
            entries.retain(|entry| entry.hash != hash);
            entries.push(entry.clone());
        }
        let Some(path) = &self.path else { return Ok(()) };
        files::update(path, |old| {
            let mut entries = old.and_then(|old| parse(old.to_string())).unwrap_or_default();
            entries.retain(|entry| entry.hash != hash && now.saturating_sub(entry.listed) < KEPT);
            entries.push(entry);
            loop {
                let text = text_of(&entries)
                    .map_err(|error| Error::new(ErrorCode::Internal, format!("write the MCP cache: {error}")))?;
                if text.len() <= LARGEST || entries.len() < 2 {
                    return Ok(text);
                }
                entries.sort_by_key(|entry| entry.listed);
                entries.remove(0);
            }
        })
    }
}

/// The entries of a file. None where it is not one of ours, whole and of this version.
fn parse(text: String) -> Option<Vec<Entry>> {
    let (line, _) = text.split_once('\n')?;
    let head: Head = serde_json::from_str(line).ok()?;
    let mut at = line.len() + 1;
    let text = Arc::new(text);
    let mut definitions = |list: Vec<(String, usize)>| {
        let parts = list.into_iter().map(|(name, bytes)| {
            let end = at.checked_add(bytes)?;
            let raw = JsonPart::new(&text, at..end)?;
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
    (head.version == VERSION && at == text.len()).then_some(entries)
}

/// A file with these entries.
fn text_of(entries: &[Entry]) -> serde_json::Result<String> {
    let lengths = |list: &[Definition]| list.iter().map(|one| (one.name.clone(), one.raw.get().len())).collect();
    let servers = entries.iter().map(|Entry { hash, known, listed }| Stored {
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
    for Entry { known, .. } in entries {
        let all = known.tools.iter().chain(&known.prompts).chain(&known.resources);
        all.for_each(|definition| text.push_str(definition.raw.get()));
    }
    Ok(text)
}
