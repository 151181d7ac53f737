//! Which providers and models there are: a built-in table, the user's `models.json`, and what servers say.

mod catalogue;
mod discovery;
mod file;
mod select;

pub use discovery::{CACHE_MS, DiscoveredModel, Discovery, DiscoveryCache, DiscoveryKind, DiscoveryState, discover};
pub use file::{FileError, plain_json};
pub use select::{NotFound, Selection};

use serde_json::{Map, Value};

use crate::model::Model;
use file::{AuthKind, ModelConfig, ProviderConfig};

/// A provider: where it answers and how it knows its users.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ProviderEntry {
    /// The id.
    pub id: String,
    /// Another name for it.
    pub alias: Option<String>,
    /// The protocol of its models, unless a model says otherwise.
    pub api: String,
    /// Where it answers, without a slash at the end.
    pub base_url: String,
    /// Variables that may hold the key, the first first.
    pub env: Vec<String>,
    /// The `apiKey` of `models.json`: a variable's name, a literal, or `!command`.
    pub api_key: Option<String>,
    /// No key is needed, though one may be set.
    pub keyless: bool,
    /// The key goes into `Authorization: Bearer`.
    pub auth_header: bool,
    /// Headers of each request; values as [`ProviderEntry::api_key`].
    pub headers: Vec<(String, String)>,
    /// How to ask it for its models.
    pub discovery: Option<DiscoveryKind>,
    /// `models.json` says that it has to be asked; the others are asked when they are named.
    pub discovery_wanted: bool,
    /// The `oauth` object of `models.json`.
    pub oauth: Option<Value>,
    overrides: Map<String, Value>,
}

impl ProviderEntry {
    /// A model of this provider of which nothing is known but its id and what `modelOverrides` says of it.
    #[must_use]
    pub fn model(&self, id: &str) -> Model {
        let mut model = Model {
            id: id.to_string(),
            name: id.to_string(),
            provider: self.id.clone(),
            api: self.api.clone(),
            base_url: self.base_url.clone(),
            headers: self.headers.clone(),
            ..Model::default()
        };
        self.override_model(&mut model);
        model
    }

    fn override_model(&self, model: &mut Model) {
        // A fault in an override was named when the file was read, where it has a place.
        let own = self.overrides.get(&model.id).and_then(|own| serde_json::from_value::<ModelConfig>(own.clone()).ok());
        if let Some(own) = own {
            own.apply(model);
        }
    }
}

/// The variables that may hold keys of the built-in providers.
pub fn builtin_key_variables() -> impl Iterator<Item = &'static str> {
    catalogue::PROVIDERS.iter().flat_map(|row| row.env.iter().copied())
}

/// All providers and models.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Registry {
    providers: Vec<ProviderEntry>,
    models: Vec<Model>,
}

impl Registry {
    /// The built-in table. `ollama` is the value of `OLLAMA_BASE_URL`, where it is set.
    #[must_use]
    pub fn builtin(ollama: Option<&str>) -> Registry {
        let entry = |row: &catalogue::ProviderRow| ProviderEntry {
            id: row.id.to_string(),
            alias: row.alias.map(str::to_string),
            api: row.api.to_string(),
            base_url: row.base_url.to_string(),
            env: row.env.iter().map(|name| (*name).to_string()).collect(),
            keyless: row.local,
            discovery: match (row.id, row.local) {
                ("ollama", _) => Some(DiscoveryKind::Ollama),
                (_, local) => local.then_some(DiscoveryKind::Openai),
            },
            ..ProviderEntry::default()
        };
        let mut providers: Vec<ProviderEntry> = catalogue::PROVIDERS.iter().map(entry).collect();
        if let Some(base) = ollama.map(|base| base.trim().trim_end_matches('/')).filter(|base| !base.is_empty())
            && let Some(entry) = providers.iter_mut().find(|entry| entry.id == "ollama")
        {
            let base = if base.contains("://") { base.to_string() } else { format!("http://{base}") };
            entry.base_url = if base.ends_with("/v1") { base } else { format!("{base}/v1") };
        }
        Registry { providers, models: catalogue::models() }
    }

    /// Merges the text of a `models.json`. Comments and commas at the end of lists are allowed. A file with
    /// a fault changes nothing.
    ///
    /// # Errors
    /// The fault and its place in `path`.
    pub fn merge_file(&mut self, text: &str, path: &str) -> Result<(), FileError> {
        for (id, config) in file::read(text, path)? {
            self.merge_provider(&id, &config);
        }
        Ok(())
    }

