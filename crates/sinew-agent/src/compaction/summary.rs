//! The request for a summary, and the lists of files that are appended to the answer.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use sinew_llm::message::{AgentMessage, Block, text_of};

/// The number of characters of a tool result that the request includes.
const OUTPUT: usize = 2_000;

/// When the budget is short, one message may use at most 1/8 of it.
const SHARE: usize = 8;

/// The system prompt of the request.
pub const SUMMARY_SYSTEM: &str = "You sum up a conversation between a user and a coding agent, so that the agent can go \
on from your summary alone. Do not continue the conversation and do not answer questions in it. Write only the summary.";

/// The sections that the summary must have.
pub const SECTIONS: &str = "Write the summary with these sections:

## Goal
What the user wants.

## Constraints & Preferences
What the user asked for in how it is done.

## Progress
### Done
### In progress
### Blocked

## Key Decisions
Each with its reason.

## Next Steps
In order.

## Critical Context
Names, paths, commands, error messages and values that are needed to go on, exactly as they stand.";

/// Returns the message that requests a summary of `conversation` (see [`serialise`]).
#[must_use]
pub fn request_text(conversation: &str, previous: Option<&str>, additional: Option<&str>) -> String {
    let mut text = format!("<conversation>\n{conversation}\n</conversation>\n\n");
    if let Some(previous) = previous {
        text.push_str(&format!("<previous-summary>\n{previous}\n</previous-summary>\n\nThe conversation goes on from the previous summary: take over from it what still holds.\n\n"));
    }
    if let Some(additional) = additional {
        text.push_str(&format!("<additional-context>\n{additional}\n</additional-context>\n\n"));
    }
    text.push_str(SECTIONS);
    text
}

/// Formats the messages as text of at most about `bytes` bytes. To fit, it drops the oldest tool results first, then
/// the middles of long messages, then the beginning.
#[must_use]
pub fn serialise(messages: &[AgentMessage], bytes: usize) -> String {
    let mut parts: Vec<(bool, String)> = messages.iter().filter_map(part).collect();
    let mut size: usize = parts.iter().map(|(_, text)| text.len() + 2).sum();
    for (output, text) in &mut parts {
        if size <= bytes {
            break;
        }
        if *output {
            size -= text.len();
            *text = "[Tool result left out]".into();
            size += text.len();
        }
    }
    let share = bytes / SHARE;
    for (_, text) in parts.iter_mut().filter(|(_, text)| text.len() > share) {
        if size <= bytes {
            break;
        }
        size -= text.len();
        *text = without_middle(text, share);
        size += text.len();
    }
    let mut first = 0;
    while size > bytes && first + 1 < parts.len() {
        size -= parts[first].1.len() + 2;
        first += 1;
    }
    let texts: Vec<&str> = parts[first..].iter().map(|(_, text)| text.as_str()).collect();
    texts.join("\n\n")
}

/// Returns the first and last characters of `text` with a note between them. `text` must be longer than `bytes`.
fn without_middle(text: &str, bytes: usize) -> String {
    let head = text.floor_char_boundary(bytes / 2);
    let tail = text.ceil_char_boundary(text.len() - bytes / 2);
    format!("{}\n[{} bytes left out]\n{}", &text[..head], tail - head, &text[tail..])
}

