//! An agent made of flags, settings, a session, a model and tools; then the mode that shows it.
//!
//! What belongs to the program is an [`Assembly`]; what belongs to a session is an [`Open`] of it. An assembly opens as
//! many sessions as are asked for, one after another.

mod system;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use sinew_agent::agent::{AgentSession, Budget, Parts, Reached};
use sinew_agent::artifacts::Artifacts;
use sinew_agent::clock::{Clock, SystemClock};
use sinew_agent::core::Toolset;
use sinew_agent::extension::{Context, Extension};
use sinew_agent::session::{Body, Context as Conversation, Defaults, Session};
use sinew_agent::settings::Settings;
use sinew_agent::tool::Tool;
use sinew_agent::tools::{self, Ask, Host, HostOptions, Shells};
use sinew_llm::error::ErrorKind;
use sinew_llm::model::ThinkingLevel;
use tokio_util::sync::CancellationToken;

use crate::args::Args;
use crate::config::{Environment, Paths};
use crate::failure::Failure;
use crate::log::{Log, Timing};
use crate::models::{self, Chooser};
use crate::modes::{self, Look, Stdout, Task, slash};
use crate::resources::Loaded;
use crate::schema::Schema;
use crate::sessions::{Begun, Shelf};
use crate::{guards, prompt, resources, secrets};

/// Whether the model is reminded of its open items.
const REMINDERS: &str = "todo.reminders";

/// What the program was started with.
pub(crate) struct Start {
    pub(crate) args: Args,
    pub(crate) environment: Environment,
    pub(crate) paths: Paths,
    pub(crate) settings: Settings,
    /// Whether files of the project that start programs are used.
    pub(crate) trusted: bool,
    /// What the last answer must be.
    pub(crate) schema: Option<Schema>,
}

/// Everything that sessions of one program share.
pub(crate) struct Assembly {
    pub(crate) start: Start,
    pub(crate) shelf: Shelf,
    pub(crate) chooser: Arc<Chooser>,
    pub(crate) extensions: Vec<Arc<dyn Extension>>,
    pub(crate) clock: Arc<dyn Clock>,
    /// Who answers questions; none: nobody can be asked.
    ask: Option<Arc<dyn Ask>>,
    shells: Arc<Shells>,
    loaded: Mutex<Arc<Loaded>>,
    /// `--fallback-model`.
    fallback: Option<String>,
}

/// A session that is open, and what works on it.
pub(crate) struct Open {
    pub(crate) agent: AgentSession,
    pub(crate) host: Arc<Host>,
}

/// Who answers, and how much it thinks.
struct Chosen {
    reached: Reached,
    thinking: ThinkingLevel,
}

/// Runs the mode that the flags ask for and gives the exit code.
pub(crate) async fn run(mut start: Start, warnings: Vec<String>, timing: &mut Timing) -> Result<u8, Failure> {
    if start.args.value("mode") == Some("rpc") {
        return modes::rpc::run(start, warnings, timing).await;
    }
    let said = prompt::read(&start.args, &start.environment)?;
    let command = slash::find(&said.text())?;
    if let Some(name) = start.args.value("output-schema") {
        start.schema = Some(Schema::load(name, &start.paths.cwd)?);
    }
    if !start.settings.is_set(REMINDERS) {
        // Whoever is reminded of a list answers again, and a reader of stdout would have the answer twice.
        start.settings.set(REMINDERS, false.into());
    }
    let (assembly, open, mut warnings) = Assembly::begin(start, warnings, None).await?;
    let prompts = assembly.prompts(said, &open, &mut warnings)?;
    let Start { args, environment, settings, schema, .. } = &assembly.start;
    let look = Look {
        output: match (args.value("mode"), args.value("output"), schema) {
            (Some("json"), ..) => Stdout::Events,
            (_, Some("json"), _) => Stdout::Object,
            (_, _, Some(_)) => Stdout::Value,
            _ => Stdout::Text,
        },
        verbose: settings.flag("verbose"),
        whole: !environment.stdout,
        partials: environment.get("SINEW_PARTIALS") != Some("0"),
        tool_lines: environment.stdout || settings.flag("verbose"),
        colour: environment.colour(environment.stderr),
    };
    let task = Task { prompts, command, schema: schema.clone() };
    timing.mark("ready");
    Ok(modes::run(&assembly, open, task, warnings, look).await)
}

/// Whether somebody sits at a terminal and can be asked.
pub(crate) fn is_interactive(args: &Args, environment: &Environment) -> bool {
    let text = matches!(args.value("mode"), None | Some("text"));
    let answers = args.is_for_programs() || ["print", "list-models"].into_iter().any(|flag| args.has(flag));
    environment.stdin && environment.stdout && text && !answers
}

