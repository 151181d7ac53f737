//! Children that work in a copy of the project: the copy, and the merge of its changes at the end.

use std::path::PathBuf;
use std::sync::Arc;

use sinew::base::{CancelToken, Error, Result};
use sinew::view::{
    ApplyOptions, ApplyResult, Changes, ChangesOptions, IsolatedView, Leftover, OpenOptions, Outcome, Remainder,
    VIEW_LIFETIME, ViewMode, leftovers, remove_expired,
};
use sinew_agent::subagent::{ChangedFile, ChildChanges};
use tokio_util::sync::CancellationToken;

use super::super::{Control, ControlError};
use crate::app::OpenSession;
use crate::app::workplace::ChildWorkspace;
use crate::config::work_tree;

/// A child's copy of the project.
pub(super) struct ChildView {
    view: IsolatedView,
    pub(super) workplace: Arc<ChildWorkspace>,
}

impl ChildView {
    /// Returns the text for the child about its copy.
    pub(super) fn introduction(&self, is_again: bool) -> String {
        let ChildWorkspace { cwd, root, .. } = &*self.workplace;
        let new =
            if is_again { " It is a new copy: the changes of your earlier work were merged or are gone." } else { "" };
        let mut text = format!(
            "You work in a copy of the project: {}. Use relative paths, or paths below it; {} itself cannot be changed.{new} Your \
             changes are merged into the project when your result is accepted.",
            cwd.display(),
            root.display()
        );
        if !self.view.missing().is_empty() {
            let missing: Vec<String> = self.view.missing().iter().take(20).map(|path| shown(path)).collect();
            text.push_str(&format!(" The copy lacks these ignored files: {}.", missing.join(", ")));
        }
        text
    }

    /// Merges the changes of a child that completed, and lists those of any other child. Keeps a copy with changes that were
    /// not merged, and removes every other copy.
    pub(super) fn close(self, is_completed: bool) -> ChildChanges {
        let ChildView { mut view, workplace } = self;
        let never = CancelToken::never();
        let path = workplace.path.to_string_lossy().into_owned();
        let mut changes = match is_completed {
            true => view.apply(&ApplyOptions::default(), &never).map(applied),
            false => view.changes(&ChangesOptions::default(), &never).map(waiting),
        }
        // A view that cannot be read may contain changes.
        .unwrap_or_else(|error| ChildChanges { error: Some(error.message().to_string()), ..ChildChanges::default() });
        changes.mode = view.mode().as_str().into();
        if changes.error.is_some()
            || changes.files.iter().any(ChangedFile::is_open)
            || !changes.commits.is_empty() && !is_completed
        {
            changes.view = Some(path);
        } else if let Err(error) = view.discard() {
            changes.error = Some(error.message().to_string());
        }
        changes
    }
}

fn shown(path: &[u8]) -> String {
    String::from_utf8_lossy(path).into_owned()
}

fn commits(remainder: &Remainder) -> Vec<String> {
    remainder
        .commits
        .iter()
        .map(|commit| format!("{} {}", &commit.id[..commit.id.len().min(12)], commit.subject))
        .collect()
}

fn applied(result: ApplyResult) -> ChildChanges {
    let files = result.files.iter().map(|file| ChangedFile {
        path: shown(&file.path),
        outcome: file.outcome.as_str().into(),
        reason: match &file.outcome {
            Outcome::Kept(reason) | Outcome::Conflict { reason, merged: None } => Some(reason.clone()),
            Outcome::Conflict { reason, merged: Some(merged) } => {
                Some(format!("{reason}; both versions are in {}", merged.display()))
            }
            _ => None,
        },
    });
    ChildChanges { files: files.collect(), commits: commits(&result.remainder), ..ChildChanges::default() }
}

fn waiting(changes: Changes) -> ChildChanges {
    let files = changes.entries.iter().map(|entry| ChangedFile {
        path: shown(&entry.path),
        outcome: "waiting".into(),
        reason: None,
    });
    ChildChanges { files: files.collect(), commits: commits(&changes.remainder), ..ChildChanges::default() }
}

/// The label of a child's view: the session and the id.
fn label(session: &str, id: &str) -> String {
    format!("{session}/{id}")
}

/// Returns the id of the child in the label of a view; empty if the view has no label.
fn child_of(left: &Leftover) -> &str {
    left.label.as_deref().and_then(|label| label.rsplit('/').next()).unwrap_or_default()
}

