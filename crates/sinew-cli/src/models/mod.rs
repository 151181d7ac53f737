//! Selection of the model that answers, and its key.

mod discovery;

use std::collections::HashMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sinew::base::{Error, ErrorCode, Result};
use sinew_agent::agent::{Meter, Metered, Models, Reached};
use sinew_llm::credentials::{AuthFile, CommandRunner, Credentials};
use sinew_llm::error::{ErrorInfo, ErrorKind};
use sinew_llm::http::{HttpClient, HttpConfig};
use sinew_llm::model::{Model, ThinkingLevel};
use sinew_llm::models::{Registry, Selection};
use sinew_llm::provider::{Auth, Provider, Secret};
use sinew_llm::scripted::{Script, ScriptedProvider, Variables};
use sinew_llm::wire;
use sinew_session::Context as Conversation;
use sinew_session::clock::{Clock, SystemClock};
use sinew_session::secrets::{Hiding, Secrets};
use sinew_tools::child::Filter;

use crate::args::{Args, ModelArgs};
use crate::config::{Environment, Paths};
use crate::failure::Failure;
use crate::settings::Settings;
use crate::startup::Startup;
use discovery::{Answers, Asked};

const NO_MODEL: &str = "No model. Set one up in one of four ways: run sinew login; set a key such as ANTHROPIC_API_KEY, \
OPENAI_API_KEY or GEMINI_API_KEY; describe a server in models.json; or start Ollama and choose a model with --model ollama/<name>.";

/// Selects models and connects to them: all models and keys of a run.
pub(crate) struct ModelSelector {
    registry: Registry,
    credentials: Credentials,
    client: HttpClient,
    answers: Answers,
    script: Option<ScriptedProvider>,
    settings: Settings,
    offline: bool,
    secrets: Arc<Secrets>,
    key_names: Vec<String>,
    /// Counts what requests cost, where somebody wants to know.
    meter: Option<Arc<Meter>>,
    /// Decides between several keys of a provider.
    session: String,
    state: Mutex<State>,
    /// Faults of models.json and auth.json.
    pub(crate) warnings: Vec<String>,
}

/// The model that answers, and how much it thinks.
pub(crate) struct Choice {
    pub(crate) reached: Reached,
    pub(crate) thinking: ThinkingLevel,
}

#[derive(Default)]
struct State {
    /// The model that stands for a role that is not set.
    fallback: String,
    /// The index of the key that was used last, by provider.
    used: HashMap<String, usize>,
}

impl ModelSelector {
    /// Reads models.json and auth.json; what is broken in them is named in `warnings`.
    ///
    /// # Errors
    /// The script cannot be used.
    pub(crate) fn read(startup: &Startup, secrets: &Arc<Secrets>, session: &str) -> Result<ModelSelector, Failure> {
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
        let runner = runner(environment, &registry, settings, &paths.cwd);
        let credentials = |key| {
            Credentials::new(Arc::clone(&look), Arc::clone(&runner), auth.clone(), key)
                .with_renewal(client.clone(), files.auth.path.clone())
        };
        let script = script(args, environment, paths, session)?;
        let answers = Answers::read(&paths.agent);
        answers.merge(&mut registry);
        let mut selector = ModelSelector {
            key_names: key_names(environment, &registry),
            meter: (args.is_for_programs() || args.run.max_cost.is_some()).then(Arc::default),
            registry,
            credentials: credentials(None),
            client: client.clone(),
            answers,
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
            let chosen = named.or_else(|| selector.preset()).and_then(std::result::Result::ok);
            let provider = chosen.map(|chosen| chosen.model.provider).ok_or_else(|| {
                Failure::usage("--api-key: it is not clear for which provider; add --provider or --model")
            })?;
            selector.credentials = credentials(Some((provider, Secret::new(key))));
        }
        Ok(selector)
    }

    pub(crate) fn registry(&self) -> &Registry {
        &self.registry
    }

    pub(crate) fn credentials(&self) -> &Credentials {
        &self.credentials
    }

    pub(crate) fn client(&self) -> &HttpClient {
        &self.client
    }

