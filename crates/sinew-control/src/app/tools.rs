//! Selects the tools of a session.

use std::sync::Arc;

use sinew::sandbox::Enforcement;
use sinew_agent::core::{Catalogue, Toolset, is_named};
use sinew_agent::extension::Extension;
use sinew_agent::mcp::SessionServers;
use sinew_agent::mcp::tools::SEARCH_TOOL;
use sinew_agent::subagent::{AgentDefinition, AgentSource, SubmitResult};
use sinew_tools::semantics::{TASK_NAME, ToolKind};
use sinew_tools::tool::Tool;
use sinew_tools::{Confinement, Host};

use super::App;
use crate::failure::Failure;
use crate::settings::Settings;
use crate::startup::Startup;

impl App {
    /// Returns all tools that exist for a session, enabled or not.
    pub(crate) fn known_tools(&self, host: &Arc<Host>, servers: Option<&Arc<SessionServers>>) -> Vec<Arc<dyn Tool>> {
        let builtin = sinew_tools::builtin(host).into_iter().map(|tool| match servers {
            Some(servers) => servers.with_resources(tool),
            None => tool,
        });
        let all = builtin.chain(self.task_tool(None)).chain(self.extension_tools());
        let all = all.chain(servers.into_iter().flat_map(|servers| servers.tools()));
        // If two tools have the same name, the first one is used, as in requests to the model.
        Toolset::new(all).0.all().to_vec()
    }

    /// Returns the names of all tools, those of servers included as far as they are known.
    pub(super) fn known_names(&self, servers: Option<&Arc<SessionServers>>) -> Vec<String> {
        let mut known = tool_names(&self.extensions);
        known.extend(servers.into_iter().flat_map(|servers| servers.names()));
        known
    }

    fn extension_tools(&self) -> impl Iterator<Item = Arc<dyn Tool>> {
        self.extensions.iter().flat_map(|extension| extension.tools())
    }

    /// Returns the tools that the flags and settings enable.
    ///
    /// # Errors
    /// Returns an error if a flag names a tool that does not exist.
    pub(crate) fn toolset(&self, host: &Arc<Host>, servers: Option<&Arc<SessionServers>>) -> Result<Toolset, Failure> {
        let Startup { args, settings, .. } = &self.startup;
        let known = self.known_names(servers);
        // The tools of a server are unknown until the server was asked.
        let is_known = |name: &String| known.contains(name) || (servers.is_some() && name.starts_with("mcp_"));
        for (flag, named) in [("tools", &args.tools.only), ("exclude-tools", &args.tools.without)] {
            if let Some(unknown) = named.iter().flatten().find(|name| !is_known(name)) {
                return Err(Failure::usage(format!("--{flag} {unknown}: unknown tool; known: {}", known.join(", "))));
            }
        }
        if args.tools.none {
            return Ok(Toolset::default());
        }
        let offered = match args.tools.no_builtin {
            true => {
                let brought = servers.into_iter().flat_map(|servers| servers.tools());
                self.extension_tools().chain(brought).collect()
            }
            false => self.known_tools(host, servers),
        };
        let only = args.tools.only.clone().unwrap_or_else(|| settings.tools.clone().unwrap_or_default());
        let without = args.tools.without.clone().unwrap_or_else(|| settings.exclude_tools.clone());
        let has = |list: &[String], tool: &Arc<dyn Tool>| list.iter().any(|name| name == tool.name());
        let kept = offered.into_iter().filter(|tool| {
            let named = has(&only, tool);
            (only.is_empty() && !tool.flags().default_inactive || named) && !has(&without, tool)
        });
        let mut kept: Vec<Arc<dyn Tool>> = kept.collect();
        if let Some(agent) = &self.agent {
            let selection = Selection::new(agent, &known)?;
            // The tool that starts children is left to `spawns`.
            kept.retain(|tool| selection.has(tool.name()) || tool.name() == TASK_NAME);
            kept.retain(|tool| !agent.is_read_only || tool.semantics().effects.changes_nothing());
        }
        if let Some(at) = kept.iter().position(|tool| tool.name() == TASK_NAME) {
            kept.insert(at + 1, Arc::new(SubmitResult::default()));
        }
        Ok(with_servers(Toolset::new(kept).0, servers))
    }
}

/// The tools that the definition of an agent allows.
pub(super) struct Selection {
    only: Option<Vec<String>>,
    without: Vec<String>,
}

