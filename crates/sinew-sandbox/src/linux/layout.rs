//! Computes the paths that a sandbox covers, from its rules and the file system.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::git::{GitFiles, files_of};
use super::git_config::NamedPaths;
use super::glob::Glob;
use super::names::{Identity, LinkedFile, OtherNames};
use super::paths::{Entry, place};
use super::rules::Rules;
use super::scan::{Match, Scan};

/// A mount that covers a path. If a path has two, the greater one is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Cover {
    /// The directory itself, so that it cannot be renamed.
    Guard,
    /// The path itself, read-only.
    ReadOnly,
    /// An empty file that cannot be opened.
    HiddenFile,
    /// An empty directory that cannot be opened.
    HiddenDirectory,
}

/// The results of the last search for paths. The next one reads only directories that changed.
#[derive(Debug, Default)]
pub(super) struct Search {
    pub(super) scan: Scan,
    repositories: BTreeSet<PathBuf>,
    names: OtherNames,
}

impl Search {
    pub(super) fn new(globs: Vec<Glob>) -> Search {
        Search { scan: Scan::new(globs), ..Search::default() }
    }
}

/// The paths that a sandbox covers.
#[derive(Debug, Default, Clone)]
pub(super) struct Layout {
    /// Sorted, so that parents precede their contents.
    pub(super) covers: BTreeMap<PathBuf, Cover>,
    /// Denied and protected paths that do not exist.
    pub(super) missing: BTreeSet<PathBuf>,
    /// Denied and protected paths that are links, with the targets as written in the links.
    pub(super) links: BTreeMap<PathBuf, PathBuf>,
    /// The device and inode numbers of the files that match a glob of write-protected paths.
    pub(super) known: HashSet<Identity>,
    /// True if a path whose content must be hidden does not exist, so that nothing can be mounted on it yet.
    pub(super) has_missing_hidden: bool,
    /// True if a hidden file has another name that was not found.
    pub(super) has_unknown_names: bool,
    /// True if a write-protected file has a parent that cannot be guarded.
    pub(super) has_open_parents: bool,
}

impl Layout {
    /// Computes the layout. Walks the directories of globs; with `is_first` it also searches the roots for
    /// repositories.
    pub(super) fn new(rules: &Rules, search: &mut Search, is_first: bool) -> Layout {
        let Search { scan, repositories, names } = search;
        let mut layout = Layout::default();
        for path in paths(&rules.deny_read).chain(&rules.deny_exec) {
            layout.hide(path);
        }
        for path in paths(&rules.deny_write).chain(paths(&rules.protected)) {
            layout.protect(path, rules);
        }
        if is_first || rules.globs().next().is_some() {
            let roots: &[PathBuf] = if rules.protects_repositories { &rules.roots } else { &[] };
            let hidden = rules.hiding_globs();
            repositories.clear();
            for (reason, path) in scan.matches(roots) {
                match reason {
                    Match::Glob(number) if number < hidden => layout.hide(&path),
                    Match::Glob(_) => {
                        layout.known.extend(identity(&path));
                        layout.protect(&path, rules);
                    }
                    Match::Repository => repositories.extend(path.parent().map(Path::to_path_buf)),
                }
            }
        }
        if rules.protects_repositories {
            layout.protect_trees(rules, repositories);
        }
        layout.hide_other_names(rules, names);
        layout.drop_what_hidden_directories_have();
        layout
    }

    /// Hides a path, and its target if it is a link.
    fn hide(&mut self, path: &Path) {
        let place = place(path);
        let Ok(data) = place.symlink_metadata() else {
            self.has_missing_hidden = true;
            return;
        };
        if data.is_symlink() {
            match place.canonicalize() {
                Ok(target) => self.hide(&target),
                Err(_) => self.has_missing_hidden = true,
            }
            return;
        }
        let cover = if data.is_dir() { Cover::HiddenDirectory } else { Cover::HiddenFile };
        self.cover(place, cover);
    }

    /// Makes a path read-only, and its target if it is a link.
    fn protect(&mut self, path: &Path, rules: &Rules) {
        let place = place(path);
        let is_open = rules.is_open(&place);
        let data = match place.symlink_metadata() {
            Ok(data) => data,
            Err(_) => {
                if is_open {
                    self.missing.insert(place);
                }
                return;
            }
        };
        if data.is_symlink() {
            if let Ok(target) = place.canonicalize() {
                self.protect(&target, rules);
            }
            if let (true, Ok(text)) = (is_open, std::fs::read_link(&place)) {
                self.links.insert(place, text);
            }
            return;
        }
        if !is_open {
            return;
        }
        match rules.area_of(&place).map(Path::to_path_buf) {
            Some(area) => {
                for parent in
                    place.ancestors().skip(1).take_while(|parent| **parent != *area && parent.starts_with(&area))
                {
                    self.cover(parent.to_path_buf(), Cover::Guard);
                }
            }
            None => self.has_open_parents = true,
        }
        self.cover(place, Cover::ReadOnly);
    }

