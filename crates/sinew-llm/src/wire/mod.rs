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
mod protocol;

use tokio_util::sync::CancellationToken;

use crate::assembly::header;
use crate::event::EventStream;
use crate::http::HttpClient;
use crate::provider::{Provider, Request};
use protocol::Protocol;

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
