//! Ignore rules per folder: a chain of folders, nearest first.
//!
//! `.rgignore` has precedence over `.ignore`, which has precedence over git's rules. Among files of the same kind, the
//! nearest one with a matching rule decides. The first two apply everywhere; `.gitignore` only applies inside a work
//! tree (a directory with `.git` or `.jj`), and never beyond it: a nested repository starts without the rules of the
//! outer one. After the `.gitignore` files come the repository's `info/exclude` and the user's global file. Names are
//! compared exactly, even on systems that ignore case.

mod config_syntax;
mod git_home;
mod git_settings;
mod repository;
mod rule_log;
mod rule_set;
mod rules;
#[cfg(test)]
mod tests;

use std::io;
use std::path::Path;
#[cfg(unix)]
use std::path::PathBuf;
use std::sync::Arc;

pub use git_home::GitHome;
pub use git_settings::{GlobalExcludes, UserExcludes};
use repository::Repository;
pub(crate) use rule_log::RuleLog;
pub(crate) use rules::{Rules, Verdict};

use crate::FileType;
#[cfg(unix)]
use crate::stamp::Source;

/// The ignore files that apply everywhere; the first has precedence over the second.
const PLAIN: [&str; 2] = [".rgignore", ".ignore"];

/// The names that decide which rules apply in a directory and below.
pub(crate) const RULE_NAMES: [&[u8]; 5] = [b".git", b".jj", b".gitignore", b".rgignore", b".ignore"];

/// The number of bytes read from an ignore file; the rest is ignored.
const LIMIT: u64 = 8 << 20;

/// The ignore files and repository markers in a directory listing.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct IgnoreFilesPresent {
    pub(crate) repository: bool,
    pub(crate) gitignore: bool,
    pub(crate) plain: [bool; 2],
}

impl IgnoreFilesPresent {
    /// Records a name of the directory. A `.gitignore` that is a link is ignored, as in git.
    pub(crate) fn note(&mut self, name: &[u8], file_type: FileType) {
        match name {
            b".git" | b".jj" => self.repository = true,
            b".gitignore" => self.gitignore = file_type == FileType::File,
            b".rgignore" => self.plain[0] = file_type != FileType::Dir,
            b".ignore" => self.plain[1] = file_type != FileType::Dir,
            _ => {}
        }
    }
}

/// The rules that begin to apply in one directory.
#[derive(Debug)]
pub(crate) struct Node {
    above: Option<Arc<Node>>,
    /// The length in bytes of the prefix of an absolute path that these rules do not match against.
    base: usize,
    plain: [Option<Rules>; 2],
    git: Option<Rules>,
    work_tree: Option<WorkTree>,
    in_work_tree: bool,
}

#[derive(Debug)]
struct WorkTree {
    exclude: Option<Rules>,
    global: Option<Arc<Rules>>,
}

/// The rules that all directories of a scan share.
#[derive(Debug, Default)]
pub(crate) struct Context {
    user: Option<GlobalExcludes>,
    /// The rules of the user's file, if its path is absolute.
    global: Option<Arc<Rules>>,
}

impl Context {
    pub(crate) fn new(user: Option<GlobalExcludes>, log: &mut RuleLog) -> Context {
        let file = user.as_deref().and_then(UserExcludes::file).filter(|file| file.is_absolute());
        let global = file.and_then(|path| read_rules(path, log)).map(Arc::new);
        Context { user, global }
    }

    /// Reads the rules of the directories above `root`, which is absolute.
    pub(crate) fn above(&self, root: &Path, log: &mut RuleLog) -> Option<Arc<Node>> {
        let mut node = None;
        let mut folders: Vec<&Path> = root.ancestors().skip(1).collect();
        folders.reverse();
        for folder in folders {
            let mut present = IgnoreFilesPresent::default();
            for name in RULE_NAMES {
                let path = folder.join(crate::sys::path_of(name));
                log.look(&path);
                let Ok(meta) = std::fs::symlink_metadata(path) else { continue };
                if meta.is_symlink() {
                    present.note(name, FileType::Symlink);
                } else if meta.is_dir() || meta.is_file() {
                    present.note(name, if meta.is_dir() { FileType::Dir } else { FileType::File });
                }
            }
            node = self.enter(node, present, folder, |name| open_plain(&folder.join(name)), log);
        }
        node
    }

