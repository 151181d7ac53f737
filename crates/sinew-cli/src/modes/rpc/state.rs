//! Queries of the session's state. None of them waits for a run.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use sinew_agent::core::{Interrupt, QueueMode};
use sinew_control::actions::ControlError;
use sinew_control::actions::state::{State, Stats};
use sinew_session::Session;

use super::client::{Fields, Rpc, fields};
use super::model::describe;
use super::reply::{Answer, Reply};
use super::subagents;

pub(super) async fn state(rpc: Arc<Rpc>, _: Fields) -> Answer {
    let state = rpc.control.state()?;
    let State { session, settings, queued, tools, .. } = &state;
    let mode = |mode: QueueMode| if mode == QueueMode::All { "all" } else { "one-at-a-time" };
    let tools: Vec<Value> = tools
        .iter()
        .map(|tool| json!({"name": tool.name(), "description": tool.description(), "parameters": tool.parameters()}))
        .collect();
    Ok(Some(json!({
        "model": describe(&state.model),
        "thinkingLevel": state.thinking.as_str(),
        "isStreaming": state.is_running,
        "isCompacting": state.is_compacting,
        "isRetrying": state.is_retrying,
        "steeringMode": mode(settings.steering_mode),
        "followUpMode": mode(settings.follow_up_mode),
        "interruptMode": if settings.run.interrupt == Interrupt::Wait { "wait" } else { "immediate" },
        "sessionFile": session.file,
        "sessionId": session.id,
        "sessionName": state.title,
        "autoCompactionEnabled": settings.compaction.enabled,
        "autoRetryEnabled": settings.retry.enabled,
        "messageCount": state.messages,
        "queuedMessageCount": queued,
        // The same value under the name that clients of pi use.
        "pendingMessageCount": queued,
        "todoPhases": state.todo,
        "systemPrompt": state.system,
        "dumpTools": tools,
        "cwd": state.cwd,
        "mode": state.session_mode,
        "subagents": subagents::at_work(&rpc),
    })))
}

pub(super) async fn stats(rpc: Arc<Rpc>, _: Fields) -> Answer {
    let Stats { session, counts, context, servers, .. } = rpc.control.stats()?;
    let mut told = json!({"sessionFile": session.file, "sessionId": session.id});
    if let (Value::Object(told), Ok(Value::Object(counts))) = (&mut told, serde_json::to_value(counts)) {
        told.extend(counts);
        if let Some(usage) = context {
            told.insert("contextUsage".into(), json!(usage));
        }
        if let Some(servers) = servers {
            told.insert("mcpTokens".into(), json!(servers));
        }
    }
    Ok(Some(told))
}

pub(super) async fn messages(rpc: Arc<Rpc>, _: Fields) -> Answer {
    Ok(Some(json!({"messages": rpc.control.messages()?})))
}

pub(super) async fn last_text(rpc: Arc<Rpc>, _: Fields) -> Answer {
    Ok(Some(json!({"text": rpc.control.last_text()?})))
}

pub(super) async fn branch_points(rpc: Arc<Rpc>, _: Fields) -> Answer {
    let points = rpc.control.branch_points()?;
    let points: Vec<Value> = points.into_iter().map(|(entry, text)| json!({"entryId": entry, "text": text})).collect();
    Ok(Some(json!({"messages": points})))
}

#[derive(Deserialize)]
struct SinceField {
    since: Option<String>,
}

/// Returns the entries of the session file; with `since`, only those after it.
pub(super) async fn entries(rpc: Arc<Rpc>, given: Fields, reply: Reply) {
    let since = match fields("get_entries", given) {
        Ok(SinceField { since }) => since,
        Err(error) => return reply.send(Err(error)).await,
    };
    read(&rpc, reply, "entries", move |session| session.entries_json(since.as_deref())).await;
}

/// Returns all entries as a tree.
pub(super) async fn tree(rpc: Arc<Rpc>, _: Fields, reply: Reply) {
    read(&rpc, reply, "tree", Session::tree_json).await;
}

/// Answers with the result of `read` under `name`, and with the current entry.
async fn read(
    rpc: &Rpc,
    reply: Reply,
    name: &'static str,
    read: impl FnOnce(&Session) -> Result<String, sinew::base::Error> + Send + 'static,
) {
    let open = rpc.control.session();
    // Runs outside of the agent's threads, because a long session takes a while.
    let data = tokio::task::spawn_blocking(move || {
        let session = open.agent.session();
        let (found, leaf) = (read(&session)?, json!(session.leaf()));
        let data = RawValue::from_string(format!("{{\"{name}\":{found},\"leafId\":{leaf}}}"));
        data.map_err(|error| ControlError::from(error.to_string()))
    });
    reply.send_text(data.await.unwrap_or_else(|panic| Err(panic.to_string().into()))).await;
}

pub(super) async fn commands(rpc: Arc<Rpc>, _: Fields) -> Answer {
    let listed = rpc.control.listed_commands().into_iter();
    let listed: Vec<Value> = listed
        .map(|command| json!({"name": command.name, "description": command.description, "source": command.source}))
        .collect();
    Ok(Some(json!({"commands": listed})))
}
