//! Applies the policy of a sandbox to files that the program itself opens.

use std::collections::HashSet;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sinew_base::{Error, ErrorCode, Result};

use super::layout::{Cover, Layout};
use super::paths::{Entry, place};
use super::rules::Rules;
use super::sandbox::{PreparedSandbox, Sandbox};
use crate::FileUse;

/// Checks files against a policy, with the state of the file system at the time of [`Sandbox::judge`].
///
/// A program that opens files itself, outside of its sandbox, must check each file that it has opened.
#[derive(Debug)]
pub struct Judge {
    prepared: Arc<PreparedSandbox>,
    layout: Layout,
    /// The device and inode numbers of hidden files that have several names.
    hidden: HashSet<(u64, u64)>,
}

impl Sandbox {
    /// Returns a judge of files. Reads the directories of globs that have changed.
    ///
    /// # Errors
    /// Returns an error if the sandbox is closed.
    pub fn judge(&self) -> Result<Judge> {
        let Some(prepared) = self.prepared() else {
            return Err(Error::new(ErrorCode::InvalidState, "Sandbox: the sandbox is closed"));
        };
        let layout = prepared.layout();
        let files = layout.covers.iter().filter(|(_, cover)| **cover == Cover::HiddenFile);
        let data = files.filter_map(|(path, _)| path.symlink_metadata().ok());
        let hidden = data.filter(|data| data.nlink() > 1).map(|data| (data.dev(), data.ino())).collect();
        Ok(Judge { prepared, layout, hidden })
    }
}

impl Judge {
    /// Returns the reason why the policy refuses a use of a file; `None` if it allows it. `path` must be absolute and
    /// without links. `data` belongs to the opened file; `None` if it does not exist yet.
    #[must_use]
    pub fn refusal(&self, path: &Path, data: Option<&Metadata>, file_use: FileUse) -> Option<&'static str> {
        let rules = self.prepared.rules();
        let is_other_name = data.is_some_and(|data| self.hidden.contains(&(data.dev(), data.ino())));
        // A new file has no contents to protect, but the directory that would contain it may be closed.
        let is_new = data.is_none() && file_use == FileUse::Write;
        let read = if is_new { path.parent().unwrap_or(path) } else { path };
        if is_other_name || self.is_covered(path, |cover| cover > Cover::ReadOnly) || is_denied(&rules.deny_read, read)
        {
            return Some("the policy denies reading it");
        }
        if file_use == FileUse::Read {
            return None;
        }
        if !rules.allows_writing(path) {
            return Some("it is outside the writable directories");
        }
        if is_denied(&rules.deny_write, path) {
            return Some("the policy denies writing it");
        }
        let is_missing = path.ancestors().any(|above| self.layout.missing.contains(above));
        let is_link = self.layout.links.contains_key(path);
        if is_missing || is_link || self.is_covered(path, |cover| cover >= Cover::ReadOnly) {
            return Some("it is protected");
        }
        None
    }

    /// Returns true if `fits` returns true for a cover of `path` or of a parent directory.
    fn is_covered(&self, path: &Path, fits: impl Fn(Cover) -> bool) -> bool {
        path.ancestors().any(|above| self.layout.covers.get(above).is_some_and(|cover| fits(*cover)))
    }
}

/// Returns true if an entry contains `path` or a parent directory.
fn is_denied(entries: &[Entry], path: &Path) -> bool {
    entries.iter().any(|entry| match entry {
        Entry::Path(denied) => path.starts_with(denied) || path.starts_with(place(denied)),
        Entry::Glob(glob) => path.strip_prefix(&glob.base).is_ok_and(|below| {
            below.ancestors().filter(|part| !part.as_os_str().is_empty()).any(|part| glob.is_match(part))
        }),
    })
}

impl Rules {
    /// Returns true if the mode of the policy allows writing to `path`.
    fn allows_writing(&self, path: &Path) -> bool {
        self.mode == crate::Mode::Rules || self.writable.iter().any(|area: &PathBuf| path.starts_with(area))
    }
}
