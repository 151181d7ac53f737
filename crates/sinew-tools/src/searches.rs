//! Searches below watched directories.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use sinew::Sinew;
use sinew::base::{CancelHandle, CancelToken, ErrorCode, Result};
use sinew::pool::Pool;
use sinew::search::{
    FindOptions, FindResult, Freshness, GlobOptions, GlobResult, GrepOptions, GrepResult, Workspace, fuzzy_find,
    glob_so_far, grep,
};

/// The time without a search after which a directory is not watched any more.
const IDLE: Duration = Duration::from_secs(600);

/// Searches files. Below the given directories, searches use a [`Workspace`], which the first search opens in the
/// background. Until it is open, and everywhere else, they walk. The results are the same.
pub struct Searches {
    sinew: Arc<Sinew>,
    folders: Vec<Arc<WorkspaceFolder>>,
}

struct WorkspaceFolder {
    root: PathBuf,
    idle: Duration,
    state: Mutex<State>,
    /// Notified when the state changes.
    changed: Condvar,
}

struct State {
    phase: Phase,
    searched: Instant,
    /// Stops the thread that opens and releases the directory.
    stop: Option<(CancelHandle, JoinHandle<()>)>,
}

enum Phase {
    /// No search yet, or not for a long time.
    Idle,
    Opening,
    Open(Workspace),
    /// It could not be opened, or is not needed any more.
    Closed,
}

impl Searches {
    /// Creates a search service for `folders`, which are absolute paths. Opens none of them yet.
    #[must_use]
    pub fn new(sinew: Arc<Sinew>, folders: Vec<PathBuf>) -> Searches {
        Searches::with_idle(sinew, folders, IDLE)
    }

    fn with_idle(sinew: Arc<Sinew>, folders: Vec<PathBuf>, idle: Duration) -> Searches {
        let folder = |root| {
            let state = Mutex::new(State { phase: Phase::Idle, searched: Instant::now(), stop: None });
            Arc::new(WorkspaceFolder { root, idle, state, changed: Condvar::new() })
        };
        Searches { sinew, folders: folders.into_iter().map(folder).collect() }
    }

    /// Returns the handle whose threads search.
    #[must_use]
    pub fn sinew(&self) -> &Arc<Sinew> {
        &self.sinew
    }

    /// Searches as [`sinew::search::grep`] does.
    ///
    /// # Errors
    /// Returns the errors of [`sinew::search::grep`].
    pub fn grep(&self, options: &GrepOptions, cancel: &CancelToken) -> Result<GrepResult> {
        let Sinew { cache, pool, .. } = &*self.sinew;
        match self.workspace(&options.path) {
            Some(workspace) => workspace.grep(options, pool, cancel, None),
            None => grep(options, cache, pool, cancel, None),
        }
    }

    /// Finds as [`sinew::search::glob_so_far`] does.
    ///
    /// # Errors
    /// Returns the errors of [`sinew::search::glob_so_far`].
    pub fn glob_so_far(&self, options: &GlobOptions, cancel: &CancelToken) -> Result<(GlobResult, bool)> {
        let Sinew { cache, pool, .. } = &*self.sinew;
        if let Some(workspace) = self.workspace(&options.path) {
            match workspace.glob(options, pool, cancel) {
                Err(error) if error.code() == ErrorCode::TimedOut => {}
                found => return Ok((found?, false)),
            }
        }
        glob_so_far(options, cache, pool, cancel)
    }

    /// Finds as [`sinew::search::fuzzy_find`] does.
    ///
    /// # Errors
    /// Returns the errors of [`sinew::search::fuzzy_find`].
    pub fn fuzzy_find(&self, options: &FindOptions, cancel: &CancelToken) -> Result<FindResult> {
        let Sinew { cache, pool, .. } = &*self.sinew;
        match self.workspace(&options.path) {
            Some(workspace) => workspace.fuzzy_find(options, pool, cancel),
            None => fuzzy_find(options, cache, pool, cancel),
        }
    }

