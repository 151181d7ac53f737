//! Statistics of a session: counts, cost, fill of the window.

use serde::Serialize;
use sinew::base::Result;
use sinew_llm::message::{AgentMessage, Usage};
use sinew_session::{Body, Defaults};
use sinew_tools::Phase;

use super::session::AgentSession;
use crate::compaction::{context_tokens, counted_tokens};

/// Counts of a session, over all of its branches: what was left was paid for as well.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionStats {
    /// Messages of the user.
    pub user_messages: usize,
    /// Answers.
    pub assistant_messages: usize,
    /// Calls in them.
    pub tool_calls: usize,
    /// Their results.
    pub tool_results: usize,
    /// Messages of all kinds.
    pub total_messages: usize,
    /// Tokens of all answers.
    pub tokens: TokenCounts,
    /// US dollars.
    pub cost: f64,
}

/// Tokens by kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TokenCounts {
    /// Sent.
    pub input: u64,
    /// Answered.
    pub output: u64,
    /// Read from a cache.
    pub cache_read: u64,
    /// Put into a cache.
    pub cache_write: u64,
    /// All of them.
    pub total: u64,
}

/// The fill of the window.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ContextUsage {
    /// Tokens of the context, about.
    pub tokens: u64,
    /// The window of the model.
    pub context_window: u64,
    /// The part of it, from 0 to 100.
    pub percent: f64,
}

impl AgentSession {
    /// Counts the whole session. The first call reads all of it, a later one what has come since.
    ///
    /// # Errors
    /// The file can no longer be read.
    pub fn stats(&self) -> Result<SessionStats> {
        let session = self.session();
        let mut counted = self.counted.lock();
        // Entries are only ever added.
        for id in session.ids().skip(counted.entries) {
            let message = session.entry(id)?.into_message();
            counted.entries += 1;
            if let Some(message) = message {
                counted.stats.count(&message);
            }
        }
        Ok(counted.stats.clone())
    }

    /// Returns the fill of the model's window; none where the model tells no window.
    ///
    /// # Errors
    /// The file can no longer be read.
    pub fn context_usage(&self) -> Result<Option<ContextUsage>> {
        let context_window = self.model().model.context_window;
        if context_window == 0 {
            return Ok(None);
        }
        let tokens = match self.conversation.context.peek(|messages| context_tokens(messages)) {
            Some(tokens) => tokens,
            None => context_tokens(&self.uncounted()?),
        };
        let percent = tokens as f64 * 100.0 / context_window as f64;
        Ok(Some(ContextUsage { tokens, context_window, percent }))
    }

    /// The messages that the model sees, also while a run is active.
    ///
    /// # Errors
    /// The file can no longer be read.
    pub fn conversation(&self) -> Result<Vec<AgentMessage>> {
        // Large messages are shared: no second copy of a long conversation is made.
        if let Some(messages) = self.conversation.context.peek(|messages| messages.clone()) {
            return Ok(messages);
        }
        Ok(self.session().context(&Defaults::default())?.messages)
    }

    /// The end of the conversation from the last answer on whose tokens were counted, read from the session: it fills the
    /// window as the whole does. The whole where nothing was counted, or what was counted is no more.
    fn uncounted(&self) -> Result<Vec<AgentMessage>> {
        let session = self.session();
        let mut tail = Vec::new();
        for id in session.path_ids().into_iter().rev() {
            let entry = session.entry(id)?;
            if matches!(entry.body, Body::Compaction { .. } | Body::Prune { .. }) {
                return Ok(session.context(&Defaults::default())?.messages);
            }
            tail.extend(entry.into_message());
            if tail.last().is_some_and(|message| counted_tokens(message).is_some()) {
                break;
            }
        }
        tail.reverse();
        Ok(tail)
    }

    /// The text of the last answer that has one.
    ///
    /// # Errors
    /// The file can no longer be read.
    pub fn last_text(&self) -> Result<Option<String>> {
        let session = self.session();
        for id in session.path_ids().into_iter().rev() {
            if let Body::Message { message: AgentMessage::Assistant(answer) } = session.entry(id)?.body {
                let text = answer.text();
                if !text.trim().is_empty() {
                    return Ok(Some(text));
                }
            }
        }
        Ok(None)
    }

    /// The messages of the user, of all branches, from which [`AgentSession::branch`] can go: entry and text.
    ///
    /// # Errors
    /// The file can no longer be read.
    pub fn branch_points(&self) -> Result<Vec<(String, String)>> {
        let session = self.session();
        let mut points = Vec::new();
        for id in session.ids() {
            if let Body::Message { message: AgentMessage::User(user) } = session.entry(id)?.body {
                points.push((id.to_string(), user.content.text()));
            }
        }
        Ok(points)
    }

    /// Says in the session that the user made this of the list of tasks, so that a resume finds it.
    pub fn record_todo(&self, phases: &[Phase]) {
        let data = serde_json::json!({ "phases": phases });
        self.conversation.append(Body::Custom { custom_type: sinew_session::USER_TODO.into(), data });
    }
}

/// The counts of the first entries of a session.
#[derive(Debug, Default)]
pub(super) struct CountedEntries {
    entries: usize,
    stats: SessionStats,
}

impl SessionStats {
    fn count(&mut self, message: &AgentMessage) {
        self.total_messages += 1;
        match message {
            AgentMessage::User(_) => self.user_messages += 1,
            AgentMessage::ToolResult(_) => self.tool_results += 1,
            AgentMessage::Assistant(answer) => {
                self.assistant_messages += 1;
                self.tool_calls += answer.tool_calls().count();
                self.add(&answer.usage);
            }
            _ => {}
        }
    }

    fn add(&mut self, usage: &Usage) {
        let tokens = &mut self.tokens;
        for (sum, part) in [
            (&mut tokens.input, usage.input),
            (&mut tokens.output, usage.output),
            (&mut tokens.cache_read, usage.cache_read),
            (&mut tokens.cache_write, usage.cache_write),
        ] {
            *sum = sum.saturating_add(part);
            tokens.total = tokens.total.saturating_add(part);
        }
        self.cost += usage.cost.total;
    }
}
