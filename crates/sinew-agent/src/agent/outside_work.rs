//! Work outside of the runs that leads to another run when it ends, such as subagents in the background.
//!
//! While such work is running, the session is not settled: `agent_settled` waits until the last work has ended and
//! nothing runs any more.

use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use serde_json::Value;
use sinew_llm::message::{AgentMessage, Content, CustomMessage};
use sinew_session::Body;

use super::session::AgentSession;
use crate::event::Event;

/// Returns a line about the running work; `None` if nothing is running.
pub type DescribeWork = Arc<dyn Fn() -> Option<String> + Send + Sync>;

/// The type of messages about outside work.
const NOTE: &str = "outside_work";

/// The running work.
#[derive(Default)]
pub(super) struct OutsideWork {
    state: Mutex<State>,
    describe: OnceLock<DescribeWork>,
}

#[derive(Debug, Default)]
struct State {
    count: usize,
    /// True if a run has ended meanwhile.
    is_withheld: bool,
}

impl AgentSession {
    /// Begins work outside of the runs. Call [`AgentSession::end_outside_work`] when it has ended.
    pub fn begin_outside_work(&self) {
        self.outside_work.state.lock().count += 1;
    }

    /// Ends work outside of the runs. Emits `agent_settled` if a run ended meanwhile and nothing works any more.
    pub async fn end_outside_work(&self) {
        let is_settled = {
            let state = &mut *self.outside_work.state.lock();
            state.count = state.count.saturating_sub(1);
            // A run that is active settles the session itself.
            state.count == 0 && !self.is_running() && std::mem::take(&mut state.is_withheld)
        };
        if is_settled {
            self.emit(Event::AgentSettled {}).await;
        }
    }

    /// Emits `agent_settled`, unless work outside of the runs is still running.
    pub(super) async fn settle(&self) {
        let is_settled = {
            let state = &mut *self.outside_work.state.lock();
            state.is_withheld = state.count > 0;
            state.count == 0
        };
        if is_settled {
            self.emit(Event::AgentSettled {}).await;
        }
    }

    /// Sets the function that describes work outside of the runs. A compaction adds the description to the context,
    /// because its summary may not mention the work. Only the first call has an effect.
    pub fn describe_outside_work(&self, describe: DescribeWork) {
        let _ = self.outside_work.describe.set(describe);
    }

    /// Adds the description of the work outside of the runs to the session, if there is any.
    pub(super) fn note_outside_work(&self) {
        if let Some(text) = self.outside_work.describe.get().and_then(|describe| describe()) {
            let custom_type = NOTE.to_string();
            let content = Content::Text(text);
            self.conversation.append(Body::CustomMessage {
                custom_type,
                content,
                display: false,
                details: None,
                attribution: None,
            });
        }
    }

    /// Queues a message about work outside of the runs. The model reads it after the tools of the current turn, or with
    /// the next run; [`AgentSession::take_up`] starts one.
    pub fn note(&self, text: String, details: Option<Value>) {
        self.queues.note(AgentMessage::Custom(CustomMessage {
            custom_type: NOTE.into(),
            content: Content::Text(text),
            display: false,
            details,
            attribution: None,
            timestamp: self.clock.now(),
        }));
    }
}

/// Returns true if the newest answer is to a message about outside work, and the user has written nothing since the
/// answer before it.
pub(super) fn answers_note(seen: &[AgentMessage]) -> bool {
    let before = seen.iter().rposition(|message| matches!(message, AgentMessage::Assistant(_))).unwrap_or_default();
    let news = seen[..before].iter().rev().take_while(|message| !matches!(message, AgentMessage::Assistant(_)));
    let mut news = news.peekable();
    matches!(news.peek(), Some(AgentMessage::Custom(note)) if note.custom_type == NOTE)
        && news.all(|message| !matches!(message, AgentMessage::User(_)))
}
