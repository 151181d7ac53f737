//! Children that the model starts with the tool `task`.
//!
//! | module | contains |
//! |---|---|
//! | `batch` | from a call to its children: checks, models, rights |
//! | `work` | the work of a child, from its first request to its end |
//! | `result` | results, and what the parent reads about them |
//! | `permit` | the number of children that work at the same time |
//! | `record` | the entries about children in session files |
//! | `recover` | reports after a crash |
//! | `view` | copies of the project in which children work |
//! | `follow` | their events and conversations, for people and clients |
//! | `verbs` | lists, messages and aborts for people and clients |
//!
//! A call ends when its children have ended; the model makes no request meanwhile. A call in the background returns at
//! once, and the end of each child is a message; the user can move a call to the background while it runs. Children run
//! in this process; each has its own session and shell.

mod batch;
mod follow;
mod permit;
mod record;
mod recover;
mod result;
mod verbs;
mod view;
mod work;

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Weak};
use std::time::Instant;

use parking_lot::Mutex;
use serde_json::Value;
use sinew::base::Result;
use sinew_agent::agent::{Meter, Stop};
use sinew_agent::event::SubagentStatus;
use sinew_agent::subagent::{ChildIds, ChildState, TaskItem};
use sinew_agent::undo::TurnRecorder;
use sinew_tools::Requester;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::app::OpenSession;
use crate::settings::Task;
pub use follow::ChildConversation;
use follow::ChildForwarder;
use permit::{ChildPermit, Permits};
pub use verbs::ListedChild;

/// The children of a control.
pub(super) struct Subagents {
    settings: Task,
    permits: Permits,
    family: Mutex<Option<Family>>,
    /// All children of the program, in the order in which they were started.
    children: Mutex<Vec<Arc<Child>>>,
    /// The children that earlier programs have started, with the id of their session.
    earlier: Mutex<Option<(String, Vec<ListedChild>)>>,
    /// The work of children in the background, and the runs that their ends start.
    background: TaskTracker,
    /// The use of all children.
    meter: Arc<Meter>,
    /// Whether the events of children are part of those of the session.
    shows_events: AtomicBool,
    /// How the last run ended that was started by the end of a child.
    last_stop: Mutex<Option<Stop>>,
}

/// The children of one session.
struct Family {
    /// The id of the session.
    session: String,
    ids: ChildIds,
    /// Ends the children in the background.
    stop: CancellationToken,
}

/// A child of a call.
struct Child {
    requester: Arc<Requester>,
    assignment: String,
    /// The key of its model.
    model: String,
    /// The id of the session that the user sees.
    session: String,
    /// The call that started it.
    call: String,
    /// The number of agents above it.
    depth: u64,
    /// True if it cannot change anything.
    is_read_only: bool,
    /// The names of the agents that it can start.
    spawns: Vec<String>,
    state: Mutex<ChildState>,
    /// The time of its first request.
    started: Mutex<Option<Instant>>,
    /// Its session, while it works.
    open: Mutex<Weak<OpenSession>>,
    /// Its use.
    meter: Arc<Meter>,
    /// The number of answers in its session before it started.
    turns_before: Mutex<usize>,
    /// The number of its answers, set at its end.
    turns: Mutex<usize>,
    permit: Arc<ChildPermit>,
    /// Records its changes once it works in the background.
    recorder: Mutex<Option<Arc<TurnRecorder>>>,
    /// Passes its events on, if they are wanted.
    forwarding: Mutex<Option<ChildForwarder>>,
    /// The result that was accepted.
    submitted: Mutex<Option<Value>>,
    /// Messages that arrived before its first request.
    mail: Mutex<Vec<String>>,
    /// Cancelled once its call does not wait for it.
    released: CancellationToken,
    /// Ends it.
    cancel: CancellationToken,
}

/// The use of a child so far.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Figures {
    /// The number of requests.
    pub turns: usize,
    /// All tokens, with those from a cache.
    pub tokens: u64,
    /// The cost in US dollars.
    pub cost: f64,
}

impl Child {
    fn id(&self) -> &str {
        &self.requester.id
    }

