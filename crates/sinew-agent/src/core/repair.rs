//! Converts messages to the form that a provider accepts: roles are mapped, and every call is directly followed by its
//! result.
//!
//! The stored session is never changed. Repairs that depend on the API (alternation of roles, ids that a provider
//! rejects, thinking blocks of another model, images) belong to its adapter.

use std::collections::HashMap;
use std::sync::Arc;

use sinew_llm::message::{
    AgentMessage, AssistantMessage, BashExecution, Block, Content, LlmMessage, StopReason, ToolCall, ToolResultMessage,
    UserMessage,
};

/// The text for a call without a result.
pub(super) const NO_RESULT: &str = "No result: the call was interrupted.";

/// The repaired prefix of a conversation that only grows, so that a turn converts only its new messages.
///
/// A repaired message never changes: at the start of a turn each call has its result, or will never get one.
#[derive(Debug, Default)]
pub(super) struct RepairedMessages {
    read: usize,
    list: Vec<Arc<LlmMessage>>,
}

impl RepairedMessages {
    /// Returns [`repair`] of `messages`, which must begin with the messages of the previous call. Takes time linear in
    /// the number of messages, but converts only the new ones.
    pub(super) fn grown(&mut self, messages: &[AgentMessage]) -> Vec<Arc<LlmMessage>> {
        self.list.extend(repair(&messages[self.read..]));
        self.read = messages.len();
        self.list.clone()
    }
}

/// Maps the roles and makes the list valid. Linear in the number of messages.
#[must_use]
pub fn repair(messages: &[AgentMessage]) -> Vec<Arc<LlmMessage>> {
    let mut results: HashMap<&str, &Arc<ToolResultMessage>> = HashMap::new();
    for message in messages {
        if let AgentMessage::ToolResult(result) = message {
            // Only the first result of a call is used; a second one is an error in the session file.
            results.entry(&result.tool_call_id).or_insert(result);
        }
    }
    let mut list = Vec::with_capacity(messages.len());
    let mut push = |message: LlmMessage| list.push(Arc::new(message));
    for message in messages {
        match message {
            AgentMessage::Assistant(answer) => {
                if !is_usable(answer) {
                    continue;
                }
                push(LlmMessage::Assistant(Arc::clone(answer)));
                for call in answer.tool_calls() {
                    push(match results.remove(&*call.id) {
                        Some(result) => LlmMessage::ToolResult(Arc::clone(result)),
                        None => missing(call, answer.timestamp).into(),
                    });
                }
            }
            // It was inserted after its call already, or has no call and is dropped.
            AgentMessage::ToolResult(_) => {}
            AgentMessage::User(user) => push(LlmMessage::User(Arc::clone(user))),
            AgentMessage::BashExecution(run) if run.exclude_from_context == Some(true) => {}
            AgentMessage::BashExecution(run) => push(said(bash(run), run.timestamp)),
            AgentMessage::Custom(custom) => {
                push(UserMessage { content: custom.content.clone(), timestamp: custom.timestamp }.into());
            }
            AgentMessage::FileMention(mention) => {
                push(UserMessage { content: Content::Blocks(mention.to_blocks()), timestamp: mention.timestamp }.into())
            }
            AgentMessage::BranchSummary(branch) => {
                let text = format!(
                    "The following is a summary of a branch that this conversation came back from:\n\n<summary>\n{}\n</summary>",
                    branch.summary
                );
                push(said(text, branch.timestamp));
            }
            AgentMessage::CompactionSummary(summary) => {
                let text = format!(
                    "The conversation before this point was compacted into the following summary:\n\n<summary>\n{}\n</summary>",
                    summary.summary
                );
                push(said(text, summary.timestamp));
            }
        }
    }
    list
}

fn said(text: String, timestamp: i64) -> LlmMessage {
    UserMessage { content: Content::Text(text), timestamp }.into()
}

/// Returns false for an answer that failed before it had any content.
fn is_usable(answer: &AssistantMessage) -> bool {
    let failed = matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted);
    let says = answer.content.iter().any(|block| match block {
        Block::Text(text) => !text.text.trim().is_empty(),
        Block::ToolCall(call) => call.partial_json.is_none(),
        _ => false,
    });
    !failed || says
}

fn missing(call: &ToolCall, timestamp: i64) -> ToolResultMessage {
    ToolResultMessage {
        tool_call_id: call.id.clone(),
        tool_name: call.name.clone(),
        content: vec![Block::text(NO_RESULT)],
        is_error: true,
        timestamp,
        ..ToolResultMessage::default()
    }
}

fn bash(run: &BashExecution) -> String {
    let mut text = format!("Ran `{}`\n```\n{}\n```", run.command, run.output.trim_end());
    match run.exit_code {
        _ if run.cancelled => text.push_str("\n(cancelled)"),
        Some(0) | None => {}
        Some(code) => text.push_str(&format!("\nExit code: {code}")),
    }
    if let (true, Some(path)) = (run.truncated, &run.full_output_path) {
        text.push_str(&format!("\n[Output truncated. Full output: {path}]"));
    }
    text
}
