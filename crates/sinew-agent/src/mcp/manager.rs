//! The servers of a program: their configuration, their cached facts, and their connections.
//!
//! Only a call waits for a server: sessions start and requests are sent with the cached facts. A lost server is started
//! again by the next call, so no timer runs for it.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard, RwLock};
use serde_json::json;
use sinew_mcp::ClientHost;
use sinew_mcp::catalogue::{CatalogueServer, Expose, Front, ToolIndex, select_front};
use sinew_mcp::names::name_tools;
use sinew_mcp::oauth::{Login, Logout};
use sinew_session::clock::Clock;
use tokio::sync::broadcast;
use tokio::task::JoinSet;
use tokio_util::task::TaskTracker;

use super::cache::{Cache, KnownServer};
use super::config::{Entries, EntryStatus, ServerConfig, Start};
use super::connect::{Connection, Connector};
use super::server::{Phase, Server};

/// The maximum number of servers that start at the same time.
pub(super) const STARTS_AT_ONCE: usize = 4;
/// The time that a search waits for servers whose tools are unknown.
const SEARCH_WAIT: Duration = Duration::from_secs(5);
/// The number of status changes that are buffered for a subscriber.
const STATUS_CAPACITY: usize = 256;

/// Creates the handler for the requests of the server with this name.
pub type MakeHost = Box<dyn Fn(&str) -> Arc<dyn ClientHost> + Send + Sync>;

/// The inputs for creating a manager.
pub struct ManagerParts {
    /// The entries of the configuration files.
    pub entries: Entries,
    /// The cached facts of servers.
    pub cache: Cache,
    /// Connects to servers.
    pub connector: Arc<dyn Connector>,
    /// Creates the handler for the requests of a server.
    pub host: MakeHost,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The names of other tools.
    pub reserved: Vec<String>,
}

/// A change in the state of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// The name of the server.
    pub server: String,
    /// `idle`, `starting`, `connected`, `needs_auth`, `restarting` or `failed`.
    pub state: &'static str,
    /// The protocol revision.
    pub era: Option<String>,
    /// The number of its tools.
    pub tools: Option<usize>,
    /// The error, if the server failed.
    pub error: Option<String>,
    /// A sentence that the user sees once: the first failed start, or tools that cannot be used.
    pub warning: Option<String>,
}

/// The servers. Dropping it stops all of them.
pub struct Manager {
    current: RwLock<ServerSet>,
    shared: Arc<Shared>,
    host: MakeHost,
    started: AtomicBool,
}

/// The entries as they were last read, and their servers in the order of the files.
#[derive(Clone)]
struct ServerSet {
    entries: Arc<Entries>,
    servers: Arc<[Arc<Server>]>,
}

/// The state that servers share.
pub(super) struct Shared {
    pub(super) cache: Cache,
    pub(super) connector: Arc<dyn Connector>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) starts: tokio::sync::Semaphore,
    /// Pending writes of the cache file.
    pub(super) writes: TaskTracker,
    status: broadcast::Sender<Status>,
    /// Incremented whenever the tools of a server change.
    pub(super) generation: AtomicU64,
    names: Mutex<Names>,
    index: Mutex<Option<(u64, Arc<ToolIndex>)>>,
}

/// The names of tools. A name never changes while the program runs.
struct Names {
    reserved: Vec<String>,
    given: HashMap<(String, String), String>,
}

/// The summary of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerState {
    /// The state, as in [`Status::state`].
    pub state: &'static str,
    /// The protocol revision, if it is connected.
    pub version: Option<String>,
    /// The number of its tools, if known.
    pub tools: Option<usize>,
    /// The number of bytes of their definitions.
    pub bytes: usize,
    /// The process id, if it runs.
    pub pid: Option<u32>,
    /// The last error.
    pub error: Option<String>,
}

impl Manager {
    /// Creates the manager without starting a server.
    #[must_use]
    pub fn new(parts: ManagerParts) -> Arc<Manager> {
        let ManagerParts { entries, cache, connector, host, clock, reserved } = parts;
        let shared = Shared {
            cache,
            connector,
            clock,
            starts: tokio::sync::Semaphore::new(STARTS_AT_ONCE),
            writes: TaskTracker::new(),
            status: broadcast::Sender::new(STATUS_CAPACITY),
            generation: AtomicU64::new(0),
            names: Mutex::new(Names { reserved, given: HashMap::new() }),
            index: Mutex::default(),
        };
        let shared = Arc::new(shared);
        let servers = servers_of(&entries, &shared, &host, &[]);
        let current = RwLock::new(ServerSet { entries: Arc::new(entries), servers });
        Arc::new(Manager { current, shared, host, started: AtomicBool::new(false) })
    }

