//! The state of a workspace as it crosses.

use napi_derive::napi;
use sinew::search::{Freshness, GrepTrace, IndexStatus, WorkspaceStatus};

/// The way in which a workspace is kept fresh.
#[napi(string_enum = "camelCase")]
pub enum FreshnessMode {
    Watch,
    Sweep,
    Plain,
}

/// The paths that changed between two moments.
#[napi(object)]
pub(crate) struct ChangesAnswer {
    pub token: String,
    pub all: bool,
    pub paths: Vec<String>,
}

#[napi(object)]
pub(crate) struct WorkspaceState {
    pub mode: FreshnessMode,
    pub folders: u32,
    pub unwatched: u32,
    pub watches: u32,
    pub indexed: u32,
    pub current: u32,
    pub segments: u32,
    pub index_bytes: f64,
    pub full: bool,
    pub persisted: bool,
    pub writer: bool,
    pub sweeps: f64,
    pub overflows: f64,
    pub plan: String,
    pub opened: u32,
    pub why: Option<String>,
}

impl From<WorkspaceStatus> for WorkspaceState {
    #[allow(clippy::cast_precision_loss, reason = "JavaScript has no other number")]
    fn from(status: WorkspaceStatus) -> WorkspaceState {
        let WorkspaceStatus { index, last } = status;
        let IndexStatus {
            freshness,
            folders,
            unwatched,
            watches,
            persisted,
            writer,
            segments,
            bytes,
            files,
            current,
            full,
            counts,
        } = index;
        let GrepTrace { plan, opened, why } = last;
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        WorkspaceState {
            mode: match freshness {
                Freshness::Watch => FreshnessMode::Watch,
                Freshness::Sweep => FreshnessMode::Sweep,
                Freshness::Walk => FreshnessMode::Plain,
            },
            folders: number(folders),
            unwatched: number(unwatched),
            watches: number(watches),
            indexed: number(files),
            current: number(current),
            segments: number(segments),
            index_bytes: bytes as f64,
            full,
            persisted,
            writer,
            sweeps: counts.sweeps as f64,
            overflows: counts.overflows as f64,
            plan,
            opened: number(opened),
            why: why.map(str::to_string),
        }
    }
}
