//! Finds the setting `core.excludesFile` like git, including includes and their conditions.

use std::fs;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::config_syntax::{Entry, entries};
use super::git_home::GitHome;
use super::repository::Repository;
use super::{LIMIT, RuleLog};
use crate::pattern::{Dialect, matches_path, parse};

/// The maximum depth of files that include each other, as in git.
const DEPTH: usize = 10;

/// The user's global ignore file, which may depend on the repository.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct GlobalExcludes(Arc<UserExcludes>);

/// The content of [`GlobalExcludes`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct UserExcludes {
    home: GitHome,
    file: Option<PathBuf>,
    /// True if the user's settings have conditions, so that each repository may have another file.
    conditional: bool,
}

impl GlobalExcludes {
    /// Finds the file as git does: by `core.excludesFile` of the user's settings, or `git/ignore` in the configuration
    /// directory. The settings are read now; those that include a file conditionally are read for each repository.
    #[must_use]
    pub fn of(home: GitHome) -> GlobalExcludes {
        let mut log = RuleLog::default();
        let mut search = Search::new(&home, None, &mut log);
        search.files(&home.files());
        search.environment();
        let conditional = search.conditional;
        let file = search.found.file(home.default_excludes());
        GlobalExcludes(Arc::new(UserExcludes { home, file, conditional }))
    }
}

impl From<&str> for GlobalExcludes {
    fn from(file: &str) -> GlobalExcludes {
        PathBuf::from(file).into()
    }
}

impl From<PathBuf> for GlobalExcludes {
    /// Uses a file in every repository that does not have its own setting.
    fn from(file: PathBuf) -> GlobalExcludes {
        let file = Some(file);
        GlobalExcludes(Arc::new(UserExcludes { home: GitHome::default(), file, conditional: false }))
    }
}

impl From<&UserExcludes> for GlobalExcludes {
    fn from(content: &UserExcludes) -> GlobalExcludes {
        GlobalExcludes(Arc::new(content.clone()))
    }
}

impl Deref for GlobalExcludes {
    type Target = UserExcludes;

    fn deref(&self) -> &UserExcludes {
        &self.0
    }
}

impl UserExcludes {
    /// Returns the file that applies in a repository whose settings change nothing. It may not exist.
    #[must_use]
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// Returns the file that applies in the work tree in `folder`; `None` if no file applies.
    pub(super) fn file_in(&self, folder: &Path, repository: Option<&Repository>, log: &mut RuleLog) -> Option<PathBuf> {
        let Some(repository) = repository else { return Some(folder.join(self.file.as_ref()?)) };
        let mut search = Search::new(&self.home, Some(repository), log);
        if self.conditional {
            search.files(&self.home.files());
        }
        search.repository(repository);
        search.environment();
        let usual = if self.conditional { self.home.default_excludes() } else { self.file.clone() };
        // git runs at the top of the work tree.
        search.found.file(usual).map(|file| folder.join(file))
    }
}

/// The last value of `core.excludesFile`.
#[derive(Debug, Default)]
enum ExcludesSetting {
    #[default]
    Unset,
    /// The value is empty, so no file applies.
    Empty,
    File(PathBuf),
}

impl ExcludesSetting {
    fn file(self, unset: Option<PathBuf>) -> Option<PathBuf> {
        match self {
            ExcludesSetting::Unset => unset,
            ExcludesSetting::Empty => None,
            ExcludesSetting::File(file) => Some(file),
        }
    }
}

/// Reads configuration files in the order of precedence, lowest first.
struct Search<'a> {
    home: &'a GitHome,
    repository: Option<&'a Repository>,
    log: &'a mut RuleLog,
    found: ExcludesSetting,
    /// True if a conditional include was read.
    conditional: bool,
    /// `extensions.worktreeConfig`.
    has_own_config: bool,
    /// True if `core.repositoryFormatVersion` is set, without which git ignores extensions.
    has_version: bool,
    /// The URLs of remotes, if they are collected instead of conditions on them being checked.
    urls: Option<Vec<Vec<u8>>>,
}

impl<'a> Search<'a> {
    fn new(home: &'a GitHome, repository: Option<&'a Repository>, log: &'a mut RuleLog) -> Search<'a> {
        Search {
            home,
            repository,
            log,
            found: ExcludesSetting::Unset,
            conditional: false,
            has_own_config: false,
            has_version: false,
            urls: None,
        }
    }

    fn files(&mut self, files: &[PathBuf]) {
        files.iter().for_each(|file| self.file(file, 0));
    }

    fn repository(&mut self, repository: &Repository) {
        self.file(&repository.common.join("config"), 0);
        if self.has_own_config && self.has_version {
            self.file(&repository.git_dir.join("config.worktree"), 0);
        }
    }

    fn environment(&mut self) {
        let home = self.home;
        home.entries().for_each(|entry| self.entry(&entry, None, 0));
    }

    fn file(&mut self, path: &Path, depth: usize) {
        self.log.look(path);
        let is_readable = fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.len() <= LIMIT);
        let Some(text) = is_readable.then(|| fs::read(path).ok()).flatten() else { return };
        for entry in entries(&text) {
            self.entry(&entry, Some(path), depth);
        }
    }

