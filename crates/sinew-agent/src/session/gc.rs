//! Removes pictures that no session names any more.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use sinew::base::{Error, Result};

use super::blob::{Blobs, named};
use super::list::{Scope, list};

/// The digests of pictures that no session below `sessions` names; with `remove` their files are removed. A session
/// that cannot be read ends the run before anything is removed.
///
/// # Errors
/// A session cannot be read, or a picture cannot be removed.
pub fn collect(sessions: &Path, blobs: &Blobs, remove: bool) -> Result<Vec<String>> {
    let mut used: HashSet<String> = HashSet::new();
    for session in list(sessions, Scope::All) {
        let failed = |cause: &std::io::Error| Error::io(format!("failed to read {}", session.path.display()), cause);
        let text = fs::read(&session.path).map_err(|cause| failed(&cause))?;
        used.extend(named(&String::from_utf8_lossy(&text)).map(str::to_string));
    }
    let mut unused: Vec<String> = blobs.all().into_iter().filter(|hex| !used.contains(hex)).collect();
    unused.sort();
    if remove {
        for hex in &unused {
            blobs.remove(hex).map_err(|cause| Error::io(format!("failed to remove the picture {hex}"), &cause))?;
        }
    }
    Ok(unused)
}
