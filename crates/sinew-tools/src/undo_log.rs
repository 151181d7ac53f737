//! The recent writes of a session, which can be undone.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;

use crate::read_tracker::{Hash, hash};

/// The number of writes that can be undone.
pub(crate) const LEVELS: usize = 20;
/// Larger contents are not stored.
const LARGEST: usize = 16 << 20;

/// The recent writes of a session.
#[derive(Default)]
pub(crate) struct UndoLog {
    levels: Mutex<VecDeque<Level>>,
}

/// A write.
pub(crate) struct Level {
    pub(crate) path: PathBuf,
    /// `None` if the write created the file.
    pub(crate) before: Option<Vec<u8>>,
    pub(crate) after: Hash,
}

impl UndoLog {
    /// Records that a tool replaced `before` by `after`.
    pub(crate) fn wrote(&self, path: &Path, before: Option<&[u8]>, after: &[u8]) {
        if before.is_some_and(|content| content.len() > LARGEST) {
            return;
        }
        let level = Level { path: path.to_path_buf(), before: before.map(<[u8]>::to_vec), after: hash(after) };
        let mut levels = self.levels.lock();
        levels.push_back(level);
        if levels.len() > LEVELS {
            levels.pop_front();
        }
    }

    pub(crate) fn take(&self, path: &Path) -> Option<Level> {
        let mut levels = self.levels.lock();
        let index = levels.iter().rposition(|level| level.path == path)?;
        levels.remove(index)
    }

    pub(crate) fn put_back(&self, level: Level) {
        self.levels.lock().push_back(level);
    }
}
