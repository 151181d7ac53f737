//! The cut between the messages that are summed up and those that stay: never before a result, so that no call is
//! parted from it.

use std::collections::HashMap;

use sinew_llm::message::AgentMessage;

use super::Limits;
use super::estimate::{counted, tokens};

/// The cut of a context, as indices of its messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// The first message after an earlier summary; older messages are no longer there.
    pub from: usize,
    /// The first message that stays.
    pub kept: usize,
    /// The beginning of the turn that the cut divides; a turn of its own is summed up apart.
    pub turn: Option<usize>,
}

/// The cut that keeps at least `limits.keep_recent` tokens, where the messages have them. None where nothing would be
/// summed up.
#[must_use]
pub fn cut(messages: &[AgentMessage], limits: Limits) -> Option<Cut> {
    let from = messages.iter().rposition(|message| matches!(message, AgentMessage::CompactionSummary(_)));
    let from = from.map_or(0, |at| at + 1);
    let scale = scale(messages);
    let mut kept_tokens = 0.0;
    let mut kept = messages.len();
    for (at, message) in messages.iter().enumerate().skip(from).rev() {
        kept_tokens += tokens(message) as f64 * scale;
        kept = at;
        if kept_tokens >= limits.keep_recent as f64 {
            break;
        }
    }
    // A result stays with its call, wherever both stand: the cut moves towards the older side.
    let owners = owners(messages);
    let mut at = messages.len();
    loop {
        while at > kept {
            at -= 1;
            kept = kept.min(owners[at]);
        }
        if kept <= from || !matches!(messages.get(kept), Some(AgentMessage::ToolResult(_))) {
            break;
        }
        kept -= 1;
    }
    if kept <= from || kept >= messages.len() {
        return None;
    }
    let begins_turn = !matches!(messages[kept], AgentMessage::Assistant(_));
    let turn = messages[from..kept].iter().rposition(|message| matches!(message, AgentMessage::User(_)));
    Some(Cut { from, kept, turn: if begins_turn { None } else { turn.map(|at| from + at) } })
}

/// For each message where the call stands that it answers; a message that answers none is its own. Of calls with one
/// id the last one before the result counts.
fn owners(messages: &[AgentMessage]) -> Vec<usize> {
    let mut calls: HashMap<&str, usize> = HashMap::new();
    let mut owners = Vec::with_capacity(messages.len());
    for (at, message) in messages.iter().enumerate() {
        owners.push(match message {
            AgentMessage::Assistant(answer) => {
                calls.extend(answer.tool_calls().map(|call| (call.id.as_str(), at)));
                at
            }
            AgentMessage::ToolResult(result) => calls.get(result.tool_call_id.as_str()).copied().unwrap_or(at),
            _ => at,
        });
    }
    owners
}

/// The factor by which the context is larger than its estimate, by the last answer that counted it.
fn scale(messages: &[AgentMessage]) -> f64 {
    let (measured, until) = counted(messages);
    let estimated: u64 = messages[..until].iter().map(tokens).sum();
    if measured == 0 || estimated == 0 {
        return 1.0;
    }
    // The measure has the system prompt and the tools too: a short context must not look ten times its size.
    (measured as f64 / estimated as f64).clamp(0.25, 4.0)
}
