//! The placeholder for a missing model: it answers every request with instructions to configure one.

use std::sync::Arc;

use sinew_agent::agent::ResolvedModel;
use sinew_llm::error::{ErrorInfo, ErrorKind};
use sinew_llm::event::{EventStream, StreamEvent};
use sinew_llm::message::{AssistantMessage, StopReason};
use sinew_llm::model::Model;
use sinew_llm::provider::{Auth, Provider, Request};
use tokio_util::sync::CancellationToken;

/// The name of the placeholder's provider and model.
const NAME: &str = "none";

/// The answer to every request.
const ANSWER: &str = "No model is configured: use /login to set one up, or /model to choose one.";

struct NoModel;

impl Provider for NoModel {
    fn api(&self) -> &str {
        NAME
    }

    fn stream(&self, request: Request, _: CancellationToken) -> EventStream {
        let error = ErrorInfo::new(ErrorKind::Config, ANSWER);
        let message = AssistantMessage {
            api: NAME.into(),
            provider: NAME.into(),
            model: NAME.into(),
            stop_reason: StopReason::Error,
            error_message: Some(error.message.clone()),
            error: Some(error.clone()),
            timestamp: request.timestamp,
            ..AssistantMessage::default()
        };
        EventStream::run(message.clone(), move |out| async move {
            let failed =
                StreamEvent::Error { reason: StopReason::Error, error: Box::new(error), message: Box::new(message) };
            // The receiver may have been dropped.
            let _ = out.send(failed).await;
        })
    }
}

/// Returns the placeholder.
pub(super) fn reached() -> ResolvedModel {
    let model =
        Model { id: NAME.into(), name: "no model".into(), provider: NAME.into(), api: NAME.into(), ..Model::default() };
    ResolvedModel { provider: Arc::new(NoModel), model, auth: Auth::None }
}

/// Returns true if a model is the placeholder.
pub fn is_absent(model: &Model) -> bool {
    model.api == NAME
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn every_answer_says_how_to_configure_a_model() {
        let ResolvedModel { provider, model, .. } = reached();
        assert!(is_absent(&model));
        let request = Request { model, ..Request::default() };
        let mut events = provider.stream(request, CancellationToken::new());
        let mut last = None;
        while let Some(event) = events.next().await {
            last = Some(event);
        }
        let Some(StreamEvent::Error { error, message, .. }) = last else { panic!("{last:?}") };
        assert!(error.kind == ErrorKind::Config && error.message.contains("/login"), "{error:?}");
        assert_eq!(message.error_message, Some(error.message));
    }
}
