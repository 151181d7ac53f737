//! The session of a child: a session as any other, with fewer rights than that of its parent.

use std::sync::Arc;

use parking_lot::Mutex;
use sinew_agent::agent::{AgentParts, AgentSession, AgentSettings, Budget, KeepRecord, MeteredModels};
use sinew_agent::core::Toolset;
use sinew_agent::extension::Extension;
use sinew_agent::mcp::SessionServers;
use sinew_agent::subagent::{AgentDefinition, ChildGate, Submission, SubmitResult};
use sinew_agent::undo::TurnRecorder;
use sinew_llm::provider::CacheRetention;
use sinew_session::{Context as Conversation, Session};
use sinew_tools::semantics::ToolKind;
use sinew_tools::tool::Tool;
use sinew_tools::{Host, Requester};

use super::tools::{Selection, enforces_writes, may_plan, with_servers};
use super::workplace::ChildWorkspace;
use super::{App, OpenSession, conversation, record};
use crate::failure::{Failure, known_names};
use crate::models::Choice;

/// The rights of a child.
#[derive(Clone, Copy)]
pub(crate) struct ChildRights<'a> {
    pub(crate) parent: &'a OpenSession,
    pub(crate) definition: &'a AgentDefinition,
    /// True if the child cannot change anything, because of its definition or the mode of its parent.
    pub(crate) is_read_only: bool,
    /// True if the child may start children of its own.
    pub(crate) may_spawn: bool,
    /// The names of the only tools that it had before it was continued; `None` for a new child.
    pub(crate) only: Option<&'a [String]>,
}

/// The properties of a child.
pub(crate) struct ChildParts<'a> {
    pub(crate) session: Session,
    pub(crate) rights: ChildRights<'a>,
    pub(crate) choice: Choice,
    pub(crate) requester: Arc<Requester>,
    pub(crate) submission: Arc<Submission>,
    /// The models that add the use of the child to its meters.
    pub(crate) models: MeteredModels,
    pub(crate) budgets: Vec<Budget>,
    /// The files of the project, for its system prompt.
    pub(crate) tree: Option<String>,
    /// The copy of the project in which it works; `None` for the project itself.
    pub(crate) workplace: Option<Arc<ChildWorkspace>>,
    /// Records its changes; `None` if they belong to the call that started it.
    pub(crate) undo: Option<(Arc<TurnRecorder>, KeepRecord)>,
}

/// The open session of a child.
pub(crate) struct OpenChild {
    pub(crate) open: OpenSession,
    pub(crate) gate: Arc<ChildGate>,
}

/// The host of a child, and the tools that it offers.
struct ChildHost {
    host: Arc<Host>,
    servers: Option<Arc<SessionServers>>,
    tools: Vec<Arc<dyn Tool>>,
}

impl App {
    /// Checks that children with these rights can be opened, before one is.
    ///
    /// # Errors
    /// Returns an error if the definition names a tool that does not exist, or allows none.
    pub(crate) fn check_child(&self, rights: ChildRights<'_>) -> Result<(), Failure> {
        let mut session = self.store.unsaved();
        let before = conversation(&session, &self.startup.settings)?;
        let requester = Arc::new(Requester::new(String::new(), rights.definition.name.clone(), None));
        self.child_host(&mut session, &before, rights, &requester, None).map(drop)
    }

