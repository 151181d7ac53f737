//! Decides how the changes of a view are applied: a merge of each entry by its content.

use std::collections::{BTreeMap, HashSet};

use rustix::fs::{Access, AtFlags};
use rustix::io::Errno;
use sinew_base::{CancelToken, Error, Result};
use sinew_checkpoint::{Directory, EntryKind};

use crate::answer::Outcome;
use crate::base::{BaseEntry, MAX_CONTENT};
use crate::changes::{Difference, ViewFiles};
use crate::compare::is_equal;
use crate::copy::{open_own, read_file};
use crate::merge::{Merge, is_binary, merge};
use crate::scan::{Entry, Stamp, entry_at, parent_of, shown};

/// A change of the directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    /// Removes a file or link.
    Remove { path: Vec<u8>, before: Stamp },
    /// Removes an empty directory.
    RemoveDirectory { path: Vec<u8>, mode: u32 },
    /// Creates a directory that only the owner can enter.
    MakeDirectory { path: Vec<u8> },
    /// Renames a prepared entry into place.
    Place { path: Vec<u8>, number: usize, before: Option<Stamp> },
    /// Sets permissions.
    SetMode { path: Vec<u8>, mode: u32, before: u32 },
}

impl Step {
    /// Returns the path below the root.
    pub(crate) fn path(&self) -> &[u8] {
        let (Step::Remove { path, .. }
        | Step::RemoveDirectory { path, .. }
        | Step::MakeDirectory { path }
        | Step::Place { path, .. }
        | Step::SetMode { path, .. }) = self;
        path
    }
}

/// An entry that is prepared before the first step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NewEntry {
    /// A file of the view.
    ViewFile { path: Vec<u8>, mode: u32, stamp: Stamp },
    /// A merged text.
    Text { content: Vec<u8>, mode: u32 },
    /// A link to this target.
    Link { target: Vec<u8> },
}

/// What a hand-back does.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub(crate) steps: Vec<Step>,
    pub(crate) entries: Vec<NewEntry>,
    pub(crate) outcomes: BTreeMap<Vec<u8>, Outcome>,
    /// Texts with conflict markers.
    pub(crate) conflicts: Vec<(Vec<u8>, Vec<u8>)>,
}

/// Plans a hand-back. Nothing is written.
///
/// # Errors
/// Returns an error if the directory cannot be read, or if the call is cancelled.
pub(crate) fn plan(
    files: &ViewFiles<'_>,
    real: &Directory,
    differences: &[Difference],
    cancel: &CancelToken,
) -> Result<Plan> {
    let mut planner = Planner {
        files,
        real,
        cancel,
        removed: HashSet::new(),
        made: HashSet::new(),
        removals: Vec::new(),
        makes: Vec::new(),
        places: Vec::new(),
        modes: Vec::new(),
        plan: Plan::default(),
    };
    // Directories are planned after the entries in them.
    for difference in differences.iter().rev() {
        cancel.check()?;
        planner.plan_removal(difference)?;
    }
    for difference in differences {
        cancel.check()?;
        if let Some(view) = difference.view.as_ref().filter(|_| !planner.plan.outcomes.contains_key(&difference.path)) {
            let outcome = planner.plan_entry(difference, view)?;
            planner.plan.outcomes.insert(difference.path.clone(), outcome);
        }
    }
    let (opened, closed) = planner.plan_write_access();
    let Planner { removals, makes, places, modes, mut plan, .. } = planner;
    let (files, folders): (Vec<Step>, Vec<Step>) =
        removals.into_iter().partition(|step| matches!(step, Step::Remove { .. }));
    // The permissions of directories are set last, after the entries in them.
    plan.steps = [opened, files, folders, makes, places, closed, modes.into_iter().rev().collect()].concat();
    Ok(plan)
}

struct Planner<'a> {
    files: &'a ViewFiles<'a>,
    real: &'a Directory,
    cancel: &'a CancelToken,
    removed: HashSet<Vec<u8>>,
    made: HashSet<Vec<u8>>,
    removals: Vec<Step>,
    makes: Vec<Step>,
    places: Vec<Step>,
    modes: Vec<Step>,
    plan: Plan,
}

fn conflict(reason: impl Into<String>) -> Outcome {
    Outcome::Conflict { reason: reason.into(), merged: None }
}

fn is_directory(kind: EntryKind) -> bool {
    kind == EntryKind::Directory
}

