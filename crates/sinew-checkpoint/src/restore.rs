//! Executes a plan: first creates all new entries, then renames them into place, and deletes others last.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{AtFlags, CWD, RenameFlags, linkat, renameat_with, unlinkat};
use rustix::io::Errno;
use sinew_base::CancelToken;

use crate::answer::Action;
use crate::directory::{Directory, as_name, joined};
use crate::fault;
use crate::journal::{Journal, OWNER, set_directory_mode};
use crate::plan::{PathKey, Step, Steps};
use crate::row::{Kind, Row, is_within, parent_of};
use crate::scan::{now, shown};
use crate::stage::{RestoreStage, builds_directory, cannot, io_words, is_still, words};
use crate::state::{Delta, State};

/// A running restore.
pub(crate) struct Restorer<'a> {
    pub(crate) root: &'a Directory,
    pub(crate) stage: RestoreStage<'a>,
    pub(crate) journal: Journal,
    pub(crate) steps: Steps,
    pub(crate) now: &'a State,
    /// The checkpoint that is restored.
    pub(crate) undone: &'a str,
    /// The checkpoint that undoes this restore.
    pub(crate) redo: &'a str,
}

/// An entry that is ready to be renamed into place.
struct StagedEntry {
    /// The name in the temporary directory.
    name: String,
    path: Box<[u8]>,
}

