//! The options of `Checkpoints`.

use std::path::PathBuf;

use napi::bindgen_prelude::Buffer;
use napi_derive::napi;
use sinew::checkpoint::{CheckpointKind, Force, OpenOptions, RestoreOptions, TakeOptions};

/// The options of opening checkpoints.
#[napi(object)]
pub struct CheckpointsRequest {
    pub root: String,
    pub store: Option<String>,
    pub max_file_bytes: Option<f64>,
    pub max_checkpoint_bytes: Option<f64>,
    pub max_session_bytes: Option<f64>,
    pub max_directory_bytes: Option<f64>,
    pub max_total_bytes: Option<f64>,
    pub timeout_ms: Option<u32>,
}

impl CheckpointsRequest {
    pub(crate) fn into_core(self, mut options: OpenOptions) -> (PathBuf, OpenOptions) {
        let CheckpointsRequest {
            root,
            store,
            max_file_bytes,
            max_checkpoint_bytes,
            max_session_bytes,
            max_directory_bytes,
            max_total_bytes,
            timeout_ms: _,
        } = self;
        if let Some(store) = store {
            options.store = store.into();
        }
        let limits = &mut options.limits;
        for (limit, value) in [
            (&mut limits.file, max_file_bytes),
            (&mut limits.checkpoint, max_checkpoint_bytes),
            (&mut limits.session, max_session_bytes),
            (&mut limits.directory, max_directory_bytes),
            (&mut limits.total, max_total_bytes),
        ] {
            // TypeScript passes non-negative integers.
            *limit = value.map_or(*limit, |value| value as u64);
        }
        (root.into(), options)
    }
}

/// The options of taking a checkpoint.
#[napi(object)]
pub struct TakeRequest {
    pub label: Option<String>,
    #[napi(ts_type = "'manual' | 'start' | 'end'")]
    pub kind: Option<String>,
    pub session: Option<String>,
    /// Directories that may have changed.
    pub changed: Option<Vec<Buffer>>,
    pub timeout_ms: Option<u32>,
}

impl TakeRequest {
    pub(crate) fn into_core(self) -> TakeOptions {
        let TakeRequest { label, kind, session, changed, timeout_ms: _ } = self;
        let kind = match kind.as_deref() {
            Some("start") => CheckpointKind::Start,
            Some("end") => CheckpointKind::End,
            _ => CheckpointKind::Manual,
        };
        TakeOptions { label, kind, session, changed: changed.as_deref().map(bytes_of) }
    }
}

/// The options of a restore.
#[napi(object)]
pub struct RestoreRequest {
    /// The start and the end of each range, alternating.
    pub spans: Option<Vec<String>>,
    pub paths: Option<Vec<Buffer>>,
    pub force: bool,
    pub force_paths: Option<Vec<Buffer>>,
    pub timeout_ms: Option<u32>,
}

impl RestoreRequest {
    pub(crate) fn into_core(self) -> RestoreOptions {
        let RestoreRequest { spans, paths, force, force_paths, timeout_ms: _ } = self;
        let pairs = |spans: Vec<String>| {
            spans.as_chunks::<2>().0.iter().map(|[start, end]| (start.clone(), end.clone())).collect()
        };
        let force = match force_paths {
            _ if force => Force::All,
            Some(paths) => Force::Paths(bytes_of(&paths)),
            None => Force::None,
        };
        let paths = paths.as_deref().map(bytes_of);
        RestoreOptions { spans: spans.map(pairs), paths, force, ..RestoreOptions::default() }
    }
}

/// Copies paths, which are read on another thread.
pub(crate) fn bytes_of(paths: &[Buffer]) -> Vec<Vec<u8>> {
    paths.iter().map(|path| path.to_vec()).collect()
}
