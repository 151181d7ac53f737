//! Starts an app and opens its sessions.
//!
//! An [`App`] contains everything that the sessions of one program share; an [`OpenSession`] is one session with its
//! agent. An app can open any number of sessions, one after another or at the same time.

pub mod checkpoints;
pub(crate) mod child;
mod host;
mod system;
pub(crate) mod task;
#[cfg(test)]
pub(crate) mod tests;
pub(crate) mod tools;
pub(crate) mod workplace;

use std::path::Path;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use sinew_agent::agent::{AgentParts, AgentSession, AgentSettings, Amount, Budget};
use sinew_agent::context::{context_files, nested_context_files};
use sinew_agent::core::Toolset;
use sinew_agent::extension::{Context, Extension, path_policies};
use sinew_agent::mcp::extension::StartBehind;
use sinew_agent::mcp::{Manager, ServerHooks, SessionParts, SessionServers};
use sinew_agent::resource::Commands;
use sinew_agent::subagent::AgentDefinition;
use sinew_agent::undo::CheckpointStore;
use sinew_llm::model::ThinkingLevel;
use sinew_permissions::{OwnFiles, Views};
use sinew_session::clock::{Clock, SystemClock};
use sinew_session::{Body, Context as Conversation, Defaults, Session};
use sinew_tools::semantics::ToolKind;
use sinew_tools::{Ask, Host, Instructions, Question, Searches, Shells};

use crate::failure::Failure;
use crate::log;
use crate::models::{self, Choice, ModelSelector};
use crate::resources::{self, LoadedResources};
use crate::sandbox::Limits;
use crate::schema::Schema;
use crate::sessions::{SessionStore, StartedSession};
use crate::settings::Settings;
use crate::startup::Startup;
use crate::{extensions, mcp, secrets};
use workplace::ChildWorkspace;

/// The state that all sessions of a program share.
pub struct App {
    /// Arguments, environment and settings.
    pub startup: Startup,
    pub(crate) store: SessionStore,
    /// All models and keys.
    pub models: Arc<ModelSelector>,
    pub(crate) extensions: Vec<Arc<dyn Extension>>,
    /// The source of the time.
    pub clock: Arc<dyn Clock>,
    /// Answers questions; `None` if no user can be asked.
    ask: Option<Arc<dyn Ask>>,
    /// Sinew's own files, which tools must not use.
    own_files: Arc<OwnFiles>,
    /// The copies of the project in which children work.
    views: Arc<Views>,
    shells: Arc<Shells>,
    /// The limits of commands and tools.
    pub(crate) limits: Limits,
    /// The searches of files, which share indexes.
    pub searches: Arc<Searches>,
    /// The checkpoints of the working directory; `None` if they are disabled.
    pub(crate) checkpoints: Option<Arc<CheckpointStore>>,
    /// The MCP servers; each starts when it is first needed.
    pub mcp: Arc<Manager>,
    /// The agent that `--agent` names.
    agent: Option<AgentDefinition>,
    /// Runs the calls that start children.
    pub(crate) children: task::Children,
    resources: Mutex<Arc<LoadedResources>>,
    /// The pattern of `--fallback-model`.
    fallback: Option<String>,
}

/// The reaction of a start if no model is available.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoModel {
    /// The start fails.
    Fails,
    /// The program starts anyway, and the user configures a model later.
    #[cfg_attr(windows, expect(dead_code, reason = "Windows has no interactive mode"))]
    Waits,
}

/// An open session with its agent and its tools.
pub struct OpenSession {
    /// The agent with its conversation.
    pub agent: AgentSession,
    /// The services that the tools use.
    pub host: Arc<Host>,
    servers: Mutex<Option<Arc<SessionServers>>>,
    /// The copy of the project in which it works; `None` for the project itself.
    pub(crate) workplace: Option<Arc<ChildWorkspace>>,
}

impl OpenSession {
    /// Returns the tools of MCP servers; `None` if there are no servers.
    pub(crate) fn servers(&self) -> Option<Arc<SessionServers>> {
        self.servers.lock().clone()
    }
}

impl App {
    /// Runs the steps of a start in order (secrets, session, model, extensions, resources), then opens the session that
    /// the flags select. `ask` answers questions. Warnings are appended to `warnings`.
    ///
    /// # Errors
    /// Returns an error if a flag or setting cannot be satisfied: no model is available, the session does not exist, or
    /// a file cannot be used.
    pub async fn start(
        startup: Startup,
        ask: Option<Arc<dyn Ask>>,
        warnings: &mut Vec<String>,
    ) -> Result<(App, OpenSession), Failure> {
        App::start_with(startup, ask, NoModel::Fails, warnings).await
    }

