//! The parts of a workspace that are the same with and without an index.

use std::path::{Path, PathBuf};

use sinew_base::{CancelToken, Result};
use sinew_pool::Pool;

use crate::{GlobOptions, GlobResult, Workspace};

impl Workspace {
    /// Lists a folder: [`crate::glob`] for `*`.
    ///
    /// # Errors
    /// Those of [`crate::glob`].
    pub fn list(
        &self,
        path: impl AsRef<Path>,
        recursive: bool,
        hidden: bool,
        pool: &Pool,
        cancel: &CancelToken,
    ) -> Result<GlobResult> {
        let all = GlobOptions { recursive, hidden, ..GlobOptions::new(path.as_ref(), "*") };
        self.glob(&all, pool, cancel, |_| Ok(()))
    }

    /// Joins the path of a call to the root.
    pub(crate) fn below(&self, path: &Path) -> PathBuf {
        // A root is itself without a separator behind it.
        if path.as_os_str().is_empty() { self.root().to_path_buf() } else { self.root().join(path) }
    }
}
