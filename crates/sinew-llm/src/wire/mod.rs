//! The providers' protocols: writing requests and reading answers.
//!
//! Each protocol writes its requests and reads its answers; a shared driver sends the request, decodes the stream and
//! ensures the common guarantees: one terminal event, time limits, cancellation.

mod anthropic;
mod drive;
mod end_reason;
mod google;
mod json;
mod openai_completions;
mod openai_responses;
mod prepare;
mod protocol;

use tokio_util::sync::CancellationToken;

use crate::event::EventStream;
use crate::http::HttpClient;
use crate::provider::{Provider, Request};
use protocol::Protocol;

const PROTOCOLS: [Protocol; 4] =
    [anthropic::PROTOCOL, openai_completions::PROTOCOL, openai_responses::PROTOCOL, google::PROTOCOL];

/// Returns the ids of the protocols that [`provider`] supports.
pub fn apis() -> impl Iterator<Item = &'static str> {
    PROTOCOLS.iter().map(|protocol| protocol.api)
}

/// Returns the provider for the protocol `api`; `None` if it is unknown.
#[must_use]
pub fn provider(api: &str, client: HttpClient) -> Option<Box<dyn Provider>> {
    let protocol = *PROTOCOLS.iter().find(|protocol| protocol.api == api)?;
    Some(Box::new(WireProvider { protocol, client }))
}

/// Returns the body of the request that the provider of `request.model.api` would send, for tests of common prefixes
/// and for users who want to see what is sent. `None` if the protocol is unknown.
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

    fn caches_prefixes(&self) -> bool {
        true
    }

    fn stream(&self, request: Request, cancel: CancellationToken) -> EventStream {
        let (protocol, client) = (self.protocol, self.client.clone());
        EventStream::run(request.empty_answer(), move |sender| drive::answer(protocol, client, request, cancel, sender))
    }
}
