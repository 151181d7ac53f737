//! Resolves the paths of a policy.

use std::ffi::OsStr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use sinew_base::{Error, ErrorCode, Result};

use super::git::directory_outside;
use super::glob::Glob;
use super::paths::{Entry, absolute, entries, place};
use super::scan::walk;
use crate::{CallerEnvironment, Mode, OWN_FILES, Policy, Protect};

/// Paths in the home directory that programs of [`Mode::Workspace`] and [`Mode::ReadOnly`] cannot read, in addition to
/// [`OWN_FILES`] in [`OWN_DIRECTORIES`].
const SECRETS: [&str; 14] = [
    ".ssh",
    ".aws",
    ".gnupg",
    ".mozilla",
    ".librewolf",
    ".config/google-chrome",
    ".config/google-chrome-beta",
    ".config/chromium",
    ".config/BraveSoftware",
    ".config/microsoft-edge",
    ".config/opera",
    ".config/vivaldi",
    "snap/firefox",
    "snap/chromium",
];

/// Directories of Sinew in the home directory.
const OWN_DIRECTORIES: [&str; 2] = [".sinew", ".sinew/agent"];

/// Names in roots and repositories that are protected by default, in addition to the files of git.
const PROTECTED: [&str; 12] = [
    ".sinew",
    ".claude",
    ".vscode",
    ".mcp.json",
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    "bunfig.toml",
    ".pnpmfile.cjs",
    "pip.conf",
    ".cargo/config.toml",
    ".cargo/config",
];

/// A policy with its paths resolved.
#[derive(Debug)]
pub(super) struct Rules {
    pub(super) mode: Mode,
    /// The directories whose entries are protected, and to which relative entries are relative.
    pub(super) roots: Vec<PathBuf>,
    /// The writable paths that exist, temporary directories included. Empty in [`Mode::Rules`], where all paths are
    /// writable.
    pub(super) writable: Vec<PathBuf>,
    pub(super) home: Option<PathBuf>,
    pub(super) git_variables: Vec<(String, std::ffi::OsString)>,
    pub(super) deny_read: Vec<Entry>,
    pub(super) deny_write: Vec<Entry>,
    pub(super) deny_exec: Vec<PathBuf>,
    pub(super) protected: Vec<Entry>,
    /// True if the default protection is enabled, which searches for repositories.
    pub(super) protects_repositories: bool,
    pub(super) sockets: Vec<PathBuf>,
}

impl Rules {
    /// Resolves the entries of a policy.
    ///
    /// # Errors
    /// Returns an error that names the entry if a root is missing, a link, `/` or the home directory, or if entries
    /// contradict each other.
    pub(super) fn new(policy: &Policy, surroundings: &CallerEnvironment) -> Result<Rules> {
        check_combination(policy)?;
        let home = surroundings.home.as_deref().and_then(|home| home.canonicalize().ok());
        let roots = roots(policy, surroundings, home.as_deref())?;
        let bases = if roots.is_empty() { vec![surroundings.cwd.clone()] } else { roots.clone() };
        let list = |list: &[String]| -> Result<Vec<Entry>> {
            let parts: Result<Vec<_>> = list.iter().map(|entry| entries(entry, &bases, surroundings)).collect();
            Ok(parts?.into_iter().flatten().collect())
        };
        let mut rules = Rules {
            mode: policy.mode,
            writable: Vec::new(),
            deny_read: list(&policy.deny_read)?,
            deny_write: list(&policy.deny_write)?,
            deny_exec: programs(&policy.deny_exec, &bases, surroundings)?,
            protected: Vec::new(),
            protects_repositories: false,
            sockets: Vec::new(),
            roots,
            home,
            git_variables: surroundings.git_variables.clone(),
        };
        rules.check_roots(policy)?;
        rules.writable = writable(policy, &rules.roots, list(&policy.write)?, surroundings);
        if policy.mode == Mode::Workspace {
            let outside = rules.roots.iter().filter_map(|root| directory_outside(root, rules.home.as_deref()));
            let new: Vec<PathBuf> = outside.filter(|path| rules.area_of(path).is_none()).collect();
            rules.writable.extend(new);
            rules.writable.sort();
            rules.writable.dedup();
        }
        match &policy.protect {
            Some(Protect::Paths(paths)) => rules.protected = list(paths)?,
            Some(Protect::Default) => rules.protects_repositories = true,
            None => rules.protects_repositories = policy.mode != Mode::Rules,
        }
        for socket in policy.unix_sockets.iter().flatten() {
            rules.sockets.push(absolute(socket, &bases[0], surroundings)?);
        }
        if policy.mode != Mode::Rules
            && let Some(home) = &rules.home
        {
            // A caller may deny some of them too, and each entry is looked up for every command.
            let known = |path: &PathBuf| {
                rules.deny_read.iter().any(|entry| matches!(entry, Entry::Path(known) if known == path))
            };
            let new: Vec<Entry> = secrets(home).filter(|path| !known(path)).map(Entry::Path).collect();
            rules.deny_read.extend(new);
        }
        Ok(rules)
    }

    /// Rejects a policy that denies a whole root, because that is a contradiction.
    fn check_roots(&self, policy: &Policy) -> Result<()> {
        if policy.mode != Mode::Workspace {
            return Ok(());
        }
        for (list, denied) in [("denyRead", &self.deny_read), ("denyWrite", &self.deny_write)] {
            for entry in denied {
                if let Entry::Path(path) = entry
                    && let Some(root) = self.roots.iter().find(|root| root.starts_with(place(path)))
                {
                    return Err(Error::invalid(format!(
                        "Sandbox.create: roots: {root:?} contradicts {list}, which denies {path:?}"
                    )));
                }
            }
        }
        Ok(())
    }

