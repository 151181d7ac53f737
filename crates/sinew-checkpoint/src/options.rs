//! The options of calls.

use std::path::PathBuf;

/// Why a checkpoint was created.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CheckpointKind {
    /// The user requested it.
    #[default]
    Manual,
    /// A span of work starts here.
    Start,
    /// A span of work ends here.
    End,
    /// The caller is about to write some paths.
    Note,
    /// Created by a restore before its first write; restoring it undoes the restore.
    Redo,
    /// Created by a restore after its last write.
    Restored,
}

impl CheckpointKind {
    /// Every kind, in the order of their numbers in the store's files.
    #[cfg(unix)]
    pub(crate) const ALL: [CheckpointKind; 6] = [
        CheckpointKind::Manual,
        CheckpointKind::Start,
        CheckpointKind::End,
        CheckpointKind::Note,
        CheckpointKind::Redo,
        CheckpointKind::Restored,
    ];

    /// Returns the name used in interfaces.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            CheckpointKind::Manual => "manual",
            CheckpointKind::Start => "start",
            CheckpointKind::End => "end",
            CheckpointKind::Note => "note",
            CheckpointKind::Redo => "redo",
            CheckpointKind::Restored => "restored",
        }
    }
}

/// Limits of a store, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The maximum size of a file that is copied. Default: 5 MB.
    pub file: u64,
    /// The maximum that one checkpoint copies. Default: 256 MB.
    pub checkpoint: u64,
    /// The maximum that [`crate::Checkpoints::gc`] keeps for one session. Default: 512 MB.
    pub session: u64,
    /// The maximum that it keeps for one directory. Default: 2 GB.
    pub directory: u64,
    /// The maximum that it keeps for all directories of a store. Default: 4 GB.
    pub total: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            file: 5_000_000,
            checkpoint: 256_000_000,
            session: 512_000_000,
            directory: 2_000_000_000,
            total: 4_000_000_000,
        }
    }
}

/// The options of [`crate::Checkpoints::open`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OpenOptions {
    /// The folder of the store, which can be used for many directories. It is created if it is missing, and must not be
    /// inside the directory.
    pub store: PathBuf,
    /// Paths that no checkpoint contains, such as the program's own folder; those that do not exist are skipped.
    pub skip: Vec<PathBuf>,
    /// The limits of the store.
    pub limits: Limits,
    /// The maximum number of entries of the directory; with more, checkpoints and restores fail with `LimitExceeded`.
    /// Default: no limit.
    pub max_entries: Option<usize>,
    /// The folders of the user's settings of git, which decide whether git's objects are the contents of files. Default:
    /// unknown, so that every file is read.
    pub git_user: Option<GitUser>,
}

/// The folders of a user's settings of git.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitUser {
    /// The home directory.
    pub home: PathBuf,
    /// The value of `XDG_CONFIG_HOME`. Default: `.config` in the home directory.
    pub config: Option<PathBuf>,
}

/// The options of [`crate::Checkpoints::take`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TakeOptions {
    /// A label for lists.
    pub label: Option<String>,
    /// Why the checkpoint is created.
    pub kind: CheckpointKind,
    /// The session of the checkpoint, for the limit [`Limits::session`].
    pub session: Option<String>,
    /// Directories below the root whose entries may have changed, for a caller that watches them. All other directories
    /// are assumed to be unchanged since the latest checkpoint. Default: the whole directory is scanned.
    pub changed: Option<Vec<Vec<u8>>>,
}

/// The kept paths that are restored nevertheless.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Force {
    /// No kept path.
    #[default]
    None,
    /// Every kept path.
    All,
    /// These paths and everything below them.
    Paths(Vec<Vec<u8>>),
    /// These entries of a plan, without the entries below them.
    Entries(Vec<Vec<u8>>),
}

/// The options of [`crate::Checkpoints::plan`] and [`crate::Checkpoints::restore`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RestoreOptions {
    /// Pairs of checkpoints at the start and end of each span of work; only changes inside them are undone. Default:
    /// all changes since the checkpoint.
    pub spans: Option<Vec<(String, String)>>,
    /// Paths below the root, to which the restore is limited. Default: all.
    pub paths: Option<Vec<Vec<u8>>>,
    /// The entries of a plan to which the restore is limited, without the entries below them. Default: all.
    pub entries: Option<Vec<Vec<u8>>>,
    /// The kept paths that are restored nevertheless. Default: none.
    pub force: Force,
    /// Files that the caller keeps, with the reasons.
    pub keep: Vec<(Vec<u8>, String)>,
}

impl RestoreOptions {
    /// Returns true if the restore is limited to some paths or entries.
    #[must_use]
    pub fn is_restricted(&self) -> bool {
        self.paths.is_some() || self.entries.is_some()
    }
}
