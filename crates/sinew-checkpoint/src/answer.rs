//! The results of calls.

use std::fmt;

use crate::options::CheckpointKind;

/// A checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// The name by which other calls know it. Names sort by age.
    pub id: String,
    /// Milliseconds since the epoch.
    pub time: u64,
    /// The reason for it.
    pub kind: CheckpointKind,
    /// The text that the caller gave.
    pub label: Option<String>,
    /// The session that the caller named.
    pub session: Option<String>,
    /// The contents that could not be kept.
    pub coverage: Coverage,
}

/// The contents that a checkpoint could not keep, one sentence each. Empty if everything is covered.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Coverage {
    /// `12 files over 5 MB`, `store is read-only`, …
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
    /// Returns the word that programs use.
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

/// The change of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
    /// It is new.
    Created,
    /// It is gone.
    Deleted,
    /// Its content changed, or its type between file and link.
    Modified,
    /// It has another path.
    Renamed,
    /// Only its permissions changed.
    Mode,
    /// The target of the link changed, or the file shares its content with other names.
    Link,
    /// A directory took the place of something else, or something else that of a directory.
    Directory,
}

impl ChangeKind {
    /// Returns the word that programs use.
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
    /// The path below the root, as the system knows it.
    pub path: Vec<u8>,
    /// The change.
    pub change: ChangeKind,
    /// The type afterwards; before, if the entry is gone.
    pub kind: EntryKind,
    /// The path before a rename.
    pub from: Option<Vec<u8>>,
}

/// The differences between two checkpoints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changes {
    /// In path order, at most 100,000; see [`Changes::is_truncated`].
    pub entries: Vec<Change>,
    /// True if there are more.
    pub is_truncated: bool,
    /// The contents that either checkpoint could not keep.
    pub coverage: Coverage,
}

/// The action of a restore on an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// It becomes what it was.
    Restore,
    /// It is deleted: it did not exist.
    Delete,
    /// It stays, unless the caller forces it; with the reason.
    Keep(String),
    /// It stays; with the reason.
    Cannot(String),
}

impl Action {
    /// Returns the word that programs use.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Action::Restore => "restore",
            Action::Delete => "delete",
            Action::Keep(_) => "keep",
            Action::Cannot(_) => "cannot",
        }
    }

    /// Returns the reason why the entry stays.
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
    /// The path below the root, as the system knows it.
    pub path: Vec<u8>,
    /// The action.
    pub action: Action,
    /// The change since then, which is undone.
    pub change: ChangeKind,
    /// The type that it had; the type that it has, if it did not exist.
    pub kind: EntryKind,
    /// A remark: `shared with a file outside`.
    pub note: Option<String>,
}

/// A repository whose position changed. Its data is never written; the command does it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepositoryMove {
    /// The path of its data below the root: `.git`, `vendor/lib/.git`, `mirror.git`.
    pub path: Vec<u8>,
    /// Branch and commit before; `None` if it did not exist.
    pub from: Option<String>,
    /// Branch and commit now; `None` if it is gone.
    pub to: Option<String>,
    /// True if what is staged changed.
    pub index: bool,
    /// The command that moves it back, if there is one.
    pub command: Option<String>,
}

/// The actions that a restore would take.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    /// In path order.
    pub entries: Vec<PlanEntry>,
    /// The repositories that moved.
    pub repositories: Vec<RepositoryMove>,
    /// The contents that the checkpoint could not keep.
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
    /// The plan as it was carried out: what failed is [`Action::Cannot`], what changed meanwhile [`Action::Keep`].
    pub plan: Plan,
    /// The checkpoint that undoes this restore; `None` if nothing was to be done.
    pub redo: Option<String>,
    /// The entries that were restored or deleted.
    pub done: usize,
    /// The entries that the plan wanted to restore or delete.
    pub planned: usize,
}

/// The size of a store.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Usage {
    /// The checkpoints of this directory.
    pub checkpoints: usize,
    /// The bytes of this directory's store.
    pub directory: u64,
    /// The bytes of the stores of all directories.
    pub total: u64,
}

/// The result of a collection.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CollectResult {
    /// The checkpoints that were removed, oldest first.
    pub removed: Vec<String>,
    /// The bytes that were freed.
    pub freed: u64,
}
