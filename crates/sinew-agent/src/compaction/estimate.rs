//! The number of tokens of a context: the provider's count, and an estimate for the messages after it.

use sinew_llm::message::{AgentMessage, Block, Content, StopReason};
use sinew_tools::tool::Tool;

/// The approximate number of UTF-8 bytes per token.
const BYTES: usize = 4;
/// The number of tokens of an image.
const IMAGE: u64 = 1_200;

/// Returns the bytes that the definition of a tool adds to each request.
#[must_use]
pub fn definition_bytes(tool: &dyn Tool) -> usize {
    tool.name().len() + tool.description().len() + tool.parameters().to_string().len()
}

/// Estimates the tokens of a text from its length in bytes of UTF-8.
#[must_use]
pub fn text_tokens(length: usize) -> u64 {
    length.div_ceil(BYTES) as u64
}

/// Estimates the tokens of a message.
#[must_use]
pub fn tokens(message: &AgentMessage) -> u64 {
    match message {
        AgentMessage::User(user) => content(&user.content),
        AgentMessage::Assistant(answer) => blocks(&answer.content),
        AgentMessage::ToolResult(result) => blocks(&result.content),
        AgentMessage::BashExecution(run) if run.exclude_from_context == Some(true) => 0,
        AgentMessage::BashExecution(run) => text_tokens(run.command.len() + run.output.len()),
        AgentMessage::Custom(custom) => content(&custom.content),
        AgentMessage::FileMention(mention) => {
            let files = mention.files.iter();
            files
                .map(|file| {
                    text_tokens(file.path.len() + file.content.len()) + if file.image.is_some() { IMAGE } else { 0 }
                })
                .sum()
        }
        AgentMessage::BranchSummary(branch) => text_tokens(branch.summary.len()),
        AgentMessage::CompactionSummary(summary) => text_tokens(summary.summary.len()),
    }
}

fn content(content: &Content) -> u64 {
    match content {
        Content::Text(text) => text_tokens(text.len()),
        Content::Blocks(list) => blocks(list),
    }
}

fn blocks(list: &[Block]) -> u64 {
    list.iter()
        .map(|block| match block {
            Block::Text(text) => text_tokens(text.text.len()),
            Block::Thinking(thinking) => text_tokens(thinking.thinking.len()),
            Block::ToolCall(call) => text_tokens(call.name.len() + call.arguments.to_string().len()),
            Block::Image(_) => IMAGE,
            Block::Other(_) => 0,
        })
        .sum()
}

/// Returns the tokens of a context: the total of the last successful answer plus an estimate of the messages after it.
#[must_use]
pub fn context_tokens(messages: &[AgentMessage]) -> u64 {
    let (counted, from) = counted(messages);
    counted + messages[from..].iter().map(tokens).sum::<u64>()
}

/// Returns the token count of the last successful answer, and the index of the first message that it does not include.
/// Answers from before the last compaction are ignored, because they counted another context.
pub(super) fn counted(messages: &[AgentMessage]) -> (u64, usize) {
    let compacted = messages.iter().rev().find_map(|message| match message {
        AgentMessage::CompactionSummary(summary) => Some(summary.timestamp),
        _ => None,
    });
    let found = messages.iter().enumerate().rev().find_map(|(at, message)| {
        let tokens = counted_tokens(message).filter(|_| compacted.is_none_or(|time| message.timestamp() > time));
        tokens.map(|tokens| (tokens, at + 1))
    });
    found.unwrap_or((0, 0))
}

/// Returns the token count of the context up to and including this answer; `None` if it has no count.
pub(crate) fn counted_tokens(message: &AgentMessage) -> Option<u64> {
    match message {
        AgentMessage::Assistant(answer) if !matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted) => {
            Some(answer.usage.total_tokens).filter(|tokens| *tokens > 0)
        }
        _ => None,
    }
}
