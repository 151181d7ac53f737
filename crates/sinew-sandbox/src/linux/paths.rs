//! Converts entries of a policy to paths.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use sinew_base::{Error, Result};

use super::glob::{Glob, is_glob};
use crate::CallerEnvironment;

/// An entry of a policy.
#[derive(Debug, Clone)]
pub(super) enum Entry {
    Path(PathBuf),
    Glob(Glob),
}

/// Replaces a leading `~`, `$HOME` or `${HOME}` with the home directory.
///
/// # Errors
/// Returns an error if the entry is empty, contains a NUL, names another user's home, or needs a home directory that is
/// unknown.
fn expand_home(entry: &str, surroundings: &CallerEnvironment) -> Result<PathBuf> {
    if entry.is_empty() || entry.contains('\0') {
        return Err(Error::invalid(format!("Sandbox.create: {entry:?} is not a path")));
    }
    let rest = ["~", "$HOME", "${HOME}"].iter().find_map(|name| entry.strip_prefix(name));
    match (rest, &surroundings.home) {
        (Some(""), Some(home)) => Ok(home.clone()),
        (Some(rest), Some(home)) if rest.starts_with('/') => Ok(home.join(rest.trim_start_matches('/'))),
        (Some(rest), None) if rest.is_empty() || rest.starts_with('/') => {
            Err(Error::invalid(format!("Sandbox.create: {entry:?} needs a home directory, and none is known")))
        }
        (Some(_), _) if entry.starts_with('~') => Err(Error::invalid(format!(
            "Sandbox.create: {entry:?}: the home directory of another user is not supported"
        ))),
        _ => Ok(PathBuf::from(entry)),
    }
}

/// Resolves `.` and `..` without accessing the file system.
fn normalize(path: &Path) -> PathBuf {
    let mut result = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                result.pop();
            }
            other => result.push(other),
        }
    }
    result
}

/// Returns the absolute path of an entry that is not a glob.
///
/// # Errors
/// Returns an error if the entry is not a valid path.
pub(super) fn absolute(entry: &str, base: &Path, surroundings: &CallerEnvironment) -> Result<PathBuf> {
    Ok(normalize(&base.join(expand_home(entry, surroundings)?)))
}

/// Returns the paths and globs of an entry: one for each of `bases` if it is relative.
///
/// # Errors
/// Returns an error if the entry is not a valid path or glob.
pub(super) fn entries(entry: &str, bases: &[PathBuf], surroundings: &CallerEnvironment) -> Result<Vec<Entry>> {
    let expanded = expand_home(entry, surroundings)?;
    let mut found = Vec::new();
    for base in bases {
        let path = normalize(&base.join(&expanded));
        found.push(if !is_glob(entry) || path.symlink_metadata().is_ok() {
            Entry::Path(path)
        } else if entry.contains('/') {
            Entry::Glob(Glob::new(&resolve_base(&path))?)
        } else {
            // A glob without directories matches at any depth.
            Entry::Glob(Glob::new(&base.join("**").join(&expanded))?)
        });
        if expanded.is_absolute() {
            break;
        }
    }
    Ok(found)
}

/// Resolves the links in the directories before the first wildcard.
fn resolve_base(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    let mut rest = path.components();
    while let Some(component) = rest.clone().next() {
        if is_glob(&component.as_os_str().to_string_lossy()) {
            break;
        }
        plain.push(component);
        rest.next();
    }
    let resolved = plain.canonicalize().unwrap_or(plain);
    resolved.join(rest.as_path())
}

/// Resolves the links in the directories of a path, and keeps its last name, which need not exist.
pub(super) fn place(path: &Path) -> PathBuf {
    let mut missing: Vec<OsString> = Vec::new();
    let mut at = path;
    while let (Some(parent), Some(name)) = (at.parent(), at.file_name()) {
        missing.push(name.to_owned());
        if let Ok(resolved) = parent.canonicalize() {
            return missing.iter().rev().fold(resolved, |path, name| path.join(name));
        }
        at = parent;
    }
    path.to_path_buf()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_spellings_resolve_to_the_same_path() {
        let surroundings = CallerEnvironment { home: Some("/home/u".into()), ..CallerEnvironment::default() };
        for (entry, expected) in [
            ("a/", "/r/a"),
            ("./a/../b", "/r/b"),
            ("~", "/home/u"),
            ("~/.ssh//", "/home/u/.ssh"),
            ("$HOME/.netrc", "/home/u/.netrc"),
            ("${HOME}/x/./y", "/home/u/x/y"),
            ("/a/../../b", "/b"),
            ("$HOMEWORK", "/r/$HOMEWORK"),
        ] {
            assert_eq!(absolute(entry, Path::new("/r"), &surroundings).unwrap(), Path::new(expected), "{entry}");
        }
        for (entry, words) in [("", "not a path"), ("~root/x", "another user"), ("a\0b", "not a path")] {
            assert!(absolute(entry, Path::new("/r"), &surroundings).unwrap_err().message().contains(words), "{entry}");
        }
        assert!(
            absolute("~/x", Path::new("/r"), &CallerEnvironment::default()).unwrap_err().message().contains("home")
        );
    }

    #[test]
    fn resolves_links_before_the_last_name() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().canonicalize().unwrap();
        std::fs::create_dir(real.join("d")).unwrap();
        std::os::unix::fs::symlink("d", real.join("l")).unwrap();
        for (path, expected) in [("l/x", "d/x"), ("l", "l"), ("l/new/deep", "d/new/deep"), ("none/x", "none/x")] {
            assert_eq!(place(&real.join(path)), real.join(expected), "{path}");
        }
    }
}
