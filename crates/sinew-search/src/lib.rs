//! Grep, glob and fuzzy find over a walk.

mod collector;
mod content;
mod excerpt;
mod file;
mod find;
mod glob;
mod grep;
mod parallel;
mod pattern;
mod patterns;
mod rows;
mod types;
#[cfg(target_os = "linux")]
mod workspace;

pub use collector::Mode;
pub use content::{SearchOptions, SearchResult, has_match, search_content};
pub use find::{FindColumns, FindMatch, FindOptions, FindResult, fuzzy_find};
pub use glob::{GlobColumns, GlobMatch, GlobOptions, GlobResult, glob, glob_so_far};
#[cfg(target_os = "linux")]
pub use grep::GrepTrace;
pub use grep::{Accept, GrepOptions, GrepResult, OnMatch, Skipped, grep};
pub use patterns::Patterns;
pub use rows::{ContextLine, Iter, Row, Rows};
#[cfg(target_os = "linux")]
pub use sinew_index::IndexOptions as WorkspaceOptions;
#[cfg(target_os = "linux")]
pub use workspace::{Workspace, WorkspaceStatus, Workspaces};
