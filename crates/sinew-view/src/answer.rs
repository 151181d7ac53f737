//! The results of calls.

use std::path::PathBuf;

use sinew_checkpoint::EntryKind;

use crate::options::ViewMode;

/// The kind of a change in a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
    /// The entry was created.
    Added,
    /// The content, the target of the link or the type changed; perhaps the permissions too.
    Changed,
    /// The entry was deleted.
    Deleted,
    /// Only the permissions changed.
    Mode,
}

impl ChangeKind {
    /// Returns the name used in interfaces.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            ChangeKind::Added => "added",
            ChangeKind::Changed => "changed",
            ChangeKind::Deleted => "deleted",
            ChangeKind::Mode => "mode",
        }
    }
}

/// A difference between a view and the directory as it was when the view was opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The path below the root, as bytes of the system.
    pub path: Vec<u8>,
    /// The kind of the change.
    pub change: ChangeKind,
    /// The type after the change; the type before it if the entry was deleted.
    pub kind: EntryKind,
    /// The permissions before the change; `None` if the entry was added.
    pub old_mode: Option<u32>,
    /// The permissions after the change; `None` if the entry was deleted.
    pub new_mode: Option<u32>,
    /// Whether the content is binary or too large for a patch.
    pub is_binary: bool,
}

/// The changes that a hand-back leaves in the view.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Remainder {
    /// The new entries that ignore rules exclude; a directory stands for everything below it. At most 1,000.
    pub ignored: Vec<Vec<u8>>,
    /// The number of pipes, sockets and devices.
    pub special: usize,
    /// The data of repositories that were created in the view.
    pub repositories: Vec<Vec<u8>>,
    /// The commits that were created in the view; at most 100 are listed.
    pub commits: Vec<Commit>,
}

/// A commit that was created in a view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// The reference from which it was found, such as `refs/heads/main` or `HEAD`.
    pub reference: String,
    /// The id in hexadecimal.
    pub id: String,
    /// The first line of the message; empty if the commit is in a pack.
    pub subject: String,
}

/// The differences of a view.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Changes {
    /// The changes in path order.
    pub entries: Vec<Change>,
    /// The changes as a unified diff with git's headers. Binary files and permissions that git does not record are only
    /// in `entries`.
    pub patch: Vec<u8>,
    /// Whether the patch lacks files because of its limit.
    pub is_truncated: bool,
    /// What a hand-back would leave in the view.
    pub remainder: Remainder,
}

/// The result of a hand-back for one entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The entry was created.
    Created,
    /// The content, the target or the permissions were replaced by those of the view.
    Replaced,
    /// The changes of both sides were merged.
    Merged,
    /// The entry was deleted.
    Deleted,
    /// The directory already has the change.
    Unchanged,
    /// A directory was not deleted, for this reason.
    Kept(String),
    /// The change was not applied, because the directory changed too.
    Conflict {
        /// Why both changes cannot be applied.
        reason: String,
        /// A file with both texts between conflict markers, in the view's folder; `None` if it is not a text.
        merged: Option<PathBuf>,
    },
}

impl Outcome {
    /// Returns the name used in interfaces.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Outcome::Created => "created",
            Outcome::Replaced => "replaced",
            Outcome::Merged => "merged",
            Outcome::Deleted => "deleted",
            Outcome::Unchanged => "unchanged",
            Outcome::Kept(_) => "kept",
            Outcome::Conflict { .. } => "conflict",
        }
    }

    /// Returns true for [`Outcome::Conflict`].
    #[must_use]
    pub fn is_conflict(&self) -> bool {
        matches!(self, Outcome::Conflict { .. })
    }
}

/// An entry of a hand-back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileResult {
    /// The path below the root, as bytes of the system.
    pub path: Vec<u8>,
    /// What happened to it.
    pub outcome: Outcome,
}

/// The result of [`crate::IsolatedView::apply`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ApplyResult {
    /// Every change of the view, in path order. With [`crate::OnConflict::Stop`] and conflicts, the other entries say
    /// what would happen.
    pub files: Vec<FileResult>,
    /// Whether the directory was changed as `files` says: false only if [`crate::OnConflict::Stop`] met a conflict.
    pub is_applied: bool,
    /// What stays in the view.
    pub remainder: Remainder,
}

impl ApplyResult {
    /// Returns the entries with conflicts.
    pub fn conflicts(&self) -> impl Iterator<Item = &FileResult> {
        self.files.iter().filter(|file| file.outcome.is_conflict())
    }
}

/// A view whose program ended without discarding it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leftover {
    /// The id, for [`crate::IsolatedView::reopen`].
    pub id: String,
    /// The directory that the view was opened on.
    pub root: PathBuf,
    /// The mode of the view.
    pub mode: ViewMode,
    /// When it was opened, in milliseconds since the epoch.
    pub time: u64,
    /// The label of the caller.
    pub label: Option<String>,
    /// Whether an interrupted hand-back was completed by this call.
    pub is_recovered: bool,
    /// Whether no earlier call listed the view.
    pub is_new: bool,
}
