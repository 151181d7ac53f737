//! Text search (grep), globs and fuzzy path search over a directory walk.

mod accept;
mod blocks;
mod collector;
mod content;
mod excerpt;
mod file;
mod find;
mod glob;
mod grep;
mod matcher;
mod parallel;
mod pattern;
mod patterns;
mod ranking;
mod rows;
mod types;
#[cfg(target_os = "linux")]
mod workspace;
#[cfg(not(target_os = "linux"))]
#[path = "workspace_plain.rs"]
mod workspace;
mod workspace_paths;
mod workspace_status;

pub use accept::Accept;
pub use collector::Mode;
pub use content::{SearchOptions, SearchResult, has_match, search_content};
pub use find::{FindColumns, FindMatch, FindOptions, FindResult, fuzzy_find};
pub use glob::{GlobColumns, GlobMatch, GlobOptions, GlobPattern, GlobResult, glob, glob_so_far};
pub use grep::{GrepOptions, GrepResult, OnMatch, SkippedFiles, grep};
pub use patterns::Patterns;
pub use ranking::{Boost, PathUse};
pub use rows::{ContextLine, Iter, Row, Rows};
pub use sinew_index::{
    BuildPhase, BuildPolicy, BuildProgress, Freshness, IndexCounts, IndexOptions as WorkspaceOptions, IndexState,
    IndexStatus, StoredIndex,
};
pub use workspace::{Workspace, Workspaces};
pub use workspace_status::{GrepTrace, WorkspaceChanges, WorkspaceStatus};
