//! Creates the git directory of a view: a repository of its own that borrows the objects of the user's repository.
//!
//! The files of the user's repository are read directly: no git program, hook or filter runs, and no environment
//! variable has an effect.

use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use sinew_base::{CancelToken, Error, ErrorCode, Result};
use sinew_checkpoint::{Directory, index_entries};

use crate::copy;
use crate::git_config;

/// The maximum number of object folders that a repository borrows from, directly or not.
const MAX_ALTERNATES: usize = 64;

/// The maximum size of a file of settings, in bytes.
const MAX_SETTINGS: u64 = 16 << 20;
/// The maximum size of an index that is read, in bytes. A larger one is only copied.
const MAX_INDEX: u64 = 256 << 20;

/// Files of a checkout that describe its state.
const CHECKOUT_FILES: [&str; 11] = [
    "HEAD",
    "index",
    "ORIG_HEAD",
    "FETCH_HEAD",
    "MERGE_HEAD",
    "MERGE_MODE",
    "MERGE_MSG",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "AUTO_MERGE",
    "info/sparse-checkout",
];

/// Files that all checkouts of a repository share.
const SHARED_FILES: [&str; 6] =
    ["packed-refs", "shallow", "info/exclude", "info/attributes", "info/grafts", "logs/refs/stash"];

/// A repository as the user has it.
#[derive(Debug)]
pub(crate) struct Repository {
    /// The git directory of the checkout: HEAD and index.
    data: PathBuf,
    /// The git directory that all checkouts share: references, objects and settings.
    common: PathBuf,
}

impl Repository {
    /// Finds the repository of a `.git`: a directory, a link, or a file that names a directory.
    ///
    /// # Errors
    /// Returns `InvalidData` if it does not lead to a git directory, and `Unsupported` for a linked work tree with
    /// references in the reftable format.
    pub(crate) fn find(dot_git: &Path) -> Result<Repository> {
        let broken = |at: &Path| {
            let text = format!(
                "view: {dot_git:?} leads to {at:?}, which is not a git directory; run `git worktree repair` or `git \
                 init`, or use the mode copy"
            );
            Error::new(ErrorCode::InvalidData, text)
        };
        let data = match fs::metadata(dot_git) {
            Ok(metadata) if metadata.is_file() => {
                let text = copy::read_path(dot_git, MAX_SETTINGS).unwrap_or_default();
                let target = text.strip_prefix(b"gitdir:").ok_or_else(|| broken(dot_git))?.trim_ascii();
                dot_git.parent().unwrap_or(dot_git).join(path_of(target))
            }
            _ => dot_git.to_path_buf(),
        };
        let data = fs::canonicalize(&data).map_err(|_| broken(&data))?;
        let common = match copy::read_path(&data.join("commondir"), MAX_SETTINGS) {
            Ok(text) => fs::canonicalize(data.join(path_of(text.trim_ascii()))).map_err(|_| broken(&data))?,
            Err(_) => data.clone(),
        };
        if fs::symlink_metadata(data.join("HEAD")).is_err() || !common.join("objects").is_dir() {
            return Err(broken(&data));
        }
        if data != common && data.join("reftable").is_dir() {
            let text = format!(
                "view: {dot_git:?} is a linked work tree with references in the reftable format; open a view of the \
                 main work tree, or use the mode copy"
            );
            return Err(Error::new(ErrorCode::Unsupported, text));
        }
        Ok(Repository { data, common })
    }

    /// Returns the path of the git directory of the checkout.
    pub(crate) fn data(&self) -> &Path {
        &self.data
    }

    /// Returns the tracked paths with the ids of their blobs; `None` if the index cannot be read completely.
    pub(crate) fn tracked(&self) -> Option<Vec<(Vec<u8>, sinew_checkpoint::GitId)>> {
        match copy::read_path(&self.data.join("index"), MAX_INDEX) {
            Ok(bytes) => Some(index_entries(&bytes)?.into_iter().map(|entry| (entry.path, entry.id)).collect()),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => Some(Vec::new()),
            Err(_) => None,
        }
    }

    /// Creates the git directory of a view, which must not exist. `cancel` is checked before each reference.
    ///
    /// # Errors
    /// Returns the system's error, and the reason of the token if the call is cancelled.
    pub(crate) fn build(&self, target: &Path, cancel: &CancelToken) -> Result<()> {
        let built = self.try_build(target, cancel);
        cancel.check()?;
        built.map_err(|cause| Error::io(format!("view: failed to copy the git directory {:?}", self.data), &cause))
    }

    fn try_build(&self, target: &Path, cancel: &CancelToken) -> io::Result<()> {
        for folder in ["objects/info", "objects/pack", "refs", "info", "logs/refs"] {
            fs::create_dir_all(target.join(folder))?;
        }
        for (source, names) in [(&self.data, &CHECKOUT_FILES[..]), (&self.common, &SHARED_FILES[..])] {
            for name in names {
                copy_if_present(&source.join(name), &target.join(name))?;
            }
        }
        // A split index refers to these files.
        for entry in fs::read_dir(&self.data)? {
            let name = entry?.file_name();
            if name.as_bytes().starts_with(b"sharedindex.") {
                copy_if_present(&self.data.join(&name), &target.join(&name))?;
            }
        }
        copy_references(&self.common.join("refs"), &target.join("refs"), self.data != self.common, cancel)?;
        if self.data != self.common {
            for name in ["worktree", "bisect", "rewritten"] {
                copy_references(&self.data.join("refs").join(name), &target.join("refs").join(name), false, cancel)?;
            }
        }
        if self.common.join("reftable").is_dir() {
            copy_references(&self.common.join("reftable"), &target.join("reftable"), false, cancel)?;
        }
        let configs = [self.common.join("config"), self.data.join("config.worktree")];
        let configs: Vec<Vec<u8>> =
            configs.iter().filter_map(|path| copy::read_path(path, MAX_SETTINGS).ok()).collect();
        fs::write(target.join("config"), git_config::view_config(&configs))?;
        let mut alternates = Vec::new();
        for folder in self.object_folders() {
            alternates.extend(quoted(folder.as_os_str().as_bytes()));
            alternates.push(b'\n');
        }
        fs::write(target.join("objects/info/alternates"), alternates)
    }

