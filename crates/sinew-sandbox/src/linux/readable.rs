//! Limits reading with Landlock, for systems that refuse namespaces.
//!
//! Landlock can only allow. Therefore each directory on the way to a denied path is opened, and its other entries are
//! allowed one by one. A new file in such a directory cannot be read until the next command, so denied paths in
//! directories to which programs write are left out.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::landlock::Ruleset;
use super::layout::{Cover, Layout};
use super::namespace::text;
use super::paths::{Entry, place};
use super::rules::Rules;
use super::scan::{Stamp, entries};

/// Returns the denied paths that Landlock can close.
pub(super) fn closable(rules: &Rules, layout: &Layout) -> BTreeSet<PathBuf> {
    let named = rules.deny_read.iter().filter_map(|entry| match entry {
        Entry::Path(path) => Some(place(path)),
        Entry::Glob(_) => None,
    });
    let programs = rules.deny_exec.iter().map(|path| place(path));
    let is_closable = |path: &PathBuf| rules.area_of(path).is_none();
    hidden(layout).cloned().chain(named).chain(programs).filter(is_closable).collect()
}

/// Returns true if Landlock cannot close a denied path.
pub(super) fn has_open_paths(rules: &Rules, layout: &Layout) -> bool {
    hidden(layout).any(|path| rules.area_of(path).is_some())
}

fn hidden(layout: &Layout) -> impl Iterator<Item = &PathBuf> {
    let is_hidden = |cover: &Cover| matches!(cover, Cover::HiddenFile | Cover::HiddenDirectory);
    layout.covers.iter().filter(move |(_, cover)| is_hidden(cover)).map(|(path, _)| path)
}

/// The files that programs can read.
#[derive(Debug)]
pub(super) struct Readable {
    ruleset: Ruleset,
    /// The directories on the way to denied paths, with their states when their entries were allowed.
    opened: BTreeMap<PathBuf, Option<Stamp>>,
}

impl Readable {
    /// Allows reading everything except the denied paths.
    pub(super) fn new(ruleset: Ruleset, rules: &Rules, denied: &BTreeSet<PathBuf>) -> Readable {
        let opened = denied.iter().flat_map(|path| path.ancestors().skip(1)).map(|path| (path.to_path_buf(), None));
        let mut readable = Readable { ruleset, opened: opened.collect() };
        readable.refresh(denied);
        // A directory above may be one that cannot be listed.
        let is_denied = |path: &Path| path.ancestors().any(|above| denied.contains(above));
        for path in rules.writable.iter().filter(|path| !is_denied(path)) {
            readable.allow(path);
        }
        readable
    }

    /// Allows reading the entries that are new.
    pub(super) fn refresh(&mut self, denied: &BTreeSet<PathBuf>) {
        let mut new = Vec::new();
        let names: BTreeSet<PathBuf> = self.opened.keys().cloned().collect();
        for (directory, known) in &mut self.opened {
            let Some(stamp) =
                directory.symlink_metadata().ok().filter(std::fs::Metadata::is_dir).map(|data| Stamp::of(&data))
            else {
                continue;
            };
            if *known == Some(stamp) {
                continue;
            }
            *known = stamp.is_stable().then_some(stamp);
            let paths = entries(directory).filter(|entry| entry.file_type().is_ok_and(|kind| !kind.is_symlink()));
            new.extend(paths.map(|entry| entry.path()).filter(|path| !denied.contains(path) && !names.contains(path)));
        }
        for path in new {
            self.allow(&path);
        }
    }

    fn allow(&self, path: &Path) {
        // An entry that disappeared, or that the kernel does not accept, stays closed.
        let _ = self.ruleset.allow_reading(&text(path));
    }
}
