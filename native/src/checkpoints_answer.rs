//! The results of `Checkpoints`, with rows as columns.

use napi::bindgen_prelude::Buffer;
use napi_derive::napi;
use sinew::checkpoint::{Changes, Checkpoint, Plan, RestoreResult};

/// A checkpoint.
#[napi(object)]
pub struct CheckpointAnswer {
    pub id: String,
    pub time: f64,
    pub kind: String,
    pub label: Option<String>,
    pub session: Option<String>,
    pub coverage: String,
}

impl From<Checkpoint> for CheckpointAnswer {
    fn from(checkpoint: Checkpoint) -> CheckpointAnswer {
        let Checkpoint { id, time, kind, label, session, coverage } = checkpoint;
        let (kind, coverage) = (kind.as_str().into(), coverage.to_string());
        CheckpointAnswer { id, time: time as f64, kind, label, session, coverage }
    }
}

/// Concatenates the bytes of paths; also returns the end of each.
pub(crate) fn column<'a>(paths: impl Iterator<Item = &'a [u8]>) -> (Buffer, Vec<u32>) {
    let (mut bytes, mut ends) = (Vec::new(), Vec::new());
    for path in paths {
        bytes.extend_from_slice(path);
        ends.push(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
    }
    (bytes.into(), ends)
}

/// The differences between two checkpoints.
#[napi(object)]
pub struct CheckpointChangesAnswer {
    pub paths: Buffer,
    pub ends: Vec<u32>,
    pub changes: Vec<String>,
    pub kinds: Vec<String>,
    pub from: Buffer,
    /// The end of each old path; equal to the previous end if there is no old path.
    pub from_ends: Vec<u32>,
    pub truncated: bool,
    pub coverage: String,
}

impl From<Changes> for CheckpointChangesAnswer {
    fn from(Changes { entries, is_truncated, coverage }: Changes) -> CheckpointChangesAnswer {
        let (paths, ends) = column(entries.iter().map(|entry| &entry.path[..]));
        let (from, from_ends) = column(entries.iter().map(|entry| entry.from.as_deref().unwrap_or_default()));
        let changes = entries.iter().map(|entry| entry.change.as_str().into()).collect();
        let kinds = entries.iter().map(|entry| entry.kind.as_str().into()).collect();
        let coverage = coverage.to_string();
        CheckpointChangesAnswer { paths, ends, changes, kinds, from, from_ends, truncated: is_truncated, coverage }
    }
}

/// A repository that has moved.
#[napi(object)]
pub struct RepositoryAnswer {
    pub path: Buffer,
    pub from: Option<String>,
    pub to: Option<String>,
    pub index: bool,
    pub command: Option<String>,
}

/// The plan of a restore.
#[napi(object)]
pub struct PlanAnswer {
    pub paths: Buffer,
    pub ends: Vec<u32>,
    pub actions: Vec<String>,
    /// Empty if there is no reason.
    pub reasons: Vec<String>,
    pub changes: Vec<String>,
    pub kinds: Vec<String>,
    /// Empty if there is no note.
    pub notes: Vec<String>,
    pub repositories: Vec<RepositoryAnswer>,
    pub coverage: String,
}

impl From<Plan> for PlanAnswer {
    fn from(Plan { entries, repositories, coverage }: Plan) -> PlanAnswer {
        let (paths, ends) = column(entries.iter().map(|entry| &entry.path[..]));
        let repositories = repositories.into_iter().map(|moved| RepositoryAnswer {
            path: moved.path.into(),
            from: moved.from,
            to: moved.to,
            index: moved.index,
            command: moved.command,
        });
        PlanAnswer {
            paths,
            ends,
            actions: entries.iter().map(|entry| entry.action.as_str().into()).collect(),
            reasons: entries.iter().map(|entry| entry.action.reason().unwrap_or_default().into()).collect(),
            changes: entries.iter().map(|entry| entry.change.as_str().into()).collect(),
            kinds: entries.iter().map(|entry| entry.kind.as_str().into()).collect(),
            notes: entries.iter().map(|entry| entry.note.clone().unwrap_or_default()).collect(),
            repositories: repositories.collect(),
            coverage: coverage.to_string(),
        }
    }
}

/// The result of a restore.
#[napi(object)]
pub struct RestoredAnswer {
    pub plan: PlanAnswer,
    pub redo: Option<String>,
    pub done: u32,
    pub planned: u32,
}

impl From<RestoreResult> for RestoredAnswer {
    fn from(RestoreResult { plan, redo, done, planned }: RestoreResult) -> RestoredAnswer {
        let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        RestoredAnswer { plan: plan.into(), redo, done: count(done), planned: count(planned) }
    }
}
