//! The transport over HTTP: a request is a POST, its answer JSON or a stream of events.
//!
//! Modern servers get requests that stand for themselves. Servers from before 2026-07-28 get what they had: a session
//! id, a stream for what they tell by themselves, `Last-Event-ID` behind a stream that broke, DELETE at the end.
//! Redirects are not followed: an address is what its owner trusts, headers with keys included.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use sinew_jsonrpc::{Id, Message, Outcome, message};
use sinew_llm::http::{Body, HttpClient, HttpConfig, HttpRequest, HttpResponse};
use sinew_llm::sse::{SseDecoder, SseEvent};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use url::Url;

use crate::client::{Client, ClientOptions};
use crate::core::{Core, Watcher};
use crate::era::{self, Era};
use crate::error::McpError;
use crate::headers::{ParamHeader, param_headers, request_headers};
use crate::link::{Link, cancelled, set_progress_token};
use crate::model::Listing;

/// How long the end of a session and the answer to a notification may take.
const CONTROL_LIMIT: Duration = Duration::from_secs(10);

/// Times that a stream is asked to go on in a row without an event.
const RESUMES: u32 = 5;

/// The wait before a stream is asked to go on, where the server names none, and the longest that it may name.
const RETRY: Duration = Duration::from_secs(1);
const RETRY_LIMIT: Duration = Duration::from_secs(60);

/// What is read of an answer that is an error.
const ERROR_BYTES: usize = 64 * 1024;

/// A server to be connected to.
#[derive(Clone)]
pub struct HttpServer {
    /// Its address.
    pub url: Url,
    /// Sent with every request.
    pub headers: Vec<(String, String)>,
    /// Sends the requests: see [`http_config`].
    pub http: HttpClient,
}

/// The settings of an HTTP client for servers: without limits of silence, since calls have clocks of their own.
#[must_use]
pub fn http_config(config: HttpConfig) -> HttpConfig {
    HttpConfig { idle_timeout: None, stall_timeout: None, ..config }
}

impl Client {
    /// Connects to a server over HTTP.
    ///
    /// # Errors
    /// [`McpError::NeedsAuth`] when it wants a login, [`McpError::Start`] when it cannot be reached or is not ready in
    /// time; other errors as it answers.
    pub async fn connect_http(server: &HttpServer, options: &ClientOptions) -> Result<Client, McpError> {
        let core = Core::new(Arc::clone(&options.host), options.limits);
        let connecting = Client::connect(core, Link::Http(HttpLink::new(server)), options);
        match tokio::time::timeout(options.start_limit, connecting).await {
            Ok(Err(McpError::Closed(reason))) => Err(McpError::Start(reason)),
            Ok(other) => other,
            Err(_) => {
                let limit = options.start_limit.as_secs_f64();
                Err(McpError::Start(format!("the server did not answer within {limit} s.")))
            }
        }
    }
}

pub(crate) struct HttpLink {
    shared: Arc<Shared>,
    poster: JoinHandle<()>,
    /// Reads what a legacy server tells by itself.
    stream: Mutex<Option<JoinHandle<()>>>,
    /// One new handshake at a time.
    renewing: tokio::sync::Mutex<()>,
}

struct Shared {
    server: HttpServer,
    next: AtomicI64,
    session: Mutex<Session>,
    watchers: Mutex<HashMap<i64, Option<Watcher>>>,
    marks: Mutex<HashMap<String, Vec<ParamHeader>>>,
    outbox: mpsc::Sender<Vec<u8>>,
}

/// What a legacy server wants to see again.
#[derive(Default, Clone)]
struct Session {
    /// None before the handshake, and in the modern era.
    version: Option<&'static str>,
    id: Option<String>,
    /// The parameters of `initialize`, for a new handshake.
    hello: Option<Map<String, Value>>,
}

impl Drop for HttpLink {
    fn drop(&mut self) {
        self.poster.abort();
        if let Some(stream) = self.stream.lock().take() {
            stream.abort();
        }
    }
}

