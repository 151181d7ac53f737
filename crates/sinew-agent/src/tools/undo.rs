//! `undo_edit`: takes back the last write of a tool.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::Deserialize;
use serde_json::{Value, json};

use super::seen::{Hash, hash};
use super::spec::{Outcome, PLAIN, Run, Spec, always};
use super::{Host, HostOptions, arguments, paths, save};
use crate::tool::{Call, Concurrency, ToolError, ToolFlags, ToolOutput};

pub(super) static SPEC: Spec = Spec {
    name: "undo_edit",
    description: "Put a file back to what it was before the last write or edit of it.",
    parameters,
    guidelines: &[],
    concurrency: Concurrency::Exclusive,
    flags: ToolFlags { non_abortable: true, default_inactive: true, ..PLAIN },
    intent: "path",
    offered: always,
    run: Run::Blocking(run),
};

/// Writes that can be taken back.
const LEVELS: usize = 20;
/// A larger content is not kept.
const LARGEST: usize = 16 << 20;

/// The last writes of a session.
#[derive(Default)]
pub(super) struct Undo {
    levels: Mutex<VecDeque<Level>>,
}

struct Level {
    path: PathBuf,
    /// `None`: the write created the file.
    before: Option<Vec<u8>>,
    after: Hash,
}

impl Undo {
    /// A tool replaced `before` by `after`.
    pub(super) fn wrote(&self, path: &Path, before: Option<&[u8]>, after: &[u8]) {
        if before.is_some_and(|content| content.len() > LARGEST) {
            return;
        }
        let level = Level { path: path.to_path_buf(), before: before.map(<[u8]>::to_vec), after: hash(after) };
        let mut levels = self.levels.lock().unwrap_or_else(PoisonError::into_inner);
        levels.push_back(level);
        if levels.len() > LEVELS {
            levels.pop_front();
        }
    }

    fn take(&self, path: &Path) -> Option<Level> {
        let mut levels = self.levels.lock().unwrap_or_else(PoisonError::into_inner);
        let index = levels.iter().rposition(|level| level.path == path)?;
        levels.remove(index)
    }

    fn put_back(&self, level: Level) {
        self.levels.lock().unwrap_or_else(PoisonError::into_inner).push_back(level);
    }
}

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
    let target = save::look(&path, &name, &host.access(&["undo_edit", "write"], Some(&call.id), &call.cwd))?;
    let Some(level) = host.undo.take(&target.path) else {
        return Err(ToolError::Failed(format!(
            "Nothing to undo for {name}: no tool wrote it in the last {LEVELS} writes."
        )));
    };
    if target.content.as_deref().map(hash) != Some(level.after) {
        host.undo.put_back(level);
        return Err(ToolError::Failed(format!("Not undone: {name} changed since the last write of a tool.")));
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
