//! The position of the cut between the messages that are summarized and those that are kept. A cut never separates a
//! tool result from its call.

use std::collections::HashMap;

use sinew_llm::message::AgentMessage;

use super::Limits;
use super::estimate::{counted, tokens};

/// The cut of a context, as indices into its messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// The first message after an earlier summary; the messages before are no longer in the context.
    pub from: usize,
    /// The first message that is kept.
    pub kept: usize,
    /// The start of the turn that the cut divides, if it divides one; that part is summarized separately.
    pub turn: Option<usize>,
}

/// Returns the cut that keeps at least `limits.keep_recent` tokens, if there are that many. Returns `None` if nothing
/// would be summarized.
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
    // A result stays with its call, so the cut moves to the older of the two.
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

/// Returns for each message the index of the call that it answers, or its own index. If calls share an id, the last one
/// before the result is used.
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

/// Returns the ratio of the context's counted size to its estimate, based on the last answer with a token count.
fn scale(messages: &[AgentMessage]) -> f64 {
    let (measured, until) = counted(messages);
    let estimated: u64 = messages[..until].iter().map(tokens).sum();
    if measured == 0 || estimated == 0 {
        return 1.0;
    }
    // The count includes the system prompt and the tools, which would make a short context look many times larger.
    (measured as f64 / estimated as f64).clamp(0.25, 4.0)
}
