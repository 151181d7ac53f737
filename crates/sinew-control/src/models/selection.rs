//! Selects a model by the flags, the session, the settings and the available keys.

use sinew_llm::error::ErrorKind;
use sinew_llm::model::{Model, ThinkingLevel};
use sinew_llm::models::Selection;
use sinew_session::Context as Conversation;

use super::{Choice, ModelSelector, absent};
use crate::args::{Args, ModelArgs};
use crate::failure::Failure;

/// The error of a start without a model.
pub(crate) const NO_MODEL: &str = "No model. Set one up in one of four ways: run sinew login; set a key such as ANTHROPIC_API_KEY, \
OPENAI_API_KEY or GEMINI_API_KEY; describe a server in models.json; or start Ollama and choose a model with --model ollama/<name>.";

impl ModelSelector {
    /// Selects and connects the first model and its thinking level. `before` is the conversation so far.
    ///
    /// # Errors
    /// Returns an error if there is no model, or if the requested one is unknown, has no key, or does not support the
    /// request.
    pub(crate) async fn choose(
        &mut self,
        args: &Args,
        before: &Conversation,
        warnings: &mut Vec<String>,
    ) -> Result<Choice, Failure> {
        let found = self.first(&args.model, before.models.get("default").map(String::as_str)).await?;
        warnings.extend(found.warning);
        let mut reached = self.connect(found.model).await.map_err(|error| match error.kind {
            ErrorKind::Config | ErrorKind::Auth => Failure::config(error.message),
            _ => Failure::failed(error.message),
        })?;
        self.state.lock().fallback = reached.model.key();
        if args.run.max_cost.is_some() && !self.knows_price(&reached.model) {
            return Err(Failure::config(format!(
                "--max-cost: the price of {} is not known: set its cost in models.json, or choose another model",
                reached.model.key()
            )));
        }
        let named = args.model.thinking.or(found.level);
        if let Some(level) = named {
            reached.model.accept_level(level).map_err(Failure::config)?;
        }
        let thinking = named.or_else(|| ThinkingLevel::parse(&before.thinking_level)).unwrap_or_default();
        Ok(Choice { reached, thinking })
    }

    /// Selects the placeholder for a missing model, in a mode in which a model can be configured. It answers every
    /// request with instructions.
    ///
    /// # Errors
    /// Returns `why` if the user named a model, a provider or a key, or if `why` is not a configuration error.
    pub(crate) fn choose_none(&self, args: &ModelArgs, before: &Conversation, why: Failure) -> Result<Choice, Failure> {
        let named = args.provider.is_some() || args.pattern.is_some() || args.scope.is_some() || args.api_key.is_some();
        if named || why.code != Failure::config("").code {
            return Err(why);
        }
        let thinking = args.thinking.or_else(|| ThinkingLevel::parse(&before.thinking_level)).unwrap_or_default();
        Ok(Choice { reached: absent::reached(), thinking })
    }

    /// Finds the first model: from the flags, the session, the settings, or the available keys.
    async fn first(&mut self, args: &ModelArgs, resumed: Option<&str>) -> Result<Selection, Failure> {
        if let Some(script) = &self.script {
            return Ok(Selection { model: script.model(), level: None, warning: None });
        }
        if let Some(found) = self.found(args.provider.as_deref(), args.pattern.as_deref()).await {
            return found.map_err(Failure::config);
        }
        if let Some(key) = resumed
            && let Some((provider, _)) = key.split_once('/')
            && self.has_key(provider)
            && let Ok(found) = self.select(key)
        {
            return Ok(found);
        }
        let from = args.scope.as_deref().unwrap_or_default();
        if let Some(first) = from
            .iter()
            .find_map(|glob| self.registry().select_all(glob, &|provider| self.has_key(provider)).into_iter().next())
        {
            return Ok(first);
        }
        if let Some(pattern) = from.first() {
            return Err(Failure::config(format!("--models {pattern}: no model matches; see sinew --list-models")));
        }
        let (provider, model) = (self.settings.default_provider.clone(), self.settings.default_model.clone());
        if let Some(found) = self.found(provider.as_deref(), model.as_deref()).await {
            return found.map_err(Failure::config);
        }
        if let Some(model) = self.registry().first_with_key(&|provider| self.has_own_key(provider)) {
            return Ok(Selection { model, level: None, warning: None });
        }
        self.ask(&["ollama".to_string()]).await;
        match self.registry().default_model("ollama") {
            Some(model) => Ok(Selection { model, level: None, warning: None }),
            None => Err(Failure::config(NO_MODEL)),
        }
    }