/// Formats one message; the flag is true for a tool result.
fn part(message: &AgentMessage) -> Option<(bool, String)> {
    Some(match message {
        AgentMessage::User(user) => (false, format!("[User]: {}", user.content.text())),
        AgentMessage::Assistant(answer) => {
            let mut lines = Vec::new();
            for block in &answer.content {
                match block {
                    Block::Thinking(thinking) if !thinking.thinking.is_empty() => {
                        lines.push(format!("[Assistant thinking]: {}", shortened(&thinking.thinking)));
                    }
                    Block::Text(text) if !text.text.is_empty() => lines.push(format!("[Assistant]: {}", text.text)),
                    Block::ToolCall(call) => {
                        lines.push(format!("[Tool call]: {} {}", call.name, shortened(&call.arguments.to_string())));
                    }
                    _ => {}
                }
            }
            (false, lines.join("\n"))
        }
        AgentMessage::ToolResult(result) => (true, format!("[Tool result]: {}", shortened(&text_of(&result.content)))),
        AgentMessage::BashExecution(run) if run.exclude_from_context == Some(true) => return None,
        AgentMessage::BashExecution(run) => (true, format!("[User ran]: {}\n{}", run.command, shortened(&run.output))),
        AgentMessage::Custom(custom) => (false, format!("[User]: {}", custom.content.text())),
        AgentMessage::FileMention(mention) => {
            let names: Vec<&str> = mention.files.iter().map(|file| file.path.as_str()).collect();
            (false, format!("[User attached]: {}", names.join(", ")))
        }
        AgentMessage::BranchSummary(branch) => (false, format!("[Summary of another branch]: {}", branch.summary)),
        AgentMessage::CompactionSummary(summary) => (false, format!("[Summary so far]: {}", summary.summary)),
    })
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(OUTPUT) {
        Some((at, _)) => format!("{}… [{} more bytes]", &text[..at], text.len() - at),
        None => text.to_string(),
    }
}

/// Joins the summary of the history and that of the divided turn's beginning.
#[must_use]
pub fn joined(history: Option<&str>, prefix: &str) -> String {
    match history {
        Some(history) => format!("{history}\n\n---\n\n**Turn Context (split turn):**\n\n{prefix}"),
        None => prefix.to_string(),
    }
}

/// The files that a conversation has read and changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Files {
    /// Files that were read and not changed.
    pub read: BTreeSet<String>,
    /// Files that were written or edited.
    pub modified: BTreeSet<String>,
}

impl Files {
    /// Returns the JSON that is stored in an entry.
    #[must_use]
    pub fn to_details(&self) -> Value {
        json!({"readFiles": self.read, "modifiedFiles": self.modified})
    }

    /// Adds the files that an earlier entry stored.
    pub fn add_details(&mut self, details: &Value) {
        let list = |key: &str| {
            let items = details.get(key).and_then(Value::as_array);
            items.into_iter().flatten().filter_map(Value::as_str).map(str::to_string).collect::<Vec<_>>()
        };
        self.modified.extend(list("modifiedFiles"));
        self.read.extend(list("readFiles"));
        self.read.retain(|path| !self.modified.contains(path));
    }
}

/// Returns the files of the tool calls in `messages`.
#[must_use]
pub fn files_of(messages: &[AgentMessage]) -> Files {
    let mut files = Files::default();
    let calls = messages.iter().filter_map(|message| match message {
        AgentMessage::Assistant(answer) => Some(answer.tool_calls()),
        _ => None,
    });
    for call in calls.flatten() {
        let semantics = sinew_tools::semantics_of(&call.name);
        if semantics.effects.writes_files {
            files.modified.extend(semantics.files(&call.arguments));
        } else if semantics.shows_content() {
            files.read.extend(semantics.files(&call.arguments));
        }
    }
    files.read.retain(|path| !files.modified.contains(path));
    files
}

/// The tags of the lists, in order.
const LISTS: [&str; 2] = ["read-files", "modified-files"];

/// Appends the lists of files to the summary, so that they do not depend on the model.
#[must_use]
pub fn with_files(summary: &str, files: &Files) -> String {
    let mut text = summary.trim().to_string();
    for (name, list) in LISTS.into_iter().zip([&files.read, &files.modified]) {
        if !list.is_empty() {
            let lines: Vec<&str> = list.iter().map(String::as_str).collect();
            text.push_str(&format!("\n\n<{name}>\n{}\n</{name}>", lines.join("\n")));
        }
    }
    text
}

/// Removes the lists at the end of a summary; the next ones are created from all files so far.
#[must_use]
pub fn without_files(summary: &str) -> &str {
    let mut text = summary.trim_end();
    for name in LISTS.into_iter().rev() {
        let list = text.strip_suffix(&format!("</{name}>")).and_then(|list| list.rfind(&format!("\n<{name}>\n")));
        text = list.map_or(text, |at| text[..at].trim_end());
    }
    text
}
