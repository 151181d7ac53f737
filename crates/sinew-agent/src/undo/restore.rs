//! Plans and executes undo and redo.

use std::collections::HashMap;
use std::time::Duration;

use sinew::base::{CancelToken, Error, ErrorCode, Result};
use sinew::checkpoint::{Action, Force, Plan, PlanEntry, RestoreOptions, RestoreResult};
use sinew::diff::{ChangeKind, DiffOptions, diff};

use super::record::UndoRecord;
use super::store::CheckpointStore;
use super::turns::{History, Turn};

/// The maximum number of bytes of the contents whose lines are counted.
const MOST_COUNTED: u64 = 8 << 20;
/// The time limit for the comparison of very different texts.
const COUNT_EFFORT: Duration = Duration::from_millis(20);

/// The options of an undo.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndoRequest {
    /// The number of turns, counted from the latest one that is not undone yet; at least 1. A larger number than there
    /// are undoes all.
    pub turns: usize,
    /// Paths below the directory, to which the undo is restricted. Default: all.
    pub paths: Option<Vec<Vec<u8>>>,
    /// The kept paths that are restored nevertheless.
    pub force: Force,
    /// Files below the directory that the caller keeps, with the reasons.
    pub keep: Vec<(Vec<u8>, String)>,
}

impl Default for UndoRequest {
    fn default() -> UndoRequest {
        UndoRequest { turns: 1, paths: None, force: Force::None, keep: Vec::new() }
    }
}

impl UndoRequest {
    fn options(&self, spans: Option<Vec<(String, String)>>) -> RestoreOptions {
        RestoreOptions {
            spans,
            paths: self.paths.clone(),
            force: self.force.clone(),
            keep: self.keep.clone(),
            ..RestoreOptions::default()
        }
    }
}

/// The actions that an undo or a redo would perform.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UndoPlan {
    /// The turns that are undone, oldest first; empty for a redo.
    pub turns: Vec<Turn>,
    /// The checkpoint that is restored; `None` if the turns changed nothing.
    pub checkpoint: Option<String>,
    /// The actions.
    pub plan: Plan,
    /// The number of changed lines by path, for texts that are not too large.
    pub lines: HashMap<Vec<u8>, LineCounts>,
    options: RestoreOptions,
}

impl UndoPlan {
    /// Returns true if the undo is restricted to some paths.
    pub(super) fn is_restricted(&self) -> bool {
        self.options.is_restricted()
    }

    /// Restricts the plan to some of its entries, without the entries below them.
    pub fn select(&mut self, paths: Vec<Vec<u8>>) {
        self.options.entries = Some(paths);
    }

    /// Keeps files below the directory, with these reasons, unless they are forced.
    pub fn keep(&mut self, files: Vec<(Vec<u8>, String)>) {
        self.options.keep.extend(files);
    }

    /// Restores the paths that the plan keeps as well, regardless of who changed them. Files that change later are kept.
    pub fn force(&mut self) {
        let kept = self.plan.entries.iter().filter(|entry| matches!(entry.action, Action::Keep(_)));
        self.options.force = Force::Entries(kept.map(|entry| entry.path.clone()).collect());
    }
}

/// The result of an undo or a redo.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UndoResult {
    /// The turns that were undone, oldest first; empty for a redo.
    pub turns: Vec<Turn>,
    /// The actions that were performed.
    pub restored: RestoreResult,
    /// The entry for the session; `None` if nothing was done.
    pub record: Option<UndoRecord>,
    /// Whether it was restricted to some paths.
    pub(super) is_restricted: bool,
}

/// The numbers of lines of a change that is undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineCounts {
    /// The lines that the change added.
    pub added: usize,
    /// The lines that the change removed.
    pub removed: usize,
}

impl LineCounts {
    /// Counts the lines between two contents; `None` if one is not a text.
    fn of(old: &[u8], new: &[u8]) -> Option<LineCounts> {
        let text = |bytes| std::str::from_utf8(bytes).ok().filter(|text| !text.contains('\0'));
        let options = DiffOptions { effort: COUNT_EFFORT, ..DiffOptions::default() };
        let changes = diff(text(old)?, text(new)?, &options, &CancelToken::never()).ok()?;
        let count = |kind| {
            let changes = changes.iter().filter(|change| change.kind == kind);
            changes.map(|change| change.text.lines().count()).sum()
        };
        Some(LineCounts { added: count(ChangeKind::Added), removed: count(ChangeKind::Removed) })
    }
}

/// Plans a restore, and counts the lines of each change.
fn plan_counted(
    store: &CheckpointStore,
    checkpoint: &str,
    options: &RestoreOptions,
) -> Result<(Plan, HashMap<Vec<u8>, LineCounts>)> {
    let mut lines = HashMap::new();
    let mut see = |entry: &PlanEntry, old: &[u8], new: &[u8]| {
        if let Some(counts) = LineCounts::of(old, new).filter(|counts| counts.added + counts.removed > 0) {
            lines.insert(entry.path.clone(), counts);
        }
    };
    let checkpoints = store.checkpoints()?;
    let plan = checkpoints.plan_with_contents(checkpoint, options, MOST_COUNTED, &CancelToken::never(), &mut see);
    Ok((plan.map_err(|error| lost(&error))?, lines))
}

