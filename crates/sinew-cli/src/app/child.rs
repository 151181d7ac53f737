//! The session of a child: a session as any other, with fewer rights than that of its parent.

use std::sync::Arc;

use sinew_agent::agent::{AgentParts, AgentSession, AgentSettings, ResolvedModel};
use sinew_agent::core::Toolset;
use sinew_agent::extension::path_policies;
use sinew_agent::mcp::SessionServers;
use sinew_agent::subagent::{AgentDefinition, Submission, SubmitResult};
use sinew_llm::model::ThinkingLevel;
use sinew_session::Session;
use sinew_tools::Host;
use sinew_tools::semantics::ToolKind;
use sinew_tools::tool::Tool;

use super::tools::{enforces_writes, may_plan, tool_names, with_servers};
use super::{App, OpenSession, conversation, record};
use crate::failure::Failure;

/// The properties of a child.
pub(crate) struct ChildParts<'a> {
    pub(crate) session: Session,
    pub(crate) parent: &'a OpenSession,
    pub(crate) definition: &'a AgentDefinition,
    pub(crate) resolved: ResolvedModel,
    pub(crate) thinking: ThinkingLevel,
    /// The lane of a scripted model.
    pub(crate) lane: String,
    pub(crate) submission: Arc<Submission>,
    /// Nothing can be changed: the definition or the mode of the parent says so.
    pub(crate) is_read_only: bool,
}

impl App {
    /// Opens the session of a child. It has the tools of its parent that its definition leaves, the rules, hooks and
    /// sandbox of its parent, and nobody whom its tools can ask.
    ///
    /// # Errors
    /// Returns an error if the definition names a tool that does not exist, or leaves none.
    pub(crate) fn open_child(&self, parts: ChildParts<'_>, warnings: &mut Vec<String>) -> Result<OpenSession, Failure> {
        let ChildParts { mut session, parent, definition, resolved, thinking, lane, submission, is_read_only } = parts;
        let before = conversation(&session, &self.startup.settings)?;
        record(&mut session, &before, &resolved, thinking);
        let host = self.host(&session, None);
        let mut is_enforced = false;
        if is_read_only {
            let confinement = self.limits.of_plan();
            is_enforced = enforces_writes(&confinement);
            if is_enforced {
                host.enter_confinement(confinement);
            }
        }
        let servers = self.servers(&mut session, &before, &host, &definition.disallowed_tools);
        let mut tools = self.child_tools(parent, definition, &host, servers.as_ref())?;
        tools.retain(|tool| !is_read_only || may_plan(&**tool, is_enforced));
        if tools.is_empty() {
            return Err(Failure::failed(format!("agent {}: it would have no tool", definition.name)));
        }
        tools.push(Arc::new(SubmitResult { submission }));
        let tools = with_servers(Toolset::new(tools).0, servers.as_ref());
        let loaded = self.resources();
        host.set_resources(Arc::clone(&loaded.resources) as _);
        host.set_path_policies(path_policies(&self.extensions));
        if !self.startup.args.prompt.no_context_files {
            host.set_instructions(self.instructions());
        }
        let mut system = self.system(&tools, servers.as_ref(), &host, warnings)?;
        if !system.is_empty() {
            system.push(instructions(definition));
        }
        let mut settings = AgentSettings { titles: false, todo_reminders: false, ..self.agent_settings() };
        settings.run.max_turns = definition.max_turns.unwrap_or(self.startup.settings.task.max_turns);
        let agent = AgentSession::resume(
            AgentParts {
                session,
                resolved,
                models: Arc::clone(&self.models) as Arc<_>,
                thinking,
                system,
                tools,
                extensions: self.extensions.clone(),
                settings,
                clock: Arc::clone(&self.clock),
                cwd: self.startup.paths.cwd.clone(),
                has_ui: self.ask.is_some(),
                open_items: None,
                // The call that started the child is recorded in the turn of its parent.
                undo: None,
                lane: Some(lane),
            },
            before,
        );
        agent.set_stream_rules(loaded.rules());
        Ok(OpenSession { agent, host, servers: parking_lot::Mutex::new(servers) })
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
        let mut known = tool_names(&self.extensions);
        known.extend(servers.into_iter().flat_map(|servers| servers.names()));
        let resolved = |names: &[String]| names.iter().map(|name| resolve(name, &known)).collect::<Result<Vec<_>, _>>();
        let wrong = |reason: String| Failure::failed(format!("agent {}: {reason}", definition.name));
        let only = definition.tools.as_deref().map(resolved).transpose().map_err(wrong)?;
        let without = resolved(&definition.disallowed_tools).map_err(wrong)?;
        let of_parent = parent.agent.tools();
        let tools = offered.all().iter().filter(|tool| {
            let is_named = |patterns: &Vec<String>| patterns.iter().any(|pattern| fits(pattern, tool.name()));
            of_parent.find(tool.name()).is_some()
                && !matches!(tool.semantics().kind, ToolKind::Plan | ToolKind::Agent)
                && only.as_ref().is_none_or(is_named)
                && !is_named(&without)
        });
        Ok(tools.cloned().collect())
    }
}

/// Returns the tool that a definition means by a name, also one of another agent; a name that ends with `*` means all
/// tools that begin like it.
fn resolve(name: &str, known: &[String]) -> Result<String, String> {
    if known.iter().any(|tool| fits(name, tool)) {
        return Ok(name.to_string());
    }
    // A server may tell its tools later.
    if name.starts_with("mcp_") {
        return Ok(name.to_string());
    }
    let foreign = sinew_tools::named_by_foreign_rule(name).or_else(|| sinew_tools::named_by_alias(name));
    foreign.map(str::to_string).ok_or_else(|| format!("unknown tool {name}; known: {}", known.join(", ")))
}

fn fits(pattern: &str, name: &str) -> bool {
    pattern.strip_suffix('*').map_or(pattern == name, |start| name.starts_with(start))
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
