//! The progress of a workspace's build.

use napi::Env;
use napi_derive::napi;
use sinew::search::{BuildPhase, BuildProgress};

use crate::task;
use crate::workspace::WorkspaceHandle;

/// The steps of building an index.
#[napi(string_enum = "camelCase")]
pub enum ProgressPhase {
    List,
    Read,
    Merge,
}

/// The progress of building an index.
#[napi(object)]
pub(crate) struct ProgressAnswer {
    pub phase: ProgressPhase,
    pub files: u32,
    pub total_files: u32,
    pub bytes: f64,
}

impl From<BuildProgress> for ProgressAnswer {
    #[allow(clippy::cast_precision_loss, reason = "JavaScript has no other number")]
    fn from(progress: BuildProgress) -> ProgressAnswer {
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        ProgressAnswer {
            phase: match progress.phase {
                BuildPhase::List => ProgressPhase::List,
                BuildPhase::Read => ProgressPhase::Read,
                BuildPhase::Merge => ProgressPhase::Merge,
            },
            files: number(progress.files),
            total_files: number(progress.total_files),
            bytes: progress.bytes as f64,
        }
    }
}

#[napi]
impl WorkspaceHandle {
    /// Returns the progress of building the index.
    #[napi]
    pub fn progress(&self, env: &Env) -> napi::Result<ProgressAnswer> {
        task::now(env, "workspace", || Ok(self.workspace()?.progress().into()))
    }
}
