//! The sessions that are open in an editor, and those that it can open.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use agent_client_protocol_schema::v1 as acp;
use parking_lot::{Mutex, MutexGuard};
use serde_json::{Map, Value, json};
use sinew_control::args::{Args, SessionChoice};
use sinew_control::config::Environment;
use sinew_control::failure::Failure;
use sinew_control::sessions::SessionFolders;
use sinew_control::startup::Startup;
use sinew_jsonrpc::RpcError;
use sinew_session::clock::iso;
use sinew_session::files::private_folder;
use sinew_session::{Scope, SessionSummary};

use super::session::{ClientFacts, History, Session};
use super::wire::Wire;

/// The maximum number of open sessions.
const MOST: usize = 32;
/// The number of sessions per page of a list.
const PAGE: usize = 50;
/// The number of days for which deleted sessions are kept.
const TRASH_DAYS: u64 = 30;
/// Settings that start runs without a prompt, which are disabled because an editor only shows events within a turn.
const OVERRIDDEN_SETTINGS: [&str; 2] = ["async.enabled", "bash.autoBackground.thresholdMs"];

/// The sessions of one editor.
pub(super) struct Sessions {
    args: Args,
    environment: Environment,
    /// Shared by all sessions: one pool of search threads, and one workspace per directory.
    sinew: Arc<sinew::Sinew>,
    /// The directory that contains all session files.
    folders: PathBuf,
    open: Mutex<HashMap<acp::SessionId, Slot>>,
    /// The number of new sessions so far.
    opened: AtomicU64,
}

enum Slot {
    /// The session is being opened.
    Opening,
    Open(Arc<Session>),
}

/// A reserved entry among the open sessions. Dropping it releases the entry, unless a session was added.
struct ReservedSlot<'a> {
    sessions: &'a Sessions,
    id: acp::SessionId,
}

impl Drop for ReservedSlot<'_> {
    fn drop(&mut self) {
        self.sessions.lock().remove(&self.id);
    }
}

impl Sessions {
    /// Creates an empty list. `environment` is that of the process, before the files of a project were read.
    pub(super) fn new(startup: &Startup, environment: Environment) -> Sessions {
        let mut args = startup.args.clone();
        let absolute = |path: &mut String| *path = startup.paths.cwd.join(&path).to_string_lossy().into_owned();
        // Paths on the command line are relative to the directory in which the program was started, not to that of a
        // session.
        args.model.script.iter_mut().for_each(absolute);
        args.session.folder.iter_mut().for_each(absolute);
        let resources = &mut args.resources;
        for list in [&mut resources.hooks, &mut resources.skills, &mut resources.templates, &mut resources.mcp_configs]
        {
            list.iter_mut().for_each(absolute);
        }
        let folders = SessionFolders::find(&startup.paths, &startup.settings).all;
        let sinew = Arc::new(sinew::Sinew::in_environment(|name| environment.os(name)));
        Sessions { args, environment, sinew, folders, open: Mutex::default(), opened: AtomicU64::new(0) }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<acp::SessionId, Slot>> {
        self.open.lock()
    }

    /// Returns an open session.
    ///
    /// # Errors
    /// Returns an error if no such session is open.
    pub(super) fn find(&self, id: &acp::SessionId) -> Result<Arc<Session>, RpcError> {
        match self.lock().get(id) {
            Some(Slot::Open(session)) => Ok(Arc::clone(session)),
            _ => Err(RpcError::invalid_params(format!("/sessionId: session {id} is not open"))),
        }
    }

    /// Returns all open sessions.
    pub(super) fn all(&self) -> Vec<Arc<Session>> {
        let open = self.lock();
        let sessions = open.values().filter_map(|slot| match slot {
            Slot::Open(session) => Some(Arc::clone(session)),
            Slot::Opening => None,
        });
        sessions.collect()
    }

    /// Opens a new session in a directory.
    ///
    /// # Errors
    /// Returns an error if the directory cannot be used, there is no model, or too many sessions are open.
    pub(super) async fn create(
        &self,
        cwd: &Path,
        servers: &EditorServers<'_>,
        wire: &Wire,
        facts: ClientFacts,
    ) -> Result<Arc<Session>, RpcError> {
        let choice = match self.args.session.choice {
            SessionChoice::InMemory => SessionChoice::InMemory,
            _ => SessionChoice::New,
        };
        // Uses a unique temporary name until the session has its own id.
        let place =
            self.reserve(acp::SessionId::new(format!("opening {}", self.opened.fetch_add(1, Ordering::Relaxed))))?;
        let (startup, warnings) = self.startup(cwd, choice, servers)?;
        let opened = Session::open(startup, warnings, wire, facts, History::Left).await;
        let session = opened.map_err(|failure| refusal(&failure))?;
        self.fill(place, &session);
        Ok(session)
    }

    /// Opens a saved session. If it is already open in this directory and no messages should be shown, returns it
    /// unchanged.
    ///
    /// # Errors
    /// Returns an error if the session does not exist or is open here or elsewhere, and the errors of
    /// [`Sessions::create`].
    pub(super) async fn load(
        &self,
        id: &acp::SessionId,
        cwd: &Path,
        servers: &EditorServers<'_>,
        wire: &Wire,
        facts: ClientFacts,
        history: History,
    ) -> Result<Arc<Session>, RpcError> {
        if let Ok(session) = self.find(id) {
            // An editor that lost its view of a session requests it again.
            let is_there = cwd.canonicalize().is_ok_and(|cwd| cwd == session.control.app.startup.paths.cwd);
            return if history == History::Left && is_there { Ok(session) } else { Err(open_already(id)) };
        }
        let listed = self.listed(id)?;
        let place = self.reserve(id.clone())?;
        let choice = SessionChoice::File(listed.path.to_string_lossy().into_owned());
        let (startup, warnings) = self.startup(cwd, choice, servers)?;
        let opened = Session::open(startup, warnings, wire, facts, history).await;
        let session = opened.map_err(|failure| {
            let mut error = refusal(&failure);
            if failure.code == 3 && !failure.needs_model {
                // Another process writes to it; the editor can open a copy.
                error.data = serde_json::value::to_raw_value(&json!({"_meta": {"sinew": {"fork": id}}})).ok();
            }
            error
        })?;
        self.fill(place, &session);
        Ok(session)
    }

    fn reserve(&self, id: acp::SessionId) -> Result<ReservedSlot<'_>, RpcError> {
        let mut open = self.lock();
        if open.contains_key(&id) {
            return Err(open_already(&id));
        }
        if open.len() >= MOST {
            let text = format!("{MOST} sessions are already open: close one first");
            return Err(RpcError::new(RpcError::INVALID_REQUEST, text));
        }
        open.insert(id.clone(), Slot::Opening);
        Ok(ReservedSlot { sessions: self, id })
    }

