//! Monitors of a streaming answer, which may end it.

use std::collections::HashMap;

use sinew_llm::event::StreamEvent;
use sinew_llm::message::{AgentMessage, AssistantMessage, Block};

#[cfg(test)]
mod tests;

/// Reads the answers of one run while they stream. Its methods are called between two events of a stream and must be
/// fast.
pub trait StreamMonitor: Send + Sync {
    /// Called at the start of a turn, before the answer.
    fn turn_start(&self);

    /// Reads an event of the provider. If it returns names of rules, the request ends at once and `ttsr_triggered`
    /// reports them.
    fn see(&self, event: &StreamEvent) -> Option<Vec<String>>;

    /// Called when the stream pauses, to do postponed checks. Returns the same as [`StreamMonitor::see`].
    fn catch_up(&self) -> Option<Vec<String>>;

    /// Called after the answer is stored and before its tools start. `interrupted` is true if this monitor ended the
    /// answer.
    fn settle(&self, answer: &AssistantMessage, interrupted: bool) -> Correction;
}

/// The changes that a monitor requests after an answer. The default changes nothing.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Correction {
    /// Removes the answer and the results of its calls from the context.
    pub discard: bool,
    /// The names of the rules that are in the context from now on.
    pub injected: Vec<String>,
    /// Messages that are appended after the turn; the run continues with another turn.
    pub messages: Vec<AgentMessage>,
    /// Texts that are inserted before the results of calls, by the id of the call.
    pub reminders: HashMap<String, String>,
}

impl Correction {
    /// Inserts the reminder of a call, if there is one, before its result.
    pub(super) fn remind(&self, call: &str, mut content: Vec<Block>) -> Vec<Block> {
        if let Some(text) = self.reminders.get(call) {
            content.insert(0, Block::text(text));
        }
        content
    }
}
