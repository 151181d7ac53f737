//! Sends a request and converts the server's stream to events, for every protocol.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use url::Url;

use super::protocol::{Progress, Protocol, ResponseParser};
use crate::assembly::Assembly;
use crate::error::classify::{self, RequestContext};
use crate::error::{ErrorInfo, ErrorKind};
use crate::event::{EventSender, StreamEvent};
use crate::http::{Body, HttpClient, HttpError, HttpErrorKind, HttpRequest, HttpResponse};
use crate::message::StopReason;
use crate::model::ThinkingLevel;
use crate::provider::{Request, WireObserver};
use crate::sse::{EVENT_LIMIT, SseDecoder, SseEvent};
use crate::surrogate;

/// The number of bytes of an error's body that are read.
const ERROR_BODY_LIMIT: usize = 64 * 1024;

/// The number of bytes of an answer that is not an event stream that an error shows.
const SHOWN_LIMIT: usize = 2 * 1024;

/// The number of consecutive events that are not JSON after which the answer fails.
const BROKEN_LIMIT: usize = 3;

/// Answers `request` with events, the last of which is always terminal.
pub(super) async fn answer(
    protocol: Protocol,
    client: HttpClient,
    request: Request,
    cancel: CancellationToken,
    sender: EventSender,
) {
    let mut assembly = Assembly::new(&request);
    let context = RequestContext {
        provider: &request.model.provider,
        model: &request.model.id,
        base_url: &request.model.base_url,
        secrets: secrets(&request),
    };
    let outcome = tokio::select! {
        biased;
        () = cancel.cancelled() => Err(ErrorInfo::aborted()),
        outcome = exchange(protocol, &client, &request, &context, &mut assembly, &sender) => outcome,
    };
    let rest = match outcome {
        Ok(reason) => assembly.finish(reason),
        Err(error) => assembly.fail(error),
    };
    send(rest, &sender).await;
}

async fn send(events: VecDeque<StreamEvent>, sender: &EventSender) {
    for event in events {
        if !sender.send(event).await {
            return;
        }
    }
}

/// Returns the secrets that an error must not contain: the key, and the values of custom headers.
fn secrets(request: &Request) -> Vec<&str> {
    let headers = request.model.headers.iter().chain(&request.headers);
    let sensitive = headers.filter(|(name, _)| {
        let name = name.to_ascii_lowercase();
        ["auth", "key", "token", "secret", "cookie"].iter().any(|word| name.contains(word))
    });
    let key = request.auth.secret().map(|secret| secret.expose());
    key.into_iter().chain(sensitive.map(|(_, value)| value.as_str())).collect()
}

async fn exchange(
    protocol: Protocol,
    client: &HttpClient,
    request: &Request,
    context: &RequestContext<'_>,
    assembly: &mut Assembly,
    sender: &EventSender,
) -> Result<StopReason, ErrorInfo> {
    assembly.flush(sender).await;
    let mut wire = http_request(protocol, request, context)?;
    let observer = request.observer.as_deref();
    let looking = observer.filter(|observer| observer.wants_bodies());
    if let Some(observer) = looking
        && let Ok(payload) = serde_json::from_slice(&wire.body)
        && let Some(changed) = observer.request(payload).await
    {
        wire.body = Bytes::from(changed.to_string());
    }
    let mut response = client.send_within_origin(wire).await.map_err(|error| transport(context, &error))?;
    if let Some(observer) = looking {
        let header = |(name, value): (&::http::HeaderName, &::http::HeaderValue)| {
            (name.as_str().to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned())
        };
        observer.response(response.status, response.headers.iter().map(header).collect()).await;
    }
    if !(200..300).contains(&response.status) {
        // A truncated body contains less information, but the status is known.
        let (body, _) = response.body.read_limited(ERROR_BODY_LIMIT).await.unwrap_or_default();
        let body = String::from_utf8_lossy(&body);
        let error = classify::from_response(context, response.status, &response.headers, &body, request.timestamp);
        if (protocol.refuses_thinking)(request, &error) {
            let calm = Request { thinking: ThinkingLevel::Off, ..request.clone() };
            return Box::pin(exchange(protocol, client, &calm, context, assembly, sender)).await;
        }
        return Err(error);
    }
    let mut reader = Reader { context, observer, parser: (protocol.parser)(request), broken: 0, seen: 0 };
    let stall = client.config().stall_timeout;
    let mut last_content = Instant::now();
    let mut first = opening(context, &mut response.body, stall).await?;
    if let Some(b'{' | b'[' | b'<') = first.as_ref().and_then(|bytes| bytes.first()) {
        let json = unstreamed(context, &mut response, &first.unwrap_or_default()).await?;
        return reader.read_complete(protocol, json, assembly);
    }
    let mut shown = Vec::new();
    let mut size = assembly.size();
    let mut decoder = SseDecoder::new();
    let mut events = VecDeque::new();
    loop {
        let chunk = match first.take() {
            Some(chunk) => Some(chunk),
            None => next(context, &mut response.body, stall.map(|limit| (last_content, limit))).await?,
        };
        let Some(chunk) = chunk else { break };
        if reader.seen == 0 && shown.len() < SHOWN_LIMIT {
            shown.extend_from_slice(&chunk[..chunk.len().min(SHOWN_LIMIT)]);
        }
        let fed = decoder.feed(&chunk, |event| events.push_back(event));
        while let Some(event) = events.pop_front() {
            let flow = reader.take(&event, assembly)?;
            if assembly.size() > size {
                size = assembly.size();
                last_content = Instant::now();
            }
            if !assembly.flush(sender).await {
                return Err(ErrorInfo::aborted());
            }
            if let Progress::Done(reason) = flow {
                response.body.finish();
                return Ok(reason);
            }
        }
        fed.map_err(|error| malformed(context, &error.to_string()))?;
        if stall.is_some_and(|limit| last_content + limit <= Instant::now()) {
            return Err(stalled(context, stall.unwrap_or_default()));
        }
    }
    if let Some(event) = decoder.finish()
        && (event.data.trim() == "[DONE]" || serde_json::from_str::<Value>(&surrogate::mark(&event.data)).is_ok())
        && let Progress::Done(reason) = reader.take(&event, assembly)?
    {
        return Ok(reason);
    }
    if let Some(reason) = reader.parser.end(assembly) {
        return Ok(reason);
    }
    // Some servers end the stream after a call without a reason. The answer is complete if all of its calls are.
    if assembly.ends_with_whole_calls() {
        return Ok(StopReason::ToolUse);
    }
    let shown = String::from_utf8_lossy(&shown);
    let streamed = ["data:", "event:", "id:", "retry:", ":"].iter().any(|field| shown.starts_with(field));
    Err(match shown.trim() {
        "" => malformed(context, "the stream ended without any event"),
        _ if streamed || reader.seen > 0 => malformed(context, "the stream ended before the answer was complete"),
        shown => malformed(context, &format!("expected a stream of events, but the server answered: {shown}")),
    })
}

