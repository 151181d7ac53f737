//! Another model for one prompt.

use sinew_llm::model::ThinkingLevel;

use super::models::Reached;
use super::session::AgentSession;

/// What was in use before; given back when the prompt is over.
#[must_use = "the session goes on with the borrowed model until it is given back"]
#[derive(Clone, Default)]
pub struct Borrowed {
    model: Option<Reached>,
    thinking: Option<ThinkingLevel>,
}

impl AgentSession {
    /// Uses the model that a pattern or role means, and a thinking level, until [`AgentSession::give_back_model`].
    /// What cannot be used is told as a warning, and what was in use stays.
    pub async fn borrow_model(&self, model: Option<&str>, thinking: Option<&str>) -> Borrowed {
        let mut before = Borrowed::default();
        if let Some(pattern) = model {
            match self.models.reach(pattern) {
                Ok(reached) => {
                    before.model = Some(self.model());
                    self.set_model(reached, Some("temporary"));
                }
                Err(error) => self.warn(format!("model {pattern}: {error}; the session's model answers")).await,
            }
        }
        if let Some(word) = thinking {
            match ThinkingLevel::parse(word) {
                Some(level) => {
                    before.thinking = Some(self.live.turn().thinking);
                    self.set_thinking(level);
                }
                None => self.warn(format!("thinking {word}: unknown level; the session's level holds")).await,
            }
        }
        before
    }

    /// Goes back to what was in use before.
    pub fn give_back_model(&self, before: Borrowed) {
        if let Some(model) = before.model {
            self.set_model(model, None);
        }
        if let Some(level) = before.thinking {
            self.set_thinking(level);
        }
    }
}
