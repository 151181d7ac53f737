//! `job`: shows and controls background jobs.

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use super::spec::{Outcome, PLAIN, Run, Spec};
use super::{Host, HostOptions, arguments};
use crate::semantics::{Effects, Semantics, ToolKind};
use crate::shell::jobs::Entry;
use crate::tool::cancelled;
use crate::tool::{Call, Concurrency, ToolError, ToolOutput};

pub(super) static SPEC: Spec = Spec {
    name: "job",
    description: "Commands in the background: list them, read the last 2,000 lines of output of one, wait until it \
                  ends, or cancel it. You are told when one ends.",
    parameters,
    guidelines: &[],
    concurrency: Concurrency::Shared,
    flags: PLAIN,
    semantics: Semantics {
        kind: ToolKind::Execute,
        effects: Effects { runs_programs: true, ..Effects::NONE },
        headline: "action",
        foreign_names: &["TaskOutput"],
        ..Semantics::UNKNOWN
    },
    offered: |options| options.settings.jobs,
    reject_early: None,
    preview: None,
    run: Run::Future(|host, call| Box::pin(run(host, call))),
};

/// The default waiting time in seconds, and its range.
const SECONDS: f64 = 60.0;
const RANGE: (f64, f64) = (0.0, 3_600.0);

fn parameters(_: &HostOptions) -> Value {
    json!({
        "type": "object",
        "properties": {
            "action": {"enum": ["list", "output", "wait", "cancel"]},
            "id": {"type": "string", "description": "may be left out where there is one job; wait: any"},
            "timeout": {"type": "number", "description": "seconds to wait (60), at most 3600"},
        },
        "required": ["action"],
        "additionalProperties": false,
    })
}

#[derive(Deserialize)]
struct Arguments {
    action: String,
    id: Option<String>,
    timeout: Option<f64>,
}

async fn run(host: Arc<Host>, call: Call) -> Outcome {
    let arguments: Arguments = arguments::parse(&call)?;
    let all = host.jobs.all();
    if arguments.action == "list" || all.is_empty() && arguments.id.is_none() {
        let lines: Vec<String> = all.iter().map(Entry::summary).collect();
        let text = if lines.is_empty() { "No jobs.".to_string() } else { lines.join("\n") };
        let jobs: Vec<Value> = all.iter().map(|job| json!({"jobId": job.id, "state": job.state()})).collect();
        return Ok(ToolOutput::text(text).with_details(json!({"jobs": jobs})));
    }
    let chosen = chosen(&all, arguments.id.as_deref(), arguments.action == "wait")?;
    let _watch = host.jobs.watch(chosen.iter().map(|job| job.id.clone()).collect());
    let seconds = arguments.timeout.filter(|seconds| seconds.is_finite()).unwrap_or(SECONDS);
    let time = tokio::time::sleep(Duration::from_secs_f64(seconds.clamp(RANGE.0, RANGE.1)));
    let job = match arguments.action.as_str() {
        "output" => chosen[0].clone(),
        "cancel" => {
            chosen[0].command.cancel();
            chosen[0].command.ended().await;
            chosen[0].clone()
        }
        _ => {
            let ends = chosen.iter().map(|job| {
                Box::pin(async move {
                    job.command.ended().await;
                    job
                })
            });
            tokio::select! {
                (job, ..) = futures_util::future::select_all(ends) => job.clone(),
                () = time => chosen[0].clone(),
                () = cancelled(&call.cancel) => return Err(ToolError::Aborted),
            }
        }
    };
    if job.command.end().is_some() {
        host.jobs.mark_read(&job.id);
    }
    let mut text = job.command.glance();
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(&format!("[{}]", job.summary()));
    let mut details = job.command.details();
    (details["jobId"], details["state"]) = (json!(job.id), json!(job.state()));
    Ok(ToolOutput::text(text).with_details(details))
}

/// Returns the jobs that a call refers to: the named one, otherwise the only one; with `any`, all running ones.
fn chosen(all: &[Entry], id: Option<&str>, any: bool) -> Result<Vec<Entry>, ToolError> {
    let ids = || all.iter().map(|job| job.id.as_str()).collect::<Vec<_>>().join(", ");
    if let Some(id) = id {
        let job = all.iter().find(|job| job.id == id).cloned();
        let known = if all.is_empty() { "none".to_string() } else { ids() };
        return job.map(|job| vec![job]).ok_or_else(|| ToolError::Failed(format!("No job {id}. Known: {known}")));
    }
    let running: Vec<Entry> = all.iter().filter(|job| job.state() == "running").cloned().collect();
    match (running.len(), all.len()) {
        (1, _) => Ok(running),
        (0, 1) => Ok(all.to_vec()),
        (1.., _) if any => Ok(running),
        _ => Err(ToolError::Failed(format!("Choose a job by its id: {}", ids()))),
    }
}
