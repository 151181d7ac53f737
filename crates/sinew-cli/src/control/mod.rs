//! The verbs that every mode offers, as typed functions: what a person or a program can ask of the agent.
//!
//! | module | verbs |
//! |---|---|
//! | `prompt` | prompt, steer, follow up, abort, clear the queues |
//! | `mode` | whether tools may change anything |
//! | `plan` | plans that the model hands in |
//! | `model` | models and thinking levels |
//! | `options` | delivery of queued messages, retries, compaction |
//! | `bash` | commands of the user |
//! | `session` | other sessions, and places in the tree of one |
//! | `state` | everything that can be known |
//! | `tools` | selection of tools, the list of tasks, reading files anew |
//! | `commands`, `command_help` | built-in slash commands, and their list for people |
//! | `figures` | `/session`, `/usage`, `/context` |
//! | `mcp` | servers of tools: how they stand, switching, reading anew, logins |
//! | `subagents` | children that the model starts |
//! | `tasks` | work that goes on beside other verbs |
//! | `error` | why a verb failed |
//!
//! A [`Control`] is one place to sit at: it has one current session of its app and moves from session to session. A mode
//! with several sessions at once has a control for each. Verbs return typed values; a mode puts them into its own form,
//! JSON or panels, and shows events, which come through [`View`].

pub(crate) mod bash;
#[cfg(unix)]
pub(crate) mod command_help;
pub(crate) mod commands;
mod error;
mod figures;
pub(crate) mod mcp;
pub(crate) mod mode;
pub(crate) mod model;
mod options;
mod plan;
pub(crate) mod prompt;
pub(crate) mod session;
#[cfg(unix)]
mod share;
pub(crate) mod state;
mod subagents;
pub(crate) mod tasks;
pub(crate) mod tools;
pub(crate) mod undo;

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use sinew_agent::agent::{IdlePolicy, Snapshots, Subscriber};
use sinew_tools::tool::Boxed;
use tokio::task::JoinHandle;

use crate::app::{App, OpenSession};
pub(crate) use error::ControlError;
use subagents::Subagents;
use tasks::Tasks;

/// The interval at which work that does not end is aborted again.
const ABORT_INTERVAL: Duration = Duration::from_millis(50);

/// Shows the events of whichever session is current.
pub(crate) trait View: Send + Sync {
    /// Takes events from `events` from now on; resolves once those of the session before are delivered.
    fn follow(&self, events: Subscriber) -> Boxed<'_, ()>;

    /// Tells whether it reads the answer so far in each update of an answer.
    fn snapshots(&self) -> Snapshots;
}

/// The verbs over one current session.
pub(crate) struct Control {
    pub(crate) app: Arc<App>,
    /// For tools of the model that act on the control.
    me: Weak<Control>,
    /// None: the mode stays at its first session and takes its events itself.
    view: Option<Arc<dyn View>>,
    current: Mutex<Arc<OpenSession>>,
    selection: Mutex<tools::ToolSelection>,
    bash: bash::RunningCommands,
    /// The number of calls that the user made.
    calls: AtomicU64,
    /// Work that goes on beside other verbs.
    pub(crate) tasks: Tasks,
    /// Reports jobs and lists between the runs of the current session.
    attendant: Mutex<Option<JoinHandle<()>>>,
    subagents: Subagents,
}

impl Control {
    /// Sits down at `open`. With a view, [`Control::enter`] is called next.
    pub(crate) fn new(app: App, open: OpenSession, view: Option<Arc<dyn View>>) -> Arc<Control> {
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
        });
        app.children.set(Arc::downgrade(&control) as _);
        control
    }

    /// The current session.
    pub(crate) fn session(&self) -> Arc<OpenSession> {
        Arc::clone(&self.current.lock())
    }

    /// Makes `open` the current session: the view follows it, and its jobs are reported.
    pub(crate) async fn enter(&self, open: Arc<OpenSession>) {
        let before = self.attendant.lock().take();
        if let Some(before) = before {
            before.abort();
            // It was ended this very moment.
            let _ = before.await;
        }
        if let Some(view) = &self.view {
            view.follow(open.agent.subscribe(view.snapshots())).await;
        }
        *self.current.lock() = Arc::clone(&open);
        if let Err(error) = self.begin_mode().await {
            open.agent.warn(error.message).await;
        }
        let attendant = tokio::spawn(async move {
            open.agent.start().await;
            match open.agent.forward_notices(&open.host, IdlePolicy::Wake).await {}
        });
        *self.attendant.lock() = Some(attendant);
    }

    /// Ends everything that works on a session, and waits for that. Not to be called from within [`Control::tasks`].
    pub(crate) async fn quiet(&self, open: &OpenSession) {
        let stop = || {
            open.agent.abort();
            self.bash.abort();
        };
        // Each time: work that waited for the end of one run begins another.
        self.tasks.join(stop, ABORT_INTERVAL).await;
        open.agent.idled().await;
    }

    /// Gives the current session back where nothing else holds it.
    pub(crate) fn into_session(self: Arc<Self>) -> Option<OpenSession> {
        let current = Arc::into_inner(self)?.current.into_inner();
        Arc::into_inner(current)
    }
}
