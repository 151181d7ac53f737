//! The server tools of a session: some are part of each request, all others can be searched.

use std::sync::Arc;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sinew_llm::message::ToolResultMessage;
use sinew_llm::provider::ToolLoading;
use sinew_mcp::catalogue::{CALL_TOOL, Front, FrontTool};
use sinew_mcp::{CallOptions, Progress};
use sinew_session::artifacts::Artifacts;
use sinew_session::secrets::Secrets;
use sinew_tools::semantics::{Effects, Semantics, ToolKind};
use sinew_tools::tool::{Boxed, Call, Tool, ToolError, ToolOutput};
use tokio::sync::Notify;

use super::config::Transport;
use super::manager::Manager;
use super::read::ReadTool;
use super::result;
use crate::core::{Catalogue, LoadedTools, is_named};

/// The name of the tool that searches other tools.
pub const SEARCH_TOOL: &str = "tool_search";
/// The semantics of that tool.
const SEARCH_SEMANTICS: Semantics =
    Semantics { kind: ToolKind::Search, effects: Effects::NONE, headline: "query", ..Semantics::UNKNOWN };

/// Returns the semantics of the tool `name`, which may be a built-in tool or the search tool.
#[must_use]
pub fn semantics_of(name: &str) -> &'static Semantics {
    match name {
        SEARCH_TOOL => &SEARCH_SEMANTICS,
        name => sinew_tools::semantics_of(name),
    }
}

/// The name of the tool that calls a tool found by a search.
pub const CALL_TOOL_NAME: &str = "call_tool";

/// The default number of results of a search.
const SEARCH_LIMIT: u64 = 5;

/// The inputs for creating the server tools of a session.
pub struct SessionParts {
    /// The servers.
    pub manager: Arc<Manager>,
    /// Stores long results.
    pub artifacts: Arc<Artifacts>,
    /// Hidden values, which remote servers never receive.
    pub secrets: Option<Arc<Secrets>>,
    /// Whether images are resized for models.
    pub resize: bool,
    /// The names of disabled tools.
    pub excluded: Vec<String>,
    /// The names of the servers that the session may use; `None` for all.
    pub only: Option<Vec<String>>,
    /// The value of [`SessionServers::record`] when the session was last open.
    pub recorded: Option<Value>,
}

/// The server tools of one session. The tools that are part of its requests are decided when it is created.
pub struct SessionServers {
    shared: Arc<SessionShared>,
    sent: RequestPrefix,
}

/// The MCP part of each request of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct RequestPrefix {
    #[serde(flatten)]
    front: Front,
    /// The instructions of the servers whose tools are part of requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    instructions: Option<String>,
}

/// The state that the tools of a session share.
pub(super) struct SessionShared {
    pub(super) manager: Arc<Manager>,
    pub(super) artifacts: Arc<Artifacts>,
    secrets: Option<Arc<Secrets>>,
    pub(super) resize: bool,
    pub(super) excluded: Vec<String>,
    only: Option<Vec<String>>,
}

impl SessionShared {
    /// Returns true if the session may use a server.
    pub(super) fn may_use(&self, server: &str) -> bool {
        self.only.as_ref().is_none_or(|only| only.iter().any(|name| name == server))
    }

    /// Returns true if the session may use a tool of a server.
    pub(super) fn offers(&self, server: &str, tool: &str) -> bool {
        self.may_use(server) && !is_named(&self.excluded, tool)
    }
}

impl SessionServers {
    /// Decides which tools are part of requests, based on the current facts of servers, or on the record if there is
    /// one.
    #[must_use]
    pub fn new(parts: SessionParts) -> Arc<SessionServers> {
        let SessionParts { manager, artifacts, secrets, resize, excluded, only, recorded } = parts;
        let mut sent = match recorded.and_then(|recorded| serde_json::from_value::<RequestPrefix>(recorded).ok()) {
            Some(sent) => {
                manager.keep_names(&sent.front);
                sent
            }
            None => {
                let front = manager.front();
                let instructions = instructions(&manager, &front);
                RequestPrefix { front, instructions }
            }
        };
        let shared = SessionShared { manager, artifacts, secrets, resize, excluded, only };
        sent.front.tools.retain(|tool| shared.offers(&tool.server, &tool.name));
        Arc::new(SessionServers { shared: Arc::new(shared), sent })
    }