    /// Does the same as [`App::start`]; `no_model` says whether a missing model is an error.
    ///
    /// # Errors
    /// Returns the errors of [`App::start`].
    pub async fn start_with(
        mut startup: Startup,
        ask: Option<Arc<dyn Ask>>,
        no_model: NoModel,
        warnings: &mut Vec<String>,
    ) -> Result<(App, OpenSession), Failure> {
        startup.check_settings()?;
        let agent = task::session_agent(&mut startup)?;
        let rules = extensions::check(&startup)?;
        let limits = Limits::new(&startup, &rules);
        limits.check(&startup, warnings)?;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let secrets = secrets::find(&startup)?;

        let store = SessionStore::new(&startup, &clock, secrets.mask());
        let started = store.start(&startup.args.session.choice)?;
        warnings.extend(started.warnings);
        let session = started.session;
        let before = conversation(&session, &startup.settings)?;

        let mut models = ModelSelector::read(&startup, &secrets, session.id())?;
        warnings.append(&mut models.warnings);
        let choice = match (models.choose(&startup.args, &before, warnings).await, no_model) {
            (Err(why), NoModel::Waits) => {
                let said = (why.message != models::NO_MODEL).then(|| why.message.clone());
                let choice = models.choose_none(&startup.args.model, &before, why)?;
                warnings.extend(said);
                choice
            }
            (choice, _) => choice.map_err(|failure| Failure { needs_model: failure.code == 3, ..failure })?,
        };
        let fallback = models.check_fallback(&startup.args.model).await?;

        let own_files = Arc::new(extensions::own_files(&startup));
        let views = Arc::<Views>::default();
        let guards =
            extensions::Guards { keys: &models.key_names(), secrets: &secrets, own_files: &own_files, views: &views };
        let mut extensions = extensions::load_all(&startup, &guards, ask.clone(), rules)?;
        extensions.splice(0..0, log::extension(&startup, &secrets, session.id(), warnings));

        let names = models.key_names();
        let reserved = tools::tool_names(&extensions);
        let context = context(&startup, &session, ask.is_some());
        let person = mcp::servers::ServerPrompter {
            ask: ask.clone(),
            hooks: Some(Arc::new(ServerHooks { extensions: extensions.clone(), context: context.clone() })),
        };
        let mcp = mcp::servers::manager(&startup, &names, person, Arc::clone(&clock), reserved, warnings)?;
        extensions.push(Arc::new(StartBehind(Arc::clone(&mcp))));
        mcp.start_required().await.map_err(Failure::config)?;

        let resources = resources::load(&startup, &extensions, &context, warnings).await?;
        warnings.extend(tools::unknown_tools(&startup.settings, &tools::tool_names(&extensions)));

        let searches = Arc::new(host::searches(&startup));
        let app = App {
            checkpoints: checkpoints::store(&startup, Some(searches.sinew())),
            searches,
            startup,
            store,
            models: Arc::new(models),
            extensions,
            clock,
            ask,
            own_files,
            views,
            shells: Arc::default(),
            limits,
            mcp,
            agent,
            children: task::Children::default(),
            resources: Mutex::new(Arc::new(resources)),
            fallback,
        };
        warnings.extend(app.agent_definitions().faults);
        let open = app.assemble(session, before, choice, warnings)?;
        Ok((app, open))
    }

    /// Opens another session. Uses the model that was recorded in it if that is available, and otherwise the model of
    /// `current`.
    ///
    /// # Errors
    /// Returns an error if the session cannot be read, or if a file named by a flag cannot be used.
    pub(crate) async fn open(
        &self,
        started: StartedSession,
        current: &AgentSession,
        warnings: &mut Vec<String>,
    ) -> Result<OpenSession, Failure> {
        warnings.extend(started.warnings);
        let session = started.session;
        let before = conversation(&session, &self.startup.settings)?;
        let mut reached = current.model();
        if let Some(key) = before.models.get("default").filter(|key| **key != reached.model.key()) {
            match self.models.again(key).await {
                Ok(found) => reached = found,
                Err(reason) => warnings.push(format!("{key}: {reason}; using {} instead", reached.model.key())),
            }
        }
        let thinking = match session.is_empty() {
            true => current.thinking(),
            false => ThinkingLevel::parse(&before.thinking_level).unwrap_or_default(),
        };
        self.assemble(session, before, Choice { reached, thinking }, warnings)
    }

