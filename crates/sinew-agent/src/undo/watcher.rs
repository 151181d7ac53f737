//! The directories that changed since the last look, as the system announces it.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use sinew::Sinew;
use sinew::base::{CancelToken, Result};
use sinew::watch::{ChangeKind, TreeWatcher, WatchMode, WatchOptions};

/// The files that move when a repository does. They lie in a directory that is not watched.
const POSITION: [&str; 4] = [".git/HEAD", ".git/index", ".git/logs/HEAD", ".git/packed-refs"];

/// Length and time of the last change of a file; `None` if it is missing.
type Stamp = Option<(u64, Option<SystemTime>)>;

/// Watches a directory with everything in it, ignored files included.
pub(super) struct ChangeWatcher {
    root: PathBuf,
    tree: TreeWatcher,
    position: [Stamp; 4],
}

impl ChangeWatcher {
    /// Begins to watch.
    ///
    /// # Errors
    /// The directory cannot be read, or this system announces nothing.
    pub(super) fn open(sinew: &Arc<Sinew>, root: &Path) -> Result<ChangeWatcher> {
        let options = WatchOptions { gitignore: false, ..WatchOptions::default() };
        let tree = sinew.watch(root, options, &CancelToken::never())?;
        let root = root.to_path_buf();
        Ok(ChangeWatcher { position: position(&root), root, tree })
    }

    /// Returns true if the changes of every directory are announced.
    pub(super) fn is_complete(&self) -> bool {
        self.tree.mode() == WatchMode::Events
    }

    /// Returns the directories below the root whose entries may have changed since the last call; `None` if every directory
    /// has to be looked at, because some have no watch or announcements were lost.
    pub(super) fn changed(&mut self) -> Option<HashSet<Vec<u8>>> {
        let changes = self.tree.poll();
        let position = position(&self.root);
        let moved = std::mem::replace(&mut self.position, position) != self.position;
        if !self.is_complete() || changes.iter().any(|change| change.kind == ChangeKind::Overflow) {
            return None;
        }
        let mut folders = HashSet::new();
        for change in &changes {
            for path in std::iter::once(&change.path).chain(&change.to) {
                folders.insert(super::recorder::parent_of(path));
                // A directory that came or went may have taken the place of another one.
                if change.kind != ChangeKind::Changed {
                    folders.insert(path.clone());
                }
            }
        }
        if moved || !folders.is_empty() {
            folders.insert(Vec::new());
        }
        Some(folders)
    }
}

fn position(root: &Path) -> [Stamp; 4] {
    POSITION.map(|name| {
        let facts = std::fs::metadata(root.join(name)).ok()?;
        Some((facts.len(), facts.modified().ok()))
    })
}
