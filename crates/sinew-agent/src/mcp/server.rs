//! One server: its state, its start, and its facts.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Map, Value};
use sinew_mcp::catalogue::CatalogueServer;
use sinew_mcp::{CallOptions, ClientHost, McpError, ToolResult};
use tokio::sync::{Semaphore, watch};
use tokio::time::Instant;

use super::cache::{KnownServer, MOST_RESOURCES};
use super::config::{ServerConfig, Transport};
use super::connect::{Connection, taken};
use super::manager::{ServerState, Shared, Status};

/// The minimum time between two starts of one server.
const START_PAUSE: Duration = Duration::from_secs(1);
/// The number of consecutive failed starts after which the server counts as failed.
const TRIES: u32 = 5;
/// The minimum time between two checks for idleness.
const SHORTEST_IDLE: Duration = Duration::from_millis(100);
/// The number of consecutive calls without an answer after which the server is probed.
const SILENCES: u32 = 3;
/// The time limit of the probe.
const PROBE: Duration = Duration::from_secs(2);
/// The minimum time between two reads of a changing list, and its maximum if the list changes each time.
const LIST_PAUSE: Duration = Duration::from_secs(1);
const LIST_PAUSE_LIMIT: Duration = Duration::from_secs(60);

/// The state of a server.
#[derive(Clone)]
pub(super) enum Phase {
    /// The server is not running.
    Idle,
    /// The server is starting.
    Starting,
    /// The server is running.
    Connected(Arc<dyn Connection>),
    /// The server requires a login.
    NeedsAuth,
    /// The connection was lost or a start failed; the next call starts the server.
    Restarting(String),
    /// Several starts failed. The next call tries once more.
    Failed(String),
}

/// The phase, and the results of earlier attempts.
#[derive(Clone)]
struct State {
    phase: Phase,
    failures: u32,
    last_try: Option<Instant>,
}

pub(super) struct Server {
    pub(super) config: Arc<ServerConfig>,
    host: Arc<dyn ClientHost>,
    state: watch::Sender<State>,
    known: Mutex<Option<Arc<KnownServer>>>,
    calls: Semaphore,
    /// When the last call ended.
    used: Mutex<Instant>,
    silences: AtomicU32,
    /// Whether its entry was removed: running calls may finish, and it is not started again.
    retired: AtomicBool,
}

impl Server {
    pub(super) fn new(host: Arc<dyn ClientHost>, config: Arc<ServerConfig>, known: Option<Arc<KnownServer>>) -> Server {
        let calls = Semaphore::new(config.calls_at_once);
        Server {
            config,
            host,
            state: watch::Sender::new(State { phase: Phase::Idle, failures: 0, last_try: None }),
            known: Mutex::new(known),
            calls,
            used: Mutex::new(Instant::now()),
            silences: AtomicU32::new(0),
            retired: AtomicBool::new(false),
        }
    }

    /// Marks the server as removed: running calls may finish.
    pub(super) fn retire(&self) {
        self.retired.store(true, Ordering::Relaxed);
    }

    /// Returns its facts, from this process or from the cache.
    pub(super) fn known(&self) -> Option<Arc<KnownServer>> {
        self.known.lock().clone()
    }

    pub(super) fn phase(&self) -> Phase {
        self.state.borrow().phase.clone()
    }

    pub(super) fn catalogue(&self) -> CatalogueServer {
        let known = self.known();
        CatalogueServer {
            name: self.config.name.clone(),
            description: self.config.description.clone(),
            instructions: known.as_ref().and_then(|known| known.instructions.clone()),
            expose: self.config.expose,
            tools: known.map(|known| taken(known.tools.clone(), &self.config)),
        }
    }

    /// Starts the server if it is neither running nor starting. Returns at once.
    pub(super) fn begin(self: &Arc<Self>, shared: &Arc<Shared>) {
        if self.retired.load(Ordering::Relaxed) {
            return;
        }
        let begun = self.state.send_if_modified(|state| match &state.phase {
            Phase::Starting => false,
            Phase::Connected(connection) if connection.closed().is_none() => false,
            _ => {
                state.phase = Phase::Starting;
                true
            }
        });
        if begun {
            self.tell(shared);
            // The task ends with the program.
            tokio::spawn(start(Arc::downgrade(self), Arc::downgrade(shared)));
        }
    }

