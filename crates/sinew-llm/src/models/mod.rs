//! Providers and models: the built-in table, the user's `models.json`, and the lists of servers.

mod catalogue;
mod discovery;
mod file;
mod select;
mod table;

pub use discovery::{CACHE_MS, DiscoveredModel, Discovery, DiscoveryCache, DiscoveryKind, DiscoveryState, discover};
pub use file::{FileError, plain_json};
pub use select::{NotFound, Selection};

use std::sync::OnceLock;

use serde_json::{Map, Value};

use crate::model::{Compat, Cost, Model};
use file::{AuthKind, ModelConfig, ProviderConfig};

/// A provider: its base URL and its authentication.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ProviderEntry {
    /// The id.
    pub id: String,
    /// An alternative name; `None` without one.
    pub alias: Option<String>,
    /// The protocol of its models, unless a model has a different one.
    pub api: String,
    /// The base URL of the server, without a trailing slash.
    pub base_url: String,
    /// Environment variables that may contain the key, in order.
    pub env: Vec<String>,
    /// The `apiKey` of `models.json`: the name of a variable, a literal, or `!command`; `None` without one.
    pub api_key: Option<String>,
    /// True if no key is needed, although one may be set.
    pub keyless: bool,
    /// True if the key is sent as `Authorization: Bearer`.
    pub auth_header: bool,
    /// Headers of each request; values as in [`ProviderEntry::api_key`].
    pub headers: Vec<(String, String)>,
    /// How to request its models; `None` if that is not supported.
    pub discovery: Option<DiscoveryKind>,
    /// True if `models.json` enables discovery; other servers are only asked when they are named.
    pub discovery_wanted: bool,
    /// The `oauth` object of `models.json`; `None` without one.
    pub oauth: Option<Value>,
    /// Differences between its server and the protocol; a model's own `compat` overrides them.
    pub compat: Compat,
    overrides: Map<String, Value>,
}

impl ProviderEntry {
    /// Creates a model with defaults, before anything is known about it.
    fn plain(&self, id: &str) -> Model {
        Model {
            id: id.to_string(),
            name: id.to_string(),
            provider: self.id.clone(),
            api: self.api.clone(),
            base_url: self.base_url.clone(),
            headers: self.headers.clone(),
            ..Model::default()
        }
    }

    /// Creates a model of the built-in table.
    fn listed(&self, row: &table::Row) -> Model {
        let mut model = self.plain(row.id);
        row.apply(&mut model);
        // A custom base URL uses the protocol that the user specifies.
        if let Some(api) = row.api().filter(|_| self.is_builtin_api()) {
            model.api = api.to_string();
        }
        file::merge_compat(&mut model.compat, &self.compat);
        self.override_model(&mut model);
        model
    }

    fn is_builtin_api(&self) -> bool {
        catalogue::PROVIDERS.iter().any(|row| row.id == self.id && row.api == self.api)
    }

    /// Creates a model that `models.json` describes: only the restrictions on requests are copied from the table,
    /// because the file cannot contain them.
    fn described(&self, own: &ModelConfig) -> Model {
        let mut model = self.plain(&own.id);
        if let Some((_, row)) = table::relative(&self.id, &own.id) {
            row.apply_rules(&mut model);
        }
        file::merge_compat(&mut model.compat, &self.compat);
        own.apply(&mut model);
        model
    }

    /// Creates a model that is in no table, with the properties of the newest known model of its family. Also returns
    /// that model. If there is none, the result is [`Model::unknown`].
    fn unlisted(&self, id: &str) -> (Model, Option<String>) {
        let mut model = self.plain(id);
        let relative = if self.has_own_models() { None } else { table::relative(&self.id, id) };
        match &relative {
            Some((_, row)) => row.apply(&mut model),
            None => model.unknown = true,
        }
        // The restrictions of a user-defined gateway are unknown.
        if !catalogue::PROVIDERS.iter().any(|row| row.id == self.id) {
            model.cost = Cost::default();
        }
        file::merge_compat(&mut model.compat, &self.compat);
        self.override_model(&mut model);
        (model, relative.map(|(section, row)| format!("{section}/{}", row.id)))
    }

    /// Returns true for servers that run models themselves, with their own sizes and formats, at no cost.
    fn has_own_models(&self) -> bool {
        matches!(self.id.as_str(), "ollama" | "vllm" | "lmstudio")
    }

