//! The messages of a conversation, in the format of a session file.
//!
//! [`AgentMessage`] has eight roles, of which models support three ([`LlmMessage`]). Keys are camelCase, messages are
//! distinguished by `role` and blocks by `type`.

mod common;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::ErrorInfo;
pub use common::CommonMessage;

/// A message of a session, with all roles of the agent. Large ones are shared, so that sending them to a model copies
/// nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "camelCase")]
pub enum AgentMessage {
    /// A message of the user.
    User(Arc<UserMessage>),
    /// An answer of a model.
    Assistant(Arc<AssistantMessage>),
    /// A result of a tool.
    ToolResult(Arc<ToolResultMessage>),
    /// A command that the user ran with `!`.
    BashExecution(BashExecution),
    /// A message of an extension.
    Custom(CustomMessage),
    /// Files that the user named with `@`.
    FileMention(FileMention),
    /// The summary of a branch that the user left.
    BranchSummary(BranchSummary),
    /// The summary of the messages before a compaction.
    CompactionSummary(CompactionSummary),
}

impl AgentMessage {
    /// Returns the creation time in milliseconds since the epoch.
    #[must_use]
    pub fn timestamp(&self) -> i64 {
        match self {
            AgentMessage::User(m) => m.timestamp,
            AgentMessage::Assistant(m) => m.timestamp,
            AgentMessage::ToolResult(m) => m.timestamp,
            AgentMessage::BashExecution(m) => m.timestamp,
            AgentMessage::Custom(m) => m.timestamp,
            AgentMessage::FileMention(m) => m.timestamp,
            AgentMessage::BranchSummary(m) => m.timestamp,
            AgentMessage::CompactionSummary(m) => m.timestamp,
        }
    }

    /// Returns the role in session files.
    #[must_use]
    pub fn role(&self) -> &'static str {
        match self {
            AgentMessage::User(_) => "user",
            AgentMessage::Assistant(_) => "assistant",
            AgentMessage::ToolResult(_) => "toolResult",
            AgentMessage::BashExecution(_) => "bashExecution",
            AgentMessage::Custom(_) => "custom",
            AgentMessage::FileMention(_) => "fileMention",
            AgentMessage::BranchSummary(_) => "branchSummary",
            AgentMessage::CompactionSummary(_) => "compactionSummary",
        }
    }
}

/// Implements the traits of a shared message, one line each.
macro_rules! shared {
    ($($kind:ident($of:ident),)*) => {$(
        impl From<$of> for AgentMessage {
            fn from(message: $of) -> AgentMessage {
                AgentMessage::$kind(Arc::new(message))
            }
        }

        impl From<$of> for LlmMessage {
            fn from(message: $of) -> LlmMessage {
                LlmMessage::$kind(Arc::new(message))
            }
        }
    )*};
}

shared! {
    User(UserMessage),
    Assistant(AssistantMessage),
    ToolResult(ToolResultMessage),
}

impl From<LlmMessage> for AgentMessage {
    fn from(message: LlmMessage) -> AgentMessage {
        match message {
            LlmMessage::User(m) => AgentMessage::User(m),
            LlmMessage::Assistant(m) => AgentMessage::Assistant(m),
            LlmMessage::ToolResult(m) => AgentMessage::ToolResult(m),
        }
    }
}

/// A message that models support.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "camelCase")]
pub enum LlmMessage {
    /// A message of the user.
    User(Arc<UserMessage>),
    /// An answer of the model.
    Assistant(Arc<AssistantMessage>),
    /// A result of a tool.
    ToolResult(Arc<ToolResultMessage>),
}

impl LlmMessage {
    /// Creates a user message with one text.
    pub fn user(text: impl Into<String>) -> LlmMessage {
        UserMessage { content: Content::Text(text.into()), timestamp: 0 }.into()
    }

    /// Returns the role in session files.
    #[must_use]
    pub fn role(&self) -> &'static str {
        match self {
            LlmMessage::User(_) => "user",
            LlmMessage::Assistant(_) => "assistant",
            LlmMessage::ToolResult(_) => "toolResult",
        }
    }
}

