//! The state of a workspace.

use napi::Env;
use napi::bindgen_prelude::Object;
use napi_derive::napi;
use sinew::search::{Freshness, GrepTrace, IndexState, IndexStatus, WorkspaceStatus};

use crate::abort::{self, Abort};
use crate::handle;
use crate::task;
use crate::workspace::WorkspaceHandle;

/// How a workspace is kept up to date.
#[napi(string_enum = "camelCase")]
pub enum FreshnessMode {
    Watch,
    Sweep,
    Plain,
}

/// The stages of a workspace.
#[napi(string_enum = "camelCase")]
pub enum WorkspaceStage {
    Plain,
    Listing,
    Building,
    Ready,
    Closed,
}

#[napi(object)]
pub(crate) struct WorkspaceState {
    pub state: WorkspaceStage,
    pub mode: FreshnessMode,
    pub reason: Option<String>,
    pub files: u32,
    pub folders: u32,
    pub indexed: u32,
    pub changed: u32,
    pub pending: u32,
    pub odd: u32,
    pub binary: u32,
    pub text_bytes: f64,
    pub index_bytes: f64,
    pub memory_bytes: f64,
    pub watches: u32,
    pub unwatched: u32,
    pub writer: bool,
    pub persisted: bool,
    pub full: bool,
    pub sweeps: f64,
    pub overflows: f64,
    pub surprises: f64,
    pub plan: String,
    pub documents: u32,
    pub candidates: u32,
    pub barrier_micros: f64,
    pub why: Option<String>,
}

impl From<WorkspaceStatus> for WorkspaceState {
    #[allow(clippy::cast_precision_loss, reason = "JavaScript has no other number")]
    fn from(status: WorkspaceStatus) -> WorkspaceState {
        let WorkspaceStatus { index, last } = status;
        let GrepTrace { plan, documents, opened, why } = last;
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let changed = index.files.saturating_sub(index.current);
        WorkspaceState {
            state: index.state.into(),
            mode: match index.freshness {
                Freshness::Watch => FreshnessMode::Watch,
                Freshness::Sweep => FreshnessMode::Sweep,
                Freshness::Walk => FreshnessMode::Plain,
            },
            reason: index.reason,
            files: number(index.listed),
            folders: number(index.folders),
            indexed: number(index.current.saturating_sub(index.odd + index.binary)),
            changed: number(changed),
            pending: number(index.listed.saturating_sub(index.files)),
            odd: number(index.odd),
            binary: number(index.binary),
            text_bytes: index.text as f64,
            index_bytes: index.bytes as f64,
            memory_bytes: index.memory as f64,
            watches: number(index.watches),
            unwatched: number(index.unwatched),
            writer: index.writer,
            persisted: index.persisted,
            full: index.full,
            sweeps: index.counts.sweeps as f64,
            overflows: index.counts.overflows as f64,
            surprises: index.counts.surprises as f64,
            plan,
            documents: number(documents),
            candidates: number(opened),
            barrier_micros: index.barrier.as_micros() as f64,
            why: why.map(str::to_string),
        }
    }
}

impl From<IndexState> for WorkspaceStage {
    fn from(state: IndexState) -> WorkspaceStage {
        match state {
            IndexState::Plain => WorkspaceStage::Plain,
            IndexState::Listing => WorkspaceStage::Listing,
            IndexState::Building => WorkspaceStage::Building,
            IndexState::Ready => WorkspaceStage::Ready,
            IndexState::Closed => WorkspaceStage::Closed,
        }
    }
}

#[napi]
impl WorkspaceHandle {
    /// Adds the files that are not indexed yet.
    #[napi(ts_return_type = "Promise<WorkspaceState>")]
    pub fn ready<'env>(
        &self,
        env: &'env Env,
        timeout_ms: Option<u32>,
        abort: Option<&Abort>,
    ) -> napi::Result<Object<'env>> {
        let (workspace, cancel) = (self.workspace(), abort::cancel(abort, timeout_ms));
        task::blocking(env, "workspace", move || workspace?.ready(&handle().pool, &cancel), WorkspaceState::from)
    }

    /// Returns the state as of the last call.
    #[napi]
    pub fn status(&self) -> WorkspaceState {
        let closed = || WorkspaceStatus {
            index: IndexStatus { state: IndexState::Closed, ..IndexStatus::default() },
            ..WorkspaceStatus::default()
        };
        self.opened().map_or_else(closed, |open| open.status()).into()
    }
}
