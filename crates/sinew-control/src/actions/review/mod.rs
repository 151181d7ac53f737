//! `/review`: the agent `reviewer` looks for faults in a change.
//!
//! | module | contains |
//! |---|---|
//! | `change` | finds the change: of the working directory, since a branch, of a range, or in a patch file |
//! | `finding` | the result of a review |

mod change;
pub(super) mod finding;

use serde_json::{Value, json};
use sinew_agent::subagent::{ChildResult, ChildState, StartRequest, TaskItem};

use super::{Control, ControlError};
use change::Change;
pub use finding::{Finding, Review};

/// The agent that reviews.
const AGENT: &str = "reviewer";
/// The id of the subagent; later reviews of a session have a number after it.
const ID: &str = "Review";

/// Returns the JSON Schema of [`Review`].
fn schema() -> Value {
    let text = |about: &str| json!({"type": "string", "description": about});
    json!({
        "type": "object",
        "required": ["summary", "findings"],
        "properties": {
            "summary": text("the assessment of the whole change in at most three sentences"),
            "findings": {"type": "array", "items": {
                "type": "object",
                "required": ["file", "lines", "severity", "claim", "evidence"],
                "properties": {
                    "file": text("the path below the working directory"),
                    "lines": text("the line, or the first and the last one: 12 or 12-15"),
                    "severity": {"enum": ["high", "medium", "low"]},
                    "claim": text("what is wrong, in one sentence"),
                    "evidence": text("what you have read or run that shows it"),
                },
            }},
        },
    })
}

impl Control {
    /// Lets the agent `reviewer` review a change; `what` names a branch, a range or a patch file. The model reads the
    /// result with the next prompt.
    ///
    /// # Errors
    /// Returns an error if `what` names no change, or if the reviewer ends without a result.
    pub async fn review(&self, what: &str) -> Result<Review, ControlError> {
        let (cwd, wanted) = (self.app.startup.paths.cwd.clone(), what.to_string());
        let found = tokio::task::spawn_blocking(move || Change::find(&cwd, &wanted)).await;
        let change =
            found.map_err(|panic| format!("/review: {panic}"))?.map_err(|reason| format!("/review: {reason}"))?;
        let id = self.free_child_id(ID);
        let task = TaskItem { id: Some(id), assignment: change.assignment(), description: Some(change.title.clone()) };
        let request = StartRequest {
            agent: AGENT.into(),
            tasks: vec![task],
            context: None,
            skills: Vec::new(),
            schema: Some(schema()),
            background: Some(true),
            isolated: Some(false),
        };
        let (result, value) = self.run_for_person(request).await?;
        let mut review = match value.filter(|_| result.state == ChildState::Completed) {
            Some(value) => serde_json::from_value::<Review>(value).map_err(|error| format!("/review: {error}"))?,
            None => return Err(unfinished(&result).into()),
        };
        review.findings.sort_by_key(|finding| finding.severity);
        let text = format!("The user has had {} reviewed.\n\n{}", change.title, review.text());
        self.session().agent.note(text, Some(json!({"results": [result]})));
        *self.last_review.lock() = review.findings.clone();
        Ok(review)
    }

    /// Returns the findings of the last review.
    pub fn findings(&self) -> Vec<Finding> {
        self.last_review.lock().clone()
    }
}

/// Returns the message about a reviewer that has no result.
fn unfinished(result: &ChildResult) -> String {
    let reason = result.error.as_ref().map(|error| format!(": {error}")).unwrap_or_default();
    format!("/review: the reviewer is {}{reason}", result.state.as_str())
}