    /// Applies entries that were read again. A server with an unchanged entry continues; one with a removed or changed
    /// entry is stopped. The tools that are part of the requests of open sessions do not change.
    pub fn reload(&self, entries: Entries) {
        let old = self.servers();
        let servers = servers_of(&entries, &self.shared, &self.host, &old);
        *self.current.write() = ServerSet { entries: Arc::new(entries), servers: Arc::clone(&servers) };
        let is_gone = |old: &&Arc<Server>| servers.iter().all(|server| !Arc::ptr_eq(old, server));
        old.iter().filter(is_gone).for_each(|server| server.retire());
        self.shared.generation.fetch_add(1, Ordering::Release);
        if self.started.load(Ordering::Relaxed) {
            let is_new = |server: &&Arc<Server>| old.iter().all(|known| !Arc::ptr_eq(known, server));
            servers.iter().filter(is_new).for_each(|server| self.begin_early(server));
        }
    }

    /// Reconnects to a server, so that its lists are read again.
    ///
    /// # Errors
    /// Returns a sentence for the user if the server cannot be started.
    pub async fn restart(&self, name: &str) -> Result<Arc<dyn Connection>, String> {
        let server = self.server(name).ok_or_else(|| no_server(name))?;
        server.settled().await;
        server.rest(&self.shared);
        server.connection(&self.shared).await
    }

    /// Returns the entries of the files, including those that cannot be used.
    #[must_use]
    pub fn entries(&self) -> Arc<Entries> {
        Arc::clone(&self.current.read().entries)
    }

    fn servers(&self) -> Arc<[Arc<Server>]> {
        Arc::clone(&self.current.read().servers)
    }

