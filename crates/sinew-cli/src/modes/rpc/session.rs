//! Other sessions, and positions in the tree of a session.

use std::path::PathBuf;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};
use sinew_agent::agent::{BranchSummaryChoice, NavigationResult};
use sinew_control::actions::session::BranchStart;
use sinew_control::app::OpenSession;
use sinew_session::clock::iso;

use super::client::{Fields, Rpc, fields};
use super::reply::{Answer, Reply};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NewSessionFields {
    parent_session: Option<String>,
}

pub(super) async fn new(rpc: Arc<Rpc>, given: Fields) -> Answer {
    let NewSessionFields { parent_session } = fields("new_session", given)?;
    let cancelled = rpc.control.new_session(parent_session.as_deref()).await?;
    Ok(Some(json!({"cancelled": cancelled})))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Switch {
    session_path: String,
}

pub(super) async fn switch(rpc: Arc<Rpc>, given: Fields) -> Answer {
    let Switch { session_path } = fields("switch_session", given)?;
    Ok(Some(json!({"cancelled": rpc.control.switch_session(&session_path).await?})))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Branch {
    entry_id: String,
}

pub(super) async fn branch(rpc: Arc<Rpc>, given: Fields) -> Answer {
    let Branch { entry_id } = fields("branch", given)?;
    branch_before(&rpc, &entry_id).await
}

async fn branch_before(rpc: &Rpc, entry: &str) -> Answer {
    let BranchStart { text, cancelled } = rpc.control.branch(entry).await?;
    Ok(Some(json!({"text": text, "cancelled": cancelled})))
}

pub(super) async fn clone(rpc: Arc<Rpc>, _: Fields) -> Answer {
    Ok(Some(json!({"cancelled": rpc.control.clone_branch().await?})))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Fork {
    entry_id: Option<String>,
}

/// With an entry, does the same as `branch`; without one, changes to a copy of the whole session.
pub(super) async fn fork(rpc: Arc<Rpc>, given: Fields) -> Answer {
    let Fork { entry_id } = fields("fork", given)?;
    if let Some(entry) = entry_id {
        return branch_before(&rpc, &entry).await;
    }
    let file = rpc.control.fork().await?;
    Ok(Some(json!({"sessionFile": file, "cancelled": file.is_none()})))
}

#[derive(Deserialize)]
struct Name {
    name: String,
}

pub(super) async fn name(rpc: Arc<Rpc>, given: Fields) -> Answer {
    let Name { name } = fields("set_session_name", given)?;
    rpc.control.set_title(&name)?;
    Ok(None)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Navigate {
    target_id: String,
    summarize: Option<bool>,
    custom_instructions: Option<String>,
}

/// Moves to another entry of the tree, and then processes the messages that arrived meanwhile.
pub(super) async fn navigate(rpc: Arc<Rpc>, given: Fields, reply: Reply) {
    let open = rpc.control.session();
    reply.send(moved(&rpc, &open, given).await).await;
    open.agent.take_up().await;
}

async fn moved(rpc: &Rpc, open: &OpenSession, given: Fields) -> Answer {
    let Navigate { target_id, summarize, custom_instructions } = fields("navigate_tree", given)?;
    let leave = match summarize {
        None => BranchSummaryChoice::AsSet,
        Some(false) => BranchSummaryChoice::Silently,
        Some(true) => BranchSummaryChoice::Summarised(custom_instructions.as_deref()),
    };
    let NavigationResult { editor_text, cancelled, aborted, .. } =
        rpc.control.navigate(open, &target_id, leave).await?;
    let mut told = json!({"cancelled": cancelled, "aborted": aborted});
    if let (Value::Object(told), Some(text)) = (&mut told, editor_text) {
        told.insert("editorText".into(), text.into());
    }
    Ok(Some(told))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Export {
    output_path: Option<PathBuf>,
}

pub(super) async fn export_html(rpc: Arc<Rpc>, given: Fields) -> Answer {
    let Export { output_path } = fields("export_html", given)?;
    Ok(Some(json!({"path": rpc.control.export(output_path, true).await?})))
}

#[derive(Deserialize)]
struct List {
    #[serde(default)]
    all: bool,
}

pub(super) async fn list(rpc: Arc<Rpc>, given: Fields) -> Answer {
    let List { all } = fields("list_sessions", given)?;
    let listed = rpc.control.list_sessions(all).await?;
    let sessions: Vec<Value> = listed
        .into_iter()
        .map(|session| {
            let since = session.modified.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
            json!({
                "path": session.path,
                "id": session.id,
                "cwd": session.cwd,
                "title": session.title,
                "modified": iso(i64::try_from(since.as_millis()).unwrap_or_default()),
            })
        })
        .collect();
    Ok(Some(json!({"sessions": sessions})))
}
