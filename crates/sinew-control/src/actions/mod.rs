//! The actions that all modes offer, as typed functions: everything that a person or a program can ask of the agent.
//!
//! | module | actions |
//! |---|---|
//! | `prompt` | prompt, steer, follow up, abort, clear the queues |
//! | `mode` | whether tools may change anything |
//! | `plan` | plans that the model submits |
//! | `model` | models and thinking levels |
//! | `options` | delivery of queued messages, retries, compaction |
//! | `bash` | commands of the user |
//! | `session` | other sessions, and positions in a session's tree |
//! | `state` | queries |
//! | `tools` | selection of tools, the todo list, reloading of files |
//! | `commands`, `command_help` | built-in slash commands, and their list for people |
//! | `figures` | `/session`, `/usage`, `/context` |
//! | `mcp` | MCP servers: state, enabling, reloading, logins |
//! | `tasks` | work in the background |
//! | `error` | the errors of actions |
//!
//! A [`Control`] has one current session of its app and can switch to others. A mode with several sessions at once has
//! a control for each. Actions return typed values; a mode converts them to its own form (JSON or panels) and shows the
//! events that it receives through [`View`].

pub(crate) mod bash;
#[cfg(unix)]
pub mod command_help;
pub mod commands;
mod error;
mod figures;
mod file_groups;
pub mod mcp;
pub mod mode;
pub mod model;
mod options;
mod plan;
pub mod prompt;
pub mod review;
pub mod session;
#[cfg(unix)]
mod share;
pub mod state;
pub mod subagents;
pub mod tasks;
pub mod tools;
pub mod undo;

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use sinew_agent::agent::{IdlePolicy, Snapshots, Subscriber};
use sinew_tools::tool::Boxed;
use tokio::task::JoinHandle;

use crate::app::{App, OpenSession};
pub use error::ControlError;
use subagents::Subagents;
use tasks::Tasks;

/// The interval at which work that does not stop is aborted again.
const ABORT_INTERVAL: Duration = Duration::from_millis(50);

/// Shows the events of the current session.
pub trait View: Send + Sync {
    /// Subscribes to `events`; resolves when the events of the previous session are delivered.
    fn follow(&self, events: Subscriber) -> Boxed<'_, ()>;

    /// Returns whether updates of an answer must contain the whole answer so far.
    fn snapshots(&self) -> Snapshots;
}

/// The actions on one current session.
pub struct Control {
    /// The state that all sessions of the program share.
    pub app: Arc<App>,
    /// For tools of the model that call the control.
    me: Weak<Control>,
    /// `None` if the mode stays in its first session and receives the events itself.
    view: Option<Arc<dyn View>>,
    current: Mutex<Arc<OpenSession>>,
    selection: Mutex<tools::ToolSelection>,
    bash: bash::RunningCommands,
    /// The number of tool calls that the user made.
    calls: AtomicU64,
    /// Work in the background.
    pub tasks: Tasks,
    /// Reports jobs and lists between the runs of the current session.
    attendant: Mutex<Option<JoinHandle<()>>>,
    subagents: Subagents,
    /// The findings of the last review.
    last_review: Mutex<Vec<review::finding::Finding>>,
}

impl Control {
    /// Creates a control with the current session `open`. With a view, call [`Control::enter`] next.
    pub fn new(app: App, open: OpenSession, view: Option<Arc<dyn View>>) -> Arc<Control> {
        let subagents = Subagents::new(app.startup.settings.task);
        let app = Arc::new(app);
        let control = Arc::new_cyclic(|me| Control {
            app: Arc::clone(&app),
            me: Weak::clone(me),
            view,
            current: Mutex::new(Arc::new(open)),
            selection: Mutex::default(),
            bash: bash::RunningCommands::default(),
            calls: AtomicU64::new(1),
            tasks: Tasks::default(),
            attendant: Mutex::default(),
            subagents,
            last_review: Mutex::default(),
        });
        app.children.set(Arc::downgrade(&control) as _);
        control
    }

    /// Returns the current session.
    pub fn session(&self) -> Arc<OpenSession> {
        Arc::clone(&self.current.lock())
    }

    /// Makes `open` the current session: the view follows it, and its jobs are reported.
    pub async fn enter(&self, open: Arc<OpenSession>) {
        let before = self.attendant.lock().take();
        if let Some(before) = before {
            before.abort();
            // The task may have been cancelled just now.
            let _ = before.await;
        }
        if let Some(view) = &self.view {
            view.follow(open.agent.subscribe(view.snapshots())).await;
        }
        *self.current.lock() = Arc::clone(&open);
        if let Err(error) = self.begin_mode().await {
            open.agent.warn(error.message).await;
        }
        self.recover_children().await;
        let attendant = tokio::spawn(async move {
            open.agent.start().await;
            match open.agent.forward_notices(&open.host, IdlePolicy::Wake).await {}
        });
        *self.attendant.lock() = Some(attendant);
    }

    /// Stops everything that works on a session, and waits for its end. Must not be called from within
    /// [`Control::tasks`].
    pub async fn quiet(&self, open: &OpenSession) {
        let stop = || {
            open.agent.abort();
            self.bash.abort();
            self.stop_children();
        };
        // Repeated, because work that waited for the end of one run may begin another.
        self.tasks.join(stop, ABORT_INTERVAL).await;
        open.agent.idled().await;
        self.children_ended().await;
    }

    /// Returns the current session; `None` if something else still uses it.
    pub fn into_session(self: Arc<Self>) -> Option<OpenSession> {
        let current = Arc::into_inner(self)?.current.into_inner();
        Arc::into_inner(current)
    }
}