    fn assemble(
        &self,
        mut session: Session,
        before: Conversation,
        choice: Choice,
        warnings: &mut Vec<String>,
    ) -> Result<OpenSession, Failure> {
        let failed = |error: sinew::base::Error| Failure::failed(error.message());
        record(&mut session, &before, &choice);

        let host = self.host(&session, None, None);
        if let Some(list) = session.todo(&sinew_tools::names_of(ToolKind::Plan).collect::<Vec<_>>()).map_err(failed)? {
            host.restore_todo(&list);
        }
        let only = self.agent.as_ref().and_then(|agent| agent.mcp.as_deref());
        let front = before.mcp_front.clone();
        let servers = self.servers(&mut session, &before, front, &host, &[], only);
        let toolset = self.toolset(&host, servers.as_ref())?;
        let loaded = self.equip(&host);
        let system = self.session_system(&toolset, servers.as_ref(), &host, warnings)?;
        // The todo list is only shown together with the tool that updates it.
        let todo = toolset.all().iter().any(|tool| tool.semantics().kind == ToolKind::Plan).then(|| Arc::clone(&host));
        let undo = self.checkpoints.as_ref().map(|store| checkpoints::recorder(store, session.id(), &host));
        let parts = AgentParts {
            open_items: todo.map(|host| Arc::new(move || host.open_items()) as Arc<_>),
            undo,
            ..self.agent_parts(session, choice, system, toolset)
        };
        let mut agent = AgentSession::resume(parts, before);
        agent.set_stream_rules(loaded.rules());
        agent.follow_servers(&self.mcp);
        Ok(OpenSession { agent, host, servers: Mutex::new(servers), workplace: None })
    }

    /// Gives the tools of a host the resources, the checks of paths and the context files. Returns the resources.
    fn equip(&self, host: &Host) -> Arc<LoadedResources> {
        let loaded = self.resources();
        host.set_resources(Arc::clone(&loaded.resources) as _);
        host.set_path_policies(path_policies(&self.extensions));
        if !self.startup.args.prompt.no_context_files {
            host.set_instructions(self.instructions());
        }
        loaded
    }

    /// Returns the parts of an agent, without a todo list, undo or a lane.
    fn agent_parts(&self, session: Session, choice: Choice, system: Vec<String>, tools: Toolset) -> AgentParts {
        AgentParts {
            session,
            resolved: choice.reached,
            models: Arc::clone(&self.models) as Arc<_>,
            thinking: choice.thinking,
            system,
            tools,
            extensions: self.extensions.clone(),
            settings: self.agent_settings(),
            clock: Arc::clone(&self.clock),
            cwd: self.startup.paths.cwd.clone(),
            has_ui: self.ask.is_some(),
            open_items: None,
            undo: None,
            lane: None,
            keep_record: None,
            cache_session: None,
            requester: None,
        }
    }

    /// Returns the settings of an agent, from the user's flags and settings.
    fn agent_settings(&self) -> AgentSettings {
        let Startup { args, environment, settings, .. } = &self.startup;
        let budget = args.run.max_cost.zip(self.models.meter());
        let budget = budget.map(|(limit, meter)| Budget { name: "--max-cost", limit: Amount::Cost(limit), meter });
        let mut own = AgentSettings {
            max_tokens: args.model.max_tokens,
            http: models::http(environment, settings),
            fallback: self.fallback.clone(),
            budgets: budget.into_iter().collect(),
            ..settings.agent()
        };
        if let (None, Some(turns)) = (args.run.max_turns, self.agent.as_ref().and_then(|agent| agent.max_turns)) {
            own.run.max_turns = turns;
        }
        own
    }

