//! Children that the model starts with the tool `task`.
//!
//! A call ends when its children have ended; the model makes no request meanwhile. Children work in this process, each in
//! a session and a shell of its own.

mod run;
mod verbs;

use std::path::Path;
use std::sync::{Arc, Weak};
use std::time::Instant;

use parking_lot::Mutex;
use sinew::base::Result;
use sinew_agent::subagent::{ChildIds, ChildState, TaskItem};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::app::OpenSession;
use crate::settings::Task;

/// The children of a control.
pub(super) struct Subagents {
    settings: Task,
    /// The places of children that work.
    places: Semaphore,
    /// The ids of a session's children, with the id of that session.
    ids: Mutex<Option<(String, ChildIds)>>,
    /// All children of the program, in the order in which they were started.
    children: Mutex<Vec<Arc<Child>>>,
}

/// A child of a call.
struct Child {
    id: String,
    agent: String,
    item: TaskItem,
    /// The id of the session that started it.
    parent: String,
    state: Mutex<ChildState>,
    /// The time of its first request.
    started: Mutex<Option<Instant>>,
    /// Its session, while it works.
    open: Mutex<Weak<OpenSession>>,
    /// The numbers of its end.
    end: Mutex<Figures>,
    /// Ends it.
    cancel: CancellationToken,
}

/// The use of a child so far.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Figures {
    pub(crate) turns: usize,
    pub(crate) tokens: u64,
    pub(crate) cost: f64,
}

impl Child {
    fn state(&self) -> ChildState {
        *self.state.lock()
    }

    /// Returns its use so far.
    fn figures(&self) -> Figures {
        let open = self.open.lock().upgrade();
        // A session that can no longer be read has warned of that.
        let stats = open.and_then(|open| open.agent.stats().ok());
        match stats {
            Some(stats) => Figures { turns: stats.assistant_messages, tokens: stats.tokens.total, cost: stats.cost },
            None => *self.end.lock(),
        }
    }
}

impl Subagents {
    pub(super) fn new(settings: Task) -> Subagents {
        Subagents {
            settings,
            places: Semaphore::new(settings.max_concurrency.max(1)),
            ids: Mutex::default(),
            children: Mutex::default(),
        }
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
