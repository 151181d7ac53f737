//! The stretches of a turn in which its calls and jobs run.

use std::collections::{BTreeSet, HashSet};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;
use sinew::base::Result;
use sinew::checkpoint::CheckpointKind;
use sinew_tools::semantics::{Semantics, Subject};

use super::record::UndoRecord;
use super::store::{Border, CheckpointStore};

/// Returns the ids of the background jobs that run.
pub type RunningJobs = Arc<dyn Fn() -> Vec<String> + Send + Sync>;

/// Takes a checkpoint at both ends of each stretch in which calls, jobs or hooks of a turn run. What changes outside of
/// these stretches is not the turn's: the user works on while the model thinks.
pub struct TurnRecorder {
    store: Arc<CheckpointStore>,
    session: String,
    jobs: RunningJobs,
    turn: Mutex<Option<OpenTurn>>,
    unproven: Mutex<Option<UnprovenTurn>>,
}

/// A turn that ran programs, whose end was seen only by what the system announced.
#[derive(Debug)]
struct UnprovenTurn {
    /// The entry that began it.
    id: String,
    /// Its last checkpoint.
    end: String,
}

/// A turn that goes on.
#[derive(Debug, Default)]
struct OpenTurn {
    /// The calls that run.
    running: HashSet<String>,
    stretch: Option<Stretch>,
    /// A program ran, so that something may have changed that nobody announced.
    runs_programs: bool,
    /// The checkpoint at the end of the last stretch.
    end: Option<String>,
}

/// A stretch that goes on.
#[derive(Debug, Clone)]
struct Stretch {
    start: Border,
    /// The directories that are looked at; `None` is everything.
    folders: Option<HashSet<Vec<u8>>>,
}

impl std::fmt::Debug for TurnRecorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TurnRecorder").field("session", &self.session).finish_non_exhaustive()
    }
}

impl TurnRecorder {
    /// Makes the recorder of a session.
    #[must_use]
    pub fn new(store: Arc<CheckpointStore>, session: &str, jobs: RunningJobs) -> TurnRecorder {
        TurnRecorder { store, session: session.to_string(), jobs, turn: Mutex::default(), unproven: Mutex::default() }
    }

    /// Returns the checkpoints of the directory.
    #[must_use]
    pub fn store(&self) -> &Arc<CheckpointStore> {
        &self.store
    }

    /// Begins a turn. A job that still runs begins a stretch.
    pub(crate) async fn begin_turn(&self) -> Option<String> {
        *self.turn.lock() = Some(OpenTurn::default());
        if (self.jobs)().is_empty() {
            return self.store.take_off_reason();
        }
        let warning = self.begin_stretch(None).await;
        warning.or_else(|| self.store.take_off_reason())
    }

    /// Makes the first checkpoint in the background: the request is on its way.
    pub(crate) fn request_sent(&self) {
        self.store.begin();
    }

    /// Begins a stretch before a call that can change something, unless one goes on. Returns a warning for the user.
    pub(crate) async fn call_started(&self, call: &str, semantics: &Semantics, arguments: &Value) -> Option<String> {
        if semantics.effects.changes_nothing() {
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
            return noted.err().map(|error| format!("undo: {}", error.message()));
        }
        None
    }

    /// Ends the stretch after the last call that ran, unless a job runs. Returns the record for the session; an error is
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

    /// Ends the turn that the entry `id` began, whatever still runs. Returns as [`TurnRecorder::call_ended`].
    pub(crate) async fn end_turn(&self, id: &str) -> Result<Option<UndoRecord>, String> {
        let ended = self.end_stretch((self.jobs)()).await;
        let turn = self.turn.lock().take();
        let is_watched = self.store.is_watched();
        let unproven = turn.filter(|turn| turn.runs_programs && is_watched).and_then(|turn| turn.end);
        *self.unproven.lock() = unproven.map(|end| UnprovenTurn { id: id.to_string(), end });
        ended
    }

    /// Reads the directory once more after a turn that ran programs: what they changed without that the system announced it
    /// (through a memory map) joins the turn. Returns as [`TurnRecorder::call_ended`].
    pub(crate) async fn prove(&self) -> Result<Option<UndoRecord>, String> {
        let Some(UnprovenTurn { id, end }) = self.unproven.lock().take() else { return Ok(None) };
        let proven = self.blocking(|store, session| store.prove(session)).await;
        let (border, has_several_authors) = proven.map_err(|error| format!("undo: {}", error.message()))?;
        // The walk cannot distinguish the changes of several authors.
        let is_new = border.id != end && !has_several_authors;
        let record =
            UndoRecord::Span { turn: id, start: end, end: border.id, jobs: Vec::new(), gaps: Vec::new(), late: true };
        Ok(is_new.then_some(record))
    }

    /// Begins a stretch; `edited` are the paths of an edit tool, `None` is a program.
    async fn begin_stretch(&self, edited: Option<Vec<Vec<u8>>>) -> Option<String> {
        if self.store.off_reason().is_some() {
            return self.store.take_off_reason();
        }
        if !self.store.ready().await {
            let off = self.store.take_off_reason();
            let late = "undo does not cover this call: the first checkpoint of the directory is not complete yet";
            return off.or_else(|| self.store.off_reason().is_none().then(|| late.to_string()));
        }
        let is_advisory = self.store.is_advisory();
        let stretch = match edited {
            Some(edited) if is_advisory && !edited.is_empty() => {
                let folders = edited.iter().map(|path| parent_of(path)).collect();
                let noted = self.blocking(move |store, session| store.note(&edited, session)).await;
                noted.map(|start| Stretch { start, folders: Some(folders) })
            }
            _ if is_advisory => {
                let root = self.store.root().display();
                return Some(format!("undo does not cover this command: scanning {root} takes too long"));
            }
            edited => {
                let taken = self.blocking(move |store, session| {
                    let start = store.take(CheckpointKind::Start, Some(session), None)?;
                    if let Some(edited) = edited.filter(|edited| !edited.is_empty()) {
                        store.note(&edited, session)?;
                    }
                    Ok(start)
                });
                taken.await.map(|start| Stretch { start, folders: None })
            }
        };
        match stretch {
            Ok(stretch) => {
                if let Some(turn) = &mut *self.turn.lock() {
                    turn.stretch = Some(stretch);
                }
                None
            }
            Err(error) => Some(format!("undo does not cover this call: {}", error.message())),
        }
    }

    async fn end_stretch(&self, jobs: Vec<String>) -> Result<Option<UndoRecord>, String> {
        let stretch = self.turn.lock().as_mut().and_then(|turn| turn.stretch.take());
        let Some(Stretch { start, folders }) = stretch else { return Ok(None) };
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
        // The turn is named by whoever writes the record.
        let turn = String::new();
        Ok(Some(UndoRecord::Span {
            turn,
            start: start.id,
            end: end.id,
            jobs,
            gaps: gaps.into_iter().collect(),
            late: false,
        }))
    }

    /// Runs work on the store beside the threads of the agent.
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

/// Returns a path relative to the directory; `None` if it lies outside of it.
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

/// Returns the directory of a path below the root; empty for the root.
pub(super) fn parent_of(path: &[u8]) -> Vec<u8> {
    path.iter().rposition(|byte| *byte == b'/').map(|at| path[..at].to_vec()).unwrap_or_default()
}
