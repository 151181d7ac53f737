//! A change of a file that was not made.

/// A change that a call would make to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    /// The file, as people name it.
    pub name: String,
    /// The present text; empty where there is no file.
    pub old: String,
    /// The text after the change.
    pub new: String,
    /// The change as a unified diff.
    pub diff: String,
}
