//! The options of a workspace.

use std::path::PathBuf;

use napi_derive::napi;
use sinew::search::{Boost, BuildPolicy, WorkspaceOptions};

use crate::handle;

/// When files are indexed automatically.
#[napi(string_enum = "camelCase")]
pub enum IndexPolicy {
    Auto,
    Always,
    Never,
}

/// The options of a workspace, checked by the TypeScript side.
#[napi(object)]
pub(crate) struct WorkspaceRequest {
    pub root: String,
    pub index: Option<IndexPolicy>,
    pub sweep: bool,
    pub in_memory: bool,
    pub cache_dir: Option<String>,
    pub max_index_bytes: Option<u32>,
    pub max_memory_bytes: Option<u32>,
    pub max_watches: Option<u32>,
    pub timeout_ms: Option<u32>,
}

impl WorkspaceRequest {
    /// Returns the root and the core's options.
    pub(crate) fn into_core(self) -> (PathBuf, WorkspaceOptions) {
        let WorkspaceRequest {
            root,
            index,
            sweep,
            in_memory,
            cache_dir,
            max_index_bytes,
            max_memory_bytes,
            max_watches,
            timeout_ms: _,
        } = self;
        let default = handle().workspace_options();
        let options = WorkspaceOptions {
            build: index.map_or(default.build, BuildPolicy::from),
            sweep,
            cache: if in_memory { None } else { cache_dir.map(PathBuf::from).or(default.cache) },
            max_disk: max_index_bytes.map_or(default.max_disk, |bytes| Some(bytes.into())),
            max_memory: max_memory_bytes.map_or(default.max_memory, |bytes| Some(bytes.into())),
            max_watches: max_watches.map_or(default.max_watches, |most| Some(most as usize)),
            global_excludes: default.global_excludes,
            home: default.home,
        };
        (root.into(), options)
    }
}

impl From<IndexPolicy> for BuildPolicy {
    fn from(policy: IndexPolicy) -> BuildPolicy {
        match policy {
            IndexPolicy::Auto => BuildPolicy::Auto,
            IndexPolicy::Always => BuildPolicy::Always,
            IndexPolicy::Never => BuildPolicy::Never,
        }
    }
}

/// The current and the recent files of the user.
#[napi(object)]
pub(crate) struct BoostRequest {
    pub current: Option<String>,
    pub recent: Option<Vec<String>>,
}

impl From<BoostRequest> for Boost {
    fn from(BoostRequest { current, recent }: BoostRequest) -> Boost {
        Boost { current, recent: recent.unwrap_or_default() }
    }
}