impl Assembly {
    /// Puts everything together and opens the session that the flags ask for; `warnings` and what there is to say
    /// besides come back. `ask` is who answers questions.
    ///
    /// # Errors
    /// What the flags ask for cannot be had: no model, no such session, a file that cannot be used.
    pub(crate) async fn begin(
        start: Start,
        mut warnings: Vec<String>,
        ask: Option<Arc<dyn Ask>>,
    ) -> Result<(Assembly, Open, Vec<String>), Failure> {
        let Start { args, environment, paths, settings, trusted, .. } = &start;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let secrets = secrets::find(environment, paths, settings, *trusted, &mut warnings);
        let shelf = Shelf::new(args, environment, paths, settings, &clock, secrets.mask());
        let mut begun = shelf.begin(args)?;
        warnings.append(&mut begun.warnings);
        let mut chooser = Chooser::read(args, environment, paths, settings, &secrets, begun.session.id())?;
        warnings.append(&mut chooser.warnings);
        let before = conversation(&begun.session, settings)?;
        let resumed = before.models.get("default").map(String::as_str);
        let chosen = chooser.first(args, resumed).await?;
        warnings.extend(chosen.warning);
        let mut reached = chooser.connect(chosen.model).await.map_err(|error| match error.kind {
            ErrorKind::Config | ErrorKind::Auth => Failure::config(error.message),
            _ => Failure::failed(error.message),
        })?;
        chooser.set_fallback(&reached.model);
        if args.has("max-cost") && !chooser.knows_price(&reached.model) {
            return Err(Failure::config(format!(
                "--max-cost: the price of {} is not known: set its cost in models.json, or choose another model",
                reached.model.key()
            )));
        }
        let fallback = chooser.fallback(args).await?;
        let flag = args.value("thinking").and_then(ThinkingLevel::parse);
        if let Some(level) = flag.or(chosen.level) {
            reached.model.accept_level(level).map_err(Failure::config)?;
        }
        let thinking =
            flag.or(chosen.level).or_else(|| ThinkingLevel::parse(&before.thinking_level)).unwrap_or_default();

        let mut extensions =
            guards::extensions(&start, &chooser.key_names(), ask.as_ref().map(Arc::clone), &mut warnings)?;
        if environment.get("SINEW_LOG") == Some("debug") {
            match Log::open(&paths.agent, &secrets) {
                Ok(log) => {
                    let version = env!("CARGO_PKG_VERSION");
                    log.line(&format!("sinew {version} begins: {} in {}", begun.session.id(), paths.cwd.display()));
                    extensions.insert(0, Arc::new(log));
                }
                Err(error) => warnings.push(format!("SINEW_LOG: {}: {error}", paths.agent.join("sinew.log").display())),
            }
        }
        let context = Context {
            cwd: paths.cwd.clone(),
            session: begun.session.id().to_string(),
            file: begun.session.path().map(Path::to_path_buf),
            has_ui: ask.is_some(),
            cancel: CancellationToken::new(),
        };
        let loaded = resources::load(args, paths, settings, *trusted, &extensions, &context, &mut warnings).await?;
        let loaded = Mutex::new(Arc::new(loaded));
        warnings.extend(unknown_tools(settings, &tool_names(&extensions)));
        let (chooser, shells) = (Arc::new(chooser), Arc::default());
        let assembly = Assembly { start, shelf, chooser, extensions, clock, ask, shells, loaded, fallback };
        let chosen = Chosen { reached, thinking };
        let open = assembly.put_together(begun.session, before, chosen, &mut warnings)?;
        Ok((assembly, open, warnings))
    }

    /// Opens another session. It goes on with the model that answered in it, if that can be reached, else with the one
    /// that answers in `current`.
    ///
    /// # Errors
    /// The session cannot be read, or a file that a flag names cannot be used.
    pub(crate) async fn open(
        &self,
        begun: Begun,
        current: &AgentSession,
        warnings: &mut Vec<String>,
    ) -> Result<Open, Failure> {
        warnings.extend(begun.warnings);
        let before = conversation(&begun.session, &self.start.settings)?;
        let mut reached = current.model();
        if let Some(key) = before.models.get("default").filter(|key| **key != reached.model.key()) {
            match self.chooser.again(key).await {
                Ok(found) => reached = found,
                Err(reason) => warnings.push(format!("{key}: {reason}; {} goes on", reached.model.key())),
            }
        }
        let thinking = match begun.session.is_empty() {
            true => current.thinking(),
            false => ThinkingLevel::parse(&before.thinking_level).unwrap_or_default(),
        };
        self.put_together(begun.session, before, Chosen { reached, thinking }, warnings)
    }

