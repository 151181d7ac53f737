//! The conversation of a session: its file, and the messages that the model sees.

use parking_lot::{Mutex, MutexGuard};
use sinew::base::{Error, Result};
use sinew_llm::message::AgentMessage;
use sinew_session::{Body, Defaults, Session};

use super::activity::{ActivityLock, Permit};
use super::once_flag::OnceWarning;
use super::session_recorder::SessionRecorder;
use crate::core::Journal;

/// The right to change the messages that the model sees.
pub(super) type ContextPermit<'a> = Permit<'a, Vec<AgentMessage>>;

/// A session's file and its context.
pub(super) struct Conversation {
    pub(super) recorder: SessionRecorder,
    /// The messages that the model sees; an activity owns them while it runs.
    pub(super) context: ActivityLock<Vec<AgentMessage>>,
    /// Messages that were recorded while an activity owned the context.
    pending: Mutex<Vec<AgentMessage>>,
    /// A warning that images of the session are missing.
    missing: OnceWarning,
}

impl Conversation {
    /// Creates the conversation of `session` with the context `before`.
    pub(super) fn new(session: Session, before: sinew_session::Context) -> Conversation {
        let missing = OnceWarning::default();
        if let Some(warning) = before.warning() {
            missing.raise(warning);
        }
        Conversation {
            recorder: SessionRecorder::new(session),
            context: ActivityLock::new(before.messages),
            pending: Mutex::default(),
            missing,
        }
    }

    /// Returns the session, for reading and for entries other than messages.
    pub(super) fn session(&self) -> MutexGuard<'_, Session> {
        self.recorder.session()
    }

    /// Appends an entry to the session.
    pub(super) fn append(&self, body: Body) {
        self.recorder.append(body);
    }

    /// Returns a failure to write the session that was not reported yet.
    pub(super) fn take_failure(&self) -> Option<Error> {
        self.recorder.take_failure()
    }

    /// Returns the warning that images of the session are missing, once.
    pub(super) fn take_warning(&self) -> Option<String> {
        self.missing.take()
    }

    /// Reads the context from the session again after its leaf has moved.
    ///
    /// # Errors
    /// Returns an error if the file can no longer be read.
    pub(super) fn reread(&self) -> Result<Vec<AgentMessage>> {
        let context = self.session().context(&Defaults::default())?;
        if let Some(warning) = context.warning() {
            self.missing.raise(warning);
        }
        Ok(context.messages)
    }

    /// Adds a message without sending a request: at once if no activity owns the context, otherwise when it ends.
    pub(super) fn record(&self, message: AgentMessage) {
        self.pending.lock().push(message);
        self.flush_pending_if_idle();
    }

    /// Moves the pending messages to the context and the session.
    pub(super) fn flush_pending(&self, context: &mut Vec<AgentMessage>) {
        let pending = std::mem::take(&mut *self.pending.lock());
        for mut message in pending {
            self.recorder.message(&mut message);
            context.push(message);
        }
    }

    /// Does the same if no activity owns the context; otherwise the activity does it when it ends.
    pub(super) fn flush_pending_if_idle(&self) {
        // Checks again after each pass: a message that arrives meanwhile would otherwise wait for the next activity.
        while !self.pending.lock().is_empty() {
            if self.context.peek(|context| self.flush_pending(context)).is_none() {
                return;
            }
        }
    }

    /// Returns the context and drops the conversation.
    pub(super) fn into_context(self) -> Vec<AgentMessage> {
        self.context.into_value()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;
    use sinew_session::clock::FixedClock;
    use sinew_session::{SessionOptions, Sync};

    use super::super::lifecycle::Activity;
    use super::*;
    use crate::test_tools::user;

    fn session() -> Session {
        let clock = Arc::new(FixedClock::at(1_769_851_800_000));
        Session::in_memory(SessionOptions { cwd: "/".into(), blobs: None, sync: Sync::Turn, clock, mask: None })
    }

    fn conversation(session: Session) -> Conversation {
        let before = session.context(&Defaults::default()).unwrap();
        Conversation::new(session, before)
    }

    #[track_caller]
    fn check(conversation: &Conversation, expect: &[AgentMessage]) {
        let context = conversation.context.peek(|context| context.clone()).unwrap();
        assert_eq!((context.as_slice(), conversation.reread().unwrap().as_slice()), (expect, expect));
    }

    #[test]
    fn a_recorded_message_is_in_context_and_session_at_once() {
        let conversation = conversation(session());
        conversation.record(user("one"));
        conversation.record(user("two"));
        check(&conversation, &[user("one"), user("two")]);
    }

    #[test]
    fn a_message_recorded_during_an_activity_follows_it() {
        let conversation = conversation(session());
        let mut permit = conversation.context.begin(Activity::Run).unwrap();
        conversation.record(user("later"));
        let mut first = user("first");
        conversation.recorder.message(&mut first);
        permit.push(first);
        assert_eq!(conversation.reread().unwrap(), [user("first")]);
        drop(permit);
        conversation.flush_pending_if_idle();
        check(&conversation, &[user("first"), user("later")]);
    }

    #[test]
    fn an_activity_adds_pending_messages_in_order() {
        let conversation = conversation(session());
        let mut permit = conversation.context.begin(Activity::Maintenance).unwrap();
        conversation.record(user("one"));
        conversation.record(user("two"));
        conversation.flush_pending(&mut permit);
        conversation.flush_pending(&mut permit);
        drop(permit);
        check(&conversation, &[user("one"), user("two")]);
        assert_eq!(conversation.into_context().len(), 2);
    }

    #[test]
    fn missing_images_cause_one_warning() {
        let mut session = session();
        let image =
            json!({"type": "image", "data": format!("blob:sha256:{}", "0".repeat(64)), "mimeType": "image/png"});
        let message = json!({"role": "user", "timestamp": 1, "content": [image]});
        session.append(Body::Message { message: serde_json::from_value(message).unwrap() }).unwrap();
        let conversation = conversation(session);
        assert!(conversation.take_warning().is_some_and(|warning| warning.contains("is missing")));
        conversation.reread().unwrap();
        assert_eq!(conversation.take_warning(), None);
    }
}
