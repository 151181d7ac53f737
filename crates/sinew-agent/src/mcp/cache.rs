//! The facts of servers that do not run: their tools, as they told them last.
//!
//! The cache decides what stands in front of requests and which servers need not be started. One file for all projects;
//! an entry is named by a digest of what the user wrote about the server, so that another command is another server.

use std::path::PathBuf;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use sinew::base::{Error, ErrorCode, Result};
use sinew_mcp::Definition;
use sinew_mcp::era::Era;
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
    entries: Mutex<Vec<Stored>>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Stored {
    hash: String,
    /// `modern` or `legacy`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    era: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    instructions: Option<String>,
    /// Names, and definitions as the server wrote them: none is read before somebody looks for a tool.
    #[serde(with = "pairs")]
    tools: Vec<Definition>,
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "pairs")]
    prompts: Vec<Definition>,
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "pairs")]
    resources: Vec<Definition>,
    /// Milliseconds since 1970.
    listed: i64,
}

/// Definitions as pairs of a name and what the server wrote.
mod pairs {
    use std::sync::Arc;

    use serde::{Deserialize, Deserializer, Serializer};
    use serde_json::value::RawValue;
    use sinew_mcp::Definition;

    pub(super) fn serialize<S: Serializer>(list: &[Definition], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(list.iter().map(|definition| (&definition.name, &*definition.raw)))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Definition>, D::Error> {
        let pairs = Vec::<(String, Box<RawValue>)>::deserialize(from)?;
        Ok(pairs.into_iter().map(|(name, raw)| Definition { name, raw: Arc::from(raw) }).collect())
    }
}

#[derive(Serialize, Deserialize)]
struct File {
    version: u32,
    servers: Vec<Stored>,
}

const VERSION: u32 = 1;

impl Cache {
    /// Reads the file. One that cannot be read is an empty one: everything in it can be asked for again. `now` is in
    /// milliseconds since 1970.
    #[must_use]
    pub fn read(path: PathBuf, now: i64) -> Cache {
        let text = files::read_plain(&path, LARGEST as u64).unwrap_or_default();
        let mut entries = parse(&text);
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
    pub fn get(&self, hash: &str) -> Option<KnownServer> {
        let entries = self.entries.lock();
        let entry = entries.iter().find(|entry| entry.hash == hash)?;
        Some(KnownServer {
            era: match entry.era.as_deref() {
                Some("modern") => Some(Era::Modern),
                Some("legacy") => Some(Era::Legacy),
                _ => None,
            },
            instructions: entry.instructions.clone(),
            tools: entry.tools.clone(),
            prompts: entry.prompts.clone(),
            resources: entry.resources.clone(),
        })
    }

    /// Keeps what a server told, in memory and in the file. Blocks on the disk. What other processes kept meanwhile
    /// stays; the entries that were listed longest ago leave where the file is too large.
    ///
    /// # Errors
    /// The file cannot be written; the memory has it all the same.
    pub fn keep(&self, hash: &str, known: &KnownServer, now: i64) -> Result<()> {
        let stored = Stored {
            hash: hash.to_string(),
            era: known.era.map(|era| if era == Era::Modern { "modern" } else { "legacy" }.to_string()),
            instructions: known.instructions.clone(),
            tools: known.tools.clone(),
            prompts: known.prompts.clone(),
            resources: known.resources.clone(),
            listed: now,
        };
        {
            let mut entries = self.entries.lock();
            entries.retain(|entry| entry.hash != hash);
            entries.push(stored.clone());
        }
        let Some(path) = &self.path else { return Ok(()) };
        files::update(path, |old| {
            let mut servers = parse(old.unwrap_or_default().as_bytes());
            servers.retain(|entry| entry.hash != hash && now.saturating_sub(entry.listed) < KEPT);
            servers.push(stored);
            let mut file = File { version: VERSION, servers };
            loop {
                let text = serde_json::to_string(&file)
                    .map_err(|error| Error::new(ErrorCode::Internal, format!("write the MCP cache: {error}")))?;
                if text.len() <= LARGEST || file.servers.len() < 2 {
                    return Ok(text);
                }
                file.servers.sort_by_key(|entry| entry.listed);
                file.servers.remove(0);
            }
        })
    }
}

fn parse(text: &[u8]) -> Vec<Stored> {
    serde_json::from_slice::<File>(text)
        .ok()
        .filter(|file| file.version == VERSION)
        .map(|file| file.servers)
        .unwrap_or_default()
}