    /// Returns true if there is a key for a provider, or none is needed.
    pub(crate) fn has_key(&self, provider: &str) -> bool {
        self.registry.provider(provider).is_some_and(|entry| self.credentials.has(entry))
    }

    fn has_own_key(&self, provider: &str) -> bool {
        self.registry.provider(provider).is_some_and(|entry| self.credentials.has_key(entry))
    }

    /// The values that are hidden from providers, sessions and artifacts.
    pub(crate) fn secrets(&self) -> Arc<Secrets> {
        Arc::clone(&self.secrets)
    }

    /// Names of variables that hold keys of providers.
    pub(crate) fn key_names(&self) -> Vec<String> {
        self.key_names.clone()
    }

    /// Chooses and connects the model to begin with, and how much it thinks. `before` is the conversation so far.
    ///
    /// # Errors
    /// There is no model, the one that was asked for is not known or cannot do what was asked, or has no key.
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
        self.state().fallback = reached.model.key();
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

    /// Finds the model to begin with: of the flags, of the session, of the settings, of the keys there are.
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
            .find_map(|glob| self.registry.select_all(glob, &|provider| self.has_key(provider)).into_iter().next())
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
        if let Some(model) = self.registry.first_with_key(&|provider| self.has_own_key(provider)) {
            return Ok(Selection { model, level: None, warning: None });
        }
        self.ask(&["ollama".to_string()]).await;
        match self.registry.default_model("ollama") {
            Some(model) => Ok(Selection { model, level: None, warning: None }),
            None => Err(Failure::config(NO_MODEL)),
        }
    }

    /// Selects the model of `defaultProvider` and `defaultModel`.
    fn preset(&self) -> Option<std::result::Result<Selection, String>> {
        let (provider, model) = (&self.settings.default_provider, &self.settings.default_model);
        self.of_provider(provider.as_deref(), model.as_deref())
    }

    fn of_provider(
        &self,
        provider: Option<&str>,
        model: Option<&str>,
    ) -> Option<std::result::Result<Selection, String>> {
        let Some(id) = provider else { return Some(self.select(model?)) };
        let Some(entry) = self.registry.provider(id) else {
            let known: Vec<&str> = self.registry.providers().iter().map(|entry| entry.id.as_str()).collect();
            return Some(Err(format!("Provider not found: {id}. Known: {}", known.join(", "))));
        };
        Some(match model {
            Some(model) if model.starts_with(&format!("{}/", entry.id)) => self.select(model),
            // The provider that was named, and no other that has such a model too.
            Some(model) => self.select(&format!("{}/{model}", entry.id)),
            None => match self.registry.default_model(&entry.id) {
                Some(model) => Ok(Selection { model, level: None, warning: None }),
                None => Err(format!("provider {id} has no model in the table: name one with --model")),
            },
        })
    }

    fn select(&self, pattern: &str) -> std::result::Result<Selection, String> {
        let pattern = match pattern.strip_prefix("role:") {
            Some(role) => match self.role(role) {
                meant if meant.is_empty() => {
                    return Err(format!(
                        "role:{role} is not set: put modelRoles.{role} or modelRoles.default into settings.json"
                    ));
                }
                meant => meant,
            },
            None => pattern.to_string(),
        };
        self.registry.select(&pattern, &|provider| self.has_key(provider)).map_err(|error| {
            let hint = if error.similar.is_empty() { " See sinew --list-models" } else { "" };
            format!("{error}{hint}")
        })
    }

    fn role(&self, name: &str) -> String {
        let of = |role: &str| self.settings.model_roles.get(role).cloned();
        of(name).or_else(|| of("default")).unwrap_or_else(|| self.state().fallback.clone())
    }

    /// Selects the model that the two name. Servers that could know it are asked first, or where no table knows it; an old
    /// answer is renewed while the run goes on.
    async fn found(
        &mut self,
        provider: Option<&str>,
        model: Option<&str>,
    ) -> Option<std::result::Result<Selection, String>> {
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
            // Why a server that was named does not know the model.
            if let (Err(text), Some(_)) = (&mut found, provider)
                && let Some(bad) = asked.iter().find(|asked| !asked.good)
            {
                text.push_str(&format!(" ({})", bad.text));
            }
        }
        if let Ok(found) = &found
            && let Some(entry) = self.registry.provider(&found.model.provider)
            && entry.discovery_wanted
            && !self.offline
            && !self.answers.has(entry)
        {
            self.answers.ask_later(entry.clone(), &self.credentials, &self.client);
        }
        Some(found)
    }

    /// The providers that have to be asked for their models: those for which models.json says so, and
    /// Ollama where no other provider has a key.
    pub(crate) fn wanted(&self) -> Vec<String> {
        let keyless = !self.registry.providers().iter().any(|entry| self.has_own_key(&entry.id));
        let wanted =
            |entry: &&sinew_llm::models::ProviderEntry| entry.discovery_wanted || entry.id == "ollama" && keyless;
        self.registry.providers().iter().filter(wanted).map(|entry| entry.id.clone()).collect()
    }

    /// Returns true if models.json says that the provider has to be asked for its models.
    pub(crate) fn is_configured(&self, provider: &str) -> bool {
        self.registry.provider(provider).is_some_and(|entry| entry.discovery_wanted)
    }

    /// Asks servers for their models, unless the run is offline; answers what to tell the user of each that
    /// can be asked.
    pub(crate) async fn ask(&mut self, providers: &[String]) -> Vec<Asked> {
        if self.offline {
            return Vec::new();
        }
        let entries = providers.iter().filter_map(|id| self.registry.provider(id));
        let entries = entries.filter(|entry| entry.discovery.is_some()).cloned().collect();
        self.answers.ask(&mut self.registry, entries, &self.credentials, &self.client).await
    }

    /// The models that can answer: those of providers with a key, or with none to need.
    pub(crate) fn available(&self) -> Vec<Model> {
        match &self.script {
            Some(script) => vec![script.model()],
            None => {
                let models = self.registry.models().iter();
                models.filter(|model| self.has_key(&model.provider)).cloned().collect()
            }
        }
    }

    /// The models that globs mean, in their order, each once.
    pub(crate) fn matching(&self, globs: &[String]) -> Vec<Selection> {
        let mut found: Vec<Selection> = Vec::new();
        for glob in globs {
            for selection in self.registry.select_all(glob, &|provider| self.has_key(provider)) {
                if found.iter().all(|known| known.model.key() != selection.model.key()) {
                    found.push(selection);
                }
            }
        }
        found
    }

    /// The model that a session had, `provider/id`.
    ///
    /// # Errors
    /// It is not known, or cannot be reached.
    pub(crate) async fn again(&self, key: &str) -> std::result::Result<Reached, ErrorInfo> {
        let model = match &self.script {
            Some(script) => script.model(),
            None => self.select(key).map_err(|text| ErrorInfo::new(ErrorKind::Config, text))?.model,
        };
        self.connect(model).await
    }

    /// A model with its provider and a key.
    pub(crate) async fn connect(&self, mut model: Model) -> std::result::Result<Reached, ErrorInfo> {
        if let Some(script) = &self.script {
            let provider = self.hiding(Arc::new(script.clone()));
            return Ok(Reached { provider, model: script.model(), auth: Auth::None });
        }
        let config = |text: String| ErrorInfo::new(ErrorKind::Config, text);
        let entry = self.registry.provider(&model.provider);
        let entry = entry.ok_or_else(|| config(format!("Provider not found: {}", model.provider)))?;
        let found = self.credentials.resolve(entry, &self.session, SystemClock.now()).await?;
        self.state().used.insert(entry.id.clone(), found.index);
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
        Ok(Reached { provider: self.hiding(Arc::from(provider)), model, auth: found.auth })
    }

    fn hiding(&self, provider: Arc<dyn Provider>) -> Arc<dyn Provider> {
        let hiding: Arc<dyn Provider> = Arc::new(Hiding::new(provider, Arc::clone(&self.secrets)));
        match &self.meter {
            Some(meter) => Arc::new(Metered::new(hiding, Arc::clone(meter))),
            None => hiding,
        }
    }

    /// The meter of costs, where a flag asks for one.
    pub(crate) fn meter(&self) -> Option<Arc<Meter>> {
        self.meter.clone()
    }

    /// Checks that the model of `--fallback-model` can be reached, and gives its pattern.
    ///
    /// # Errors
    /// It is not known, or has no key.
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

    /// Returns true if the price of `model` is known, or nobody asks for money.
    fn knows_price(&self, model: &Model) -> bool {
        let cost = &model.cost;
        let priced = [cost.input, cost.output, cost.cache_read, cost.cache_write].iter().any(|price| *price > 0.0);
        let free = self.registry.provider(&model.provider).is_none_or(|entry| entry.keyless);
        priced || free || self.script.is_some()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// [`ModelSelector::connect`] for callers that cannot wait.
    fn connect_now(&self, model: Model) -> std::result::Result<Reached, ErrorInfo> {
        tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(self.connect(model)))
    }
}

