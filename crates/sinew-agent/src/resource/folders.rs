//! The folders in which a session finds resources.

use std::path::{Path, PathBuf};

/// The folders in which a session finds resources.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResourceFolders {
    /// The folder in which the session works.
    pub cwd: PathBuf,
    /// The project's own folder, `<cwd>/.sinew`.
    pub project: PathBuf,
    /// The user's own folder, `~/.sinew/agent`.
    pub agent: PathBuf,
    /// The user's home. Without one, nothing there counts.
    pub home: Option<PathBuf>,
}

impl ResourceFolders {
    /// The path that a user wrote: `~` expanded, relative to the working folder.
    #[must_use]
    pub fn resolve(&self, path: &str) -> PathBuf {
        let rest = path.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/'));
        match (rest, &self.home) {
            (Some(rest), Some(home)) => home.join(rest.trim_start_matches('/')),
            _ => self.cwd.join(path),
        }
    }

    /// The working folder and those above it up to the root of the repository; without a repository only itself.
    pub(super) fn up_to_repository(&self) -> Vec<&Path> {
        let all: Vec<&Path> = self.cwd.ancestors().collect();
        let count = all.iter().position(|folder| folder.join(".git").exists()).map_or(1, |at| at + 1);
        all[..count].to_vec()
    }
}
