//! The thinking configuration, which is the same for all requests of a tool loop.
//!
//! The server treats an answer and everything that follows from its tool calls as one turn with one thinking
//! configuration. Later answers of a loop need not contain thinking; with a budget, the first one must.

use crate::error::ErrorInfo;
use crate::message::{AssistantMessage, Block, LlmMessage};
use crate::model::{HighestEffort, ThinkingLevel, ThinkingMode};
use crate::provider::{Request, ToolChoice};
use crate::wire::prepare::{is_own, tool_choice};

/// The maximum of the default for `max_tokens`.
const MAX_TOKENS: u64 = 32_000;

/// The number of tokens reserved for the answer.
const ANSWER_TOKENS: u64 = 4096;

/// The minimum budget that the server accepts.
const SMALLEST_BUDGET: u64 = 1024;

/// The header value that makes a model with a budget think between tool calls too.
pub(super) const INTERLEAVED: &str = "interleaved-thinking-2025-05-14";

/// The thinking configuration of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Thinking {
    /// Omitted: models of this kind do not think by default.
    Unset,
    /// Disabled explicitly: newer models think by default.
    Disabled,
    /// A number of tokens.
    Budget(u64),
    /// Adaptive, with this effort.
    Effort(&'static str),
}

/// Returns `max_tokens` and the thinking configuration.
pub(super) fn limits(request: &Request) -> (u64, Thinking) {
    let model = &request.model;
    let max_tokens = request.max_tokens.unwrap_or_else(|| model.max_tokens.min(MAX_TOKENS)).max(1);
    let level = model.clamp_level(request.thinking);
    let adaptive = model.reasoning && model.thinking_mode == ThinkingMode::Adaptive;
    // The server does not support thinking with a forced tool.
    let forced = matches!(tool_choice(request), ToolChoice::Required | ToolChoice::Tool(_));
    if level == ThinkingLevel::Off || forced {
        let stopped = match model.compat.always_thinks {
            // The minimum of thinking.
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
            // Claude 4.6 has no `xhigh` between `high` and `max`: its rows in the table specify `max` as the highest
            // effort.
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

/// Returns true if the request needs [`INTERLEAVED`]: an adaptive model needs no header, and Haiku does not support it.
pub(super) fn is_interleaved(request: &Request) -> bool {
    let takes = request.model.compat.interleaved_thinking.unwrap_or_else(|| {
        let id = request.model.id.to_ascii_lowercase();
        id.contains("claude")
            && ["opus-4", "sonnet-4", "claude-4-opus", "claude-4-sonnet"].iter().any(|w| id.contains(w))
    });
    takes && !request.tools.is_empty() && matches!(limits(request).1, Thinking::Budget(_))
}

/// Returns true if a rejected request should be retried without thinking: the loop began without thinking, which in the
/// conversation looks the same as a model that did not think.
pub(super) fn is_refused(request: &Request, error: &ErrorInfo) -> bool {
    error.status == Some(400)
        && error.message.contains("xpected `thinking` or `redacted_thinking`")
        && matches!(limits(request).1, Thinking::Budget(_))
}

/// Returns true if the first answer of the current loop is from another model, or if its thinking has to be omitted:
/// the server does not allow continuing with a budget.
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

/// Returns true if an answer contains thinking whose signature is no longer valid.
fn is_changed(answer: &AssistantMessage) -> bool {
    answer.content.iter().any(|block| match block {
        Block::Thinking(thought) => thought.thinking_signature.as_deref() == Some(""),
        _ => false,
    })
}

/// Returns the start of each loop: a user message, except one after tool results, which belongs to the same turn.
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

/// Returns for each message whether its thinking is sent: all thinking of a turn, or none of it.
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
