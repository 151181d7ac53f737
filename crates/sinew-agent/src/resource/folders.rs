//! The folders in which a session finds resources.

use std::path::{Path, PathBuf};

/// The folders in which a session finds resources.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResourceFolders {
    /// The working directory of the session.
    pub cwd: PathBuf,
    /// The project's folder, `<cwd>/.sinew`.
    pub project: PathBuf,
    /// The user's folder, `~/.sinew/agent`.
    pub agent: PathBuf,
    /// The user's home directory; if it is unknown, resources in it are not searched.
    pub home: Option<PathBuf>,
}

impl ResourceFolders {
    /// Resolves a path of the user: expands `~`, and treats it as relative to the working directory.
    #[must_use]
    pub fn resolve(&self, path: &str) -> PathBuf {
        let rest = path.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/'));
        match (rest, &self.home) {
            (Some(rest), Some(home)) => home.join(rest.trim_start_matches('/')),
            _ => self.cwd.join(path),
        }
    }

    /// Returns the working directory and its parents up to the repository root; outside of a repository, only the
    /// working directory.
    pub(super) fn up_to_repository(&self) -> Vec<&Path> {
        let all: Vec<&Path> = self.cwd.ancestors().collect();
        let count = all.iter().position(|folder| folder.join(".git").exists()).map_or(1, |at| at + 1);
        all[..count].to_vec()
    }
}