/// Plain text, or blocks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Content {
    /// One text.
    Text(String),
    /// Texts and images in order.
    Blocks(Vec<Block>),
}

impl Content {
    /// Returns all texts, separated by line feeds.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Content::Text(text) => text.clone(),
            Content::Blocks(blocks) => text_of(blocks),
        }
    }

    /// Returns true if there is no block, or one empty text.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        match self {
            Content::Text(text) => text.is_empty(),
            Content::Blocks(blocks) => blocks.is_empty(),
        }
    }
}

impl Default for Content {
    fn default() -> Content {
        Content::Text(String::new())
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Content {
        Content::Text(text.to_string())
    }
}

impl From<String> for Content {
    fn from(text: String) -> Content {
        Content::Text(text)
    }
}

impl From<Vec<Block>> for Content {
    fn from(blocks: Vec<Block>) -> Content {
        Content::Blocks(blocks)
    }
}

/// Returns the texts of `blocks`, separated by line feeds.
#[must_use]
pub fn text_of(blocks: &[Block]) -> String {
    let texts: Vec<&str> = blocks
        .iter()
        .filter_map(|block| match block {
            Block::Text(text) => Some(text.text.as_str()),
            _ => None,
        })
        .collect();
    texts.join("\n")
}

/// One part of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum Block {
    /// Text.
    Text(TextBlock),
    /// The model's thinking before its answer.
    Thinking(ThinkingBlock),
    /// A tool call requested by the model.
    ToolCall(ToolCall),
    /// An image.
    Image(ImageBlock),
    /// An unknown block of a newer or different program: preserved, but never sent to a model.
    #[serde(untagged)]
    Other(Value),
}

impl Block {
    /// Creates a text block without a signature.
    pub fn text(text: impl Into<String>) -> Block {
        Block::Text(TextBlock { text: text.into(), signature: None })
    }

    /// Returns the tool call; `None` for other blocks.
    #[must_use]
    pub fn as_tool_call(&self) -> Option<&ToolCall> {
        match self {
            Block::ToolCall(call) => Some(call),
            _ => None,
        }
    }
}

/// Text.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TextBlock {
    /// The text.
    pub text: String,
    /// Data that the provider needs back with the text, unchanged; `None` without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
}

/// The model's thinking.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ThinkingBlock {
    /// The thinking text, empty if the provider hides it.
    pub thinking: String,
    /// Data that the provider needs back with the thinking, unchanged. Empty if it no longer matches the thinking
    /// because a part was removed: the thinking of that turn is then not sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking_signature: Option<String>,
    /// True if the provider hides the thinking; `thinking_signature` then contains its encrypted form.
    #[serde(default, skip_serializing_if = "is_false")]
    pub redacted: bool,
}

/// The field names that servers with OpenAI's protocol use for thinking. The name is stored as the signature, because
/// the server needs the thinking back under the same name.
pub(crate) const THOUGHT_FIELDS: [&str; 3] = ["reasoning_content", "reasoning", "reasoning_text"];

impl ThinkingBlock {
    /// Returns true if the provider signs the thinking, and rejects a changed one.
    #[must_use]
    pub fn is_sealed(&self) -> bool {
        let sealed = |signature: &str| !signature.is_empty() && !THOUGHT_FIELDS.contains(&signature);
        self.redacted || self.thinking_signature.as_deref().is_some_and(sealed)
    }
}

/// A tool call requested by the model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    /// The id, which its result refers to. Unique within a message.
    pub id: String,
    /// The name of the tool.
    pub name: String,
    /// The arguments: an object unless the model made a mistake. While the call is streaming, the part that could be
    /// parsed so far.
    #[serde(default = "empty_object")]
    pub arguments: Value,
    /// Data that the provider needs back with the call, unchanged; `None` without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thought_signature: Option<String>,
    /// The text of the arguments while the call is streaming; `None` afterwards. Never stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partial_json: Option<String>,
    /// Why the arguments are not valid JSON; `None` if they are. Such a call must not be run; its result is the error
    /// `Invalid JSON in tool arguments: <this>`. Never stored.
    #[serde(skip)]
    pub invalid_arguments: Option<String>,
}

