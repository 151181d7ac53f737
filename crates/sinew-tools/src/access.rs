//! Checks of the files that tools open.

use std::fs::{File, Metadata};
use std::path::Path;
use std::sync::Arc;

use sinew::search::Accept;
use sinew_llm::fetch::AddressCheck;

/// Decides whether a call may use the files that it opens.
pub trait PathCheck: Send + Sync {
    /// Checks the link-free path of a file or directory that was opened, or will be created, with the file's metadata
    /// if it exists.
    ///
    /// # Errors
    /// Returns the reason for the model if the file must not be used.
    fn check(&self, path: &Path, facts: Option<&Metadata>) -> Result<(), String>;

    /// Returns true if every file below a directory, given by its link-free path, may be used, including hard links.
    /// Default: false, each file is checked.
    fn allows_below(&self, _folder: &Path) -> bool {
        false
    }
}

impl<F: Fn(&Path, Option<&Metadata>) -> Result<(), String> + Send + Sync> PathCheck for F {
    fn check(&self, path: &Path, facts: Option<&Metadata>) -> Result<(), String> {
        self(path, facts)
    }
}

/// Decides which files and addresses the tools may access.
pub trait PathPolicy: Send + Sync {
    /// Returns the check for the files that one call opens; `None` allows all files. Called once per call; `call` is
    /// the call's id, or `None` if the user attaches files.
    fn path_check(&self, tool: &str, call: Option<&str>, cwd: &Path) -> Option<Arc<dyn PathCheck>>;

    /// Returns the check for the redirects of a tool call. Default: `None`, all addresses are allowed.
    fn address_check(&self, _tool: &str, _call: &str) -> Option<AddressCheck> {
        None
    }
}

/// The checks of the files that a call opens. Default: no checks.
#[derive(Clone, Default)]
pub struct Access {
    pub(crate) checks: Vec<Arc<dyn PathCheck>>,
}

impl Access {
    /// Returns true if there is any check; otherwise no path has to be resolved.
    pub(crate) fn is_limited(&self) -> bool {
        !self.checks.is_empty()
    }

    /// Checks a link-free path and the metadata of the file there.
    pub(crate) fn check(&self, path: &Path, facts: Option<&Metadata>) -> Result<(), String> {
        self.checks.iter().try_for_each(|check| check.check(path, facts))
    }

    /// Returns the same check for the files of a search; `None` if there are no checks.
    pub(crate) fn accept(&self) -> Option<Accept> {
        let (file_access, folder_access) = (self.clone(), self.clone());
        let accept = Accept::new(move |path, file| file_access.check_opened(file, path).is_ok()).or_whole(
            move |path, folder| {
                let real = sinew_session::files::opened_path(folder, path);
                real.is_ok_and(|real| folder_access.checks.iter().all(|check| check.allows_below(&real)))
            },
        );
        self.is_limited().then_some(accept)
    }

    /// Returns true if a file that exists may be used.
    #[must_use]
    pub fn allows(&self, path: &Path) -> bool {
        !self.is_limited()
            || std::fs::canonicalize(path)
                .is_ok_and(|real| self.check(&real, std::fs::metadata(&real).ok().as_ref()).is_ok())
    }

    /// Checks the file that was opened at `path`.
    ///
    /// # Errors
    /// Returns the reason for the model if a check rejects the file, or if it cannot be inspected.
    pub fn check_opened(&self, file: &File, path: &Path) -> Result<(), String> {
        if !self.is_limited() {
            return Ok(());
        }
        let failed = |error: std::io::Error| format!("Cannot read {}: {error}", path.display());
        let real = sinew_session::files::opened_path(file, path).map_err(failed)?;
        self.check(&real, Some(&file.metadata().map_err(failed)?))
    }
}
