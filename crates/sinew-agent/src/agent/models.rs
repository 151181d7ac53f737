//! Models that can be asked.

use std::sync::Arc;

use sinew::base::Result;
use sinew_llm::error::ErrorInfo;
use sinew_llm::model::Model;
use sinew_llm::provider::{Auth, Provider};

/// A model that can be asked: its provider, its facts, a key.
#[derive(Clone)]
pub struct ResolvedModel {
    /// The provider that speaks its protocol.
    pub provider: Arc<dyn Provider>,
    /// The model.
    pub model: Model,
    /// The key.
    pub auth: Auth,
}

/// Resolves models for a session.
pub trait ModelResolver: Send + Sync {
    /// The model that `pattern` means: `provider/id`, a part of an id, `role:<name>`.
    ///
    /// # Errors
    /// None or several fit, or the provider has no key.
    fn resolve(&self, pattern: &str) -> Result<ResolvedModel>;

    /// The same model by another credential, after one failed as `error` says.
    fn other_credential(&self, _failed: &ResolvedModel, _error: &ErrorInfo) -> Option<ResolvedModel> {
        None
    }

    /// A model with a larger window that may take over.
    fn larger(&self, _current: &ResolvedModel) -> Option<ResolvedModel> {
        None
    }
}
