//! Decides what a restore does with each path.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use crate::answer::{Action, ChangeKind, EntryKind, Plan, PlanEntry, RepositoryMove};
use crate::changes::{change_of, entry_kind, is_regrouped};
use crate::options::{Force, RestoreOptions};
use crate::repository::{self, Position};
use crate::row::{Content, Gap, Kind, Row, compare_paths, is_within, parent_of};
use crate::scan::shown;
use crate::state::{State, merge};
use crate::stretches::{Claims, is_claimed};

/// A span of work, with the states at its start and end.
#[derive(Debug, Clone)]
pub(crate) struct Span {
    pub(crate) start: Arc<State>,
    pub(crate) end: Arc<State>,
    /// The paths that the session of the span announced before it wrote to them.
    pub(crate) claims: Claims,
    /// The work of other sessions during the span.
    pub(crate) others: Vec<OtherWork>,
}

/// The work of another session during a span.
#[derive(Debug, Clone)]
pub(crate) struct OtherWork {
    /// The states at its start and end; `None` if they are unknown.
    pub(crate) states: Option<(Arc<State>, Arc<State>)>,
    /// Whether the session wrote only the claimed paths.
    pub(crate) is_edit: bool,
    pub(crate) claims: Claims,
}

impl OtherWork {
    /// Returns true if the session may have changed a path.
    fn covers(&self, path: &[u8]) -> bool {
        if self.is_edit && !is_claimed(&self.claims, path) {
            return false;
        }
        self.states.as_ref().is_none_or(|(start, end)| {
            let (old, new) = (start.find(path), end.find(path));
            !is_same(old, new) || is_regrouped(start, old, end, new)
        })
    }
}

impl Span {
    /// Returns true if another session may have made the change of a path.
    fn is_shared(&self, path: &[u8]) -> bool {
        let is_own = is_claimed(&self.claims, path);
        self.others.iter().any(|other| other.covers(path) && (!is_own || is_claimed(&other.claims, path)))
    }
}

/// The action for one path.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    pub(crate) path: Box<[u8]>,
    /// The entry to restore; `None` to delete it.
    pub(crate) then: Option<Row>,
    /// The current entry.
    pub(crate) now: Option<Row>,
    pub(crate) action: Action,
    pub(crate) change: ChangeKind,
    /// Another path of the same file if it had several hard links: the file becomes a hard link to it.
    pub(crate) link_to: Option<Box<[u8]>>,
    /// The folder of a repository that is moved as a whole, if the entry is in one.
    pub(crate) whole: Option<Box<[u8]>>,
    pub(crate) note: Option<String>,
}

/// The inputs of a plan.
pub(crate) struct Planner<'a> {
    /// The spans in chronological order, at least one.
    pub(crate) spans: &'a [Span],
    pub(crate) now: &'a State,
    pub(crate) options: &'a RestoreOptions,
    /// Returns whether the content of a file is available.
    pub(crate) has_content: &'a dyn Fn(&Row) -> bool,
    /// Returns whether the undone restore moved the folder at a path into the store.
    pub(crate) is_moved: &'a dyn Fn(&[u8]) -> bool,
}

/// The steps by path; a directory comes before the entries below it.
pub(crate) type Steps = BTreeMap<PathKey, Step>;

/// A path that is ordered by [`compare_paths`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PathKey(pub(crate) Box<[u8]>);

impl PartialOrd for PathKey {
    fn partial_cmp(&self, other: &PathKey) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for PathKey {
    fn cmp(&self, other: &PathKey) -> std::cmp::Ordering {
        compare_paths(&self.0, &other.0)
    }
}

fn key(path: &[u8]) -> PathKey {
    PathKey(path.into())
}

/// Returns true if a path is `folder`, as callers name it, or below it.
fn is_below(path: &[u8], folder: &[u8]) -> bool {
    folder == b"." || is_within(path, folder)
}

/// Returns true if `entries` contains a path, as callers name it.
fn is_entry(path: &[u8], entries: &[Vec<u8>]) -> bool {
    let path = crate::changes::public_path(path);
    entries.contains(&path)
}

fn is_same(one: Option<&Row>, two: Option<&Row>) -> bool {
    match (one, two) {
        (None, None) => true,
        (Some(one), Some(two)) => one.is_equal(two),
        _ => false,
    }
}

impl Planner<'_> {
    /// Decides about every path that the spans changed.
    pub(crate) fn steps(&self) -> Steps {
        let mut steps = Steps::new();
        for path in self.changed_paths() {
            if let Some(step) = self.step(&path) {
                steps.insert(PathKey(path), step);
            }
        }
        self.move_repositories(&mut steps);
        self.add_missing_parents(&mut steps);
        self.keep_below_unrestored(&mut steps);
        self.keep_full_directories(&mut steps);
        steps
    }

