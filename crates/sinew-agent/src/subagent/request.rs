//! The arguments of the `task` tool, and the ids of children.

use std::collections::HashSet;

use serde::Deserialize;
use serde_json::{Value, json};
use sinew::base::{Error, Result};

/// The maximum number of tasks in one call.
const TASKS: usize = 32;
/// The maximum length of an id in bytes.
const LONGEST_ID: usize = 48;
/// Names that mean something else: sessions of their own, and requests beside a conversation.
const RESERVED: [&str; 4] = ["main", "title", "compact", "handoff"];

/// A call of the `task` tool.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskRequest {
    /// The name of the agent.
    pub agent: String,
    /// The tasks; each starts one child.
    pub tasks: Vec<TaskItem>,
    /// A text that all children read before their assignments.
    #[serde(default)]
    pub context: Option<String>,
    /// The JSON Schema of the results; overrides the schema of the agent.
    #[serde(default)]
    pub schema: Option<Value>,
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
                "agent": {"type": "string"},
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
                "schema": {"type": "object", "description": "JSON Schema of each result"},
            },
            "required": ["agent", "tasks"],
            "additionalProperties": false,
        })
    }

    /// Checks the tasks against each other.
    ///
    /// # Errors
    /// Returns an error for an empty assignment, and for two equal ones: the second child would do the same work.
    pub fn check(&self) -> Result<()> {
        let mut seen = HashSet::new();
        for (index, task) in self.tasks.iter().enumerate() {
            let assignment = task.assignment.trim();
            if assignment.is_empty() {
                return Err(Error::invalid(format!("task: tasks/{index}: the assignment is empty")));
            }
            if !seen.insert(assignment) {
                return Err(Error::invalid(format!(
                    "task: tasks/{index}: the same assignment occurs twice in this call"
                )));
            }
        }
        Ok(())
    }
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

    /// Reserves an id for each task, all or none. `most` is the maximum number of children of the session.
    ///
    /// # Errors
    /// Returns an error that names the next free id if one is taken, and an error for an id that is not valid, or if
    /// there would be too many children.
    pub fn reserve(&mut self, tasks: &[TaskItem], most: usize) -> Result<Vec<String>> {
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
                    if taken.contains(&id.to_lowercase()) {
                        let free = free(&taken, id);
                        return Err(Error::invalid(format!("task: the id {id:?} is taken; {free:?} is free")));
                    }
                    id.clone()
                }
                None if !taken.contains("task") => "Task".to_string(),
                None => free(&taken, "Task"),
            };
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
fn free(taken: &HashSet<String>, stem: &str) -> String {
    let stem = &stem[..stem.len().min(LONGEST_ID - 6)];
    let numbered = (2..).map(|number| format!("{stem}-{number}"));
    numbered.into_iter().find(|id| !taken.contains(&id.to_lowercase())).unwrap_or_default()
}
