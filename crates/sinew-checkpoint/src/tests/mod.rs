//! Tests of the public interface on real directories.

mod attribution_tests;
mod child_tests;
mod clean_tests;
mod kill_tests;
mod limit_tests;
mod program_tests;
mod repository_tests;
mod store_tests;
mod story_tests;
mod stretch_tests;
mod time_tests;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use sinew_base::CancelToken;
use tempfile::TempDir;

use crate::{Checkpoints, Limits, OpenOptions, Plan, RestoreOptions, RestoreResult, TakeOptions};

/// A directory, and its store in a folder next to it.
pub(super) struct Project {
    folder: TempDir,
    limits: Limits,
}

impl Project {
    pub(super) fn new() -> Project {
        Project::with_limits(Limits::default())
    }

    pub(super) fn with_limits(limits: Limits) -> Project {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("root")).unwrap();
        Project { folder, limits }
    }

    pub(super) fn root(&self) -> PathBuf {
        self.folder.path().join("root")
    }

    pub(super) fn store(&self) -> PathBuf {
        self.folder.path().join("store")
    }

    pub(super) fn open(&self) -> Checkpoints {
        let options = OpenOptions { store: self.store(), limits: self.limits, ..OpenOptions::default() };
        Checkpoints::open(&self.root(), &options).unwrap()
    }

    /// Runs shell lines in the directory; they must succeed.
    pub(super) fn run(&self, script: &str) {
        let mut command = Command::new("bash");
        command.args(["-ec", script]).current_dir(self.root()).env("OUT", self.folder.path());
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1").env("LC_ALL", "C");
        for (name, value) in [("NAME", "Somebody"), ("EMAIL", "somebody@example.com")] {
            command.env(format!("GIT_AUTHOR_{name}"), value).env(format!("GIT_COMMITTER_{name}"), value);
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
    }

    pub(super) fn tree(&self) -> Tree {
        tree(&self.root())
    }
}

impl Drop for Project {
    fn drop(&mut self) {
        // Directories without write permission cannot be removed.
        let _ = Command::new("chmod").args(["-R", "u+rwX"]).arg(self.folder.path()).status();
    }
}

/// The entries by path: type, permissions, content or target, and the first path of the same file.
pub(super) type Tree = BTreeMap<Vec<u8>, String>;

/// Reads a tree without the data of repositories.
pub(super) fn tree(root: &Path) -> Tree {
    let mut entries = Tree::new();
    entries.insert(b".".to_vec(), format!("directory {:o}", fs::metadata(root).unwrap().permissions().mode() & 0o7777));
    let mut names: BTreeMap<u64, Vec<u8>> = BTreeMap::new();
    let mut folders = vec![root.to_path_buf()];
    let mut paths = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.symlink_metadata().unwrap().is_dir() && path.file_name().is_some_and(|name| name != ".git") {
                folders.push(path.clone());
            }
            paths.push(path);
        }
    }
    paths.sort();
    for path in paths {
        let metadata = path.symlink_metadata().unwrap();
        let name = path.strip_prefix(root).unwrap().as_os_str().as_bytes().to_vec();
        let mode = metadata.permissions().mode() & 0o7777;
        let kind = metadata.file_type();
        let text = if kind.is_dir() {
            format!("directory {mode:o}")
        } else if kind.is_symlink() {
            format!("link {:?}", fs::read_link(&path).unwrap())
        } else if kind.is_file() {
            let first = names.entry(metadata.ino()).or_insert_with(|| name.clone());
            let content = fs::read(&path).map(|bytes| crate::store::hex(&crate::pack::digest(&bytes)));
            format!("file {mode:o} {content:?} of {:?}", String::from_utf8_lossy(first))
        } else {
            format!("special {mode:o} {}", kind.is_fifo())
        };
        entries.insert(name, text);
    }
    entries
}

/// Describes the paths in which two trees differ.
pub(super) fn difference(one: &Tree, two: &Tree) -> Vec<String> {
    let paths: std::collections::BTreeSet<&Vec<u8>> = one.keys().chain(two.keys()).collect();
    let differs = |path: &&Vec<u8>| one.get(*path) != two.get(*path);
    let line = |path: &Vec<u8>| format!("{}: {:?}, {:?}", String::from_utf8_lossy(path), one.get(path), two.get(path));
    paths.into_iter().filter(differs).map(line).collect()
}

pub(super) fn take(checkpoints: &Checkpoints) -> String {
    checkpoints.take(&TakeOptions::default(), &CancelToken::never()).unwrap().id
}

pub(super) fn span(start: &str, end: &str) -> RestoreOptions {
    RestoreOptions { spans: Some(vec![(start.into(), end.into())]), ..RestoreOptions::default() }
}

pub(super) fn restore(checkpoints: &Checkpoints, id: &str, options: &RestoreOptions) -> RestoreResult {
    checkpoints.restore(id, options, &CancelToken::never()).unwrap()
}

/// Returns the entries of a plan that are kept, with the reasons.
pub(super) fn kept(plan: &Plan) -> Vec<(String, String)> {
    let entry = |entry: &crate::PlanEntry| {
        Some((String::from_utf8_lossy(&entry.path).into_owned(), entry.action.reason()?.to_string()))
    };
    plan.entries.iter().filter_map(entry).collect()
}

/// Random numbers that a seed determines (SplitMix64).
pub(super) struct Random(pub(super) u64);

impl Random {
    /// Returns a number below `limit`.
    pub(super) fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % limit as u64).unwrap()
    }
}
