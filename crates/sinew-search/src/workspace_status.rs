//! The state of a workspace, the trace of its last search, and its changes.

use sinew_index::IndexStatus;

/// How the index was used in a search.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GrepTrace {
    /// The plan of the pattern; empty if the index was not used.
    pub plan: String,
    /// The number of indexed documents that satisfy the plan; 0 if a match may span lines.
    pub documents: usize,
    /// The number of files that were opened.
    pub opened: usize,
    /// The reason why the directory was walked instead; `None` if the index was used.
    pub why: Option<&'static str>,
}

/// The state of a workspace after its last call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorkspaceStatus {
    /// The state of the index: its segments, and how it is kept up to date.
    pub index: IndexStatus,
    /// The trace of the last [`Workspace::grep`](crate::Workspace::grep).
    pub last: GrepTrace,
}

/// The result of [`Workspace::changes`](crate::Workspace::changes).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorkspaceChanges {
    /// Identifies this moment in a later call; empty if nothing is watched.
    pub token: String,
    /// True if more may have changed than `paths` lists.
    pub all: bool,
    /// Sorted paths, relative to the root, of files and directories that may have been added, changed or removed. A
    /// directory includes everything below it.
    pub paths: Vec<String>,
}
