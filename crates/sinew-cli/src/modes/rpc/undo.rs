//! Undo and redo of file changes: `undo`, `redo`, `plan_undo`, `list_checkpoints`.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Value, json};
use sinew::checkpoint::{Plan, PlanEntry, RepositoryMove};
use sinew_agent::undo::{LineCounts, path_of, plan_text};
use sinew_control::actions::ControlError;
use sinew_control::actions::undo::{Direction, UndoArguments};

use super::client::{Fields, Rpc, fields};
use super::reply::Answer;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Request {
    turns: usize,
    paths: Vec<GivenPath>,
    force: bool,
    with_conversation: bool,
    redo: bool,
}

/// A path: a text, or base64 if it is not UTF-8.
#[derive(Deserialize)]
#[serde(untagged)]
enum GivenPath {
    Text(String),
    Bytes { bytes: String },
}

impl GivenPath {
    fn path(self) -> Result<PathBuf, ControlError> {
        match self {
            GivenPath::Text(path) => Ok(path.into()),
            GivenPath::Bytes { bytes } => {
                let decoded = STANDARD.decode(&bytes);
                decoded.map(|bytes| path_of(&bytes)).map_err(|_| format!("bytes: {bytes:?} is not base64").into())
            }
        }
    }
}

impl Default for Request {
    fn default() -> Request {
        Request { turns: 1, paths: Vec::new(), force: false, with_conversation: false, redo: false }
    }
}

impl Request {
    fn arguments(self) -> Result<UndoArguments, ControlError> {
        let Request { turns, paths, force, with_conversation, .. } = self;
        let paths = paths.into_iter().map(GivenPath::path).collect::<Result<_, _>>()?;
        Ok(UndoArguments { turns, paths, force, with_conversation, dry_run: false, yes: true })
    }
}

/// Returns the plan of an undo, or of a redo with `redo: true`.
pub(super) async fn plan(rpc: Arc<Rpc>, given: Fields) -> Answer {
    let request: Request = fields("plan_undo", given)?;
    let direction = if request.redo { Direction::Redo } else { Direction::Undo };
    let plan = rpc.control.plan_undo(direction, &request.arguments()?).await?;
    let turns: Vec<&str> = plan.turns.iter().map(|turn| &*turn.id).collect();
    Ok(Some(json!({"turns": turns, "plan": of_plan(&plan.plan, &plan.lines), "text": plan_text(&plan)})))
}

pub(super) async fn undo(rpc: Arc<Rpc>, given: Fields) -> Answer {
    carry_out(&rpc, Direction::Undo, fields("undo", given)?).await
}

pub(super) async fn redo(rpc: Arc<Rpc>, given: Fields) -> Answer {
    carry_out(&rpc, Direction::Redo, fields("redo", given)?).await
}

/// Executes an undo or redo without confirmation, because the client has seen the plan.
async fn carry_out(rpc: &Rpc, direction: Direction, request: Request) -> Answer {
    let arguments = request.arguments()?;
    let plan = rpc.control.plan_undo(direction, &arguments).await?;
    let (result, _) = rpc.control.carry_out_undo(plan, arguments.with_conversation).await?;
    let turns: Vec<&str> = result.turns.iter().map(|turn| &*turn.id).collect();
    let restored = &result.restored;
    Ok(Some(json!({
        "turns": turns,
        "plan": of_plan(&restored.plan, &HashMap::new()),
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

/// Adds a path to an object: `path`, and `bytes` in base64 if it is not UTF-8.
fn of_path(path: &[u8], mut object: Value) -> Value {
    object["path"] = json!(String::from_utf8_lossy(path));
    if std::str::from_utf8(path).is_err() {
        object["bytes"] = json!(STANDARD.encode(path));
    }
    object
}

fn of_plan(plan: &Plan, lines: &HashMap<Vec<u8>, LineCounts>) -> Value {
    let entry = |entry: &PlanEntry| {
        let mut object = json!({
            "action": entry.action.as_str(),
            "reason": entry.action.reason(),
            "change": entry.change.as_str(),
            "kind": entry.kind.as_str(),
            "note": entry.note,
        });
        if let Some(LineCounts { added, removed }) = lines.get(&entry.path) {
            object["added"] = json!(added);
            object["removed"] = json!(removed);
        }
        of_path(&entry.path, object)
    };
    let repository = |moved: &RepositoryMove| {
        of_path(
            &moved.path,
            json!({
                "from": moved.from,
                "to": moved.to,
                "index": moved.index,
                "command": moved.command,
            }),
        )
    };
    let entries: Vec<Value> = plan.entries.iter().map(entry).collect();
    let repositories: Vec<Value> = plan.repositories.iter().map(repository).collect();
    json!({"entries": entries, "repositories": repositories, "coverage": plan.coverage.to_string()})
}
