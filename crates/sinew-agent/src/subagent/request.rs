//! The arguments of the `task` tool, and the ids of children.

use std::collections::HashSet;

use serde::Deserialize;
use serde_json::{Value, json};
use sinew::base::{Error, Result};

/// The maximum number of tasks in one call.
const TASKS: usize = 32;
/// The maximum length of an id in bytes.
const LONGEST_ID: usize = 48;
/// Reserved names: of the main session, and of requests outside of a conversation.
const RESERVED: [&str; 4] = ["main", "title", "compact", "handoff"];

/// A call of the `task` tool.
#[derive(Debug, Clone, PartialEq)]
pub enum TaskRequest {
    /// Starts children.
    Start(StartRequest),
    /// Continues a child that has ended.
    Resume(ResumeRequest),
}

/// Starts a child for each task.
#[derive(Debug, Clone, PartialEq)]
pub struct StartRequest {
    /// The name of the agent.
    pub agent: String,
    /// The tasks; each starts one child.
    pub tasks: Vec<TaskItem>,
    /// A text that all children read before their assignments.
    pub context: Option<String>,
    /// The names of the skills that all children read before their assignments, besides those of the agent.
    pub skills: Vec<String>,
    /// The JSON Schema of the results; overrides the schema of the agent.
    pub schema: Option<Value>,
    /// Whether the call returns at once; `None` for the default of the agent.
    pub background: Option<bool>,
    /// Whether each child works in a copy of the project; `None` for the default of the agent.
    pub isolated: Option<bool>,
}

/// Continues a child that has ended.
#[derive(Debug, Clone, PartialEq)]
pub struct ResumeRequest {
    /// The id of the child.
    pub id: String,
    /// The next assignment.
    pub assignment: String,
    /// Whether the call returns at once; `None` for the default of the agent.
    pub background: Option<bool>,
}

/// The arguments as the model writes them.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Arguments {
    agent: Option<String>,
    tasks: Option<Vec<TaskItem>>,
    context: Option<String>,
    skills: Option<Vec<String>>,
    schema: Option<Value>,
    resume: Option<String>,
    assignment: Option<String>,
    background: Option<bool>,
    isolated: Option<bool>,
}

/// One task of a call.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskItem {
    /// The id of the child; `None` for the next free one.
    #[serde(default)]
    pub id: Option<String>,
    /// The instructions for the child.
    pub assignment: String,
    /// A few words for people.
    #[serde(default)]
    pub description: Option<String>,
}

impl TaskRequest {
    /// Returns the JSON Schema of the arguments.
    #[must_use]
    pub fn parameters() -> Value {
        json!({
            "type": "object",
            "properties": {
                "agent": {"type": "string", "description": "starts this agent for each task"},
                "tasks": {"type": "array", "minItems": 1, "maxItems": TASKS, "items": {
                    "type": "object",
                    "properties": {
                        "id": {"type": "string", "description": "a name for the child"},
                        "assignment": {"type": "string", "description": "what to do; the child knows nothing else"},
                        "description": {"type": "string", "description": "a few words for the user"},
                    },
                    "required": ["assignment"],
                    "additionalProperties": false,
                }},
                "context": {"type": "string", "description": "facts that all of them need"},
                "skills": {"type": "array", "items": {"type": "string"}, "description": "names of skills that they read first"},
                "schema": {"type": "object", "description": "JSON Schema of each result"},
                "resume": {"type": "string", "description": "instead of agent and tasks: the id of a child that has ended, to continue it"},
                "assignment": {"type": "string", "description": "with resume: what to do next"},
                "background": {"type": "boolean", "description": "return at once; each end arrives as a message"},
                "isolated": {"type": "boolean", "description": "each works in a copy of the project; its changes are merged at its end"},
            },
            "additionalProperties": false,
        })
    }

    /// Parses the arguments of a call.
    ///
    /// # Errors
    /// Returns an error if they mix the two forms or lack a part of one, and for an empty assignment or two equal ones:
    /// the second child would do the same work.
    pub fn parse(arguments: &Value) -> Result<TaskRequest> {
        let invalid = |text: &str| Error::invalid(format!("task: {text}"));
        let arguments = Arguments::deserialize(arguments).map_err(|error| invalid(&error.to_string()))?;
        match arguments {
            Arguments { agent: Some(agent), tasks: Some(tasks), resume: None, assignment: None, .. } => {
                let Arguments { context, skills, schema, background, isolated, .. } = arguments;
                let skills = skills.unwrap_or_default();
                if tasks.is_empty() || tasks.len() > TASKS {
                    return Err(invalid(&format!("tasks: {} tasks; expected 1 to {TASKS}", tasks.len())));
                }
                check_assignments(&tasks)?;
                Ok(TaskRequest::Start(StartRequest { agent, tasks, context, skills, schema, background, isolated }))
            }
            Arguments {
                agent: None,
                tasks: None,
                context: None,
                skills: None,
                schema: None,
                isolated: None,
                resume: Some(id),
                ..
            } => {
                let assignment = arguments.assignment.filter(|text| !text.trim().is_empty());
                let assignment = assignment.ok_or_else(|| invalid("resume needs an assignment: what to do next"))?;
                Ok(TaskRequest::Resume(ResumeRequest { id, assignment, background: arguments.background }))
            }
            Arguments { resume: Some(_), .. } => {
                Err(invalid("resume continues one child: leave out agent, tasks, context, skills, schema and isolated"))
            }
            Arguments { assignment: Some(_), .. } => {
                Err(invalid("an assignment belongs to an item of tasks, or to resume"))
            }
            _ => Err(invalid("agent and tasks are required, or resume and assignment")),
        }
    }
}

