//! The transport over HTTP: a request is a POST, its answer is JSON or a stream of events.
//!
//! Requests to modern servers are self-contained. For servers from before 2026-07-28, the transport supports a session
//! id, a stream for messages of the server, `Last-Event-ID` after a broken stream, and DELETE at the end. Redirects are
//! not followed: the user trusts only the configured URL, and the headers contain keys.

mod answer;
mod exchange;
mod server;
mod stream;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use parking_lot::Mutex;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use sinew_jsonrpc::message;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use self::exchange::{CONTROL_LIMIT, ConnectionState, post_all};
use self::stream::follow;
use crate::client::{Client, ClientOptions};
use crate::core::{Core, Watcher};
use crate::era::Era;
use crate::error::McpError;
use crate::headers::param_headers;
use crate::link::{Link, cancelled, set_progress_token};
use crate::model::Listing;
use crate::oauth::Challenge;

pub use self::server::{HttpServer, http_config};

impl Client {
    /// Connects to a server over HTTP.
    ///
    /// # Errors
    /// Returns [`McpError::NeedsAuth`] if it requires a login, [`McpError::Start`] if it cannot be reached or is not
    /// ready in time, or the server's error.
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

/// Asks a server, without a token, whether it requires a login. Returns `None` if it does not.
///
/// # Errors
/// Returns an error if the server cannot be reached.
pub async fn login_challenge(server: &HttpServer) -> Result<Option<Challenge>, McpError> {
    let options = ClientOptions::default();
    let server = HttpServer { tokens: None, ..server.clone() };
    match Client::connect_http(&server, &options).await {
        Ok(client) => {
            client.close().await;
            Ok(None)
        }
        Err(McpError::NeedsAuth(challenge)) => Ok(Some(Challenge::parse(challenge.as_deref().unwrap_or_default()))),
        Err(McpError::Start(reason)) => Err(McpError::Start(reason)),
        // The server answered, although with an error: it requires no login.
        Err(_) => Ok(None),
    }
}

pub(crate) struct HttpLink {
    shared: Arc<ConnectionState>,
    poster: JoinHandle<()>,
    /// Reads the stream of a legacy server's own messages.
    stream: Mutex<Option<JoinHandle<()>>>,
    /// Allows only one new handshake at a time.
    renewing: tokio::sync::Mutex<()>,
    /// Locked while that stream is being opened, because the server could not ask questions before.
    opening: Arc<tokio::sync::Mutex<()>>,
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
        let shared = Arc::new(ConnectionState {
            server: server.clone(),
            next: AtomicI64::new(1),
            session: Mutex::default(),
            watchers: Mutex::default(),
            marks: Mutex::default(),
            outbox,
        });
        let poster = tokio::spawn(post_all(Arc::downgrade(&shared), queue));
        HttpLink {
            shared,
            poster,
            stream: Mutex::default(),
            renewing: tokio::sync::Mutex::default(),
            opening: Arc::default(),
        }
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
        let mut pending = PendingRequest { shared, id, cancellable, answered: false };
        drop(self.opening.lock().await);
        let mut session = shared.session.lock().id.clone();
        if session.is_none() {
            // Wait for the handshake of another request.
            drop(self.renewing.lock().await);
            session = shared.session.lock().id.clone();
        }
        let mut outcome = shared.exchange(core, id, method, &params).await;
        if matches!(outcome, Err(McpError::Http { status: 404, .. })) && method != "initialize" && session.is_some() {
            // The server has forgotten the session and did not process the request.
            self.renew(core, session).await?;
            outcome = shared.exchange(core, id, method, &params).await;
        }
        pending.answered = true;
        outcome
    }

    /// Repeats the handshake, once for all requests that lost the session `forgotten`.
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

    /// Opens the stream of a legacy server that may send its own messages.
    pub(crate) fn connected(&self, core: &Arc<Core>) {
        let Some(info) = core.info.get().filter(|info| info.era == Era::Legacy) else { return };
        let tells = ["tools", "resources", "prompts"].iter().any(|capability| info.tells_changes_of(capability));
        if tells || core.host.can_ask() {
            let opening = Arc::clone(&self.opening).try_lock_owned().ok();
            let task = tokio::spawn(follow(Arc::downgrade(&self.shared), Arc::downgrade(core), opening));
            *self.stream.lock() = Some(task);
        }
    }

    /// Records which arguments are repeated in headers, and leaves out tools with invalid marks.
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
            // The server may answer 405 if it ends sessions by itself.
            let _ = tokio::time::timeout(CONTROL_LIMIT, self.shared.send(request)).await;
        }
    }
}

/// A sent request. Dropping it before the answer cancels it: the connection closes, and a legacy server is notified.
struct PendingRequest<'a> {
    shared: &'a ConnectionState,
    id: i64,
    cancellable: bool,
    answered: bool,
}

impl Drop for PendingRequest<'_> {
    fn drop(&mut self) {
        self.shared.watchers.lock().remove(&self.id);
        let legacy = self.shared.session.lock().version.is_some();
        if !self.answered && self.cancellable && legacy {
            let _ = self.shared.outbox.try_send(cancelled(self.id));
        }
    }
}