/// An image.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ImageBlock {
    /// Base64, or `blob:sha256:<hex>` in a session file. A request needs base64.
    pub data: String,
    /// `image/png`, `image/jpeg`, `image/gif` or `image/webp`.
    pub mime_type: String,
}

/// A message of the user.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UserMessage {
    /// Text, or text and images.
    pub content: Content,
    /// Milliseconds since the epoch.
    #[serde(default)]
    pub timestamp: i64,
}

/// An answer of a model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AssistantMessage {
    /// Text, thinking and tool calls in the order of the answer.
    pub content: Vec<Block>,
    /// The wire protocol, for example `anthropic-messages`.
    #[serde(default)]
    pub api: String,
    /// The provider's id in the registry.
    #[serde(default)]
    pub provider: String,
    /// The model's id.
    #[serde(default)]
    pub model: String,
    /// Tokens and cost.
    #[serde(default)]
    pub usage: Usage,
    /// Why the answer ended.
    #[serde(default)]
    pub stop_reason: StopReason,
    /// The error message, with `error` or `aborted`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
    /// The error for programs, with `error` or `aborted`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorInfo>,
    /// Milliseconds since the epoch.
    #[serde(default)]
    pub timestamp: i64,
    /// True if the server has paused a long answer, and continues it when the answer is sent back. Only known for a new
    /// answer; never stored.
    #[serde(skip)]
    pub paused: bool,
    /// The server's reason for the end of the answer, if no protocol knows it; the answer may be incomplete then. Only
    /// known for a new answer; never stored.
    #[serde(skip)]
    pub unknown_end: Option<String>,
}

impl AssistantMessage {
    /// Returns the tool calls in order.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.content.iter().filter_map(Block::as_tool_call)
    }

    /// Returns all texts, concatenated.
    #[must_use]
    pub fn text(&self) -> String {
        let parts = self.content.iter().map(|block| match block {
            Block::Text(text) => text.text.as_str(),
            _ => "",
        });
        parts.collect()
    }

    /// Returns all thinking, concatenated.
    #[must_use]
    pub fn thinking(&self) -> String {
        let parts = self.content.iter().map(|block| match block {
            Block::Thinking(thinking) => thinking.thinking.as_str(),
            _ => "",
        });
        parts.collect()
    }
}

/// A result of a tool.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolResultMessage {
    /// The id of the call.
    pub tool_call_id: String,
    /// The name of the tool.
    #[serde(default)]
    pub tool_name: String,
    /// Texts and images for the model.
    pub content: Vec<Block>,
    /// Data for the user interface, not sent to models; `None` without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// True if the tool failed; `content` then contains the reason.
    #[serde(default)]
    pub is_error: bool,
    /// Milliseconds since the epoch.
    #[serde(default)]
    pub timestamp: i64,
}

/// A command that the user ran with `!`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BashExecution {
    /// The command.
    pub command: String,
    /// The output.
    pub output: String,
    /// The exit code; `None` if the command was stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// True if the user stopped it.
    #[serde(default)]
    pub cancelled: bool,
    /// True if `output` is not complete.
    #[serde(default)]
    pub truncated: bool,
    /// The path of the file with the complete output; `None` if `output` is complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full_output_path: Option<String>,
    /// True if the model does not see it (`!!`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exclude_from_context: Option<bool>,
    /// Milliseconds since the epoch.
    #[serde(default)]
    pub timestamp: i64,
}

/// A message of an extension.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CustomMessage {
    /// The extension's name for the kind.
    pub custom_type: String,
    /// The content, which models receive as a user message.
    pub content: Content,
    /// True if the user sees it.
    #[serde(default)]
    pub display: bool,
    /// Data for the extension, not sent to models; `None` without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// The cause of the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attribution: Option<String>,
    /// Milliseconds since the epoch.
    #[serde(default)]
    pub timestamp: i64,
}

/// Files that the user named with `@`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileMention {
    /// The files in the order of the message.
    pub files: Vec<MentionedFile>,
    /// Milliseconds since the epoch.
    #[serde(default)]
    pub timestamp: i64,
}