    /// Returns the tools that are part of each request of the session; always the same ones.
    #[must_use]
    pub fn tools(&self) -> Vec<Arc<dyn Tool>> {
        let direct = self.sent.front.tools.iter().map(|tool| {
            let FrontTool { name, server, tool, description, schema } = tool.clone();
            let target = Some(Target { server, tool });
            Arc::new(ServerTool { shared: Arc::clone(&self.shared), name, description, schema, target })
                as Arc<dyn Tool>
        });
        let mut tools: Vec<Arc<dyn Tool>> = direct.collect();
        if let Some(description) = &self.sent.front.search {
            let description = description.clone();
            tools.push(Arc::new(SearchTool { shared: Arc::clone(&self.shared), description }));
            tools.push(Arc::new(CallTool));
        }
        tools
    }

    /// Wraps a tool that opens addresses, so that it can open resources of servers too. Returns every other tool
    /// unchanged.
    #[must_use]
    pub fn with_resources(&self, tool: Arc<dyn Tool>) -> Arc<dyn Tool> {
        match tool.semantics().opens_addresses {
            true => Arc::new(ReadTool { files: tool, shared: Arc::clone(&self.shared) }),
            false => tool,
        }
    }

    /// Returns the names of the tools that are part of requests, for the session's record.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.tools().iter().map(|tool| tool.name().to_string()).collect()
    }

    /// Returns the MCP part of the requests for the session's record, so that the session sends the same bytes when it
    /// is opened again.
    #[must_use]
    pub fn record(&self) -> Value {
        serde_json::to_value(&self.sent).unwrap_or_default()
    }

    /// Returns the instructions of the servers whose tools are part of requests. They belong to the system prompt and
    /// never change.
    #[must_use]
    pub fn instructions(&self) -> Option<String> {
        self.sent.instructions.clone()
    }

    /// Returns the server tools that are part of requests.
    pub(super) fn front(&self) -> &[FrontTool] {
        &self.sent.front.tools
    }

    /// Returns the names of disabled tools.
    #[must_use]
    pub fn excluded(&self) -> &[String] {
        &self.shared.excluded
    }

    /// Returns the names of the servers that the session may use; `None` for all.
    #[must_use]
    pub fn only(&self) -> Option<&[String]> {
        self.shared.only.as_deref()
    }

    /// Returns the servers of the program.
    #[must_use]
    pub fn manager(&self) -> &Arc<Manager> {
        &self.shared.manager
    }
}

fn instructions(manager: &Manager, front: &Front) -> Option<String> {
    const EACH: usize = 2 * 1024;
    const ALL: usize = 4 * 1024;
    if front.tools.is_empty() {
        return None;
    }
    let mut text = String::new();
    for server in manager.catalogue() {
        let Some(words) = server.instructions else { continue };
        if front.tools.iter().any(|tool| tool.server == server.name) {
            let part = format!("## MCP server {}\n{}\n", server.name, result::cut(&words, EACH).trim());
            if text.len() + part.len() <= ALL {
                text.push_str(&part);
            }
        }
    }
    (!text.is_empty()).then_some(text)
}

impl Catalogue for SessionServers {
    fn find(&self, name: &str) -> Option<Arc<dyn Tool>> {
        let shared = &self.shared;
        if is_named(&shared.excluded, name) {
            return None;
        }
        let index = shared.manager.index();
        let tool = match index.get(name) {
            Some(found) if !shared.may_use(found.server) => return None,
            Some(found) => {
                let value = found.tool.value();
                let schema = match &value["inputSchema"] {
                    Value::Object(schema) => Value::Object(schema.clone()),
                    _ => json!({"type": "object"}),
                };
                ServerTool {
                    shared: Arc::clone(shared),
                    name: name.to_string(),
                    description: value["description"].as_str().unwrap_or_default().to_string(),
                    schema,
                    target: Some(Target { server: found.server.to_string(), tool: found.tool.name.clone() }),
                }
            }
            // The name may belong to a tool of a server whose tools are unknown.
            None if shared.manager.may_have(name) => ServerTool {
                shared: Arc::clone(shared),
                name: name.to_string(),
                description: String::new(),
                schema: json!({"type": "object"}),
                target: None,
            },
            None => return None,
        };
        Some(Arc::new(tool))
    }

