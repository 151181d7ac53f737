//! Messages of a conversation, in the shape in which a session file stores them.
//!
//! [`AgentMessage`] has eight roles; a model understands three of them ([`LlmMessage`]). Keys are
//! camelCase, messages are told apart by `role` and blocks by `type`.

mod common;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::ErrorInfo;
pub use common::Common;

/// A message of a session, with all roles that the agent knows. The large ones are shared: what goes to a model is not
/// copied.
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
    /// A summary of a branch that was left.
    BranchSummary(BranchSummary),
    /// A summary of the messages before a compaction.
    CompactionSummary(CompactionSummary),
}

impl AgentMessage {
    /// Milliseconds since the epoch at which the message was made.
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

    /// The role as the session file writes it.
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

/// Implements the traits of a shared message, in one line for each.
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

/// A message that a model understands.
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
    /// A user message of one text.
    pub fn user(text: impl Into<String>) -> LlmMessage {
        UserMessage { content: Content::Text(text.into()), timestamp: 0 }.into()
    }

    /// The role as the session file writes it.
    #[must_use]
    pub fn role(&self) -> &'static str {
        match self {
            LlmMessage::User(_) => "user",
            LlmMessage::Assistant(_) => "assistant",
            LlmMessage::ToolResult(_) => "toolResult",
        }
    }
}

/// A plain text, or blocks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Content {
    /// One text.
    Text(String),
    /// Texts and images in order.
    Blocks(Vec<Block>),
}

impl Content {
    /// All texts, one after another with a line feed between.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Content::Text(text) => text.clone(),
            Content::Blocks(blocks) => text_of(blocks),
        }
    }

    /// Returns whether the content is empty: no block, or one empty text.
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

/// The texts of `blocks`, with a line feed between.
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

/// One piece of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum Block {
    /// Text for people.
    Text(TextBlock),
    /// A thought of the model before its answer.
    Thinking(ThinkingBlock),
    /// A tool that the model wants to be run.
    ToolCall(ToolCall),
    /// A picture.
    Image(ImageBlock),
    /// A block of a newer or foreign writer: kept as it is, never sent to a model.
    #[serde(untagged)]
    Other(Value),
}

impl Block {
    /// A text block without a signature.
    pub fn text(text: impl Into<String>) -> Block {
        Block::Text(TextBlock { text: text.into(), signature: None })
    }

    /// The tool call, if it is one.
    #[must_use]
    pub fn as_tool_call(&self) -> Option<&ToolCall> {
        match self {
            Block::ToolCall(call) => Some(call),
            _ => None,
        }
    }
}

/// Text for people.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TextBlock {
    /// The text.
    pub text: String,
    /// Data that the provider wants back with the text, kept as it came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
}

/// A thought of the model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ThinkingBlock {
    /// The thought, empty where the provider hides it.
    pub thinking: String,
    /// Data that the provider wants back with the thought, kept as it came. Empty where it no longer fits the thought, from
    /// which something was taken out: no thought of that turn is sent then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking_signature: Option<String>,
    /// The provider hides the thought; `thinking_signature` holds its sealed form.
    #[serde(default, skip_serializing_if = "is_false")]
    pub redacted: bool,
}

/// The names under which servers of OpenAI's protocol send thoughts. The one that was used is the thought's signature,
/// because the server wants the thought back under the same name.
pub(crate) const THOUGHT_FIELDS: [&str; 3] = ["reasoning_content", "reasoning", "reasoning_text"];

impl ThinkingBlock {
    /// Returns whether the provider seals the thought: it refuses one that was changed.
    #[must_use]
    pub fn is_sealed(&self) -> bool {
        let sealed = |signature: &str| !signature.is_empty() && !THOUGHT_FIELDS.contains(&signature);
        self.redacted || self.thinking_signature.as_deref().is_some_and(sealed)
    }
}

/// A tool that the model wants to be run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    /// Names the call in its result. Unique within a message.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments: an object for any well-behaved model. While the call streams, what could be read
    /// so far.
    #[serde(default = "empty_object")]
    pub arguments: Value,
    /// Data that the provider wants back with the call, kept as it came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thought_signature: Option<String>,
    /// The text of the arguments while the call streams. Never stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partial_json: Option<String>,
    /// The reason why the arguments are not JSON. Such a call must not be run: it is answered with the error
    /// `Invalid JSON in tool arguments: <this>`. Never stored.
    #[serde(skip)]
    pub invalid_arguments: Option<String>,
}

