//! Connects to models: the provider, the key, and the wrappers around each request.

use std::sync::Arc;

use sinew::base::{Error, ErrorCode, Result};
use sinew_agent::agent::{MeteredProvider, ModelResolver, ResolvedModel};
use sinew_llm::error::{ErrorInfo, ErrorKind};
use sinew_llm::http::HttpConfig;
use sinew_llm::model::Model;
use sinew_llm::provider::{Auth, Provider};
use sinew_llm::wire;
use sinew_session::clock::{Clock, SystemClock};
use sinew_session::secrets::HidingProvider;

use super::ModelSelector;
use crate::config::Environment;
use crate::settings::Settings;

impl ModelSelector {
    /// Connects to the model that a session used before, as `provider/id`.
    ///
    /// # Errors
    /// Returns an error if the model is unknown or not available.
    pub(crate) async fn again(&self, key: &str) -> Result<ResolvedModel, ErrorInfo> {
        let model = match &self.script {
            Some(script) => script.model(),
            None => self.select(key).map_err(|text| ErrorInfo::new(ErrorKind::Config, text))?.model,
        };
        self.connect(model).await
    }

    /// Connects to a model with its provider and a key.
    pub(crate) async fn connect(&self, mut model: Model) -> Result<ResolvedModel, ErrorInfo> {
        if let Some(script) = &self.script {
            let provider = self.hiding(Arc::new(script.clone()));
            return Ok(ResolvedModel { provider, model: script.model(), auth: Auth::None });
        }
        let config = |text: String| ErrorInfo::new(ErrorKind::Config, text);
        let registry = self.registry();
        let entry = registry.provider(&model.provider);
        let entry = entry.ok_or_else(|| config(format!("Provider not found: {}", model.provider)))?;
        let found = self.credentials.resolve(entry, &self.session, SystemClock.now()).await?;
        self.state.lock().used.insert(entry.id.clone(), found.index);
        model.headers = self.credentials.headers(&model.headers).await?;
        let provider = wire::provider(&model.api, self.client.clone()).ok_or_else(|| {
            let known: Vec<&str> = wire::apis().collect();
            config(format!("{}: unknown api \"{}\"; known: {}", model.key(), model.api, known.join(", ")))
        })?;
        if let Some(key) = found.auth.secret() {
            self.secrets.add_key(key.expose());
        }
        for (name, value) in &model.headers {
            let name = name.to_ascii_lowercase();
            if ["auth", "key", "token", "secret"].iter().any(|part| name.contains(part)) {
                self.secrets.add_key(value.strip_prefix("Bearer ").unwrap_or(value));
            }
        }
        Ok(ResolvedModel { provider: self.hiding(Arc::from(provider)), model, auth: found.auth })
    }

    /// Wraps a provider so that values are masked and, if there is a meter, costs are counted.
    fn hiding(&self, provider: Arc<dyn Provider>) -> Arc<dyn Provider> {
        let hiding: Arc<dyn Provider> = Arc::new(HidingProvider::new(provider, Arc::clone(&self.secrets)));
        match &self.meter {
            Some(meter) => Arc::new(MeteredProvider::new(hiding, Arc::clone(meter))),
            None => hiding,
        }
    }

    /// Does the same as [`ModelSelector::connect`] for callers that are not async.
    fn connect_now(&self, model: Model) -> Result<ResolvedModel, ErrorInfo> {
        tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(self.connect(model)))
    }
}

impl ModelResolver for ModelSelector {
    fn resolve(&self, pattern: &str) -> Result<ResolvedModel> {
        let model = match &self.script {
            // With a script, no other model is used, so nothing leaves the machine.
            Some(script) => script.model(),
            None => self.select(pattern).map_err(|text| Error::new(ErrorCode::NotFound, text))?.model,
        };
        self.connect_now(model).map_err(|error| Error::new(ErrorCode::Unsupported, error.message))
    }

    fn other_credential(&self, failed: &ResolvedModel, error: &ErrorInfo) -> Option<ResolvedModel> {
        let provider = &failed.model.provider;
        let index = self.state.lock().used.get(provider).copied()?;
        let (_, free) = self.credentials.pause(provider, index, error.retry_after_ms, SystemClock.now());
        let other = if free { self.connect_now(failed.model.clone()).ok() } else { None };
        other.filter(|other| other.auth != failed.auth)
    }

    fn larger(&self, current: &ResolvedModel) -> Option<ResolvedModel> {
        let target = self.registry().promotion_target(&current.model)?;
        self.connect_now(target).ok()
    }
}

/// Builds the options of connections.
pub fn http(environment: &Environment, settings: &Settings) -> HttpConfig {
    HttpConfig {
        connect_timeout: settings.connect_timeout(),
        idle_timeout: settings.idle_timeout(),
        stall_timeout: settings.idle_timeout(),
        proxies: environment.proxies(),
        ..HttpConfig::default()
    }
}
