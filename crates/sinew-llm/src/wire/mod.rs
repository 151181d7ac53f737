//! The providers' protocols: how a request is written, how an answer is read.
//!
//! Each protocol writes its requests and reads its answers; one driver sends the request, decodes
//! the stream and keeps the promises that are the same for all: one terminal event, timers, cancellation.

mod anthropic;
mod drive;
mod google;
mod json;
mod openai_completions;
mod openai_responses;
mod prepare;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::assembly::{Assembly, header};
use crate::error::ErrorInfo;
use crate::error::classify::RequestContext;
use crate::event::EventStream;
use crate::http::HttpClient;
use crate::message::StopReason;
use crate::provider::{Provider, Request};

/// A protocol as data and functions.
#[derive(Clone, Copy)]
pub(crate) struct Protocol {
    pub(crate) api: &'static str,
    /// The path of the request, below the model's base URL.
    pub(crate) path: fn(&Request) -> String,
    /// The headers that carry the key and the protocol's version.
    pub(crate) headers: fn(&Request) -> Vec<(String, String)>,
    /// The request's JSON.
    pub(crate) body: fn(&Request) -> Vec<u8>,
    /// A reader of the answer.
    pub(crate) parser: fn(&Request) -> Box<dyn ResponseParser>,
    /// The events that say the same as an answer in one piece, from a server that does not stream; None for
    /// JSON that is not an answer.
    pub(crate) from_complete: fn(Value) -> Option<Vec<Value>>,
    /// Returns whether the server refused the request only because it asks for thoughts where the conversation has none.
    pub(crate) refuses_thinking: fn(&Request, &ErrorInfo) -> bool,
}

/// Reads an answer event by event.
pub(crate) trait ResponseParser: Send {
    /// Takes in one event of the stream.
    fn event(
        &mut self,
        data: &Value,
        context: &RequestContext<'_>,
        assembly: &mut Assembly,
    ) -> Result<Progress, ErrorInfo>;

    /// Takes in an event of the kind that comes most, without building a tree of it. False where it is any
    /// other: [`ResponseParser::event`] takes it then.
    fn parse_delta(&mut self, _data: &str, _assembly: &mut Assembly) -> bool {
        false
    }

    /// The stream ended without [`Progress::Done`]. None where the answer is not whole.
    fn end(&mut self) -> Option<StopReason>;
}

/// The state of an answer after a delta: more is to come, or it has ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    More,
    Done(StopReason),
}

const PROTOCOLS: [Protocol; 4] =
    [anthropic::PROTOCOL, openai_completions::PROTOCOL, openai_responses::PROTOCOL, google::PROTOCOL];

/// The ids of the protocols that [`provider`] knows.
pub fn apis() -> impl Iterator<Item = &'static str> {
    PROTOCOLS.iter().map(|protocol| protocol.api)
}

/// The provider that speaks the protocol `api`; None for one that is not known.
#[must_use]
pub fn provider(api: &str, client: HttpClient) -> Option<Box<dyn Provider>> {
    let protocol = *PROTOCOLS.iter().find(|protocol| protocol.api == api)?;
    Some(Box::new(WireProvider { protocol, client }))
}

/// The body of the request that the provider of `request.model.api` would send: what a test of the common
/// start of two requests, or a user who wants to see what leaves the machine, looks at.
#[must_use]
pub fn request_body(request: &Request) -> Option<Vec<u8>> {
    let protocol = PROTOCOLS.iter().find(|protocol| protocol.api == request.model.api)?;
    Some((protocol.body)(request))
}

struct WireProvider {
    protocol: Protocol,
    client: HttpClient,
}

impl Provider for WireProvider {
    fn api(&self) -> &str {
        self.protocol.api
    }

    fn stream(&self, request: Request, cancel: CancellationToken) -> EventStream {
        let (protocol, client) = (self.protocol, self.client.clone());
        EventStream::run(header(&request), move |sender| drive::answer(protocol, client, request, cancel, sender))
    }
}
