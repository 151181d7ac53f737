//! What happened beside the model: commands that the user ran. The model reads of them with the next request; a run that
//! is active keeps them out of its turns.

use parking_lot::Mutex;
use sinew_llm::message::AgentMessage;

use super::session::{AgentSession, Seen};
use crate::core::Journal;

/// What waits for the end of a run.
pub(super) type Recorded = Mutex<Vec<AgentMessage>>;

impl AgentSession {
    /// Adds a message to the conversation without asking the model: at once where no run is active, else behind the
    /// run. No event tells it.
    pub fn record(&self, message: AgentMessage) {
        self.recorded.lock().push(message);
        self.keep_recorded_if_idle();
    }

    /// Takes up what was recorded; `seen` is the right to.
    pub(super) fn keep_recorded(&self, seen: &mut Seen<'_>) {
        let recorded = std::mem::take(&mut *self.recorded.lock());
        for mut message in recorded {
            self.keep.message(&mut message);
            seen.push(message);
        }
    }

    /// The same, unless a run is active: it does so when it ends.
    pub(super) fn keep_recorded_if_idle(&self) {
        // Once more behind each look: what came while it was taken up would wait for the next run.
        while !self.recorded.lock().is_empty() {
            if self.briefly(|seen| self.keep_recorded(seen)).is_none() {
                return;
            }
        }
    }
}
