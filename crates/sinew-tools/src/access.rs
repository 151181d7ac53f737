//! Checks of the files that tools open.

use std::path::Path;
use std::sync::Arc;

/// Judges a path without links of a file or folder that was opened, or is to be made, with what is known of the file. An
/// error is the reason why it must not be used, for the model.
pub type PathCheck = Arc<dyn Fn(&Path, Option<&std::fs::Metadata>) -> Result<(), String> + Send + Sync>;

/// Decides which files the tools may open.
pub trait PathPolicy: Send + Sync {
    /// The check of the files that one call opens; None allows all of them. Asked once per call; `call` is its id, none
    /// where the user attaches files. `tools` are the names by which a rule may mean the access.
    fn path_check(&self, tools: &[&str], call: Option<&str>, cwd: &Path) -> Option<PathCheck>;
}

/// The checks of the files that a call opens. Default: none.
#[derive(Clone, Default)]
pub struct Access {
    pub(crate) checks: Vec<PathCheck>,
}

impl Access {
    /// Returns true if there is any check: else no path has to be looked up.
    pub(crate) fn is_limited(&self) -> bool {
        !self.checks.is_empty()
    }

    /// Asks about a path without links, and what is known of the file there.
    pub(crate) fn check(&self, path: &Path, facts: Option<&std::fs::Metadata>) -> Result<(), String> {
        self.checks.iter().try_for_each(|check| check(path, facts))
    }

    /// Asks about what was opened by `path`.
    ///
    /// # Errors
    /// A check refuses it, or the file cannot be looked at: the reason, for the model.
    pub fn check_opened(&self, file: &std::fs::File, path: &Path) -> Result<(), String> {
        if !self.is_limited() {
            return Ok(());
        }
        let failed = |error: std::io::Error| format!("Cannot read {}: {error}", path.display());
        let real = sinew_session::files::opened_path(file, path).map_err(failed)?;
        self.check(&real, Some(&file.metadata().map_err(failed)?))
    }
}
