//! Configuration of thinking: the same for all requests of a tool loop.
//!
//! To the server, an answer and all that follows from its tool calls is one turn, with one configuration of thinking.
//! A later answer of a loop need not have thought; where the model is told a budget, the first one must have.

use crate::error::ErrorInfo;
use crate::message::{AssistantMessage, Block, LlmMessage};
use crate::model::{HighestEffort, ThinkingLevel, ThinkingMode};
use crate::provider::{Request, ToolChoice};
use crate::wire::prepare::{is_own, tool_choice};

/// The default of `max_tokens` at most.
const MAX_TOKENS: u64 = 32_000;

/// Tokens that are left for the answer beside the thoughts.
const ANSWER_TOKENS: u64 = 4096;

/// The smallest budget that the server takes.
const SMALLEST_BUDGET: u64 = 1024;

/// The header's value that makes a model with a budget think between tool calls too.
pub(super) const INTERLEAVED: &str = "interleaved-thinking-2025-05-14";

/// The thinking part of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Thinking {
    /// Nothing: models of this kind do not think by themselves.
    Unset,
    /// Not to: newer models think where nothing is said.
    Disabled,
    /// So many tokens.
    Budget(u64),
    /// As much as the model sees fit, with this effort.
    Effort(&'static str),
}

/// `max_tokens`, and how to think within it.
pub(super) fn limits(request: &Request) -> (u64, Thinking) {
    let model = &request.model;
    let max_tokens = request.max_tokens.unwrap_or_else(|| model.max_tokens.min(MAX_TOKENS)).max(1);
    let level = model.clamp_level(request.thinking);
    let adaptive = model.reasoning && model.thinking_mode == ThinkingMode::Adaptive;
    // The server refuses to think when a tool is forced.
    let forced = matches!(tool_choice(request), ToolChoice::Required | ToolChoice::Tool(_));
    if level == ThinkingLevel::Off || forced {
        let stopped = match model.compat.always_thinks {
            // As little as it can.
            Some(true) => Thinking::Effort("low"),
            _ if adaptive => Thinking::Disabled,
            _ => Thinking::Unset,
        };
        return (max_tokens, stopped);
    }
    if adaptive {
        let word = match level {
            ThinkingLevel::Off | ThinkingLevel::Minimal | ThinkingLevel::Low => "low",
            ThinkingLevel::Medium => "medium",
            ThinkingLevel::High => "high",
            // Claude 4.6 has no `xhigh` between `high` and `max`: its rows in the table name `max` as the most effort.
            ThinkingLevel::XHigh => model.compat.highest_effort.unwrap_or(HighestEffort::XHigh).as_str(),
        };
        return (max_tokens, Thinking::Effort(word));
    }
    if begins_without_a_thought(request) {
        return (max_tokens, Thinking::Unset);
    }
    let own = request.thinking_budgets.iter().find(|(known, _)| *known == level).map(|(_, budget)| *budget);
    let budget = own.unwrap_or(match level {
        ThinkingLevel::Off | ThinkingLevel::Minimal => 1024,
        ThinkingLevel::Low => 4096,
        ThinkingLevel::Medium => 10_240,
        ThinkingLevel::High => 20_480,
        ThinkingLevel::XHigh => 32_768,
    });
    let ceiling = model.max_tokens.max(max_tokens);
    let max_tokens = max_tokens.max(budget.saturating_add(ANSWER_TOKENS).min(ceiling));
    let room = match max_tokens.saturating_sub(ANSWER_TOKENS) {
        room if room >= SMALLEST_BUDGET => room,
        _ => max_tokens - 1,
    };
    match budget.min(room) {
        budget if budget >= SMALLEST_BUDGET => (max_tokens, Thinking::Budget(budget)),
        _ => (max_tokens, Thinking::Unset),
    }
}

/// Returns whether the request asks for [`INTERLEAVED`]: a model that decides by itself needs no header, and Haiku does not
/// know it.
pub(super) fn is_interleaved(request: &Request) -> bool {
    let takes = request.model.compat.interleaved_thinking.unwrap_or_else(|| {
        let id = request.model.id.to_ascii_lowercase();
        id.contains("claude")
            && ["opus-4", "sonnet-4", "claude-4-opus", "claude-4-sonnet"].iter().any(|w| id.contains(w))
    });
    takes && !request.tools.is_empty() && matches!(limits(request).1, Thinking::Budget(_))
}

/// Returns whether a refused request is worth another try without thinking: the loop began without a thought, which the
/// conversation does not tell apart from a model that had none.
pub(super) fn is_refused(request: &Request, error: &ErrorInfo) -> bool {
    error.status == Some(400)
        && error.message.contains("xpected `thinking` or `redacted_thinking`")
        && matches!(limits(request).1, Thinking::Budget(_))
}

/// Returns whether the first answer of the loop that goes on was made by another model, or its thoughts have to be left out: the
/// server refuses to think on from there with a budget.
fn begins_without_a_thought(request: &Request) -> bool {
    let messages: Vec<&LlmMessage> = request.conversation().collect();
    let Some(begin) = loops(request).last().copied() else { return false };
    let answers = messages[begin..].iter().filter_map(|message| match message {
        LlmMessage::Assistant(answer) => Some(&**answer),
        _ => None,
    });
    let Some(first) = answers.clone().find(|answer| answer.tool_calls().next().is_some()) else { return false };
    !is_own(request, first) || answers.filter(|answer| is_own(request, answer)).any(is_changed)
}

/// Returns whether an answer has a thought whose signature no longer holds.
fn is_changed(answer: &AssistantMessage) -> bool {
    answer.content.iter().any(|block| match block {
        Block::Thinking(thought) => thought.thinking_signature.as_deref() == Some(""),
        _ => false,
    })
}

/// Returns the start of each loop: a message of the user, but for one behind the results of tools, which is part of the
/// turn.
fn loops(request: &Request) -> Vec<usize> {
    let mut begins = vec![0];
    let mut behind_results = false;
    for (at, message) in request.conversation().enumerate() {
        match message {
            LlmMessage::ToolResult(_) => behind_results = true,
            LlmMessage::Assistant(_) => behind_results = false,
            LlmMessage::User(_) if behind_results => {}
            LlmMessage::User(_) => begins.push(at),
        }
    }
    begins
}

/// For each message, whether its thoughts go back: those of a turn do so whole or not at all.
pub(super) fn kept(request: &Request) -> Vec<bool> {
    let messages: Vec<&LlmMessage> = request.conversation().collect();
    let begins = loops(request);
    let ends = begins.iter().skip(1).copied().chain([messages.len()]);
    let whole = begins.iter().zip(ends).map(|(begin, end)| {
        let turn = &messages[*begin..end];
        let changed = turn.iter().any(|message| match message {
            LlmMessage::Assistant(answer) => is_own(request, answer) && is_changed(answer),
            _ => false,
        });
        std::iter::repeat_n(!changed, turn.len())
    });
    whole.flatten().collect()
}