    /// Closes its connection; the next call starts the server again.
    pub(super) fn rest(&self, shared: &Shared) {
        let ended = self.state.send_if_modified(|state| {
            let runs = matches!(state.phase, Phase::Connected(_));
            if runs {
                *state = State { phase: Phase::Idle, failures: 0, last_try: None };
            }
            runs
        });
        if ended {
            self.tell(shared);
        }
    }

    /// Resolves when the server is not starting.
    pub(super) async fn settled(&self) {
        let mut states = self.state.subscribe();
        // Cannot fail, because `self` owns the sender.
        let _ = states.wait_for(|state| !matches!(state.phase, Phase::Starting)).await;
    }

    /// Returns a connection, and starts the server if necessary.
    pub(super) async fn connection(self: &Arc<Self>, shared: &Arc<Shared>) -> Result<Arc<dyn Connection>, String> {
        self.begin(shared);
        self.settled().await;
        let name = &self.config.name;
        match self.phase() {
            Phase::Connected(connection) => Ok(connection),
            Phase::NeedsAuth => Err(self.login_text()),
            Phase::Failed(reason) | Phase::Restarting(reason) => Err(reason),
            Phase::Idle | Phase::Starting => Err(format!("MCP server \"{name}\" is not running")),
        }
    }

    /// Calls a tool. If the connection breaks, the call is repeated once, provided that the user marked the tool as
    /// read-only.
    pub(super) async fn call(
        self: &Arc<Self>,
        shared: &Arc<Shared>,
        tool: &str,
        arguments: &Map<String, Value>,
        options: &CallOptions,
    ) -> Result<ToolResult, String> {
        let is_read_only = self.config.tools.is_read_only(tool);
        // The semaphore is never closed.
        let _permit = self.calls.acquire().await;
        let _use = ServerUse(self);
        for round in 0.. {
            let connection = self.connection(shared).await?;
            let outcome = connection.call(tool, arguments.clone(), options).await;
            self.called(shared, &connection, &outcome);
            match outcome {
                Ok(result) => return Ok(result),
                Err(McpError::Closed(_)) if is_read_only && round == 0 => {}
                Err(error @ McpError::Closed(_)) if !is_read_only => {
                    return Err(format!("{error} Whether the call took effect is unknown."));
                }
                Err(McpError::NeedsAuth(_)) => return Err(self.login_text()),
                Err(error) => return Err(error.to_string()),
            }
        }
        unreachable!("each round returns, but for the first one")
    }

    /// Reads a resource. If the connection breaks, the read is repeated once.
    pub(super) async fn read(
        self: &Arc<Self>,
        shared: &Arc<Shared>,
        uri: &str,
    ) -> Result<Vec<sinew_mcp::model::Resource>, String> {
        let options = CallOptions { times: self.config.times, progress: None };
        // The semaphore is never closed.
        let _permit = self.calls.acquire().await;
        let _use = ServerUse(self);
        for round in 0.. {
            let connection = self.connection(shared).await?;
            match connection.read_resource(uri, &options).await {
                Ok(contents) => return Ok(contents),
                Err(McpError::Closed(_)) if round == 0 => {}
                Err(McpError::NeedsAuth(_)) => return Err(self.login_text()),
                Err(error) => return Err(error.to_string()),
            }
        }
        unreachable!("each round returns, but for the first one")
    }

    /// Returns the instructions for a login.
    fn login_text(&self) -> String {
        let name = &self.config.name;
        if self.config.has_authorization() {
            return format!("MCP server \"{name}\" refuses the Authorization header of its entry.");
        }
        let mut text = format!("MCP server \"{name}\" needs a login. The user can run: sinew mcp login {name}");
        if let (false, Transport::Http { url, .. }) = (self.config.cached, &self.config.transport) {
            // Servers of a client are in no file, so the command needs the URL.
            text.push_str(&format!(" --url {url}"));
        }
        text
    }

