//! Tests of the public interface on real directories, with git as the oracle.

mod apply_tests;
mod execute_tests;
mod kill_tests;
mod merge_tests;
mod open_tests;
mod patch_tests;
mod random_tests;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use sinew_base::{CancelToken, Error};
use tempfile::TempDir;

use crate::{
    ApplyOptions, ApplyResult, Changes, ChangesOptions, IsolatedView, OnConflict, OpenOptions, Outcome, ViewMode,
};

/// A directory, and the program's own folder next to it.
pub(super) struct Project {
    folder: TempDir,
}

/// Runs shell lines in a directory; they must succeed. Returns their output.
#[track_caller]
pub(super) fn run_in(folder: &Path, script: &str) -> String {
    let mut command = Command::new("bash");
    command.args(["-ec", script]).current_dir(folder).env("LC_ALL", "C").env_remove("GIT_DIR");
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    for (name, value) in [("NAME", "Somebody"), ("EMAIL", "somebody@example.com")] {
        command.env(format!("GIT_AUTHOR_{name}"), value).env(format!("GIT_COMMITTER_{name}"), value);
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

impl Project {
    /// Creates a directory and runs shell lines in it.
    #[track_caller]
    pub(super) fn new(script: &str) -> Project {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("root")).unwrap();
        let project = Project { folder };
        project.run(script);
        project
    }

    pub(super) fn folder(&self) -> PathBuf {
        fs::canonicalize(self.folder.path()).unwrap()
    }

    pub(super) fn root(&self) -> PathBuf {
        self.folder().join("root")
    }

    pub(super) fn home(&self) -> PathBuf {
        self.folder().join("home")
    }

    #[track_caller]
    pub(super) fn run(&self, script: &str) -> String {
        run_in(&self.root(), script)
    }

    pub(super) fn try_open(&self, mode: ViewMode) -> Result<IsolatedView, Error> {
        let options = OpenOptions { mode, ..OpenOptions::new(self.home()) };
        IsolatedView::open(&self.root(), &options, &CancelToken::never())
    }

    #[track_caller]
    pub(super) fn open(&self) -> IsolatedView {
        self.try_open(ViewMode::Auto).unwrap()
    }

    /// Opens a view and runs shell lines in it.
    #[track_caller]
    pub(super) fn changed(&self, script: &str) -> IsolatedView {
        let view = self.open();
        run_in(view.path(), script);
        view
    }
}

impl Drop for Project {
    fn drop(&mut self) {
        // Directories without write permission cannot be removed.
        let _ = Command::new("chmod").args(["-R", "u+rwX"]).arg(self.folder.path()).status();
    }
}

/// The entries by path: type, permissions, and content or target.
pub(super) type Tree = BTreeMap<String, String>;

/// Reads a tree; with `git`, the data of repositories too.
pub(super) fn tree(root: &Path, git: bool) -> Tree {
    let mut entries = Tree::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.file_name().is_some_and(|name| name == ".git") && !git {
                continue;
            }
            let metadata = path.symlink_metadata().unwrap();
            let mode = metadata.permissions().mode() & 0o7777;
            let text = if metadata.is_dir() {
                folders.push(path.clone());
                format!("directory {mode:o}")
            } else if metadata.is_symlink() {
                format!("link {:?}", fs::read_link(&path).unwrap())
            } else if metadata.is_file() {
                let content = fs::read(&path).unwrap_or_else(|error| error.to_string().into());
                format!("file {mode:o} {}", String::from_utf8_lossy(&content))
            } else {
                "special".into()
            };
            entries.insert(format!("{:?}", path.strip_prefix(root).unwrap()), text);
        }
    }
    entries
}

pub(super) fn changes(view: &IsolatedView) -> Changes {
    view.changes(&ChangesOptions::default(), &CancelToken::never()).unwrap()
}

/// Describes the changes of a view, one line each.
pub(super) fn described(changes: &Changes) -> Vec<String> {
    let line = |change: &crate::Change| {
        let binary = if change.is_binary { " binary" } else { "" };
        format!("{} {} {}{binary}", change.change.as_str(), change.kind.as_str(), lossy(&change.path))
    };
    changes.entries.iter().map(line).collect()
}

pub(super) fn lossy(path: &[u8]) -> String {
    std::ffi::OsStr::from_bytes(path).to_string_lossy().into_owned()
}

pub(super) fn try_apply(view: &mut IsolatedView, on_conflict: OnConflict) -> Result<ApplyResult, Error> {
    view.apply(&ApplyOptions { on_conflict, ignored: false }, &CancelToken::never())
}

#[track_caller]
pub(super) fn apply(view: &mut IsolatedView) -> ApplyResult {
    try_apply(view, OnConflict::Merge).unwrap()
}

/// Describes the result of a hand-back, one line each.
pub(super) fn outcomes(result: &ApplyResult) -> Vec<String> {
    let line = |file: &crate::FileResult| {
        let path = lossy(&file.path);
        match &file.outcome {
            Outcome::Conflict { reason, .. } => format!("conflict {path}: {reason}"),
            outcome => format!("{} {path}", outcome.as_str()),
        }
    };
    result.files.iter().map(line).collect()
}
