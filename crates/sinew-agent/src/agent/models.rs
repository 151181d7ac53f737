//! Models that are ready for requests.

use std::sync::Arc;

use sinew::base::Result;
use sinew_llm::error::ErrorInfo;
use sinew_llm::model::Model;
use sinew_llm::provider::{Auth, Provider};
use sinew_tools::tool::Boxed;
use tokio_util::sync::CancellationToken;

/// A model that is ready for requests, with its provider and credential.
#[derive(Clone)]
pub struct ResolvedModel {
    /// The provider that implements its protocol.
    pub provider: Arc<dyn Provider>,
    /// The model.
    pub model: Model,
    /// The credential.
    pub auth: Auth,
}

/// The permit of an agent to work, if only some agents may work at the same time. While an agent waits before it repeats
/// a request, another one uses its permit.
pub trait WorkPermit: std::fmt::Debug + Send + Sync {
    /// Returns the permit.
    fn pause(&self);

    /// Waits for a permit again. Must be polled at least once after each [`WorkPermit::pause`].
    fn resume(&self) -> Boxed<'_, ()>;
}

/// Waits until `end` without a permit; returns early if the work is cancelled.
pub(super) async fn wait_without_permit(
    permit: Option<&dyn WorkPermit>,
    end: tokio::time::Instant,
    cancel: &CancellationToken,
) {
    if let Some(permit) = permit {
        permit.pause();
    }
    tokio::select! {
        () = tokio::time::sleep_until(end) => {}
        () = cancel.cancelled() => {}
    }
    if let Some(permit) = permit {
        tokio::select! {
            biased;
            () = permit.resume() => {}
            () = cancel.cancelled() => {}
        }
    }
}

/// Resolves models for a session.
pub trait ModelResolver: Send + Sync {
    /// Returns the model for `pattern`: `provider/id`, a part of an id, or `role:<name>`.
    ///
    /// # Errors
    /// Returns an error if no model or several models match, or if the provider has no key.
    fn resolve(&self, pattern: &str) -> Result<ResolvedModel>;

    /// Returns the same model with another credential after the first one failed; `None` if there is no other.
    fn other_credential(&self, _failed: &ResolvedModel, _error: &ErrorInfo) -> Option<ResolvedModel> {
        None
    }

    /// Returns what limits the number of agents that work at the same time; `None` if nothing does.
    fn permit(&self) -> Option<Arc<dyn WorkPermit>> {
        None
    }

    /// Returns a model with a larger context window to switch to; `None` if there is none.
    fn larger(&self, _current: &ResolvedModel) -> Option<ResolvedModel> {
        None
    }
}
