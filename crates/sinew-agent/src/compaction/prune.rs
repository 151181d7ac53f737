//! Replaces old tool results first: they are large, and the tool can be called again.

use std::sync::Arc;

use sinew_llm::message::{AgentMessage, Block};

use super::estimate::{text_tokens, tokens};

/// The newest results up to this number of tokens are kept.
const PROTECTED: u64 = 40_000;
/// If pruning would save fewer tokens, it is not worth losing the provider's cache.
const LEAST: u64 = 20_000;

/// Tool results that are replaced by a note from now on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrunedResults {
    /// The ids of their calls.
    pub tool_call_ids: Vec<String>,
    /// The number of tokens saved.
    pub tokens: u64,
}

/// Replaces old results by a note and returns which; returns `None` and changes nothing if this saves too little.
pub fn prune(messages: &mut [AgentMessage]) -> Option<PrunedResults> {
    let mut seen = 0;
    let mut old: Vec<(usize, u64)> = Vec::new();
    for (at, message) in messages.iter().enumerate().rev() {
        let AgentMessage::ToolResult(result) = message else { continue };
        let size = tokens(message);
        seen += size;
        let note = tokens_of_note(size);
        // Contents of files are kept, because the current work needs them.
        let is_kept = result.is_error || sinew_tools::semantics_of(&result.tool_name).shows_content();
        if seen > PROTECTED && !is_kept && size > note {
            old.push((at, size));
        }
    }
    let saved: u64 = old.iter().map(|(_, size)| size - tokens_of_note(*size)).sum();
    if saved < LEAST {
        return None;
    }
    let mut tool_call_ids = Vec::with_capacity(old.len());
    for (at, size) in old.into_iter().rev() {
        if let AgentMessage::ToolResult(result) = &mut messages[at] {
            Arc::make_mut(result).content = vec![Block::text(note(size))];
            tool_call_ids.push(result.tool_call_id.clone());
        }
    }
    Some(PrunedResults { tool_call_ids, tokens: saved })
}

fn note(size: u64) -> String {
    format!("[Output truncated - {size} tokens]")
}

fn tokens_of_note(size: u64) -> u64 {
    text_tokens(note(size).len())
}