    pub(crate) fn is_forced(&self, path: &[u8]) -> bool {
        match &self.options.force {
            Force::None => false,
            Force::All => true,
            Force::Paths(paths) => paths.iter().any(|folder| is_below(path, folder)),
            Force::Entries(entries) => is_entry(path, entries),
        }
    }

    pub(crate) fn is_wanted(&self, path: &[u8]) -> bool {
        let RestoreOptions { paths, entries, .. } = self.options;
        paths.as_ref().is_none_or(|paths| paths.iter().any(|folder| is_below(path, folder)))
            && entries.as_ref().is_none_or(|entries| is_entry(path, entries))
    }

    /// Returns the paths that differ between the start and end of a span.
    fn changed_paths(&self) -> Vec<Box<[u8]>> {
        let mut paths: HashSet<Box<[u8]>> = HashSet::new();
        for Span { start, end, .. } in self.spans {
            merge(start, end, |old, new| {
                let Some(row) = new.or(old) else { return };
                let is_changed = change_of(old, new, is_regrouped(start, old, end, new)).is_some();
                if is_changed && self.is_wanted(&row.path) && row.kind != Kind::Repository {
                    paths.insert(row.path.clone());
                }
            });
        }
        let mut paths: Vec<Box<[u8]>> = paths.into_iter().collect();
        paths.sort_by(|one, two| compare_paths(one, two));
        paths
    }

    /// Follows the changes of a path backwards. Returns the entry to restore, or why the current one is kept.
    pub(crate) fn fold(&self, path: &[u8]) -> (Option<&Row>, Option<String>) {
        let mut value = self.now.find(path);
        let mut first = None;
        let mut reason = None;
        for (at, span) in self.spans.iter().enumerate().rev() {
            let Span { start, end, .. } = span;
            let (old, new) = (start.find(path), end.find(path));
            if is_same(old, new) && !is_regrouped(start, old, end, new) {
                continue;
            }
            first = Some(old);
            if reason.is_none() && span.is_shared(path) {
                reason = Some("two were at work".to_string());
            }
            if is_same(value, new) || is_same(value, old) {
                value = old;
                continue;
            }
            if reason.is_none() {
                let is_last = at + 1 == self.spans.len() || is_same(value, self.now.find(path));
                reason = Some(match (value, new) {
                    _ if !is_last => "changed by someone else in between".to_string(),
                    (None, Some(_)) => "deleted or moved since".into(),
                    (Some(_), None) => "created again since".into(),
                    _ => "changed since".into(),
                });
            }
        }
        match reason {
            None => (value, None),
            Some(reason) => (first.flatten(), Some(reason)),
        }
    }

    fn step(&self, path: &[u8]) -> Option<Step> {
        let now = self.now.find(path);
        let (then, reason) = self.fold(path);
        let reason = reason.or_else(|| self.kept_by_caller(path));
        let state = &*self.spans[0].start;
        let link_to = then.and_then(|row| self.anchor(row));
        let is_linked = match (&link_to, now) {
            (Some(anchor), Some(now)) => self.now.find(anchor).is_some_and(|other| other.is_same_inode(now)),
            (Some(_), None) => false,
            // A file without other hard links is copied if its content is now shared with other paths.
            (None, Some(now)) => {
                now.kind != Kind::File
                    || self.now.names_of(now).len() < 2
                    || then.is_some_and(|then| then.is_same_inode(now) || state.names_of(then).len() > 1)
            }
            (None, None) => true,
        };
        if reason.is_none() && is_same(then, now) && is_linked {
            return None;
        }
        let forced = reason.is_some() && self.is_forced(path);
        let change = change_of(then, now, !is_linked)?;
        let action = match reason {
            Some(reason) if !forced => Action::Keep(reason),
            _ => self.action(path, then, now),
        };
        let is_shared = [(then, state), (now, self.now)]
            .into_iter()
            .any(|(row, state)| row.is_some_and(|row| state.is_shared_outside(row)));
        let note = is_shared.then(|| "shared with a file outside".to_string());
        Some(Step {
            path: path.into(),
            then: then.cloned(),
            now: now.cloned(),
            action,
            change,
            link_to,
            whole: None,
            note,
        })
    }