    /// Releases the directories; later searches walk.
    pub fn close(&self) {
        let threads: Vec<_> = self.folders.iter().filter_map(|folder| folder.close()).collect();
        // If such a thread panicked, its directory is not watched any more.
        threads.into_iter().for_each(|thread| drop(thread.join()));
    }

    /// Returns the workspace that contains a path, if it is open. The first call opens it.
    fn workspace(&self, path: &Path) -> Option<Workspace> {
        let folder = self.folders.iter().find(|folder| path.starts_with(&folder.root))?;
        folder.workspace(&self.sinew)
    }
}

impl Drop for Searches {
    fn drop(&mut self) {
        self.close();
    }
}

impl WorkspaceFolder {
    fn workspace(self: &Arc<WorkspaceFolder>, sinew: &Arc<Sinew>) -> Option<Workspace> {
        let mut state = self.state.lock();
        state.searched = Instant::now();
        match &state.phase {
            Phase::Open(workspace) => return Some(workspace.clone()),
            Phase::Opening | Phase::Closed => return None,
            Phase::Idle => {}
        }
        let (handle, cancel) = CancelHandle::new();
        let (folder, sinew) = (Arc::clone(self), Arc::clone(sinew));
        let keep = thread::Builder::new().name("sinew-view".to_string());
        // Without a thread searches walk; the next search tries again.
        let thread = keep.spawn(move || folder.keep(&sinew, &cancel)).ok()?;
        state.phase = Phase::Opening;
        state.stop = Some((handle, thread));
        None
    }

    /// Opens the directory, and releases it after a long time without searches or when it is closed.
    fn keep(&self, sinew: &Sinew, cancel: &CancelToken) {
        let opened = sinew.workspaces.open(&self.root, &sinew.workspace_options()).and_then(|workspace| {
            // One thread, because the search that triggered it is running too.
            let status = workspace.refresh(&Pool::new("sinew-view", 1), cancel)?;
            // Without an index, the plain search is as fast and can use recent scans.
            Ok((status.index.freshness != Freshness::Walk).then_some(workspace))
        });
        let mut state = self.state.lock();
        if matches!(state.phase, Phase::Closed) {
            return;
        }
        state.phase = opened.ok().flatten().map_or(Phase::Closed, Phase::Open);
        self.changed.notify_all();
        while let Phase::Open(_) = state.phase {
            let until = state.searched + self.idle;
            if self.changed.wait_until(&mut state, until).timed_out() && state.searched + self.idle <= Instant::now() {
                let unused = std::mem::replace(&mut state.phase, Phase::Idle);
                drop(state);
                return unused.end();
            }
        }
    }

    fn close(&self) -> Option<JoinHandle<()>> {
        let mut state = self.state.lock();
        let phase = std::mem::replace(&mut state.phase, Phase::Closed);
        let stop = state.stop.take();
        self.changed.notify_all();
        drop(state);
        phase.end();
        let (handle, thread) = stop?;
        handle.cancel();
        Some(thread)
    }
}

