//! The task list of a session, which is cleared some time after it is finished.

use std::time::Duration;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;
use tokio::time::Instant;

/// The list of a session.
#[derive(Debug, Default)]
pub(crate) struct TaskList {
    pub(crate) phases: Mutex<Vec<Phase>>,
    /// The time when a finished list is cleared; `None` if it is not scheduled.
    clear: Mutex<Option<Instant>>,
    changed: Notify,
}

/// A group of tasks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Phase {
    /// The unique name.
    pub name: String,
    /// The tasks in order.
    pub tasks: Vec<Task>,
}

/// One thing to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// The text, unique in the list.
    pub content: String,
    /// Its status.
    pub status: Status,
    /// The notes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// The status of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Not started.
    Pending,
    /// In progress.
    InProgress,
    /// Done.
    Completed,
    /// Abandoned.
    Abandoned,
}

impl Status {
    /// Returns true if the task is neither done nor abandoned.
    pub(crate) fn is_open(self) -> bool {
        matches!(self, Status::Pending | Status::InProgress)
    }
}

impl TaskList {
    /// Schedules the list to be cleared in `seconds` if it is still finished then; negative means never.
    pub(crate) fn schedule(&self, phases: &[Phase], seconds: i64) {
        let finished = !phases.is_empty() && !tasks(phases).any(|task| task.status.is_open());
        let wait = u64::try_from(seconds).ok().filter(|_| finished).map(Duration::from_secs);
        *self.clear.lock() = wait.and_then(|wait| Instant::now().checked_add(wait));
        self.changed.notify_one();
    }

    fn due(&self) -> Option<Instant> {
        *self.clear.lock()
    }

    /// Clears the list if it is due. Returns true if it did.
    pub(crate) fn clear_if_due(&self) -> bool {
        let mut phases = self.phases.lock();
        let mut clear = self.clear.lock();
        let due = clear.is_some_and(|at| at <= Instant::now());
        if due {
            *clear = None;
            phases.clear();
        }
        due
    }

    /// Waits until a finished list was cleared.
    pub(crate) async fn cleared(&self) {
        loop {
            let changed = self.changed.notified();
            match self.due() {
                Some(at) => tokio::select! {
                    () = tokio::time::sleep_until(at) => if self.clear_if_due() { return },
                    () = changed => {}
                },
                None => changed.await,
            }
        }
    }
}

/// Returns the tasks of all phases.
pub(crate) fn tasks(phases: &[Phase]) -> impl Iterator<Item = &Task> {
    phases.iter().flat_map(|phase| &phase.tasks)
}
