//! Checks of the files that tools open.

use std::fs::{File, Metadata};
use std::path::Path;
use std::sync::Arc;

use sinew::search::Accept;
use sinew_llm::fetch::AddressCheck;

/// Judges the files that a call opens.
pub trait PathCheck: Send + Sync {
    /// Judges a path without links of a file or folder that was opened, or is to be made, with what is known of the file.
    ///
    /// # Errors
    /// The reason why it must not be used, for the model.
    fn check(&self, path: &Path, facts: Option<&Metadata>) -> Result<(), String>;

    /// Returns true if each file below a folder, whose path has no links, may be used, whatever other names it has.
    /// Default: false, each is judged.
    fn allows_below(&self, _folder: &Path) -> bool {
        false
    }
}

impl<F: Fn(&Path, Option<&Metadata>) -> Result<(), String> + Send + Sync> PathCheck for F {
    fn check(&self, path: &Path, facts: Option<&Metadata>) -> Result<(), String> {
        self(path, facts)
    }
}

/// Decides which files the tools may open.
pub trait PathPolicy: Send + Sync {
    /// The check of the files that one call opens; None allows all of them. Asked once per call; `call` is its id, none
    /// where the user attaches files.
    fn path_check(&self, tool: &str, call: Option<&str>, cwd: &Path) -> Option<Arc<dyn PathCheck>>;

    /// The check of the addresses to which a server leads the call of a tool. Default: None, all are allowed.
    fn address_check(&self, _tool: &str, _call: &str) -> Option<AddressCheck> {
        None
    }
}

/// The checks of the files that a call opens. Default: none.
#[derive(Clone, Default)]
pub struct Access {
    pub(crate) checks: Vec<Arc<dyn PathCheck>>,
}

impl Access {
    /// Returns true if there is any check: else no path has to be looked up.
    pub(crate) fn is_limited(&self) -> bool {
        !self.checks.is_empty()
    }

    /// Asks about a path without links, and what is known of the file there.
    pub(crate) fn check(&self, path: &Path, facts: Option<&Metadata>) -> Result<(), String> {
        self.checks.iter().try_for_each(|check| check.check(path, facts))
    }

    /// Asks the same for the files of a search. None: nobody has to be asked.
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

    /// Asks about what was opened by `path`.
    ///
    /// # Errors
    /// A check refuses it, or the file cannot be looked at: the reason, for the model.
    pub fn check_opened(&self, file: &File, path: &Path) -> Result<(), String> {
        if !self.is_limited() {
            return Ok(());
        }
        let failed = |error: std::io::Error| format!("Cannot read {}: {error}", path.display());
        let real = sinew_session::files::opened_path(file, path).map_err(failed)?;
        self.check(&real, Some(&file.metadata().map_err(failed)?))
    }
}