impl Restorer<'_> {
    /// Executes the steps. A step that cannot be done becomes [`Action::Keep`] or [`Action::Cannot`]. After `cancel`,
    /// no further step is started.
    ///
    /// # Errors
    /// Returns an error if the journal could not be finished; the next start finishes it.
    pub(crate) fn run(mut self, cancel: &CancelToken) -> io::Result<(Steps, Delta)> {
        let mut staged = Vec::new();
        let mut late = Vec::new();
        let wanted: Vec<PathKey> =
            self.paths(|step| step.action == Action::Restore && step.whole.is_none() && is_made(step));
        let mut built: Option<Box<[u8]>> = None;
        for path in wanted {
            if built.as_ref().is_some_and(|folder| is_within(&path.0, folder)) {
                continue;
            }
            if self.is_stopped(&path, cancel) {
                continue;
            }
            let step = &self.steps[&path];
            if builds_directory(step) {
                built = Some(path.0.clone());
                staged.extend(self.stage_tree(&path, &mut late, cancel));
            } else if is_late(step) {
                late.push(path);
            } else {
                staged.extend(self.stage_file(&path));
            }
        }
        fault::point();
        for entry in staged {
            self.place(&entry);
        }
        for path in late {
            self.place_late(&path);
        }
        self.move_repositories_back(cancel);
        self.change_file_modes(cancel);
        self.move_repositories_away(cancel);
        self.delete_files(cancel);
        self.delete_directories(cancel);
        self.change_directory_modes();
        let delta = self.delta();
        let Restorer { root, journal, steps, .. } = self;
        journal.finish(root)?;
        Ok((steps, delta))
    }

    pub(crate) fn paths(&self, wanted: impl Fn(&Step) -> bool) -> Vec<PathKey> {
        self.steps.iter().filter(|(_, step)| wanted(step)).map(|(path, _)| path.clone()).collect()
    }

    pub(crate) fn set(&mut self, path: &[u8], action: Action) {
        if let Some(step) = self.steps.get_mut(&PathKey(path.into())) {
            step.action = action;
        }
    }

    fn is_stopped(&mut self, path: &PathKey, cancel: &CancelToken) -> bool {
        let stopped = cancel.is_cancelled();
        if stopped {
            self.set(&path.0, Action::Cannot("the restore was stopped before".into()));
        }
        stopped
    }

    /// Creates a file or link in the temporary directory.
    fn stage_file(&mut self, path: &PathKey) -> Option<StagedEntry> {
        let name = self.stage.new_name();
        let row = self.steps[path].then.clone()?;
        match self.stage.make(&self.stage.directory, name.as_bytes(), &row) {
            Ok(()) => Some(StagedEntry { name, path: path.0.clone() }),
            Err(action) => {
                self.set(&path.0, action);
                None
            }
        }
    }

    /// Creates a directory in the temporary directory, with all entries that are restored below it. Entries that are
    /// linked or moved from another path follow later.
    fn stage_tree(&mut self, top: &PathKey, late: &mut Vec<PathKey>, cancel: &CancelToken) -> Option<StagedEntry> {
        let name = self.stage.new_name();
        let is_below =
            |step: &Step| step.action == Action::Restore && step.whole.is_none() && is_within(&step.path, &top.0);
        let below: Vec<PathKey> = self.paths(is_below);
        let mut directories: Vec<(Vec<u8>, u32)> = Vec::new();
        for path in below {
            if self.is_stopped(&path, cancel) {
                continue;
            }
            let step = &self.steps[&path];
            if is_late(step) {
                late.push(path);
                continue;
            }
            let Some(row) = step.then.clone() else { continue };
            let at = [name.as_bytes(), &path.0[top.0.len()..]].concat();
            let made = match self.stage.directory.open_parent(&at) {
                Ok((parent, last)) => self.stage.make(&parent, last.as_bytes(), &row),
                Err(error) => Err(cannot(words(error))),
            };
            match made {
                Ok(()) if row.kind == Kind::Directory => directories.push((at, row.mode)),
                Ok(()) => {}
                Err(action) => self.set(&path.0, action),
            }
        }
        let (_, top_mode) = directories.first().cloned()?;
        for (at, mode) in directories.iter().skip(1).rev() {
            // A wrong mode is corrected in place, at the end.
            let _ = set_directory_mode(&self.stage.directory, at, *mode);
        }
        // A directory that its owner cannot write to cannot be renamed into another one.
        if top_mode & OWNER != OWNER {
            if let Err(error) = self.journal.announce(&top.0, OWNER, top_mode) {
                self.set(&top.0, cannot(io_words(&error)));
                return None;
            }
        } else if let Err(error) = self.stage.directory.set_mode(name.as_ref(), top_mode) {
            self.set(&top.0, cannot(words(error)));
            return None;
        }
        Some(StagedEntry { name, path: top.0.clone() })
    }

    /// Opens the parent directory of a path, writable for changes to its names.
    pub(crate) fn open_parent<'p>(&mut self, path: &'p [u8]) -> Result<(Directory, &'p OsStr), Action> {
        let parent = parent_of(path);
        let opened = self.journal.open_directory(self.root, parent).and_then(|()| Ok(self.root.open_parent(path)?));
        opened.map_err(|error| match error.raw_os_error().map(Errno::from_raw_os_error) {
            Some(Errno::LOOP | Errno::NOTDIR) => Action::Keep(format!("{} is no directory now", shown(parent))),
            Some(Errno::NOENT) => Action::Keep(format!("{} is gone", shown(parent))),
            _ => cannot(io_words(&error)),
        })
    }

    /// Renames a new entry into place.
    fn place(&mut self, staged: &StagedEntry) {
        let done = self.try_place(staged);
        if let Err(action) = done {
            // The entries below it cannot be restored either.
            for path in self.paths(|step| step.action == Action::Restore && is_within(&step.path, &staged.path)) {
                self.set(&path.0, action.clone());
            }
        }
    }

    fn try_place(&mut self, staged: &StagedEntry) -> Result<(), Action> {
        let (parent, name) = self.open_parent(&staged.path)?;
        let old = self.steps[&PathKey(staged.path.clone())].now.clone();
        let Some(old) = old else {
            return match renameat_with(&self.stage.directory, &*staged.name, &parent, name, RenameFlags::NOREPLACE) {
                Ok(()) => {
                    fault::point();
                    Ok(())
                }
                Err(Errno::EXIST) => Err(Action::Keep("created meanwhile".into())),
                Err(error) => Err(cannot(words(error))),
            };
        };
        if !is_still(&parent, name, &old) {
            return Err(Action::Keep("changed meanwhile".into()));
        }
        self.swap(&parent, name, &staged.name, &old)
    }

    /// Exchanges an entry with a new one, verifies the old one and removes it.
    fn swap(&mut self, parent: &Directory, name: &OsStr, new: &str, old: &Row) -> Result<(), Action> {
        if old.kind == Kind::Directory && old.mode & 0o200 == 0 {
            // Otherwise it could not be renamed into another directory.
            self.journal.open_directory(self.root, &old.path).map_err(|error| cannot(io_words(&error)))?;
        }
        let exchange =
            |stage: &RestoreStage<'_>| renameat_with(&stage.directory, new, parent, name, RenameFlags::EXCHANGE);
        match exchange(&self.stage) {
            Ok(()) => fault::point(),
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => return self.replace(parent, name, new, old),
            Err(error) => return Err(cannot(words(error))),
        }
        let kept = if !is_still(&self.stage.directory, new.as_ref(), old) {
            Some(Action::Keep("changed meanwhile".into()))
        } else if old.kind == Kind::Directory {
            self.retire_tree(new, &old.path).err()
        } else {
            self.stage.retire(&self.stage.directory, new.as_ref(), old).err().map(|error| cannot(no_room(error)))
        };
        match kept {
            None => Ok(()),
            Some(action) => {
                exchange(&self.stage).map_err(|error| cannot(words(error)))?;
                Err(action)
            }
        }
    }

    /// Does the same as [`Restorer::swap`] on file systems that cannot exchange two entries.
    fn replace(&mut self, parent: &Directory, name: &OsStr, new: &str, old: &Row) -> Result<(), Action> {
        if old.kind != Kind::Directory && old.is_kept() {
            let renamed = renameat_with(&self.stage.directory, new, parent, name, RenameFlags::empty());
            return renamed.map_err(|error| cannot(words(error)));
        }
        let away = self.stage.take_away(parent, name).map_err(|error| cannot(words(error)))?;
        let retired = match old.kind {
            Kind::Directory => self.retire_tree(&away, &old.path),
            _ => self.stage.retire(&self.stage.directory, away.as_ref(), old).map_err(|error| cannot(no_room(error))),
        };
        let next = if retired.is_ok() { new } else { &*away };
        let moved = renameat_with(&self.stage.directory, next, parent, name, RenameFlags::NOREPLACE);
        retired.and(moved.map_err(|error| cannot(words(error))))
    }

    /// Verifies that the plan deletes every entry of a directory that was moved away. Moves files that are not stored
    /// into the store.
    fn retire_tree(&mut self, name: &str, path: &[u8]) -> Result<(), Action> {
        let top = self.stage.directory.open_below(name.as_bytes()).map_err(|error| cannot(words(error)))?;
        let mut directories = vec![Vec::new()];
        let mut unkept = Vec::new();
        while let Some(folder) = directories.pop() {
            let directory = top.open_below(&folder).map_err(|error| cannot(words(error)))?;
            for entry in directory.names().map_err(|error| cannot(words(error)))? {
                let below = joined(&folder, &entry);
                let key = PathKey(joined(path, &below).into());
                let step = self.steps.get(&key).filter(|step| step.action == Action::Delete);
                match step.and_then(|step| step.now.as_ref()) {
                    Some(row) if is_still(&directory, as_name(&entry), row) => match row.kind {
                        Kind::Directory => directories.push(below),
                        Kind::File if !row.is_kept() => unkept.push((below, row.clone())),
                        _ => {}
                    },
                    _ => return Err(Action::Keep(format!("holds {}, which is new", shown(&key.0)))),
                }
            }
        }
        for (below, row) in unkept {
            let moved = top.open_parent(&below).and_then(|(parent, name)| self.stage.retire(&parent, name, &row));
            moved.map_err(|error| cannot(no_room(error)))?;
        }
        Ok(())
    }

    /// Restores a file that is a hard link, or whose content is at another path or was moved into the store.
    fn place_late(&mut self, path: &PathKey) {
        if self.steps[path].action != Action::Restore {
            return;
        }
        if let Err(action) = self.try_place_late(path) {
            self.set(&path.0, action);
        }
    }

    fn try_place_late(&mut self, path: &PathKey) -> Result<(), Action> {
        let step = self.steps[path].clone();
        let Some(then) = &step.then else { return Ok(()) };
        if let Some(anchor) = step.link_to.as_ref() {
            let name = self.stage.new_name();
            let linked = self.root.open_parent(anchor).and_then(|(directory, anchor)| {
                linkat(&directory, anchor, &self.stage.directory, &*name, AtFlags::empty())
            });
            linked.map_err(|error| cannot(words(error)))?;
            return self.try_place(&StagedEntry { name, path: path.0.clone() });
        }
        let source = self.source(then);
        let (parent, name) = self.open_parent(&path.0)?;
        if let Some(old) = &step.now {
            if !is_still(&parent, name, old) {
                return Err(Action::Keep("changed meanwhile".into()));
            }
            let away = self.stage.take_away(&parent, name).map_err(|error| cannot(words(error)))?;
            let retired = self.stage.retire(&self.stage.directory, away.as_ref(), old);
            if let Err(error) = retired {
                let back = renameat_with(&self.stage.directory, &*away, &parent, name, RenameFlags::NOREPLACE);
                return Err(cannot(words(back.err().unwrap_or(error))));
            }
        }
        let moved = match &source {
            Some(source) => {
                let (from, from_name) = self.open_parent(source)?;
                renameat_with(&from, from_name, &parent, name, RenameFlags::NOREPLACE)
            }
            None => renameat_with(CWD, self.stage.store.moved_path(then), &parent, name, RenameFlags::NOREPLACE),
        };
        fault::point();
        moved.map_err(|error| cannot(words(error)))?;
        parent.set_mode(name, then.mode).map_err(|error| cannot(words(error)))
    }

    /// Returns the path of a file that is not stored and that the plan deletes there.
    fn source(&self, then: &Row) -> Option<Box<[u8]>> {
        let is_source = |step: &&Step| {
            step.action == Action::Delete && step.now.as_ref().is_some_and(|now| now.is_same_version(then))
        };
        self.steps.values().find(is_source).map(|step| step.path.clone())
    }

    /// Changes the permissions of files whose content stays.
    fn change_file_modes(&mut self, cancel: &CancelToken) {
        let is_mode = |step: &Step| {
            let file = step.now.as_ref().is_some_and(|now| now.kind != Kind::Directory);
            step.action == Action::Restore && !is_made(step) && file && step.link_to.is_none()
        };
        for path in self.paths(is_mode) {
            if self.is_stopped(&path, cancel) {
                continue;
            }
            let Step { then: Some(then), now: Some(now), .. } = self.steps[&path].clone() else { continue };
            let changed = match self.root.open_parent(&path.0) {
                Ok((parent, name)) if is_still(&parent, name, &now) => {
                    parent.set_mode(name, then.mode).map_err(|error| cannot(words(error)))
                }
                _ => Err(Action::Keep("changed meanwhile".into())),
            };
            fault::point();
            if let Err(action) = changed {
                self.set(&path.0, action);
            }
        }
    }

    fn delete_files(&mut self, cancel: &CancelToken) {
        let is_file = |row: &Row| row.kind != Kind::Directory;
        for path in self.paths(|step| is_deleted(step) && step.now.as_ref().is_some_and(is_file)) {
            if self.is_stopped(&path, cancel) {
                continue;
            }
            if let Err(action) = self.delete_file(&path) {
                self.set(&path.0, action);
            }
        }
    }

    fn delete_file(&mut self, path: &PathKey) -> Result<(), Action> {
        let Some(now) = self.steps[path].now.clone() else { return Ok(()) };
        if self.is_gone(&path.0) {
            return Ok(());
        }
        let (parent, name) = self.open_parent(&path.0)?;
        if !is_still(&parent, name, &now) {
            return Err(Action::Keep("changed meanwhile".into()));
        }
        let away = self.stage.take_away(&parent, name).map_err(|error| cannot(words(error)))?;
        let kept = if is_still(&self.stage.directory, away.as_ref(), &now) {
            match self.stage.retire(&self.stage.directory, away.as_ref(), &now) {
                Ok(()) => return Ok(()),
                Err(error) => cannot(no_room(error)),
            }
        } else {
            Action::Keep("changed meanwhile".into())
        };
        renameat_with(&self.stage.directory, &*away, &parent, name, RenameFlags::NOREPLACE)
            .map_err(|error| cannot(words(error)))?;
        Err(kept)
    }

    /// Returns true if there is no entry at a path, because it was moved or removed with its directory.
    fn is_gone(&self, path: &[u8]) -> bool {
        match self.root.open_parent(path) {
            Ok((parent, name)) => matches!(parent.stat(name), Ok(None)),
            Err(error) => matches!(error, Errno::NOENT | Errno::NOTDIR | Errno::LOOP),
        }
    }

    fn delete_directories(&mut self, cancel: &CancelToken) {
        let is_directory = |row: &Row| row.kind == Kind::Directory;
        let paths = self.paths(|step| is_deleted(step) && step.now.as_ref().is_some_and(is_directory));
        for path in paths.into_iter().rev() {
            if self.is_gone(&path.0) || self.is_stopped(&path, cancel) {
                continue;
            }
            let deleted = self.open_parent(&path.0).and_then(|(parent, name)| {
                match unlinkat(&parent, name, AtFlags::REMOVEDIR) {
                    Ok(()) => Ok(()),
                    Err(Errno::NOTEMPTY | Errno::EXIST) => Err(Action::Keep("holds something that stays".into())),
                    Err(error) => Err(cannot(words(error))),
                }
            });
            fault::point();
            if let Err(action) = deleted {
                self.set(&path.0, action);
            }
        }
    }

    /// Sets the permissions of restored directories.
    fn change_directory_modes(&mut self) {
        let is_directory = |row: &Option<Row>| row.as_ref().is_some_and(|row| row.kind == Kind::Directory);
        let is_set = |step: &Step| step.action == Action::Restore && step.whole.is_none() && is_directory(&step.then);
        for path in self.paths(is_set).into_iter().rev() {
            let Some(then) = self.steps[&path].then.clone() else { continue };
            let changed = match self.journal.set_final_mode(self.root, &path.0, then.mode) {
                // The end of the journal sets them.
                Ok(true) => continue,
                Ok(false) => set_directory_mode(self.root, &path.0, then.mode).map_err(|error| cannot(words(error))),
                Err(error) => Err(cannot(io_words(&error))),
            };
            if let Err(action) = changed {
                self.set(&path.0, action);
            }
        }
    }

    /// Returns the changes that the steps made, as the current rows of the paths.
    fn delta(&self) -> Delta {
        let mut rows: HashMap<&[u8], Option<Row>> = HashMap::new();
        for step in self.steps.values().filter(|step| step.action.reason().is_none()) {
            let names = step.now.as_ref().map(|now| self.now.names_of(now)).unwrap_or_default();
            // A new or removed hard link changes the rows of the other links of the file.
            for path in names.into_iter().chain(step.link_to.as_deref()) {
                if let Some(now) = self.now.find(path).filter(|_| !self.steps.contains_key(&PathKey(path.into()))) {
                    rows.insert(path, self.row_at(path, Some(now)));
                }
            }
            rows.insert(&step.path, self.row_at(&step.path, step.then.as_ref()));
        }
        let mut delta: Delta = rows.into_iter().map(|(path, row)| (path.into(), row)).collect();
        delta.retain(|(path, row)| row.is_some() || self.now.find(path).is_some());
        delta.sort_by(|one, two| crate::row::compare_paths(&one.0, &two.0));
        delta
    }

    /// Returns the current row of a path. Its content is included only if it is certain.
    fn row_at(&self, path: &[u8], like: Option<&Row>) -> Option<Row> {
        let stat = if path.is_empty() {
            self.root.own_stat().ok()?
        } else {
            self.root.open_parent(path).and_then(|(parent, name)| parent.stat(name)).ok().flatten()?
        };
        let mut row = Row::of(path, &stat, now());
        if like.is_some_and(|like| like.kind == Kind::Repository) {
            row.kind = Kind::Repository;
        }
        if let Some(like) = like.filter(|like| like.kind == row.kind) {
            row.content = like.content.clone();
            row.attributes = like.attributes;
            // The journal sets the permissions of directories after this.
            row.mode = like.mode;
        }
        Some(row)
    }
}

fn no_room(error: Errno) -> String {
    match error {
        Errno::XDEV => "too large to keep for redo, and the store is on another file system".into(),
        error => words(error),
    }
}

/// Returns true if a step deletes an entry by itself, not with a repository that is moved.
fn is_deleted(step: &Step) -> bool {
    step.action == Action::Delete && step.whole.is_none()
}

/// Returns true if a step creates an entry; false if it only changes permissions.
fn is_made(step: &Step) -> bool {
    let stays = |then: &Row, now: &Row| {
        then.kind == now.kind && then.has_same_content(now) && step.change != crate::answer::ChangeKind::Link
    };
    match (&step.then, &step.now) {
        (Some(then), Some(now)) => !stays(then, now),
        (then, _) => then.is_some(),
    }
}

/// Returns true if the entry is linked or moved instead of created.
fn is_late(step: &Step) -> bool {
    step.link_to.is_some() || step.then.as_ref().is_some_and(|then| then.kind == Kind::File && !then.is_kept())
}
