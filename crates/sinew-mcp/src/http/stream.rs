//! Streams of events, which legacy servers can continue over another connection.

use std::pin::pin;
use std::sync::{Arc, Weak};
use std::time::Duration;

use serde_json::value::RawValue;
use sinew_jsonrpc::Outcome;
use sinew_llm::http::Body;
use sinew_llm::sse::{SseDecoder, SseEvent};
use tokio::sync::OwnedMutexGuard;

use super::answer::{broken, is_event_stream};
use super::exchange::{ConnectionState, Session};
use crate::core::Core;
use crate::error::McpError;

/// The maximum number of consecutive attempts to continue a stream without an event.
const RESUMES: u32 = 5;

/// The wait before a stream is continued, if the server names none, and the maximum that it may name.
const RETRY: Duration = Duration::from_secs(1);
const RETRY_LIMIT: Duration = Duration::from_secs(60);
/// How long the first calls wait for the stream with the server's requests.
const OPENING: Duration = Duration::from_millis(500);

impl ConnectionState {
    /// Reads events up to the answer to `id`, over as many connections as a legacy server needs.
    pub(super) async fn read_stream(
        &self,
        core: &Arc<Core>,
        id: i64,
        body: Body,
        session: Session,
    ) -> Result<Box<RawValue>, McpError> {
        let mut cursor = StreamCursor::default();
        let mut body = body;
        // The first wait is the server's. Later waits grow, in case the server ends each stream immediately.
        let mut shortest = Duration::ZERO;
        loop {
            let mut answer = None;
            let end = self.read_events(core, &mut body, &mut cursor, Some(id), &mut answer).await;
            if let Some(outcome) = answer {
                // Keeps the connection for the next call.
                body.finish();
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
                tokio::time::sleep(cursor.retry().max(shortest)).await;
                shortest = RETRY;
                let more = vec![("Last-Event-ID".to_string(), cursor.last_id.clone().unwrap_or_default())];
                let request = self.http_request(http::Method::GET, &session, more, Vec::new());
                match self.send(request).await {
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
                core.host.log(&format!("not a protocol message: {reason}"));
            }
            if answer.is_some() {
                return Ok(());
            }
        }
        Ok(())
    }
}

/// Reads the messages of a legacy server until it reports that it has no such stream.
pub(super) async fn follow(shared: Weak<ConnectionState>, core: Weak<Core>, mut opening: Option<OwnedMutexGuard<()>>) {
    let mut cursor = StreamCursor::default();
    loop {
        {
            let (Some(shared), Some(core)) = (shared.upgrade(), core.upgrade()) else { return };
            let session = shared.session.lock().clone();
            let last = cursor.last_id.clone().map(|id| ("Last-Event-ID".to_string(), id));
            let request = shared.http_request(http::Method::GET, &session, last.into_iter().collect(), Vec::new());
            let mut sent = pin!(shared.send(request));
            let opened = tokio::select! {
                opened = &mut sent => opened,
                // Some servers send the head of a stream only with its first event.
                () = tokio::time::sleep(OPENING), if opening.is_some() => {
                    drop(opening.take());
                    sent.await
                }
            };
            drop(opening.take());
            match opened {
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

/// The position in a stream from which another connection can continue.
#[derive(Default)]
struct StreamCursor {
    last_id: Option<String>,
    retry_ms: Option<u64>,
    /// The number of connections since the last event.
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
