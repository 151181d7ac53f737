//! Selects tools, sets the todo list, and reloads files.

use std::sync::Arc;

use sinew_agent::core::Toolset;
use sinew_llm::message::AgentMessage;
use sinew_tools::Phase;
use sinew_tools::tool::Tool;

use super::{Control, ControlError};
use crate::app::OpenSession;
use crate::app::tools::with_servers;

/// The user's selection of tools, which stays in force when the session changes.
#[derive(Default)]
pub(super) struct ToolSelection {
    /// The enabled tools; `None` for those that flags and settings enable, and those of the client.
    names: Option<Vec<String>>,
    /// The tools to enable in the next session; `None` for no change.
    next: Option<Vec<String>>,
    /// The tools that the mode of the session allows; `None` for all.
    allowed: Option<Vec<String>>,
    /// Tools that the client runs itself.
    client: Vec<Arc<dyn Tool>>,
}

impl ToolSelection {
    /// Sets the tools that the mode of the session allows.
    pub(super) fn allow(&mut self, allowed: Option<Vec<String>>) {
        self.allowed = allowed;
    }

    /// Applies the selection for the next session, because it begins.
    pub(super) fn turn(&mut self) {
        self.names = self.next.take().or(self.names.take());
    }
}

/// A tool that was enabled or disabled.
#[derive(Debug, PartialEq, Eq)]
pub struct SwitchedTool {
    /// Whether the tool is enabled now.
    pub is_on: bool,
    /// The number of cached tokens that the change invalidates; `None` if it applies from the next session on.
    pub lost: Option<u64>,
}

/// A tool, and whether it is offered to the model.
pub struct ListedTool {
    /// The tool.
    pub tool: Arc<dyn Tool>,
    /// Whether the tool is offered in the current session.
    pub is_active: bool,
    /// Whether it is offered in the next session, if that differs.
    pub in_next: Option<bool>,
}

impl Control {
    /// Returns all tools: those of the session, then those of the client.
    pub fn tools(&self) -> Vec<ListedTool> {
        let open = self.session();
        let active = open.agent.tools();
        let next = self.selection.lock().next.clone();
        let listed = self.known(&open).into_iter().map(|tool| {
            let is_active = active.find(tool.name()).is_some();
            let in_next = next.as_ref().map(|next| next.iter().any(|name| name == tool.name()));
            ListedTool { is_active, in_next: in_next.filter(|next| *next != is_active), tool }
        });
        listed.collect()
    }

    /// Enables or disables a tool. The change applies from the next session on, because tools are part of the prefix
    /// that providers cache. With `now`, or if no request was sent yet, it applies at once, together with earlier
    /// changes.
    ///
    /// # Errors
    /// Returns an error if a file of the system prompt or the session file cannot be read any more.
    pub fn switch_tool(&self, name: &str, now: bool) -> Result<SwitchedTool, ControlError> {
        let open = self.session();
        let lost = self.cached_tokens(&open)?;
        let chosen = {
            let selection = self.selection.lock();
            selection.next.clone().or_else(|| selection.names.clone())
        };
        let mut on = match chosen {
            Some(names) => names,
            None => self.offered(&open)?.iter().map(|tool| tool.name().to_string()).collect(),
        };
        let is_on = !on.iter().any(|on| on == name);
        match is_on {
            true => on.push(name.to_string()),
            false => on.retain(|on| on != name),
        }
        {
            let mut selection = self.selection.lock();
            if lost.is_some() && !now {
                selection.next = Some(on);
                return Ok(SwitchedTool { is_on, lost: None });
            }
            (selection.names, selection.next) = (Some(on), None);
        }
        self.offer(&open, &mut Vec::new())?;
        Ok(SwitchedTool { is_on, lost: Some(lost.unwrap_or_default()) })
    }

    /// Returns the number of tokens of a session that a provider may have cached; `None` if no request was sent yet.
    ///
    /// # Errors
    /// Returns an error if the session file cannot be read any more.
    pub(super) fn cached_tokens(&self, open: &OpenSession) -> Result<Option<u64>, ControlError> {
        let was_sent = open.agent.conversation()?.iter().any(|message| matches!(message, AgentMessage::Assistant(_)));
        let usage = if was_sent { open.agent.context_usage()? } else { None };
        Ok(was_sent.then(|| usage.map_or(0, |usage| usage.tokens)))
    }

