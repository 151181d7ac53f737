//! Changes below a directory.
//!
//! [`WatchQueue`] is the inotify queue that one program shares, and [`FolderWatches`] are the watches of one tree in
//! it. [`TreeWatcher`] reports changes below a directory in batches.
//!
//! ```
//! # #[cfg(target_os = "linux")]
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use std::sync::Arc;
//! use sinew_base::CancelToken;
//! use sinew_pool::Pool;
//! use sinew_watch::{ChangeKind, TreeWatcher, WatchOptions, WatchQueue};
//!
//! let root = tempfile::tempdir()?;
//! let queue = Arc::new(WatchQueue::default());
//! let pool = Pool::for_machine("example");
//! let mut watcher = TreeWatcher::open(root.path(), WatchOptions::default(), queue, pool, &CancelToken::never())?;
//! std::fs::write(root.path().join("new"), "text")?;
//! let changes = watcher.poll();
//! assert_eq!((changes[0].kind, &changes[0].path[..]), (ChangeKind::Created, &b"new"[..]));
//! # Ok(())
//! # }
//! # #[cfg(not(target_os = "linux"))]
//! # fn main() {}
//! ```

#[cfg(target_os = "linux")]
mod change;
#[cfg(target_os = "linux")]
mod queue;
#[cfg(target_os = "linux")]
mod tree_watcher;
mod types;
#[cfg(not(target_os = "linux"))]
mod unsupported;

#[cfg(target_os = "linux")]
pub use queue::{Event, FolderWatches, WatchQueue, is_local};
#[cfg(target_os = "linux")]
pub use tree_watcher::{TreeWatcher, WatchCloser};
pub use types::{Change, ChangeKind, WatchMode, WatchOptions};
#[cfg(not(target_os = "linux"))]
pub use unsupported::{TreeWatcher, WatchCloser, WatchQueue};
