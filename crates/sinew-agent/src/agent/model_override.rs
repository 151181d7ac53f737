//! Temporary use of another model, for one prompt.

use sinew_llm::model::ThinkingLevel;

use super::models::ResolvedModel;
use super::session::AgentSession;

/// The model and thinking level that were in use before the override.
#[must_use = "the session keeps the temporary model until it is restored"]
#[derive(Clone, Default)]
pub struct ModelOverride {
    model: Option<ResolvedModel>,
    thinking: Option<ThinkingLevel>,
}

impl AgentSession {
    /// Uses the model of a pattern or role, and a thinking level, until [`AgentSession::restore_model`]. If a model or
    /// level cannot be used, it emits a warning and the current one stays.
    pub async fn override_model(&self, model: Option<&str>, thinking: Option<&str>) -> ModelOverride {
        let mut before = ModelOverride::default();
        if let Some(pattern) = model {
            match self.models.resolve(pattern) {
                Ok(resolved) => {
                    before.model = Some(self.model());
                    self.set_model(resolved, Some("temporary"));
                }
                Err(error) => self.warn(format!("model {pattern}: {error}; using the session's model")).await,
            }
        }
        if let Some(word) = thinking {
            match ThinkingLevel::parse(word) {
                Some(level) => {
                    before.thinking = Some(self.live.turn().thinking);
                    self.set_thinking(level);
                }
                None => self.warn(format!("thinking {word}: unknown level; using the session's level")).await,
            }
        }
        before
    }

    /// Restores the model and thinking level from before the override.
    pub fn restore_model(&self, before: ModelOverride) {
        if let Some(model) = before.model {
            self.set_model(model, None);
        }
        if let Some(level) = before.thinking {
            self.set_thinking(level);
        }
    }
}
