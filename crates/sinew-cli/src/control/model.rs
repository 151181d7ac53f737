//! Models and thinking levels.

use sinew_llm::model::{Model, ThinkingLevel};
use sinew_llm::models::Selection;

use super::{Control, ControlError};
use crate::startup::Startup;

/// A change to another model.
pub(crate) struct ModelChange {
    pub(crate) model: Model,
    pub(crate) thinking: ThinkingLevel,
    /// The model is one of a list that the user named.
    pub(crate) is_scoped: bool,
}

/// A way through the list of models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    Forward,
    Backward,
}

impl Control {
    /// The models that can answer.
    pub(crate) fn models(&self) -> Vec<Model> {
        self.app.models.available()
    }

    /// Changes to a model.
    ///
    /// # Errors
    /// It is not known, or there is no key for it.
    pub(crate) async fn set_model(&self, provider: &str, id: &str) -> Result<Model, ControlError> {
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

    /// Changes to the next model, or the one before: of those that `--models` names, else `enabledModels`, else of all that can answer.
    /// None where there is no other one.
    ///
    /// # Errors
    /// It cannot be reached.
    pub(crate) async fn cycle_model(&self, turn: Turn) -> Result<Option<ModelChange>, ControlError> {
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

    /// The levels that the current model knows; `off` alone where it cannot think.
    pub(crate) fn thinking_levels(&self) -> Vec<ThinkingLevel> {
        levels(&self.session().agent.model().model)
    }

    /// Sets the thinking level, and gives the one in force: the nearest below that the model knows.
    pub(crate) fn set_thinking(&self, level: ThinkingLevel) -> ThinkingLevel {
        let agent = &self.session().agent;
        agent.set_thinking(level);
        agent.thinking()
    }

    /// Changes to the next level that the model knows; None where it cannot think.
    pub(crate) fn cycle_thinking(&self) -> Option<ThinkingLevel> {
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