impl HttpLink {
    fn new(server: &HttpServer) -> HttpLink {
        let (outbox, queue) = mpsc::channel(256);
        let shared = Arc::new(Shared {
            server: server.clone(),
            next: AtomicI64::new(1),
            session: Mutex::default(),
            watchers: Mutex::default(),
            marks: Mutex::default(),
            outbox,
        });
        let poster = tokio::spawn(post_all(Arc::downgrade(&shared), queue));
        HttpLink { shared, poster, stream: Mutex::default(), renewing: tokio::sync::Mutex::default() }
    }

    pub(crate) async fn request(
        &self,
        core: &Arc<Core>,
        method: &str,
        mut params: Map<String, Value>,
        watcher: Option<Watcher>,
        cancellable: bool,
    ) -> Result<Box<RawValue>, McpError> {
        let shared = &*self.shared;
        let id = shared.next.fetch_add(1, Ordering::Relaxed);
        if watcher.is_some() {
            set_progress_token(&mut params, id);
        }
        if method == "initialize" {
            shared.session.lock().hello = Some(params.clone());
        }
        {
            let mut watchers = shared.watchers.lock();
            if watchers.len() >= core.limits.waiting_calls {
                return Err(McpError::TooManyCalls(watchers.len()));
            }
            watchers.insert(id, watcher);
        }
        let mut pending = Pending { shared, id, cancellable, answered: false };
        let mut outcome = shared.exchange(core, id, method, &params).await;
        let session = shared.session.lock().id.clone();
        if matches!(outcome, Err(McpError::Http { status: 404, .. })) && method != "initialize" && session.is_some() {
            // The server has forgotten the session; it has not looked at the request.
            self.renew(core, session).await?;
            outcome = shared.exchange(core, id, method, &params).await;
        }
        pending.answered = true;
        outcome
    }

    /// Shakes hands again, once for all requests that found `forgotten` gone.
    async fn renew(&self, core: &Arc<Core>, forgotten: Option<String>) -> Result<(), McpError> {
        let _turn = self.renewing.lock().await;
        let hello = {
            let mut session = self.shared.session.lock();
            if session.id != forgotten {
                return Ok(());
            }
            session.id = None;
            session.hello.clone().unwrap_or_default()
        };
        let id = self.shared.next.fetch_add(1, Ordering::Relaxed);
        self.shared.exchange(core, id, "initialize", &hello).await?;
        self.notify("notifications/initialized", &json!({})).await
    }

    pub(crate) async fn notify(&self, method: &str, params: &Value) -> Result<(), McpError> {
        self.shared.post_control(message::encode_notification(method, Some(params))).await
    }

    pub(crate) fn shook_hands(&self, version: &'static str) {
        self.shared.session.lock().version = Some(version);
    }

    /// Opens the stream of a legacy server that may tell something by itself.
    pub(crate) fn connected(&self, core: &Arc<Core>) {
        let Some(info) = core.info.get().filter(|info| info.era == Era::Legacy) else { return };
        let tells = ["tools", "resources", "prompts"].iter().any(|capability| info.tells_changes_of(capability));
        if tells || core.host.can_ask() {
            let task = tokio::spawn(follow(Arc::downgrade(&self.shared), Arc::downgrade(core)));
            *self.stream.lock() = Some(task);
        }
    }

    /// Learns which arguments are repeated in headers, and leaves out tools whose marks cannot be followed.
    pub(crate) fn usable_tools(&self, mut listing: Listing) -> Listing {
        let mut marks = HashMap::new();
        listing.items.retain(|tool| match param_headers(&tool.value()["inputSchema"]) {
            Ok(headers) => {
                if !headers.is_empty() {
                    marks.insert(tool.name.clone(), headers);
                }
                true
            }
            Err(reason) => {
                listing.notes.push(format!("the tool \"{}\" is left out: {reason}", tool.name));
                false
            }
        });
        *self.shared.marks.lock() = marks;
        listing
    }