    /// Returns the names of the usable servers, in the order of the files.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.servers().iter().map(|server| server.config.name.clone()).collect()
    }

    /// Returns true if there are no usable servers.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.servers().is_empty()
    }

    /// Returns the status changes from now on.
    #[must_use]
    pub fn subscribe(&self) -> broadcast::Receiver<Status> {
        self.shared.status.subscribe()
    }

    /// Returns the state of a server; `None` if it cannot be used.
    #[must_use]
    pub fn state(&self, name: &str) -> Option<ServerState> {
        self.server(name).map(|server| server.summary())
    }

    /// Waits until the cache file is written. Call it before the program exits.
    pub async fn written(&self) {
        self.shared.writes.close();
        self.shared.writes.wait().await;
        self.shared.writes.reopen();
    }

    /// Returns the servers that are starting and whose tools are unknown.
    #[must_use]
    pub fn starting(&self) -> Vec<String> {
        let is_starting = |server: &&Arc<Server>| matches!(server.phase(), Phase::Starting) && server.known().is_none();
        self.servers().iter().filter(is_starting).map(|server| server.config.name.clone()).collect()
    }

    pub(super) fn server(&self, name: &str) -> Option<Arc<Server>> {
        self.servers().iter().find(|server| server.config.name == name).map(Arc::clone)
    }

    /// Returns the configuration of a usable server.
    #[must_use]
    pub fn config(&self, name: &str) -> Option<Arc<ServerConfig>> {
        self.server(name).map(|server| Arc::clone(&server.config))
    }

    /// Returns a connection to a server, and starts the server if necessary. If the caller stops waiting, the start
    /// continues.
    ///
    /// # Errors
    /// Returns a sentence for the model and the user if the server cannot be started.
    pub async fn connect(&self, name: &str) -> Result<Arc<dyn Connection>, String> {
        let server = self.server(name).ok_or_else(|| no_server(name))?;
        server.connection(&self.shared).await
    }

    /// Starts a login; returns `None` if the server does not require one.
    ///
    /// # Errors
    /// Returns a sentence for the user.
    pub async fn begin_login(&self, name: &str) -> Result<Option<Login>, String> {
        let config = self.config(name).ok_or_else(|| no_server(name))?;
        self.shared.connector.login(config).await
    }

    /// Returns the name by which a session calls a tool of a server. Starts the server if its tools are unknown.
    ///
    /// # Errors
    /// Returns a sentence for the user if the server or tool does not exist, or if the server cannot be started.
    pub async fn tool_name(&self, server: &str, tool: &str) -> Result<String, String> {
        let found = self.server(server).ok_or_else(|| no_server(server))?;
        if found.known().is_none() {
            self.connect(server).await?;
        }
        let index = self.index();
        if let Some(name) = index.name_of(server, tool) {
            return Ok(name.to_string());
        }
        let known: Vec<String> =
            found.catalogue().tools.unwrap_or_default().into_iter().map(|tool| tool.name).collect();
        Err(format!("MCP server \"{server}\" has no enabled tool \"{tool}\". Its tools: {}", some_of(&known)))
    }

    /// Reports to subscribers why a login failed.
    pub fn refuse_login(&self, name: &str, reason: &str) {
        let (server, error) = (name.to_string(), Some(reason.to_string()));
        self.shared.tell(Status { server, state: "needs_auth", era: None, tools: None, error, warning: None });
    }

    /// Removes the login at a server.
    ///
    /// # Errors
    /// Returns a sentence for the user.
    pub async fn log_out(&self, name: &str) -> Result<Logout, String> {
        let config = self.config(name).ok_or_else(|| no_server(name))?;
        self.shared.connector.logout(config).await
    }

    /// Starts the servers that are configured as eager and those whose tools are unknown. Call it after the first
    /// request is sent; only the first call has an effect.
    pub fn start_eager(&self) {
        if self.started.swap(true, Ordering::Relaxed) {
            return;
        }
        self.servers().iter().for_each(|server| self.begin_early(server));
    }

    fn begin_early(&self, server: &Arc<Server>) {
        let config = &server.config;
        if config.expose != Expose::Off && (config.start == Start::Eager || server.known().is_none()) {
            server.begin(&self.shared);
        }
    }

    /// Starts all required servers in parallel.
    ///
    /// # Errors
    /// Returns the servers that cannot be started, with the reasons.
    pub async fn start_required(&self) -> Result<(), String> {
        let mut starts = JoinSet::new();
        for server in self.servers().iter().filter(|server| server.config.required) {
            let (server, shared) = (Arc::clone(server), Arc::clone(&self.shared));
            starts.spawn(async move { server.connection(&shared).await.map(drop) });
        }
        let mut faults: Vec<String> = Vec::new();
        while let Some(ended) = starts.join_next().await {
            faults.extend(ended.unwrap_or_else(|panic| Err(panic.to_string())).err());
        }
        faults.sort();
        if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
    }

    /// Returns the MCP part of the requests of a new session, based on the current facts.
    #[must_use]
    pub fn front(&self) -> Front {
        let servers = self.catalogue();
        let front = {
            let names = self.shared.names();
            let reserved: Vec<&str> = names.reserved.iter().map(String::as_str).collect();
            select_front(&servers, &reserved)
        };
        self.keep_names(&front);
        front
    }

    /// Reserves the tool names of a session's requests for those tools.
    pub(super) fn keep_names(&self, front: &Front) {
        let mut names = self.shared.names();
        for tool in &front.tools {
            names.given.entry((tool.server.clone(), tool.tool.clone())).or_insert_with(|| tool.name.clone());
        }
    }

    /// Returns the known facts of all servers, in the order of the files.
    pub(super) fn catalogue(&self) -> Vec<CatalogueServer> {
        self.servers().iter().map(|server| server.catalogue()).collect()
    }

    /// Returns the index of the tools that can be searched and called. It is built on first use and rebuilt when the
    /// tools of a server change.
    pub(super) fn index(&self) -> Arc<ToolIndex> {
        let generation = self.shared.generation.load(Ordering::Acquire);
        {
            let index = self.shared.index.lock();
            if let Some((of, index)) = &*index
                && *of == generation
            {
                return Arc::clone(index);
            }
        }
        let servers = self.catalogue();
        self.name(&servers);
        let index = {
            let names = self.shared.names();
            Arc::new(ToolIndex::with_names(&servers, |server, tool| names.of(server, tool).cloned()))
        };
        *self.shared.index.lock() = Some((generation, Arc::clone(&index)));
        index
    }

    /// Names the tools that have no name yet; the order of the files decides which tool is named first.
    fn name(&self, servers: &[CatalogueServer]) {
        let mut names = self.shared.names();
        let new: Vec<(&str, &str)> = servers
            .iter()
            .flat_map(|server| server.tools.iter().flatten().map(|tool| (server.name.as_str(), tool.name.as_str())))
            .filter(|(server, tool)| names.of(server, tool).is_none())
            .collect();
        let taken: Vec<&str> = names.reserved.iter().chain(names.given.values()).map(String::as_str).collect();
        let given = name_tools(&new, &taken);
        for ((server, tool), name) in new.into_iter().zip(given) {
            names.given.insert((server.to_string(), tool.to_string()), name);
        }
    }

    /// Returns true if a name may belong to a tool of a server whose tools are unknown.
    pub(super) fn may_have(&self, name: &str) -> bool {
        let servers = self.servers();
        let mut unknown =
            servers.iter().filter(|server| server.config.expose != Expose::Off && server.known().is_none());
        unknown.any(|server| {
            let own = name_tools(&[(&server.config.name, "x")], &[]);
            own.iter().any(|own| name.starts_with(own.trim_end_matches('x')))
        })
    }

    /// Returns the known facts of the used servers, in the order of the files.
    pub(super) fn known(&self) -> Vec<(String, Arc<KnownServer>)> {
        let servers = self.servers();
        let used = servers.iter().filter(|server| server.config.expose != Expose::Off);
        used.filter_map(|server| Some((server.config.name.clone(), server.known()?))).collect()
    }

    /// Waits for servers whose tools are unknown, so that a search includes them, and starts them if necessary. Returns
    /// the states of those that are still unknown: `b (starting)`.
    pub(super) async fn settle(&self) -> Vec<String> {
        let servers = self.servers();
        let unknown: Vec<&Arc<Server>> =
            servers.iter().filter(|server| server.config.expose != Expose::Off && server.known().is_none()).collect();
        if unknown.is_empty() {
            return Vec::new();
        }
        let until = tokio::time::Instant::now() + SEARCH_WAIT;
        let mut missing = Vec::new();
        for server in unknown {
            // A failed server is not started again by each search.
            if !matches!(server.phase(), Phase::Failed(_) | Phase::NeedsAuth) {
                server.begin(&self.shared);
                let _ = tokio::time::timeout_at(until, server.settled()).await;
            }
            if server.known().is_none() {
                missing.push(server.standing_line());
            }
        }
        missing
    }

    /// Returns the states of the servers, for a search without results: `a (41 tools), c (failed: …)`.
    pub(super) fn standing_lines(&self) -> Vec<String> {
        let servers = self.servers();
        let shown = servers.iter().filter(|server| server.config.expose != Expose::Off);
        shown.map(|server| server.standing_line()).collect()
    }

    /// Starts a server in the background, because a search found one of its tools.
    pub(super) fn warm(&self, name: &str) {
        if let Some(server) = self.server(name) {
            server.begin(&self.shared);
        }
    }

    pub(super) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }
}

