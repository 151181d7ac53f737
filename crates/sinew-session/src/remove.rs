//! Removing a session for good.

use std::fs;
use std::io;
use std::path::Path;

use sinew_base::{Error, Result};

use super::open::check_kind;
use super::paths::artifacts;
use super::store::explain;
use super::writer::{Sync, Writer};

/// Removes the session in the file `path`, with its artifacts. Pictures that it shares with others stay until
/// [`collect`](super::collect) finds that nothing names them.
///
/// # Errors
/// Returns an error if another process writes the session, or a file cannot be removed.
pub fn remove(path: &Path) -> Result<()> {
    let failed = |cause: &io::Error| Error::io(format!("failed to remove the session {}", path.display()), cause);
    check_kind(path)?;
    // Held until the file is gone, so that nobody begins to write it.
    let _writer = Writer::open(path, Sync::Never).map_err(|refused| explain(path, refused))?;
    match fs::remove_dir_all(artifacts(path)) {
        Err(cause) if cause.kind() != io::ErrorKind::NotFound => Err(failed(&cause)),
        _ => fs::remove_file(path).map_err(|cause| failed(&cause)),
    }
}