    /// Updates the state of the server after a call.
    fn called(
        self: &Arc<Self>,
        shared: &Arc<Shared>,
        connection: &Arc<dyn Connection>,
        outcome: &Result<ToolResult, McpError>,
    ) {
        match outcome {
            Err(McpError::Silence(_)) => {
                if self.silences.fetch_add(1, Ordering::Relaxed) + 1 < SILENCES {
                    return;
                }
                self.silences.store(0, Ordering::Relaxed);
                // The probe runs in the background, because the result of this call is already known.
                let (server, shared) = (Arc::clone(self), Arc::clone(shared));
                let connection = Arc::clone(connection);
                tokio::spawn(async move {
                    if connection.probe(PROBE).await.is_err() {
                        let reason = format!("MCP server \"{}\" does not answer.", server.config.name);
                        server.lose(&shared, &connection, reason);
                    }
                });
            }
            Err(McpError::NeedsAuth(_)) => {
                self.tell_of(shared, &Phase::NeedsAuth, None);
                self.state.send_modify(|state| state.phase = Phase::NeedsAuth);
            }
            other => {
                self.silences.store(0, Ordering::Relaxed);
                if let (Err(error), Some(reason)) = (other, connection.closed())
                    && error.ends_connection()
                {
                    self.lose(shared, connection, format!("MCP server \"{}\": {reason}", self.config.name));
                }
            }
        }
    }

    /// Drops a connection, unless it was replaced meanwhile.
    fn lose(&self, shared: &Shared, connection: &Arc<dyn Connection>, reason: String) {
        let gone = self.state.send_if_modified(|state| match &state.phase {
            Phase::Connected(current) if Arc::ptr_eq(current, connection) => {
                state.phase = Phase::Restarting(reason);
                true
            }
            _ => false,
        });
        if gone {
            self.tell(shared);
        }
    }

    fn tell(&self, shared: &Shared) {
        self.tell_of(shared, &self.phase(), None);
    }

    fn tell_of(&self, shared: &Shared, phase: &Phase, warning: Option<String>) {
        let ServerState { state, version, tools, error, .. } = self.summary_of(phase);
        shared.tell(Status { server: self.config.name.clone(), state, era: version, tools, error, warning });
    }

    pub(super) fn summary(&self) -> ServerState {
        self.summary_of(&self.phase())
    }

    fn summary_of(&self, phase: &Phase) -> ServerState {
        let tools = self.known().map(|known| {
            let taken = known.tools.iter().filter(|tool| self.config.tools.takes(&tool.name));
            taken.fold((0, 0), |(count, bytes), tool| (count + 1, bytes + tool.raw.bytes()))
        });
        let mut summary = ServerState {
            state: "idle",
            version: None,
            bytes: tools.map_or(0, |(_, bytes)| bytes),
            tools: tools.map(|(count, _)| count),
            pid: None,
            error: None,
        };
        match phase {
            Phase::Idle => {}
            Phase::Starting => summary.state = "starting",
            Phase::Connected(connection) => {
                summary.state = "connected";
                summary.version = Some(connection.facts().version);
                summary.pid = connection.pid();
            }
            Phase::NeedsAuth => (summary.state, summary.error) = ("needs_auth", Some(self.login_text())),
            Phase::Restarting(reason) => (summary.state, summary.error) = ("restarting", Some(reason.clone())),
            Phase::Failed(reason) => (summary.state, summary.error) = ("failed", Some(reason.clone())),
        }
        summary
    }

    /// Returns a summary: `github (41 tools)`, `b (starting)`, `c (failed: …)`.
    pub(super) fn standing_line(&self) -> String {
        let summary = self.summary();
        let name = &self.config.name;
        match (summary.state, summary.tools, summary.error) {
            (_, Some(tools), None) => format!("{name} ({tools} tools)"),
            (state, _, Some(error)) => format!("{name} ({state}: {error})"),
            (state, None, None) => format!("{name} ({state})"),
        }
    }

    /// Stores the facts of the server, also in the cache file.
    fn learn(&self, shared: &Arc<Shared>, known: KnownServer) {
        let known = Arc::new(known);
        *self.known.lock() = Some(Arc::clone(&known));
        shared.generation.fetch_add(1, Ordering::Release);
        if !self.config.cached {
            return;
        }
        let (shared, hash, now) = (Arc::clone(shared), self.config.hash.clone(), shared.clock.now());
        let (host, name) = (Arc::clone(&self.host), self.config.name.clone());
        // A failed write only makes the next start slower.
        let writes = shared.writes.clone();
        writes.spawn_blocking(move || {
            if let Err(error) = shared.cache.keep(&hash, known, now) {
                host.log(&format!("failed to cache what \"{name}\" offers: {error}"));
            }
        });
    }
}