    fn fill(&self, place: ReservedSlot<'_>, session: &Arc<Session>) {
        drop(place);
        self.lock().insert(session.id.clone(), Slot::Open(Arc::clone(session)));
    }

    /// Reads the settings of a directory.
    fn startup(
        &self,
        cwd: &Path,
        choice: SessionChoice,
        servers: &EditorServers<'_>,
    ) -> Result<(Startup, Vec<String>), RpcError> {
        if !cwd.is_absolute() {
            return Err(RpcError::invalid_params(format!("/cwd: {} is not an absolute path", cwd.display())));
        }
        if !cwd.is_dir() {
            return Err(RpcError::invalid_params(format!("/cwd: {} is not a folder", cwd.display())));
        }
        let read = Startup::in_folder(self.args.clone(), self.environment.clone(), cwd, choice);
        let (mut startup, mut warnings) = read.map_err(|failure| refusal(&failure))?;
        startup.reset(&OVERRIDDEN_SETTINGS);
        startup.client_servers = brought(servers, &mut warnings);
        startup.sinew = Some(Arc::clone(&self.sinew));
        Ok((startup, warnings))
    }

    /// Returns a saved session.
    fn listed(&self, id: &acp::SessionId) -> Result<SessionSummary, RpcError> {
        let all = sinew_session::list(&self.folders, Scope::All);
        all.into_iter()
            .find(|listed| *listed.id == *id.0)
            .ok_or_else(|| RpcError::new(super::RESOURCE_NOT_FOUND, format!("/sessionId: session {id} does not exist")))
    }

    /// Returns a page of the saved sessions, newest first.
    ///
    /// # Errors
    /// Returns an error if the cursor is not from an earlier list.
    pub(super) fn list(&self, request: &acp::ListSessionsRequest) -> Result<acp::ListSessionsResponse, RpcError> {
        let real = request.cwd.as_ref().map(|cwd| cwd.canonicalize().unwrap_or_else(|_| cwd.clone()));
        let mut all = sinew_session::list(&self.folders, real.as_deref().map_or(Scope::All, Scope::Cwd));
        all.retain(|listed| listed.has_messages);
        let first = match &request.cursor {
            None => 0,
            Some(cursor) => {
                let at = all.iter().position(|listed| listed.id == *cursor);
                1 + at.ok_or_else(|| RpcError::invalid_params("/cursor: not a cursor from session/list"))?
            }
        };
        let page = &all[first..all.len().min(first + PAGE)];
        let next = page.last().filter(|_| first + PAGE < all.len()).map(|listed| listed.id.clone());
        let sessions = page.iter().map(|listed| {
            let modified = listed.modified.duration_since(UNIX_EPOCH).unwrap_or_default();
            let modified = i64::try_from(modified.as_millis()).unwrap_or(i64::MAX);
            let info = acp::SessionInfo::new(acp::SessionId::new(listed.id.clone()), &listed.cwd);
            info.title(listed.title.clone()).updated_at(iso(modified))
        });
        Ok(acp::ListSessionsResponse::new(sessions.collect()).next_cursor(next))
    }

    /// Closes a session; its file is kept.
    ///
    /// # Errors
    /// Returns an error if the session is not open.
    pub(super) async fn close(&self, id: &acp::SessionId) -> Result<(), RpcError> {
        let session = self.find(id)?;
        session.close(0).await;
        self.lock().remove(id);
        session.released().await;
        Ok(())
    }