impl Control {
    /// Opens a copy of the directory in which the parent works. A cancelled call leaves nothing behind.
    pub(super) fn open_view(
        &self,
        mode: ViewMode,
        id: &str,
        parent: &OpenSession,
        cancel: &CancellationToken,
    ) -> Result<ChildView> {
        let paths = &self.app.startup.paths;
        let cwd = parent.workplace.as_ref().map_or(&paths.cwd, |workplace| &workplace.cwd);
        let root = match &parent.workplace {
            Some(workplace) => workplace.path.clone(),
            None => work_tree(cwd, std::env::home_dir().as_deref()),
        };
        let session = self.session().agent.session().id().to_string();
        let options =
            OpenOptions { mode, label: Some(label(&session, id)), home: paths.home.clone(), ..self.app.view_options() };
        let (handle, token) = sinew::base::CancelHandle::new();
        let stop = cancel.clone();
        let watch = tokio::spawn(async move {
            stop.cancelled().await;
            handle.cancel();
        });
        let opened = tokio::task::block_in_place(|| IsolatedView::open(&root, &options, &token));
        watch.abort();
        let view = opened?;
        let workplace = Arc::new(self.app.workplace(&view, cwd));
        Ok(ChildView { view, workplace })
    }

    /// Returns a warning for each copy that a program left behind when it was killed, and removes those that are too old.
    /// Each is reported once.
    pub(super) fn left_views(&self) -> Result<Vec<String>> {
        let home = &self.app.startup.paths.home;
        let never = CancelToken::never();
        remove_expired(home, VIEW_LIFETIME, &never)?;
        let left = leftovers(home, &never)?.into_iter().filter(|left| left.is_new);
        let warning = |left: Leftover| {
            let id = child_of(&left);
            let path = home.join("isolated").join(&left.id);
            format!(
                "Subagent {id} left changes of {} in {}: merge them with /tasks apply {id}, or remove them with /tasks drop {id}",
                left.root.display(),
                path.display()
            )
        };
        Ok(left.map(warning).collect())
    }

    /// Opens the newest copy of a child that was kept.
    fn kept_view(&self, id: &str) -> Result<(PathBuf, IsolatedView)> {
        let home = &self.app.startup.paths.home;
        let never = CancelToken::never();
        let session = self.session().agent.session().id().to_string();
        let own = label(&session, id);
        let found = leftovers(home, &never)?;
        let is_own = |left: &&Leftover| left.label.as_deref().is_some_and(|label| label.eq_ignore_ascii_case(&own));
        let left = found.iter().filter(|left| child_of(left).eq_ignore_ascii_case(id));
        // The newest copy of this session, or otherwise of another session, which was reported at the start.
        let left = left.max_by_key(is_own);
        let left = left.ok_or_else(|| Error::invalid(format!("{id}: there is no copy with changes")))?;
        IsolatedView::reopen(home, &left.id, &never).map(|view| (left.root.clone(), view))
    }

    /// Merges the changes in the copy of a child, and removes the copy unless there are conflicts. Returns what happened.
    ///
    /// # Errors
    /// Returns an error if no copy is kept, a program uses it, or the changes cannot be applied.
    pub async fn apply_view(&self, id: &str) -> Result<String, ControlError> {
        self.session().agent.record_work(id, || self.apply_now(id)).await
    }

    fn apply_now(&self, id: &str) -> Result<String, ControlError> {
        let (root, mut view) = self.kept_view(id)?;
        let result = view.apply(&ApplyOptions::default(), &CancelToken::never())?;
        let conflicts: Vec<String> = result.conflicts().map(|file| shown(&file.path)).collect();
        let done = result.files.len() - conflicts.len();
        let text = format!("{done} files merged into {}.", root.display());
        if conflicts.is_empty() {
            view.discard()?;
            return Ok(text);
        }
        let path = view.path().display();
        Ok(format!("{text} Conflicts: {}. They are in {path}; /tasks drop {id} removes it.", conflicts.join(", ")))
    }

    /// Removes the copy of a child with its changes.
    ///
    /// # Errors
    /// Returns an error if no copy is kept, or a program uses it.
    pub fn drop_view(&self, id: &str) -> Result<String, ControlError> {
        tokio::task::block_in_place(|| self.kept_view(id).and_then(|(_, view)| view.discard()))?;
        Ok(format!("The changes of {id} were removed."))
    }
}

/// Returns the mode with a name that an agent file may contain.
pub(super) fn mode_named(name: &str) -> ViewMode {
    ViewMode::from_name(name).unwrap_or_default()
}
