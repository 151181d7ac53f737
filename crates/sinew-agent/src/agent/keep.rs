//! Messages to the session's file. What cannot be written is told once; the run goes on in memory.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sinew::base::{Error, Result};
use sinew_llm::message::AgentMessage;

use crate::core::Journal;
use crate::session::{Body, Session};

/// A session that several parts of an agent write to, one entry at a time.
#[derive(Clone)]
pub(super) struct Keep {
    session: Arc<Mutex<Session>>,
    untold: Arc<Mutex<Option<Error>>>,
}

impl Keep {
    pub(super) fn new(session: Session) -> Keep {
        Keep { session: Arc::new(Mutex::new(session)), untold: Arc::default() }
    }

    pub(super) fn session(&self) -> MutexGuard<'_, Session> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an entry. The first failure is kept for [`Keep::untold`].
    pub(super) fn append(&self, body: Body) {
        let mut session = self.session();
        let first = session.failure().is_none();
        if let Err(error) = session.append(body)
            && first
        {
            *self.untold.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
        }
    }

    fn flush(&self) {
        if let Err(error) = self.session().flush() {
            self.untold.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        }
    }

    /// A failure to write that the user has not been told of yet.
    pub(super) fn untold(&self) -> Option<Error> {
        self.untold.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Moves the leaf before the last `count` entries of its path: what they say stays in the file and leaves the
    /// context, also after a resume.
    pub(super) fn step_back(&self, count: usize) -> Result<()> {
        let mut session = self.session();
        let path = session.path_ids();
        let leaf = path.len().checked_sub(count + 1).and_then(|at| path.get(at)).map(|id| (*id).to_string());
        session.set_leaf(leaf.as_deref())
    }
}

impl Journal for Keep {
    fn message(&self, message: &AgentMessage) {
        self.append(Body::Message { message: message.clone() });
        if matches!(message, AgentMessage::User(_)) {
            self.flush();
        }
    }

    fn turn_end(&self) {
        self.flush();
    }
}
