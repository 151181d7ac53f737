//! Deletes a session.

use std::fs;
use std::io;
use std::path::Path;

use sinew_base::{Error, Result};

use super::open::check_kind;
use super::paths::{artifacts, children_of};
use super::store::explain;
use super::writer::{Sync, Writer};

/// Deletes the session in the file `path`, with its artifacts and the sessions of its children. Images that it shares
/// with other sessions are kept until [`collect`](super::collect) finds no reference to them.
///
/// # Errors
/// Returns an error if another process is writing the session, or if a file cannot be removed.
pub fn remove(path: &Path) -> Result<()> {
    let failed = |cause: &io::Error| Error::io(format!("failed to remove the session {}", path.display()), cause);
    check_kind(path)?;
    // Locked until the file is deleted, so that no other process begins to write it.
    let _writer = Writer::open(path, Sync::Never).map_err(|refused| explain(path, refused))?;
    for folder in [children_of(path), artifacts(path)] {
        match fs::remove_dir_all(folder) {
            Err(cause) if cause.kind() != io::ErrorKind::NotFound => return Err(failed(&cause)),
            _ => {}
        }
    }
    fs::remove_file(path).map_err(|cause| failed(&cause))
}