    /// Returns the paths that match a glob of write-protected paths now, but did not match one when this layout was
    /// computed. A file that was moved is not new. Parents precede their contents.
    pub(super) fn new_matches(&self, rules: &Rules, scan: &mut Scan) -> Vec<PathBuf> {
        let hidden = rules.hiding_globs();
        if rules.globs().nth(hidden).is_none() {
            return Vec::new();
        }
        let matches = scan.matches(&[]).into_iter().filter_map(|(reason, path)| match reason {
            Match::Glob(number) if number >= hidden => Some(path),
            Match::Glob(_) | Match::Repository => None,
        });
        let is_new = |path: &PathBuf| {
            let is_covered = self.covers.contains_key(path) || self.links.contains_key(path);
            rules.is_open(path) && !is_covered && identity(path).is_some_and(|file| !self.known.contains(&file))
        };
        matches.filter(is_new).collect()
    }

    fn cover(&mut self, path: PathBuf, cover: Cover) {
        let known = self.covers.entry(path).or_insert(cover);
        *known = cover.max(*known);
    }

    fn protect_trees(&mut self, rules: &Rules, repositories: &BTreeSet<PathBuf>) {
        let is_in_root = |tree: &&PathBuf| rules.roots.iter().any(|root| tree.starts_with(root));
        let repositories = repositories.iter().filter(is_in_root);
        let trees: BTreeSet<&PathBuf> = rules.roots.iter().chain(repositories).collect();
        let variable = |name: &str| {
            let mut set = rules.git_variables.iter();
            set.find(|(known, _)| known == name).map(|(_, value)| value.clone())
        };
        let user = NamedPaths::of_user(rules.home.as_deref(), &variable);
        // Outside of these directories, the files of the user are read-only or, in the mode `rules`, left alone.
        let is_inside = |path: &&PathBuf| rules.roots.iter().chain(&rules.writable).any(|area| path.starts_with(area));
        for path in user.files.iter().filter(is_inside) {
            self.protect(path, rules);
        }
        for tree in trees {
            let mut files = GitFiles::default();
            files_of(tree, rules.home.as_deref(), &user, &mut files);
            for path in Rules::default_names(tree).chain(files.paths) {
                self.protect(&path, rules);
            }
        }
    }

    /// Covers the other names of files that have several.
    fn hide_other_names(&mut self, rules: &Rules, names: &mut OtherNames) {
        let mut covers: HashMap<Identity, Cover> = HashMap::new();
        let mut files: HashMap<Identity, LinkedFile> = HashMap::new();
        for (path, cover) in &self.covers {
            if let (Cover::HiddenFile | Cover::ReadOnly, Some((file, facts))) = (*cover, LinkedFile::of(path)) {
                covers.insert(file, *cover);
                files.insert(file, facts);
            }
        }
        if files.is_empty() {
            return;
        }
        let mut bases: BTreeSet<PathBuf> = rules.roots.iter().cloned().collect();
        bases.extend(self.covers.keys().filter_map(|path| path.parent().map(Path::to_path_buf)));
        let found = names.find(&bases, files.clone());
        for (file, cover) in covers {
            let found = found.get(&file);
            let count = found.map_or(0, BTreeSet::len) as u64;
            self.has_unknown_names |= cover == Cover::HiddenFile && count < files[&file].links;
            for path in found.into_iter().flatten() {
                self.cover(path.clone(), cover);
            }
        }
    }

    fn drop_what_hidden_directories_have(&mut self) {
        let hidden: Vec<PathBuf> = self
            .covers
            .iter()
            .filter(|(_, cover)| **cover == Cover::HiddenDirectory)
            .map(|(path, _)| path.clone())
            .collect();
        let is_inside =
            |path: &Path| path.ancestors().skip(1).any(|parent| hidden.iter().any(|hidden| hidden == parent));
        self.covers.retain(|path, _| !is_inside(path));
        self.missing.retain(|path| !is_inside(path));
    }
}

/// Returns the entries that are not globs.
fn paths(entries: &[Entry]) -> impl Iterator<Item = &PathBuf> {
    entries.iter().filter_map(|entry| match entry {
        Entry::Path(path) => Some(path),
        Entry::Glob(_) => None,
    })
}

/// Returns the device and inode numbers of a path; `None` if it does not exist.
fn identity(path: &Path) -> Option<Identity> {
    path.symlink_metadata().ok().map(|data| (data.dev(), data.ino()))
}