/// Returns the next bytes. `stall` contains the time of the last content, and the limit until the next.
async fn next(
    context: &RequestContext<'_>,
    body: &mut Body,
    stall: Option<(Instant, Duration)>,
) -> Result<Option<Bytes>, ErrorInfo> {
    let chunk = match stall {
        None => body.chunk().await,
        Some((last, limit)) => match tokio::time::timeout_at(last + limit, body.chunk()).await {
            Ok(chunk) => chunk,
            Err(_) => return Err(stalled(context, limit)),
        },
    };
    chunk.map_err(|error| transport(context, &error))
}

/// Returns the first relevant bytes, without leading white space and the byte order mark, which have no meaning in an
/// event stream or in JSON. They identify the kind of the body, because servers and proxies often send a wrong content
/// type.
async fn opening(
    context: &RequestContext<'_>,
    body: &mut Body,
    stall: Option<Duration>,
) -> Result<Option<Bytes>, ErrorInfo> {
    let begun = Instant::now();
    while let Some(mut chunk) = next(context, body, stall.map(|limit| (begun, limit))).await? {
        let blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | 0xEF | 0xBB | 0xBF);
        if let Some(at) = chunk.iter().position(|byte| !blank(byte)) {
            return Ok(Some(chunk.split_off(at)));
        }
    }
    Ok(None)
}

struct Reader<'a> {
    context: &'a RequestContext<'a>,
    observer: Option<&'a dyn WireObserver>,
    parser: Box<dyn ResponseParser>,
    /// The number of consecutive events that are not JSON.
    broken: usize,
    seen: usize,
}

impl Reader<'_> {
    /// Reads a complete answer.
    fn read_complete(
        &mut self,
        protocol: Protocol,
        json: Value,
        assembly: &mut Assembly,
    ) -> Result<StopReason, ErrorInfo> {
        let shown: String = json.to_string().chars().take(200).collect();
        let Some(events) = (protocol.from_complete)(json) else {
            let text = format!("expected a stream of events, but the server answered {shown}");
            return Err(malformed(self.context, &text));
        };
        for event in events {
            if let Progress::Done(reason) = self.parse_event(&event, assembly)? {
                return Ok(reason);
            }
        }
        self.parser.end(assembly).ok_or_else(|| malformed(self.context, "the answer ended before it was complete"))
    }

    fn parse_event(&mut self, event: &Value, assembly: &mut Assembly) -> Result<Progress, ErrorInfo> {
        let flow = self.parser.event(event, self.context, assembly)?;
        self.check(assembly)?;
        Ok(flow)
    }

    /// Checks the size after each event, because the last event may make the answer too large.
    fn check(&self, assembly: &Assembly) -> Result<(), ErrorInfo> {
        assembly.check_size().map_err(|text| malformed(self.context, &text))
    }

    fn take(&mut self, event: &SseEvent, assembly: &mut Assembly) -> Result<Progress, ErrorInfo> {
        let data = event.data.trim();
        if data == "[DONE]" {
            return Ok(Progress::Done(self.parser.end(assembly).unwrap_or(StopReason::Stop)));
        }
        if data.is_empty() {
            return Ok(Progress::More);
        }
        let data = &*surrogate::mark(data);
        if event.event.as_deref() != Some("error") && self.parser.parse_delta(data, assembly) {
            self.broken = 0;
            self.seen += 1;
            self.check(assembly)?;
            return Ok(Progress::More);
        }
        match serde_json::from_str::<Value>(data) {
            Ok(json) => {
                self.broken = 0;
                self.seen += 1;
                if event.event.as_deref() == Some("error") && json.get("type").and_then(Value::as_str) != Some("error")
                {
                    return Err(classify::from_stream(self.context, &json));
                }
                // Gateways report errors of their servers in their own format.
                if json.get("type").is_none() && json.get("error").is_some_and(|error| !error.is_null()) {
                    return Err(classify::from_stream(self.context, &json));
                }
                self.parse_event(&json, assembly)
            }
            Err(_) if event.event.as_deref() == Some("error") => {
                Err(classify::from_stream(self.context, &Value::from(data)))
            }
            Err(error) => {
                self.broken += 1;
                if self.broken >= BROKEN_LIMIT {
                    return Err(malformed(
                        self.context,
                        &format!("{BROKEN_LIMIT} events in a row are not JSON: {error}"),
                    ));
                }
                if let Some(observer) = self.observer {
                    observer.skipped(event.data.trim());
                }
                Ok(Progress::More)
            }
        }
    }
}

