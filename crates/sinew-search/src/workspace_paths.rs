//! The methods of a workspace that are the same with and without an index.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use sinew_base::{CancelToken, Result};
use sinew_pool::Pool;

use crate::ranking::{PathUse, RANKED, path_below, reorder};
use crate::{Boost, FindOptions, FindResult, GlobOptions, GlobResult, Workspace};

impl Workspace {
    /// Lists a directory: [`crate::glob`] with the pattern `*`.
    ///
    /// # Errors
    /// Returns the errors of [`crate::glob`].
    pub fn list(
        &self,
        path: impl AsRef<Path>,
        recursive: bool,
        hidden: bool,
        pool: &Pool,
        cancel: &CancelToken,
    ) -> Result<GlobResult> {
        let all = GlobOptions { recursive, hidden, ..GlobOptions::new(path.as_ref(), "*") };
        self.glob(&all, pool, cancel)
    }

    /// Finds what [`Workspace::fuzzy_find`] finds, ranked for the user: paths noted by [`Workspace::note`], recently
    /// changed files, neighbours of the current file, and recently committed files get up to 40 additional points. A
    /// path or name that equals the query stays first.
    ///
    /// # Errors
    /// Returns the errors of [`crate::fuzzy_find`].
    pub fn fuzzy_find_boosted(
        &self,
        options: &FindOptions,
        boost: &Boost,
        pool: &Pool,
        cancel: &CancelToken,
    ) -> Result<FindResult> {
        let wide = FindOptions { max_results: options.max_results.max(RANKED), ..options.clone() };
        let mut found = self.fuzzy_find(&wide, pool, cancel)?;
        let folder = self.below(&options.path);
        if let Some(base) = path_below(self.root(), &folder)
            && !options.query.trim().is_empty()
        {
            let relative = |path: &String| path_below(self.root(), Path::new(path));
            let boost = Boost {
                current: boost.current.as_ref().and_then(relative),
                recent: boost.recent.iter().filter_map(relative).collect(),
            };
            let changed = |path: &str| std::fs::symlink_metadata(folder.join(path)).ok()?.modified().ok();
            let ranked = found.matches.len().min(RANKED);
            let uses = self.uses().lock();
            reorder(&mut found.matches[..ranked], &options.query, &base, &boost, &uses, SystemTime::now(), changed);
        }
        found.matches.truncate(options.max_results);
        Ok(found)
    }

    /// Records a use of a path for [`Workspace::fuzzy_find_boosted`]; a path outside the root is ignored. The uses of
    /// the most recent 4,096 paths are kept in memory.
    pub fn note(&self, path: impl AsRef<Path>, kind: PathUse, at: SystemTime) {
        if let Some(path) = path_below(self.root(), path.as_ref()) {
            self.uses().lock().note(&path, kind, at);
        }
    }

    /// Joins the path of a call to the root.
    pub(crate) fn below(&self, path: &Path) -> PathBuf {
        // Joining an empty path would append a separator.
        if path.as_os_str().is_empty() { self.root().to_path_buf() } else { self.root().join(path) }
    }
}