    /// Finds the context files in subdirectories of the session's directory.
    fn instructions(&self) -> Instructions {
        // Files of subdirectories were not checked for imports when the session began.
        let Startup { paths, trust_is_confirmed, .. } = &self.startup;
        let cwd = std::fs::canonicalize(&paths.cwd).unwrap_or_else(|_| paths.cwd.clone());
        let (home, trusted) = (std::env::home_dir(), *trust_is_confirmed);
        let (user, loaded) = ([paths.agent.clone(), paths.home.clone()], OnceLock::new());
        Arc::new(move |file| {
            let user: Vec<&Path> = user.iter().map(|folder| &**folder).collect();
            let loaded = loaded.get_or_init(|| context_files(&user, &cwd, home.as_deref(), trusted).files);
            let found = nested_context_files(&cwd, file, home.as_deref(), trusted, loaded);
            found.files.into_iter().map(|file| (file.path, file.text)).collect()
        })
    }

    /// Returns the tools of MCP servers for a session, with `front` in the cached prefix of its requests if that was
    /// chosen before. The selection is recorded in the session, so that it is the same when the session is opened again.
    fn servers(
        &self,
        session: &mut Session,
        before: &Conversation,
        front: Option<serde_json::Value>,
        host: &Host,
        without: &[String],
        only: Option<&[String]>,
    ) -> Option<Arc<SessionServers>> {
        let servers = self.session_servers(host, front, without, only)?;
        if before.mcp_tools.as_ref() != Some(&servers.names()) || before.mcp_front != Some(servers.record()) {
            record_front(session, Some(&servers));
        }
        Some(servers)
    }

    /// Recomputes which server tools are in the cached prefix of the session's requests, and records the result.
    /// Returns false if nothing changed.
    pub(crate) fn renew_servers(&self, open: &OpenSession) -> bool {
        let only = self.agent.as_ref().and_then(|agent| agent.mcp.as_deref());
        let renewed = self.session_servers(&open.host, None, &[], only);
        let front = |servers: Option<&Arc<SessionServers>>| servers.map(|servers| servers.record());
        if front(renewed.as_ref()) == front(open.servers().as_ref()) {
            return false;
        }
        record_front(&mut open.agent.session(), renewed.as_ref());
        *open.servers.lock() = renewed;
        true
    }

    fn session_servers(
        &self,
        host: &Host,
        recorded: Option<serde_json::Value>,
        without: &[String],
        only: Option<&[String]>,
    ) -> Option<Arc<SessionServers>> {
        if self.mcp.is_empty() {
            return None;
        }
        let Startup { args, settings, .. } = &self.startup;
        let mut excluded = args.tools.without.clone().unwrap_or_else(|| settings.exclude_tools.clone());
        excluded.extend_from_slice(without);
        Some(SessionServers::new(SessionParts {
            manager: Arc::clone(&self.mcp),
            artifacts: Arc::clone(host.artifacts()),
            secrets: Some(self.models.secrets()),
            resize: host.resizes_pictures(),
            excluded,
            only: only.map(<[String]>::to_vec),
            recorded,
        }))
    }

    /// Returns the skills, commands, templates and rules that were read last.
    pub fn resources(&self) -> Arc<LoadedResources> {
        Arc::clone(&self.resources.lock())
    }

    /// Reads the resources again.
    ///
    /// # Errors
    /// Returns an error if a file named by a flag does not exist any more; the previous resources then stay in force.
    pub(crate) async fn reload(
        &self,
        agent: &AgentSession,
        warnings: &mut Vec<String>,
    ) -> Result<Arc<LoadedResources>, Failure> {
        // Settings, rules and hooks are only read at the start. A fault in the current files is reported.
        let faults = extensions::faults_now(&self.startup);
        warnings
            .extend(faults.into_iter().map(|fault| format!("{fault}; the version read at the start stays in effect")));
        let loaded = resources::load(&self.startup, &self.extensions, &self.context(agent), warnings).await?;
        let loaded = Arc::new(loaded);
        *self.resources.lock() = Arc::clone(&loaded);
        Ok(loaded)
    }

    /// Builds the system prompt of a session for these tools, with the instructions of `--agent`.
    ///
    /// # Errors
    /// Returns an error if a file named by a flag cannot be read.
    pub(crate) fn session_system(
        &self,
        tools: &Toolset,
        servers: Option<&Arc<SessionServers>>,
        host: &Host,
        warnings: &mut Vec<String>,
    ) -> Result<Vec<String>, Failure> {
        let mut parts = self.system(tools, servers, self.startup.schema.as_ref(), host, warnings)?;
        let Some(agent) = self.agent.as_ref().filter(|_| !parts.is_empty()) else { return Ok(parts) };
        parts.extend(Some(agent.prompt.clone()).filter(|prompt| !prompt.is_empty()));
        parts.extend(self.skill_texts(&agent.name, agent.skills.iter()).map_err(Failure::failed)?);
        Ok(parts)
    }