    fn put_together(
        &self,
        mut session: Session,
        before: Conversation,
        chosen: Chosen,
        warnings: &mut Vec<String>,
    ) -> Result<Open, Failure> {
        let Start { args, environment, paths, settings, .. } = &self.start;
        let failed = |error: sinew::base::Error| Failure::failed(error.message());
        let Chosen { reached, thinking } = chosen;
        let resumed = before.models.get("default").map(String::as_str);
        note(&mut session, resumed, &reached.model.key(), &before.thinking_level, thinking);

        let host = self.host(&session);
        if let Some(list) = session.todo().map_err(failed)? {
            host.restore_todo(&list);
        }
        let toolset = self.toolset(&host)?;
        let loaded = self.loaded();
        host.set_resources(Arc::clone(&loaded.resources));
        host.set_extensions(&self.extensions);
        let system = self.system(&toolset, warnings)?;
        let mut agent_settings = settings.agent();
        agent_settings.max_tokens = args.number("max-tokens").map_err(Failure::usage)?;
        agent_settings.http = models::http(environment, settings);
        agent_settings.fallback = self.fallback.clone();
        let limit = args.dollars("max-cost").map_err(Failure::usage)?;
        agent_settings.budget = limit.zip(self.chooser.meter()).map(|(limit, meter)| Budget { limit, meter });
        // The list of the tools goes with the tool: without it nobody could tick an item off.
        let todo = toolset.all().iter().any(|tool| tool.name() == "todo").then(|| Arc::clone(&host));
        let parts = Parts {
            session,
            reached,
            models: Arc::clone(&self.chooser) as Arc<_>,
            thinking,
            system,
            tools: toolset,
            extensions: self.extensions.clone(),
            settings: agent_settings,
            clock: Arc::clone(&self.clock),
            cwd: paths.cwd.clone(),
            has_ui: self.ask.is_some(),
            open_items: todo.map(|host| Arc::new(move || host.open_items()) as Arc<_>),
        };
        let agent = AgentSession::resume(parts, before);
        agent.set_stream_rules(loaded.rules());
        Ok(Open { agent, host })
    }

