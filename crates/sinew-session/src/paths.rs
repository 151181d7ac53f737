//! Names of directories and files.

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::clock;

/// The maximum length of a name; longer ones are cut and get eight digits of a digest.
const LONGEST: usize = 200;

/// Returns the name of the directory for the sessions of `cwd`: `--home-me-project--`.
#[must_use]
pub fn folder_name(cwd: &Path) -> String {
    let path = cwd.to_string_lossy();
    let flat = path.trim_start_matches(['/', '\\']).replace(['/', '\\', ':'], "-");
    if flat.len() <= LONGEST {
        return format!("--{flat}--");
    }
    let mut end = LONGEST;
    while !flat.is_char_boundary(end) {
        end -= 1;
    }
    let digest = Sha256::digest(path.as_bytes());
    let hex: String = digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    format!("--{}-{hex}--", &flat[..end])
}

/// Returns a file name: `2026-01-31T09-30-00-000Z_1f9d2a6b9c0d1234.jsonl`.
#[must_use]
pub fn file_name(ms: i64, id: &str) -> String {
    format!("{}_{id}.jsonl", stamp(ms))
}

/// Formats a time for a file name.
pub(super) fn stamp(ms: i64) -> String {
    clock::iso(ms).replace([':', '.'], "-")
}

/// Appends `end` to the name of `path`: `a.jsonl` and `.torn` become `a.jsonl.torn`.
pub(super) fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(end);
    path.with_file_name(name)
}

/// Returns the directory of a session's artifacts: its file name without `.jsonl`.
pub(super) fn artifacts(path: &Path) -> PathBuf {
    path.with_extension("")
}

/// Returns the directory with the session files of a session's children.
#[must_use]
pub fn children_of(path: &Path) -> PathBuf {
    path.with_extension("agents")
}

/// Returns the file below `agent` that stores which session a terminal had.
#[must_use]
pub fn breadcrumb_file(agent: &Path, terminal: &str) -> PathBuf {
    let name: String =
        terminal.trim_start_matches('/').chars().map(|c| if c.is_alphanumeric() { c } else { '-' }).collect();
    agent.join("terminal-sessions").join(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_directories_are_named_after_the_working_directory() {
        assert_eq!(folder_name(Path::new("/home/me/my project")), "--home-me-my project--");
        assert_eq!(folder_name(Path::new("C:\\work\\x")), "--C--work-x--");
        let long = format!("/{}", "ä".repeat(150));
        let name = folder_name(Path::new(&long));
        assert!(name.len() <= LONGEST + 13, "{}", name.len());
        assert_ne!(name, folder_name(Path::new(&format!("{long}x"))));
    }

    #[test]
    fn session_files_are_named_after_time_and_id() {
        assert_eq!(file_name(1_769_851_800_000, "1f9d"), "2026-01-31T09-30-00-000Z_1f9d.jsonl");
    }
}