    /// Builds the part of a system prompt that sessions and children share.
    ///
    /// # Errors
    /// Returns an error if a file named by a flag cannot be read.
    fn system(
        &self,
        tools: &Toolset,
        servers: Option<&Arc<SessionServers>>,
        schema: Option<&Schema>,
        host: &Host,
        warnings: &mut Vec<String>,
    ) -> Result<Vec<String>, Failure> {
        let mut parts =
            system::system(&self.startup, tools, &self.resources().resources, schema, host, &*self.clock, warnings)?;
        let confinement = host.confinement().map(|confinement| confinement.description());
        parts.extend(confinement.filter(|_| !parts.is_empty()));
        // The instructions are fixed for the session, like the tools that they describe.
        parts.extend(servers.and_then(|servers| servers.instructions()).filter(|_| !parts.is_empty()));
        Ok(parts)
    }

    /// Asks the user a question and returns the answer; `None` without an answer.
    pub async fn answer(&self, question: &Question) -> Option<String> {
        self.ask.as_ref()?.answer(question).await
    }

    /// Returns true if a user can be asked.
    pub(crate) fn has_person(&self) -> bool {
        self.ask.is_some()
    }

    /// Returns the handler of questions; `None` if no user can be asked.
    pub(crate) fn ask(&self) -> Option<Arc<dyn Ask>> {
        self.ask.clone()
    }

    /// Returns the options of isolated views.
    pub(crate) fn view_options(&self) -> sinew::view::OpenOptions {
        self.searches.sinew().view_options()
    }

    /// Returns the workplace in a view of the directory `cwd`.
    pub(crate) fn workplace(&self, view: &sinew::view::IsolatedView, cwd: &std::path::Path) -> ChildWorkspace {
        ChildWorkspace::new(view, cwd, Arc::clone(&self.views))
    }

    /// Returns the agent that `--agent` names.
    pub(crate) fn agent(&self) -> Option<&AgentDefinition> {
        self.agent.as_ref()
    }

    /// Returns the commands of extensions, and the names that several of them use.
    pub fn commands(&self) -> (Commands, Vec<String>) {
        Commands::new(&self.extensions)
    }

    /// Returns the context that a session passes to commands of extensions.
    pub fn context(&self, agent: &AgentSession) -> Context {
        let context = context(&self.startup, &agent.session(), self.ask.is_some());
        Context { recorder: agent.recorder(), ..context }
    }
}

fn context(startup: &Startup, session: &Session, has_ui: bool) -> Context {
    Context {
        cwd: startup.paths.cwd.clone(),
        session: session.id().to_string(),
        file: session.path().map(Path::to_path_buf),
        has_ui,
        ..Context::default()
    }
}

/// Returns the conversation of a session, with the model and thinking level that were set in it.
fn conversation(session: &Session, settings: &Settings) -> Result<Conversation, Failure> {
    let defaults = Defaults { thinking_level: settings.default_thinking_level.as_str().into() };
    session.context(&defaults).map_err(|error| Failure::failed(error.message()))
}

/// Records in a session which server tools are in the cached prefix of its requests.
fn record_front(session: &mut Session, servers: Option<&Arc<SessionServers>>) {
    let selected_tool_names = servers.map(|servers| servers.names()).unwrap_or_default();
    let front = servers.map(|servers| servers.record());
    // A write error of the session file is reported when the prompt is written.
    let _ = session.append(Body::McpToolSelection { selected_tool_names, front });
}

/// Records the model and the thinking level in the session if they changed.
fn record(session: &mut Session, before: &Conversation, choice: &Choice) {
    let Choice { reached, thinking } = choice;
    let (fresh, model) = (session.is_empty(), reached.model.key());
    // The placeholder for a missing model is not worth restoring.
    if models::is_absent(&reached.model) {
        return;
    }
    if fresh || before.models.get("default") != Some(&model) {
        let body = Body::ModelChange { model, role: None, provider: None, model_id: None };
        // A write error of the session file is reported when the prompt is written.
        let _ = session.append(body);
    }
    if fresh || before.thinking_level != thinking.as_str() {
        let _ = session.append(Body::ThinkingLevelChange { thinking_level: thinking.as_str().into() });
    }
}