    /// Opens the session of a child. It has the tools of its parent that its definition allows, and the rules, hooks and
    /// sandbox of its parent.
    ///
    /// # Errors
    /// Returns the errors of [`App::check_child`], and an error if a file that a flag names cannot be read.
    pub(crate) fn open_child(&self, parts: ChildParts<'_>) -> Result<OpenChild, Failure> {
        let ChildParts { mut session, rights, choice, requester, submission, models, budgets, tree, workplace, undo } =
            parts;
        let (undo, keep_record) = undo.unzip();
        let definition = rights.definition;
        let choice = Choice { reached: models.metered(choice.reached), ..choice };
        let before = conversation(&session, &self.startup.settings)?;
        record(&mut session, &before, &choice);
        let ChildHost { host, servers, mut tools } =
            self.child_host(&mut session, &before, rights, &requester, workplace.as_deref())?;
        let own: Arc<dyn Tool> = Arc::new(SubmitResult { submission: Some(Arc::clone(&submission)) });
        match tools.iter_mut().find(|tool| tool.name() == SubmitResult::NAME) {
            Some(listed) => *listed = own,
            None => tools.push(own),
        }
        let refused = match definition.is_fork() {
            true => not_for_forks(&tools, &self.toolset(&host, servers.as_ref())?),
            false => Vec::new(),
        };
        let gate = Arc::new(ChildGate::new(submission, refused));
        let tools = with_servers(Toolset::new(tools).0, servers.as_ref());
        let loaded = self.equip(&host);
        let system = match definition.is_fork() {
            true => rights.parent.agent.system(),
            // The parent has reported the same faults.
            false => {
                let mut system = self.system(&tools, servers.as_ref(), None, &host, &mut Vec::new())?;
                if !system.is_empty() {
                    system.push(instructions(definition));
                    system.extend(tree);
                }
                system
            }
        };
        let task = self.startup.settings.task;
        let own = self.agent_settings();
        let mut settings = AgentSettings {
            titles: false,
            todo_reminders: false,
            // It is reminded of its result instead.
            allows_empty: true,
            // The next request follows soon, and a child is rarely continued later.
            cache: if own.cache == CacheRetention::Long { CacheRetention::Short } else { own.cache },
            budgets: own.budgets.iter().cloned().chain(budgets).collect(),
            ..own
        };
        settings.run.max_turns = definition.max_turns.unwrap_or(task.max_turns);
        let lane = format!("{}#{}", definition.name, requester.id);
        let parts = self.agent_parts(session, choice, system, tools);
        let mut extensions: Vec<Arc<dyn Extension>> = parts.extensions;
        extensions.push(Arc::clone(&gate) as _);
        let parts = AgentParts {
            settings,
            undo,
            keep_record,
            extensions,
            models: Arc::new(models),
            lane: Some(lane),
            cache_session: Some(rights.parent.agent.cache_session().to_string()),
            requester: Some(requester),
            cwd: workplace.as_ref().map_or(parts.cwd, |workplace| workplace.cwd.clone()),
            ..parts
        };
        let agent = AgentSession::resume(parts, before);
        agent.set_stream_rules(loaded.rules());
        Ok(OpenChild { open: OpenSession { agent, host, servers: Mutex::new(servers), workplace }, gate })
    }

    /// Creates the host of a child in its sandbox, with the tools that its rights allow.
    ///
    /// # Errors
    /// Returns the errors of [`App::check_child`].
    fn child_host(
        &self,
        session: &mut Session,
        before: &Conversation,
        rights: ChildRights<'_>,
        requester: &Arc<Requester>,
        workplace: Option<&ChildWorkspace>,
    ) -> Result<ChildHost, Failure> {
        let ChildRights { definition, is_read_only, .. } = rights;
        // Like its parent, a fork lists the tool that asks the user, but it cannot call the tool.
        let host = self.host(session, (!definition.is_fork()).then(|| Arc::clone(requester)), workplace);
        let mut is_enforced = false;
        if is_read_only {
            let confinement = self.limits.of_plan();
            is_enforced = enforces_writes(&confinement);
            if is_enforced {
                host.enter_confinement(confinement);
            }
        }
        self.check_servers(definition)?;
        // The child has no tool and no server that its parent does not have.
        let of_parent = rights.parent.servers();
        let mut without = definition.disallowed_tools.clone();
        without.extend(of_parent.iter().flat_map(|servers| servers.excluded().iter().cloned()));
        let only = both(of_parent.as_ref().and_then(|servers| servers.only()), definition.mcp.as_deref());
        // A new child begins with the server tools of its parent, although more may be known by now: a tool that the
        // parent can only search for would not be one of the parent's tools.
        let front = before.mcp_front.clone().or_else(|| of_parent.as_ref().map(|servers| servers.record()));
        let servers = self.servers(session, before, front, &host, &without, only.as_deref());
        let mut tools = match definition.is_fork() {
            true => self.fork_tools(rights, &host, servers.as_ref())?,
            false => self.child_tools(rights, &host, servers.as_ref())?,
        };
        tools.retain(|tool| !is_read_only || may_plan(&**tool, is_enforced));
        if tools.is_empty() {
            return Err(Failure::failed(format!(
                "agent {}: its definition allows none of the tools of its parent",
                definition.name
            )));
        }
        if rights.may_spawn && !definition.is_fork() {
            tools.extend(self.task_tool(Some((&requester.id, &definition.spawns))));
        }
        Ok(ChildHost { host, servers, tools })
    }

