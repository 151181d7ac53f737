//! The repository of a work tree.

use std::fs;
use std::path::{Path, PathBuf};

use super::RuleLog;

/// The directories of a repository.
#[derive(Debug, Clone)]
pub(super) struct Repository {
    /// The directory of this work tree, with `HEAD`.
    pub(super) git_dir: PathBuf,
    /// The directory that all work trees share, with `info/exclude` and `config`.
    pub(super) common: PathBuf,
}

impl Repository {
    /// Returns the repository of the work tree in `folder`; `None` if `folder` is not a work tree.
    pub(super) fn find(folder: &Path, log: &mut RuleLog) -> Option<Repository> {
        let dot_git = folder.join(".git");
        log.look(&dot_git);
        let meta = fs::metadata(&dot_git).ok()?;
        let git_dir = if meta.is_dir() {
            dot_git
        } else if meta.is_file() && meta.len() <= 64 << 10 {
            folder.join(first_line(&dot_git)?.strip_prefix("gitdir:")?.trim())
        } else {
            return None;
        };
        let common = git_dir.join("commondir");
        log.look(&common);
        let common = first_line(&common).map_or_else(|| git_dir.clone(), |common| git_dir.join(common.trim()));
        Some(Repository { git_dir, common })
    }

    /// Returns the name of the current branch; `None` if no branch is checked out.
    pub(super) fn branch(&self, log: &mut RuleLog) -> Option<String> {
        let head = self.git_dir.join("HEAD");
        log.look(&head);
        Some(first_line(&head)?.strip_prefix("ref:")?.trim().strip_prefix("refs/heads/")?.to_string())
    }
}

fn first_line(path: &Path) -> Option<String> {
    if !fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let text = fs::read(path).ok()?;
    Some(String::from_utf8_lossy(text.split(|byte| *byte == b'\n').next()?).into_owned())
}
