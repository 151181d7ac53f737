//! The results of `IsolatedView`, with rows as columns.

use napi::bindgen_prelude::Buffer;
use napi_derive::napi;
use sinew::view::{ApplyResult, Changes, IsolatedView, Outcome, Remainder};

use crate::checkpoints_answer::column;

/// The constant properties of a view.
#[derive(Clone)]
#[napi(object)]
pub struct ViewFacts {
    pub id: String,
    pub path: String,
    pub root: String,
    pub mode: String,
    pub missing: Vec<String>,
    pub notes: Vec<String>,
    /// Names and values, alternating.
    pub environment: Vec<String>,
}

impl ViewFacts {
    pub(crate) fn of(view: &IsolatedView) -> ViewFacts {
        let variables = view.environment().into_iter();
        ViewFacts {
            id: view.id().into(),
            path: view.path().to_string_lossy().into_owned(),
            root: view.root().to_string_lossy().into_owned(),
            mode: view.mode().as_str().into(),
            missing: view.missing().iter().map(|path| String::from_utf8_lossy(path).into_owned()).collect(),
            notes: view.notes().to_vec(),
            environment: variables.flat_map(|(name, value)| [name, value.to_string_lossy().into_owned()]).collect(),
        }
    }
}

/// The changes that `apply` leaves in the view.
#[napi(object)]
pub struct RemainderAnswer {
    pub ignored: Buffer,
    pub ignored_ends: Vec<u32>,
    pub special: u32,
    pub repositories: Buffer,
    pub repository_ends: Vec<u32>,
    /// Reference, id and first line of each commit.
    pub commits: Vec<String>,
}

impl From<Remainder> for RemainderAnswer {
    fn from(Remainder { ignored, special, repositories, commits }: Remainder) -> RemainderAnswer {
        let (ignored, ignored_ends) = column(ignored.iter().map(|path| &path[..]));
        let (repositories, repository_ends) = column(repositories.iter().map(|path| &path[..]));
        let commits = commits.into_iter().flat_map(|commit| [commit.reference, commit.id, commit.subject]);
        RemainderAnswer {
            ignored,
            ignored_ends,
            special: u32::try_from(special).unwrap_or(u32::MAX),
            repositories,
            repository_ends,
            commits: commits.collect(),
        }
    }
}

/// The differences of a view.
#[napi(object)]
pub struct ViewChangesAnswer {
    pub paths: Buffer,
    pub ends: Vec<u32>,
    pub changes: Vec<String>,
    pub kinds: Vec<String>,
    /// The permissions before; -1 for an entry that was added.
    pub old_modes: Vec<f64>,
    /// The permissions after; -1 for an entry that was deleted.
    pub new_modes: Vec<f64>,
    pub binary: Vec<bool>,
    pub patch: Buffer,
    pub truncated: bool,
    pub remainder: RemainderAnswer,
}

impl From<Changes> for ViewChangesAnswer {
    fn from(Changes { entries, patch, is_truncated, remainder }: Changes) -> ViewChangesAnswer {
        let (paths, ends) = column(entries.iter().map(|entry| &entry.path[..]));
        let mode = |mode: Option<u32>| mode.map_or(-1.0, f64::from);
        ViewChangesAnswer {
            paths,
            ends,
            changes: entries.iter().map(|entry| entry.change.as_str().into()).collect(),
            kinds: entries.iter().map(|entry| entry.kind.as_str().into()).collect(),
            old_modes: entries.iter().map(|entry| mode(entry.old_mode)).collect(),
            new_modes: entries.iter().map(|entry| mode(entry.new_mode)).collect(),
            binary: entries.iter().map(|entry| entry.is_binary).collect(),
            patch: patch.into(),
            truncated: is_truncated,
            remainder: remainder.into(),
        }
    }
}

/// The result of `apply`.
#[napi(object)]
pub struct AppliedAnswer {
    pub paths: Buffer,
    pub ends: Vec<u32>,
    pub outcomes: Vec<String>,
    /// One per path; empty if there is no reason.
    pub reasons: Vec<String>,
    /// One per path: the file with both texts; empty if there is none.
    pub merged: Vec<String>,
    pub applied: bool,
    pub remainder: RemainderAnswer,
}

impl From<ApplyResult> for AppliedAnswer {
    fn from(ApplyResult { files, is_applied, remainder }: ApplyResult) -> AppliedAnswer {
        let (paths, ends) = column(files.iter().map(|file| &file.path[..]));
        let reason = |outcome: &Outcome| match outcome {
            Outcome::Kept(reason) | Outcome::Conflict { reason, .. } => reason.clone(),
            _ => String::new(),
        };
        let merged = |outcome: &Outcome| match outcome {
            Outcome::Conflict { merged: Some(file), .. } => file.to_string_lossy().into_owned(),
            _ => String::new(),
        };
        AppliedAnswer {
            paths,
            ends,
            outcomes: files.iter().map(|file| file.outcome.as_str().into()).collect(),
            reasons: files.iter().map(|file| reason(&file.outcome)).collect(),
            merged: files.iter().map(|file| merged(&file.outcome)).collect(),
            applied: is_applied,
            remainder: remainder.into(),
        }
    }
}
