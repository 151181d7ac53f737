//! Files of a project that are links out of it: a text for the model may be a key of the user's there, so that they are
//! read only where the project is trusted.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Files of every folder from the session's upwards.
const FILES: [&str; 3] = ["AGENTS.md", "CLAUDE.md", ".sinew/SYSTEM.md"];
/// Folders of texts, of every folder up to the root of the repository.
const SHARED: [&str; 2] = [".agents/skills", ".claude/skills"];
/// Texts of the session's folder.
const OWN: [&str; 8] = [
    ".sinew/APPEND_SYSTEM.md",
    ".sinew/skills",
    ".sinew/commands",
    ".sinew/prompts",
    ".sinew/rules",
    ".cursor/rules",
    ".windsurf/rules",
    ".clinerules",
];
/// Folders that are looked into, from the session's upwards.
const LEVELS: usize = 20;
/// Entries that are looked at, and folders inside each other.
const ENTRIES: usize = 10_000;
const DEPTH: usize = 8;

/// The root of the repository around `folder`; without one `folder` itself.
#[must_use]
pub fn project_of(folder: &Path) -> &Path {
    folder.ancestors().take(LEVELS).find(|folder| folder.join(".git").exists()).unwrap_or(folder)
}

/// Returns the target of `path` if it is outside of `project`. A broken link is not outside: there is nothing to read.
#[must_use]
pub fn out_of(project: &Path, path: &Path) -> Option<PathBuf> {
    let real = fs::canonicalize(path).ok()?;
    // A project that cannot be asked holds nothing.
    let inside = fs::canonicalize(project).is_ok_and(|project| real.starts_with(project));
    (!inside).then_some(real)
}

/// All texts for the model that a session in `cwd` would read and that are links out of the project: each with where it
/// leads, in order.
#[must_use]
pub fn all(cwd: &Path) -> Vec<(PathBuf, PathBuf)> {
    let mut found = Found { links: Vec::new(), seen: HashSet::new(), left: ENTRIES };
    let root = project_of(cwd);
    for folder in cwd.ancestors().take(LEVELS) {
        let project = if folder.starts_with(root) { root } else { folder };
        let files = FILES.iter().chain(SHARED.iter().filter(|_| folder.starts_with(root)));
        for name in files.chain(OWN.iter().filter(|_| folder == cwd)) {
            found.look(project, &folder.join(name), 0);
        }
    }
    found.links.sort();
    found.links
}

struct Found {
    links: Vec<(PathBuf, PathBuf)>,
    /// Folders by their real path.
    seen: HashSet<PathBuf>,
    left: usize,
}

impl Found {
    fn look(&mut self, project: &Path, path: &Path, depth: usize) {
        let Ok(facts) = fs::metadata(path) else { return };
        if let Some(real) = out_of(project, path) {
            self.links.push((path.to_path_buf(), real));
            return;
        }
        let real = if facts.is_dir() { fs::canonicalize(path).ok() } else { None };
        let Some(real) = real.filter(|_| depth < DEPTH) else { return };
        if !self.seen.insert(real) {
            return;
        }
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            if self.left == 0 {
                return;
            }
            self.left -= 1;
            // A plain file lies where its folder does.
            if entry.file_type().is_ok_and(|kind| !kind.is_file()) {
                self.look(project, &entry.path(), depth + 1);
            }
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_out_of_the_project_are_found_and_others_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let write = |name: &str| {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "x").unwrap();
        };
        let link = |name: &str, to: &str| {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            symlink(root.join(to), path).unwrap();
        };
        for name in
            ["secret", "keys/a.md", "p/.git/HEAD", "p/docs/agents.md", "p/sub/.sinew/rules/own.md", "top/real.md"]
        {
            write(name);
        }
        // Inside the project, into nothing, and what no session reads.
        link("p/AGENTS.md", "p/docs/agents.md");
        link("p/sub/CLAUDE.md", "nothing");
        link("p/other.md", "secret");
        assert_eq!(all(&root.join("p/sub")), []);
        let links = [
            ("p/sub/AGENTS.md", "secret"),
            ("p/CLAUDE.md", "secret"),
            ("p/.sinew/SYSTEM.md", "secret"),
            ("p/.agents/skills", "keys"),
            ("p/sub/.sinew/rules/deep/a.md", "secret"),
            ("p/sub/.sinew/commands", "keys"),
            ("p/sub/.sinew/skills/s/SKILL.md", "secret"),
            ("p/sub/.clinerules", "secret"),
            ("AGENTS.md", "../etc-of-nobody"),
        ];
        links.iter().for_each(|(name, to)| link(name, to));
        let mut expect: Vec<(PathBuf, PathBuf)> =
            links[..8].iter().map(|(name, to)| (root.join(name), root.join(to))).collect();
        expect.sort();
        assert_eq!(all(&root.join("p/sub")), expect);
        // Above the repository each folder stands for itself.
        fs::remove_file(root.join("AGENTS.md")).unwrap();
        link("AGENTS.md", "top/real.md");
        assert_eq!(all(&root.join("p/sub")), expect);
        // Without a repository the folder of the session is the project.
        fs::remove_dir_all(root.join("p/.git")).unwrap();
        assert!(all(&root.join("p/sub")).contains(&(root.join("p/sub/AGENTS.md"), root.join("secret"))));
    }
}