    /// Enables exactly these tools, from the next turn on.
    ///
    /// # Errors
    /// Returns an error if a name is unknown, or if a file of the system prompt cannot be read.
    pub fn select_tools(&self, names: Vec<String>) -> Result<(), ControlError> {
        let open = self.session();
        let known = self.known(&open);
        if let Some(unknown) = names.iter().find(|name| known.iter().all(|tool| tool.name() != **name)) {
            let known: Vec<&str> = known.iter().map(|tool| tool.name()).collect();
            return Err(format!("set_tools: unknown tool {unknown:?}; known: {}", known.join(", ")).into());
        }
        self.selection.lock().names = Some(names);
        self.offer(&open, &mut Vec::new())
    }

    /// Returns the names that tools of the client must not have.
    pub fn taken_names(&self) -> Vec<String> {
        let open = self.session();
        let own = self.app.known_tools(&open.host, open.servers().as_ref());
        let builtin = sinew_tools::names().map(str::to_string);
        builtin.chain(own.iter().map(|tool| tool.name().to_string())).collect()
    }

    /// Replaces the tools of the client, and enables the new ones.
    ///
    /// # Errors
    /// Returns an error if a file of the system prompt cannot be read.
    pub fn set_client_tools(&self, tools: Vec<Arc<dyn Tool>>) -> Result<(), ControlError> {
        {
            let mut selection = self.selection.lock();
            let names: Vec<String> = tools.iter().map(|tool| tool.name().to_string()).collect();
            let before = std::mem::replace(&mut selection.client, tools);
            if let Some(on) = &mut selection.names {
                on.retain(|name| before.iter().all(|tool| tool.name() != name));
                on.extend(names);
            }
        }
        self.offer(&self.session(), &mut Vec::new())
    }

    /// Replaces the todo list, and returns the result.
    ///
    /// # Errors
    /// Returns an error if two phases have the same name, or if a name is missing.
    pub fn set_todo(&self, phases: Vec<Phase>) -> Result<Vec<Phase>, ControlError> {
        let open = self.session();
        let phases = open.host.set_todo(phases).map_err(|reason| format!("set_todos: {reason}"))?;
        open.agent.record_todo(&phases);
        Ok(phases)
    }

    /// Reloads skills, commands, templates, rules and the files of the system prompt, and returns the warnings.
    ///
    /// # Errors
    /// Returns an error if a file named by a flag does not exist any more.
    pub async fn reload(&self) -> Result<Vec<String>, ControlError> {
        let open = self.session();
        let mut warnings = Vec::new();
        let loaded = self.app.reload(&open.agent, &mut warnings).await?;
        open.host.set_resources(Arc::clone(&loaded.resources) as _);
        open.agent.set_stream_rules(loaded.rules());
        self.offer(&open, &mut warnings)?;
        Ok(warnings)
    }

    /// Enables the selected tools, from the next turn on. Faults in files of the system prompt are added to `warnings`.
    pub(super) fn offer(&self, open: &OpenSession, warnings: &mut Vec<String>) -> Result<(), ControlError> {
        let (names, allowed) = {
            let selection = self.selection.lock();
            (selection.names.clone(), selection.allowed.clone())
        };
        let mut tools = match names {
            Some(names) => {
                let known = self.known(open).into_iter();
                known.filter(|tool| names.iter().any(|name| name == tool.name())).collect()
            }
            None => self.offered(open)?,
        };
        tools.retain(|tool| allowed.as_ref().is_none_or(|allowed| allowed.iter().any(|name| name == tool.name())));
        let mode = self.mode();
        tools.extend(self.plan_tools(mode));
        let tools = with_servers(Toolset::new(tools).0, open.servers().as_ref());
        let mut system = self.app.session_system(&tools, open.servers().as_ref(), &open.host, warnings)?;
        system.extend(self.plan_instructions(mode).filter(|_| !system.is_empty()));
        open.agent.set_tools(tools, system);
        Ok(())
    }

    /// Returns the tools that are enabled by default.
    fn offered(&self, open: &OpenSession) -> Result<Vec<Arc<dyn Tool>>, ControlError> {
        let own = self.app.toolset(&open.host, open.servers().as_ref())?;
        let client = self.selection.lock().client.clone();
        Ok(own.all().iter().cloned().chain(client).collect())
    }

    fn known(&self, open: &OpenSession) -> Vec<Arc<dyn Tool>> {
        let mut known = self.app.known_tools(&open.host, open.servers().as_ref());
        known.retain(|tool| !tool.flags().hidden);
        known.extend(self.selection.lock().client.iter().cloned());
        known
    }
}