impl Models for ModelSelector {
    fn reach(&self, pattern: &str) -> Result<Reached> {
        let model = match &self.script {
            // A script is the only one that answers: nothing leaves the machine.
            Some(script) => script.model(),
            None => self.select(pattern).map_err(|text| Error::new(ErrorCode::NotFound, text))?.model,
        };
        self.connect_now(model).map_err(|error| Error::new(ErrorCode::Unsupported, error.message))
    }

    fn other_credential(&self, failed: &Reached, error: &ErrorInfo) -> Option<Reached> {
        let provider = &failed.model.provider;
        let index = self.state().used.get(provider).copied()?;
        let (_, free) = self.credentials.pause(provider, index, error.retry_after_ms, SystemClock.now());
        let other = if free { self.connect_now(failed.model.clone()).ok() } else { None };
        other.filter(|other| other.auth != failed.auth)
    }

    fn larger(&self, current: &Reached) -> Option<Reached> {
        let target = self.registry.promotion_target(&current.model)?;
        self.connect_now(target).ok()
    }
}

/// Builds the options of connections.
pub(crate) fn http(environment: &Environment, settings: &Settings) -> HttpConfig {
    HttpConfig {
        connect_timeout: settings.connect_timeout(),
        idle_timeout: settings.idle_timeout(),
        stall_timeout: settings.idle_timeout(),
        proxies: environment.proxies(),
        ..HttpConfig::default()
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

/// The longest time that a command which prints a key may take.
const COMMAND_LIMIT: Duration = Duration::from_secs(10);

/// Runs the command behind a `!`, without the keys of providers in its environment.
fn runner(environment: &Environment, registry: &Registry, settings: &Settings, cwd: &Path) -> CommandRunner {
    let pass = environment.passed(settings);
    let keys = key_names(environment, registry);
    let variables = Filter { pass: &pass, keys: &keys }.apply(environment.variables());
    let cwd = cwd.to_path_buf();
    Arc::new(move |command: &str| {
        let mut child = Command::new("/bin/sh");
        child.arg("-c").arg(command).current_dir(&cwd).env_clear().envs(variables.iter().cloned());
        child.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Its own group, so that everything it started ends with it.
        std::os::unix::process::CommandExt::process_group(&mut child, 0);
        let child = child.spawn().map_err(|error| format!("cannot start: {error}"))?;
        let pid = child.id();
        let (tell, told) = std::sync::mpsc::channel();
        std::thread::spawn(move || tell.send(child.wait_with_output()));
        let Ok(output) = told.recv_timeout(COMMAND_LIMIT) else {
            if let Some(pid) = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw) {
                // It may have ended this very moment.
                let _ = rustix::process::kill_process_group(pid, rustix::process::Signal::KILL);
            }
            return Err(format!("no answer within {} s", COMMAND_LIMIT.as_secs()));
        };
        let output = output.map_err(|error| error.to_string())?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let said = said.lines().rev().map(str::trim).find(|line| !line.is_empty());
            let said = said.map(|line| format!(": {}", line.chars().take(200).collect::<String>()));
            return Err(format!("it ended with {}{}", output.status, said.unwrap_or_default()));
        }
        let text = String::from_utf8(output.stdout).map_err(|_| "its output is not UTF-8".to_string())?;
        match text.trim() {
            "" => Err("it wrote nothing".into()),
            text => Ok(text.to_string()),
        }
    })
}