    fn merge_provider(&mut self, id: &str, config: &ProviderConfig) {
        let at = self.providers.iter().position(|entry| entry.id == id || entry.alias.as_deref() == Some(id));
        let at = at.unwrap_or_else(|| {
            self.providers.push(ProviderEntry {
                id: id.to_string(),
                api: "openai-completions".into(),
                ..ProviderEntry::default()
            });
            self.providers.len() - 1
        });
        let entry = &mut self.providers[at];
        if let Some(base) = &config.base_url {
            entry.base_url = base.trim_end_matches('/').to_string();
        }
        if let Some(api) = &config.api {
            entry.api.clone_from(api);
        }
        if config.api_key.is_some() {
            entry.api_key.clone_from(&config.api_key);
        }
        if let Some(auth) = config.auth {
            entry.keyless = auth == AuthKind::None;
        }
        entry.auth_header = config.auth_header.unwrap_or(entry.auth_header);
        entry.discovery = config.discovery.as_ref().map(|discovery| discovery.kind).or(entry.discovery);
        entry.discovery_wanted |= config.discovery.is_some();
        if config.oauth.is_some() {
            entry.oauth.clone_from(&config.oauth);
        }
        file::put_headers(&mut entry.headers, &config.headers);
        entry.overrides.extend(config.model_overrides.clone());
        let entry = entry.clone();
        for model in self.models.iter_mut().filter(|model| model.provider == entry.id) {
            if config.base_url.is_some() {
                model.base_url.clone_from(&entry.base_url);
            }
            if config.api.is_some() {
                model.api.clone_from(&entry.api);
            }
            file::put_headers(&mut model.headers, &config.headers);
        }
        for own in &config.models {
            let mut model = entry.model(&own.id);
            own.apply(&mut model);
            self.put(model);
        }
        self.apply_overrides(&entry);
    }

    /// Adds what a server said; models that are known stay as they are. Overrides apply.
    pub fn add_discovered(&mut self, discovery: &Discovery) {
        let Some(entry) = self.provider(&discovery.provider).cloned() else {
            return;
        };
        for found in &discovery.models {
            if self.find(&entry.id, &found.id).is_none() {
                let mut model = entry.model(&found.id);
                model.context_window = found.context_window.unwrap_or(model.context_window);
                self.models.push(model);
            }
        }
        self.apply_overrides(&entry);
    }

    fn apply_overrides(&mut self, entry: &ProviderEntry) {
        self.models.iter_mut().filter(|model| model.provider == entry.id).for_each(|model| entry.override_model(model));
    }

    fn put(&mut self, model: Model) {
        match self.models.iter_mut().find(|known| known.provider == model.provider && known.id == model.id) {
            Some(known) => *known = model,
            None => self.models.push(model),
        }
    }

    /// All models: built-in ones first, each provider's default before its others.
    #[must_use]
    pub fn models(&self) -> &[Model] {
        &self.models
    }

    /// All providers, in the order in which they are tried when nothing is said.
    #[must_use]
    pub fn providers(&self) -> &[ProviderEntry] {
        &self.providers
    }

    /// A provider by its id or alias.
    #[must_use]
    pub fn provider(&self, id: &str) -> Option<&ProviderEntry> {
        self.providers.iter().find(|entry| entry.id == id || entry.alias.as_deref() == Some(id))
    }

    /// A model by provider and id.
    #[must_use]
    pub fn find(&self, provider: &str, id: &str) -> Option<&Model> {
        self.models.iter().find(|model| model.provider == provider && model.id == id)
    }

    /// The model to begin with when nothing is said: the first of the first provider that needs a key and
    /// has one.
    #[must_use]
    pub fn first_with_key(&self, has_key: &dyn Fn(&str) -> bool) -> Option<&Model> {
        let with_key = self.providers.iter().filter(|entry| !entry.keyless && has_key(&entry.id));
        with_key.into_iter().find_map(|entry| self.models.iter().find(|model| model.provider == entry.id))
    }

    /// The smallest model of the same provider and protocol with a larger window, or the one that the model
    /// names: where to go when the context overflows.
    #[must_use]
    pub fn promotion_target(&self, model: &Model) -> Option<&Model> {
        if let Some(target) = &model.context_promotion_target {
            let named = target.split_once('/').and_then(|(provider, id)| self.find(provider, id));
            return named.or_else(|| self.find(&model.provider, target));
        }
        let larger = |other: &&Model| {
            other.provider == model.provider && other.api == model.api && other.context_window > model.context_window
        };
        self.models.iter().filter(larger).min_by_key(|other| other.context_window)
    }
}

#[cfg(test)]
mod tests;
