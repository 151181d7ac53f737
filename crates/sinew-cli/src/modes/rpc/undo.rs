//! Undo and redo of file changes: `undo`, `redo`, `plan_undo`, `list_checkpoints`.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};
use sinew::checkpoint::{Plan, PlanEntry, RepositoryMove};
use sinew_agent::undo::plan_text;

use super::client::{Fields, Rpc, fields};
use super::reply::Answer;
use crate::control::undo::{Direction, UndoArguments};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Request {
    turns: usize,
    paths: Vec<String>,
    force: bool,
    with_conversation: bool,
    redo: bool,
}

impl Default for Request {
    fn default() -> Request {
        Request { turns: 1, paths: Vec::new(), force: false, with_conversation: false, redo: false }
    }
}

impl Request {
    fn arguments(self) -> UndoArguments {
        let Request { turns, paths, force, with_conversation, .. } = self;
        UndoArguments { turns, paths, force, with_conversation, dry_run: false, yes: true }
    }
}

/// Returns the plan of an undo, or of a redo with `redo: true`.
pub(super) async fn plan(rpc: Arc<Rpc>, given: Fields) -> Answer {
    let request: Request = fields("plan_undo", given)?;
    let direction = if request.redo { Direction::Redo } else { Direction::Undo };
    let plan = rpc.control.plan_undo(direction, &request.arguments()).await?;
    let turns: Vec<&str> = plan.turns.iter().map(|turn| &*turn.id).collect();
    Ok(Some(json!({"turns": turns, "plan": of_plan(&plan.plan), "text": plan_text(&plan)})))
}

pub(super) async fn undo(rpc: Arc<Rpc>, given: Fields) -> Answer {
    carry_out(&rpc, Direction::Undo, fields("undo", given)?).await
}

pub(super) async fn redo(rpc: Arc<Rpc>, given: Fields) -> Answer {
    carry_out(&rpc, Direction::Redo, fields("redo", given)?).await
}

/// Executes an undo or redo without confirmation, because the client has seen the plan.
async fn carry_out(rpc: &Rpc, direction: Direction, request: Request) -> Answer {
    let arguments = request.arguments();
    let plan = rpc.control.plan_undo(direction, &arguments).await?;
    let (result, _) = rpc.control.carry_out_undo(plan, arguments.with_conversation).await?;
    let turns: Vec<&str> = result.turns.iter().map(|turn| &*turn.id).collect();
    let restored = &result.restored;
    Ok(Some(json!({
        "turns": turns,
        "plan": of_plan(&restored.plan),
        "done": restored.done,
        "planned": restored.planned,
        "redo": restored.redo,
    })))
}

/// Lists the turns of the branch with their checkpoints, oldest first.
pub(super) async fn list(rpc: Arc<Rpc>, _: Fields) -> Answer {
    let history = rpc.control.session().agent.undo_history()?;
    let turn = |turn: &sinew_agent::undo::Turn| json!({"entryId": turn.id, "title": turn.title, "spans": turn.spans, "undone": turn.is_undone, "gaps": turn.gaps});
    let turns: Vec<Value> = history.turns.iter().map(turn).collect();
    Ok(Some(json!({"turns": turns, "redo": history.redos})))
}

fn of_plan(plan: &Plan) -> Value {
    let entry = |entry: &PlanEntry| {
        json!({
            "path": String::from_utf8_lossy(&entry.path),
            "action": entry.action.as_str(),
            "reason": entry.action.reason(),
            "change": entry.change.as_str(),
            "kind": entry.kind.as_str(),
            "note": entry.note,
        })
    };
    let repository = |moved: &RepositoryMove| {
        json!({
            "path": String::from_utf8_lossy(&moved.path),
            "from": moved.from,
            "to": moved.to,
            "index": moved.index,
            "command": moved.command,
        })
    };
    let entries: Vec<Value> = plan.entries.iter().map(entry).collect();
    let repositories: Vec<Value> = plan.repositories.iter().map(repository).collect();
    json!({"entries": entries, "repositories": repositories, "coverage": plan.coverage.to_string()})
}