/// A running call or read. When it is dropped, the time is recorded as the last use.
struct ServerUse<'a>(&'a Server);

impl Drop for ServerUse<'_> {
    fn drop(&mut self) {
        *self.0.used.lock() = Instant::now();
    }
}

/// Starts a server. The phase is `Starting` during the call and a different one afterwards.
async fn start(server: Weak<Server>, shared: Weak<Shared>) {
    let (Some(server), Some(shared)) = (server.upgrade(), shared.upgrade()) else { return };
    let last = server.state.borrow().last_try;
    if let Some(last) = last {
        tokio::time::sleep_until(last + START_PAUSE).await;
    }
    // The semaphore is never closed.
    let permit = shared.starts.acquire().await;
    if server.retired.load(Ordering::Relaxed) {
        return server.state.send_modify(|state| state.phase = Phase::Idle);
    }
    server.host.starting().await;
    let era = server.known().and_then(|known| known.era);
    let mut outcome = connect(&server, &shared, era).await;
    let refused = |error: &McpError| {
        matches!(
            error,
            McpError::Rpc(_) | McpError::Protocol(_) | McpError::Http { .. } | McpError::NoCommonVersion { .. }
        )
    };
    let goes_on = !server.retired.load(Ordering::Relaxed);
    if era.is_some() && goes_on && outcome.as_ref().is_err_and(refused) {
        // The server may have been replaced by one of the other era.
        outcome = connect(&server, &shared, None).await;
    }
    drop(permit);
    let now = Instant::now();
    let connection = outcome.as_ref().ok().map(|(connection, _)| Arc::clone(connection));
    let mut warning = None;
    if let Ok((_, Lists { known, faults })) = &outcome {
        server.learn(&shared, known.clone());
        warning = (!faults.is_empty()).then(|| start_text(&server.config, &faults.join("; ")));
    }
    let mut failures = if outcome.is_ok() { 0 } else { server.state.borrow().failures };
    let phase = match outcome {
        Ok((connection, _)) => Phase::Connected(connection),
        Err(McpError::NeedsAuth(_)) => Phase::NeedsAuth,
        Err(error) => {
            failures += 1;
            let reason = start_text(&server.config, &error.to_string());
            let timed_out = reason.contains("did not start within") || reason.contains("did not answer within");
            if failures >= TRIES || timed_out {
                Phase::Failed(reason)
            } else {
                // The server may never be needed again in this run, so the user hears of the first failure.
                warning = (failures == 1).then(|| reason.clone());
                Phase::Restarting(reason)
            }
        }
    };
    // Reported before the waiting callers continue, so that a run that ends next has reported it.
    server.tell_of(&shared, &phase, warning);
    server.state.send_modify(|state| *state = State { phase, failures, last_try: Some(now) });
    if let Some(connection) = connection {
        tokio::spawn(follow(Arc::downgrade(&server), Arc::downgrade(&shared), connection.changes()));
        if let Some(time) = server.config.idle_stop {
            *server.used.lock() = Instant::now();
            let ends = stop_unused(Arc::downgrade(&server), Arc::downgrade(&shared), Arc::downgrade(&connection), time);
            tokio::spawn(ends);
        }
    }
}

/// Closes a connection after `time` without a call. A call that arrives meanwhile waits and starts the server again.
async fn stop_unused(server: Weak<Server>, shared: Weak<Shared>, connection: Weak<dyn Connection>, time: Duration) {
    loop {
        let Some(last) = server.upgrade().map(|server| *server.used.lock()) else { return };
        let Some(until) = last.checked_add(time) else { return };
        tokio::time::sleep_until(until.max(Instant::now() + SHORTEST_IDLE)).await;
        let (Some(server), Some(shared)) = (server.upgrade(), shared.upgrade()) else { return };
        match (server.phase(), connection.upgrade()) {
            (Phase::Connected(current), Some(own)) if Arc::ptr_eq(&current, &own) => {}
            _ => return,
        }
        let all = u32::try_from(server.config.calls_at_once).unwrap_or(u32::MAX);
        let Ok(_no_calls) = server.calls.try_acquire_many(all) else { continue };
        if server.used.lock().elapsed() >= time {
            return server.rest(&shared);
        }
    }
}