    /// Returns the globs of denied and protected entries. Those of [`Rules::deny_read`] come first.
    pub(super) fn globs(&self) -> impl Iterator<Item = &Glob> {
        self.deny_read.iter().chain(&self.deny_write).chain(&self.protected).filter_map(|entry| match entry {
            Entry::Glob(glob) => Some(glob),
            Entry::Path(_) => None,
        })
    }

    /// Returns the number of [`Rules::globs`] whose matches are hidden; those of the others are write-protected.
    pub(super) fn hiding_globs(&self) -> usize {
        self.deny_read.iter().filter(|entry| matches!(entry, Entry::Glob(_))).count()
    }

    /// Returns true if programs could write to `path` without deny rules.
    pub(super) fn is_open(&self, path: &Path) -> bool {
        self.mode == Mode::Rules || self.area_of(path).is_some()
    }

    /// Returns the names that are protected in `tree` by default.
    pub(super) fn default_names(tree: &Path) -> impl Iterator<Item = PathBuf> + '_ {
        PROTECTED.iter().map(|name| tree.join(name))
    }

    /// Returns the writable directory that contains `path`: in [`Mode::Rules`] a root or the home directory.
    pub(super) fn area_of(&self, path: &Path) -> Option<&Path> {
        let areas = match self.mode {
            Mode::Rules => self.roots.iter().chain(&self.home),
            _ => self.writable.iter().chain(&None),
        };
        areas.map(PathBuf::as_path).filter(|area| path.starts_with(area)).max_by_key(|area| area.as_os_str().len())
    }
}

/// Returns the paths in the home directory that programs cannot read.
fn secrets(home: &Path) -> impl Iterator<Item = PathBuf> + '_ {
    let own = move |folder| OWN_FILES.iter().map(move |name| home.join(folder).join(name));
    SECRETS.iter().map(|name| home.join(name)).chain(OWN_DIRECTORIES.into_iter().flat_map(own))
}

fn check_combination(policy: &Policy) -> Result<()> {
    let error = |text: &str| Err(Error::invalid(format!("Sandbox.create: {text}")));
    match policy.mode {
        Mode::Workspace if policy.roots.is_empty() => error("mode \"workspace\" needs at least one root"),
        Mode::ReadOnly if !policy.write.is_empty() => error("write contradicts mode \"read-only\""),
        Mode::Rules if !policy.write.is_empty() => {
            error("write has no meaning in mode \"rules\", where all paths are writable")
        }
        _ => Ok(()),
    }
}

fn roots(policy: &Policy, surroundings: &CallerEnvironment, home: Option<&Path>) -> Result<Vec<PathBuf>> {
    let mut roots = Vec::new();
    for entry in &policy.roots {
        let error = |text: &str| Error::invalid(format!("Sandbox.create: roots: {entry:?} {text}"));
        let path = absolute(entry, &surroundings.cwd, surroundings)?;
        let data = path.symlink_metadata().map_err(|cause| match cause.kind() {
            std::io::ErrorKind::NotFound => {
                Error::new(ErrorCode::NotFound, format!("Sandbox.create: roots: {entry:?} does not exist"))
            }
            _ => Error::io(format!("Sandbox.create: roots: {entry:?}"), &cause),
        })?;
        if data.is_symlink() {
            return Err(error("is a link: name the directory that it leads to"));
        }
        if !data.is_dir() {
            return Err(error("is not a directory"));
        }
        let path =
            path.canonicalize().map_err(|cause| Error::io(format!("Sandbox.create: roots: {entry:?}"), &cause))?;
        let is_home = home.is_some_and(|home| {
            home == path
                || home.symlink_metadata().is_ok_and(|home| (home.dev(), home.ino()) == (data.dev(), data.ino()))
        });
        if path == Path::new("/") || is_home || home.is_some_and(|home| home.starts_with(&path)) {
            return Err(error("is too wide: a root cannot be `/`, the home directory or a directory above it"));
        }
        roots.push(path);
    }
    Ok(roots)
}

fn writable(policy: &Policy, roots: &[PathBuf], write: Vec<Entry>, surroundings: &CallerEnvironment) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    if policy.mode == Mode::Rules {
        return paths;
    }
    if policy.mode == Mode::Workspace {
        paths.extend_from_slice(roots);
    }
    for entry in write {
        match entry {
            Entry::Path(path) => paths.extend(path.canonicalize().ok()),
            Entry::Glob(glob) => walk(&glob.base, &mut |path, _| {
                if path.strip_prefix(&glob.base).is_ok_and(|rest| glob.is_match(rest)) {
                    paths.extend(path.canonicalize().ok());
                }
            }),
        }
    }
    paths.extend(surroundings.temporary_directories().iter().filter_map(|path| path.canonicalize().ok()));
    paths.sort();
    paths.dedup();
    paths
}

/// Finds the programs of `denyExec`: every file with such a name in `PATH`.
fn programs(names: &[String], bases: &[PathBuf], surroundings: &CallerEnvironment) -> Result<Vec<PathBuf>> {
    let mut programs = Vec::new();
    for name in names {
        if name.contains('/') || name.starts_with('~') {
            programs.push(absolute(name, &bases[0], surroundings)?);
        } else if name.is_empty() {
            return Err(Error::invalid("Sandbox.create: denyExec has an empty name"));
        } else {
            let path = surroundings.path.as_deref().unwrap_or(OsStr::new("/usr/local/bin:/usr/bin:/bin"));
            programs.extend(std::env::split_paths(path).map(|folder| folder.join(name)).filter(|file| file.is_file()));
        }
    }
    Ok(programs)
}
