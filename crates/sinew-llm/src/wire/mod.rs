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
use crate::error::classify::Place;
use crate::event::EventStream;
use crate::http::HttpClient;
use crate::message::StopReason;
use crate::provider::{Provider, Request};

/// A protocol as data and functions.
#[derive(Clone, Copy)]
pub(crate) struct Protocol {
    pub(crate) api: &'static str,
    /// Where the request goes, below the model's base URL.
    pub(crate) path: fn(&Request) -> String,
    /// The headers that carry the key and the protocol's version.
    pub(crate) headers: fn(&Request) -> Vec<(String, String)>,
    /// The request's JSON.
    pub(crate) body: fn(&Request) -> Vec<u8>,
    /// A reader of the answer.
    pub(crate) fold: fn(&Request) -> Box<dyn Fold>,
    /// The events that say the same as an answer in one piece, from a server that does not stream; None for
    /// JSON that is no answer.
    pub(crate) whole: fn(Value) -> Option<Vec<Value>>,
    /// Whether the server refused the request only because it asks for thoughts where the conversation has none.
    pub(crate) refuses_thinking: fn(&Request, &ErrorInfo) -> bool,
}

/// Reads an answer event by event.
pub(crate) trait Fold: Send {
    /// Takes in one event of the stream.
    fn event(&mut self, data: &Value, place: &Place<'_>, assembly: &mut Assembly) -> Result<Flow, ErrorInfo>;

    /// Takes in an event of the kind that comes most, without building a tree of it. False where it is any
    /// other: [`Fold::event`] takes it then.
    fn quick(&mut self, _data: &str, _assembly: &mut Assembly) -> bool {
        false
    }

    /// The stream ended without [`Flow::Done`]. None where the answer is not whole.
    fn end(&mut self) -> Option<StopReason>;
}

/// Whether more is to come.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Flow {
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
