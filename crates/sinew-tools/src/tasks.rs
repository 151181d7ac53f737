//! The list of tasks of a session, and when a finished one is put away.

use std::time::Duration;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;
use tokio::time::Instant;

/// The list of a session.
#[derive(Debug, Default)]
pub(crate) struct TaskList {
    pub(crate) phases: Mutex<Vec<Phase>>,
    /// The time at which a finished list is put away.
    clear: Mutex<Option<Instant>>,
    changed: Notify,
}

/// Items that belong together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Phase {
    /// Its name, unique.
    pub name: String,
    /// Its items in order.
    pub tasks: Vec<Task>,
}

/// One thing to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// Its text, unique in the list.
    pub content: String,
    /// Its status.
    pub status: Status,
    /// The notes about it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// The status of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Not begun.
    Pending,
    /// Being done.
    InProgress,
    /// Done.
    Completed,
    /// Given up.
    Abandoned,
}

impl Status {
    /// Neither done nor given up.
    pub(crate) fn is_open(self) -> bool {
        matches!(self, Status::Pending | Status::InProgress)
    }
}

impl TaskList {
    /// Puts the list away in `seconds` if all of it is finished then; negative: never.
    pub(crate) fn schedule(&self, phases: &[Phase], seconds: i64) {
        let finished = !phases.is_empty() && !tasks(phases).any(|task| task.status.is_open());
        let wait = u64::try_from(seconds).ok().filter(|_| finished).map(Duration::from_secs);
        *self.clear.lock() = wait.and_then(|wait| Instant::now().checked_add(wait));
        self.changed.notify_one();
    }

    fn due(&self) -> Option<Instant> {
        *self.clear.lock()
    }

    /// Puts the list away if its time has come. Says whether it did.
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

    /// Waits until a finished list was put away.
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

/// The tasks of all phases.
pub(crate) fn tasks(phases: &[Phase]) -> impl Iterator<Item = &Task> {
    phases.iter().flat_map(|phase| &phase.tasks)
}
