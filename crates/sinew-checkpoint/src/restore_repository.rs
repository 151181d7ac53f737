//! Moves the folders of repositories into the store and back.

use std::ffi::OsStr;

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;
use sinew_base::CancelToken;

use crate::answer::Action;
use crate::directory::{Directory, as_name, joined};
use crate::fault;
use crate::plan::{PathKey, Step};
use crate::repository::position;
use crate::restore::Restorer;
use crate::row::{Content, Kind, Row, is_within};
use crate::scan::{is_repository_name, shown};
use crate::stage::{cannot, is_still, words};

impl Restorer<'_> {
    /// Moves the repositories back that an undo moved into the store.
    pub(crate) fn move_repositories_back(&mut self, cancel: &CancelToken) {
        self.move_repositories(&Action::Restore, cancel, Restorer::move_back);
    }

    /// Moves the repositories into the store that are undone.
    pub(crate) fn move_repositories_away(&mut self, cancel: &CancelToken) {
        self.move_repositories(&Action::Delete, cancel, Restorer::move_away);
    }

    fn move_repositories(
        &mut self,
        action: &Action,
        cancel: &CancelToken,
        moved: fn(&mut Self, &[u8]) -> Result<(), Action>,
    ) {
        let is_top = |step: &Step| step.action == *action && step.whole.as_ref() == Some(&step.path);
        for PathKey(top) in self.paths(is_top) {
            let done = match cancel.is_cancelled() {
                true => Err(Action::Cannot("the restore was stopped before".into())),
                false => moved(self, &top),
            };
            if let Err(action) = done {
                for path in self.paths(|step| step.whole.as_ref() == Some(&top)) {
                    self.set(&path.0, action.clone());
                }
            }
        }
    }

    fn move_back(&mut self, top: &[u8]) -> Result<(), Action> {
        let (parent, name) = self.open_parent(top)?;
        let source = self.stage.store.repository_path(self.undone, top);
        let moved = renameat_with(CWD, &source, &parent, name, RenameFlags::NOREPLACE);
        fault::point();
        moved.map_err(|error| match error {
            Errno::EXIST => Action::Keep("created meanwhile".into()),
            error => cannot(words(error)),
        })
    }

    fn move_away(&mut self, top: &[u8]) -> Result<(), Action> {
        let (parent, name) = self.open_parent(top)?;
        let opened = parent.open_below(name.as_encoded_bytes()).map_err(|error| cannot(words(error)))?;
        self.check_whole(&opened, top)?;
        // One call moves the folder, so that a killed process leaves it either here or there.
        let target = self.stage.store.repository_path(self.redo, top);
        renameat_with(&parent, name, CWD, &target, RenameFlags::NOREPLACE).map_err(|error| match error {
            Errno::XDEV => cannot("the repository cannot be moved into the store, which is on another file system"),
            error => cannot(words(error)),
        })?;
        fault::point();
        // A program may have written to it right before.
        let Err(action) = self.check_whole(&opened, top) else { return Ok(()) };
        renameat_with(CWD, &target, &parent, name, RenameFlags::NOREPLACE).map_err(|error| cannot(words(error)))?;
        Err(action)
    }

    /// Verifies that a repository contains exactly the entries of the plan, and that its position has not changed.
    fn check_whole(&self, folder: &Directory, top: &[u8]) -> Result<(), Action> {
        let failed = |error: Errno| cannot(words(error));
        let changed = || Action::Keep("changed meanwhile".into());
        let row_of = |path: &[u8]| self.steps.get(&PathKey(path.into())).and_then(|step| step.now.as_ref());
        if row_of(top).is_some_and(|row| row.kind == Kind::Repository) {
            let is_same = row_of(top).is_some_and(|row| is_at(folder, OsStr::new("."), row));
            return if is_same { Ok(()) } else { Err(changed()) };
        }
        let mut left = self.steps.values().filter(|step| is_within(&step.path, top)).count().saturating_sub(1);
        let mut directories = vec![Vec::new()];
        while let Some(below) = directories.pop() {
            let directory = folder.open_below(&below).map_err(failed)?;
            for entry in directory.names().map_err(failed)? {
                let path = joined(top, &joined(&below, &entry));
                let Some(row) = row_of(&path) else {
                    return Err(Action::Keep(format!("holds {}, which is new", shown(&path))));
                };
                let is_same = match row.kind {
                    Kind::Repository => is_at(&directory, as_name(&entry), row),
                    _ => is_still(&directory, as_name(&entry), row),
                };
                if !is_same {
                    return Err(changed());
                }
                if row.kind == Kind::Directory {
                    directories.push(joined(&below, &entry));
                }
                left = left.saturating_sub(1);
            }
        }
        if left == 0 { Ok(()) } else { Err(changed()) }
    }
}

/// Returns true if a repository is still at the position of its row. Only the position of git repositories is known.
fn is_at(directory: &Directory, name: &OsStr, row: &Row) -> bool {
    let Content::Position(then) = &row.content else { return false };
    let now = match name.as_encoded_bytes() {
        b"." | b".git" => position(directory, name),
        known if is_repository_name(known) => return true,
        _ => match directory.open_below(name.as_encoded_bytes()) {
            Ok(bare) => position(&bare, OsStr::new(".")),
            Err(_) => return false,
        },
    };
    now == **then
}