    /// Moves a session's file and directory to the trash, and closes the session if it is open.
    ///
    /// # Errors
    /// Returns an error if the file cannot be moved.
    pub(super) async fn delete(&self, id: &acp::SessionId) -> Result<(), RpcError> {
        if self.find(id).is_ok() {
            self.close(id).await?;
        }
        // A session that does not exist counts as deleted.
        let Ok(listed) = self.listed(id) else { return Ok(()) };
        let trash = self.folders.join(".trash");
        let moved = || -> std::io::Result<()> {
            let folder = trash.join(listed.path.parent().and_then(Path::file_name).unwrap_or_default());
            private_folder(&trash)?;
            private_folder(&folder)?;
            std::fs::rename(&listed.path, folder.join(listed.path.file_name().unwrap_or_default()))?;
            let artifacts = listed.path.with_extension("");
            if artifacts.is_dir() {
                std::fs::rename(&artifacts, folder.join(artifacts.file_name().unwrap_or_default()))?;
            }
            empty(&trash)
        };
        moved().map_err(|error| {
            let text = format!("failed to delete session {id}: {}: {error}", listed.path.display());
            RpcError::new(RpcError::INTERNAL_ERROR, text)
        })
    }
}

fn open_already(id: &acp::SessionId) -> RpcError {
    RpcError::new(RpcError::INVALID_REQUEST, format!("/sessionId: session {id} is already open: close it first"))
}

/// The MCP servers of an editor.
pub(super) struct EditorServers<'a> {
    pub(super) known: &'a [acp::McpServer],
    /// The entries of which this version does not know the type.
    pub(super) unknown: &'a [Value],
}

/// Converts the MCP servers of an editor to the form of a configuration file. The editor's names are for people; ours
/// are derived from them.
fn brought(servers: &EditorServers<'_>, warnings: &mut Vec<String>) -> Option<Value> {
    let mut named = Map::new();
    for server in servers.unknown {
        let text = |key: &str| server.get(key).and_then(Value::as_str);
        let name = text("name").unwrap_or("without a name");
        let kind = text("type").map_or(String::new(), |kind| format!(" {kind:?}"));
        warnings
            .push(format!("MCP server {name:?} of the editor: this version of sinew does not support its type{kind}"));
    }
    for server in servers.known {
        let (name, entry) = match server {
            acp::McpServer::Stdio(server) => {
                let env: Map<String, Value> =
                    server.env.iter().map(|pair| (pair.name.clone(), pair.value.clone().into())).collect();
                (&server.name, json!({"command": server.command, "args": server.args, "env": env}))
            }
            acp::McpServer::Http(server) => (&server.name, address("http", &server.url, &server.headers)),
            acp::McpServer::Sse(server) => (&server.name, address("sse", &server.url, &server.headers)),
            _ => {
                warnings.push(
                    "the editor configures an MCP server of a type that this version of sinew does not support".into(),
                );
                continue;
            }
        };
        let letter = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '.' | '-');
        let plain: String = name.chars().map(|char| if letter(char) { char } else { '_' }).take(100).collect();
        match named.contains_key(&plain) {
            true => warnings.push(format!("MCP server {name:?}: the editor configures another server with this name")),
            false => drop(named.insert(plain, entry)),
        }
    }
    (!named.is_empty()).then(|| json!({ "mcpServers": named }))
}

fn address(kind: &str, url: &str, headers: &[acp::HttpHeader]) -> Value {
    let headers: Map<String, Value> =
        headers.iter().map(|header| (header.name.clone(), header.value.clone().into())).collect();
    json!({"type": kind, "url": url, "headers": headers})
}

/// Deletes files that have been in the trash for too long.
fn empty(trash: &Path) -> std::io::Result<()> {
    let limit = SystemTime::now() - Duration::from_secs(TRASH_DAYS * 24 * 60 * 60);
    for folder in std::fs::read_dir(trash)? {
        for entry in std::fs::read_dir(folder?.path())? {
            let path = entry?.path();
            if path.metadata()?.modified()? < limit {
                if path.is_dir() { std::fs::remove_dir_all(&path)? } else { std::fs::remove_file(&path)? }
            }
        }
    }
    Ok(())
}

/// Converts the reason why a session cannot be opened.
fn refusal(failure: &Failure) -> RpcError {
    if !failure.needs_model {
        let code = if failure.code == 1 { RpcError::INTERNAL_ERROR } else { RpcError::INVALID_REQUEST };
        return RpcError::new(code, failure.message.clone());
    }
    let ways = json!({"ways": [
        "run `sinew login` in a terminal",
        "set the API key of a provider in the environment, for example ANTHROPIC_API_KEY or OPENAI_API_KEY",
        "name a provider or a local server in models.json, or start ollama",
    ]});
    RpcError {
        data: serde_json::value::to_raw_value(&ways).ok(),
        ..RpcError::new(super::AUTH_REQUIRED, failure.message.clone())
    }
}
