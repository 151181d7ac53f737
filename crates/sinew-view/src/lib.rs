//! Isolated views of a directory: programs change a copy, and the changes are merged back or discarded.
//!
//! - [`IsolatedView::open`] creates a copy. In the mode [`ViewMode::Worktree`] it has a git directory of its own, which
//!   borrows the objects of the user's repository; uncommitted and untracked files are included.
//! - [`IsolatedView::changes`] lists the differences and returns them as a patch.
//! - [`IsolatedView::apply`] merges them into the original directory, file by file. A change that overlaps with one of
//!   the directory is a conflict. All other changes are applied, or none if a step fails.
//! - [`IsolatedView::discard`] removes the copy. [`leftovers`] lists the copies of processes that ended without it, and
//!   [`IsolatedView::reopen`] opens one of them again.
//!
//! No program is started: git's files are read directly, so that no hook, filter or environment variable of the user
//! has an effect. The original directory is only changed by a hand-back, and never the data of a repository in it. A
//! program in a view can still write to the original directory by its path; only a sandbox prevents that. It should
//! permit writing to [`IsolatedView::path`], not to the folder around it.
//!
//! Hard links become separate files in a view, and extended attributes are not copied.
//!
//! ```
//! # #[cfg(unix)] {
//! use sinew_base::CancelToken;
//! use sinew_view::{ApplyOptions, ChangesOptions, IsolatedView, OpenOptions};
//!
//! # let folder = tempfile::tempdir().unwrap();
//! # let (project, home) = (folder.path().join("project"), folder.path().join("home"));
//! # std::fs::create_dir(&project).unwrap();
//! let never = CancelToken::never();
//! let mut view = IsolatedView::open(&project, &OpenOptions::new(&home), &never)?;
//! std::fs::write(view.path().join("notes.txt"), "written in the view").unwrap();
//! assert!(!project.join("notes.txt").exists());
//! assert_eq!(view.changes(&ChangesOptions::default(), &never)?.entries[0].path, b"notes.txt");
//!
//! let result = view.apply(&ApplyOptions::default(), &never)?;
//! assert_eq!(result.conflicts().count(), 0);
//! assert!(project.join("notes.txt").exists());
//! view.discard()?;
//! # }
//! # Ok::<(), sinew_base::Error>(())
//! ```
//!
//! Views need a Unix system; elsewhere [`IsolatedView::open`] fails with `Unsupported`.

mod answer;
#[cfg(unix)]
mod base;
#[cfg(unix)]
mod changes;
#[cfg(unix)]
mod commits;
#[cfg(unix)]
mod compare;
#[cfg(unix)]
mod copy;
#[cfg(unix)]
mod execute;
#[cfg(unix)]
mod fault;
#[cfg(unix)]
mod git_config;
#[cfg(unix)]
mod git_dir;
#[cfg(unix)]
mod layout;
#[cfg(unix)]
mod merge;
#[cfg(unix)]
mod open;
mod options;
#[cfg(unix)]
mod patch;
#[cfg(unix)]
mod plan;
#[cfg(unix)]
mod records;
#[cfg(unix)]
mod scan;
#[cfg(not(unix))]
mod unsupported;
#[cfg(unix)]
mod view;

#[cfg(unix)]
#[cfg(test)]
mod tests;

pub use answer::{ApplyResult, Change, ChangeKind, Changes, Commit, FileResult, Leftover, Outcome, Remainder};
pub use options::{ApplyOptions, ChangesOptions, OnConflict, OpenOptions, ViewMode};
pub use sinew_checkpoint::EntryKind;
#[cfg(not(unix))]
pub use unsupported::{IsolatedView, VIEW_LIFETIME, leftovers, remove_expired};
#[cfg(unix)]
pub use view::{IsolatedView, VIEW_LIFETIME, leftovers, remove_expired};
