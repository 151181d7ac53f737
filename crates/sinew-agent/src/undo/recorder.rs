//! Records the spans of a turn in which its calls and jobs run.

use std::collections::{BTreeSet, HashSet};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use serde_json::Value;
use sinew::base::Result;
use sinew::checkpoint::CheckpointKind;
use sinew_tools::semantics::{Semantics, Subject};

use super::hook_work::HookWork;
use super::record::UndoRecord;
use super::store::{Border, CheckpointStore, Proof};

/// Returns the ids of the running background jobs.
pub type RunningJobs = Arc<dyn Fn() -> Vec<String> + Send + Sync>;

/// A warning for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum UndoWarning {
    /// Undo is off, with the whole text.
    Off(String),
    /// Some calls are not covered, with the reason.
    Uncovered(String),
}

impl std::fmt::Display for UndoWarning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            UndoWarning::Off(text) => f.write_str(text),
            UndoWarning::Uncovered(reason) => write!(f, "undo does not cover this call: {reason}"),
        }
    }
}

/// Creates a checkpoint at both ends of each span in which calls, jobs or hooks of a turn run. Changes outside of these
/// spans do not belong to the turn: the user continues to work while the model thinks.
pub struct TurnRecorder {
    store: Arc<CheckpointStore>,
    session: String,
    jobs: RunningJobs,
    /// True while the turn of a parent records the changes.
    is_covered: AtomicBool,
    turn: Mutex<Option<OpenTurn>>,
    unproven: Mutex<Option<UnprovenTurn>>,
    pub(super) hooks: Mutex<HookWork>,
}

/// A turn that ran programs and whose last checkpoint relied on change notifications.
#[derive(Debug)]
struct UnprovenTurn {
    /// The entry that started it.
    id: String,
    /// Its last checkpoint.
    end: String,
}

/// A turn that is running.
#[derive(Debug, Default)]
struct OpenTurn {
    /// Whether only hooks outside of a turn are running.
    is_outside: bool,
    /// The ids of the running calls and hooks.
    running: HashSet<String>,
    stretch: Option<OpenSpan>,
    /// Whether a program ran, so that changes without a notification are possible.
    runs_programs: bool,
    /// The checkpoint at the end of the last span.
    end: Option<String>,
}

/// A span that is open.
#[derive(Debug, Clone)]
struct OpenSpan {
    start: Border,
    /// The directories to scan; `None` for all.
    folders: Option<HashSet<Vec<u8>>>,
}

impl std::fmt::Debug for TurnRecorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TurnRecorder").field("session", &self.session).finish_non_exhaustive()
    }
}

impl TurnRecorder {
    /// Creates the recorder of a session.
    #[must_use]
    pub fn new(store: Arc<CheckpointStore>, session: &str, jobs: RunningJobs) -> TurnRecorder {
        TurnRecorder {
            store,
            session: session.to_string(),
            jobs,
            is_covered: AtomicBool::new(false),
            turn: Mutex::default(),
            unproven: Mutex::default(),
            hooks: Mutex::default(),
        }
    }

    /// Returns the checkpoints of the directory.
    #[must_use]
    pub fn store(&self) -> &Arc<CheckpointStore> {
        &self.store
    }

    /// Starts a turn. If a job is still running, a span starts too. Returns a warning for the user.
    pub(crate) async fn begin_turn(&self) -> Option<UndoWarning> {
        let has_stretch = {
            let mut turn = self.turn.lock();
            // A hook that is still running continues in this turn.
            let hooks = turn.take().filter(|turn| turn.is_outside).unwrap_or_default();
            turn.insert(OpenTurn { is_outside: false, ..hooks }).stretch.is_some()
        };
        if self.is_covered() {
            return None;
        }
        if has_stretch || (self.jobs)().is_empty() {
            return self.off();
        }
        let warning = self.begin_stretch(None).await;
        warning.or_else(|| self.off())
    }

    /// Creates the first checkpoint in the background, while the request is sent.
    pub(crate) fn request_sent(&self) {
        self.store.begin();
    }

    /// Opens a span before a call that can change files, unless one is open. Returns a warning for the user.
    pub(crate) async fn call_started(
        &self,
        call: &str,
        semantics: &Semantics,
        arguments: &Value,
    ) -> Option<UndoWarning> {
        if semantics.effects.changes_nothing() || self.is_covered() {
            return None;
        }
        let is_first = match &mut *self.turn.lock() {
            Some(turn) => {
                let is_first = turn.running.is_empty() && turn.stretch.is_none();
                turn.running.insert(call.to_string());
                turn.runs_programs |= semantics.effects.runs_programs || semantics.effects.unknown;
                is_first
            }
            None => return None,
        };
        let only_edits = !semantics.effects.runs_programs && !semantics.effects.unknown;
        let edited = only_edits.then(|| edited_paths(self.store.root(), semantics, arguments));
        if is_first {
            return self.begin_stretch(edited).await;
        }
        if let Some(edited) = edited.filter(|edited| !edited.is_empty()) {
            let noted = self.blocking(move |store, session| store.note(&edited, session)).await;
            return noted.err().map(|error| UndoWarning::Uncovered(error.message().to_string()));
        }
        None
    }

