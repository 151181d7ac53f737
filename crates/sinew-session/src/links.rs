//! Links in a project to files outside it: a text for the model may actually be a private file of the user, so such
//! links are only followed in trusted projects.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Files in every directory from the session's upwards.
const FILES: [&str; 3] = ["AGENTS.md", "CLAUDE.md", ".sinew/SYSTEM.md"];
/// Directories of texts, in every directory up to the repository root.
const SHARED: [&str; 2] = [".agents/skills", ".claude/skills"];
/// Texts in the session's directory.
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
/// The maximum number of directories that are checked, from the session's upwards.
const LEVELS: usize = 20;
/// The maximum number of entries that are checked, and the maximum nesting of directories.
const ENTRIES: usize = 10_000;
const DEPTH: usize = 8;

/// Returns the root of the repository that contains `folder`, or `folder` itself without one. A repository at `home`,
/// or one that contains it, includes all of the user's files and is not the root of a project.
#[must_use]
pub fn project_of<'a>(folder: &'a Path, home: Option<&Path>) -> &'a Path {
    let real = home.and_then(|home| fs::canonicalize(home).ok());
    let is_around = |above: &Path| home.into_iter().chain(real.as_deref()).any(|home| home.starts_with(above));
    let mut above = folder.ancestors().take(LEVELS).take_while(|above| !is_around(above));
    above.find(|folder| folder.join(".git").exists()).unwrap_or(folder)
}

/// Returns true if another user may have created `path` above the session's directory: part of it belongs to another
/// user and is in a world-writable directory such as `/tmp`. `cwd` itself was chosen by the user.
#[cfg(unix)]
#[must_use]
pub fn is_planted(cwd: &Path, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    const EVERYBODY_WRITES: u32 = 0o002;
    let own = rustix::process::geteuid().as_raw();
    path.ancestors().take_while(|part| !cwd.starts_with(part)).any(|part| {
        let owner = fs::symlink_metadata(part).map(|facts| facts.uid());
        let parent = part.parent().and_then(|parent| fs::metadata(parent).ok());
        owner.is_ok_and(|owner| owner != own && owner != 0)
            && parent.is_some_and(|facts| facts.mode() & EVERYBODY_WRITES != 0)
    })
}

/// Returns false, because owners are not known on this system.
#[cfg(not(unix))]
#[must_use]
pub fn is_planted(_cwd: &Path, _path: &Path) -> bool {
    false
}

/// Returns the target of `path` if it is outside `project`; `None` otherwise. A broken link is not outside, because
/// there is nothing to read.
#[must_use]
pub fn out_of(project: &Path, path: &Path) -> Option<PathBuf> {
    let real = fs::canonicalize(path).ok()?;
    // A project that cannot be resolved contains nothing.
    let inside = fs::canonicalize(project).is_ok_and(|project| real.starts_with(project));
    (!inside).then_some(real)
}

/// The texts of a project that are links to files outside it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OutwardLinks {
    /// Each link with its target, in order.
    pub links: Vec<(PathBuf, PathBuf)>,
    /// True if the limits were reached, so that there may be more such links.
    pub is_cut: bool,
}

/// Returns all texts for the model that a session in `cwd` would read and that are links to files outside the project.
/// Checks at most 10,000 entries, eight directories deep.
#[must_use]
pub fn all(cwd: &Path, home: Option<&Path>) -> OutwardLinks {
    let mut found = LinkSearch { links: Vec::new(), seen: HashSet::new(), left: ENTRIES, is_cut: false };
    let root = project_of(cwd, home);
    for folder in cwd.ancestors().take(LEVELS) {
        let project = if folder.starts_with(root) { root } else { folder };
        let files = FILES.iter().chain(SHARED.iter().filter(|_| folder.starts_with(root)));
        for name in files.chain(OWN.iter().filter(|_| folder == cwd)) {
            found.look(project, &folder.join(name), 0);
        }
    }
    found.links.sort();
    OutwardLinks { links: found.links, is_cut: found.is_cut }
}

struct LinkSearch {
    links: Vec<(PathBuf, PathBuf)>,
    /// Directories by their real path.
    seen: HashSet<PathBuf>,
    left: usize,
    is_cut: bool,
}