    fn kept_by_caller(&self, path: &[u8]) -> Option<String> {
        let kept = self.options.keep.iter().find(|(kept, _)| kept == path);
        kept.map(|(_, reason)| reason.clone())
    }

    /// Returns the path to which the other hard links are created: one that is unchanged, otherwise the first.
    fn anchor(&self, row: &Row) -> Option<Box<[u8]>> {
        let state = &*self.spans[0].start;
        let names = state.names_of(row);
        if names.len() < 2 {
            return None;
        }
        let untouched =
            |name: &&&[u8]| self.now.find(name).is_some_and(|now| now.is_equal(row) && now.is_same_inode(row));
        let anchor = names.iter().find(untouched).or(names.first())?;
        (**anchor != *row.path).then(|| (*anchor).into())
    }

    fn action(&self, path: &[u8], then: Option<&Row>, now: Option<&Row>) -> Action {
        let is_special = |row: &Row| row.kind == Kind::Special && !row.is_fifo();
        if now.is_some_and(is_special) && then.is_none_or(|then| now.is_none_or(|now| !now.has_same_content(then))) {
            return Action::Cannot("a socket or device is not deleted, because it cannot be made again".into());
        }
        let Some(then) = then else {
            return match self.spans[0].start.knows(path) {
                true => Action::Delete,
                false => Action::Keep("it is not known whether it existed".into()),
            };
        };
        match (then.kind, &then.content) {
            (Kind::Special, _) if is_special(then) && now.is_none_or(|now| !now.has_same_content(then)) => {
                Action::Cannot("a socket or device is not kept".into())
            }
            (Kind::File, _) if now.is_some_and(|now| now.has_same_content(then)) => Action::Restore,
            (Kind::File, content) if !(self.has_content)(then) => Action::Cannot(missing(content)),
            _ => Action::Restore,
        }
    }

    /// Adds the directories that a restored entry needs and that others removed.
    fn add_missing_parents(&self, steps: &mut Steps) {
        let restored: Vec<Box<[u8]>> =
            steps.values().filter(|step| step.action == Action::Restore).map(|step| step.path.clone()).collect();
        for path in restored {
            let mut folder = parent_of(&path);
            while !folder.is_empty() && self.now.find(folder).is_none() && !steps.contains_key(&key(folder)) {
                let Some(then) = self.spans[0].start.find(folder).filter(|row| row.kind == Kind::Directory) else {
                    break;
                };
                let step = Step {
                    path: folder.into(),
                    then: Some(then.clone()),
                    now: None,
                    action: Action::Restore,
                    change: ChangeKind::Deleted,
                    link_to: None,
                    whole: None,
                    note: None,
                };
                steps.insert(key(folder), step);
                folder = parent_of(folder);
            }
        }
    }

    /// Keeps the entries below a path that stays and is not a directory.
    fn keep_below_unrestored(&self, steps: &mut Steps) {
        let blocked: Vec<(PathKey, Box<[u8]>)> = steps
            .iter()
            .filter(|(_, step)| step.action == Action::Restore)
            .filter_map(|(path, step)| {
                let mut folder = parent_of(&step.path);
                while !folder.is_empty() {
                    let becomes_directory = match steps.get(&key(folder)) {
                        Some(step) if step.action == Action::Restore => {
                            step.then.as_ref().is_some_and(|row| row.kind == Kind::Directory)
                        }
                        _ => self.now.find(folder).is_some_and(|row| row.kind == Kind::Directory),
                    };
                    if !becomes_directory {
                        return Some((path.clone(), folder.into()));
                    }
                    folder = parent_of(folder);
                }
                None
            })
            .collect();
        for (path, folder) in blocked {
            if let Some(step) = steps.get_mut(&path) {
                step.action = Action::Keep(format!("{} is no directory now", shown(&folder)));
            }
        }
    }