    /// Ends the session of a legacy server.
    pub(crate) async fn close(&self) {
        if let Some(stream) = self.stream.lock().take() {
            stream.abort();
        }
        let session = std::mem::take(&mut *self.shared.session.lock());
        if session.id.is_some() {
            let request = self.shared.http_request(http::Method::DELETE, &session, Vec::new(), Vec::new());
            // It may answer 405: then it ends sessions by itself.
            let _ = tokio::time::timeout(CONTROL_LIMIT, self.shared.server.http.send(request)).await;
        }
    }
}

/// A request that was sent. Dropped before its answer it is given up: the connection closes, and a legacy server is
/// told.
struct Pending<'a> {
    shared: &'a Shared,
    id: i64,
    cancellable: bool,
    answered: bool,
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        self.shared.watchers.lock().remove(&self.id);
        let legacy = self.shared.session.lock().version.is_some();
        if !self.answered && self.cancellable && legacy {
            let _ = self.shared.outbox.try_send(cancelled(self.id));
        }
    }
}

impl Shared {
    fn http_request(
        &self,
        method: http::Method,
        session: &Session,
        more: Vec<(String, String)>,
        body: Vec<u8>,
    ) -> HttpRequest {
        let mut headers = self.server.headers.clone();
        let accept = if body.is_empty() { "text/event-stream" } else { "application/json, text/event-stream" };
        headers.push(("Accept".to_string(), accept.to_string()));
        if !body.is_empty() {
            headers.push(("Content-Type".to_string(), "application/json".to_string()));
        }
        headers.extend(session.version.map(|version| ("MCP-Protocol-Version".to_string(), version.to_string())));
        headers.extend(session.id.clone().map(|id| ("Mcp-Session-Id".to_string(), id)));
        headers.extend(more);
        HttpRequest { method, url: self.server.url.clone(), headers, body: Bytes::from(body) }
    }

    /// Posts a request and reads until its answer.
    async fn exchange(
        &self,
        core: &Arc<Core>,
        id: i64,
        method: &str,
        params: &Map<String, Value>,
    ) -> Result<Box<RawValue>, McpError> {
        let mut session = self.session.lock().clone();
        let mut more = Vec::new();
        let version = params.get("_meta").and_then(|meta| meta[era::META_VERSION].as_str());
        if method == "initialize" {
            session = Session::default();
        } else if let Some(version) = version {
            more.push(("MCP-Protocol-Version".to_string(), version.to_string()));
            let name = params.get("name").and_then(Value::as_str).unwrap_or_default();
            let marks = match method {
                "tools/call" => self.marks.lock().get(name).cloned().unwrap_or_default(),
                _ => Vec::new(),
            };
            more.extend(request_headers(method, params, &marks));
        }
        let body = message::encode_request(&Id::Number(id), method, Some(params));
        let request = self.http_request(http::Method::POST, &session, more, body);
        let response = self.server.http.send(request).await.map_err(broken)?;
        let response = check(core, response).await?;
        if method == "initialize"
            && let Some(id) = header(&response, "mcp-session-id")
        {
            self.session.lock().id = Some(id);
        }
        if is_event_stream(&response) {
            return self.read_stream(core, id, response.body, session).await;
        }
        let limit = core.limits.message_bytes;
        let mut body = response.body;
        let (bytes, more) = body.read_limited(limit).await.map_err(broken)?;
        if more {
            return Err(McpError::Protocol(format!("the answer has more than {limit} bytes and was not read")));
        }
        let mut answer = None;
        self.receive(core, &bytes, Some(id), &mut answer).map_err(McpError::Protocol)?;
        answer.ok_or_else(|| McpError::Protocol("an answer to another request".to_string()))?.map_err(McpError::from)
    }