    /// Opens a span before the hook `id` runs, also outside of a turn, unless one is open. Returns a warning for the user.
    pub(super) async fn hook_started(&self, id: &str) -> Option<UndoWarning> {
        let is_first = {
            let mut turn = self.turn.lock();
            let turn = turn.get_or_insert_with(|| OpenTurn { is_outside: true, ..OpenTurn::default() });
            let is_first = turn.running.is_empty() && turn.stretch.is_none();
            turn.running.insert(id.to_string());
            turn.runs_programs = true;
            is_first
        };
        if is_first { self.begin_stretch(None).await } else { None }
    }

    /// Closes the span after the last running call or hook. Returns the same as [`TurnRecorder::call_ended`].
    pub(super) async fn hook_ended(&self, id: &str) -> Result<Option<UndoRecord>, String> {
        let is_outside = self.turn.lock().as_ref().is_some_and(|turn| turn.is_outside);
        if !is_outside {
            return self.call_ended(id).await;
        }
        let is_last = self.turn.lock().as_mut().is_some_and(|turn| {
            turn.running.remove(id);
            turn.running.is_empty()
        });
        if !is_last {
            return Ok(None);
        }
        // The span ends although jobs run, because their changes outside of a turn do not belong to the hook.
        let ended = self.end_stretch(Vec::new()).await;
        let mut turn = self.turn.lock();
        if turn.as_ref().is_some_and(|turn| turn.is_outside && turn.running.is_empty() && turn.stretch.is_none()) {
            *turn = None;
        }
        ended
    }

    /// Closes the span after the last running call, unless a job runs. Returns the record for the session; an error is
    /// a warning for the user.
    pub(crate) async fn call_ended(&self, call: &str) -> Result<Option<UndoRecord>, String> {
        {
            let mut turn = self.turn.lock();
            let Some(turn) = &mut *turn else { return Ok(None) };
            turn.running.remove(call);
            if !turn.running.is_empty() {
                return Ok(None);
            }
        }
        if (self.jobs)().is_empty() { self.end_stretch(Vec::new()).await } else { Ok(None) }
    }

    /// Ends the turn that the entry `id` started, even if jobs still run. Returns the same as
    /// [`TurnRecorder::call_ended`].
    pub(crate) async fn end_turn(&self, id: &str) -> Result<Option<UndoRecord>, String> {
        let ended = self.end_stretch((self.jobs)()).await;
        let turn = self.turn.lock().take();
        let is_watched = self.store.is_watched();
        let unproven = turn.filter(|turn| turn.runs_programs && is_watched).and_then(|turn| turn.end);
        *self.unproven.lock() = unproven.map(|end| UnprovenTurn { id: id.to_string(), end });
        ended
    }

    /// Scans the directory again after a turn that ran programs. Changes without a notification (for example through a
    /// memory map) are added to the turn. Returns the same as [`TurnRecorder::call_ended`].
    pub(crate) async fn prove(&self) -> Result<Option<UndoRecord>, String> {
        let Some(UnprovenTurn { id, end }) = self.unproven.lock().take() else { return Ok(None) };
        let proven = self.blocking(|store, session| store.prove(session)).await;
        let Proof { before, after, has_several_authors } =
            proven.map_err(|error| format!("undo: {}", error.message()))?;
        // Changes between the turn and a later checkpoint, such as that of a hook, have another author.
        let start = before.map_or(end, |before| before.id);
        // The scan cannot distinguish the changes of several authors.
        let is_new = after.id != start && !has_several_authors;
        let record = UndoRecord::Span {
            turn: id,
            start,
            end: after.id,
            jobs: Vec::new(),
            gaps: Vec::new(),
            late: true,
            subagent: None,
        };
        Ok(is_new.then_some(record))
    }

    /// Opens a span. `edited` contains the paths of an edit tool; `None` stands for a program.
    async fn begin_stretch(&self, edited: Option<Vec<Vec<u8>>>) -> Option<UndoWarning> {
        if self.store.off_reason().is_some() {
            return self.off();
        }
        if !self.store.ready().await {
            let late = "the first checkpoint of the directory is not complete yet";
            let late = || UndoWarning::Uncovered(late.to_string());
            return self.off().or_else(|| self.store.off_reason().is_none().then(late));
        }
        let is_advisory = self.store.is_advisory();
        let stretch = match edited {
            Some(edited) if is_advisory && !edited.is_empty() => {
                let folders = edited.iter().map(|path| parent_of(path)).collect();
                let noted = self.blocking(move |store, session| store.note(&edited, session)).await;
                noted.map(|start| OpenSpan { start, folders: Some(folders) })
            }
            _ if is_advisory => {
                return Some(UndoWarning::Uncovered(self.store.advisory_reason()));
            }
            edited => {
                let taken = self.blocking(move |store, session| {
                    let start = store.take(CheckpointKind::Start, Some(session), None)?;
                    if let Some(edited) = edited.filter(|edited| !edited.is_empty()) {
                        store.note(&edited, session)?;
                    }
                    Ok(start)
                });
                taken.await.map(|start| OpenSpan { start, folders: None })
            }
        };
        match stretch {
            Ok(stretch) => {
                if let Some(turn) = &mut *self.turn.lock() {
                    turn.stretch.get_or_insert(stretch);
                }
                None
            }
            Err(error) => Some(UndoWarning::Uncovered(error.message().to_string())),
        }
    }

