//! Repositories that a span created. Each is undone as a whole, with its data, or not at all: the undo moves its folder
//! into the store, and the redo moves it back.

use crate::answer::{Action, ChangeKind};
use crate::plan::{PathKey, Planner, Step, Steps};
use crate::row::{Kind, Row, compare_paths, is_within};
use crate::scan::{folder_of_repository, shown};
use crate::state::State;

impl Planner<'_> {
    /// Decides about the repositories that the spans created, or that the undone restore moved into the store.
    pub(crate) fn move_repositories(&self, steps: &mut Steps) {
        let start = &self.spans[0].start;
        let is_created = |top: &[u8]| {
            let is_new = start.find(top).is_none() && start.knows(top);
            is_new && self.spans.iter().any(|span| span.end.find(top).is_some())
        };
        for top in repositories(self.now, is_created) {
            self.move_away(&top, steps);
        }
        let is_moved = |top: &[u8]| self.now.find(top).is_none() && (self.is_moved)(top);
        for top in repositories(start, is_moved) {
            self.move_back(&top, steps);
        }
    }

    fn move_away(&self, top: &[u8], steps: &mut Steps) {
        let rows = self.now.subtree(top);
        let goes = |row: &Row| match row.kind {
            Kind::Repository => matches!(self.fold(&row.path), (None, None)) || self.is_forced(&row.path),
            _ => steps.get(&PathKey(row.path.clone())).is_some_and(|step| step.action == Action::Delete),
        };
        if self.is_wanted(top) && rows.iter().all(goes) {
            for row in rows {
                let step = steps.entry(PathKey(row.path.clone())).or_insert_with(|| step_of(row, false));
                step.whole = Some(top.into());
            }
            return;
        }
        for step in steps.values_mut().filter(|step| step.action == Action::Delete && is_within(&step.path, top)) {
            step.action = Action::Keep(format!("part of the repository {}, which is new", shown(top)));
        }
    }

    fn move_back(&self, top: &[u8], steps: &mut Steps) {
        let rows = self.spans[0].start.subtree(top);
        // The content of a file that was too large to copy is in the moved folder.
        let is_ready = |step: &Step| matches!(step.action, Action::Restore | Action::Cannot(_));
        let returns =
            |row: &Row| row.kind == Kind::Repository || steps.get(&PathKey(row.path.clone())).is_some_and(is_ready);
        if !self.is_wanted(top) || !rows.iter().all(returns) {
            return;
        }
        for row in rows {
            let step = steps.entry(PathKey(row.path.clone())).or_insert_with(|| step_of(row, true));
            step.action = Action::Restore;
            step.whole = Some(top.into());
        }
    }
}

/// Returns the step of an entry of a moved folder.
fn step_of(row: &Row, returns: bool) -> Step {
    Step {
        path: row.path.clone(),
        then: returns.then(|| row.clone()),
        now: (!returns).then(|| row.clone()),
        action: if returns { Action::Restore } else { Action::Delete },
        change: if returns { ChangeKind::Deleted } else { ChangeKind::Created },
        link_to: None,
        whole: None,
        note: None,
    }
}

/// Returns the wanted folders of repositories, without those inside others.
fn repositories(state: &State, is_wanted: impl Fn(&[u8]) -> bool) -> Vec<Box<[u8]>> {
    let rows = state.rows().iter().filter(|row| row.kind == Kind::Repository);
    let mut tops: Vec<&[u8]> = rows.map(|row| folder_of_repository(&row.path)).collect();
    tops.retain(|top| !top.is_empty() && is_wanted(top));
    tops.sort_by(|one, two| compare_paths(one, two));
    let mut outermost: Vec<Box<[u8]>> = Vec::new();
    for top in tops {
        if outermost.last().is_none_or(|last| !is_within(top, last)) {
            outermost.push(top.into());
        }
    }
    outermost
}
