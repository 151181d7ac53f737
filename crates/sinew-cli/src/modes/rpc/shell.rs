//! Commands of the user.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Deserialize;
use serde_json::{Value, json};
use sinew::base::Canceller;
use sinew_agent::tool::{ToolError, Updates};
use sinew_llm::message::{AgentMessage, BashExecution};

use super::Rpc;
use super::command::{Fields, fields};
use super::reply::Answer;
use crate::assemble::Open;

/// Commands that run, or wait for the shell.
#[derive(Default)]
pub(super) struct Commands {
    next: AtomicU64,
    running: Mutex<HashMap<u64, Canceller>>,
}

impl Commands {
    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Canceller>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn abort(&self) {
        self.lock().values().for_each(Canceller::cancel);
    }
}

/// A command that runs until this is dropped.
struct Running<'a> {
    commands: &'a Commands,
    id: u64,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.commands.lock().remove(&self.id);
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Bash {
    command: String,
    #[serde(default)]
    exclude_from_context: bool,
}

/// Runs a command in the session's shell; the model reads of it with the next request, unless it is left out.
pub(super) async fn bash(rpc: Arc<Rpc>, given: Fields) -> Answer {
    let Bash { command, exclude_from_context } = fields("bash", given)?;
    let open = rpc.open();
    let (canceller, cancel) = Canceller::new();
    let id = rpc.bash.next.fetch_add(1, Ordering::Relaxed);
    rpc.bash.lock().insert(id, canceller);
    let running = Running { commands: &rpc.bash, id };
    if let Some(run) = open.agent.asked_user_bash(&command, exclude_from_context).await {
        return Ok(Some(kept(&rpc, &open, run, exclude_from_context)));
    }
    let ended = open.host.user_command(&command, &cancel, Updates::none()).await;
    drop(running);
    let run = match ended {
        Ok(run) => run,
        // It never began: there is nothing to keep.
        Err(ToolError::Aborted) => return Ok(Some(json!({"output": "", "cancelled": true, "truncated": false}))),
        Err(ToolError::Failed(text)) => return Err(text.into()),
    };
    Ok(Some(kept(&rpc, &open, run, exclude_from_context)))
}

/// Keeps what a command gave, and tells it.
fn kept(rpc: &Rpc, open: &Open, run: BashExecution, exclude_from_context: bool) -> Value {
    let timestamp = rpc.assembly.clock.now();
    let run = BashExecution { exclude_from_context: exclude_from_context.then_some(true), timestamp, ..run };
    let mut told = json!({"output": run.output});
    if let Value::Object(told) = &mut told {
        if let Some(code) = run.exit_code {
            told.insert("exitCode".into(), code.into());
        }
        told.insert("cancelled".into(), run.cancelled.into());
        told.insert("truncated".into(), run.truncated.into());
        if let Some(path) = &run.full_output_path {
            told.insert("fullOutputPath".into(), path.clone().into());
        }
    }
    open.agent.record(AgentMessage::BashExecution(run));
    told
}

pub(super) async fn abort(rpc: Arc<Rpc>, _: Fields) -> Answer {
    rpc.bash.abort();
    Ok(None)
}
