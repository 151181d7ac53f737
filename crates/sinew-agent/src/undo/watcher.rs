//! The directories that changed since the last call, based on change notifications of the system.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use sinew::Sinew;
use sinew::base::{CancelToken, Result};
use sinew::watch::{ChangeKind, TreeWatcher, WatchMode, WatchOptions};

/// Files that change when the repository moves to another commit. Their directory is not watched.
const POSITION: [&str; 4] = [".git/HEAD", ".git/index", ".git/logs/HEAD", ".git/packed-refs"];

/// The length and modification time of a file; `None` if it is missing.
type Stamp = Option<(u64, Option<SystemTime>)>;

/// Watches a directory and everything in it, including ignored files.
pub(super) struct ChangeWatcher {
    root: PathBuf,
    tree: TreeWatcher,
    position: [Stamp; 4],
}

impl ChangeWatcher {
    /// Starts to watch.
    ///
    /// # Errors
    /// Returns an error if the directory cannot be read or the system has no change notifications.
    pub(super) fn open(sinew: &Arc<Sinew>, root: &Path, max_watches: Option<usize>) -> Result<ChangeWatcher> {
        let options = WatchOptions { gitignore: false, max_watches, ..WatchOptions::default() };
        let tree = sinew.watch(root, options, &CancelToken::never())?;
        let root = root.to_path_buf();
        Ok(ChangeWatcher { position: position(&root), root, tree })
    }

    /// Returns true if changes in every directory are reported.
    pub(super) fn is_complete(&self) -> bool {
        self.tree.mode() == WatchMode::Events
    }

    /// Returns the directories below the root whose entries may have changed since the last call. Returns `None` if
    /// every directory must be scanned, because some are not watched or notifications were lost.
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
                // A directory that appeared or disappeared may have replaced another one.
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
