//! Finds the files through which a git repository can start programs.

use std::path::{Path, PathBuf};

/// The files of a repository: those from which git reads its configuration and hooks.
#[derive(Debug, Default)]
pub(super) struct GitFiles {
    /// Paths that must not change, even if they do not exist yet.
    pub(super) paths: Vec<PathBuf>,
}

/// The maximum depth of included files.
const DEEPEST: usize = 5;

/// Collects the files of the repository with the work tree `tree`. Does nothing if `tree` has no `.git`.
pub(super) fn files_of(tree: &Path, home: Option<&Path>, found: &mut GitFiles) {
    let dot_git = tree.join(".git");
    let Ok(data) = dot_git.symlink_metadata() else { return };
    if data.is_dir() {
        directory(&dot_git, tree, home, found);
        return;
    }
    found.paths.push(dot_git.clone());
    let Ok(text) = std::fs::read_to_string(&dot_git) else { return };
    let Some(target) = text.strip_prefix("gitdir:") else { return };
    let git_dir = tree.join(target.trim());
    let Ok(git_dir) = git_dir.canonicalize() else { return };
    directory(&git_dir, tree, home, found);
    if let Ok(common) = std::fs::read_to_string(git_dir.join("commondir"))
        && let Ok(common) = git_dir.join(common.trim()).canonicalize()
    {
        directory(&common, tree, home, found);
    }
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
    for config in ["config", "config.worktree"] {
        named_in(&git_dir.join(config), tree, home, 0, found);
    }
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

/// Collects the files that a configuration file includes, and the directory of its hooks.
fn named_in(config: &Path, tree: &Path, home: Option<&Path>, depth: usize, found: &mut GitFiles) {
    let Ok(text) = std::fs::read_to_string(config) else { return };
    let folder = config.parent().unwrap_or(tree);
    let mut section = String::new();
    for line in text.lines().map(str::trim) {
        if let Some(rest) = line.strip_prefix('[') {
            section = rest.split([']', ' ', '"']).next().unwrap_or("").to_ascii_lowercase();
            continue;
        }
        let Some((key, value)) = line.split_once('=') else { continue };
        let value = value.trim().trim_matches('"');
        let base = match (section.as_str(), key.trim().to_ascii_lowercase().as_str()) {
            ("include" | "includeif", "path") => folder,
            ("core", "hookspath") => tree,
            _ => continue,
        };
        let path = match (value.strip_prefix("~/"), home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => base.join(value),
        };
        if !found.paths.contains(&path) && depth < DEEPEST {
            found.paths.push(path.clone());
            if section != "core" {
                named_in(&path, tree, home, depth + 1, found);
            }
        }
    }
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
        files_of(root, None, &mut found);
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