impl FileMention {
    /// Returns the mention as models receive it: a text for each file, followed by its image.
    #[must_use]
    pub fn to_blocks(&self) -> Vec<Block> {
        let mut blocks = Vec::new();
        for file in &self.files {
            blocks.push(Block::text(format!("{}{}{MENTION_END}", mention_start(&file.path), file.content)));
            blocks.extend(file.image.clone().map(Block::Image));
        }
        blocks
    }

    /// Restores the contents and images of `files` from the result of [`FileMention::to_blocks`].
    #[must_use]
    pub fn from_blocks(mut files: Vec<MentionedFile>, blocks: Vec<Block>, timestamp: i64) -> FileMention {
        let mut next = 0;
        for block in blocks {
            match block {
                Block::Text(text) => {
                    let Some(file) = files.get_mut(next) else { break };
                    let rest = text.text.strip_prefix(&mention_start(&file.path)).unwrap_or(&text.text);
                    match rest.strip_suffix(MENTION_END) {
                        Some(content) => file.content = content.into(),
                        None => {
                            // Its end was cut off, so it has fewer lines than were counted.
                            file.content = rest.into();
                            file.line_count = rest.lines().count() as u64;
                        }
                    }
                    next += 1;
                }
                Block::Image(image) => {
                    if let Some(file) = next.checked_sub(1).and_then(|at| files.get_mut(at)) {
                        file.image = Some(image);
                    }
                }
                _ => {}
            }
        }
        FileMention { files, timestamp }
    }
}

const MENTION_END: &str = "\n</file>";

fn mention_start(path: &str) -> String {
    format!("<file path=\"{path}\">\n")
}

/// One file of a [`FileMention`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MentionedFile {
    /// The displayed path.
    pub path: String,
    /// The content of the file.
    #[serde(default)]
    pub content: String,
    /// The number of lines.
    #[serde(default)]
    pub line_count: u64,
    /// The image; `None` for a text file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<ImageBlock>,
}

/// The summary of a branch that was left.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BranchSummary {
    /// The summary.
    pub summary: String,
    /// The entry where the branch began.
    #[serde(default)]
    pub from_id: String,
    /// Milliseconds since the epoch.
    #[serde(default)]
    pub timestamp: i64,
}

/// The summary of the messages before a compaction.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CompactionSummary {
    /// The summary.
    pub summary: String,
    /// The size of the context before the compaction, in tokens.
    #[serde(default)]
    pub tokens_before: u64,
    /// Milliseconds since the epoch.
    #[serde(default)]
    pub timestamp: i64,
}

/// The tokens of one answer and their cost. `input` excludes cached tokens and those written to the cache.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Usage {
    /// Tokens read at the full price.
    pub input: u64,
    /// Tokens written, including thinking.
    pub output: u64,
    /// Tokens read from the provider's cache.
    pub cache_read: u64,
    /// Tokens written to the provider's cache.
    pub cache_write: u64,
    /// The sum of these.
    pub total_tokens: u64,
    /// US dollars.
    pub cost: UsageCost,
}

/// The cost of one answer in US dollars; 0 if the price is unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct UsageCost {
    /// The cost of [`Usage::input`].
    pub input: f64,
    /// The cost of [`Usage::output`].
    pub output: f64,
    /// The cost of [`Usage::cache_read`].
    pub cache_read: f64,
    /// The cost of [`Usage::cache_write`].
    pub cache_write: f64,
    /// The sum of these.
    pub total: f64,
}

/// Why an answer ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StopReason {
    /// The model ended its answer.
    #[default]
    Stop,
    /// The limit of output tokens was reached.
    Length,
    /// The model waits for the results of its tool calls.
    ToolUse,
    /// The request failed.
    Error,
    /// The caller cancelled it.
    Aborted,
}

impl StopReason {
    /// Returns the name in session files.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            StopReason::Stop => "stop",
            StopReason::Length => "length",
            StopReason::ToolUse => "toolUse",
            StopReason::Error => "error",
            StopReason::Aborted => "aborted",
        }
    }
}

fn empty_object() -> Value {
    Value::Object(serde_json::Map::new())
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde requires this signature")]
fn is_false(value: &bool) -> bool {
    !value
}

#[cfg(test)]
mod tests;