impl LinkSearch {
    fn look(&mut self, project: &Path, path: &Path, depth: usize) {
        let Ok(facts) = fs::metadata(path) else { return };
        if let Some(real) = out_of(project, path) {
            self.links.push((path.to_path_buf(), real));
            return;
        }
        let real = if facts.is_dir() { fs::canonicalize(path).ok() } else { None };
        let Some(real) = real else { return };
        if !self.seen.insert(real) {
            return;
        }
        if depth == DEPTH {
            self.is_cut = true;
            return;
        }
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            if self.left == 0 {
                self.is_cut = true;
                return;
            }
            self.left -= 1;
            // A regular file is in the same project as its directory.
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
    fn finds_only_links_that_leave_the_project() {
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
        // Links inside the project, broken links, and files that no session reads.
        link("p/AGENTS.md", "p/docs/agents.md");
        link("p/sub/CLAUDE.md", "nothing");
        link("p/other.md", "secret");
        assert_eq!(all(&root.join("p/sub"), None).links, []);
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
        assert_eq!(all(&root.join("p/sub"), None).links, expect);
        // Above the repository each directory is treated separately.
        fs::remove_file(root.join("AGENTS.md")).unwrap();
        link("AGENTS.md", "top/real.md");
        assert_eq!(all(&root.join("p/sub"), None).links, expect);
        // Without a repository the directory of the session is the project.
        fs::remove_dir_all(root.join("p/.git")).unwrap();
        assert!(all(&root.join("p/sub"), None).links.contains(&(root.join("p/sub/AGENTS.md"), root.join("secret"))));
    }

    #[test]
    fn a_home_that_is_a_repository_is_not_a_project() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        for name in [".git", "p/.git", "p/sub", "plain/sub", "Downloads"] {
            fs::create_dir_all(home.join(name)).unwrap();
        }
        fs::write(home.join("Downloads/x"), "x").unwrap();
        for (cwd, project) in [("p/sub", "p"), ("p", "p"), ("plain/sub", "plain/sub"), ("", "")] {
            let cwd = home.join(cwd);
            assert_eq!(project_of(&cwd, Some(&home)), home.join(project), "{cwd:?}");
            assert_eq!(project_of(&cwd, Some(&home.join("inside"))) == cwd, !cwd.ends_with("p/sub"), "{cwd:?}");
        }
        symlink(home.join("Downloads/x"), home.join("plain/sub/AGENTS.md")).unwrap();
        assert_eq!(all(&home.join("plain/sub"), Some(&home)).links.len(), 1);
        assert_eq!(all(&home.join("plain/sub"), None).links.len(), 0);
    }

    #[test]
    fn a_scan_that_exceeds_its_limits_is_marked() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let deep = root.join(".sinew/rules").join(["d"; DEPTH].join("/"));
        fs::create_dir_all(deep.parent().unwrap()).unwrap();
        assert!(!all(&root, None).is_cut);
        fs::create_dir_all(&deep).unwrap();
        assert!(all(&root, None).is_cut);
    }

    #[test]
    fn detects_files_of_another_user_above_the_session() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for name in ["open/mine", "open/theirs/deep", "closed/mine"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        for name in ["open/AGENTS.md", "open/own.md", "open/theirs/deep/a.md", "closed/AGENTS.md"] {
            fs::write(root.join(name), "x").unwrap();
        }
        fs::set_permissions(root.join("open"), fs::Permissions::from_mode(0o1777)).unwrap();
        // Only root may change the owner of files.
        if !rustix::process::geteuid().is_root() {
            return;
        }
        for name in ["open/AGENTS.md", "open/theirs", "closed/AGENTS.md"] {
            std::os::unix::fs::chown(root.join(name), Some(65_534), None).unwrap();
        }
        for (cwd, path, planted) in [
            ("open/mine", "open/AGENTS.md", true),
            ("open/mine", "open/theirs/deep/a.md", true),
            ("open/mine", "open/own.md", false),
            ("closed/mine", "closed/AGENTS.md", false),
            // The user chose to work in a directory of another user.
            ("open/theirs", "open/theirs/deep/a.md", false),
        ] {
            assert_eq!(is_planted(&root.join(cwd), &root.join(path)), planted, "{cwd} {path}");
        }
    }
}
