//! Subagents: `subagent_list`, `subagent_steer`, `subagent_abort`, `subagent_background`, `subagent_apply`,
//! `subagent_drop`, `set_subagent_events`, `review`.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};
use sinew_control::actions::ControlError;
use sinew_control::actions::subagents::ListedChild;

use super::client::{Fields, Rpc, fields};
use super::reply::Answer;

/// Returns the children of the session.
pub(super) async fn list(rpc: Arc<Rpc>, _: Fields) -> Answer {
    let children = rpc.control.children();
    Ok(Some(json!({"subagents": children.iter().map(describe).collect::<Vec<_>>()})))
}

/// Returns the children of the session that wait or work.
pub(super) fn at_work(rpc: &Rpc) -> Vec<Value> {
    rpc.control.children().iter().filter(|child| child.state.is_at_work()).map(describe).collect()
}

fn describe(child: &ListedChild) -> Value {
    json!({
        "id": child.id,
        "agent": child.agent,
        "description": child.description,
        "model": child.model,
        "state": child.state,
        "turns": child.figures.turns,
        "tokens": child.figures.tokens,
        "cost": child.figures.cost,
        "lastLine": child.last_line,
    })
}

/// Writes to a child that works.
pub(super) async fn steer(rpc: Arc<Rpc>, given: Fields) -> Answer {
    #[derive(Deserialize)]
    struct Request {
        child: String,
        message: String,
    }
    let Request { child, message } = fields("subagent_steer", given)?;
    rpc.control.steer_child(&child, &message).await.map_err(|error| named("subagent_steer", error))?;
    Ok(None)
}

/// The fields of a command about one child.
#[derive(Deserialize)]
struct Request {
    child: String,
}

/// Merges the changes that a child's copy of the project keeps.
pub(super) async fn apply(rpc: Arc<Rpc>, given: Fields) -> Answer {
    let Request { child } = fields("subagent_apply", given)?;
    let told = rpc.control.apply_view(&child).await;
    Ok(Some(json!({"text": told.map_err(|error| named("subagent_apply", error))?})))
}

/// Removes a child's copy of the project with its changes.
pub(super) async fn drop(rpc: Arc<Rpc>, given: Fields) -> Answer {
    let Request { child } = fields("subagent_drop", given)?;
    let told = rpc.control.drop_view(&child);
    Ok(Some(json!({"text": told.map_err(|error| named("subagent_drop", error))?})))
}

/// Ends a child.
pub(super) async fn abort(rpc: Arc<Rpc>, given: Fields) -> Answer {
    let Request { child } = fields("subagent_abort", given)?;
    rpc.control.abort_child(&child).map_err(|error| named("subagent_abort", error))?;
    Ok(None)
}

/// Moves the call that waits for a child to the background.
pub(super) async fn background(rpc: Arc<Rpc>, given: Fields) -> Answer {
    let Request { child } = fields("subagent_background", given)?;
    let moved = rpc.control.move_to_background(&child).map_err(|error| named("subagent_background", error))?;
    Ok(Some(json!({"children": moved})))
}

/// Adds the turns, messages and tool calls of children to the events, or stops that.
pub(super) async fn set_events(rpc: Arc<Rpc>, given: Fields) -> Answer {
    #[derive(Deserialize)]
    struct Request {
        enabled: bool,
    }
    let Request { enabled } = fields("set_subagent_events", given)?;
    rpc.control.show_child_events(enabled).await;
    Ok(None)
}

/// Reviews a change, and returns the findings.
pub(super) async fn review(rpc: Arc<Rpc>, given: Fields) -> Answer {
    #[derive(Deserialize)]
    struct Request {
        #[serde(default)]
        what: String,
    }
    let Request { what } = fields("review", given)?;
    let review = rpc.control.review(what.trim()).await?;
    Ok(Some(serde_json::to_value(&review).map_err(|error| error.to_string())?))
}

fn named(verb: &str, error: ControlError) -> ControlError {
    ControlError { message: format!("{verb}: {}", error.message), ..error }
}
