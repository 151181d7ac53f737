//! Reports children that a crash of the program interrupted, and copies of the project that it left behind.

use std::collections::BTreeMap;
use std::sync::Arc;

use sinew::base::Result;
use sinew_agent::subagent::{AgentSource, ChildResult, ChildState};
use sinew_session::{Body, Session};

use super::super::Control;
use super::record::{RESULT, RESULT_KEY, RIGHTS, STARTED, StartedChild, result_in, started_in, told_in};
use super::result::tell;
use crate::app::OpenSession;

impl Control {
    /// Returns a line about the running children of a session; `None` if there are none.
    fn at_work(&self, session: &str) -> Option<String> {
        let children = self.subagents.children.lock();
        let own = children.iter().filter(|child| child.session == session && child.is_at_work());
        let own: Vec<String> = own.map(|child| child.requester.to_string()).collect();
        (!own.is_empty()).then(|| format!("Subagents at work: {}. Their ends arrive as messages.", own.join(", ")))
    }

    /// Reports the children of the current session that ended without a message to the model, because the program ended
    /// first. The model reads it with the next prompt.
    pub(crate) async fn recover_children(&self) {
        let open = self.session();
        let (control, session) = (self.me.clone(), open.agent.session().id().to_string());
        open.agent.describe_outside_work(Arc::new(move || control.upgrade()?.at_work(&session)));
        match tokio::task::block_in_place(|| self.left_views()) {
            Ok(left) => {
                for warning in left {
                    open.agent.warn(warning).await;
                }
            }
            Err(error) => open.agent.warn(format!("subagents: {error}")).await,
        }
        let lost = match self.lost_children(&open) {
            Ok(lost) => lost,
            Err(error) => return open.agent.warn(format!("subagents: {error}")).await,
        };
        for result in lost {
            let reason = result.error.as_deref().map(|error| format!(": {error}")).unwrap_or_default();
            open.agent.warn(format!("Subagent {} is {}{reason}", result.id, result.state.as_str())).await;
            tell(&open.agent, &result);
        }
    }

    fn lost_children(&self, open: &OpenSession) -> Result<Vec<ChildResult>> {
        let mut pending = BTreeMap::new();
        // The ends of children that never began.
        let mut ends = BTreeMap::new();
        let session = open.agent.session();
        let folder = session.path().map(sinew_session::children_of);
        if !folder.is_some_and(|folder| folder.is_dir()) {
            return Ok(Vec::new());
        }
        for body in session.entries_with(&[STARTED, RESULT_KEY])? {
            pending.extend(started_in(&body).into_iter().map(|started| (started.id.clone(), started)));
            ends.extend(result_in(&body).map(|result| (result.id.clone(), result)));
            for id in told_in(&body) {
                pending.remove(&id);
                ends.remove(&id);
            }
        }
        let results = pending.into_values().filter_map(|started| {
            let file = self.app.store.child_file(&session, &started.id)?;
            let own = self.app.store.view(&file).ok().and_then(|own| result_of(&own));
            let own = own.or_else(|| ends.remove(&started.id));
            // The result of a child's child is for that child, which reports it.
            let is_nested = started.id.contains('.');
            match own {
                Some(_) if is_nested => None,
                Some(result) => Some(result),
                None => Some(interrupted(started)),
            }
        });
        Ok(results.collect())
    }
}

/// Returns the result of a child's last work, if it has one.
fn result_of(session: &Session) -> Option<ChildResult> {
    let entries = session.entries_with(&[RIGHTS, RESULT]).ok()?;
    let is_record = |body: &&Body| matches!(body, Body::Custom { custom_type, .. } if custom_type == RIGHTS || custom_type == RESULT);
    entries.iter().rev().find(is_record).and_then(result_in)
}

fn interrupted(started: StartedChild) -> ChildResult {
    ChildResult {
        index: 0,
        id: started.id,
        agent: started.agent,
        agent_source: AgentSource::BuiltIn,
        description: started.description,
        state: ChildState::Failed,
        limited: None,
        error: Some("interrupted: the program ended first; task with resume continues it".into()),
        output: String::new(),
        truncated: false,
        output_path: None,
        duration_ms: 0,
        turns: 0,
        tokens: 0,
        usage: Default::default(),
        cost: 0.0,
        changes: None,
    }
}
