//! Messages to the session's file. What cannot be written is told once; the run goes on in memory.

use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use sinew::base::{Error, Result};
use sinew_llm::message::AgentMessage;
use sinew_session::{Body, Session};

use crate::core::Journal;

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
        self.session.lock()
    }

    /// Adds an entry. The first failure is kept for [`Keep::untold`].
    pub(super) fn append(&self, body: Body) {
        self.write(|session| session.append(body).map(drop));
    }

    fn write(&self, add: impl FnOnce(&mut Session) -> Result<()>) {
        let mut session = self.session();
        let first = session.failure().is_none();
        if let Err(error) = add(&mut session)
            && first
        {
            *self.untold.lock() = Some(error);
        }
    }

    fn flush(&self) {
        if let Err(error) = self.session().flush() {
            self.untold.lock().get_or_insert(error);
        }
    }

    /// A failure to write that the user has not been told of yet.
    pub(super) fn untold(&self) -> Option<Error> {
        self.untold.lock().take()
    }

    /// Moves the leaf before the last answer of its path: what it says, and what stands behind it, stays in the file
    /// and leaves the context, also after a resume. What was set meanwhile is set again.
    pub(super) fn take_back(&self) -> Result<()> {
        let mut session = self.session();
        let path: Vec<String> = session.path_ids().into_iter().map(str::to_string).collect();
        let mut behind = Vec::new();
        for (at, id) in path.iter().enumerate().rev() {
            let body = session.entry(id)?.body;
            if let Body::Message { message: AgentMessage::Assistant(_) } = &body {
                session.set_leaf(at.checked_sub(1).map(|before| path[before].as_str()))?;
                drop(session);
                // The leaf after a load is the last entry: this one keeps the branch.
                let data = serde_json::json!({ "failed": id });
                self.append(Body::Custom { custom_type: "retry".into(), data });
                behind.into_iter().rev().for_each(|body| self.append(body));
                return Ok(());
            }
            if !matches!(body, Body::Message { .. }) {
                behind.push(body);
            }
        }
        Ok(())
    }
}

impl Journal for Keep {
    fn message(&self, message: &mut AgentMessage) {
        self.write(|session| session.append_message(message).map(drop));
        if matches!(message, AgentMessage::User(_)) {
            self.flush();
        }
    }

    fn turn_end(&self) {
        self.flush();
    }

    fn take_back(&self) -> std::result::Result<(), String> {
        Keep::take_back(self).map_err(|error| error.to_string())
    }

    fn injected(&self, rules: &[String]) {
        self.append(Body::TtsrInjection { injected_rules: rules.to_vec() });
    }
}
