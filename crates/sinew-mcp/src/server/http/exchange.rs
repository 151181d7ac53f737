//! A request and its answer.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, ALLOW, CACHE_CONTROL, CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Either, Full, Limited};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use serde_json::{Map, Value};
use sinew_base::CancelHandle;
use sinew_jsonrpc::{Id, Message, RpcError, message};
use tokio::sync::mpsc;

use super::super::service::{AbortOnDrop, ReadyCall, Reply, Service, era_of, missing, read_params, unsupported};
use super::PATH;
use super::access::Access;
use super::connections::{Busy, Slot};
use crate::era::{self, Era};
use crate::headers::{decode, request_headers};

/// The time limit for the body of a request.
const BODY_LIMIT: Duration = Duration::from_secs(60);

/// The maximum number of queued progress reports.
const REPORTS: usize = 64;

type Answer = Response<Content>;
type Content = Either<Full<Bytes>, Events>;

/// The endpoint that answers requests.
pub(super) struct Endpoint {
    pub(super) service: Service,
    pub(super) access: Access,
}

impl Endpoint {
    /// Answers one request. The connection at `slot` is not closed for another one until the answer is written, unless
    /// access is denied.
    pub(super) async fn answer(&self, request: Request<Incoming>, slot: &Arc<Slot>) -> Response<ResponseContent> {
        let (answer, busy) = match self.access.check(request.headers()) {
            Ok(()) => {
                let busy = Busy::new(Arc::clone(slot));
                (self.take(request).await.unwrap_or_else(Refusal::answer), Some(busy))
            }
            Err((status, reason)) => (Refusal::new(status, reason).answer(), None),
        };
        answer.map(|content| ResponseContent { content, _busy: busy })
    }

    async fn take(&self, request: Request<Incoming>) -> Result<Answer, Refusal> {
        if request.uri().path() != PATH {
            return Err(Refusal::new(StatusCode::NOT_FOUND, format!("Not found: the server is at {PATH}.")));
        }
        if request.method() != Method::POST {
            let reason = "Method not allowed: use POST. The server has no sessions.";
            return Err(Refusal::new(StatusCode::METHOD_NOT_ALLOWED, reason.into()));
        }
        let (head, body) = request.into_parts();
        if !is_json(&head.headers) {
            let reason = "Unsupported media type: a request must be application/json.";
            return Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, reason.into()));
        }
        let message = self.read(body).await?;
        match message {
            Message::Request { id, method, params } => {
                let params = read_params(params.as_deref()).map_err(|error| Refusal::of(&id, error))?;
                self.reply(&head.headers, id, &method, params).await
            }
            // Calls of other requests are unknown here: a client cancels a call by closing its connection.
            Message::Notification { .. } | Message::Response { .. } => Ok(plain(StatusCode::ACCEPTED, Vec::new())),
        }
    }

    /// Reads the single message of a body.
    async fn read(&self, body: Incoming) -> Result<Message, Refusal> {
        let limits = self.service.options.limits;
        let read = Limited::new(body, limits.message_bytes).collect();
        let bytes = match tokio::time::timeout(BODY_LIMIT, read).await {
            Ok(Ok(body)) => body.to_bytes(),
            Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => {
                let reason = format!("Too large: a message must have at most {} bytes.", limits.message_bytes);
                return Err(Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, reason));
            }
            Ok(Err(error)) => {
                return Err(Refusal::new(StatusCode::BAD_REQUEST, format!("Failed to read the body: {error}")));
            }
            Err(_) => return Err(Refusal::new(StatusCode::REQUEST_TIMEOUT, "The body did not arrive in time.".into())),
        };
        let not_one = |code, reason: String| Refusal {
            status: StatusCode::BAD_REQUEST,
            id: None,
            error: RpcError::new(code, reason),
        };
        let messages = message::parse(&bytes, limits.depth)
            .map_err(|reason| not_one(RpcError::PARSE_ERROR, format!("Not a message: {reason}")))?;
        let count = messages.len();
        let mut messages = messages.into_iter();
        match (messages.next(), count) {
            (Some(message), 1) => Ok(message),
            _ => {
                Err(not_one(RpcError::INVALID_REQUEST, format!("{count} messages: a request must contain exactly one")))
            }
        }
    }

    async fn reply(
        &self,
        headers: &HeaderMap,
        id: Id,
        method: &str,
        params: Map<String, Value>,
    ) -> Result<Answer, Refusal> {
        let era = self.era(headers, method, &params).map_err(|error| Refusal::of(&id, error))?;
        let failed = |error: RpcError| {
            let status = match (era, error.code) {
                (Era::Modern, RpcError::METHOD_NOT_FOUND) => StatusCode::NOT_FOUND,
                (Era::Modern, era::MISSING_CAPABILITY) => StatusCode::BAD_REQUEST,
                _ => StatusCode::OK,
            };
            Refusal { status, id: Some(id.clone()), error }
        };
        let call = match self.service.reply(era, method, params) {
            Reply::Now(answer) => {
                let result = answer.map_err(failed)?;
                return Ok(plain(StatusCode::OK, message::encode_result(&id, &result)));
            }
            Reply::Call(call) => call,
        };
        match call.progress_token.is_some() && takes_events(headers) {
            true => Ok(streamed(call, id)),
            false => {
                let (canceller, cancel) = CancelHandle::new();
                // This future is dropped if the client disconnects.
                let _canceller = CancelOnDrop(canceller);
                // The client requested no progress reports.
                let (outbox, _) = mpsc::channel(1);
                let result = call.run(cancel, outbox).await.unwrap_or_default();
                Ok(plain(StatusCode::OK, message::encode_result(&id, &result)))
            }
        }
    }

    /// Returns the era of a request after checking that its headers match its body.
    fn era(&self, headers: &HeaderMap, method: &str, params: &Map<String, Value>) -> Result<Era, RpcError> {
        let declared = text(headers, "mcp-protocol-version")?;
        let in_body = params.get("_meta").and_then(|meta| meta.get(era::META_VERSION)).and_then(Value::as_str);
        match (in_body, declared) {
            (Some(in_body), declared) if declared != Some(in_body) => {
                return Err(mismatch("MCP-Protocol-Version", declared, in_body));
            }
            (None, Some(declared)) if era::MODERN.contains(&declared) => return Err(missing(era::META_VERSION)),
            (None, Some(declared)) if method != "initialize" && era::legacy_version(declared).is_none() => {
                return Err(unsupported(declared));
            }
            _ => {}
        }
        let era = era_of(true, method, params)?;
        if era == Era::Modern {
            let tool = params.get("name").and_then(Value::as_str).unwrap_or_default();
            let marks = if method == "tools/call" { self.service.marks(tool) } else { &[] };
            for (name, expected) in request_headers(method, params, marks) {
                let sent = text(headers, &name)?;
                if sent.and_then(decode) != decode(&expected) {
                    return Err(mismatch(&name, sent, &expected));
                }
            }
        }
        Ok(era)
    }
}

