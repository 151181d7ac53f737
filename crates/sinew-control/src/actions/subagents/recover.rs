//! Reports children that a crash of the program interrupted, and copies of the project that it left behind.

use std::collections::BTreeMap;
use std::sync::Arc;

use sinew::base::Result;
use sinew_agent::agent::{SessionStats, last_text};
use sinew_agent::subagent::{AgentSource, ChildResult, ChildState};
use sinew_session::{Body, Defaults, Session};

use super::super::Control;
use super::record::{ChildRecord, RESULT, RESULT_KEY, RIGHTS, STARTED, StartedChild, result_in, started_in, told_in};
use super::result::{shortened, tell};
use super::{Figures, ListedChild};
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
    pub async fn recover_children(&self) {
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

    /// Returns the children of the current session that earlier programs have started. They are read once, because they
    /// no longer change.
    pub(super) fn earlier_children(&self) -> Vec<ListedChild> {
        let open = self.session();
        let id = open.agent.session().id().to_string();
        let known = self.subagents.earlier.lock().clone();
        if let Some((_, earlier)) = known.filter(|(session, _)| *session == id) {
            return earlier;
        }
        let own = self.own_children();
        let session = open.agent.session();
        // If the session can no longer be read, a warning was shown already.
        let bodies = session.entries_with(&[STARTED, RESULT_KEY]).unwrap_or_default();
        let ends: BTreeMap<String, ChildResult> =
            bodies.iter().filter_map(result_in).map(|result| (result.id.clone(), result)).collect();
        let mut earlier: Vec<ListedChild> = Vec::new();
        for started in
            bodies.iter().flat_map(started_in).filter(|started| own.iter().all(|child| child.id() != started.id))
        {
            earlier.retain(|child| child.id != started.id);
            let (written, end) = self.end_of(&session, &started.id, &ends);
            let model = written.as_ref().and_then(|written| written.context(&Defaults::default()).ok());
            let model = model.and_then(|context| context.models.get("default").cloned()).unwrap_or_default();
            let ChildResult { id, agent, description, state, turns, tokens, cost, .. } =
                end.unwrap_or_else(|| interrupted(started, written.as_ref()));
            let figures = Figures { turns, tokens, cost };
            earlier.push(ListedChild { id, agent, description, model, state, figures, last_line: None });
        }
        drop(session);
        *self.subagents.earlier.lock() = Some((id, earlier.clone()));
        earlier
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
            let (written, own) = self.end_of(&session, &started.id, &ends);
            // The result of a child's child is for that child, which reports it.
            let is_nested = started.id.contains('.');
            match own {
                Some(_) if is_nested => None,
                Some(result) => Some(result),
                None => Some(interrupted(started, written.as_ref())),
            }
        });
        Ok(results.collect())
    }

    /// Returns the session of a child, if it has a readable file, and the result of its last work. A child that never
    /// began has its result in the session of its parent, among `ends`.
    fn end_of(
        &self,
        parent: &Session,
        id: &str,
        ends: &BTreeMap<String, ChildResult>,
    ) -> (Option<Session>, Option<ChildResult>) {
        let file = self.app.store.child_file(parent, id);
        let written = file.and_then(|file| self.app.store.view(&file).ok());
        let end = written.as_ref().and_then(result_of).or_else(|| ends.get(id).cloned());
        (written, end)
    }
}

/// Returns the result of a child's last work, if it has one.
fn result_of(session: &Session) -> Option<ChildResult> {
    let entries = session.entries_with(&[RIGHTS, RESULT]).ok()?;
    let is_record = |body: &&Body| matches!(body, Body::Custom { custom_type, .. } if custom_type == RIGHTS || custom_type == RESULT);
    entries.iter().rev().find(is_record).and_then(result_in)
}

/// Returns the result of a child that the end of the program interrupted, with what it had written to its session.
fn interrupted(started: StartedChild, written: Option<&Session>) -> ChildResult {
    // A file that cannot be read any more tells nothing about the child.
    let record = written.and_then(|written| ChildRecord::read(written).ok().flatten());
    let stats = written.and_then(|written| SessionStats::of(written).ok()).unwrap_or_default();
    let output = written.and_then(|written| last_text(written).ok().flatten()).unwrap_or_default();
    let (output, is_cut) = shortened(output);
    ChildResult {
        index: 0,
        id: started.id,
        agent: started.agent,
        agent_source: record.map_or(AgentSource::BuiltIn, |record| record.definition.source),
        description: started.description,
        state: ChildState::Failed,
        limited: None,
        error: Some("interrupted: the program ended first; task with resume continues it".into()),
        output,
        truncated: is_cut,
        output_path: None,
        duration_ms: 0,
        turns: stats.assistant_messages,
        tokens: stats.tokens.total,
        usage: stats.tokens,
        cost: stats.cost,
        changes: None,
    }
}
