//! A proposed change of a file.

/// A change that a call would make to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    /// The displayed name of the file.
    pub name: String,
    /// The current text; empty if the file does not exist.
    pub old: String,
    /// The text after the change.
    pub new: String,
    /// The change as a unified diff.
    pub diff: String,
}
