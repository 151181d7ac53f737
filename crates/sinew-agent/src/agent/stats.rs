//! Statistics of a session: counts, cost, use of the context window.

use serde::{Deserialize, Serialize};
use sinew::base::Result;
use sinew_llm::message::{AgentMessage, Usage};
use sinew_session::{Body, Defaults, Session};
use sinew_tools::Phase;

use super::session::AgentSession;
use crate::compaction::{context_tokens, counted_tokens, definition_bytes};

/// Counts of a session over all of its branches, because abandoned branches cost money too.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionStats {
    /// The number of user messages.
    pub user_messages: usize,
    /// The number of answers.
    pub assistant_messages: usize,
    /// The number of tool calls in the answers.
    pub tool_calls: usize,
    /// The number of tool results.
    pub tool_results: usize,
    /// The number of messages of all kinds.
    pub total_messages: usize,
    /// The tokens of all answers.
    pub tokens: TokenCounts,
    /// The cost, in US dollars.
    pub cost: f64,
}

/// Numbers of tokens by kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TokenCounts {
    /// Input tokens.
    pub input: u64,
    /// Output tokens.
    pub output: u64,
    /// Tokens read from a cache.
    pub cache_read: u64,
    /// Tokens written to a cache.
    pub cache_write: u64,
    /// The sum of all kinds.
    pub total: u64,
}

/// The use of the context window.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ContextUsage {
    /// The approximate number of tokens of the context.
    pub tokens: u64,
    /// The context window of the model, in tokens.
    pub context_window: u64,
    /// The used part, in percent.
    pub percent: f64,
}

impl From<Usage> for TokenCounts {
    fn from(usage: Usage) -> TokenCounts {
        let Usage { input, output, cache_read, cache_write, .. } = usage;
        TokenCounts { input, output, cache_read, cache_write, total: input + output + cache_read + cache_write }
    }
}

impl SessionStats {
    /// Counts a session that is not open for work.
    ///
    /// # Errors
    /// Returns an error if the file can no longer be read.
    pub fn of(session: &Session) -> Result<SessionStats> {
        let mut counted = CountedEntries::default();
        counted.count_new(session)?;
        Ok(counted.stats)
    }
}

/// The sizes of the texts with which each request begins, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PrefixSize {
    /// The system prompt.
    pub system: usize,
    /// The definitions of the tools.
    pub tools: usize,
}

impl AgentSession {
    /// Counts the whole session. The first call reads all entries, a later one only the new ones.
    ///
    /// # Errors
    /// Returns an error if the file can no longer be read.
    pub fn stats(&self) -> Result<SessionStats> {
        let session = self.session();
        let mut counted = self.counted.lock();
        counted.count_new(&session)?;
        Ok(counted.stats.clone())
    }

    /// Returns the sizes of the texts with which each request begins.
    #[must_use]
    pub fn prefix_size(&self) -> PrefixSize {
        PrefixSize {
            system: self.system().iter().map(String::len).sum(),
            tools: self.tools().all().iter().map(|tool| definition_bytes(&**tool)).sum(),
        }
    }

    /// Returns the use of the model's context window; `None` if the window is unknown.
    ///
    /// # Errors
    /// Returns an error if the file can no longer be read.
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

    /// Returns the messages that the model sees, also while a run is active.
    ///
    /// # Errors
    /// Returns an error if the file can no longer be read.
    pub fn conversation(&self) -> Result<Vec<AgentMessage>> {
        // Large messages are reference-counted, so this does not copy a long conversation.
        if let Some(messages) = self.conversation.context.peek(|messages| messages.clone()) {
            return Ok(messages);
        }
        Ok(self.session().context(&Defaults::default())?.messages)
    }

    /// Returns the end of the conversation, from the last answer with a token count, read from the session. It leads to
    /// the same estimate as the whole conversation, which is returned if there is no such answer or its count is no
    /// longer valid.
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

    /// Returns the text of the last answer that has one.
    ///
    /// # Errors
    /// Returns an error if the file can no longer be read.
    pub fn last_text(&self) -> Result<Option<String>> {
        last_text(&self.session())
    }

    /// Returns the user messages of all branches at which [`AgentSession::branch`] can start, each with its entry id
    /// and text.
    ///
    /// # Errors
    /// Returns an error if the file can no longer be read.
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

    /// Records in the session that the user edited the todo list, so that a resume restores it.
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

impl CountedEntries {
    /// Counts the entries that were not counted yet.
    fn count_new(&mut self, session: &Session) -> Result<()> {
        // Entries are never removed, so the counted ones can be skipped.
        for id in session.ids().skip(self.entries) {
            let message = session.entry(id)?.into_message();
            self.entries += 1;
            if let Some(message) = message {
                self.stats.count(&message);
            }
        }
        Ok(())
    }
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

/// Returns the text of the last answer of a session that has one; `None` if no answer has.
///
/// # Errors
/// Returns an error if the file of the session cannot be read any more.
pub fn last_text(session: &Session) -> Result<Option<String>> {
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
