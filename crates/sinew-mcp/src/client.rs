//! A connection to a server.

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use sinew_jsonrpc::{Limits, RpcError};
use tokio::sync::{Notify, watch};

use crate::core::{Changes, Core, ProgressSink, Watcher};
use crate::era::{self, Era, Verdict};
use crate::error::McpError;
use crate::host::{ClientHost, Elicitation, NoHost, read_elicitation};
use crate::link::Link;
use crate::lists::{ListKind, PageReader};
use crate::model::{self, Listing, PromptMessage, Resource, ServerInfo, ToolResult};
use crate::timers::{self, CallTimes, ExpiredLimit};

/// The maximum number of times that the server may answer a call with a question.
const QUESTION_ROUNDS: usize = 8;

/// The client's name and version, sent to servers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientInfo {
    /// The name, such as `sinew`.
    pub name: String,
    /// The version, such as `0.1.0`.
    pub version: String,
}

/// Options of a connection.
#[derive(Clone)]
pub struct ClientOptions {
    /// The client's name and version. The default is `sinew` with the version of this crate.
    pub client: ClientInfo,
    /// Answers requests of the server. The default is [`NoHost`].
    pub host: Arc<dyn ClientHost>,
    /// Limits of messages and calls.
    pub limits: Limits,
    /// The time limit of the whole start, which may include downloading the server. The default is 60 s.
    pub start_limit: Duration,
    /// How long to wait for a program's answer about its era before the handshake is also sent. The default is 1 s.
    pub discover_silence: Duration,
    /// The era, if it is known from an earlier connection. With `None`, the client asks the server.
    pub era: Option<Era>,
}

impl Default for ClientOptions {
    fn default() -> ClientOptions {
        ClientOptions {
            client: ClientInfo { name: "sinew".to_string(), version: env!("CARGO_PKG_VERSION").to_string() },
            host: Arc::new(NoHost),
            limits: Limits::default(),
            start_limit: Duration::from_secs(60),
            discover_silence: Duration::from_secs(1),
            era: None,
        }
    }
}

/// Options of a call.
#[derive(Clone, Default)]
pub struct CallOptions {
    /// The time limits.
    pub times: CallTimes,
    /// Receives progress reports; `None` requests no reports.
    pub progress: Option<ProgressSink>,
}

/// A connection to a server. Calls run concurrently; dropping the future of a call cancels it and notifies the server,
/// which keeps running. Dropping the client closes the connection and, over pipes, stops the server.
pub struct Client {
    pub(crate) core: Arc<Core>,
    pub(crate) link: Arc<Link>,
    client: ClientInfo,
    /// Keeps the `subscriptions/listen` request open.
    listener: Option<tokio::task::JoinHandle<()>>,
}

impl Drop for Client {
    fn drop(&mut self) {
        if let Some(listener) = &self.listener {
            listener.abort();
        }
    }
}

impl Client {
    /// Negotiates an era and a version with the server. The link is already open.
    pub(crate) async fn connect(core: Arc<Core>, link: Link, options: &ClientOptions) -> Result<Client, McpError> {
        let mut client = Client { core, link: Arc::new(link), client: options.client.clone(), listener: None };
        let info = match options.era {
            Some(Era::Legacy) => client.shake_hands(true).await?,
            _ => client.find_era(options.discover_silence).await?,
        };
        let modern = info.era == Era::Modern;
        // Set only here: the client is not shared yet.
        let _ = client.core.info.set(info);
        if modern {
            client.listener = client.listen();
        }
        client.link.connected(&client.core);
        Ok(client)
    }

    /// Returns the server's description of itself.
    #[must_use]
    pub fn info(&self) -> &ServerInfo {
        self.core.info.get().expect("a client is handed out when it is connected")
    }

