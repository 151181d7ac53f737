//! Models that are ready for requests.

use std::sync::Arc;

use sinew::base::Result;
use sinew_llm::error::ErrorInfo;
use sinew_llm::model::Model;
use sinew_llm::provider::{Auth, Provider};

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

    /// Returns a model with a larger context window to switch to; `None` if there is none.
    fn larger(&self, _current: &ResolvedModel) -> Option<ResolvedModel> {
        None
    }
}