/// Plans the undo of the latest turns on the branch of a session. Nothing is written.
///
/// # Errors
/// Returns `NotFound` if no turn is left, and an error if undo is off for the directory or a checkpoint is lost.
pub fn plan_undo(store: &CheckpointStore, history: History, request: &UndoRequest) -> Result<UndoPlan> {
    let turns = history.into_undoable(request.turns, request.force != Force::None);
    if turns.is_empty() {
        return Err(Error::new(ErrorCode::NotFound, "there is no turn to undo"));
    }
    plan_turns(store, turns, request)
}

fn plan_turns(store: &CheckpointStore, turns: Vec<Turn>, request: &UndoRequest) -> Result<UndoPlan> {
    let spans: Vec<(String, String)> = turns.iter().flat_map(|turn| turn.spans.iter().cloned()).collect();
    let Some(first) = spans.iter().map(|(start, _)| start).min().cloned() else {
        // If undo is off, this returns its error instead of an empty plan.
        store.checkpoints()?;
        let mut plan = Plan::default();
        add_gaps(&mut plan, &turns);
        return Ok(UndoPlan { turns, plan, ..UndoPlan::default() });
    };
    let options = request.options(Some(spans));
    let (mut plan, lines) = plan_counted(store, &first, &options)?;
    name_jobs(&mut plan, &turns);
    add_gaps(&mut plan, &turns);
    Ok(UndoPlan { turns, checkpoint: Some(first), plan, lines, options })
}

/// Plans the redo of the latest undo. Nothing is written.
///
/// # Errors
/// Returns `NotFound` if nothing was undone, and otherwise the errors of [`plan_undo`].
pub fn plan_redo(store: &CheckpointStore, mut history: History, request: &UndoRequest) -> Result<UndoPlan> {
    let Some(checkpoint) = history.redos.pop() else {
        return Err(Error::new(ErrorCode::NotFound, "there is no undo to redo"));
    };
    let options = request.options(None);
    let (plan, lines) = plan_counted(store, &checkpoint, &options)?;
    Ok(UndoPlan { turns: Vec::new(), checkpoint: Some(checkpoint), plan, lines, options })
}

/// Executes a plan: an undo, or a redo if it names no turns. Files that changed after the plan was made are kept, and
/// the result names them.
///
/// # Errors
/// Returns an error if a checkpoint is lost or the store cannot be written.
pub fn carry_out(store: &CheckpointStore, plan: UndoPlan) -> Result<UndoResult> {
    let UndoPlan { turns, checkpoint, options, .. } = plan;
    let ids: Vec<String> = turns.iter().map(|turn| turn.id.clone()).collect();
    // The next undo continues with the turn before, also if this one changed nothing.
    let is_restricted = options.is_restricted();
    let complete = !is_restricted;
    let Some(checkpoint) = checkpoint else {
        let record = complete.then_some(UndoRecord::Undo { turns: ids, redo: None, complete, kept: false });
        return Ok(UndoResult { turns, record, is_restricted, ..UndoResult::default() });
    };
    let mut restored =
        store.checkpoints()?.restore(&checkpoint, &options, &CancelToken::never()).map_err(|error| lost(&error))?;
    name_jobs(&mut restored.plan, &turns);
    add_gaps(&mut restored.plan, &turns);
    let kept = restored.plan.entries.iter().any(|entry| matches!(entry.action, Action::Keep(_)));
    let record = match (&restored.redo, ids.is_empty()) {
        (redo, false) if complete || redo.is_some() => {
            Some(UndoRecord::Undo { turns: ids, redo: redo.clone(), complete, kept })
        }
        // A redo of some paths leaves the other paths to the next redo.
        (_, true) if complete => Some(UndoRecord::Redo { redo: checkpoint }),
        _ => None,
    };
    Ok(UndoResult { turns, restored, record, is_restricted })
}

/// Adds what the checkpoints of the turns do not cover.
fn add_gaps(plan: &mut Plan, turns: &[Turn]) {
    for gap in turns.iter().flat_map(|turn| &turn.gaps) {
        if !plan.coverage.gaps.contains(gap) {
            plan.coverage.gaps.push(gap.clone());
        }
    }
}

/// Adds the jobs that may have made the changes after the turns.
fn name_jobs(plan: &mut Plan, turns: &[Turn]) {
    let Some(jobs) = turns.last().map(|turn| &turn.jobs).filter(|jobs| !jobs.is_empty()) else { return };
    for entry in &mut plan.entries {
        if let Action::Keep(reason) = &mut entry.action
            && reason.ends_with("since")
        {
            *reason = format!("{reason}; background commands kept running after the turn: {}", jobs.join(", "));
        }
    }
}

fn lost(error: &Error) -> Error {
    match error.code() {
        ErrorCode::NotFound | ErrorCode::InvalidData => {
            let text = format!("the checkpoint is lost, nothing was changed: {}", error.message());
            Error::new(error.code(), text)
        }
        code => Error::new(code, error.message()),
    }
}