    fn unwrap(&self, name: &str, arguments: &Value) -> Option<(String, Value)> {
        if name != CALL_TOOL_NAME {
            return None;
        }
        let inner = arguments.get("name")?.as_str()?;
        // Accepts only arguments that `wrap` restores unchanged; for another shape, the model receives an error.
        let arguments = match arguments.get("arguments") {
            Some(Value::Object(members)) => Value::Object(members.clone()),
            Some(Value::String(text)) => serde_json::from_str(text).ok().filter(Value::is_object)?,
            None | Some(Value::Null) => json!({}),
            Some(_) => return None,
        };
        Some((inner.to_string(), arguments))
    }

    fn wrap(&self, name: &str, arguments: &Value) -> Option<(String, Value)> {
        let is_deferred = self.sent.front.search.is_some()
            && name.starts_with("mcp_")
            && self.sent.front.tools.iter().all(|tool| tool.name != name);
        is_deferred.then(|| (CALL_TOOL_NAME.to_string(), json!({"name": name, "arguments": arguments})))
    }

    fn loading(&self, name: &str) -> ToolLoading {
        super::native::loading(name)
    }

    fn loaded(&self, result: &ToolResultMessage) -> Option<LoadedTools> {
        super::native::loaded(result, &|name| self.sent.front.tools.iter().any(|tool| tool.name == name))
    }

    fn near(&self, name: &str) -> Vec<String> {
        let index = self.shared.manager.index();
        index.near_names(name).into_iter().map(str::to_string).collect()
    }
}

/// A tool of a server.
struct Target {
    server: String,
    tool: String,
}

/// A tool of a server, as offered to the model.
struct ServerTool {
    shared: Arc<SessionShared>,
    name: String,
    description: String,
    schema: Value,
    /// `None` if the server's tools are unknown.
    target: Option<Target>,
}

impl Tool for ServerTool {
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> &str {
        &self.description
    }

    fn parameters(&self) -> Value {
        self.schema.clone()
    }

    fn semantics(&self) -> Semantics {
        let is_read_only = self.target.as_ref().is_some_and(|target| {
            let config = self.shared.manager.config(&target.server);
            config.is_some_and(|config| config.tools.is_read_only(&target.tool))
        });
        let effects = Effects { unknown: !is_read_only, ..Effects::NONE };
        Semantics { effects, ..Semantics::UNKNOWN }
    }

    fn execute(&self, call: Call) -> Boxed<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let cancel = call.cancel.clone();
            tokio::select! {
                biased;
                output = self.run(call) => output,
                () = cancelled(&cancel) => Err(ToolError::Aborted),
            }
        })
    }
}

impl ServerTool {
    async fn run(&self, call: Call) -> Result<ToolOutput, ToolError> {
        let manager = &self.shared.manager;
        let found;
        let target = match &self.target {
            Some(target) => target,
            None => {
                found = self.look_up().await?;
                &found
            }
        };
        let config = manager.config(&target.server).ok_or_else(|| ToolError::Failed("the server is gone".into()))?;
        let arguments = self.arguments(call.arguments, config.secrets, &config.transport);
        let updates = call.updates.clone();
        let progress = move |progress: Progress| updates.send(ToolOutput::text(progress_text(&progress)));
        let options = CallOptions { times: config.times, progress: Some(Arc::new(progress)) };
        let begun = Instant::now();
        let server = manager.server(&target.server).ok_or_else(|| ToolError::Failed("the server is gone".into()))?;
        let outcome = server.call(manager.shared(), &target.tool, &arguments, &options).await;
        let facts = json!({
            "server": target.server,
            "tool": target.tool,
            "durationMs": u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
        });
        match outcome {
            Ok(answer) => {
                let limits = self.shared.limits(&call.cancel);
                result::output(answer, &target.server, &limits, facts)
            }
            Err(text) => Ok(ToolOutput::error(text).with_details(facts)),
        }
    }

