//! Options of the calls.

use std::path::PathBuf;

/// The reason why a checkpoint was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CheckpointKind {
    /// Somebody asked for it.
    #[default]
    Manual,
    /// Work begins here: the first end of a span.
    Start,
    /// Work ends here: the last end of a span.
    End,
    /// Some paths are about to be written by the caller.
    Note,
    /// Made by a restore before its first write: restoring it undoes the restore.
    Redo,
    /// Made by a restore after its last write.
    Restored,
}

impl CheckpointKind {
    /// Every kind, in the order of the files of the store.
    #[cfg(unix)]
    pub(crate) const ALL: [CheckpointKind; 6] = [
        CheckpointKind::Manual,
        CheckpointKind::Start,
        CheckpointKind::End,
        CheckpointKind::Note,
        CheckpointKind::Redo,
        CheckpointKind::Restored,
    ];

    /// Returns the word that programs use.
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
    /// The largest file that is copied (default: 5 MB).
    pub file: u64,
    /// The most that one checkpoint copies (default: 256 MB).
    pub checkpoint: u64,
    /// The most that [`crate::Checkpoints::gc`] leaves to one session (default: 512 MB).
    pub session: u64,
    /// The most that it leaves to one directory (default: 2 GB).
    pub directory: u64,
    /// The most that it leaves to all directories of a store (default: 4 GB).
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
    /// The folder of the store, which may serve many directories. It is created if it is missing, and must not lie in the
    /// directory.
    pub store: PathBuf,
    /// Paths that no checkpoint contains, such as the program's own folder; those that do not exist are skipped.
    pub skip: Vec<PathBuf>,
    /// The limits of the store.
    pub limits: Limits,
    /// The most entries of the directory; with more, takes and restores fail with `LimitExceeded`. Default: any number.
    pub max_entries: Option<usize>,
}

/// The options of [`crate::Checkpoints::take`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TakeOptions {
    /// A text for lists.
    pub label: Option<String>,
    /// The reason for the checkpoint.
    pub kind: CheckpointKind,
    /// The session that the checkpoint belongs to; [`Limits::session`] counts by it.
    pub session: Option<String>,
    /// Directories below the root whose entries may have changed, for a caller that watches them. Everything else is
    /// assumed to be as it was at the latest checkpoint. Default: the whole directory is scanned.
    pub changed: Option<Vec<Vec<u8>>>,
}

/// The kept paths that are restored all the same.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Force {
    /// No kept path.
    #[default]
    None,
    /// Every kept path.
    All,
    /// These paths and all that is below them.
    Paths(Vec<Vec<u8>>),
}

/// The options of [`crate::Checkpoints::plan`] and [`crate::Checkpoints::restore`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RestoreOptions {
    /// Pairs of checkpoints, the start and the end of each stretch of work: only changes inside them are undone. Default:
    /// everything since the checkpoint.
    pub spans: Option<Vec<(String, String)>>,
    /// Paths below the root: only they and what is below them are restored. Default: all.
    pub paths: Option<Vec<Vec<u8>>>,
    /// The kept paths that are restored all the same. Default: none.
    pub force: Force,
}
