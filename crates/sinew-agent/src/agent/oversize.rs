//! Names the part of a request that is too large, for the error of an overflow that a compaction cannot mend.

use sinew_llm::message::AgentMessage;

use super::session::AgentSession;
use super::stats::PrefixSize;
use crate::compaction::{text_tokens, tokens};

/// A part of a request.
struct RequestPart {
    name: String,
    tokens: u64,
    /// The advice for the user.
    advice: &'static str,
}

/// Returns sentences with the size of the request, the window of the model, the largest part, and what the user can do.
pub(super) fn oversize_text(agent: &AgentSession, messages: &[AgentMessage]) -> String {
    let model = agent.model().model;
    let PrefixSize { system, tools } = agent.prefix_size();
    let (system, tools) = (text_tokens(system), text_tokens(tools));
    let mut parts = vec![
        RequestPart::new("the system prompt", system, "shorten your AGENTS.md and descriptions of skills"),
        RequestPart::new("the definitions of the tools", tools, "offer fewer tools"),
    ];
    parts.extend(messages.iter().flat_map(parts_of));
    let all: u64 = parts.iter().map(|part| part.tokens).sum();
    let (name, window) = (model.key(), model.context_window);
    let size = format!("The request has about {all} tokens; the window of {name} has {window}.");
    let Some(RequestPart { name, tokens, advice }) = parts.into_iter().max_by_key(|part| part.tokens) else {
        return size;
    };
    format!("{size} The largest part is {name}, about {tokens} tokens: {advice}, or use a model with a larger window.")
}

impl RequestPart {
    fn new(name: impl Into<String>, tokens: u64, advice: &'static str) -> RequestPart {
        RequestPart { name: name.into(), tokens, advice }
    }
}

fn parts_of(message: &AgentMessage) -> Vec<RequestPart> {
    const SESSION: &str = "start a new session";
    let (name, advice) = match message {
        AgentMessage::FileMention(mention) => {
            let of_file = |file| {
                let mut one = mention.clone();
                one.files = vec![file];
                let advice = "name it without the @, so that the model reads only the lines that it needs";
                let name = format!("the attached file {}", one.files[0].path);
                RequestPart::new(name, tokens(&AgentMessage::FileMention(one)), advice)
            };
            return mention.files.iter().cloned().map(of_file).collect();
        }
        AgentMessage::User(_) => {
            ("your message".to_string(), "write long text to a file, and name the file in your message")
        }
        AgentMessage::ToolResult(result) => (format!("a result of the tool {}", result.tool_name), SESSION),
        AgentMessage::BashExecution(run) => {
            let command: String = run.command.chars().take(60).collect();
            (format!("the output of !{command}"), "write it to a file, and name the file in your message")
        }
        AgentMessage::Assistant(_) => ("an answer of the model".to_string(), SESSION),
        AgentMessage::Custom(custom) => (format!("a message of the type {}", custom.custom_type), SESSION),
        AgentMessage::BranchSummary(_) | AgentMessage::CompactionSummary(_) => ("a summary".to_string(), SESSION),
    };
    vec![RequestPart::new(name, tokens(message), advice)]
}