    /// Selects the model of `defaultProvider` and `defaultModel`.
    pub(super) fn preset(&self) -> Option<Result<Selection, String>> {
        let (provider, model) = (&self.settings.default_provider, &self.settings.default_model);
        self.of_provider(provider.as_deref(), model.as_deref())
    }

    pub(super) fn of_provider(&self, provider: Option<&str>, model: Option<&str>) -> Option<Result<Selection, String>> {
        let Some(id) = provider else { return Some(self.select(model?)) };
        let registry = self.registry();
        let Some(entry) = registry.provider(id) else {
            let known: Vec<&str> = registry.providers().iter().map(|entry| entry.id.as_str()).collect();
            return Some(Err(format!("Provider not found: {id}. Known: {}", known.join(", "))));
        };
        Some(match model {
            Some(model) if model.starts_with(&format!("{}/", entry.id)) => self.select(model),
            // Only the model of the named provider, even if others have one with this name.
            Some(model) => self.select(&format!("{}/{model}", entry.id)),
            None => match registry.default_model(&entry.id) {
                Some(model) => Ok(Selection { model, level: None, warning: None }),
                None => Err(format!("provider {id} has no known models: name one with --model")),
            },
        })
    }

    pub(super) fn select(&self, pattern: &str) -> Result<Selection, String> {
        let pattern = match pattern.strip_prefix("role:") {
            Some(role) => match self.role(role) {
                meant if meant.is_empty() => {
                    return Err(format!(
                        "role:{role} is not set: set modelRoles.{role} or modelRoles.default in settings.json"
                    ));
                }
                meant => meant,
            },
            None => pattern.to_string(),
        };
        self.registry().select(&pattern, &|provider| self.has_key(provider)).map_err(|error| {
            let hint = if error.similar.is_empty() { " See sinew --list-models" } else { "" };
            format!("{error}{hint}")
        })
    }

    fn role(&self, name: &str) -> String {
        let of = |role: &str| self.settings.model_roles.get(role).cloned();
        of(name).or_else(|| of("default")).unwrap_or_else(|| self.state.lock().fallback.clone())
    }

    /// Selects the model that `provider` and `model` name. Without an exact match, requests the lists of the servers
    /// that may offer the model; otherwise renews an expired list in the background.
    async fn found(&mut self, provider: Option<&str>, model: Option<&str>) -> Option<Result<Selection, String>> {
        let mut found = self.of_provider(provider, model)?;
        let unsure = found.as_ref().map_or(true, |found| found.warning.is_some());
        if unsure {
            let named = match &found {
                Ok(found) => vec![found.model.provider.clone()],
                Err(_) => provider.map_or_else(|| self.wanted(), |provider| vec![provider.to_string()]),
            };
            let asked = self.ask(&named).await;
            if !asked.is_empty() {
                found = self.of_provider(provider, model)?;
            }
            // Explains why the named server does not have the model.
            if let (Err(text), Some(_)) = (&mut found, provider)
                && let Some(bad) = asked.iter().find(|asked| !asked.good)
            {
                text.push_str(&format!(" ({})", bad.text));
            }
        }
        let registry = self.registry();
        if let Ok(found) = &found
            && let Some(entry) = registry.provider(&found.model.provider)
            && entry.discovery_wanted
            && !self.offline
            && !self.answers.lock().has(entry)
        {
            self.answers.lock().ask_later(entry.clone(), &self.credentials, &self.client);
        }
        Some(found)
    }

    /// Checks that the model of `--fallback-model` is available, and returns its pattern.
    ///
    /// # Errors
    /// Returns an error if the model is unknown or has no key.
    pub(crate) async fn check_fallback(&mut self, args: &ModelArgs) -> Result<Option<String>, Failure> {
        let Some(pattern) = &args.fallback else { return Ok(None) };
        let wrong = |reason: String| Failure::config(format!("--fallback-model {pattern}: {reason}"));
        if self.script.is_none()
            && let Some(found) = self.found(None, Some(pattern)).await
        {
            self.connect(found.map_err(wrong)?.model).await.map_err(|error| wrong(error.message))?;
        }
        Ok(Some(pattern.to_string()))
    }

    /// Returns true if the price of `model` is known, or if there is no cost limit.
    fn knows_price(&self, model: &Model) -> bool {
        let cost = &model.cost;
        let priced = [cost.input, cost.output, cost.cache_read, cost.cache_write].iter().any(|price| *price > 0.0);
        let free = self.registry().provider(&model.provider).is_none_or(|entry| entry.keyless);
        priced || free || self.script.is_some()
    }
}
