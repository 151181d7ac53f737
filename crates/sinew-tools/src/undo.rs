//! `undo_edit`: reverts the last write of a tool.

use serde::Deserialize;
use serde_json::{Value, json};

use super::spec::{Outcome, PLAIN, Run, Spec, always};
use super::{Host, HostOptions, arguments, paths, save};
use crate::read_tracker::hash;
use crate::semantics::{Effects, OutputView, Presentation, Semantics, ToolKind};
use crate::tool::{Call, Concurrency, ToolError, ToolFlags, ToolOutput};
use crate::undo_log::LEVELS;

pub(super) static SPEC: Spec = Spec {
    name: "undo_edit",
    description: "Put a file back to what it was before the last write or edit of it.",
    parameters,
    guidelines: &[],
    concurrency: Concurrency::Exclusive,
    flags: ToolFlags { non_abortable: true, default_inactive: true, ..PLAIN },
    semantics: Semantics {
        kind: ToolKind::Edit,
        effects: Effects { reads_files: true, writes_files: true, ..Effects::NONE },
        headline: "path",
        presentation: Presentation { verb: "", output: OutputView::Tail },
        ..Semantics::UNKNOWN
    },
    offered: always,
    reject_early: None,
    preview: None,
    run: Run::Blocking(run),
};

fn parameters(_: &HostOptions) -> Value {
    json!({
        "type": "object",
        "properties": {"path": {"type": "string"}},
        "required": ["path"],
        "additionalProperties": false,
    })
}

#[derive(Deserialize)]
struct Arguments {
    path: String,
}

fn run(host: &Host, call: &Call) -> Outcome {
    let Arguments { path } = arguments::parse(call)?;
    let path = paths::resolve(host, call, &path)?;
    let name = paths::shown(&call.cwd, &path);
    let target = save::look(&path, &name, &host.access(SPEC.name, SPEC.semantics.effects, Some(&call.id), &call.cwd))?;
    let Some(level) = host.undo.take(&target.path) else {
        return Err(ToolError::Failed(format!(
            "Nothing to undo for {name}: no tool wrote it in the last {LEVELS} writes."
        )));
    };
    if target.content.as_deref().map(hash) != Some(level.after) {
        host.undo.put_back(level);
        return Err(ToolError::Failed(format!("Not undone: {name} changed after the last write by a tool.")));
    }
    let done = match &level.before {
        Some(content) => target.restore(host, &name, content),
        None => target.remove(host, &name),
    };
    if let Err(error) = done {
        host.undo.put_back(level);
        return Err(error);
    }
    Ok(ToolOutput::text(match &level.before {
        Some(content) => format!("Restored {name} ({} bytes).", content.len()),
        None => format!("Removed {name}: the last write had created it."),
    }))
}