    /// Looks up the tool after its server has listed its tools.
    async fn look_up(&self) -> Result<Target, ToolError> {
        let manager = &self.shared.manager;
        manager.settle().await;
        let index = manager.index();
        match index.get(&self.name) {
            Some(found) if self.shared.may_use(found.server) => {
                Ok(Target { server: found.server.to_string(), tool: found.tool.name.clone() })
            }
            _ => {
                let near: Vec<String> = index.near_names(&self.name).into_iter().map(str::to_string).collect();
                Err(ToolError::Failed(crate::core::not_found(&self.name, &near)))
            }
        }
    }

    /// Returns the arguments as the server may see them. Placeholders of hidden values are replaced only for a local
    /// program that is configured to receive them.
    fn arguments(&self, arguments: Value, gets_secrets: bool, transport: &Transport) -> Map<String, Value> {
        let own = gets_secrets && matches!(transport, Transport::Stdio { .. });
        let mut arguments = arguments;
        if let Some(secrets) = self.shared.secrets.as_ref().filter(|_| !own) {
            secrets.hide_json(&mut arguments);
        }
        match arguments {
            Value::Object(members) => members,
            _ => Map::new(),
        }
    }
}

fn progress_text(progress: &Progress) -> String {
    let far = match progress.total {
        Some(total) => format!("{} of {total}", progress.progress),
        None => progress.progress.to_string(),
    };
    match &progress.message {
        Some(message) => format!("{message} ({far})"),
        None => far,
    }
}

/// Resolves when a call is cancelled.
pub(super) async fn cancelled(cancel: &sinew::base::CancelToken) {
    let bell = Arc::new(Notify::new());
    let ring = Arc::clone(&bell);
    let _hook = cancel.on_cancel(move || ring.notify_one());
    bell.notified().await;
}

/// The tool `tool_search`.
struct SearchTool {
    shared: Arc<SessionShared>,
    description: String,
}

impl Tool for SearchTool {
    fn name(&self) -> &str {
        SEARCH_TOOL
    }

    fn description(&self) -> &str {
        &self.description
    }

    fn parameters(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "words, or name:<exact>"},
                "server": {"type": "string"},
                "limit": {"type": "integer", "minimum": 1, "maximum": 20},
            },
            "required": ["query"],
            "additionalProperties": false,
        })
    }

    fn semantics(&self) -> Semantics {
        SEARCH_SEMANTICS
    }

    fn intent(&self, partial: &Value) -> Option<String> {
        partial["query"].as_str().map(|query| format!("Find tools: {query}"))
    }

    fn execute(&self, call: Call) -> Boxed<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let arguments = &call.arguments;
            let limit = arguments["limit"].as_u64().unwrap_or(SEARCH_LIMIT);
            let limit = usize::try_from(limit).unwrap_or(usize::MAX);
            let query = arguments["query"].as_str().unwrap_or_default();
            let query = match arguments["server"].as_str() {
                Some(server) => format!("{query} server:{server}"),
                None => query.to_string(),
            };
            tokio::select! {
                biased;
                output = super::search::search(&self.shared, &query, limit) => Ok(output),
                () = cancelled(&call.cancel) => Err(ToolError::Aborted),
            }
        })
    }
}

/// The tool `call_tool`. Valid calls are resolved to the target tool before the lookup. A call that arrives here lacks
/// a name or an object of arguments, which the schema reports.
struct CallTool;

impl Tool for CallTool {
    fn name(&self) -> &str {
        CALL_TOOL_NAME
    }

    fn description(&self) -> &str {
        CALL_TOOL
    }

    fn parameters(&self) -> Value {
        json!({
            "type": "object",
            "properties": {"name": {"type": "string"}, "arguments": {"type": "object"}},
            "required": ["name", "arguments"],
            "additionalProperties": false,
        })
    }

    fn execute(&self, _call: Call) -> Boxed<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async { Err(ToolError::Failed("call_tool: name a tool and an object of arguments".into())) })
    }
}
