//! Drafts that are stored when the program exits: one file per session in `drafts`. The next process that continues the
//! session loads and deletes it.

use std::io;
use std::path::{Path, PathBuf};

use sinew_session::files::{read_plain, write_private};

/// The maximum size of a draft in bytes: the capacity of the editor.
const MOST: u64 = 4 << 20;

fn file(agent: &Path, session: &str) -> PathBuf {
    agent.join("drafts").join(session)
}

/// Stores the draft of a session, readable for its owner only. An empty draft deletes the file.
///
/// # Errors
/// Returns the errors of the file system.
pub(super) fn keep(agent: &Path, session: &str, text: &str) -> io::Result<()> {
    let file = file(agent, session);
    if text.trim().is_empty() {
        return match std::fs::remove_file(&file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        };
    }
    write_private(&file, text)
}

/// Loads and deletes the draft of a session; returns `None` if there is none.
///
/// # Errors
/// Returns the errors of the file system, and `InvalidData` if the draft is not text.
pub(super) fn take(agent: &Path, session: &str) -> io::Result<Option<String>> {
    let file = file(agent, session);
    let text = match read_plain(&file, MOST) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        bytes => String::from_utf8(bytes?).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?,
    };
    std::fs::remove_file(&file)?;
    Ok(Some(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drafts_are_private_and_deleted_when_loaded() {
        let agent = tempfile::tempdir().unwrap();
        assert_eq!(take(agent.path(), "a").unwrap(), None);
        keep(agent.path(), "a", "").unwrap();
        assert!(!agent.path().join("drafts").exists());
        for text in ["a longer draft\nof two lines", "short", "é\u{1b}[m"] {
            keep(agent.path(), "a", "what is replaced by the next one").unwrap();
            keep(agent.path(), "a", text).unwrap();
            #[cfg(unix)]
            {
                let facts = std::fs::metadata(file(agent.path(), "a")).unwrap();
                assert_eq!(std::os::unix::fs::PermissionsExt::mode(&facts.permissions()) & 0o777, 0o600);
            }
            assert_eq!(take(agent.path(), "b").unwrap(), None);
            assert_eq!(take(agent.path(), "a").unwrap().as_deref(), Some(text));
            assert_eq!(take(agent.path(), "a").unwrap(), None);
        }
        keep(agent.path(), "a", "short").unwrap();
        keep(agent.path(), "a", " \n").unwrap();
        assert_eq!(take(agent.path(), "a").unwrap(), None);
        std::fs::write(file(agent.path(), "a"), b"\xff").unwrap();
        assert!(take(agent.path(), "a").is_err());
    }
}