/// A picture.
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
    /// Text, thoughts and tool calls in the order in which they came.
    pub content: Vec<Block>,
    /// The wire protocol, `anthropic-messages` for instance.
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
    /// The reason for the end of the answer.
    #[serde(default)]
    pub stop_reason: StopReason,
    /// The text for people, with `error` or `aborted`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
    /// The facts for programs, with `error` or `aborted`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorInfo>,
    /// Milliseconds since the epoch.
    #[serde(default)]
    pub timestamp: i64,
    /// The server has paused a long answer, and goes on with it when it gets it back. Known while the answer is new; no
    /// file has it.
    #[serde(skip)]
    pub paused: bool,
}

impl AssistantMessage {
    /// The tool calls in source order.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.content.iter().filter_map(Block::as_tool_call)
    }

    /// All texts, one after another.
    #[must_use]
    pub fn text(&self) -> String {
        let parts = self.content.iter().map(|block| match block {
            Block::Text(text) => text.text.as_str(),
            _ => "",
        });
        parts.collect()
    }

    /// All thoughts, one after another.
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
    /// The call that this answers.
    pub tool_call_id: String,
    /// The tool's name.
    #[serde(default)]
    pub tool_name: String,
    /// Texts and images for the model.
    pub content: Vec<Block>,
    /// Facts for the user interface; not sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// The tool failed, and `content` says why.
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
    /// Its output.
    pub output: String,
    /// Its exit code; absent when it was stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The user stopped it.
    #[serde(default)]
    pub cancelled: bool,
    /// `output` is not all of it.
    #[serde(default)]
    pub truncated: bool,
    /// Path of the file that holds all of the output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full_output_path: Option<String>,
    /// The model does not see it (`!!`).
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
    /// The extension's own name of the kind.
    pub custom_type: String,
    /// Content that the model reads as a user message.
    pub content: Content,
    /// The user sees it.
    #[serde(default)]
    pub display: bool,
    /// Facts for the extension; not sent.
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
    /// The files in the order in which they were named.
    pub files: Vec<MentionedFile>,
    /// Milliseconds since the epoch.
    #[serde(default)]
    pub timestamp: i64,
}

impl FileMention {
    /// The mention as the model reads it: a text for each file, and its picture behind it.
    #[must_use]
    pub fn to_blocks(&self) -> Vec<Block> {
        let mut blocks = Vec::new();
        for file in &self.files {
            blocks.push(Block::text(format!("{}{}{MENTION_END}", mention_start(&file.path), file.content)));
            blocks.extend(file.image.clone().map(Block::Image));
        }
        blocks
    }

    /// Takes the contents and the pictures of `files` from what [`FileMention::to_blocks`] gave.
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
                            // Its end was cut off: it has fewer lines than were counted.
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
    /// The path as shown.
    pub path: String,
    /// The content of the file.
    #[serde(default)]
    pub content: String,
    /// The number of its lines.
    #[serde(default)]
    pub line_count: u64,
    /// The picture, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<ImageBlock>,
}

/// A summary of a branch that was left.
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

/// A summary of the messages before a compaction.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CompactionSummary {
    /// The summary.
    pub summary: String,
    /// Size of the context before it, in tokens.
    #[serde(default)]
    pub tokens_before: u64,
    /// Milliseconds since the epoch.
    #[serde(default)]
    pub timestamp: i64,
}

/// Tokens of one answer and what they cost. `input` counts neither cached tokens nor those written to
/// the cache.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Usage {
    /// Tokens read at full price.
    pub input: u64,
    /// Tokens written, thoughts included.
    pub output: u64,
    /// Tokens read from the provider's cache.
    pub cache_read: u64,
    /// Tokens written to the provider's cache.
    pub cache_write: u64,
    /// The sum of the four.
    pub total_tokens: u64,
    /// US dollars.
    pub cost: UsageCost,
}

/// US dollars of one answer; 0 where the price is not known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct UsageCost {
    /// For [`Usage::input`].
    pub input: f64,
    /// For [`Usage::output`].
    pub output: f64,
    /// For [`Usage::cache_read`].
    pub cache_read: f64,
    /// For [`Usage::cache_write`].
    pub cache_write: f64,
    /// The sum of the four.
    pub total: f64,
}

/// The reason for the end of an answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StopReason {
    /// The model ended its answer by itself.
    #[default]
    Stop,
    /// The limit of output tokens cut it.
    Length,
    /// It waits for the results of its tool calls.
    ToolUse,
    /// It failed.
    Error,
    /// Somebody stopped it.
    Aborted,
}

impl StopReason {
    /// As the session file writes it.
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

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for this signature")]
fn is_false(value: &bool) -> bool {
    !value
}

#[cfg(test)]
mod tests;