impl Selection {
    /// Returns the selection of a definition; `known` are the names of all tools.
    ///
    /// # Errors
    /// Returns an error if the definition names a tool that does not exist. Tools that only another program has are left
    /// out of its definitions.
    pub(super) fn new(definition: &AgentDefinition, known: &[String]) -> Result<Selection, Failure> {
        let is_foreign = definition.source == AgentSource::Foreign;
        let resolved = |names: &[String]| {
            let found = names.iter().map(|name| resolve(name, known)).filter(|found| !is_foreign || found.is_ok());
            found.collect::<Result<Vec<_>, _>>()
        };
        let wrong = |reason: String| Failure::failed(format!("agent {}: {reason}", definition.name));
        let only = definition.tools.as_deref().map(resolved).transpose().map_err(wrong)?;
        Ok(Selection { only, without: resolved(&definition.disallowed_tools).map_err(wrong)? })
    }

    /// Returns true if the definition allows a tool.
    pub(super) fn has(&self, tool: &str) -> bool {
        self.only.as_ref().is_none_or(|only| is_named(only, tool)) && !is_named(&self.without, tool)
    }
}

/// Returns the tool that a definition means by a name, also one of another agent; a name that ends with `*` means all
/// tools that begin like it.
fn resolve(name: &str, known: &[String]) -> Result<String, String> {
    let pattern = [name.to_string()];
    if known.iter().any(|tool| is_named(&pattern, tool)) {
        return Ok(name.to_string());
    }
    // The tools of a server may not be known yet.
    if name.starts_with("mcp_") {
        return Ok(sinew_permissions::server_tool(name).unwrap_or_else(|| name.to_string()));
    }
    let foreign = sinew_tools::named_by_foreign_rule(name).or_else(|| sinew_tools::named_by_alias(name));
    foreign.map(str::to_string).ok_or_else(|| format!("unknown tool {name}; known: {}", known.join(", ")))
}

/// Adds the tools that [`SEARCH_TOOL`] can find, if that tool is enabled.
pub(crate) fn with_servers(tools: Toolset, servers: Option<&Arc<SessionServers>>) -> Toolset {
    let servers = servers.filter(|_| tools.find(SEARCH_TOOL).is_some());
    let catalogue = servers.map(|servers| Arc::clone(servers) as Arc<dyn Catalogue>);
    tools.with_catalogue(catalogue)
}

/// Returns the names of the built-in tools, enabled or not, and of the tools of extensions.
pub(super) fn tool_names(extensions: &[Arc<dyn Extension>]) -> Vec<String> {
    let brought = extensions.iter().flat_map(|extension| extension.tools());
    let own = sinew_tools::names().chain([TASK_NAME]).map(str::to_string);
    own.chain(brought.map(|tool| tool.name().to_string())).collect()
}

/// Returns a warning for each tool in the settings that does not exist.
pub(super) fn unknown_tools(settings: &Settings, known: &[String]) -> Vec<String> {
    let list = known.join(", ");
    let tools = settings.tools.iter().flatten().map(|name| ("tools", name));
    let named = tools.chain(settings.exclude_tools.iter().map(|name| ("excludeTools", name)));
    let unknown = named.filter(|(_, name)| !known.contains(name));
    unknown.map(|(key, name)| format!("{key}: unknown tool {name}; known: {list}")).collect()
}

/// Returns true if the kernel keeps programs from writing.
pub(crate) fn enforces_writes(confinement: &Arc<Confinement>) -> bool {
    confinement.sandbox().is_ok_and(|sandbox| sandbox.status().write.held > Enforcement::Advisory)
}

/// Returns true if plan mode offers a tool: one that changes nothing or, if the kernel keeps programs from writing, one
/// that runs programs. Tools of servers are not offered, because what a server says about their effects is not reliable.
pub(crate) fn may_plan(tool: &dyn Tool, is_enforced: bool) -> bool {
    let semantics = tool.semantics();
    let is_foreign = tool.name() == SEARCH_TOOL || tool.name().starts_with("mcp_");
    let runs = is_enforced && semantics.kind == ToolKind::Execute && !semantics.effects.unknown;
    // The children of a session in plan mode change nothing either.
    !is_foreign && (semantics.effects.changes_nothing() || runs || semantics.kind == ToolKind::Agent)
}
