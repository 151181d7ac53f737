//! Requests and their answers: one POST each.

use std::collections::HashMap;
use std::sync::atomic::AtomicI64;
use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use sinew_jsonrpc::{Id, Message, Outcome, message};
use sinew_llm::error::ErrorInfo;
use sinew_llm::http::{HttpRequest, HttpResponse};
use tokio::sync::mpsc;

use super::answer::{broken, check, header, is_event_stream};
use super::server::HttpServer;
use crate::core::{Core, Watcher};
use crate::era;
use crate::error::McpError;
use crate::headers::{ParamHeader, request_headers};
use crate::oauth::Challenge;

/// The time limit for ending a session and for the answer to a notification.
pub(super) const CONTROL_LIMIT: Duration = Duration::from_secs(10);

/// The state that the requests and streams of one connection share.
pub(super) struct ConnectionState {
    pub(super) server: HttpServer,
    pub(super) next: AtomicI64,
    pub(super) session: Mutex<Session>,
    pub(super) watchers: Mutex<HashMap<i64, Option<Watcher>>>,
    /// The arguments of each tool that are repeated in headers.
    pub(super) marks: Mutex<HashMap<String, Vec<ParamHeader>>>,
    pub(super) outbox: mpsc::Sender<Vec<u8>>,
}

/// The data of a handshake that a legacy server expects in later requests.
#[derive(Default, Clone)]
pub(super) struct Session {
    /// `None` before the handshake, and in the modern era.
    pub(super) version: Option<&'static str>,
    pub(super) id: Option<String>,
    /// The parameters of `initialize`, for a new handshake.
    pub(super) hello: Option<Map<String, Value>>,
}

impl ConnectionState {
    pub(super) fn http_request(
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

    /// Sends a request with the login's token, if there is one. A request that the server rejects because of its token
    /// was not processed: it is sent again if there is a newer token.
    pub(super) async fn send(&self, request: HttpRequest) -> Result<HttpResponse, McpError> {
        let http = &self.server.http;
        let unusable = |error: ErrorInfo| McpError::Start(error.message);
        let token = match &self.server.tokens {
            Some(tokens) => tokens.current().await.map_err(unusable)?.map(|token| (tokens, token)),
            None => None,
        };
        let Some((tokens, token)) = token else { return http.send_within_origin(request).await.map_err(broken) };
        let response = http.send_within_origin(with_token(request.clone(), &token)).await.map_err(broken)?;
        if response.status != 401 {
            return Ok(response);
        }
        match tokens.replace(&token).await.map_err(unusable)? {
            Some(token) => http.send_within_origin(with_token(request, &token)).await.map_err(broken),
            None => Ok(response),
        }
    }

    /// Saves the server's challenge for the next login.
    async fn remember(&self, core: &Core, challenge: Option<&str>) {
        let Some(tokens) = &self.server.tokens else { return };
        let challenge = Challenge::parse(challenge.unwrap_or_default());
        if let Err(error) = tokens.remember(&challenge).await {
            core.host.log(&format!("failed to save what the next login must request: {}", error.message));
        }
    }

    /// Posts a request and reads up to its answer.
    pub(super) async fn exchange(
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
        let response = self.send(request).await?;
        let response = match check(core, response).await {
            Err(McpError::NeedsAuth(challenge)) => {
                self.remember(core, challenge.as_deref()).await;
                return Err(McpError::NeedsAuth(challenge));
            }
            checked => checked?,
        };
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

    /// Handles the messages of a body or an event.
    pub(super) fn receive(
        &self,
        core: &Arc<Core>,
        bytes: &[u8],
        wanted: Option<i64>,
        answer: &mut Option<Outcome>,
    ) -> Result<(), String> {
        if bytes.len() > core.limits.message_bytes {
            return Err(format!(
                "a message of {} bytes exceeds the limit of {}",
                bytes.len(),
                core.limits.message_bytes
            ));
        }
        for message in message::parse(bytes, core.limits.depth)? {
            match message {
                Message::Response { id: Some(id), outcome } if wanted.is_some() && id.to_number() == wanted => {
                    *answer = Some(outcome)
                }
                // An error without an id answers the request of this stream.
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

    /// Posts a message that has no answer.
    pub(super) async fn post_control(&self, body: Vec<u8>) -> Result<(), McpError> {
        let session = self.session.lock().clone();
        let request = self.http_request(http::Method::POST, &session, Vec::new(), body);
        let sent = tokio::time::timeout(CONTROL_LIMIT, self.send(request)).await;
        let response = sent.map_err(|_| McpError::Silence(CONTROL_LIMIT))??;
        match response.status {
            200..300 => Ok(()),
            status => Err(McpError::Http { status, body: String::new() }),
        }
    }
}

fn with_token(mut request: HttpRequest, token: &str) -> HttpRequest {
    request.headers.push(("Authorization".to_string(), format!("Bearer {token}")));
    request
}

/// Posts answers to the server's requests and cancellations, in order.
pub(super) async fn post_all(shared: Weak<ConnectionState>, mut queue: mpsc::Receiver<Vec<u8>>) {
    while let Some(body) = queue.recv().await {
        let Some(shared) = shared.upgrade() else { return };
        // Messages that the server rejects are dropped.
        let _ = shared.post_control(body).await;
    }
}