    /// Keeps directories that should be removed but contain an entry that stays.
    fn keep_full_directories(&self, steps: &mut Steps) {
        let goes = |step: &Step| match step.action {
            Action::Delete => true,
            Action::Restore => step.then.as_ref().is_none_or(|row| row.kind != Kind::Directory),
            _ => false,
        };
        let candidates: Vec<PathKey> = steps
            .iter()
            .filter(|(_, step)| goes(step) && step.now.as_ref().is_some_and(|row| row.kind == Kind::Directory))
            .map(|(path, _)| path.clone())
            .collect();
        // From the deepest up, so that a kept directory also keeps its parent.
        for path in candidates.into_iter().rev() {
            let stays = self.now.subtree(&path.0).iter().skip(1).find(|row| {
                // Only direct entries are checked; a deeper one has kept its own directory already.
                parent_of(&row.path) == &*path.0
                    && steps.get(&PathKey(row.path.clone())).is_none_or(|step| step.action != Action::Delete)
            });
            if let (Some(row), Some(step)) = (stays, steps.get_mut(&path)) {
                step.action = Action::Keep(format!("holds {}, which stays", shown(&row.path)));
            }
        }
    }

    /// Returns the repositories whose position differs between the start and end of a span.
    pub(crate) fn repositories(&self, root: &std::path::Path) -> Vec<RepositoryMove> {
        let mut moves: BTreeMap<Box<[u8]>, RepositoryMove> = BTreeMap::new();
        for Span { start, end, .. } in self.spans {
            merge(start, end, |old, new| {
                let is_data = |row: &Row| row.kind == Kind::Repository;
                let (was, is) = (old.filter(|row| is_data(row)), new.filter(|row| is_data(row)));
                let content = |row: Option<&Row>| row.map(|row| row.content.clone());
                let Some(row) = was.or(is).filter(|_| content(was) != content(is)) else { return };
                if !self.is_wanted(&row.path) || moves.contains_key(&row.path) {
                    return;
                }
                let now = self.now.find(&row.path).filter(|row| is_data(row));
                if content(was) != content(now) {
                    moves.insert(row.path.clone(), repository_move(root, &row.path, was, now));
                }
            });
        }
        moves.into_values().collect()
    }
}

fn repository_move(root: &std::path::Path, path: &[u8], was: Option<&Row>, now: Option<&Row>) -> RepositoryMove {
    let position = |row: Option<&Row>| {
        row.map(|row| match &row.content {
            Content::Position(bytes) => Position::decode(bytes),
            _ => Position::default(),
        })
    };
    let (then, now) = (position(was), position(now));
    let command = match (&then, &now) {
        (Some(then), Some(now)) => {
            repository::command(&root.join(crate::directory::as_name(parent_of(path))), now, then)
        }
        _ => None,
    };
    let index = matches!((&then, &now), (Some(then), Some(now)) if then.index != now.index);
    let shown = |position: Option<Position>| position.map(|position| position.shown());
    RepositoryMove { path: path.into(), from: shown(then), to: shown(now), index, command }
}

fn missing(content: &Content) -> String {
    match content {
        Content::Missing(Gap::TooLarge) => "its old content was too large to keep",
        Content::Missing(Gap::OverBudget) => "its old content was beyond the limit of one checkpoint",
        Content::Missing(Gap::Unreadable) | Content::Pending => "its old content could not be read",
        Content::Missing(Gap::StoreFailed) => "its old content was not kept, because the store could not be written",
        _ => "its old content is no longer in the store",
    }
    .to_string()
}

/// Converts steps to the entries of a plan.
pub(crate) fn entries(steps: &Steps) -> Vec<PlanEntry> {
    let kind =
        |step: &Step| step.then.as_ref().or(step.now.as_ref()).map_or(EntryKind::File, |row| entry_kind(row.kind));
    steps
        .values()
        .map(|step| PlanEntry {
            path: crate::changes::public_path(&step.path),
            action: step.action.clone(),
            change: step.change,
            kind: kind(step),
            note: step.note.clone(),
        })
        .collect()
}

/// Creates a plan from steps.
pub(crate) fn plan(planner: &Planner<'_>, steps: &Steps, root: &std::path::Path, file_limit: u64) -> Plan {
    Plan {
        entries: entries(steps),
        repositories: planner.repositories(root),
        coverage: crate::changes::coverage(&planner.spans[0].start, file_limit),
    }
}