    /// Reads events until the answer to `id`, over as many connections as a legacy server needs.
    async fn read_stream(
        &self,
        core: &Arc<Core>,
        id: i64,
        body: Body,
        session: Session,
    ) -> Result<Box<RawValue>, McpError> {
        let mut cursor = StreamCursor::default();
        let mut body = body;
        loop {
            let mut answer = None;
            let end = self.read_events(core, &mut body, &mut cursor, Some(id), &mut answer).await;
            if let Some(outcome) = answer {
                return outcome.map_err(McpError::from);
            }
            let reason = match end {
                Ok(()) => "the stream of the answer ended before the answer".to_string(),
                Err(McpError::Closed(reason)) => reason,
                Err(error) => return Err(error),
            };
            if session.version.is_none() || cursor.last_id.is_none() {
                return Err(McpError::Closed(reason));
            }
            body = loop {
                cursor.attempts += 1;
                if cursor.attempts > RESUMES {
                    return Err(McpError::Closed(reason));
                }
                tokio::time::sleep(cursor.retry()).await;
                let more = vec![("Last-Event-ID".to_string(), cursor.last_id.clone().unwrap_or_default())];
                let request = self.http_request(http::Method::GET, &session, more, Vec::new());
                match self.server.http.send(request).await {
                    Ok(response) if response.status == 200 && is_event_stream(&response) => break response.body,
                    Ok(response) if response.status < 500 => return Err(McpError::Closed(reason)),
                    _ => {}
                }
            };
        }
    }

