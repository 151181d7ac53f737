//! Finds the files through which a git repository can start programs.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::git_config::{NamedPaths, expand, settings};

/// The files of a repository: those from which git reads its configuration and hooks.
#[derive(Debug, Default)]
pub(super) struct GitFiles {
    /// Paths that must not change, even if they do not exist yet.
    pub(super) paths: Vec<PathBuf>,
}

/// The maximum depth of submodules in submodules.
const DEEPEST: usize = 5;

/// Collects the files of the repository with the work tree `tree`, among them the hooks that the configuration of the
/// user names. Does nothing if `tree` has no `.git`.
pub(super) fn files_of(tree: &Path, home: Option<&Path>, user: &NamedPaths, found: &mut GitFiles) {
    let dot_git = tree.join(".git");
    let Ok(data) = dot_git.symlink_metadata() else { return };
    found.paths.extend(user.hooks.iter().map(|hooks| tree.join(hooks)));
    if data.is_dir() {
        directory(&dot_git, tree, home, found);
        return;
    }
    found.paths.push(dot_git);
    let Some(git_dir) = linked_directory(tree) else { return };
    directory(&git_dir, tree, home, found);
    if let Some(common) = path_in(&git_dir.join("commondir"), b"", &git_dir) {
        directory(&common, tree, home, found);
    }
}

/// Returns the git directory that the file `.git` of a work tree names.
fn linked_directory(tree: &Path) -> Option<PathBuf> {
    path_in(&tree.join(".git"), b"gitdir:", tree)
}

/// Returns the existing path that a file contains after `prefix`, relative to `base`.
fn path_in(file: &Path, prefix: &[u8], base: &Path) -> Option<PathBuf> {
    // Opening a named pipe would wait for a writer.
    file.metadata().ok().filter(std::fs::Metadata::is_file)?;
    let text = std::fs::read(file).ok()?;
    let path = text.strip_prefix(prefix)?.trim_ascii();
    base.join(OsStr::from_bytes(path)).canonicalize().ok()
}

/// Returns the directory outside of a linked worktree or submodule in which git keeps its index, objects and
/// references.
///
/// Any archive can contain a file `.git` that names a directory of the user. Therefore the directory is only returned if
/// it is one of git and names `tree` in turn, which git writes when it creates a worktree or submodule.
pub(super) fn directory_outside(tree: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let git_dir = linked_directory(tree)?;
    let common = path_in(&git_dir.join("commondir"), b"", &git_dir);
    let names_tree = match &common {
        Some(common) => {
            git_dir.parent() == Some(&common.join("worktrees"))
                && path_in(&git_dir.join("gitdir"), b"", &git_dir) == Some(tree.join(".git"))
        }
        None => std::fs::read(git_dir.join("config")).is_ok_and(|text| {
            let work_tree = settings(&text).into_iter().rfind(|setting| setting.key == "core.worktree");
            let path = work_tree.and_then(|setting| expand(&setting.value, home));
            path.and_then(|path| git_dir.join(path).canonicalize().ok()).as_deref() == Some(tree)
        }),
    };
    let directory = common.unwrap_or(git_dir);
    let is_of_git =
        directory.join("HEAD").exists() && ["objects", "refs"].iter().all(|name| directory.join(name).is_dir());
    let is_wide = tree.starts_with(&directory) || home.is_some_and(|home| home.starts_with(&directory));
    (names_tree && is_of_git && !is_wide).then_some(directory)
}

/// Collects the files of a git directory, its worktrees and its submodules.
fn directory(git_dir: &Path, tree: &Path, home: Option<&Path>, found: &mut GitFiles) {
    own_files(git_dir, tree, home, found);
    for worktree in subdirectories(&git_dir.join("worktrees")) {
        found.paths.extend(["commondir", "config.worktree"].map(|name| worktree.join(name)));
    }
    modules(&git_dir.join("modules"), tree, home, 0, found);
}

fn own_files(git_dir: &Path, tree: &Path, home: Option<&Path>, found: &mut GitFiles) {
    found.paths.extend(["config", "config.worktree", "hooks", "commondir"].map(|name| git_dir.join(name)));
    let mut named = NamedPaths::default();
    for config in ["config", "config.worktree"] {
        named.read(&git_dir.join(config), home, 0);
    }
    found.paths.append(&mut named.files);
    found.paths.extend(named.hooks.iter().map(|hooks| tree.join(hooks)));
}

/// Collects the files of submodules. Their names may contain slashes, so they can be in subdirectories.
fn modules(folder: &Path, tree: &Path, home: Option<&Path>, depth: usize, found: &mut GitFiles) {
    if depth > DEEPEST {
        return;
    }
    for module in subdirectories(folder) {
        if module.join("HEAD").exists() {
            own_files(&module, tree, home, found);
            modules(&module.join("modules"), tree, home, depth + 1, found);
        } else {
            modules(&module, tree, home, depth + 1, found);
        }
    }
}

fn subdirectories(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    entries.filter_map(Result::ok).map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_hooks_includes_and_submodules() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for directory in [".git/modules/lib/hooks", ".git/modules/deep/lib", ".git/worktrees/w"] {
            std::fs::create_dir_all(root.join(directory)).unwrap();
        }
        for file in [".git/modules/lib/HEAD", ".git/modules/deep/lib/HEAD"] {
            std::fs::write(root.join(file), "").unwrap();
        }
        std::fs::write(root.join(".git/config"), "[core]\n\thooksPath = tools/h\n[include]\n\tpath = \"../inc\"\n")
            .unwrap();
        std::fs::write(root.join("inc"), "[Include]\npath=more\n").unwrap();
        let mut found = GitFiles::default();
        files_of(root, None, &NamedPaths::default(), &mut found);
        for path in [
            ".git/config",
            ".git/hooks",
            ".git/commondir",
            ".git/worktrees/w/commondir",
            ".git/modules/lib/config",
            ".git/modules/deep/lib/hooks",
            "tools/h",
            ".git/../inc",
        ] {
            assert!(found.paths.contains(&root.join(path)), "{path} in {:?}", found.paths);
        }
        assert!(found.paths.iter().any(|path| path.ends_with("more")));
    }
}