/// Checks the tasks of a call against each other.
fn check_assignments(tasks: &[TaskItem]) -> Result<()> {
    let mut seen = HashSet::new();
    for (index, task) in tasks.iter().enumerate() {
        let assignment = task.assignment.trim();
        if assignment.is_empty() {
            return Err(Error::invalid(format!("task: tasks/{index}: the assignment is empty")));
        }
        if !seen.insert(assignment) {
            return Err(Error::invalid(format!("task: tasks/{index}: the same assignment occurs twice in this call")));
        }
    }
    Ok(())
}

/// The ids of the children that a session has started. An id is never used twice, whatever its case.
#[derive(Debug, Clone, Default)]
pub struct ChildIds {
    /// Lower-case ids.
    taken: HashSet<String>,
}

impl ChildIds {
    /// Returns the ids of a session with these children.
    pub fn new(ids: impl IntoIterator<Item = String>) -> ChildIds {
        ChildIds { taken: ids.into_iter().map(|id| id.to_lowercase()).collect() }
    }

    /// Returns `id` if no child has it, otherwise the first free id that begins with it: `id-2`, `id-3`, …
    #[must_use]
    pub fn free(&self, id: &str) -> String {
        match self.taken.contains(&id.to_lowercase()) {
            true => free(&self.taken, id, &|id| id.to_string()),
            false => id.to_string(),
        }
    }

    /// Reserves an id for each task, all or none. `most` is the maximum number of children of the session; the ids of a
    /// child's own children begin with `parent` and a dot.
    ///
    /// # Errors
    /// Returns an error that names the next free id if one is taken, and an error for an id that is not valid, or if
    /// there would be too many children.
    pub fn reserve(&mut self, tasks: &[TaskItem], most: usize, parent: Option<&str>) -> Result<Vec<String>> {
        let full = |id: &str| parent.map_or_else(|| id.to_string(), |parent| format!("{parent}.{id}"));
        let left = most.saturating_sub(self.taken.len());
        if tasks.len() > left {
            let count = tasks.len();
            let text = format!(
                "task: {count} tasks are more than the session has left: {left} of {most} children \
                                (task.maxTotal)"
            );
            return Err(Error::invalid(text));
        }
        let mut taken = self.taken.clone();
        let mut ids = Vec::with_capacity(tasks.len());
        for task in tasks {
            let id = match &task.id {
                Some(id) => {
                    check_name(id)?;
                    if taken.contains(&full(id).to_lowercase()) {
                        let free = free(&taken, id, &full);
                        return Err(Error::invalid(format!("task: the id {id:?} is taken; {free:?} is free")));
                    }
                    id.clone()
                }
                None if !taken.contains(&full("task").to_lowercase()) => "Task".to_string(),
                None => free(&taken, "Task", &full),
            };
            let id = full(&id);
            taken.insert(id.to_lowercase());
            ids.push(id);
        }
        self.taken = taken;
        Ok(ids)
    }
}

/// Checks the name of an agent or the id of a child.
///
/// # Errors
/// Returns an error if it is too long, contains other characters, or is reserved.
pub(super) fn check_name(name: &str) -> Result<()> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if name.is_empty() || name.len() > LONGEST_ID || !name.chars().all(is_plain) {
        return Err(Error::invalid(format!(
            "task: {name:?} is not a name: use at most {LONGEST_ID} letters, digits, `_` and `-`"
        )));
    }
    if RESERVED.contains(&name.to_lowercase().as_str()) {
        return Err(Error::invalid(format!("task: the name {name:?} is reserved")));
    }
    Ok(())
}

/// Returns `stem-2`, `stem-3`, …: the first that is not taken and not too long.
fn free(taken: &HashSet<String>, stem: &str, full: &dyn Fn(&str) -> String) -> String {
    let stem = &stem[..stem.len().min(LONGEST_ID - 6)];
    let numbered = (2..).map(|number| format!("{stem}-{number}"));
    numbered.into_iter().find(|id| !taken.contains(&full(id).to_lowercase())).unwrap_or_default()
}
