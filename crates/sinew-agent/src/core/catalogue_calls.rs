//! Converts calls of catalogued tools back to the form in which the model made them.

use std::sync::Arc;

use serde_json::Value;
use sinew_llm::message::{AssistantMessage, Block, LlmMessage, ToolCall, ToolResultMessage};
use sinew_llm::provider::ToolDef;

use super::run::{Catalogue, Toolset};

/// Converts the messages for a provider that loads tools by itself, and returns the tools that were loaded in the
/// conversation so far. Depends on the messages alone: a tool keeps the definition of its first search result.
pub(crate) fn as_loaded(
    mut messages: Vec<Arc<LlmMessage>>,
    catalogue: &dyn Catalogue,
) -> (Vec<Arc<LlmMessage>>, Vec<ToolDef>) {
    let mut tools: Vec<ToolDef> = Vec::new();
    for message in &mut messages {
        let LlmMessage::ToolResult(result) = &**message else { continue };
        let Some(loaded) = catalogue.loaded(result) else { continue };
        *message = Arc::new(LlmMessage::from(loaded.result));
        for tool in loaded.tools {
            if tools.iter().all(|known| known.name != tool.name) {
                tools.push(tool);
            }
        }
    }
    (messages, tools)
}

/// Wraps calls of catalogued tools again. The conversation names the tool that a call resolved to, but a provider must
/// receive the one that is part of its request. Depends only on the messages and the request's own tools, so that the
/// prefix is the same in each request.
pub(crate) fn as_called(mut messages: Vec<Arc<LlmMessage>>, tools: &Toolset) -> Vec<Arc<LlmMessage>> {
    let Some(catalogue) = tools.catalogue() else { return messages };
    for message in &mut messages {
        match &**message {
            LlmMessage::Assistant(answer) => {
                let wraps = |call: &ToolCall| catalogue.wrap(&call.name, &call.arguments);
                if answer.tool_calls().all(|call| wraps(call).is_none()) {
                    continue;
                }
                let mut answer = AssistantMessage::clone(answer);
                for block in &mut answer.content {
                    if let Block::ToolCall(call) = block
                        && let Some((name, arguments)) = wraps(call)
                    {
                        (call.name, call.arguments) = (name, arguments);
                    }
                }
                *message = Arc::new(LlmMessage::from(answer));
            }
            LlmMessage::ToolResult(result) => {
                if let Some((name, _)) = catalogue.wrap(&result.tool_name, &Value::Null) {
                    let mut result = ToolResultMessage::clone(result);
                    result.tool_name = name;
                    *message = Arc::new(LlmMessage::from(result));
                }
            }
            LlmMessage::User(_) => {}
        }
    }
    messages
}
