//! Shows the work of children: their events in the stream of the session, and their conversations.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use sinew_agent::agent::{Snapshots, Subscriber, last_text};
use sinew_agent::event::Event;
use sinew_session::Session;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::super::{Control, ControlError};
use super::Child;
use crate::app::OpenSession;

/// Passes the events of a child on.
pub(super) struct Forwarding {
    over: CancellationToken,
    task: JoinHandle<()>,
}

impl Forwarding {
    fn begin(child: &Child, events: Subscriber, root: Arc<OpenSession>) -> Forwarding {
        let over = CancellationToken::new();
        let task = tokio::spawn(forward(child.id().to_string(), events, root, over.clone()));
        Forwarding { over, task }
    }

    /// Passes the events on that have occurred so far, and ends.
    pub(super) async fn end(self) {
        self.over.cancel();
        // A panic in it is a fault of the program, which only costs events.
        let _ = self.task.await;
    }
}

/// Emits the steps of a child as events of the session that the user sees.
async fn forward(child: String, mut events: Subscriber, root: Arc<OpenSession>, over: CancellationToken) {
    loop {
        let event = tokio::select! {
            biased;
            event = events.recv() => event,
            () = over.cancelled() => events.try_recv(),
        };
        let Some(event) = event else { return };
        if event.is_step() {
            root.agent.emit(Event::OfSubagent { subagent_id: child.clone(), event }).await;
        }
    }
}

/// The conversation of a child.
pub(crate) enum ChildConversation {
    /// It works.
    Open(Arc<OpenSession>),
    /// It has ended; the contents of its file.
    Saved(Box<Session>),
}

impl ChildConversation {
    /// Returns the text of the last answer; `None` without an answer.
    pub(super) fn last_text(&self) -> sinew::base::Result<Option<String>> {
        match self {
            ChildConversation::Open(open) => open.agent.last_text(),
            ChildConversation::Saved(session) => last_text(session),
        }
    }
}

impl Control {
    /// Adds the turns, messages and tool calls of children to the events of the session, or stops that.
    pub(crate) async fn show_child_events(&self, enabled: bool) {
        self.subagents.shows_events.store(enabled, Ordering::Relaxed);
        let children = self.subagents.children.lock().clone();
        for child in children {
            let open = child.open.lock().upgrade();
            match open {
                Some(open) if enabled => self.forward_events(&child, &open, &self.session()),
                _ => child.end_forwarding().await,
            }
        }
    }

    /// Passes the events of a child on if they are wanted.
    pub(super) fn forward_events(&self, child: &Child, open: &OpenSession, root: &Arc<OpenSession>) {
        if !self.subagents.shows_events.load(Ordering::Relaxed) {
            return;
        }
        let snapshots = self.view.as_ref().map_or(Snapshots::Unread, |view| view.snapshots());
        let mut forwarding = child.forwarding.lock();
        if forwarding.is_none() {
            *forwarding = Some(Forwarding::begin(child, open.agent.subscribe(snapshots), Arc::clone(root)));
        }
    }

    /// Returns the conversation of a child of the current session.
    ///
    /// # Errors
    /// Returns an error if there is no such child, it has not started, or its file cannot be read.
    pub(crate) fn child_conversation(&self, id: &str) -> Result<ChildConversation, ControlError> {
        let child = self.child(id)?;
        if let Some(open) = child.open.lock().upgrade() {
            return Ok(ChildConversation::Open(open));
        }
        let file = self.app.store.child_file(&self.session().agent.session(), child.id());
        let file = file.filter(|file| file.is_file());
        let file =
            file.ok_or_else(|| format!("{} has no conversation: it is {}", child.id(), child.state().as_str()))?;
        Ok(ChildConversation::Saved(Box::new(self.app.store.view(&file)?)))
    }
}

impl Child {
    /// Ends the forwarding of its events, after those that have occurred.
    pub(super) async fn end_forwarding(&self) {
        let forwarding = self.forwarding.lock().take();
        if let Some(forwarding) = forwarding {
            forwarding.end().await;
        }
    }
}
