//! The entries about children in session files.
//!
//! The session that the user sees lists the children that a call starts, before any of them works. The session of a child
//! begins with its rights and ends with its result. The result is also in the message or tool result that the parent reads.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sinew::base::Result;
use sinew_agent::subagent::{AgentDefinition, ChildResult};
use sinew_llm::message::AgentMessage;
use sinew_session::{Body, Session};

use super::Child;
use crate::app::OpenSession;

/// The entry in the parent's session with the children of a call.
pub(super) const STARTED: &str = "subagents_started";
/// The entry in a child's session with its rights.
pub(super) const RIGHTS: &str = "subagent_rights";
/// The entry with the result of a child.
pub(super) const RESULT: &str = "subagent_result";
/// A key that only results of children have.
pub(super) const RESULT_KEY: &str = "\"agentSource\"";

/// The rights of a child, which it keeps when it is continued.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ChildRecord {
    pub(super) definition: AgentDefinition,
    pub(super) description: Option<String>,
    pub(super) depth: u64,
    pub(super) is_read_only: bool,
    /// The names of its tools.
    pub(super) tools: Vec<String>,
    pub(super) schema: Option<Value>,
    /// How its files are isolated.
    #[serde(default)]
    pub(super) isolation: Option<String>,
}

impl ChildRecord {
    pub(super) fn write(&self, session: &mut Session) -> Result<()> {
        let data = serde_json::to_value(self).unwrap_or_default();
        session.append(Body::Custom { custom_type: RIGHTS.into(), data }).map(drop)
    }

    /// Returns the record of a child's session; `None` if it has none.
    ///
    /// # Errors
    /// Returns an error if the file can no longer be read.
    pub(super) fn read(session: &Session) -> Result<Option<ChildRecord>> {
        Ok(last_of(session, RIGHTS)?.and_then(|data| serde_json::from_value(data).ok()))
    }
}

fn last_of(session: &Session, kind: &str) -> Result<Option<Value>> {
    let entries = session.entries_with(&[kind])?.into_iter().rev();
    let mut values = entries.filter_map(|body| match body {
        Body::Custom { custom_type, data } if custom_type == kind => Some(data),
        _ => None,
    });
    Ok(values.next())
}

/// Records the end of a child in its own session, or in that of its parent if it never began.
pub(super) fn write_result(session: &mut Session, result: &ChildResult) -> Result<()> {
    let data = serde_json::to_value(result).unwrap_or_default();
    session.append(Body::Custom { custom_type: RESULT.into(), data }).map(drop)
}

/// Records the children of a call in the session that the user sees.
pub(super) fn write_started(root: &OpenSession, children: &[std::sync::Arc<Child>]) -> Result<()> {
    let started: Vec<Value> = children
        .iter()
        .map(|child| {
            json!({
                "id": child.id(),
                "agent": child.requester.agent,
                "description": child.requester.description,
            })
        })
        .collect();
    let data = json!({"children": started});
    root.agent.session().append(Body::Custom { custom_type: STARTED.into(), data }).map(drop)
}

/// A child that a session has started.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct StartedChild {
    pub(super) id: String,
    pub(super) agent: String,
    pub(super) description: Option<String>,
}

pub(super) fn started_in(body: &Body) -> Vec<StartedChild> {
    match body {
        Body::Custom { custom_type, data } if custom_type == STARTED => {
            serde_json::from_value(data["children"].clone()).unwrap_or_default()
        }
        _ => Vec::new(),
    }
}

/// Returns the ids of all children that a session has started, whether they have a file or not.
pub(super) fn started_ids(open: &OpenSession) -> Vec<String> {
    // If the session can no longer be read, a warning was shown already.
    let entries = open.agent.session().entries_with(&[STARTED]).unwrap_or_default();
    entries.iter().flat_map(started_in).map(|started| started.id).collect()
}

/// Returns the recorded end of a child; `None` if the entry is another one.
pub(super) fn result_in(body: &Body) -> Option<ChildResult> {
    match body {
        Body::Custom { custom_type, data } if custom_type == RESULT => serde_json::from_value(data.clone()).ok(),
        _ => None,
    }
}

/// Returns the ids of the children whose results an entry reports to the model.
pub(super) fn told_in(body: &Body) -> HashSet<String> {
    let details = match body {
        Body::Message { message: AgentMessage::ToolResult(result) } => result.details.as_ref(),
        Body::CustomMessage { details, .. } => details.as_ref(),
        _ => None,
    };
    let results = details.and_then(|details| details["results"].as_array()).into_iter().flatten();
    results.filter_map(|result| Some(result["id"].as_str()?.to_string())).collect()
}
