//! The options of calls.

use std::path::PathBuf;

/// How a view isolates programs from the directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum ViewMode {
    /// The first mode that works: `worktree` for the top of a git checkout, otherwise `copy`.
    #[default]
    Auto,
    /// An overlay over the directory at its own path. Not available yet.
    Overlay,
    /// A directory with its own git directory, which borrows the objects of the repository. Files that git ignores are
    /// only included if the file system can share their data (reflink).
    Worktree,
    /// A copy of every file.
    Copy,
}

impl ViewMode {
    /// Returns the name used in interfaces.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            ViewMode::Auto => "auto",
            ViewMode::Overlay => "overlay",
            ViewMode::Worktree => "worktree",
            ViewMode::Copy => "copy",
        }
    }

    /// Returns the mode with that name; `None` if there is none.
    #[must_use]
    pub fn from_name(name: &str) -> Option<ViewMode> {
        let all = [ViewMode::Auto, ViewMode::Overlay, ViewMode::Worktree, ViewMode::Copy];
        all.into_iter().find(|mode| mode.as_str() == name)
    }
}

/// The options of [`crate::IsolatedView::open`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenOptions {
    /// The program's own folder; views are stored in its folder `isolated`. It is created if it is missing. If it is
    /// inside the directory, the view does not contain it.
    pub home: PathBuf,
    /// How the view isolates programs. Default: [`ViewMode::Auto`].
    pub mode: ViewMode,
    /// A label for [`crate::leftovers`], for example the id of an agent.
    pub label: Option<String>,
    /// The user's global ignore file, which `sinew_walk::global_excludes` finds. Default: none.
    pub global_excludes: Option<PathBuf>,
    /// The maximum number of entries of the directory; with more, the call fails with `LimitExceeded`. Default:
    /// 500,000.
    pub max_entries: usize,
}

impl OpenOptions {
    /// Creates the default options for a program's own folder.
    pub fn new(home: impl Into<PathBuf>) -> OpenOptions {
        OpenOptions {
            home: home.into(),
            mode: ViewMode::Auto,
            label: None,
            global_excludes: None,
            max_entries: 500_000,
        }
    }
}

/// The options of [`crate::IsolatedView::changes`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangesOptions {
    /// Include files that were created in the view and that ignore rules exclude. Default: false.
    pub ignored: bool,
    /// The maximum size of the patch, in bytes. Default: 1 MB.
    pub max_patch_bytes: usize,
}

impl Default for ChangesOptions {
    fn default() -> ChangesOptions {
        ChangesOptions { ignored: false, max_patch_bytes: 1_000_000 }
    }
}

/// What [`crate::IsolatedView::apply`] does if some files conflict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnConflict {
    /// Apply the files without conflicts.
    #[default]
    Merge,
    /// Apply nothing.
    Stop,
}

impl OnConflict {
    /// Returns the value with that name; `None` if there is none.
    #[must_use]
    pub fn from_name(name: &str) -> Option<OnConflict> {
        match name {
            "merge" => Some(OnConflict::Merge),
            "stop" => Some(OnConflict::Stop),
            _ => None,
        }
    }
}

/// The options of [`crate::IsolatedView::apply`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ApplyOptions {
    /// What to do if some files conflict. Default: [`OnConflict::Merge`].
    pub on_conflict: OnConflict,
    /// Also apply files that were created in the view and that ignore rules exclude. Default: false.
    pub ignored: bool,
}
