//! The tool `task`. A control runs its calls.

use std::fmt::Write;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use serde_json::Value;
use sinew_agent::core::is_named;
use sinew_agent::subagent::{AgentDefinition, AgentDefinitions, AgentFiles, TaskRequest};
use sinew_tools::semantics::{Semantics, TASK, TASK_NAME};
use sinew_tools::tool::{Boxed, Call, Tool, ToolError, ToolFlags, ToolOutput};

use super::App;
use crate::failure::Failure;
use crate::resources::folders;
use crate::startup::Startup;

/// Runs the calls of the tool.
pub(crate) trait RunsTasks: Send + Sync {
    /// Runs the children of a call, which the session or the child with the id `caller` makes.
    ///
    /// # Errors
    /// Returns an error if no child can be started.
    fn run_tasks(
        self: Arc<Self>,
        request: TaskRequest,
        call: Call,
        caller: Option<String>,
    ) -> Boxed<'static, Result<ToolOutput, ToolError>>;
}

/// The control that runs the calls; empty until there is one.
#[derive(Clone, Default)]
pub(crate) struct Children(Arc<Mutex<Option<Weak<dyn RunsTasks>>>>);

impl Children {
    pub(crate) fn set(&self, control: Weak<dyn RunsTasks>) {
        *self.0.lock() = Some(control);
    }

    fn get(&self) -> Option<Arc<dyn RunsTasks>> {
        self.0.lock().as_ref()?.upgrade()
    }
}

impl App {
    /// Returns the tool that starts children; `None` if the settings disable children. `caller` is the id of the child
    /// that uses it, with the names of the agents that it may start; `None` for the session itself.
    pub(super) fn task_tool(&self, caller: Option<(&str, &[String])>) -> Option<Arc<dyn Tool>> {
        if self.startup.settings.task.max_depth == 0 {
            return None;
        }
        let mut definitions = self.agent_definitions();
        if let Some((_, spawns)) = caller {
            definitions.agents.retain(|agent| is_named(spawns, &agent.name) && !agent.is_fork());
        } else if let Some(own) = &self.agent {
            definitions.agents.retain(|agent| is_named(&own.spawns, &agent.name));
            if definitions.agents.is_empty() {
                return None;
            }
        }
        let caller = caller.map(|(id, _)| id.to_string());
        Some(Arc::new(TaskTool::new(self.children.clone(), &definitions, caller)))
    }

    /// Reads the agents that a model can start.
    pub(crate) fn agent_definitions(&self) -> AgentDefinitions {
        definitions(&self.startup)
    }
}

fn definitions(startup: &Startup) -> AgentDefinitions {
    let Startup { trusted, settings, paths, .. } = startup;
    let files = AgentFiles { is_trusted: *trusted, foreign: settings.agents.enable_foreign };
    AgentDefinitions::find(&folders(paths), files)
}

/// Returns the agent that `--agent` names, and prefers its model to that of the settings.
///
/// # Errors
/// Returns an error if there is no such agent, or if it cannot begin a conversation.
pub(super) fn session_agent(startup: &mut Startup) -> Result<Option<AgentDefinition>, Failure> {
    let Some(name) = &startup.args.run.agent else { return Ok(None) };
    let definitions = definitions(startup);
    let agent =
        definitions.get(name).map_err(|error| Failure::usage(error.message().replacen("task:", "--agent:", 1)))?;
    if agent.is_fork() {
        return Err(Failure::usage("--agent fork: a fork continues a conversation, so it cannot start a session"));
    }
    let model = &mut startup.args.model;
    if model.pattern.is_none() && model.provider.is_none() && model.scope.is_none() {
        model.pattern.clone_from(&agent.model);
    }
    model.thinking = model.thinking.or(agent.thinking);
    Ok(Some(agent.clone()))
}

struct TaskTool {
    children: Children,
    description: String,
    /// The child that uses the tool; `None` for the session itself.
    caller: Option<String>,
}

impl TaskTool {
    /// Creates the tool; its description lists the agents.
    fn new(children: Children, definitions: &AgentDefinitions, caller: Option<String>) -> TaskTool {
        let mut description = String::from(
            "Give assignments to other agents, which work on them at the same time, and get their results. An agent knows only \
             its assignment and the context: name the files, the goal, and what the result must contain. Agents:",
        );
        for agent in &definitions.agents {
            // Writing to a string cannot fail.
            let _ = write!(description, "\n- {}: {}", agent.name, agent.description);
        }
        TaskTool { children, description, caller }
    }
}

impl Tool for TaskTool {
    fn name(&self) -> &'static str {
        TASK_NAME
    }

    fn description(&self) -> &str {
        &self.description
    }

    fn parameters(&self) -> Value {
        TaskRequest::parameters()
    }

    fn semantics(&self) -> Semantics {
        TASK
    }

    fn flags(&self) -> ToolFlags {
        // Steering is for the parent: it must not throw away the work of its children.
        ToolFlags { ignores_steering: true, ..ToolFlags::default() }
    }

    fn intent(&self, partial: &Value) -> Option<String> {
        (TASK.title)(partial).map(|title| format!("{TASK_NAME} {title}"))
    }

    fn execute(&self, call: Call) -> Boxed<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let control = self.children.get().ok_or(ToolError::Aborted)?;
            let request = TaskRequest::parse(&call.arguments);
            let request = request.map_err(|error| ToolError::Failed(error.message().to_string()))?;
            control.run_tasks(request, call, self.caller.clone()).await
        })
    }
}