    /// Returns the texts of the skills of an agent, each once.
    ///
    /// # Errors
    /// Returns an error that lists the skills if one does not exist, and an error if its file cannot be read.
    pub(crate) fn skill_texts<'a>(
        &self,
        agent: &str,
        names: impl Iterator<Item = &'a String>,
    ) -> Result<Vec<String>, String> {
        let loaded = self.resources();
        let mut seen = std::collections::HashSet::new();
        let texts = names.filter(|name| seen.insert(*name)).map(|name| match loaded.resources.skill(name) {
            Some(skill) => skill.prompt(""),
            None => {
                let known = known_names(loaded.resources.skills.iter().map(|skill| &skill.name));
                Err(format!("agent {agent}: unknown skill {name:?}; known: {known}"))
            }
        });
        texts.collect()
    }

    /// Checks that the MCP servers that a definition names are configured.
    ///
    /// # Errors
    /// Returns an error that lists the servers if one is not.
    fn check_servers(&self, definition: &AgentDefinition) -> Result<(), Failure> {
        let known = self.mcp.names();
        let mut wanted = definition.mcp.iter().flatten();
        let Some(name) = wanted.find(|name| !known.contains(name)) else { return Ok(()) };
        let known = known_names(known);
        Err(Failure::failed(format!("agent {}: unknown MCP server {name:?}; known: {known}", definition.name)))
    }

    /// Returns the tools of the parent that a definition allows, without the todo list, which belongs to the parent.
    fn child_tools(
        &self,
        rights: ChildRights<'_>,
        host: &Arc<Host>,
        servers: Option<&Arc<SessionServers>>,
    ) -> Result<Vec<Arc<dyn Tool>>, Failure> {
        let ChildRights { parent, definition, only: before, .. } = rights;
        let offered = self.toolset(host, servers)?;
        let selection = Selection::new(definition, &self.known_names(servers))?;
        let of_parent = parent.agent.tools();
        let tools = offered.all().iter().filter(|tool| {
            of_parent.find(tool.name()).is_some()
                && !matches!(tool.semantics().kind, ToolKind::Plan | ToolKind::Agent)
                && before.is_none_or(|before| before.iter().any(|name| name == tool.name()))
                && selection.has(tool.name())
        });
        Ok(tools.cloned().collect())
    }

    /// Returns the tools of the parent, in its order, for a child with its own host.
    fn fork_tools(
        &self,
        rights: ChildRights<'_>,
        host: &Arc<Host>,
        servers: Option<&Arc<SessionServers>>,
    ) -> Result<Vec<Arc<dyn Tool>>, Failure> {
        let offered = self.toolset(host, servers)?;
        let listed = rights.parent.agent.tools();
        Ok(listed.all().iter().map(|tool| Arc::clone(offered.find(tool.name()).unwrap_or(tool))).collect())
    }
}

/// Returns the names that two limits allow; `None` for no limit.
fn both(one: Option<&[String]>, other: Option<&[String]>) -> Option<Vec<String>> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.iter().filter(|name| other.contains(name)).cloned().collect()),
        (limit, None) | (None, limit) => limit.map(<[String]>::to_vec),
    }
}

/// Returns the names of the tools that a child which continues a conversation lists and cannot use: the list of tasks,
/// questions to the user, children, and the tools of its parent that are not in `own`, such as a change of the mode.
fn not_for_forks(tools: &[Arc<dyn Tool>], own: &Toolset) -> Vec<String> {
    let refused = tools.iter().filter(|tool| {
        let is_of_session = matches!(tool.semantics().kind, ToolKind::Plan | ToolKind::Agent | ToolKind::Ask);
        is_of_session || own.find(tool.name()).is_none()
    });
    refused.map(|tool| tool.name().to_string()).filter(|name| name != SubmitResult::NAME).collect()
}

/// Returns the part of the system prompt that is about the child.
fn instructions(definition: &AgentDefinition) -> String {
    format!(
        "You are the subagent {:?}. Another agent gave you an assignment. You know nothing of its conversation and cannot ask. \
         When the assignment is done or cannot be done, call submit_result: its result is all that the other agent \
         reads.\n\n{}",
        definition.name, definition.prompt
    )
}