/// Creates the servers of the entries; servers in `old` with the same configuration are reused.
fn servers_of(entries: &Entries, shared: &Shared, host: &MakeHost, old: &[Arc<Server>]) -> Arc<[Arc<Server>]> {
    let configs = entries.list.iter().filter_map(|entry| match &entry.standing {
        EntryStatus::Ready(config) => Some(Arc::clone(config)),
        _ => None,
    });
    configs
        .map(|config| match old.iter().find(|server| server.config == config) {
            Some(server) => Arc::clone(server),
            None => {
                let known = config.cached.then(|| shared.cache.get(&config.hash)).flatten();
                Arc::new(Server::new(host(&config.name), config, known))
            }
        })
        .collect()
}

/// Lists names for an error message.
fn some_of(names: &[String]) -> String {
    const SHOWN: usize = 20;
    match names.len().saturating_sub(SHOWN) {
        0 if names.is_empty() => "none".to_string(),
        0 => names.join(", "),
        more => format!("{} and {more} more", names[..SHOWN].join(", ")),
    }
}

fn no_server(name: &str) -> String {
    format!("There is no MCP server \"{name}\".")
}

impl Shared {
    fn names(&self) -> MutexGuard<'_, Names> {
        self.names.lock()
    }

    pub(super) fn tell(&self, status: Status) {
        // There may be no subscriber.
        let _ = self.status.send(status);
    }
}

impl Names {
    fn of(&self, server: &str, tool: &str) -> Option<&String> {
        // Building the key allocates two strings, which is acceptable because this runs per search hit or call, not per
        // request.
        self.given.get(&(server.to_string(), tool.to_string()))
    }
}

impl Status {
    /// Returns the fields of the event in the JSON and RPC modes, without its type.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        json!({"server": self.server, "state": self.state, "era": self.era, "tools": self.tools, "error": self.error})
    }
}