    fn override_model(&self, model: &mut Model) {
        // An error in an override was reported with its position when the file was parsed.
        let own = self.overrides.get(&model.id).and_then(|own| serde_json::from_value::<ModelConfig>(own.clone()).ok());
        if let Some(own) = own {
            own.apply(model);
        }
    }
}

/// Returns the variables that may contain keys of the built-in providers.
pub fn builtin_key_variables() -> impl Iterator<Item = &'static str> {
    catalogue::PROVIDERS.iter().flat_map(|row| row.env.iter().copied())
}

/// All providers and models.
#[derive(Debug, Clone, Default)]
pub struct Registry {
    providers: Vec<ProviderEntry>,
    /// Models of `models.json` and of servers. They replace those of the table.
    own: Vec<OwnModel>,
    /// All models, created on demand.
    all: OnceLock<Vec<Model>>,
}

#[derive(Debug, Clone)]
struct OwnModel {
    model: Model,
    /// True if a server reported it; otherwise it is from `models.json`, which servers do not override.
    discovered: bool,
}

impl Registry {
    /// Creates a registry with the built-in providers and models. `variable` reads the environment:
    /// `ANTHROPIC_BASE_URL`, `OPENAI_BASE_URL`, `GOOGLE_GEMINI_BASE_URL`, `OPENROUTER_BASE_URL`, `OLLAMA_BASE_URL` and
    /// `OLLAMA_HOST` set a provider's base URL, unless a `models.json` does.
    #[must_use]
    pub fn builtin(variable: &dyn Fn(&str) -> Option<String>) -> Registry {
        let set = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        let entry = |row: &catalogue::ProviderRow| ProviderEntry {
            id: row.id.to_string(),
            alias: row.alias.map(str::to_string),
            api: row.api.to_string(),
            base_url: match row.id {
                "ollama" => {
                    set("OLLAMA_BASE_URL").or_else(|| set("OLLAMA_HOST")).map(|value| catalogue::ollama_url(&value))
                }
                _ => row.base_env.and_then(set).map(|value| catalogue::base_url(row, &value)),
            }
            .unwrap_or_else(|| row.base_url.to_string()),
            env: row.env.iter().map(|name| (*name).to_string()).collect(),
            keyless: row.local,
            discovery: match (row.id, row.local) {
                ("ollama", _) => Some(DiscoveryKind::Ollama),
                // OpenRouter has more models than any table can list.
                ("openrouter", _) => Some(DiscoveryKind::Openai),
                (_, local) => local.then_some(DiscoveryKind::Openai),
            },
            ..ProviderEntry::default()
        };
        Registry { providers: catalogue::PROVIDERS.iter().map(entry).collect(), ..Registry::default() }
    }

    /// Merges the text of a `models.json`, which may contain comments and trailing commas. A file with an error changes
    /// nothing.
    ///
    /// # Errors
    /// Returns the error with its position in `path`.
    pub fn merge_file(&mut self, text: &str, path: &str) -> Result<(), FileError> {
        for (id, config) in file::read(text, path)? {
            self.merge_provider(&id, &config);
        }
        Ok(())
    }

    fn merge_provider(&mut self, id: &str, config: &ProviderConfig) {
        self.all.take();
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
        if let Some(compat) = &config.compat {
            file::merge_compat(&mut entry.compat, compat);
        }
        file::put_headers(&mut entry.headers, &config.headers);
        entry.overrides.extend(config.model_overrides.clone());
        let entry = entry.clone();
        for OwnModel { model, .. } in self.own.iter_mut().filter(|own| own.model.provider == entry.id) {
            if config.base_url.is_some() {
                model.base_url.clone_from(&entry.base_url);
            }
            if config.api.is_some() {
                model.api.clone_from(&entry.api);
            }
            if let Some(compat) = &config.compat {
                file::merge_compat(&mut model.compat, compat);
            }
            file::put_headers(&mut model.headers, &config.headers);
            entry.override_model(model);
        }
        for own in &config.models {
            let mut model = entry.described(own);
            entry.override_model(&mut model);
            self.put(OwnModel { model, discovered: false });
        }
    }

    /// Adds the models of a server, which override the table; models of `models.json` are not changed. Overrides are
    /// applied.
    pub fn add_discovered(&mut self, discovery: &Discovery) {
        let Some(entry) = self.provider(&discovery.provider).cloned() else {
            return;
        };
        self.all.take();
        for found in &discovery.models {
            if self.own(&entry.id, &found.id).is_some_and(|own| !own.discovered) {
                continue;
            }
            let listed = table::row(&entry.id, &found.id).map(|row| entry.listed(&row));
            let mut model = listed.unwrap_or_else(|| entry.unlisted(&found.id).0);
            found.apply(&mut model);
            entry.override_model(&mut model);
            self.put(OwnModel { model, discovered: true });
        }
    }

