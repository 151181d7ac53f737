//! Monitors of an answer that streams, which may end it.

use std::collections::HashMap;

use sinew_llm::event::StreamEvent;
use sinew_llm::message::{AgentMessage, AssistantMessage, Block};

#[cfg(test)]
mod tests;

/// Reads the answers of one run while they come. Its functions are called between two events of a stream: they must be
/// quick.
pub trait StreamMonitor: Send + Sync {
    /// A turn begins; nothing of its answer has come.
    fn turn_start(&self);

    /// Reads an event of the provider. Names of rules: the request ends at once, and `ttsr_triggered` tells them.
    fn see(&self, event: &StreamEvent) -> Option<Vec<String>>;

    /// No more has come for a moment: what was put off is looked at now. The result is that of [`StreamMonitor::see`].
    fn catch_up(&self) -> Option<Vec<String>>;

    /// The answer is stored, its tools have not begun. `interrupted`: the monitor asked for its end.
    fn settle(&self, answer: &AssistantMessage, interrupted: bool) -> Correction;
}

/// The changes that a monitor wants after an answer. The default is nothing.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Correction {
    /// The answer, and what answers its calls, leaves the context.
    pub discard: bool,
    /// Rules that are from now on in the context.
    pub injected: Vec<String>,
    /// Goes behind the turn; the run goes on with another one.
    pub messages: Vec<AgentMessage>,
    /// Texts that go in front of the results of calls, by the id of the call.
    pub reminders: HashMap<String, String>,
}

impl Correction {
    /// Puts the reminder of a call, if there is one, in front of its result.
    pub(super) fn remind(&self, call: &str, mut content: Vec<Block>) -> Vec<Block> {
        if let Some(text) = self.reminders.get(call) {
            content.insert(0, Block::text(text));
        }
        content
    }
}