    /// Returns the object folders of the repository and those that it borrows from.
    fn object_folders(&self) -> Vec<PathBuf> {
        let mut folders: Vec<PathBuf> = Vec::new();
        let mut next = vec![self.common.join("objects")];
        while let Some(folder) = next.pop() {
            let Ok(folder) = fs::canonicalize(folder) else { continue };
            if folders.len() >= MAX_ALTERNATES || folders.contains(&folder) {
                continue;
            }
            let text = copy::read_path(&folder.join("info/alternates"), MAX_SETTINGS).unwrap_or_default();
            let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty() && line[0] != b'#');
            next.extend(lines.map(|line| folder.join(path_of(line))));
            folders.push(folder);
        }
        folders
    }
}

/// Returns true if the repository has ids of SHA-256.
pub(crate) fn is_sha256(data: &Path) -> bool {
    let config = copy::read_path(&data.join("config"), MAX_SETTINGS).unwrap_or_default();
    git_config::value(&config, "extensions", "objectformat").is_some_and(|format| format == "sha256")
}

fn path_of(bytes: &[u8]) -> PathBuf {
    std::ffi::OsString::from_vec(bytes.to_vec()).into()
}

/// Copies a regular file with its time of change; the time of the index tells git which files to compare.
fn copy_if_present(source: &Path, target: &Path) -> io::Result<()> {
    match fs::symlink_metadata(source) {
        Ok(metadata) if metadata.is_file() => {}
        Ok(metadata) if metadata.is_symlink() && source.ends_with("HEAD") => {
            // Very old repositories have a link as HEAD, which names the branch.
            let target_name = fs::read_link(source)?;
            return fs::write(target, [b"ref: ", target_name.as_os_str().as_bytes(), b"\n"].concat());
        }
        _ => return Ok(()),
    }
    if let Some(parent) = target.parent() {
        fs::create_dir_all(parent)?;
    }
    let mut file = match copy::open_path(source) {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(()),
        opened => opened?,
    };
    let mtime = file.metadata()?.modified()?;
    let mut copy = fs::File::create_new(target)?;
    copy::copy_file(&mut file, &mut copy)?;
    copy.set_modified(mtime)
}

/// Copies the files of a directory of references, without locks.
fn copy_references(source: &Path, target: &Path, is_shared: bool, cancel: &CancelToken) -> io::Result<()> {
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        let entries = match fs::read_dir(source.join(&folder)) {
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => continue,
            entries => entries?,
        };
        fs::create_dir_all(target.join(&folder))?;
        for entry in entries {
            copy::check(cancel)?;
            let entry = entry?;
            let name = folder.join(entry.file_name());
            let is_own =
                is_shared && [Path::new("worktree"), Path::new("bisect"), Path::new("rewritten")].contains(&&*name);
            if entry.file_type()?.is_dir() && !is_own {
                folders.push(name);
            } else if !name.as_os_str().as_bytes().ends_with(b".lock") {
                copy_if_present(&source.join(&name), &target.join(&name))?;
            }
        }
    }
    Ok(())
}

/// Quotes a path for git, if a plain one would be read differently.
fn quoted(path: &[u8]) -> Vec<u8> {
    let is_plain = !path.iter().any(|byte| byte.is_ascii_control() || matches!(byte, b'"' | b'\\'));
    if is_plain { path.to_vec() } else { crate::patch::quoted(path) }
}

/// Copies the data of a repository at `path` into the view: a git directory of its own for git, otherwise a copy.
/// Returns a remark if there is none in the view.
///
/// # Errors
/// Returns the system's error, and the reason of the token if the call is cancelled.
pub(crate) fn copy_repository(
    real: (&Path, &Directory),
    view: (&Path, &Directory),
    path: &[u8],
    cancel: &CancelToken,
) -> Result<Option<String>> {
    let name = crate::scan::as_name(path);
    if name == ".git" || path.ends_with(b"/.git") {
        return match Repository::find(&real.0.join(name)) {
            Ok(repository) => repository.build(&view.0.join(name), cancel).map(|()| None),
            Err(error) => Ok(Some(error.message().to_string())),
        };
    }
    let copied = real
        .1
        .open_parent(path)
        .and_then(|(from, last)| Ok((from, view.1.open_parent(path)?.0, last)))
        .map_err(io::Error::from)
        .and_then(|(from, to, last)| copy::copy_whole(&from, &to, last.as_bytes(), cancel));
    cancel.check()?;
    copied
        .map(|()| None)
        .map_err(|cause| Error::io(format!("view: failed to copy {}", crate::scan::shown(path)), &cause))
}
