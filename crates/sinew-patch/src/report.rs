//! The result of an applied patch.

/// The result for a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// It did not exist before.
    Created,
    /// Its content or mode changed, or the patch left it unchanged.
    Modified,
    /// It was deleted.
    Deleted,
    /// It was renamed.
    Renamed,
    /// It is a copy of another file.
    Copied,
}

impl Action {
    /// Returns the name of the action in results: `"created"`, `"modified"`, `"deleted"`, `"renamed"` or `"copied"`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Action::Created => "created",
            Action::Modified => "modified",
            Action::Deleted => "deleted",
            Action::Renamed => "renamed",
            Action::Copied => "copied",
        }
    }
}

/// The position at which a hunk or a chunk was applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HunkPlace {
    /// The first line of the hunk in the new text, from 1.
    pub line: usize,
    /// How many lines below the specified position it was applied; negative above it. 0 for a chunk of the Begin Patch
    /// form.
    pub offset: i64,
    /// The number of context lines at each end that did not match. 0 for a chunk of the Begin Patch form.
    pub fuzz: usize,
}

/// The change of one file of a patch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileReport {
    /// The operation.
    pub action: Action,
    /// The path below the root, with `/` separators.
    pub path: Vec<u8>,
    /// The path before a rename, or the source of a copy; `None` otherwise.
    pub from: Option<Vec<u8>>,
    /// The number of added lines.
    pub added: usize,
    /// The number of removed lines.
    pub removed: usize,
    /// The position of each hunk or chunk, in the order of the patch.
    pub places: Vec<HunkPlace>,
}

/// The changes that a patch made, or would make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchReport {
    /// One entry for each file of the patch, in order. A file that occurs twice has two entries.
    pub files: Vec<FileReport>,
}

/// A text that a patch was applied to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppliedText {
    /// The new text.
    pub text: Vec<u8>,
    /// The position of each hunk or chunk, in order.
    pub places: Vec<HunkPlace>,
    /// The number of added lines.
    pub added: usize,
    /// The number of removed lines.
    pub removed: usize,
}
