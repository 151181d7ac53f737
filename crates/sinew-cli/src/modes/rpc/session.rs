//! Going from session to session, and about in the tree of one. A load that fails leaves the session as it was.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};
use sinew_agent::agent::{Leave, SessionCopy};
use sinew_agent::clock::iso;
use sinew_agent::export;

use super::Rpc;
use super::command::{Fields, fields};
use super::reply::{Answer, Fault, Reply};
use crate::assemble::Open;
use crate::sessions::Begun;

/// A session is left for a branch of it.
const BRANCH: &str = "branch";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct New {
    parent_session: Option<String>,
}

pub(super) async fn new(rpc: Arc<Rpc>, given: Fields) -> Answer {
    let New { parent_session } = fields("new_session", given)?;
    let parent = parent_session.map(|parent| rpc.assembly.shelf.id_of(&parent)).transpose()?;
    if rpc.open().agent.may_switch("new", None).await.cancelled {
        return Ok(Some(json!({"cancelled": true})));
    }
    replace(&rpc, "new", |rpc, _| {
        let mut begun = rpc.assembly.shelf.fresh();
        if let Some(parent) = &parent {
            begun.session.set_parent(parent);
        }
        Ok(Some(begun))
    })
    .await?;
    Ok(Some(json!({"cancelled": false})))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Switch {
    session_path: String,
}

pub(super) async fn switch(rpc: Arc<Rpc>, given: Fields) -> Answer {
    let Switch { session_path } = fields("switch_session", given)?;
    // Looked at before anything ends, so that a wrong name costs nothing.
    let file = rpc.assembly.shelf.find(&session_path)?;
    if rpc.open().agent.may_switch("resume", Some(&file)).await.cancelled {
        return Ok(Some(json!({"cancelled": true})));
    }
    replace(&rpc, "resume", |rpc, old| {
        if is_file_of(old, &file) {
            return Ok(None);
        }
        Ok(Some(rpc.assembly.shelf.open(&file)?))
    })
    .await?;
    Ok(Some(json!({"cancelled": false})))
}

fn is_file_of(open: &Open, file: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    open.agent.session().path().is_some_and(|path| real(path) == real(file))
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

/// Goes on with a session that ends before a message of the user.
async fn branch_before(rpc: &Arc<Rpc>, entry: &str) -> Answer {
    let mut text = String::new();
    let cancelled = copied(rpc, entry, |old| {
        let branched = old.agent.branch(entry)?;
        text = branched.text;
        Ok(branched.copy)
    })
    .await?;
    Ok(Some(json!({"text": text, "cancelled": cancelled})))
}

/// Goes on with a copy of the path to where the session stands.
pub(super) async fn clone(rpc: Arc<Rpc>, _: Fields) -> Answer {
    let Some(leaf) = rpc.open().agent.session().leaf().map(str::to_string) else {
        return Err("Cannot clone session: no current entry selected".into());
    };
    let cancelled = copied(&rpc, &leaf, |old| Ok(old.agent.clone_branch()?)).await?;
    Ok(Some(json!({"cancelled": cancelled})))
}

/// Goes on with the session that `make` gives, unless an extension refuses it at `entry`; says whether one did.
async fn copied(
    rpc: &Arc<Rpc>,
    entry: &str,
    make: impl FnOnce(&Open) -> Result<SessionCopy, Fault>,
) -> Result<bool, Fault> {
    let leaving = rpc.open().agent.may_branch(entry).await;
    if leaving.cancelled {
        return Ok(true);
    }
    replace(rpc, BRANCH, |rpc, old| {
        let copy = make(old)?;
        if leaving.skip_restore {
            // The new session is there for whoever opens it.
            return Ok(None);
        }
        Ok(Some(match copy {
            SessionCopy::File(file) => rpc.assembly.shelf.open(&file)?,
            SessionCopy::InMemory(session) => Begun { session: *session, warnings: Vec::new() },
        }))
    })
    .await?;
    Ok(false)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Fork {
    entry_id: Option<String>,
}

/// With an entry the same as `branch`; without one it goes on with a copy of the whole session.
pub(super) async fn fork(rpc: Arc<Rpc>, given: Fields) -> Answer {
    let Fork { entry_id } = fields("fork", given)?;
    if let Some(entry) = entry_id {
        return branch_before(&rpc, &entry).await;
    }
    let mut file = PathBuf::new();
    // Refused while a run is active: asked before anything ends.
    if rpc.open().agent.is_running() {
        return Err("Agent is already processing: wait until it is done, or abort it".into());
    }
    if rpc.open().agent.may_switch("fork", None).await.cancelled {
        return Ok(Some(json!({"sessionFile": null, "cancelled": true})));
    }
    replace(&rpc, "fork", |rpc, old| {
        file = old.agent.fork()?;
        Ok(Some(rpc.assembly.shelf.open(&file)?))
    })
    .await?;
    Ok(Some(json!({"sessionFile": file, "cancelled": false})))
}

/// Ends what runs, and goes on with the session that `make` gives; none stays where it is. Where it fails the old
/// session goes on. `reason` is what extensions hear.
async fn replace(
    rpc: &Arc<Rpc>,
    reason: &str,
    make: impl FnOnce(&Rpc, &Open) -> Result<Option<Begun>, Fault>,
) -> Result<(), Fault> {
    let old = rpc.open();
    rpc.quiet(&old).await;
    old.agent.clear_queues().await;
    // A failure to write was told when it happened.
    let _ = old.agent.session().flush();
    let Some(begun) = make(rpc, &old)? else { return Ok(()) };
    let mut warnings = Vec::new();
    let new = rpc.assembly.open(begun, &old.agent, &mut warnings).await?;
    let settings = old.agent.settings();
    new.agent.change_settings(|new| *new = (*settings).clone());
    rpc.offer(&new, &mut Vec::new())?;
    // A job may have woken the model meanwhile.
    rpc.quiet(&old).await;
    rpc.enter(Arc::new(new)).await;
    // Its shell and jobs end with it, which may take a moment.
    tokio::task::block_in_place(|| old.host.close());
    let agent = &rpc.open().agent;
    let previous = old.agent.session().path().map(Path::to_path_buf);
    match reason {
        BRANCH => agent.branched(previous.as_deref()).await,
        reason => agent.switched(reason, previous.as_deref()).await,
    }
    for warning in warnings {
        agent.warn(warning).await;
    }
    Ok(())
}

#[derive(Deserialize)]
struct Name {
    name: String,
}

pub(super) async fn name(rpc: Arc<Rpc>, given: Fields) -> Answer {
    let Name { name } = fields("set_session_name", given)?;
    rpc.open().agent.set_title(&name)?;
    Ok(None)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Navigate {
    target_id: String,
    summarize: Option<bool>,
    custom_instructions: Option<String>,
}

/// Goes elsewhere in the tree; what was said meanwhile has its turn then.
pub(super) async fn navigate(rpc: Arc<Rpc>, given: Fields, reply: Reply) {
    let open = rpc.open();
    reply.send(moved(&open, given).await).await;
    open.agent.take_up().await;
}

async fn moved(open: &Open, given: Fields) -> Answer {
    let Navigate { target_id, summarize, custom_instructions } = fields("navigate_tree", given)?;
    let leave = match summarize {
        None => Leave::AsSet,
        Some(false) => Leave::Silently,
        Some(true) => Leave::Summarised(custom_instructions.as_deref()),
    };
    let moved = open.agent.navigate_tree(&target_id, leave).await?;
    let mut told = json!({"cancelled": moved.cancelled, "aborted": moved.aborted});
    if let (Value::Object(told), Some(text)) = (&mut told, moved.editor_text) {
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
    let open = rpc.open();
    // Off the threads that run the agent: a long session takes a while.
    let written = tokio::task::spawn_blocking(move || {
        let agent = &open.agent;
        let system = agent.system().join("\n\n");
        let tools = agent.tools();
        let tools: Vec<export::Tool> = tools
            .all()
            .iter()
            .filter(|tool| !tool.flags().hidden)
            .map(|tool| export::Tool {
                name: tool.name().to_string(),
                description: tool.description().to_string(),
                parameters: tool.parameters(),
            })
            .collect();
        let secrets = rpc.assembly.chooser.secrets();
        let options = export::Options {
            secrets: Some(&secrets),
            system: Some(&system),
            tools: &tools,
            made_by: concat!("Exported by sinew ", env!("CARGO_PKG_VERSION")),
        };
        let cwd = &rpc.assembly.start.paths.cwd;
        let file = agent.session().path().map(Path::to_path_buf);
        match file.filter(|file| file.is_file()) {
            // A reader of its own: a run goes on writing meanwhile.
            Some(file) => export::export(&rpc.assembly.shelf.view(&file)?, &options, cwd, output_path.as_deref()),
            None => export::export(&agent.session(), &options, cwd, output_path.as_deref()),
        }
    });
    let path = written.await.map_err(|panic| format!("export_html: {panic}"))??;
    Ok(Some(json!({"path": path})))
}

#[derive(Deserialize)]
struct List {
    #[serde(default)]
    all: bool,
}

/// The sessions of this folder that hold a message; with `all` those of every folder, and empty ones.
pub(super) async fn list(rpc: Arc<Rpc>, given: Fields) -> Answer {
    let List { all } = fields("list_sessions", given)?;
    let reader = Arc::clone(&rpc);
    let listed = tokio::task::spawn_blocking(move || reader.assembly.shelf.list(all)).await;
    let listed = listed.map_err(|panic| format!("list_sessions: {panic}"))?;
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