    /// Returns why undo is off, unless the user knows it already.
    fn off(&self) -> Option<UndoWarning> {
        self.store.take_off_reason().map(UndoWarning::Off)
    }

    /// Returns a recorder for the calls of a subagent. If it is `covered`, it records nothing before
    /// [`TurnRecorder::uncover`].
    #[must_use]
    pub fn for_subagent(&self, covered: bool) -> TurnRecorder {
        let recorder = TurnRecorder::new(Arc::clone(&self.store), &self.session, Arc::new(Vec::new));
        TurnRecorder { is_covered: AtomicBool::new(covered), ..recorder }
    }

    fn is_covered(&self) -> bool {
        self.is_covered.load(Ordering::Acquire)
    }

    /// Starts to record, because the turn of the parent no longer does. The calls that run now belong to a span that
    /// begins here. Returns a warning for the user.
    pub async fn uncover(&self) -> Option<String> {
        self.is_covered.store(false, Ordering::Release);
        match &mut *self.turn.lock() {
            Some(turn) => turn.runs_programs = true,
            None => return None,
        }
        self.begin_stretch(None).await.map(|warning| warning.to_string())
    }

    /// Runs work that may change any file outside of a turn. Returns its result with the same as
    /// [`TurnRecorder::call_ended`].
    pub(crate) async fn record<T>(&self, work: impl FnOnce() -> T) -> (T, Result<Option<UndoRecord>, String>) {
        let begun = match self.begin_turn().await {
            Some(warning) => Some(warning),
            None => self.begin_stretch(None).await,
        };
        let done = tokio::task::block_in_place(work);
        let ended = self.end_stretch(Vec::new()).await;
        self.turn.lock().take();
        (done, begun.map_or(ended, |warning| Err(warning.to_string())))
    }

    async fn end_stretch(&self, jobs: Vec<String>) -> Result<Option<UndoRecord>, String> {
        let stretch = self.turn.lock().as_mut().and_then(|turn| turn.stretch.take());
        let Some(OpenSpan { start, folders }) = stretch else { return Ok(None) };
        let taken =
            self.blocking(move |store, session| store.take(CheckpointKind::End, Some(session), folders.as_ref()));
        let end = taken.await.map_err(|error| format!("undo does not cover the last calls: {}", error.message()))?;
        if let Some(turn) = &mut *self.turn.lock() {
            turn.end = Some(end.id.clone());
        }
        if end.id == start.id {
            return Ok(None);
        }
        let gaps: BTreeSet<String> = start.gaps.into_iter().chain(end.gaps).collect();
        // The code that writes the record fills in the turn.
        let turn = String::new();
        Ok(Some(UndoRecord::Span {
            turn,
            start: start.id,
            end: end.id,
            jobs,
            gaps: gaps.into_iter().collect(),
            late: false,
            subagent: None,
        }))
    }

    /// Runs blocking work on the store outside of the async threads.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&CheckpointStore, &str) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (store, session) = (Arc::clone(&self.store), self.session.clone());
        match tokio::task::spawn_blocking(move || work(&store, &session)).await {
            Ok(result) => result,
            Err(panic) => Err(sinew::base::Error::new(sinew::base::ErrorCode::Internal, format!("{panic}"))),
        }
    }
}

/// Returns the paths below the directory that a call of an edit tool writes.
fn edited_paths(root: &Path, semantics: &Semantics, arguments: &Value) -> Vec<Vec<u8>> {
    let subjects = (semantics.subjects)(arguments).into_iter();
    let below = |subject: Subject| match subject {
        Subject::Path { path, .. } | Subject::OtherPath(path) => path_below(root, Path::new(&path)),
        _ => None,
    };
    subjects.filter_map(below).collect()
}

/// Returns a path relative to the directory; `None` if it is outside of it.
#[must_use]
pub fn path_below(root: &Path, path: &Path) -> Option<Vec<u8>> {
    let mut plain = PathBuf::new();
    for component in root.join(path).components() {
        match component {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    let below = plain.strip_prefix(root).ok()?;
    (!below.as_os_str().is_empty()).then(|| below.as_os_str().as_encoded_bytes().to_vec())
}

/// Returns the path that the bytes of the system name.
#[must_use]
pub fn path_of(bytes: &[u8]) -> PathBuf {
    #[cfg(unix)]
    return PathBuf::from(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(bytes));
    #[cfg(not(unix))]
    return String::from_utf8_lossy(bytes).into_owned().into();
}

/// Returns the directory of a path below the root; empty for the root.
pub(super) fn parent_of(path: &[u8]) -> Vec<u8> {
    path.iter().rposition(|byte| *byte == b'/').map(|at| path[..at].to_vec()).unwrap_or_default()
}
