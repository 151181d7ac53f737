//! The session of a child: a session as any other, with fewer rights than that of its parent.

use std::sync::Arc;

use parking_lot::Mutex;
use sinew_agent::agent::{AgentParts, AgentSession, AgentSettings};
use sinew_agent::core::{Toolset, is_named};
use sinew_agent::mcp::SessionServers;
use sinew_agent::subagent::{AgentDefinition, Submission, SubmitResult};
use sinew_session::{Context as Conversation, Session};
use sinew_tools::Host;
use sinew_tools::semantics::ToolKind;
use sinew_tools::tool::Tool;

use super::tools::{enforces_writes, may_plan, with_servers};
use super::{App, OpenSession, conversation, record};
use crate::failure::Failure;
use crate::models::Choice;

/// The rights of a child.
#[derive(Clone, Copy)]
pub(crate) struct ChildRights<'a> {
    pub(crate) parent: &'a OpenSession,
    pub(crate) definition: &'a AgentDefinition,
    /// Nothing can be changed: the definition or the mode of the parent says so.
    pub(crate) is_read_only: bool,
}

/// The properties of a child.
pub(crate) struct ChildParts<'a> {
    pub(crate) session: Session,
    pub(crate) rights: ChildRights<'a>,
    pub(crate) choice: Choice,
    /// The lane of a scripted model.
    pub(crate) lane: String,
    pub(crate) submission: Arc<Submission>,
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
    /// Returns an error if the definition names a tool that does not exist, or leaves none.
    pub(crate) fn check_child(&self, rights: ChildRights<'_>) -> Result<(), Failure> {
        let mut session = self.store.unsaved();
        let before = conversation(&session, &self.startup.settings)?;
        self.child_host(&mut session, &before, rights).map(drop)
    }

    /// Opens the session of a child. It has the tools of its parent that its definition leaves, the rules, hooks and
    /// sandbox of its parent, and nobody whom its tools can ask.
    ///
    /// # Errors
    /// Returns the errors of [`App::check_child`], and an error if a file that a flag names cannot be read.
    pub(crate) fn open_child(&self, parts: ChildParts<'_>) -> Result<OpenSession, Failure> {
        let ChildParts { mut session, rights, choice, lane, submission } = parts;
        let definition = rights.definition;
        let before = conversation(&session, &self.startup.settings)?;
        record(&mut session, &before, &choice);
        let ChildHost { host, servers, mut tools } = self.child_host(&mut session, &before, rights)?;
        tools.push(Arc::new(SubmitResult { submission }));
        let tools = with_servers(Toolset::new(tools).0, servers.as_ref());
        let loaded = self.equip(&host);
        // The parent has reported the same faults.
        let mut system = self.system(&tools, servers.as_ref(), &host, &mut Vec::new())?;
        if !system.is_empty() {
            system.push(instructions(definition));
        }
        let mut settings = AgentSettings { titles: false, todo_reminders: false, ..self.agent_settings() };
        settings.run.max_turns = definition.max_turns.unwrap_or(self.startup.settings.task.max_turns);
        // Undo is left to the parent, which records the call that started the child.
        let parts = AgentParts { settings, lane: Some(lane), ..self.agent_parts(session, choice, system, tools) };
        let agent = AgentSession::resume(parts, before);
        agent.set_stream_rules(loaded.rules());
        Ok(OpenSession { agent, host, servers: Mutex::new(servers) })
    }

    /// Creates the host of a child in its sandbox, with the tools that its rights leave.
    ///
    /// # Errors
    /// As of [`App::check_child`].
    fn child_host(
        &self,
        session: &mut Session,
        before: &Conversation,
        rights: ChildRights<'_>,
    ) -> Result<ChildHost, Failure> {
        let ChildRights { parent, definition, is_read_only } = rights;
        let host = self.host(session, None);
        let mut is_enforced = false;
        if is_read_only {
            let confinement = self.limits.of_plan();
            is_enforced = enforces_writes(&confinement);
            if is_enforced {
                host.enter_confinement(confinement);
            }
        }
        let servers = self.servers(session, before, &host, &definition.disallowed_tools);
        let mut tools = self.child_tools(parent, definition, &host, servers.as_ref())?;
        tools.retain(|tool| !is_read_only || may_plan(&**tool, is_enforced));
        match tools.is_empty() {
            true => Err(Failure::failed(format!("agent {}: it would have no tool", definition.name))),
            false => Ok(ChildHost { host, servers, tools }),
        }
    }

    /// Returns the tools of the parent that a definition leaves, without the list of tasks, which is the parent's, and
    /// without children of its own.
    fn child_tools(
        &self,
        parent: &OpenSession,
        definition: &AgentDefinition,
        host: &Arc<Host>,
        servers: Option<&Arc<SessionServers>>,
    ) -> Result<Vec<Arc<dyn Tool>>, Failure> {
        let offered = self.toolset(host, servers)?;
        let known = self.known_names(servers);
        let resolved = |names: &[String]| names.iter().map(|name| resolve(name, &known)).collect::<Result<Vec<_>, _>>();
        let wrong = |reason: String| Failure::failed(format!("agent {}: {reason}", definition.name));
        let only = definition.tools.as_deref().map(resolved).transpose().map_err(wrong)?;
        let without = resolved(&definition.disallowed_tools).map_err(wrong)?;
        let of_parent = parent.agent.tools();
        let tools = offered.all().iter().filter(|tool| {
            of_parent.find(tool.name()).is_some()
                && !matches!(tool.semantics().kind, ToolKind::Plan | ToolKind::Agent)
                && only.as_ref().is_none_or(|only| is_named(only, tool.name()))
                && !is_named(&without, tool.name())
        });
        Ok(tools.cloned().collect())
    }
}

/// Returns the tool that a definition means by a name, also one of another agent; a name that ends with `*` means all
/// tools that begin like it.
fn resolve(name: &str, known: &[String]) -> Result<String, String> {
    let pattern = [name.to_string()];
    // A server may tell its tools later.
    if known.iter().any(|tool| is_named(&pattern, tool)) || name.starts_with("mcp_") {
        return Ok(name.to_string());
    }
    let foreign = sinew_tools::named_by_foreign_rule(name).or_else(|| sinew_tools::named_by_alias(name));
    foreign.map(str::to_string).ok_or_else(|| format!("unknown tool {name}; known: {}", known.join(", ")))
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
