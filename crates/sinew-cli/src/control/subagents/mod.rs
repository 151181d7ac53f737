//! Children that the model starts with the tool `task`.
//!
//! A call ends when its children have ended; the model makes no request meanwhile. Children work in this process, each in
//! a session and a shell of its own.

mod run;

use std::path::Path;
use std::time::Instant;

use parking_lot::Mutex;
use sinew::base::Result;
use sinew_agent::subagent::{ChildIds, ChildState, TaskItem};
use tokio::sync::Semaphore;

use crate::app::OpenSession;
use crate::settings::Task;

/// The children of a control.
pub(super) struct Subagents {
    settings: Task,
    /// The places of children that work.
    places: Semaphore,
    /// The ids of a session's children, with the id of that session.
    ids: Mutex<Option<(String, ChildIds)>>,
}

/// A child of a call.
struct Child {
    id: String,
    item: TaskItem,
    state: Mutex<ChildState>,
    /// The time of its first request.
    started: Mutex<Option<Instant>>,
}

impl Child {
    fn state(&self) -> ChildState {
        *self.state.lock()
    }
}

impl Subagents {
    pub(super) fn new(settings: Task) -> Subagents {
        Subagents { settings, places: Semaphore::new(settings.max_concurrency.max(1)), ids: Mutex::default() }
    }

    /// Reserves ids in a session for these tasks.
    ///
    /// # Errors
    /// As of [`ChildIds::reserve`].
    fn reserve(&self, open: &OpenSession, tasks: &[TaskItem]) -> Result<Vec<String>> {
        let (session, file) = {
            let session = open.agent.session();
            (session.id().to_string(), session.path().map(Path::to_path_buf))
        };
        let mut ids = self.ids.lock();
        let is_known = ids.as_ref().is_some_and(|(known, _)| *known == session);
        if !is_known {
            let before = file.map(|file| children_in(&sinew_session::children_of(&file))).unwrap_or_default();
            *ids = Some((session, ChildIds::new(before)));
        }
        match &mut *ids {
            Some((_, ids)) => ids.reserve(tasks, self.settings.max_total),
            None => Ok(Vec::new()),
        }
    }
}

/// Returns the ids of the children whose files are in a folder.
fn children_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.strip_suffix(".jsonl").map(str::to_string)).collect()
}