    /// Applies one setting of the file `config`, or of the environment.
    fn entry(&mut self, entry: &Entry, config: Option<&Path>, depth: usize) {
        let Some(value) = &entry.value else {
            self.has_own_config |= entry.is("extensions", "worktreeconfig");
            return;
        };
        if entry.is("core", "excludesfile") {
            match self.home.expand(value) {
                Some(file) if !value.is_empty() => self.found = ExcludesSetting::File(file),
                Some(_) => self.found = ExcludesSetting::Empty,
                None => {}
            }
        } else if entry.is("extensions", "worktreeconfig") {
            self.has_own_config = entry.is_true();
        } else if entry.is("core", "repositoryformatversion") {
            self.has_version = true;
        } else if entry.is("include", "path") {
            self.include(value, config, depth);
        } else if entry.section == "includeif" && entry.key == "path" {
            self.conditional = true;
            if entry.subsection.as_ref().is_some_and(|condition| self.holds(condition, config)) {
                self.include(value, config, depth);
            }
        } else if entry.section == "remote" && entry.key == "url" {
            self.urls.iter_mut().for_each(|urls| urls.push(value.clone()));
        }
    }

    /// Reads an included file. A relative path is relative to the file that includes it.
    fn include(&mut self, value: &[u8], config: Option<&Path>, depth: usize) {
        let Some(path) = self.home.expand(value).filter(|_| depth < DEPTH) else { return };
        match config.and_then(Path::parent) {
            Some(folder) => self.file(&folder.join(path), depth + 1),
            None if path.is_absolute() => self.file(&path, depth + 1),
            None => {}
        }
    }

    /// Returns true if the condition of an include is met.
    fn holds(&mut self, condition: &[u8], config: Option<&Path>) -> bool {
        let Some(repository) = self.repository else { return false };
        let Some(colon) = memchr::memchr(b':', condition) else { return false };
        let pattern = &condition[colon + 1..];
        match &condition[..colon] {
            b"gitdir" => self.is_directory(pattern, repository, config, false),
            b"gitdir/i" => self.is_directory(pattern, repository, config, true),
            b"onbranch" => repository
                .branch(self.log)
                .is_some_and(|branch| matches(&with_everything_below(pattern.to_vec()), branch.as_bytes(), false)),
            b"hasconfig" if self.urls.is_none() => pattern
                .strip_prefix(b"remote.*.url:")
                .is_some_and(|pattern| self.remotes().iter().any(|url| matches(pattern, url, false))),
            _ => false,
        }
    }

    /// Returns the URLs of all remotes in all files.
    fn remotes(&mut self) -> Vec<Vec<u8>> {
        let mut search = Search { urls: Some(Vec::new()), ..Search::new(self.home, self.repository, self.log) };
        search.files(&search.home.files());
        if let Some(repository) = search.repository {
            search.repository(repository);
        }
        search.environment();
        search.urls.unwrap_or_default()
    }

    /// Returns true if the pattern matches the directory of the repository.
    fn is_directory(&self, pattern: &[u8], repository: &Repository, config: Option<&Path>, fold: bool) -> bool {
        let real = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        // The part before the pattern is compared literally, because it may contain special characters.
        let mut before = Vec::new();
        let pattern = if let Some(rest) = pattern.strip_prefix(b"./") {
            let Some(config) = config.map(real) else { return false };
            before = slashed(config.parent().unwrap_or(&config));
            before.push(b'/');
            rest.to_vec()
        } else if pattern.starts_with(b"~") {
            let end = pattern.iter().position(|byte| *byte == b'/').unwrap_or(pattern.len());
            let Some(home) = self.home.expand(&pattern[..end]) else { return false };
            [&slashed(&real(&home)), &pattern[end..]].concat()
        } else if crate::sys::path_of(pattern).has_root() {
            pattern.to_vec()
        } else {
            [b"**/", pattern].concat()
        };
        let pattern = with_everything_below(pattern);
        [real(&repository.git_dir), repository.git_dir.clone()].iter().any(|path| {
            let path = slashed(path);
            path.split_at_checked(before.len()).is_some_and(|(start, rest)| {
                let same = if fold { start.eq_ignore_ascii_case(&before) } else { start == before };
                same && matches(&pattern, rest, fold)
            })
        })
    }
}

/// Returns the path with `/` separators.
fn slashed(path: &Path) -> Vec<u8> {
    let bytes = path.as_os_str().as_encoded_bytes().to_vec();
    if !cfg!(windows) {
        return bytes;
    }
    let slashed: Vec<u8> = bytes.into_iter().map(|byte| if byte == b'\\' { b'/' } else { byte }).collect();
    // Patterns do not have the prefix of a resolved path.
    slashed.strip_prefix(b"//?/").map(<[u8]>::to_vec).unwrap_or(slashed)
}

/// Appends `**` to a pattern that ends in `/`.
fn with_everything_below(mut pattern: Vec<u8>) -> Vec<u8> {
    if pattern.ends_with(b"/") {
        pattern.extend_from_slice(b"**");
    }
    pattern
}

fn matches(pattern: &[u8], text: &[u8], fold: bool) -> bool {
    let case = |bytes: &[u8]| if fold { bytes.to_ascii_lowercase() } else { bytes.to_vec() };
    parse(&case(pattern), Dialect::Git).is_ok_and(|pieces| matches_path(&pieces, &case(text), true))
}