    fn put(&mut self, own: OwnModel) {
        let (provider, id) = (&own.model.provider, &own.model.id);
        match self.own.iter_mut().find(|known| known.model.provider == *provider && known.model.id == *id) {
            Some(known) => *known = own,
            None => self.own.push(own),
        }
    }

    /// Returns the provider, id and name of the table's models.
    fn listed_ids(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        self.providers.iter().flat_map(|entry| {
            table::ids(&entry.id).map(|id| {
                let name = entry.overrides.get(id).and_then(|own| own.get("name")?.as_str());
                (entry.id.as_str(), id, name.unwrap_or(id))
            })
        })
    }

    /// Returns the provider, id and name of the models of `models.json` and servers.
    fn own_ids(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        self.own.iter().map(|OwnModel { model, .. }| (model.provider.as_str(), model.id.as_str(), model.name.as_str()))
    }

    fn own(&self, provider: &str, id: &str) -> Option<&OwnModel> {
        self.own.iter().find(|own| own.model.provider == provider && own.model.id == id)
    }

    /// Returns all models: built-in ones first, each provider's default before its others. The first call creates them,
    /// which needs some tenths of a millisecond.
    #[must_use]
    pub fn models(&self) -> &[Model] {
        self.all.get_or_init(|| {
            let listed = self.providers.iter().flat_map(|entry| {
                table::rows(&entry.id).map(move |row| match self.own(&entry.id, row.id) {
                    Some(own) => own.model.clone(),
                    None => entry.listed(&row),
                })
            });
            let own = self.own.iter().map(|own| &own.model);
            let more = own.filter(|model| table::row(&model.provider, &model.id).is_none());
            listed.chain(more.cloned()).collect()
        })
    }

    /// Returns all providers, in the order in which they are tried if no model is specified.
    #[must_use]
    pub fn providers(&self) -> &[ProviderEntry] {
        &self.providers
    }

    /// Returns a provider by its id or alias; `None` if there is none.
    #[must_use]
    pub fn provider(&self, id: &str) -> Option<&ProviderEntry> {
        self.providers.iter().find(|entry| entry.id == id || entry.alias.as_deref() == Some(id))
    }

    /// Returns a model by provider and id; `None` if there is none.
    #[must_use]
    pub fn find(&self, provider: &str, id: &str) -> Option<Model> {
        if let Some(own) = self.own(provider, id) {
            return Some(own.model.clone());
        }
        let entry = self.providers.iter().find(|entry| entry.id == provider)?;
        table::row(provider, id).map(|row| entry.listed(&row))
    }

    /// Returns the default model of a provider: the first of the table, otherwise the first known one; `None` without
    /// any.
    #[must_use]
    pub fn default_model(&self, provider: &str) -> Option<Model> {
        match table::rows(provider).next() {
            Some(row) => self.find(provider, row.id),
            None => self.own.iter().find(|own| own.model.provider == provider).map(|own| own.model.clone()),
        }
    }

    /// Returns the default model if none is specified: the first one of the first provider that needs a key and has
    /// one; `None` without one.
    #[must_use]
    pub fn first_with_key(&self, has_key: &dyn Fn(&str) -> bool) -> Option<Model> {
        let mut with_key = self.providers.iter().filter(|entry| !entry.keyless && has_key(&entry.id));
        with_key.find_map(|entry| self.default_model(&entry.id))
    }

    /// Returns the model to use when the context overflows: the smallest model of the same provider and protocol with a
    /// larger window, preferably of the same family, or the one that the model specifies. It supports the same kinds of
    /// input. `None` if there is none.
    #[must_use]
    pub fn promotion_target(&self, model: &Model) -> Option<Model> {
        if let Some(target) = &model.context_promotion_target {
            let named = target.split_once('/').and_then(|(provider, id)| self.find(provider, id));
            return named.or_else(|| self.find(&model.provider, target));
        }
        let larger = |other: &&Model| {
            other.provider == model.provider
                && other.api == model.api
                && other.context_window > model.context_window
                && (other.takes_images() || !model.takes_images())
        };
        let distance = |other: &&Model| (!table::is_family(&model.id, &other.id), other.context_window);
        self.models().iter().filter(larger).min_by_key(distance).cloned()
    }
}

#[cfg(test)]
mod tests;