    /// Skills, commands, templates and rules as they were read last.
    pub(crate) fn loaded(&self) -> Arc<Loaded> {
        Arc::clone(&self.loaded.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads them anew.
    ///
    /// # Errors
    /// A flag names what is not there any more; what was read before stays.
    pub(crate) async fn reload(
        &self,
        agent: &AgentSession,
        warnings: &mut Vec<String>,
    ) -> Result<Arc<Loaded>, Failure> {
        let Start { args, paths, settings, trusted, .. } = &self.start;
        let context = self.context(agent);
        let loaded = resources::load(args, paths, settings, *trusted, &self.extensions, &context, warnings).await?;
        let loaded = Arc::new(loaded);
        *self.loaded.lock().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&loaded);
        Ok(loaded)
    }

    /// The system prompt that speaks of these tools.
    ///
    /// # Errors
    /// A file that a flag names cannot be read.
    pub(crate) fn system(&self, tools: &Toolset, warnings: &mut Vec<String>) -> Result<Vec<String>, Failure> {
        system::system(&self.start, tools, &self.loaded().resources, &*self.clock, warnings)
    }

    /// What commands of extensions know of a session.
    pub(crate) fn context(&self, agent: &AgentSession) -> Context {
        let session = agent.session();
        Context {
            cwd: self.start.paths.cwd.clone(),
            session: session.id().to_string(),
            file: session.path().map(Path::to_path_buf),
            has_ui: self.ask.is_some(),
            cancel: CancellationToken::new(),
        }
    }

    fn prompts(&self, said: prompt::Said, open: &Open, warnings: &mut Vec<String>) -> Result<prompt::Prompts, Failure> {
        let context = self.context(&open.agent);
        prompt::Prompts::new(said, &self.loaded(), &self.extensions, &open.host, context, &self.clock, warnings)
    }

    fn host(&self, session: &Session) -> Arc<Host> {
        let Start { args, environment, paths, settings, .. } = &self.start;
        let offline = args.has("offline") || environment.is_on("SINEW_OFFLINE");
        let own = settings.tools();
        let artifacts = session.artifacts().map_or_else(Artifacts::temporary, Artifacts::in_folder);
        let artifacts = artifacts.hiding(self.chooser.secrets());
        Host::new(HostOptions {
            cwd: paths.cwd.clone(),
            home: std::env::home_dir(),
            sinew: Arc::new(sinew::Sinew::in_environment(|name| environment.os(name))),
            companion: sinew::shell::Companion::new(std::env::current_exe().unwrap_or_else(|_| "sinew".into())),
            environment: environment.variables().to_vec(),
            artifacts: Arc::new(artifacts),
            http: models::http(environment, settings),
            ask: self.ask.as_ref().map(Arc::clone),
            console: None,
            shells: Arc::clone(&self.shells),
            settings: tools::Settings {
                ci: !environment.is_on("SINEW_BASH_NO_CI"),
                provider_keys: self.chooser.key_names(),
                pass_through: environment.passed(settings),
                fetch: own.fetch && !offline,
                // A name without a folder is looked up where commands are.
                bash: own
                    .bash
                    .map(|path| if path.starts_with("~") { paths.resolve(&path.to_string_lossy()) } else { path }),
                ..own
            },
        })
    }

    /// All tools that there are for a session, switched on or not.
    pub(crate) fn known_tools(&self, host: &Arc<Host>) -> Vec<Arc<dyn Tool>> {
        let all = tools::builtin(host).into_iter().chain(self.extension_tools());
        // Of two with one name the first counts, here as for the model.
        Toolset::new(all).0.all().to_vec()
    }

    fn extension_tools(&self) -> impl Iterator<Item = Arc<dyn Tool>> {
        self.extensions.iter().flat_map(|extension| extension.tools())
    }

    /// The tools that the flags and settings leave.
    ///
    /// # Errors
    /// A flag names a tool that does not exist.
    pub(crate) fn toolset(&self, host: &Arc<Host>) -> Result<Toolset, Failure> {
        let Start { args, settings, .. } = &self.start;
        let known = tool_names(&self.extensions);
        for flag in ["tools", "exclude-tools"] {
            let named = args.list(flag).unwrap_or_default();
            if args.has(flag) && named.is_empty() {
                return Err(Failure::usage(format!("--{flag} names no tool; --no-tools offers none")));
            }
            if let Some(unknown) = named.iter().find(|name| !known.contains(name)) {
                return Err(Failure::usage(format!("--{flag} {unknown}: unknown tool; known: {}", known.join(", "))));
            }
        }
        if args.has("no-tools") {
            return Ok(Toolset::default());
        }
        let offered = match args.has("no-builtin-tools") {
            true => self.extension_tools().collect(),
            false => self.known_tools(host),
        };
        let only = args.list("tools").unwrap_or_else(|| settings.texts("tools"));
        let without = args.list("exclude-tools").unwrap_or_else(|| settings.texts("excludeTools"));
        let has = |list: &[String], tool: &Arc<dyn Tool>| list.iter().any(|name| name == tool.name());
        let kept = offered.into_iter().filter(|tool| {
            let named = has(&only, tool);
            (only.is_empty() && !tool.flags().default_inactive || named) && !has(&without, tool)
        });
        Ok(Toolset::new(kept).0)
    }
}

/// What the model has seen of a session, and what was set in it.
fn conversation(session: &Session, settings: &Settings) -> Result<Conversation, Failure> {
    let defaults = Defaults { thinking_level: settings.text("defaultThinkingLevel").unwrap_or_default() };
    session.context(&defaults).map_err(|error| Failure::failed(error.message()))
}

/// Says in the session which model answers and how much it thinks, where that is new.
fn note(session: &mut Session, resumed: Option<&str>, model: &str, level: &str, thinking: ThinkingLevel) {
    let fresh = session.is_empty();
    if fresh || resumed != Some(model) {
        let body = Body::ModelChange { model: model.into(), role: None, provider: None, model_id: None };
        // A session that cannot be written says so when the prompt is.
        let _ = session.append(body);
    }
    if fresh || level != thinking.as_str() {
        let _ = session.append(Body::ThinkingLevelChange { thinking_level: thinking.as_str().into() });
    }
}

/// The names of the built-in tools, on or off, and of those that extensions bring.
fn tool_names(extensions: &[Arc<dyn Extension>]) -> Vec<String> {
    let brought = extensions.iter().flat_map(|extension| extension.tools());
    tools::names().map(str::to_string).chain(brought.map(|tool| tool.name().to_string())).collect()
}

/// What the settings name that is no tool, as warnings.
fn unknown_tools(settings: &Settings, known: &[String]) -> Vec<String> {
    let unknown = |name: &String| !known.contains(name);
    let named = |key: &'static str| settings.texts(key).into_iter().filter(unknown).map(move |name| (key, name));
    let list = known.join(", ");
    named("tools")
        .chain(named("excludeTools"))
        .map(|(key, name)| format!("{key}: unknown tool {name}; known: {list}"))
        .collect()
}