async fn connect(
    server: &Arc<Server>,
    shared: &Arc<Shared>,
    era: Option<sinew_mcp::era::Era>,
) -> Result<(Arc<dyn Connection>, Lists), McpError> {
    let (begun, limit) = (Instant::now(), server.config.start_limit);
    let connecting = shared.connector.connect(Arc::clone(&server.config), era, Arc::clone(&server.host));
    let connection = connecting.await?;
    // A server that connects but never lists its tools counts as a failed start.
    let listed = tokio::time::timeout(limit.saturating_sub(begun.elapsed()), list(server, &*connection)).await;
    match listed {
        Ok(lists) => Ok((connection, lists?)),
        Err(_) => Err(McpError::Start(format!("the server did not start within {} s.", limit.as_secs_f64()))),
    }
}

/// The tools, resources and prompts of a server.
struct Lists {
    known: KnownServer,
    /// The tools that cannot be used, as sentences.
    faults: Vec<String>,
}

/// Lists the tools, resources and prompts that a server offers now.
async fn list(server: &Server, connection: &dyn Connection) -> Result<Lists, McpError> {
    let mut faults = Vec::new();
    let facts = connection.facts();
    let mut known = KnownServer {
        era: facts.era_certain.then_some(facts.era),
        instructions: facts.instructions,
        ..KnownServer::default()
    };
    if facts.has_tools {
        let listing = connection.list_tools().await?;
        listing.notes.iter().for_each(|note| server.host.log(note));
        (known.tools, faults) = (listing.items, listing.notes);
    }
    if facts.has_prompts {
        // A server without a valid list of prompts can still have tools.
        match connection.list_prompts().await {
            Ok(listing) => known.prompts = listing.items,
            Err(error) => server.host.log(&format!("failed to list its prompts: {error}")),
        }
    }
    if facts.has_resources {
        match connection.list_resources().await {
            Ok(listing) => known.resources = listing.items.into_iter().take(MOST_RESOURCES).collect(),
            Err(error) => server.host.log(&format!("failed to list its resources: {error}")),
        }
    }
    Ok(Lists { known, faults })
}

/// Reads the lists of a server again whenever it reports a change.
async fn follow(server: Weak<Server>, shared: Weak<Shared>, mut changes: watch::Receiver<sinew_mcp::Changes>) {
    let mut pause = LIST_PAUSE;
    let mut looked = Instant::now();
    while changes.changed().await.is_ok() {
        // If the list changes each time, it is read less and less often.
        pause = if looked.elapsed() < pause { (pause * 2).min(LIST_PAUSE_LIMIT) } else { LIST_PAUSE };
        tokio::time::sleep_until(looked + pause).await;
        changes.mark_unchanged();
        let (Some(server), Some(shared)) = (server.upgrade(), shared.upgrade()) else { return };
        let Phase::Connected(connection) = server.phase() else { return };
        match list(&server, &*connection).await {
            Ok(Lists { known, .. }) => {
                server.learn(&shared, known);
                server.tell(&shared);
            }
            Err(error) => server.host.log(&format!("failed to list its tools again after a change: {error}")),
        }
        looked = Instant::now();
    }
}

/// Returns why a start failed, with the name of the server and its program or address.
fn start_text(config: &ServerConfig, error: &str) -> String {
    let (name, target) = (&config.name, target(&config.transport));
    let text = error.strip_prefix("MCP error: ").unwrap_or(error);
    match text.strip_prefix("the server ") {
        Some(rest) => format!("MCP server \"{name}\" ({target}) {rest}"),
        None => format!("MCP server \"{name}\" ({target}): {text}"),
    }
}

/// Returns the program or the address of a server. Arguments, credentials and queries may contain secrets, so they are
/// left out.
fn target(transport: &Transport) -> String {
    match transport {
        Transport::Stdio { command, .. } => command.clone(),
        Transport::Http { url, .. } => {
            let Ok(parsed) = url.parse::<url::Url>() else { return "invalid URL".into() };
            format!("{}{}", parsed.origin().ascii_serialization(), parsed.path())
        }
    }
}