fn http_request(protocol: Protocol, request: &Request, context: &RequestContext<'_>) -> Result<HttpRequest, ErrorInfo> {
    // Gateways append their own version to the path: `https://host/openai?api-version=1`.
    let (base, query) = request.model.base_url.split_once('?').unwrap_or((&request.model.base_url, ""));
    let base = base.trim_end_matches('/');
    let mut address = format!("{base}{}", (protocol.path)(request));
    if !query.is_empty() {
        address.push(if address.contains('?') { '&' } else { '?' });
        address.push_str(query);
    }
    let url = Url::parse(&address).map_err(|error| {
        classify::own(
            context,
            ErrorKind::Config,
            &format!("the base URL \"{base}\" of model \"{}\" is not a URL: {error}", request.model.id),
        )
    })?;
    let mut headers = vec![
        ("Content-Type".to_string(), "application/json".to_string()),
        ("Accept".to_string(), "text/event-stream".to_string()),
    ];
    headers.extend((protocol.headers)(request));
    headers.extend(request.model.headers.iter().cloned());
    headers.extend(request.headers.iter().cloned());
    let body = Bytes::from((protocol.body)(request));
    Ok(HttpRequest { method: ::http::Method::POST, url, headers, body })
}

/// Reads the answer of a server that does not stream, of which `first` was received. An error in it, and an HTML page,
/// are rejected.
async fn unstreamed(
    context: &RequestContext<'_>,
    response: &mut HttpResponse,
    first: &[u8],
) -> Result<Value, ErrorInfo> {
    let limit = EVENT_LIMIT.saturating_sub(first.len());
    let (rest, cut) = response.body.read_limited(limit).await.map_err(|error| transport(context, &error))?;
    let body = [first, &rest].concat();
    let refuse = |text: String| {
        let mut error = malformed(context, &text);
        error.status = Some(response.status);
        error
    };
    if cut {
        return Err(refuse(format!("the answer is larger than {} MB", EVENT_LIMIT >> 20)));
    }
    let text = String::from_utf8_lossy(&body);
    match serde_json::from_str::<Value>(&surrogate::mark(&text)) {
        Ok(json) if json.get("error").is_some_and(|error| !error.is_null()) => {
            Err(classify::from_stream(context, &json))
        }
        Ok(json) => Ok(json),
        Err(_) => {
            let body = String::from_utf8_lossy(&body[..body.len().min(ERROR_BODY_LIMIT)]);
            if classify::looks_like_html(&body) {
                return Err(refuse(classify::html_title(&body)));
            }
            Err(refuse(format!("expected a stream of events, but the server answered: {}", body.trim())))
        }
    }
}

fn malformed(context: &RequestContext<'_>, text: &str) -> ErrorInfo {
    classify::own(context, ErrorKind::Malformed, text)
}

fn stalled(context: &RequestContext<'_>, limit: Duration) -> ErrorInfo {
    let text = format!("the server sent no content for {} s", limit.as_secs_f64());
    classify::own(context, ErrorKind::Timeout, &text)
}

fn transport(context: &RequestContext<'_>, error: &HttpError) -> ErrorInfo {
    let kind = match error.kind {
        HttpErrorKind::Request | HttpErrorKind::Refused | HttpErrorKind::Redirects => ErrorKind::Config,
        HttpErrorKind::Network | HttpErrorKind::Certificate => ErrorKind::Network,
        HttpErrorKind::Timeout => ErrorKind::Timeout,
        HttpErrorKind::Protocol => ErrorKind::Malformed,
    };
    let text = match error.kind {
        HttpErrorKind::Redirects => format!("{}; {}", error.message, classify::base_url_hint(context)),
        _ => error.message.clone(),
    };
    let mut info = classify::own(context, kind, &text);
    // A retry receives the same certificate.
    info.retryable &= error.kind != HttpErrorKind::Certificate;
    info
}
