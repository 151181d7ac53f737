//! Models and thinking levels.

use sinew_llm::model::{Model, ThinkingLevel};
use sinew_llm::models::Selection;

use super::{Control, ControlError};
use crate::startup::Startup;

/// A change to another model.
pub struct ModelChange {
    /// The new model.
    pub model: Model,
    /// The thinking level with the new model.
    pub thinking: ThinkingLevel,
    /// True if the user named a list of models and this is one of them.
    pub is_scoped: bool,
}

/// The direction in the list of models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// The next model.
    Forward,
    /// The previous model.
    Backward,
}

impl Control {
    /// Returns the available models.
    pub fn models(&self) -> Vec<Model> {
        self.app.models.available()
    }

    /// Changes to a model.
    ///
    /// # Errors
    /// Returns an error if the model is unknown, or if no key for it is configured.
    pub async fn set_model(&self, provider: &str, id: &str) -> Result<Model, ControlError> {
        let models = &self.app.models;
        let is_it = |model: &Model| model.provider == provider && model.id == id;
        let Some(model) = models.available().into_iter().find(is_it) else {
            let reason = match models.registry().models().iter().any(is_it) {
                true => format!("No key for {provider}: set one up, or choose another model"),
                false => format!("Model not found: {provider}/{id}; get_available_models lists them"),
            };
            return Err(reason.into());
        };
        let reached = models.connect(model).await?;
        let model = reached.model.clone();
        self.session().agent.set_model(reached, None);
        Ok(model)
    }

    /// Changes to the next or previous model of `--models`, or else of `enabledModels`, or else of all available ones.
    /// Returns `None` if there is no other model.
    ///
    /// # Errors
    /// Returns an error if the model is not available.
    pub async fn cycle_model(&self, turn: Turn) -> Result<Option<ModelChange>, ControlError> {
        let models = &self.app.models;
        let Startup { args, settings, .. } = &self.app.startup;
        let globs = args.model.scope.clone().unwrap_or_else(|| settings.enabled_models.clone());
        let is_scoped = !globs.is_empty();
        let list = match is_scoped {
            true => models.matching(&globs),
            false => {
                let all = models.available().into_iter();
                all.map(|model| Selection { model, level: None, warning: None }).collect()
            }
        };
        if list.len() < 2 {
            return Ok(None);
        }
        let agent = &self.session().agent;
        let current = agent.model().model.key();
        let at = list.iter().position(|selection| selection.model.key() == current);
        let step = match turn {
            Turn::Forward => 1,
            Turn::Backward => list.len() - 1,
        };
        let next = &list[at.map_or(0, |at| (at + step) % list.len())];
        let reached = models.connect(next.model.clone()).await?;
        let model = reached.model.clone();
        agent.set_model(reached, None);
        if let Some(level) = next.level {
            agent.set_thinking(level);
        }
        Ok(Some(ModelChange { model, thinking: agent.thinking(), is_scoped }))
    }

    /// Returns the levels that the current model supports; only `off` if it does not support thinking.
    pub fn thinking_levels(&self) -> Vec<ThinkingLevel> {
        levels(&self.session().agent.model().model)
    }

    /// Sets the thinking level, and returns the effective one: the closest supported level that is not higher.
    pub fn set_thinking(&self, level: ThinkingLevel) -> ThinkingLevel {
        let agent = &self.session().agent;
        agent.set_thinking(level);
        agent.thinking()
    }

    /// Changes to the next supported level; `None` if the model does not support thinking.
    pub fn cycle_thinking(&self) -> Option<ThinkingLevel> {
        let agent = &self.session().agent;
        let model = agent.model().model;
        if !model.reasoning {
            return None;
        }
        let known = levels(&model);
        let current = agent.thinking();
        let at = known.iter().position(|level| *level == current).unwrap_or(0);
        let next = known[(at + 1) % known.len()];
        agent.set_thinking(next);
        Some(next)
    }
}

fn levels(model: &Model) -> Vec<ThinkingLevel> {
    match model.reasoning {
        true => ThinkingLevel::ALL.into_iter().filter(|level| model.knows_level(*level)).collect(),
        false => vec![ThinkingLevel::Off],
    }
}
