//! The tool `task`. A control runs its calls.

use std::fmt::Write;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use serde_json::Value;
use sinew_agent::subagent::{AgentDefinitions, TaskRequest};
use sinew_tools::semantics::{Effects, Presentation, Semantics, ToolKind};
use sinew_tools::tool::{Boxed, Call, Tool, ToolError, ToolOutput};

use super::App;

/// Runs the calls of the tool.
pub(crate) trait RunsTasks: Send + Sync {
    /// Runs the children of a call.
    ///
    /// # Errors
    /// Returns an error if no child can be started.
    fn run_tasks(self: Arc<Self>, request: TaskRequest, call: Call) -> Boxed<'static, Result<ToolOutput, ToolError>>;
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
    /// Returns the tool that starts children; none if the settings turn children off.
    pub(super) fn task_tool(&self) -> Option<Arc<dyn Tool>> {
        let is_on = self.startup.settings.task.max_depth > 0;
        is_on.then(|| Arc::new(TaskTool::new(self.children.clone(), &self.agent_definitions())) as Arc<dyn Tool>)
    }

    /// Reads the agents that a model can start.
    pub(crate) fn agent_definitions(&self) -> AgentDefinitions {
        let loaded = self.resources();
        AgentDefinitions::find(&loaded.options.folders, self.startup.trusted)
    }
}

/// The name of the tool.
pub(super) const NAME: &str = "task";

struct TaskTool {
    children: Children,
    description: String,
}

impl TaskTool {
    /// Creates the tool; its description lists the agents.
    fn new(children: Children, definitions: &AgentDefinitions) -> TaskTool {
        let mut description = String::from(
            "Give assignments to other agents, which work on them at the same time, and get their results. An agent knows only \
             its assignment and the context: name the files, the goal, and what the result must contain. Agents:",
        );
        for agent in &definitions.agents {
            // Writing to a text does not fail.
            let _ = write!(description, "\n- {}: {}", agent.name, agent.description);
        }
        TaskTool { children, description }
    }
}

impl Tool for TaskTool {
    fn name(&self) -> &'static str {
        NAME
    }

    fn description(&self) -> &str {
        &self.description
    }

    fn parameters(&self) -> Value {
        TaskRequest::parameters()
    }

    fn semantics(&self) -> Semantics {
        Semantics {
            kind: ToolKind::Agent,
            // Whatever its children do belongs to the turn.
            effects: Effects { writes_files: true, runs_programs: true, ..Effects::NONE },
            headline: "agent",
            subjects: |_| Vec::new(),
            title,
            presentation: Presentation { verb: "Starts", ..Semantics::UNKNOWN.presentation },
            ..Semantics::UNKNOWN
        }
    }

    fn execute(&self, call: Call) -> Boxed<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let control = self.children.get().ok_or(ToolError::Aborted)?;
            let request = serde_json::from_value(call.arguments.clone());
            let request: TaskRequest = request.map_err(|error| ToolError::Failed(format!("task: {error}")))?;
            control.run_tasks(request, call).await
        })
    }
}

/// Returns the agent, and what its children are to do, as far as that is known.
fn title(arguments: &Value) -> Option<String> {
    let agent = arguments.get("agent")?.as_str()?;
    let tasks = arguments.get("tasks").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let text = |task: &Value, key: &str| task.get(key).and_then(Value::as_str).map(str::to_string);
    let described = |task| text(task, "description").or_else(|| text(task, "id")).or_else(|| text(task, "assignment"));
    match tasks {
        [] => Some(agent.to_string()),
        [task] => Some(described(task).map_or_else(|| agent.to_string(), |task| format!("{agent}: {task}"))),
        tasks => Some(format!("{agent}: {} tasks", tasks.len())),
    }
}