    fn state(&self) -> ChildState {
        match *self.state.lock() {
            ChildState::Running if self.requester.is_asking() => ChildState::Asking,
            state => state,
        }
    }

    fn is_at_work(&self) -> bool {
        self.state().is_at_work()
    }

    /// Returns its use so far.
    fn figures(&self) -> Figures {
        let usage = self.meter.usage();
        let open = self.open.lock().upgrade();
        // If the session can no longer be read, a warning was shown already.
        let stats = open.and_then(|open| open.agent.stats().ok());
        let turns = stats.map(|stats| stats.assistant_messages.saturating_sub(*self.turns_before.lock()));
        let tokens = usage.input + usage.output + usage.cache_read + usage.cache_write;
        Figures { turns: turns.unwrap_or(*self.turns.lock()), tokens, cost: usage.cost.total }
    }

    /// Returns the description of the child for events.
    fn status(&self, state: ChildState, figures: Figures) -> SubagentStatus {
        let Figures { turns, tokens, cost } = figures;
        SubagentStatus {
            id: self.id().to_string(),
            parent_tool_call_id: self.call.clone(),
            agent: self.requester.agent.clone(),
            state: state.name(),
            turns,
            tokens,
            cost,
        }
    }

    /// Describes it for lists. Reads its session while it works.
    fn listed(&self) -> ListedChild {
        ListedChild {
            id: self.id().to_string(),
            agent: self.requester.agent.clone(),
            description: self.requester.description.clone(),
            model: self.model.clone(),
            state: self.state(),
            figures: self.figures(),
            last_line: self.last_line(),
        }
    }

    /// Ends the forwarding of its events, after those that have occurred.
    async fn end_forwarding(&self) {
        let forwarding = self.forwarding.lock().take();
        if let Some(forwarding) = forwarding {
            forwarding.end().await;
        }
    }

    /// Returns the last line that it wrote, while it works.
    fn last_line(&self) -> Option<String> {
        let text = self.open.lock().upgrade()?.agent.last_text().ok()??;
        text.lines().rev().map(str::trim).find(|line| !line.is_empty()).map(str::to_string)
    }
}

impl Subagents {
    pub(super) fn new(settings: Task) -> Subagents {
        Subagents {
            settings,
            permits: Permits::new(settings.max_concurrency),
            family: Mutex::default(),
            children: Mutex::default(),
            earlier: Mutex::default(),
            background: TaskTracker::new(),
            meter: Arc::default(),
            shows_events: AtomicBool::new(false),
            last_stop: Mutex::default(),
        }
    }

    /// Calls `look` with the family of a session, which is read from the session's file first if it is not the known one.
    fn with_family<R>(&self, open: &OpenSession, look: impl FnOnce(&mut Family) -> R) -> R {
        let (session, file) = {
            let session = open.agent.session();
            (session.id().to_string(), session.path().map(Path::to_path_buf))
        };
        let mut family = self.family.lock();
        match &mut *family {
            Some(family) if family.session == session => look(family),
            _ => {
                let mut before = file.map(|file| children_in(&sinew_session::children_of(&file))).unwrap_or_default();
                before.extend(record::started_ids(open));
                let new = Family { session, ids: ChildIds::new(before), stop: CancellationToken::new() };
                look(family.insert(new))
            }
        }
    }

    /// Reserves ids in a session for these tasks of the session or of its child `parent`.
    ///
    /// # Errors
    /// Returns the errors of [`ChildIds::reserve`].
    fn reserve(&self, root: &OpenSession, tasks: &[TaskItem], parent: Option<&str>) -> Result<Vec<String>> {
        self.with_family(root, |family| family.ids.reserve(tasks, self.settings.max_total, parent))
    }

    /// Returns the token that ends the children of a session in the background.
    fn stop_token(&self, root: &OpenSession) -> CancellationToken {
        self.with_family(root, |family| family.stop.child_token())
    }

    /// Ends all children in the background.
    fn stop(&self) {
        if let Some(family) = &mut *self.family.lock() {
            std::mem::take(&mut family.stop).cancel();
        }
    }
}

/// Returns the ids of the children whose files are in a folder.
fn children_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.strip_suffix(".jsonl").map(str::to_string)).collect()
}
