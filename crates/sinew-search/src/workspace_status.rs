//! The state of a workspace, the trace of its last search, and what changed in it.

use sinew_index::IndexStatus;

/// The part of the index in a search.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GrepTrace {
    /// The plan of the pattern; empty where none was made.
    pub plan: String,
    /// The documents of the index that satisfy the plan; 0 where a match may reach over lines.
    pub documents: usize,
    /// The files that were opened.
    pub opened: usize,
    /// The reason why the files were walked instead.
    pub why: Option<&'static str>,
}

/// The state of a workspace as of its last call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorkspaceStatus {
    /// The state of the index: its parts, and the way it is kept fresh.
    pub index: IndexStatus,
    /// The trace of the last [`Workspace::grep`](crate::Workspace::grep).
    pub last: GrepTrace,
}

/// The answer to [`Workspace::changes`](crate::Workspace::changes).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorkspaceChanges {
    /// Stands for this moment when it is asked again; empty where nothing is watched.
    pub token: String,
    /// More may have changed than `paths` names.
    pub all: bool,
    /// Paths below the root of files and folders that may have changed, come or gone, sorted. A folder stands for all that lies
    /// below it.
    pub paths: Vec<String>,
}
