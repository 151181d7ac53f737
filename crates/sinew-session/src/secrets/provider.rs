//! A provider that never receives secrets.

use std::sync::Arc;

use sinew_llm::event::EventStream;
use sinew_llm::message::AssistantMessage;
use sinew_llm::provider::{Provider, Request};
use tokio_util::sync::CancellationToken;

use super::stream::PendingText;
use super::{Secrets, walk};

/// Wraps another provider with [`Secrets`]: requests contain markers, answers contain the restored values.
pub struct HidingProvider {
    inner: Arc<dyn Provider>,
    secrets: Arc<Secrets>,
}

impl HidingProvider {
    /// Hides the values of `secrets` from `inner`.
    #[must_use]
    pub fn new(inner: Arc<dyn Provider>, secrets: Arc<Secrets>) -> HidingProvider {
        HidingProvider { inner, secrets }
    }
}

impl Provider for HidingProvider {
    fn api(&self) -> &str {
        self.inner.api()
    }

    fn caches_prefixes(&self) -> bool {
        self.inner.caches_prefixes()
    }

    fn stream(&self, mut request: Request, cancel: CancellationToken) -> EventStream {
        if self.secrets.is_empty() {
            return self.inner.stream(request, cancel);
        }
        hide(&self.secrets, &mut request);
        let secrets = Arc::clone(&self.secrets);
        let mut inner = self.inner.stream(request, cancel);
        let header: AssistantMessage = inner.partial().message().clone();
        EventStream::run(header, move |out| async move {
            let mut waiting = PendingText::default();
            while let Some(event) = inner.next().await {
                for event in waiting.pass(&secrets, event) {
                    if !out.send(event).await {
                        return;
                    }
                }
            }
        })
    }
}

fn hide(secrets: &Secrets, request: &mut Request) {
    let mut parts: Vec<&mut String> = request.system.iter_mut().map(|part| &mut part.text).collect();
    secrets.hide_joined(&mut parts);
    for message in &mut request.messages {
        // Most messages contain nothing to hide, and are shared with the session unchanged.
        if walk::has_value(secrets, message) {
            walk::hide_message(secrets, Arc::make_mut(message));
        }
    }
    for tool in &mut request.tools {
        secrets.hide_joined(&mut [&mut tool.description]);
        // The name is kept: providers reject the characters of a marker, and a call must find its tool.
        walk::hide_free_json(secrets, &mut tool.parameters);
    }
}