    /// Returns a receiver of the change counters of the server's lists.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<Changes> {
        self.core.changes.subscribe()
    }

    /// Returns why the connection ended; `None` if it is open.
    #[must_use]
    pub fn closed_reason(&self) -> Option<String> {
        self.link.closed_reason()
    }

    /// Returns all tools, in the server's order.
    ///
    /// # Errors
    /// Returns an error if the first page cannot be read. A later failure ends the list with a note.
    pub async fn list_tools(&self) -> Result<Listing, McpError> {
        let listing = self.list(ListKind::Tools).await?;
        Ok(self.link.usable_tools(self.info().era, listing))
    }

    /// Returns all resources.
    ///
    /// # Errors
    /// Fails as [`Client::list_tools`] does.
    pub async fn list_resources(&self) -> Result<Listing, McpError> {
        self.list(ListKind::Resources).await
    }

    /// Returns all resource templates.
    ///
    /// # Errors
    /// Fails as [`Client::list_tools`] does.
    pub async fn list_resource_templates(&self) -> Result<Listing, McpError> {
        self.list(ListKind::ResourceTemplates).await
    }

    /// Returns all prompts.
    ///
    /// # Errors
    /// Fails as [`Client::list_tools`] does.
    pub async fn list_prompts(&self) -> Result<Listing, McpError> {
        self.list(ListKind::Prompts).await
    }

    /// Calls a tool by its name at the server.
    ///
    /// # Errors
    /// Returns an error if the request fails. If the tool itself fails, the result has [`ToolResult::is_error`] set
    /// instead.
    pub async fn call_tool(
        &self,
        name: &str,
        arguments: Map<String, Value>,
        options: &CallOptions,
    ) -> Result<ToolResult, McpError> {
        let mut params = Map::new();
        params.insert("name".to_string(), name.into());
        params.insert("arguments".to_string(), arguments.into());
        let result = self.request_with_input("tools/call", params, options).await?;
        model::tool_result(&result).map_err(McpError::Protocol)
    }

    /// Reads a resource.
    ///
    /// # Errors
    /// Returns an error if the request fails.
    pub async fn read_resource(&self, uri: &str, options: &CallOptions) -> Result<Vec<Resource>, McpError> {
        let mut params = Map::new();
        params.insert("uri".to_string(), uri.into());
        let result = self.request_with_input("resources/read", params, options).await?;
        model::resource_result(&result).map_err(McpError::Protocol)
    }

    /// Returns the messages of a prompt.
    ///
    /// # Errors
    /// Returns an error if the request fails.
    pub async fn get_prompt(
        &self,
        name: &str,
        arguments: Map<String, Value>,
        options: &CallOptions,
    ) -> Result<Vec<PromptMessage>, McpError> {
        let mut params = Map::new();
        params.insert("name".to_string(), name.into());
        params.insert("arguments".to_string(), arguments.into());
        let result = self.request_with_input("prompts/get", params, options).await?;
        model::prompt_result(&result).map_err(McpError::Protocol)
    }

    /// Checks that the server answers within `limit`. Servers since 2026-07-28 do not support `ping`, so any answer is
    /// accepted, also an error.
    ///
    /// # Errors
    /// Returns an error if the server does not answer.
    pub async fn probe(&self, limit: Duration) -> Result<(), McpError> {
        let times = CallTimes { silence: limit, total: limit };
        let method = if self.info().era == Era::Modern { "server/discover" } else { "ping" };
        match self.request(method, Map::new(), &CallOptions { times, progress: None }).await {
            Ok(_) | Err(McpError::Rpc(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Closes the connection, and stops the server if it is a program. Waits at most about 2.5 s.
    pub async fn close(mut self) {
        if let Some(listener) = self.listener.take() {
            listener.abort();
            let _ = listener.await;
        }
        self.link.close().await;
    }

    async fn list(&self, kind: ListKind) -> Result<Listing, McpError> {
        let mut reader = PageReader::new(kind);
        let mut params = Map::new();
        loop {
            let page = self.request(kind.method(), params.clone(), &CallOptions::default()).await;
            match reader.add(page)? {
                Some(cursor) => params.insert("cursor".to_string(), cursor.into()),
                None => return Ok(reader.finish()),
            };
        }
    }

    /// Sends a request with the negotiated revision, and waits for its answer within the time limits.
    async fn request(
        &self,
        method: &str,
        mut params: Map<String, Value>,
        options: &CallOptions,
    ) -> Result<Box<RawValue>, McpError> {
        let info = self.info();
        if info.era == Era::Modern {
            self.add_meta(&mut params, info.version);
        }
        let touched = Arc::new(Notify::new());
        let watcher = Watcher { touched: Arc::clone(&touched), sink: options.progress.clone() };
        let answer = self.link.request(&self.core, method, params, Some(watcher), true);
        match timers::wait(options.times, &touched, self.core.asking.subscribe(), answer).await {
            Ok(answer) => answer,
            Err(ExpiredLimit::Silence) => Err(McpError::Silence(options.times.silence)),
            Err(ExpiredLimit::Total) => Err(McpError::TotalTime(options.times.total)),
        }
    }

    /// Sends a request of one of the three methods to which the server may respond with a question.
    async fn request_with_input(
        &self,
        method: &str,
        mut params: Map<String, Value>,
        options: &CallOptions,
    ) -> Result<Box<RawValue>, McpError> {
        for round in 0.. {
            let result = self.request(method, params.clone(), options).await?;
            let InputRequired { input_requests, request_state } = match read_result(&result)? {
                None => return Ok(result),
                Some(_) if round == QUESTION_ROUNDS => break,
                Some(required) => required,
            };
            let mut responses = Map::new();
            for (key, request) in input_requests.unwrap_or_default() {
                responses.insert(key, self.give_input(&request).await?);
            }
            params.insert("inputResponses".to_string(), responses.into());
            match request_state {
                // The server's state is returned unchanged and never parsed.
                Some(state) => params.insert("requestState".to_string(), state),
                None => params.remove("requestState"),
            };
        }
        Err(McpError::Protocol(format!("the server asked for input more than {QUESTION_ROUNDS} times in one call")))
    }

    async fn give_input(&self, request: &Value) -> Result<Value, McpError> {
        match request["method"].as_str().unwrap_or_default() {
            "elicitation/create" => {
                let question = read_elicitation(&request["params"]).map_err(McpError::Protocol)?;
                if !self.core.host.can_ask() {
                    return Err(McpError::NobodyToAsk(question.message().to_string()));
                }
                Ok(self.ask(question).await)
            }
            "roots/list" => Ok(json!({ "roots": self.core.host.roots() })),
            other => Err(McpError::Protocol(format!("the server asked for \"{other}\", which sinew does not support"))),
        }
    }

    async fn ask(&self, question: Elicitation) -> Value {
        self.core.ask(question).await.to_json()
    }

    fn add_meta(&self, params: &mut Map<String, Value>, version: &str) {
        let meta = params.entry("_meta").or_insert_with(|| json!({}));
        if let Some(meta) = meta.as_object_mut() {
            meta.insert(era::META_VERSION.to_string(), version.into());
            meta.insert(era::META_CLIENT.to_string(), self.client_info());
            meta.insert(era::META_CAPABILITIES.to_string(), self.capabilities());
        }
    }

    fn client_info(&self) -> Value {
        json!({"name": self.client.name, "version": self.client.version})
    }

    fn capabilities(&self) -> Value {
        let mut capabilities = json!({"roots": {}});
        if self.core.host.can_ask() {
            capabilities["elicitation"] = json!({"form": {}, "url": {}});
        }
        capabilities
    }

    async fn find_era(&self, silence: Duration) -> Result<ServerInfo, McpError> {
        let mut version = era::MODERN[0];
        for _ in 0..era::MODERN.len() + 1 {
            let mut params = Map::new();
            self.add_meta(&mut params, version);
            let discover = self.link.request(&self.core, "server/discover", params, None, false);
            let mut discover = std::pin::pin!(discover);
            let outcome = tokio::select! {
                biased;
                outcome = &mut discover => outcome,
                () = tokio::time::sleep(silence), if self.link.is_pipe() => {
                    return self.shake_hands_behind(version, discover).await;
                }
            };
            let outcome = match outcome {
                Ok(result) => Ok(result),
                Err(McpError::Rpc(error)) => Err(error),
                // This is an error page of a web server that does not know `discover`.
                Err(McpError::Http { status: 400 | 404 | 405, .. }) => Err(RpcError::new(0, "")),
                Err(error) => return Err(error),
            };
            match era::judge(version, &outcome) {
                Verdict::Modern(version, discovered) => return Ok(modern_info(version, *discovered)),
                Verdict::AskAgain(other) => version = other,
                Verdict::NoCommon(theirs) => return Err(no_common(theirs)),
                Verdict::Refused(error) => return Err(McpError::Rpc(error)),
                Verdict::Legacy => return self.shake_hands(true).await,
            }
        }
        Err(no_common(Vec::new()))
    }

    /// Begins a handshake with a server that has not answered `discover` yet. The first answer decides; a decision by
    /// handshake applies only to this connection.
    async fn shake_hands_behind(
        &self,
        version: &'static str,
        mut discover: std::pin::Pin<&mut impl Future<Output = Result<Box<RawValue>, McpError>>>,
    ) -> Result<ServerInfo, McpError> {
        let mut handshake = std::pin::pin!(self.shake_hands(false));
        let mut refused = None;
        let mut discovering = true;
        loop {
            tokio::select! {
                biased;
                info = &mut handshake, if refused.is_none() => match info {
                    Ok(info) => return Ok(info),
                    Err(error) if !discovering => return Err(error),
                    Err(error) => refused = Some(error),
                },
                outcome = &mut discover, if discovering => {
                    discovering = false;
                    if let Ok(result) = outcome
                        && let Verdict::Modern(version, discovered) = era::judge(version, &Ok(result))
                    {
                        return Ok(modern_info(version, *discovered));
                    }
                    if let Some(error) = refused {
                        return Err(error);
                    }
                }
            }
        }
    }

    async fn shake_hands(&self, certain: bool) -> Result<ServerInfo, McpError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct InitializeResult {
            protocol_version: String,
            #[serde(default)]
            capabilities: Map<String, Value>,
            #[serde(default)]
            server_info: Value,
            #[serde(default)]
            instructions: Option<String>,
        }
        let mut params = Map::new();
        params.insert("protocolVersion".to_string(), era::LEGACY[0].into());
        params.insert("capabilities".to_string(), self.capabilities());
        params.insert("clientInfo".to_string(), self.client_info());
        let result = self.link.request(&self.core, "initialize", params, None, false).await?;
        let initialized: InitializeResult = serde_json::from_str(result.get())
            .map_err(|error| McpError::Protocol(format!("invalid answer to initialize: {error}")))?;
        let Some(version) = era::legacy_version(&initialized.protocol_version) else {
            return Err(no_common(vec![initialized.protocol_version]));
        };
        self.link.shook_hands(version);
        self.link.notify("notifications/initialized", &json!({})).await?;
        let text = |key: &str| initialized.server_info[key].as_str().unwrap_or_default().to_string();
        Ok(ServerInfo {
            era: Era::Legacy,
            era_certain: certain,
            version,
            name: text("name"),
            server_version: text("version"),
            capabilities: initialized.capabilities,
            instructions: initialized.instructions.filter(|text| !text.is_empty()),
        })
    }

    /// Keeps a subscription open if the server reports changes; otherwise returns `None`.
    fn listen(&self) -> Option<tokio::task::JoinHandle<()>> {
        let info = self.info();
        let mut filter = Map::new();
        for (capability, key) in
            [("tools", "toolsListChanged"), ("resources", "resourcesListChanged"), ("prompts", "promptsListChanged")]
        {
            if info.tells_changes_of(capability) {
                filter.insert(key.to_string(), true.into());
            }
        }
        if filter.is_empty() {
            return None;
        }
        let mut params = Map::new();
        self.add_meta(&mut params, info.version);
        params.insert("notifications".to_string(), filter.into());
        let (core, link) = (Arc::clone(&self.core), Arc::downgrade(&self.link));
        Some(tokio::spawn(async move {
            let Some(link) = link.upgrade() else { return };
            let ended = link.request(&core, "subscriptions/listen", params, None, true).await;
            if let Err(error) = ended {
                core.host.log(&format!("the server no longer reports changes of its lists: {error}"));
            }
        }))
    }
}

/// Returns the server's questions; `None` if the result is complete.
fn read_result(result: &RawValue) -> Result<Option<InputRequired>, McpError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Head {
        #[serde(default)]
        result_type: Option<String>,
    }
    // A result with an unreadable head is checked by the reader of the whole result.
    let kind = serde_json::from_str(result.get()).map(|head: Head| head.result_type).unwrap_or_default();
    match kind.as_deref() {
        None | Some("complete") => Ok(None),
        Some("input_required") => serde_json::from_str(result.get())
            .map(Some)
            .map_err(|error| McpError::Protocol(format!("invalid request for input: {error}"))),
        Some(other) => Err(McpError::Protocol(format!("unknown type of result: \"{other}\""))),
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct InputRequired {
    #[serde(default)]
    input_requests: Option<Map<String, Value>>,
    #[serde(default)]
    request_state: Option<Value>,
}

fn modern_info(version: &'static str, discovered: era::Discovered) -> ServerInfo {
    let server = discovered.meta.get(era::META_SERVER).cloned().unwrap_or_default();
    let text = |key: &str| server[key].as_str().unwrap_or_default().to_string();
    ServerInfo {
        era: Era::Modern,
        era_certain: true,
        version,
        name: text("name"),
        server_version: text("version"),
        capabilities: discovered.capabilities,
        instructions: discovered.instructions.filter(|text| !text.is_empty()),
    }
}

fn no_common(theirs: Vec<String>) -> McpError {
    McpError::NoCommonVersion { ours: era::all_versions(), theirs }
}
