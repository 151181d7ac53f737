//! Shows the work of children: their events in the stream of the session, and their conversations.

use std::sync::Arc;

use sinew_agent::agent::{Subscriber, last_text};
use sinew_agent::event::Event;
use sinew_session::Session;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::app::OpenSession;

/// Passes the events of a child on.
pub(super) struct ChildForwarder {
    over: CancellationToken,
    task: JoinHandle<()>,
}

impl ChildForwarder {
    /// Passes the steps of a child to the events of the session that the user sees.
    pub(super) fn begin(child: String, events: Subscriber, root: Arc<OpenSession>) -> ChildForwarder {
        let over = CancellationToken::new();
        let task = tokio::spawn(forward(child, events, root, over.clone()));
        ChildForwarder { over, task }
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
            // The child's own session has already informed the extensions.
            root.agent.publish(Event::OfSubagent { subagent_id: child.clone(), event }).await;
        }
    }
}

/// The conversation of a child.
pub enum ChildConversation {
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
