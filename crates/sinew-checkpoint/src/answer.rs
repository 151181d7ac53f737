//! The results of calls.

use std::fmt;

use crate::options::CheckpointKind;

/// A checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// The id that other calls use. Ids sort by age.
    pub id: String,
    /// When it was created, in milliseconds since the epoch.
    pub time: u64,
    /// Why it was created.
    pub kind: CheckpointKind,
    /// The label of the caller.
    pub label: Option<String>,
    /// The session of the caller.
    pub session: Option<String>,
    /// The contents that could not be stored.
    pub coverage: Coverage,
}

/// The contents that a checkpoint could not store, one sentence each. Empty if everything is stored.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Coverage {
    /// Sentences such as `12 files over 5 MB` or `store is read-only`.
    pub gaps: Vec<String>,
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.gaps.is_empty() { f.write_str("full") } else { f.write_str(&self.gaps.join("; ")) }
    }
}

/// The type of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// A pipe, socket or device.
    Special,
    /// The data of a repository.
    Repository,
}

impl EntryKind {
    /// Returns the name used in interfaces.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            EntryKind::File => "file",
            EntryKind::Directory => "directory",
            EntryKind::Link => "link",
            EntryKind::Special => "special",
            EntryKind::Repository => "repository",
        }
    }
}

/// The kind of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
    /// The entry was created.
    Created,
    /// The entry was deleted.
    Deleted,
    /// The content changed, or the type changed between file and link.
    Modified,
    /// The path changed.
    Renamed,
    /// Only the permissions changed.
    Mode,
    /// The target of the link changed, or the set of hard links of the file.
    Link,
    /// A directory replaced an entry of another type, or the reverse.
    Directory,
}

impl ChangeKind {
    /// Returns the name used in interfaces.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            ChangeKind::Created => "created",
            ChangeKind::Deleted => "deleted",
            ChangeKind::Modified => "modified",
            ChangeKind::Renamed => "renamed",
            ChangeKind::Mode => "mode",
            ChangeKind::Link => "link",
            ChangeKind::Directory => "directory",
        }
    }
}

/// A difference between two checkpoints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The path below the root, as bytes of the system.
    pub path: Vec<u8>,
    /// The kind of the change.
    pub change: ChangeKind,
    /// The type after the change; the type before it if the entry was deleted.
    pub kind: EntryKind,
    /// The path before a rename.
    pub from: Option<Vec<u8>>,
}

/// The differences between two checkpoints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changes {
    /// The changes in path order, at most 100,000; see [`Changes::is_truncated`].
    pub entries: Vec<Change>,
    /// Whether there are more changes than the list contains.
    pub is_truncated: bool,
    /// The contents that either checkpoint could not store.
    pub coverage: Coverage,
}

/// The action of a restore on an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Restores the entry to its earlier state.
    Restore,
    /// Deletes the entry, because it did not exist.
    Delete,
    /// Keeps the entry for this reason, unless the caller forces it.
    Keep(String),
    /// Cannot change the entry, for this reason.
    Cannot(String),
}

impl Action {
    /// Returns the name used in interfaces.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Action::Restore => "restore",
            Action::Delete => "delete",
            Action::Keep(_) => "keep",
            Action::Cannot(_) => "cannot",
        }
    }

    /// Returns why the entry stays unchanged; `None` if it is changed.
    #[must_use]
    pub fn reason(&self) -> Option<&str> {
        match self {
            Action::Restore | Action::Delete => None,
            Action::Keep(reason) | Action::Cannot(reason) => Some(reason),
        }
    }
}

/// An entry of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanEntry {
    /// The path below the root, as bytes of the system.
    pub path: Vec<u8>,
    /// The action of the restore.
    pub action: Action,
    /// The change that is undone.
    pub change: ChangeKind,
    /// The earlier type; the current type if the entry did not exist.
    pub kind: EntryKind,
    /// A remark, such as `shared with a file outside`.
    pub note: Option<String>,
}

/// Receives an entry of a plan, with its earlier and its current content.
pub type ContentVisitor<'a> = &'a mut dyn FnMut(&PlanEntry, &[u8], &[u8]);

/// A repository that moved to another commit or branch. Its data is never written; the user can run the command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepositoryMove {
    /// The path of its data below the root, such as `.git`, `vendor/lib/.git` or `mirror.git`.
    pub path: Vec<u8>,
    /// The branch and commit before; `None` if it did not exist.
    pub from: Option<String>,
    /// The current branch and commit; `None` if it was deleted.
    pub to: Option<String>,
    /// Whether the staged changes differ.
    pub index: bool,
    /// The command that moves it back, if there is one.
    pub command: Option<String>,
}

/// The actions that a restore would perform.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    /// The entries in path order.
    pub entries: Vec<PlanEntry>,
    /// The repositories that moved to another commit or branch.
    pub repositories: Vec<RepositoryMove>,
    /// The contents that the checkpoint could not store.
    pub coverage: Coverage,
}

impl Plan {
    /// Returns the number of entries that are restored or deleted.
    #[must_use]
    pub fn count(&self) -> usize {
        self.entries.iter().filter(|entry| entry.action.reason().is_none()).count()
    }
}

/// The result of a restore.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RestoreResult {
    /// The plan as it was executed: failed entries are [`Action::Cannot`], entries that changed meanwhile are
    /// [`Action::Keep`].
    pub plan: Plan,
    /// The checkpoint that undoes this restore; `None` if there was nothing to do.
    pub redo: Option<String>,
    /// The number of entries that were restored or deleted.
    pub done: usize,
    /// The number of entries that the plan would restore or delete.
    pub planned: usize,
}

/// The size of a store.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Usage {
    /// The number of checkpoints of this directory.
    pub checkpoints: usize,
    /// The size of this directory's store, in bytes.
    pub directory: u64,
    /// The size of the stores of all directories, in bytes.
    pub total: u64,
}

/// The result of a garbage collection.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CollectResult {
    /// The ids of the removed checkpoints, oldest first.
    pub removed: Vec<String>,
    /// The number of bytes freed.
    pub freed: u64,
}
