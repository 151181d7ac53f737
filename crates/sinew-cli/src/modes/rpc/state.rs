//! What a client may want to know. Nothing of it waits for a run.

use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use sinew_agent::agent::AgentSettings;
use sinew_agent::core::{Interrupt, Mode};
use sinew_agent::resource::Commands;
use sinew_agent::session::Session;

use super::Rpc;
use super::command::{Fields, fields};
use super::model::describe;
use super::reply::{Answer, Fault, Reply};

pub(super) async fn state(rpc: Arc<Rpc>, _: Fields) -> Answer {
    let open = rpc.open();
    let agent = &open.agent;
    let AgentSettings { steering_mode, follow_up_mode, run, compaction, retry, .. } = &*agent.settings();
    let mode = |mode: Mode| if mode == Mode::All { "all" } else { "one-at-a-time" };
    let (steering, follow_up) = agent.queued();
    let tools: Vec<Value> = agent
        .tools()
        .all()
        .iter()
        .filter(|tool| !tool.flags().hidden)
        .map(|tool| json!({"name": tool.name(), "description": tool.description(), "parameters": tool.parameters()}))
        .collect();
    let (file, id, name, count, of_session) = {
        let session = agent.session();
        let file = session.path().map(Path::to_path_buf);
        (file, session.id().to_string(), session.title(), session.context_len()?, session.mode()?)
    };
    Ok(Some(json!({
        "model": describe(&agent.model().model),
        "thinkingLevel": agent.thinking().as_str(),
        "isStreaming": agent.is_running(),
        "isCompacting": agent.is_compacting(),
        "isRetrying": agent.is_retrying(),
        "steeringMode": mode(*steering_mode),
        "followUpMode": mode(*follow_up_mode),
        "interruptMode": if run.interrupt == Interrupt::Wait { "wait" } else { "immediate" },
        "sessionFile": file,
        "sessionId": id,
        "sessionName": name,
        "autoCompactionEnabled": compaction.enabled,
        "autoRetryEnabled": retry.enabled,
        "messageCount": count,
        "queuedMessageCount": steering.len() + follow_up.len(),
        // The same under the name that pi's clients use.
        "pendingMessageCount": steering.len() + follow_up.len(),
        "todoPhases": open.host.todo_phases(),
        "systemPrompt": agent.system().join("\n\n"),
        "dumpTools": tools,
        "cwd": rpc.assembly.start.paths.cwd,
        "mode": of_session,
    })))
}

pub(super) async fn stats(rpc: Arc<Rpc>, _: Fields) -> Answer {
    let open = rpc.open();
    let (file, id) = {
        let session = open.agent.session();
        (session.path().map(Path::to_path_buf), session.id().to_string())
    };
    let mut told = json!({"sessionFile": file, "sessionId": id});
    if let (Value::Object(told), Ok(Value::Object(counts))) = (&mut told, serde_json::to_value(open.agent.counts()?)) {
        told.extend(counts);
        if let Some(usage) = open.agent.context_usage()? {
            told.insert("contextUsage".into(), json!(usage));
        }
    }
    Ok(Some(told))
}

pub(super) async fn messages(rpc: Arc<Rpc>, _: Fields) -> Answer {
    Ok(Some(json!({"messages": rpc.open().agent.conversation()?})))
}

pub(super) async fn last_text(rpc: Arc<Rpc>, _: Fields) -> Answer {
    Ok(Some(json!({"text": rpc.open().agent.last_text()?})))
}

pub(super) async fn branch_points(rpc: Arc<Rpc>, _: Fields) -> Answer {
    let points = rpc.open().agent.branch_points()?;
    let points: Vec<Value> = points.into_iter().map(|(entry, text)| json!({"entryId": entry, "text": text})).collect();
    Ok(Some(json!({"messages": points})))
}

#[derive(Deserialize)]
struct Since {
    since: Option<String>,
}

/// The entries of the file, those behind `since` where it is given.
pub(super) async fn entries(rpc: Arc<Rpc>, given: Fields, reply: Reply) {
    let since = match fields("get_entries", given) {
        Ok(Since { since }) => since,
        Err(fault) => return reply.send(Err(fault)).await,
    };
    read(&rpc, reply, "entries", move |session| session.entries_json(since.as_deref())).await;
}

/// All entries as a tree.
pub(super) async fn tree(rpc: Arc<Rpc>, _: Fields, reply: Reply) {
    read(&rpc, reply, "tree", Session::tree_json).await;
}

/// Answers with what `read` gives under `name`, and with where the session stands.
async fn read(
    rpc: &Rpc,
    reply: Reply,
    name: &'static str,
    read: impl FnOnce(&Session) -> Result<String, sinew::base::Error> + Send + 'static,
) {
    let open = rpc.open();
    // Off the threads that run the agent: a long session takes a while.
    let data = tokio::task::spawn_blocking(move || {
        let session = open.agent.session();
        let (found, leaf) = (read(&session)?, json!(session.leaf()));
        let data = RawValue::from_string(format!("{{\"{name}\":{found},\"leafId\":{leaf}}}"));
        data.map_err(|error| Fault::from(error.to_string()))
    });
    reply.send_text(data.await.unwrap_or_else(|panic| Err(panic.to_string().into()))).await;
}

pub(super) async fn commands(rpc: Arc<Rpc>, _: Fields) -> Answer {
    let (commands, _) = Commands::new(&rpc.assembly.extensions);
    let listed = rpc.assembly.loaded().resources.listed_commands(&commands);
    let listed: Vec<Value> = listed
        .iter()
        .map(|command| json!({"name": command.name, "description": command.description, "source": command.source}))
        .collect();
    Ok(Some(json!({"commands": listed})))
}
