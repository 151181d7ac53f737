//! Directories in which children work instead of the project.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sinew::view::IsolatedView;
use sinew_permissions::Views;

/// A copy of the project in which a child works. Permission rules about the project apply in it while this exists.
pub(crate) struct ChildWorkspace {
    /// The working directory.
    pub(crate) cwd: PathBuf,
    /// The copy.
    pub(crate) path: PathBuf,
    /// The directory that is copied.
    pub(crate) root: PathBuf,
    /// Additional variables of its programs.
    pub(crate) environment: Vec<(OsString, OsString)>,
    views: Arc<Views>,
}

impl ChildWorkspace {
    /// Returns the workplace in a view, in the directory that corresponds to `cwd`.
    pub(super) fn new(view: &IsolatedView, cwd: &Path, views: Arc<Views>) -> ChildWorkspace {
        let cwd = cwd.canonicalize().unwrap_or_else(|_| cwd.to_path_buf());
        views.add(view.path(), view.root());
        let environment = view.environment().into_iter();
        ChildWorkspace {
            cwd: view.path().join(cwd.strip_prefix(view.root()).unwrap_or(Path::new(""))),
            path: view.path().to_path_buf(),
            root: view.root().to_path_buf(),
            environment: environment.map(|(name, value)| (name.into(), value.into())).collect(),
            views,
        }
    }
}

impl Drop for ChildWorkspace {
    fn drop(&mut self) {
        self.views.remove(&self.path);
    }
}