impl Phase {
    /// Waits until no background work is running.
    fn end(self) {
        if let Phase::Open(workspace) = self {
            workspace.close();
        }
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::fs;

    use super::*;

    /// Creates a directory of some files, including ignore rules.
    fn tree() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("src/deep")).unwrap();
        for (name, text) in [
            ("a.txt", "needle one\nhay\n"),
            ("src/b.rs", "hay\nneedle two\n"),
            ("src/deep/c.rs", "hay\n"),
            ("src/skipped.log", "needle hidden\n"),
            ("src/.ignore", "*.log\n"),
            (".hidden", "needle dot\n"),
        ] {
            fs::write(root.join(name), text).unwrap();
        }
        (folder, root)
    }

    fn searches(root: &Path, idle: Duration) -> Searches {
        Searches::with_idle(Arc::new(Sinew::new()), vec![root.to_path_buf()], idle)
    }

    /// Waits until the directory is watched, or until it is not any more.
    fn until(searches: &Searches, open: bool) {
        let folder = &searches.folders[0];
        loop {
            let state = folder.state.lock();
            match &state.phase {
                Phase::Closed => panic!("the folder cannot be kept"),
                phase if matches!(phase, Phase::Open(_)) == open && !matches!(phase, Phase::Opening) => return,
                _ => drop(state),
            }
            thread::yield_now();
        }
    }

    type Answers = (GrepResult, Vec<String>, Vec<String>);

    fn answers(searches: &Searches, path: &Path) -> Result<Answers> {
        let never = CancelToken::never();
        let find = GlobOptions { sort_by_mtime: true, ..GlobOptions::new(path, "**/*") };
        let found = searches.glob_so_far(&find, &never)?.0;
        let letters = searches.fuzzy_find(&FindOptions::new(path, "sb"), &never)?;
        Ok((
            searches.grep(&GrepOptions::new("needle", path), &never)?,
            found.matches().map(|found| format!("{} {:?}", found.path, found.mtime)).collect(),
            letters.matches.into_iter().map(|found| format!("{} {}", found.path, found.score)).collect(),
        ))
    }

    #[test]
    fn results_equal_a_plain_search_before_and_after_the_workspace_opens() {
        let (_folder, root) = tree();
        let (kept, plain) = (searches(&root, IDLE), Searches::new(Arc::new(Sinew::new()), Vec::new()));
        let compare = |expect: usize| {
            for path in [root.clone(), root.join("src"), root.join("src/b.rs"), root.parent().unwrap().join("missing")]
            {
                match (answers(&kept, &path), answers(&plain, &path)) {
                    (Ok(one), Ok(other)) => assert_eq!(one, other, "{}", path.display()),
                    (Err(one), Err(other)) => assert_eq!(one.to_string(), other.to_string()),
                    (one, other) => panic!("{}: {one:?}, {other:?}", path.display()),
                }
            }
            assert_eq!(answers(&kept, &root).unwrap().0.total_matches as usize, expect);
        };
        compare(3);
        until(&kept, true);
        compare(3);
        fs::write(root.join("src/deep/c.rs"), "needle three\n").unwrap();
        compare(4);
        fs::write(root.join("src/.ignore"), "").unwrap();
        compare(5);
        fs::rename(root.join("src/deep"), root.join("moved")).unwrap();
        compare(5);
        kept.close();
        compare(5);
    }

    #[test]
    fn only_a_search_inside_a_directory_opens_its_workspace() {
        let (_folder, root) = tree();
        let kept = searches(&root.join("src"), IDLE);
        let phase = || matches!(kept.folders[0].state.lock().phase, Phase::Idle);
        let search = |path: &Path| kept.grep(&GrepOptions::new("needle", path), &CancelToken::never()).unwrap();
        search(&root);
        assert!(phase(), "a search above it");
        search(&root.join("src/deep"));
        assert!(!phase());
        until(&kept, true);
    }

    #[test]
    fn an_idle_workspace_is_closed_and_reopened() {
        let (_folder, root) = tree();
        let kept = searches(&root, Duration::from_millis(1));
        let found = || kept.grep(&GrepOptions::new("needle", &root), &CancelToken::never()).unwrap().total_matches;
        for _ in 0..3 {
            assert_eq!(found(), 3);
            until(&kept, false);
        }
        let folder = Arc::clone(&kept.folders[0]);
        drop(kept);
        assert!(
            matches!(folder.state.lock().phase, Phase::Closed) && Arc::strong_count(&folder) == 1,
            "no thread is left"
        );
    }

    #[test]
    fn a_directory_whose_workspace_cannot_open_is_still_searched() {
        let (_folder, root) = tree();
        let sinew = Sinew { home: Some(root.clone()), ..Sinew::new() };
        let kept = Searches::new(Arc::new(sinew), vec![root.clone()]);
        let found = || kept.grep(&GrepOptions::new("needle", &root), &CancelToken::never()).unwrap().total_matches;
        assert_eq!(found(), 3);
        let thread = kept.folders[0].state.lock().stop.take().unwrap().1;
        thread.join().unwrap();
        assert!(matches!(kept.folders[0].state.lock().phase, Phase::Closed));
        assert_eq!(found(), 3);
    }
}