impl Planner<'_> {
    /// Returns the entry of the directory at a path; `None` if it does not exist or is removed by the plan.
    fn look(&self, path: &[u8]) -> Result<Option<Entry>> {
        if self.removed.contains(path) {
            return Ok(None);
        }
        let found = self.real.open_parent(path).and_then(|(parent, name)| entry_at(&parent, name, path));
        match found {
            Ok(entry) => Ok(entry),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
            Err(errno) => Err(Error::io(format!("view: failed to read {}", shown(path)), &errno.into())),
        }
    }

    fn real_content(&self, path: &[u8]) -> Option<Vec<u8>> {
        read_file(self.real, path, MAX_CONTENT).ok().flatten()
    }

    /// Returns true if the content or the target is as it was when the view was opened.
    fn has_base_content(&self, base: &BaseEntry, real: &Entry) -> Result<bool> {
        if base.kind != real.kind || base.target != real.target {
            return Ok(false);
        }
        if base.kind != EntryKind::File || base.real_stamp == Some(real.stamp) {
            return Ok(true);
        }
        let opened = self.real.open_parent(&real.path).and_then(|(parent, name)| parent.open_file(name));
        let Ok(file) = opened else { return Ok(false) };
        self.files.contents.matches(&real.path, base, None, &file, self.cancel)
    }

    fn is_base(&self, base: &BaseEntry, real: &Entry) -> Result<bool> {
        Ok(base.mode == real.mode && self.has_base_content(base, real)?)
    }

    /// Plans the removal of an entry that the view lacks, or whose type changed from or to a directory.
    fn plan_removal(&mut self, difference: &Difference) -> Result<()> {
        let Some(base) = &difference.base else { return Ok(()) };
        let view = difference.view.as_ref();
        if view.is_some_and(|view| is_directory(view.kind) == is_directory(base.kind)) {
            return Ok(());
        }
        let path = &difference.path;
        let real = self.look(path)?;
        let outcome = match (real, base.kind) {
            (None, _) => view.is_none().then_some(Outcome::Unchanged),
            (Some(real), EntryKind::Directory) if is_directory(real.kind) => {
                if self.is_emptied(path)? {
                    self.removed.insert(path.clone());
                    self.removals.push(Step::RemoveDirectory { path: path.clone(), mode: real.mode });
                    view.is_none().then_some(Outcome::Deleted)
                } else if view.is_none() {
                    Some(Outcome::Kept("the directory contains entries that the view does not delete".into()))
                } else {
                    Some(conflict("replaced in the view, but the directory contains other entries"))
                }
            }
            (Some(real), EntryKind::Directory) => {
                let is_wanted = view.is_some_and(|view| view.kind == real.kind);
                (!is_wanted).then(|| conflict("replaced in the directory, and deleted or replaced in the view"))
            }
            (Some(real), _) if self.is_base(base, &real)? => {
                self.removed.insert(path.clone());
                self.removals.push(Step::Remove { path: path.clone(), before: real.stamp });
                view.is_none().then_some(Outcome::Deleted)
            }
            (Some(real), _) if view.is_some() && is_directory(real.kind) => None,
            _ if view.is_none() => Some(conflict("deleted in the view and changed in the directory")),
            _ => Some(conflict("replaced by a directory in the view and changed in the directory")),
        };
        if let Some(outcome) = outcome {
            self.plan.outcomes.insert(path.clone(), outcome);
        }
        Ok(())
    }

    /// Returns true if the plan removes every entry of a directory.
    fn is_emptied(&self, path: &[u8]) -> Result<bool> {
        let names = self.real.open_below(path).and_then(|directory| directory.names());
        let names = names.map_err(|errno| Error::io(format!("view: failed to list {}", shown(path)), &errno.into()))?;
        Ok(names.iter().all(|name| self.removed.contains(&crate::scan::joined(path, name))))
    }

    /// Plans the missing parent directories of a new entry. Returns why they cannot exist.
    fn plan_parents(&mut self, path: &[u8]) -> Result<Option<String>> {
        for (at, _) in path.iter().enumerate().filter(|(_, byte)| **byte == b'/') {
            let folder = &path[..at];
            if self.made.contains(folder) {
                continue;
            }
            let is_conflict = self.plan.outcomes.get(folder).is_some_and(Outcome::is_conflict);
            match self.look(folder)? {
                Some(real) if is_directory(real.kind) && !is_conflict => {
                    if self.is_repository(folder) {
                        return Ok(Some(format!("{} is a git repository", shown(folder))));
                    }
                }
                None if !is_conflict => {
                    let found = self.files.view.open_parent(folder);
                    let found = found.and_then(|(parent, name)| entry_at(&parent, name, folder));
                    self.make(folder, found.ok().flatten().map_or(0o755, |entry| entry.mode));
                }
                _ => return Ok(Some(format!("{} is not a directory", shown(folder)))),
            }
        }
        Ok(None)
    }

    /// Plans the steps that let the user write to the directories whose entries change, and those that restore their
    /// permissions.
    fn plan_write_access(&mut self) -> (Vec<Step>, Vec<Step>) {
        let (mut opened, mut closed) = (Vec::new(), Vec::new());
        let mut folders = HashSet::new();
        for step in self.removals.iter().chain(&self.makes).chain(&self.places) {
            folders.insert(parent_of(step.path()).to_vec());
        }
        for folder in folders.into_iter().filter(|folder| !folder.is_empty() && !self.made.contains(folder)) {
            let Some(mode) = self.mode_without_access(&folder) else { continue };
            let writable = mode | 0o700;
            opened.push(Step::SetMode { path: folder.clone(), mode: writable, before: mode });
            if !self.removed.contains(&folder) {
                closed.push(Step::SetMode { path: folder, mode, before: writable });
                continue;
            }
            // If the removal is undone, the entries are moved back before the permissions.
            let removal = self.removals.iter_mut().find(|step| step.path() == folder);
            if let Some(Step::RemoveDirectory { mode, .. }) = removal {
                *mode = writable;
            }
        }
        (opened, closed)
    }

    /// Returns the permissions of a directory to which the user cannot write.
    fn mode_without_access(&self, folder: &[u8]) -> Option<u32> {
        let (parent, name) = self.real.open_parent(folder).ok()?;
        let entry = entry_at(&parent, name, folder).ok().flatten().filter(|entry| is_directory(entry.kind))?;
        let access = Access::WRITE_OK | Access::EXEC_OK;
        let denied = rustix::fs::accessat(&parent, name, access, AtFlags::empty()) == Err(Errno::ACCESS);
        denied.then_some(entry.mode)
    }

    /// Returns true if a directory is a bare git repository, whose entries are never written.
    fn is_repository(&self, folder: &[u8]) -> bool {
        let has = |directory: &Directory, name: &str| directory.stat(name.as_ref()).is_ok_and(|stat| stat.is_some());
        let opened = self.real.open_below(folder);
        opened.is_ok_and(|directory| ["HEAD", "objects", "refs"].iter().all(|name| has(&directory, name)))
    }

    fn make(&mut self, path: &[u8], mode: u32) {
        self.made.insert(path.to_vec());
        self.makes.push(Step::MakeDirectory { path: path.to_vec() });
        self.modes.push(Step::SetMode { path: path.to_vec(), mode, before: 0o700 });
    }

    fn place(&mut self, path: &[u8], entry: NewEntry, before: Option<Stamp>) {
        self.places.push(Step::Place { path: path.to_vec(), number: self.plan.entries.len(), before });
        self.plan.entries.push(entry);
    }

    fn place_view(&mut self, view: &Entry, mode: u32, before: Option<Stamp>) {
        let entry = match view.kind {
            EntryKind::Link => NewEntry::Link { target: view.target.clone() },
            _ => NewEntry::ViewFile { path: view.path.clone(), mode, stamp: view.stamp },
        };
        self.place(&view.path, entry, before);
    }

    /// Plans an entry that the view has.
    fn plan_entry(&mut self, difference: &Difference, view: &Entry) -> Result<Outcome> {
        let base = difference.base.as_ref();
        let Some(real) = self.look(&difference.path)? else {
            return self.plan_new(base, view);
        };
        match (view.kind, real.kind) {
            (EntryKind::Directory, EntryKind::Directory) => Ok(match base.filter(|base| is_directory(base.kind)) {
                Some(base) => self.plan_mode(&view.path, base.mode, view.mode, real.mode),
                None => Outcome::Unchanged,
            }),
            (EntryKind::Link, EntryKind::Link) if view.target == real.target => Ok(Outcome::Unchanged),
            (EntryKind::File, EntryKind::File) => match base.filter(|base| base.kind == EntryKind::File) {
                Some(base) => self.merge_file(base, difference, view, &real),
                None if view.mode == real.mode && self.has_view_content(&view.path)? => Ok(Outcome::Unchanged),
                None => self.plan_replacement(base, view, &real),
            },
            (kind, found) if kind != found && (is_directory(kind) || is_directory(found) || base.is_none()) => {
                Ok(conflict(format!("the directory has a {} there", found.as_str())))
            }
            _ => self.plan_replacement(base, view, &real),
        }
    }

    /// Plans an entry that the directory lacks, or that the plan removes there because its type changed.
    fn plan_new(&mut self, base: Option<&BaseEntry>, view: &Entry) -> Result<Outcome> {
        let is_replaced = self.removed.contains(&view.path);
        if !is_replaced && base.is_some_and(|base| is_directory(base.kind) == is_directory(view.kind)) {
            return Ok(conflict("changed in the view and deleted in the directory"));
        }
        if let Some(reason) = self.plan_parents(&view.path)? {
            return Ok(conflict(reason));
        }
        if is_directory(view.kind) {
            self.make(&view.path, view.mode);
        } else {
            self.place_view(view, view.mode, None);
        }
        Ok(if is_replaced { Outcome::Replaced } else { Outcome::Created })
    }

    /// Plans an entry that replaces one of the directory as a whole.
    fn plan_replacement(&mut self, base: Option<&BaseEntry>, view: &Entry, real: &Entry) -> Result<Outcome> {
        match base {
            None => Ok(conflict("created in the view and in the directory")),
            Some(base) if self.is_base(base, real)? => {
                self.place_view(view, view.mode, Some(real.stamp));
                Ok(Outcome::Replaced)
            }
            Some(_) => Ok(conflict("changed in the view and in the directory")),
        }
    }

    /// Returns true if the file of the directory has the content of the file of the view.
    fn has_view_content(&self, path: &[u8]) -> Result<bool> {
        let opened = self.real.open_parent(path).and_then(|(parent, name)| parent.open_file(name));
        let (Ok(real), Ok(view)) = (opened, open_own(self.files.view, path)) else { return Ok(false) };
        let is_equal = is_equal(&real, &view, self.cancel);
        self.cancel.check()?;
        Ok(is_equal.unwrap_or(false))
    }

    /// Plans a change of permissions.
    fn plan_mode(&mut self, path: &[u8], base: u32, view: u32, real: u32) -> Outcome {
        if view == base || view == real {
            return Outcome::Unchanged;
        }
        if real != base {
            return conflict(format!("the view sets the permissions {view:o}, and the directory has {real:o}"));
        }
        self.modes.push(Step::SetMode { path: path.to_vec(), mode: view, before: real });
        Outcome::Replaced
    }

    /// Merges content and permissions of a file that exists on all sides.
    fn merge_file(&mut self, base: &BaseEntry, difference: &Difference, view: &Entry, real: &Entry) -> Result<Outcome> {
        let path = &*difference.path;
        let is_changed_here = !self.has_base_content(base, real)?;
        let mode = if view.mode == base.mode { real.mode } else { view.mode };
        if mode != real.mode && real.mode != base.mode {
            let (view, real) = (view.mode, real.mode);
            return Ok(conflict(format!("the view sets the permissions {view:o}, and the directory has {real:o}")));
        }
        if !difference.is_content {
            return Ok(self.plan_mode(path, base.mode, view.mode, real.mode));
        }
        if !is_changed_here {
            self.place_view(view, mode, Some(real.stamp));
            return Ok(Outcome::Replaced);
        }
        if self.has_view_content(path)? {
            return Ok(self.plan_mode(path, base.mode, view.mode, real.mode));
        }
        let (ours, theirs) = (self.real_content(path), self.files.view_content(path));
        let before = self.files.contents.read(path, base, Some(self.real));
        let (Some(before), Some(ours), Some(theirs)) = (before, ours, theirs) else {
            let reason = "changed in the view and in the directory, and too large to merge, or its old content is lost";
            return Ok(conflict(reason));
        };
        if [&before, &ours, &theirs].iter().any(|content| is_binary(content)) {
            return Ok(conflict("changed in the view and in the directory, and binary"));
        }
        match merge(&before, &ours, &theirs, self.cancel)? {
            Merge::Clean(content) if content == ours => Ok(self.plan_mode(path, base.mode, view.mode, real.mode)),
            Merge::Clean(content) => {
                self.place(path, NewEntry::Text { content, mode }, Some(real.stamp));
                Ok(Outcome::Merged)
            }
            Merge::Conflict(content) => {
                self.plan.conflicts.push((path.to_vec(), content));
                Ok(conflict("changed in the view and in the directory in the same lines"))
            }
        }
    }
}
