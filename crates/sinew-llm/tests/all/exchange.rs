//! One request and its answer over a real socket.

use serde_json::Value;
use sinew_llm::http::HttpClient;
use sinew_llm::{AssistantMessage, LlmMessage, Model, Request, wire};
use sinew_testkit::provider::{Reply, Server};
use tokio_util::sync::CancellationToken;

/// Sends a short prompt to a server with the protocol `api` that answers with `reply`.
pub(crate) async fn ask(api: &str, reply: Reply) -> AssistantMessage {
    let server = Server::replies(vec![reply]);
    let model =
        Model { id: "m".into(), api: api.into(), provider: "p".into(), base_url: server.url(), ..Model::default() };
    let request = Request { model, messages: vec![LlmMessage::user("hi").into()], ..Request::default() };
    wire::provider(api, HttpClient::default()).unwrap().stream(request, CancellationToken::new()).result().await
}

/// Returns events as the body of a stream.
pub(crate) fn sse(events: &[Value]) -> String {
    events.iter().map(|event| format!("data: {event}\n\n")).collect()
}
