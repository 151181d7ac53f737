//! The results of children, and what their parent reads about them.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use sinew_agent::agent::AgentSession;
use sinew_agent::subagent::{ChildChanges, ChildResult, ChildState, Limit, report};
use sinew_tools::tool::ToolOutput;

use super::batch::Brief;
use super::{Child, Figures};
use crate::app::OpenSession;

/// The maximum length of a result in the parent's conversation, in characters.
const OUTPUT: usize = 5_000;

/// Tells a model how it learns of the end of children in the background.
const MEANWHILE: &str =
    "The end of each arrives as a message. Do something else, or end your turn; do not wait for them.";

/// How a child ended.
pub(super) struct End {
    pub(super) state: ChildState,
    pub(super) limited: Option<Limit>,
    pub(super) error: Option<String>,
    pub(super) output: String,
    pub(super) changes: Option<ChildChanges>,
}

impl End {
    /// Returns the end of a child that did nothing.
    pub(super) fn without_work(state: ChildState, error: Option<String>) -> End {
        End { state, limited: None, error, output: String::new(), changes: None }
    }

    /// Returns the end of a child, with its last text.
    pub(super) fn of(open: &OpenSession, state: ChildState, error: Option<String>) -> End {
        // If the session can no longer be read, a warning was shown already.
        let output = open.agent.last_text().ok().flatten().unwrap_or_default();
        End { state, limited: None, error, output, changes: None }
    }
}

/// Returns the result of a child that has ended; a long output is kept for the parent.
pub(super) fn result(brief: &Brief, child: &Child, index: usize, end: End) -> ChildResult {
    let (output, truncated) = shortened(end.output.clone());
    let output_path = truncated.then(|| keep(&brief.parent, child.id(), &end.output)).flatten();
    let duration = child.started.lock().map_or(Duration::ZERO, |started| started.elapsed());
    let Figures { turns, tokens, cost } = child.figures();
    ChildResult {
        index,
        id: child.id().to_string(),
        agent: brief.definition.name.clone(),
        agent_source: brief.definition.source,
        description: child.requester.description.clone(),
        state: end.state,
        limited: end.limited,
        error: end.error,
        truncated,
        output,
        output_path,
        duration_ms: u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
        turns,
        tokens,
        usage: child.meter.usage().into(),
        cost,
        changes: end.changes,
    }
}

/// Cuts a long output for the parent. Returns true if it was cut.
pub(super) fn shortened(mut output: String) -> (String, bool) {
    let cut = output.char_indices().nth(OUTPUT).map(|(at, _)| at);
    cut.inspect(|at| output.truncate(*at));
    (output, cut.is_some())
}

/// Keeps a long output among the artifacts of the parent's session. Returns its address; `None` if it cannot be written.
fn keep(parent: &OpenSession, id: &str, output: &str) -> Option<String> {
    let (_, mut file) = parent.host.artifacts().begin(&format!("agent-{id}")).ok()?;
    file.push(output.as_bytes()).ok()?;
    file.finish().ok()?;
    Some(format!("agent://{id}"))
}

/// Queues a message for the model that a child in the background has ended.
pub(super) fn tell(agent: &AgentSession, result: &ChildResult) {
    let text = format!("A subagent has ended.\n\n{}", report(std::slice::from_ref(result)));
    agent.note(text, Some(json!({"results": [result]})));
}

/// Returns the result of a call whose children have ended.
pub(super) fn output(results: &[ChildResult]) -> ToolOutput {
    let is_error = results.iter().all(|result| result.state != ChildState::Completed);
    ToolOutput { is_error, ..ToolOutput::text(report(results)).with_details(json!({"results": results})) }
}

/// Returns the result of a call whose children work in the background.
pub(super) fn started(children: &[Arc<Child>]) -> ToolOutput {
    let lines: Vec<String> = children.iter().map(|child| child.requester.to_string()).collect();
    let text = format!("Started in the background: {}.\n{MEANWHILE}", lines.join(", "));
    ToolOutput::text(text).with_details(json!({"background": true, "children": states(children)}))
}

/// Returns the result of a call that the user has moved to the background: the results of the children that have ended,
/// and the others.
pub(super) fn moved(results: &[ChildResult], children: &[Arc<Child>]) -> ToolOutput {
    let is_ended = |child: &Arc<Child>| results.iter().any(|result| result.id == child.id());
    let lines: Vec<String> =
        children.iter().filter(|child| !is_ended(child)).map(|child| child.requester.to_string()).collect();
    let ended = if results.is_empty() { String::new() } else { format!("\n\n{}", report(results)) };
    let lines = lines.join(", ");
    let text = format!("The user moved this call to the background. Still at work: {lines}.\n{MEANWHILE}{ended}");
    let details = json!({"background": true, "children": states(children), "results": results});
    ToolOutput::text(text).with_details(details)
}

/// Returns the states of a call's children, for the user.
pub(super) fn progress(children: &[Arc<Child>]) -> ToolOutput {
    let line = |child: &Arc<Child>| format!("{}: {}", child.requester, child.state().as_str());
    let lines: Vec<String> = children.iter().map(line).collect();
    ToolOutput::text(lines.join("\n")).with_details(json!({"children": states(children)}))
}

fn states(children: &[Arc<Child>]) -> Vec<Value> {
    children.iter().map(|child| json!({"id": child.id(), "state": child.state()})).collect()
}
