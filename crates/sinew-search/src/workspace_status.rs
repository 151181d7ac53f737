//! The state of a workspace, and the trace of its last search.

use sinew_index::IndexStatus;

/// The part of the index in a search.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GrepTrace {
    /// The plan of the pattern; empty where none was made.
    pub plan: String,
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
