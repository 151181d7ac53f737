//! The models and keys of a run.
//!
//! | module | purpose |
//! |---|---|
//! | `selection` | selects a model by the flags, the session, the settings and the available keys |
//! | `connection` | connects a model to its provider with a key |
//! | `discovery` | requests the models of servers and caches the answers |
//! | `key_command` | runs commands that print keys |
//! | `absent` | the placeholder for a missing model |

mod absent;
mod connection;
mod discovery;
mod key_command;
mod selection;

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::{Mutex, RwLock};
use sinew_agent::agent::{Meter, ResolvedModel};
use sinew_llm::credentials::{AuthFile, Credentials};
use sinew_llm::http::HttpClient;
use sinew_llm::model::{Model, ThinkingLevel};
use sinew_llm::models::{Registry, Selection};
use sinew_llm::provider::Secret;
use sinew_llm::scripted::{Script, ScriptedProvider, Variables};
use sinew_session::secrets::Secrets;

use crate::args::Args;
use crate::config::{Environment, Paths};
use crate::failure::Failure;
use crate::settings::Settings;
use crate::startup::Startup;
pub use absent::is_absent;
pub use connection::http;
use discovery::DiscoveryAnswers;
pub(crate) use selection::NO_MODEL;

/// Returns the key in a text.
///
/// # Errors
/// Returns the reason if the text contains no key.
pub fn checked_key(text: &str) -> Result<&str, &'static str> {
    let key = text.trim();
    if key.is_empty() {
        return Err("no key was entered");
    }
    // The characters that a header can contain; auth.json would interpret a leading `!` as a command.
    if !key.bytes().all(|byte| byte.is_ascii_graphic()) || key.starts_with('!') {
        return Err("not a valid key: a key is one word of letters, digits and punctuation");
    }
    Ok(key)
}

/// Selects models and connects to them. Contains all models and keys of a run.
pub struct ModelSelector {
    /// Replaced as a whole when a server has returned its models.
    registry: RwLock<Arc<Registry>>,
    credentials: Credentials,
    client: HttpClient,
    answers: Mutex<DiscoveryAnswers>,
    script: Option<ScriptedProvider>,
    settings: Settings,
    offline: bool,
    secrets: Arc<Secrets>,
    key_names: Vec<String>,
    /// Counts the cost of requests; `None` unless a program reads the output or there is a cost limit.
    meter: Option<Arc<Meter>>,
    /// The id that selects one of several keys of a provider.
    session: String,
    state: Mutex<State>,
    /// Warnings about models.json and auth.json.
    pub warnings: Vec<String>,
}

/// The selected model and its thinking level.
#[derive(Clone)]
pub(crate) struct Choice {
    pub(crate) reached: ResolvedModel,
    pub(crate) thinking: ThinkingLevel,
}

#[derive(Default)]
struct State {
    /// The model of roles that are not set.
    fallback: String,
    /// The index of the key that was last used, by provider.
    used: HashMap<String, usize>,
}

impl ModelSelector {
    /// Reads models.json and auth.json; faults in them become `warnings`.
    ///
    /// # Errors
    /// Returns an error if the script is invalid.
    pub fn read(startup: &Startup, secrets: &Arc<Secrets>, session: &str) -> Result<ModelSelector, Failure> {
        let Startup { args, environment, paths, settings, files, .. } = startup;
        let mut warnings = Vec::new();
        let mut registry = Registry::builtin(&|name| environment.get(name).map(str::to_string));
        if let Some(text) = files.models.text(&mut warnings) {
            let merged = registry.merge_file(text, &files.models.path.display().to_string());
            warnings.extend(merged.err().map(|error| error.to_string()));
        }
        let auth = match files.auth.text(&mut warnings).map(AuthFile::parse) {
            Some(Ok(auth)) => auth,
            Some(Err(reason)) => {
                warnings.push(format!("failed to read {:?}: {reason}", files.auth.path));
                AuthFile::default()
            }
            None => AuthFile::default(),
        };
        crate::secrets::add_keys(secrets, environment, &registry, &auth);
        let client = HttpClient::new(http(environment, settings));
        let variables = environment.clone();
        let look: sinew_llm::credentials::Environment = Arc::new(move |name| variables.get(name).map(str::to_string));
        let runner = key_command::runner(environment, &registry, settings, &paths.cwd);
        let credentials = |key| {
            Credentials::new(Arc::clone(&look), Arc::clone(&runner), auth.clone(), key)
                .with_renewal(client.clone(), files.auth.path.clone())
        };
        let script = script(args, environment, paths, session)?;
        let answers = DiscoveryAnswers::read(&paths.agent);
        answers.merge(&mut registry);
        let mut selector = ModelSelector {
            key_names: key_names(environment, &registry),
            meter: (args.is_for_programs() || args.run.max_cost.is_some()).then(Arc::default),
            registry: RwLock::new(Arc::new(registry)),
            credentials: credentials(None),
            client: client.clone(),
            answers: Mutex::new(answers),
            script,
            settings: settings.clone(),
            offline: startup.is_offline(),
            secrets: Arc::clone(secrets),
            session: session.to_string(),
            state: Mutex::default(),
            warnings,
        };
        if let Some(key) = &args.model.api_key {
            secrets.add_key(key.trim());
            let named = selector.of_provider(args.model.provider.as_deref(), args.model.pattern.as_deref());
            let chosen = named.or_else(|| selector.preset()).and_then(Result::ok);
            let provider = chosen
                .map(|chosen| chosen.model.provider)
                .ok_or_else(|| Failure::usage("--api-key needs a provider; add --provider or --model"))?;
            selector.credentials = credentials(Some((provider, Secret::new(key))));
        }
        Ok(selector)
    }