/// The content of an answer, with the slot of its connection.
pub(super) struct ResponseContent {
    content: Content,
    _busy: Option<Busy>,
}

impl Body for ResponseContent {
    type Data = Bytes;
    type Error = <Content as Body>::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Pin::new(&mut self.content).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.content.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.content.size_hint()
    }
}

/// A call's progress reports and its result, as events. Dropping it ends the call.
pub(super) struct Events {
    queue: mpsc::Receiver<Vec<u8>>,
    _running: AbortOnDrop,
    _canceller: CancelOnDrop,
}

impl Body for Events {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.queue.poll_recv(context).map(|message| message.map(|message| Ok(Frame::data(event(&message)))))
    }
}

/// A message is one line of JSON, so it is one line of data.
fn event(message: &[u8]) -> Bytes {
    [b"event: message\ndata: ", message, b"\n\n"].concat().into()
}

fn streamed(call: ReadyCall, id: Id) -> Answer {
    let (canceller, cancel) = CancelHandle::new();
    let (outbox, queue) = mpsc::channel(REPORTS);
    let reports = outbox.clone();
    let running = tokio::spawn(async move {
        if let Some(result) = call.run(cancel, reports).await {
            // The queue is gone if the client disconnected.
            let _ = outbox.send(message::encode_result(&id, &result)).await;
        }
    });
    let events = Events { queue, _running: AbortOnDrop(running.abort_handle()), _canceller: CancelOnDrop(canceller) };
    let mut answer = Response::new(Either::Right(events));
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    answer.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    answer
}

struct CancelOnDrop(CancelHandle);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// A rejected request.
struct Refusal {
    status: StatusCode,
    id: Option<Id>,
    error: RpcError,
}

impl Refusal {
    fn new(status: StatusCode, reason: String) -> Refusal {
        Refusal { status, id: None, error: RpcError::new(RpcError::INVALID_REQUEST, reason) }
    }

    /// Rejects a request that lacks a required part.
    fn of(id: &Id, error: RpcError) -> Refusal {
        Refusal { status: StatusCode::BAD_REQUEST, id: Some(id.clone()), error }
    }

    fn answer(self) -> Answer {
        let mut answer = plain(self.status, message::encode_error(self.id.as_ref(), &self.error));
        match self.status {
            StatusCode::METHOD_NOT_ALLOWED => answer.headers_mut().insert(ALLOW, HeaderValue::from_static("POST")),
            StatusCode::UNAUTHORIZED => {
                answer.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))
            }
            _ => None,
        };
        answer
    }
}

/// Creates an immediate answer; without a body if `body` is empty.
fn plain(status: StatusCode, body: Vec<u8>) -> Answer {
    let has_body = !body.is_empty();
    let mut answer = Response::new(Either::Left(Full::new(Bytes::from(body))));
    *answer.status_mut() = status;
    if has_body {
        answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    }
    answer
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}

fn takes_events(headers: &HeaderMap) -> bool {
    let mut accepted = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    accepted.any(|value| value.split(',').any(|kind| kind.trim().starts_with("text/event-stream")))
}

/// Returns the value of a header; `None` if it was not sent.
fn text<'a>(headers: &'a HeaderMap, name: &str) -> Result<Option<&'a str>, RpcError> {
    let Ok(key) = name.parse::<HeaderName>() else { return Ok(None) };
    let mut values = headers.get_all(key).iter();
    let (first, second) = (values.next(), values.next());
    if second.is_some() {
        return Err(RpcError::new(era::HEADER_MISMATCH, format!("Header mismatch: {name} is sent twice")));
    }
    let unreadable = || RpcError::new(era::HEADER_MISMATCH, format!("Header mismatch: {name} is not text"));
    first.map(|value| value.to_str().map(str::trim).map_err(|_| unreadable())).transpose()
}

fn mismatch(name: &str, sent: Option<&str>, expected: &str) -> RpcError {
    let sent = sent.map_or("is missing".to_string(), |sent| format!("is \"{sent}\""));
    RpcError::new(era::HEADER_MISMATCH, format!("Header mismatch: {name} {sent}, the body says \"{expected}\""))
}
