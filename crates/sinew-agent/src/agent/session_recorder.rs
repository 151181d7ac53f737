//! Writes the conversation to the session's file. A write failure is reported once; the run continues in memory.

use parking_lot::{Mutex, MutexGuard};
use sinew::base::{Error, Result};
use sinew_llm::message::AgentMessage;
use sinew_session::{Body, Session};

use crate::core::Journal;

/// A session that several parts of an agent write to, one entry at a time.
pub(super) struct SessionRecorder {
    session: Mutex<Session>,
    /// The first write failure, until it is reported.
    unreported: Mutex<Option<Error>>,
}

impl SessionRecorder {
    pub(super) fn new(session: Session) -> SessionRecorder {
        SessionRecorder { session: Mutex::new(session), unreported: Mutex::default() }
    }

    pub(super) fn session(&self) -> MutexGuard<'_, Session> {
        self.session.lock()
    }

    /// Appends an entry. The first failure is stored for [`SessionRecorder::take_failure`].
    pub(super) fn append(&self, body: Body) {
        self.write(|session| session.append(body).map(drop));
    }

    fn write(&self, add: impl FnOnce(&mut Session) -> Result<()>) {
        let mut session = self.session();
        let first = session.failure().is_none();
        if let Err(error) = add(&mut session)
            && first
        {
            *self.unreported.lock() = Some(error);
        }
    }

    fn flush(&self) {
        if let Err(error) = self.session().flush() {
            self.unreported.lock().get_or_insert(error);
        }
    }

    /// Returns the write failure that was not reported yet.
    pub(super) fn take_failure(&self) -> Option<Error> {
        self.unreported.lock().take()
    }

    /// Moves the leaf before the last answer of its path. The answer and the messages after it stay in the file, but
    /// leave the context, also after a resume. Settings that were changed after the answer are written again.
    pub(super) fn take_back(&self) -> Result<()> {
        let mut session = self.session();
        let path: Vec<String> = session.path_ids().into_iter().map(str::to_string).collect();
        let mut later = Vec::new();
        for (at, id) in path.iter().enumerate().rev() {
            let body = session.entry(id)?.body;
            if let Body::Message { message: AgentMessage::Assistant(_) } = &body {
                session.set_leaf(at.checked_sub(1).map(|before| path[before].as_str()))?;
                drop(session);
                // After a load the leaf is the last entry; this entry preserves the branch.
                let data = serde_json::json!({ "failed": id });
                self.append(Body::Custom { custom_type: "retry".into(), data });
                later.into_iter().rev().for_each(|body| self.append(body));
                return Ok(());
            }
            if !matches!(body, Body::Message { .. }) {
                later.push(body);
            }
        }
        Ok(())
    }
}

impl Journal for SessionRecorder {
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
        SessionRecorder::take_back(self).map_err(|error| error.to_string())
    }

    fn injected(&self, rules: &[String]) {
        self.append(Body::TtsrInjection { injected_rules: rules.to_vec() });
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use sinew_session::clock::FixedClock;
    use sinew_session::{Defaults, SessionOptions, Sync};

    use super::*;
    use crate::test_tools::{text, user};

    fn recorder(folder: &Path, path: &Path) -> SessionRecorder {
        let clock = Arc::new(FixedClock::at(1_769_851_800_000));
        let options = SessionOptions { cwd: folder.to_path_buf(), blobs: None, sync: Sync::Turn, clock, mask: None };
        SessionRecorder::new(Session::create(path.to_path_buf(), "id".into(), options))
    }

    fn roles(recorder: &SessionRecorder) -> Vec<&'static str> {
        let context = recorder.session().context(&Defaults::default()).unwrap();
        context.messages.iter().map(AgentMessage::role).collect()
    }

    #[test]
    fn a_write_failure_is_returned_once() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "a file where a folder should be").unwrap();
        let recorder = recorder(folder.path(), &file.join("s.jsonl"));
        assert!(recorder.take_failure().is_none());
        recorder.message(&mut user("one"));
        recorder.message(&mut user("two"));
        assert!(recorder.take_failure().is_some());
        assert!(recorder.take_failure().is_none());
        assert_eq!(roles(&recorder), ["user", "user"]);
    }

    #[test]
    fn a_retracted_answer_stays_in_the_file_and_leaves_the_context() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.jsonl");
        let recorder = recorder(folder.path(), &path);
        recorder.message(&mut user("go"));
        recorder.message(&mut text("half an answer").into());
        recorder.append(Body::ThinkingLevelChange { thinking_level: "high".into() });
        SessionRecorder::take_back(&recorder).unwrap();
        assert_eq!(roles(&recorder), ["user"]);
        assert_eq!(recorder.session().context(&Defaults::default()).unwrap().thinking_level.as_str(), "high");
        assert!(std::fs::read_to_string(&path).unwrap().contains("half an answer"));
        // A second call finds no answer to remove.
        SessionRecorder::take_back(&recorder).unwrap();
        assert_eq!(roles(&recorder), ["user"]);
    }
}