    /// Reads events until the stream ends or `wanted` is answered.
    async fn read_events(
        &self,
        core: &Arc<Core>,
        body: &mut Body,
        cursor: &mut StreamCursor,
        wanted: Option<i64>,
        answer: &mut Option<Outcome>,
    ) -> Result<(), McpError> {
        let mut decoder = SseDecoder::new();
        while let Some(chunk) = body.chunk().await.map_err(broken)? {
            let mut failure = None;
            let fed = decoder.feed(&chunk, |event: SseEvent| {
                cursor.take(&event);
                if !event.data.is_empty()
                    && let Err(reason) = self.receive(core, event.data.as_bytes(), wanted, answer)
                {
                    failure = Some(reason);
                }
            });
            fed.map_err(|error| McpError::Protocol(error.to_string()))?;
            if let Some(reason) = failure {
                core.host.log(&format!("not a message of the protocol: {reason}"));
            }
            if answer.is_some() {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Takes the messages of a body or an event.
    fn receive(
        &self,
        core: &Arc<Core>,
        bytes: &[u8],
        wanted: Option<i64>,
        answer: &mut Option<Outcome>,
    ) -> Result<(), String> {
        if bytes.len() > core.limits.message_bytes {
            return Err(format!("a message of {} bytes, more than {}", bytes.len(), core.limits.message_bytes));
        }
        for message in message::parse(bytes, core.limits.depth)? {
            match message {
                Message::Response { id: Some(Id::Number(id)), outcome } if Some(id) == wanted => {
                    *answer = Some(outcome)
                }
                // An error that names no request answers the one whose stream this is.
                Message::Response { id: None, outcome: Err(error) } if wanted.is_some() => *answer = Some(Err(error)),
                Message::Response { .. } => {}
                Message::Notification { method, params } => {
                    let watcher = |id| self.watchers.lock().get(&id).cloned().flatten();
                    core.notified(&method, params.as_deref(), watcher);
                }
                Message::Request { id, method, params } => {
                    core.requested(id, &method, params.as_deref(), &self.outbox);
                }
            }
        }
        Ok(())
    }

    /// Posts what has no answer.
    async fn post_control(&self, body: Vec<u8>) -> Result<(), McpError> {
        let session = self.session.lock().clone();
        let request = self.http_request(http::Method::POST, &session, Vec::new(), body);
        let sent = tokio::time::timeout(CONTROL_LIMIT, self.server.http.send(request)).await;
        let response = sent.map_err(|_| McpError::Silence(CONTROL_LIMIT))?.map_err(broken)?;
        match response.status {
            200..300 => Ok(()),
            status => Err(McpError::Http { status, body: String::new() }),
        }
    }
}

/// Posts answers to the server's requests and cancellations, in order.
async fn post_all(shared: std::sync::Weak<Shared>, mut queue: mpsc::Receiver<Vec<u8>>) {
    while let Some(body) = queue.recv().await {
        let Some(shared) = shared.upgrade() else { return };
        // A server that does not take it goes without.
        let _ = shared.post_control(body).await;
    }
}

/// Follows what a legacy server tells by itself, until it says that it has no such stream.
async fn follow(shared: std::sync::Weak<Shared>, core: std::sync::Weak<Core>) {
    let mut cursor = StreamCursor::default();
    loop {
        {
            let (Some(shared), Some(core)) = (shared.upgrade(), core.upgrade()) else { return };
            let session = shared.session.lock().clone();
            let last = cursor.last_id.clone().map(|id| ("Last-Event-ID".to_string(), id));
            let request = shared.http_request(http::Method::GET, &session, last.into_iter().collect(), Vec::new());
            match shared.server.http.send(request).await {
                Ok(mut response) if response.status == 200 && is_event_stream(&response) => {
                    let mut none = None;
                    let _ = shared.read_events(&core, &mut response.body, &mut cursor, None, &mut none).await;
                }
                Ok(response) if response.status < 500 => return,
                _ => {}
            }
        }
        cursor.attempts = (cursor.attempts + 1).min(6);
        let wait = cursor.retry().max(Duration::from_secs(1 << cursor.attempts)).min(RETRY_LIMIT);
        tokio::time::sleep(wait).await;
    }
}

/// Where a stream is, so that another connection can go on.
#[derive(Default)]
struct StreamCursor {
    last_id: Option<String>,
    retry_ms: Option<u64>,
    /// Connections since the last event.
    attempts: u32,
}

impl StreamCursor {
    fn take(&mut self, event: &SseEvent) {
        self.attempts = 0;
        if let Some(id) = &event.id {
            self.last_id = Some(id.clone());
        }
        self.retry_ms = event.retry.or(self.retry_ms);
    }

    fn retry(&self) -> Duration {
        self.retry_ms.map_or(RETRY, Duration::from_millis).min(RETRY_LIMIT)
    }
}

/// Passes an answer on, or says what its status means.
async fn check(core: &Core, mut response: HttpResponse) -> Result<HttpResponse, McpError> {
    let status = response.status;
    if (200..300).contains(&status) {
        return Ok(response);
    }
    let challenge = header(&response, "www-authenticate");
    if status == 401 || (status == 403 && challenge.as_ref().is_some_and(|text| text.contains("insufficient_scope"))) {
        return Err(McpError::NeedsAuth(challenge));
    }
    if (300..400).contains(&status) {
        let to = header(&response, "location").unwrap_or_default();
        return Err(McpError::Http { status, body: format!("redirects are not followed (to {to})") });
    }
    let (bytes, _) = response.body.read_limited(ERROR_BYTES).await.map_err(broken)?;
    if let Ok(messages) = message::parse(&bytes, core.limits.depth) {
        for message in messages {
            if let Message::Response { outcome: Err(error), .. } = message
                && (status != 404 || error.code <= -32000)
                && !is_lost_session(status, &error.message)
            {
                return Err(McpError::Rpc(error));
            }
        }
    }
    let text = String::from_utf8_lossy(&bytes);
    Err(McpError::Http { status, body: text.trim().chars().take(200).collect() })
}

/// Servers answer 404 with an error of their own making for a session that they have forgotten.
fn is_lost_session(status: u16, message: &str) -> bool {
    status == 404 && message.to_ascii_lowercase().contains("session")
}

fn is_event_stream(response: &HttpResponse) -> bool {
    header(response, "content-type").is_some_and(|kind| kind.trim_start().starts_with("text/event-stream"))
}

fn header(response: &HttpResponse, name: &str) -> Option<String> {
    response.headers.get(name)?.to_str().ok().map(str::to_string)
}

fn broken(error: sinew_llm::http::HttpError) -> McpError {
    McpError::Closed(error.message)
}