    /// Returns all providers and models that are known so far.
    pub fn registry(&self) -> Arc<Registry> {
        Arc::clone(&self.registry.read())
    }

    /// Returns the keys and logins.
    pub fn credentials(&self) -> &Credentials {
        &self.credentials
    }

    /// Returns the HTTP client of all requests.
    pub fn client(&self) -> &HttpClient {
        &self.client
    }

    /// Returns true if there is a key for a provider, or it needs none.
    pub fn has_key(&self, provider: &str) -> bool {
        self.registry().provider(provider).is_some_and(|entry| self.credentials.has(entry))
    }

    /// Returns true if the user has stored a key or a login for a provider.
    pub fn has_own_key(&self, provider: &str) -> bool {
        self.registry().provider(provider).is_some_and(|entry| self.credentials.has_key(entry))
    }

    /// Returns the values that are masked for providers, and in sessions and artifacts.
    pub fn secrets(&self) -> Arc<Secrets> {
        Arc::clone(&self.secrets)
    }

    /// Returns the names of variables that contain keys of providers.
    pub(crate) fn key_names(&self) -> Vec<String> {
        self.key_names.clone()
    }

    /// Returns the available models: those of providers that have a key or need none.
    pub fn available(&self) -> Vec<Model> {
        match &self.script {
            Some(script) => vec![script.model()],
            None => {
                let registry = self.registry();
                let models = registry.models().iter();
                models.filter(|model| self.has_key(&model.provider)).cloned().collect()
            }
        }
    }

    /// Returns the models that match globs, in the order of the globs, without duplicates.
    pub(crate) fn matching(&self, globs: &[String]) -> Vec<Selection> {
        let mut found: Vec<Selection> = Vec::new();
        for glob in globs {
            for selection in self.registry().select_all(glob, &|provider| self.has_key(provider)) {
                if found.iter().all(|known| known.model.key() != selection.model.key()) {
                    found.push(selection);
                }
            }
        }
        found
    }

    /// Returns the meter of costs; `None` unless a program reads the output or there is a cost limit.
    pub fn meter(&self) -> Option<Arc<Meter>> {
        self.meter.clone()
    }
}

fn key_names(environment: &Environment, registry: &Registry) -> Vec<String> {
    let named = registry.providers().iter().flat_map(|entry| entry.env.iter().cloned());
    named.chain(environment.keys.iter().cloned()).collect()
}

fn script(
    args: &Args,
    environment: &Environment,
    paths: &Paths,
    session: &str,
) -> Result<Option<ScriptedProvider>, Failure> {
    let Some(file) = args.model.script.as_deref().or_else(|| environment.get("SINEW_SCRIPT")) else { return Ok(None) };
    let text = std::fs::read_to_string(paths.cwd.join(file))
        .map_err(|error| Failure::config(format!("--script {file}: {error}")))?;
    let variables = Variables {
        cwd: paths.cwd.to_string_lossy().into_owned(),
        session_id: session.to_string(),
        env: environment.texts(),
    };
    let script = Script::parse(&text, &variables).map_err(|error| Failure::config(error.to_string()))?;
    Ok(Some(ScriptedProvider::new(script)))
}