    /// Returns the rules that apply in `folder`, whose listing contains the files in `present`; `open` opens one of its
    /// files.
    pub(crate) fn enter(
        &self,
        above: Option<Arc<Node>>,
        present: IgnoreFilesPresent,
        folder: &Path,
        open: impl Fn(&str) -> io::Result<std::fs::File>,
        log: &mut RuleLog,
    ) -> Option<Arc<Node>> {
        if present == IgnoreFilesPresent::default() {
            return above;
        }
        let in_work_tree = present.repository || above.as_ref().is_some_and(|node| node.in_work_tree);
        let mut read = |name: &str| {
            log.look(&folder.join(name));
            match open(name).and_then(read_whole) {
                Ok(text) => Rules::parse(&text),
                // A broken link, or a file deleted since the listing.
                Err(cause) if cause.kind() == io::ErrorKind::NotFound => None,
                Err(cause) => {
                    log.warn(&folder.join(name), &cause);
                    None
                }
            }
        };
        let plain = [0, 1].map(|kind| if present.plain[kind] { read(PLAIN[kind]) } else { None });
        let git = if present.gitignore && in_work_tree { read(".gitignore") } else { None };
        let work_tree = present.repository.then(|| self.work_tree(folder, log));
        let length = folder.as_os_str().len();
        let base = if folder.parent().is_none() { length } else { length + 1 };
        Some(Arc::new(Node { above, base, plain, git, work_tree, in_work_tree }))
    }

    fn work_tree(&self, folder: &Path, log: &mut RuleLog) -> WorkTree {
        let repository = Repository::find(folder, log);
        let usual = self.user.as_deref().and_then(UserExcludes::file);
        let file = match &self.user {
            Some(user) => user.file_in(folder, repository.as_ref(), log),
            None => UserExcludes::default().file_in(folder, repository.as_ref(), log),
        };
        WorkTree {
            exclude: repository.and_then(|repository| read_rules(&repository.common.join("info/exclude"), log)),
            global: match file {
                Some(file) if Some(file.as_path()) == usual => self.global.clone(),
                Some(file) => read_rules(&file, log).map(Arc::new),
                None => None,
            },
        }
    }
}

/// Returns the existing rule files outside `root` (an absolute path) and outside its own repository that apply below
/// it, in the order in which they are read.
#[cfg(unix)]
#[must_use]
pub fn rule_files(root: &Path, global_excludes: Option<&UserExcludes>) -> Vec<PathBuf> {
    let mut log = RuleLog::with_sources();
    let context = Context::new(global_excludes.map(GlobalExcludes::from), &mut log);
    let above = context.above(root, &mut log);
    let own = IgnoreFilesPresent { repository: true, ..IgnoreFilesPresent::default() };
    context.enter(above, own, root, |name| open_plain(&root.join(name)), &mut log);
    let looked_at = log.sources.into_iter().flatten().map(Source::into_path);
    looked_at.filter(|path| std::fs::metadata(path).is_ok_and(|facts| facts.is_file())).collect()
}

impl Node {
    /// Returns the verdict of the rules on an absolute path that ends in `name`; `None` if no rule matches.
    pub(crate) fn verdict(&self, path: &[u8], name: &[u8], is_dir: bool) -> Option<Verdict> {
        let chain = || std::iter::successors(Some(self), |node| node.above.as_deref());
        for kind in 0..PLAIN.len() {
            let verdict = chain().find_map(|node| node.plain[kind].as_ref()?.verdict(&path[node.base..], name, is_dir));
            if verdict.is_some() {
                return verdict;
            }
        }
        if !self.in_work_tree {
            return None;
        }
        for node in chain() {
            let below = &path[node.base..];
            if let Some(verdict) = node.git.as_ref().and_then(|rules| rules.verdict(below, name, is_dir)) {
                return Some(verdict);
            }
            if let Some(tree) = &node.work_tree {
                let exclude = tree.exclude.as_ref().and_then(|rules| rules.verdict(below, name, is_dir));
                return exclude.or_else(|| tree.global.as_ref()?.verdict(below, name, is_dir));
            }
        }
        None
    }
}

/// Reads the rules of a file; `None` if it does not exist.
fn read_rules(path: &Path, log: &mut RuleLog) -> Option<Rules> {
    log.look(path);
    match open_plain(path).and_then(read_whole) {
        Ok(text) => Rules::parse(&text),
        Err(cause) if matches!(cause.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => None,
        Err(cause) => {
            log.warn(path, &cause);
            None
        }
    }
}

/// Opens a regular file only, because opening a pipe would block.
fn open_plain(path: &Path) -> io::Result<std::fs::File> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::ErrorKind::NotFound.into());
    }
    std::fs::File::open(path)
}

fn read_whole(file: std::fs::File) -> io::Result<Vec<u8>> {
    let too_large = || io::Error::new(io::ErrorKind::FileTooLarge, "it is larger than 8 MiB");
    sinew_base::read_limited(file, LIMIT)?.ok_or_else(too_large)
}
