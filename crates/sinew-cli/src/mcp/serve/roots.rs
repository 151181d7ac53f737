//! The directories below which files may be opened. The file that was actually opened is checked, not the path in the
//! call.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sinew_control::failure::Failure;
use sinew_control::startup::Startup;
use sinew_tools::{PathCheck, PathPolicy};

/// The resolved paths of the directories; at least one.
#[derive(Clone)]
pub(super) struct Roots(Arc<Vec<PathBuf>>);

impl Roots {
    /// Returns the directories of `--root`, or otherwise the working directory.
    ///
    /// # Errors
    /// Returns an error if one of them is not a directory.
    pub(super) fn find(startup: &Startup) -> Result<Roots, Failure> {
        let Startup { args, paths, .. } = startup;
        let mut roots = Vec::new();
        for name in &args.mcp.roots {
            let wrong = |reason: String| Failure::usage(format!("--root {name}: {reason}"));
            let real = paths.resolve(name).canonicalize().map_err(|error| wrong(error.to_string()))?;
            if !real.is_dir() {
                return Err(wrong("not a folder".into()));
            }
            roots.push(real);
        }
        if roots.is_empty() {
            roots.push(paths.cwd.clone());
        }
        Ok(Roots(Arc::new(roots)))
    }

    /// Returns the directory for relative paths.
    pub(super) fn first(&self) -> PathBuf {
        self.0[0].clone()
    }

    /// Returns all directories.
    pub(super) fn all(&self) -> Vec<PathBuf> {
        self.0.to_vec()
    }

    /// Checks that a resolved path is below a root.
    ///
    /// # Errors
    /// Returns the reason for the model if it is not.
    pub(super) fn check(&self, path: &Path) -> Result<(), String> {
        match self.0.iter().any(|root| path.starts_with(root)) {
            true => Ok(()),
            false => Err(format!("Refused: {} is outside of {}", path.display(), self.named())),
        }
    }

    /// Checks that the path of a call is below a root, resolving the part of it that exists. The error does not reveal
    /// whether a file outside of the roots exists.
    ///
    /// # Errors
    /// Returns an error if the path is outside of all roots.
    pub(super) fn check_named(&self, name: &str) -> Result<(), String> {
        let path = self.0[0].join(name);
        let existing = path.ancestors().find_map(|part| part.canonicalize().ok());
        self.check(&existing.unwrap_or(path))
    }

    fn named(&self) -> String {
        self.0.iter().map(|root| root.display().to_string()).collect::<Vec<_>>().join(", ")
    }

    /// Returns instructions for the client's model.
    pub(super) fn instructions(&self) -> String {
        format!("Tools for files below {}. Relative paths begin in {}.", self.named(), self.0[0].display())
    }
}

impl PathPolicy for Roots {
    fn path_check(&self, _tool: &str, _call: Option<&str>, _cwd: &Path) -> Option<Arc<dyn PathCheck>> {
        Some(Arc::new(self.clone()))
    }
}

impl PathCheck for Roots {
    fn check(&self, path: &Path, _: Option<&std::fs::Metadata>) -> Result<(), String> {
        Roots::check(self, path)
    }

    fn allows_below(&self, folder: &Path) -> bool {
        Roots::check(self, folder).is_ok()
    }
}
