//! The interface to models.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::event::EventStream;
use crate::message::{AssistantMessage, Block, Content, LlmMessage};
use crate::model::{Model, ThinkingLevel};

/// Answers requests with one wire protocol.
pub trait Provider: Send + Sync {
    /// Returns the protocol: `anthropic-messages`, `openai-completions`, `openai-responses`, `google-generative-ai`,
    /// `scripted`, or that of an extension.
    fn api(&self) -> &str;

    /// Returns true if its servers read a prefix from a cache that an earlier request had too. Default: false.
    fn caches_prefixes(&self) -> bool {
        false
    }

    /// Sends a request to the model. Never fails: a failure is the stream's last event. Nothing is sent before the
    /// stream is polled; dropping it or cancelling `cancel` closes the connection. A request is sent once: the caller
    /// decides about retries.
    ///
    /// Must be called inside a Tokio runtime with time and, for a provider that connects, I/O.
    fn stream(&self, request: Request, cancel: CancellationToken) -> EventStream;
}

/// A request to a model. Equal requests are sent as equal bytes.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// The model, including its base URL.
    pub model: Model,
    /// The key.
    pub auth: Auth,
    /// The system prompt in parts; the last one gets a cache marker.
    pub system: Vec<PromptPart>,
    /// The conversation. Every tool call must be directly followed by its result. Images that the model does not
    /// support, thinking of other models, and ids that the server would reject are replaced when the request is
    /// written. Shared, so that the request of the next turn copies no messages.
    pub messages: Vec<Arc<LlmMessage>>,
    /// The available tools, in order.
    pub tools: Vec<ToolDef>,
    /// Whether the model may or must call tools.
    pub tool_choice: ToolChoice,
    /// The thinking level, clamped to the supported ones.
    pub thinking: ThinkingLevel,
    /// The number of thinking tokens per level, instead of the protocol's defaults.
    pub thinking_budgets: Vec<(ThinkingLevel, u64)>,
    /// The maximum number of tokens of the answer. `None` means the model's `max_tokens`, at most 32,000.
    pub max_tokens: Option<u64>,
    /// 0 to 2; `None` uses the server's default.
    pub temperature: Option<f32>,
    /// Identifies the conversation in the server's cache; `None` omits it.
    pub session_id: Option<String>,
    /// How long the server should cache the common prefix of requests.
    pub cache: CacheRetention,
    /// The lane of a script: `compact`, `title`, `handoff`, a subagent's name or `<name>#<unique id>`. `None` is the
    /// main session. Only used by the scripted provider.
    pub lane: Option<String>,
    /// Additional headers, in order. They override those of the model.
    pub headers: Vec<(String, String)>,
    /// The timestamp of the answer, in milliseconds since the epoch.
    pub timestamp: i64,
    /// Observes the data on the wire; `None` without an observer. Only providers that connect use it.
    pub observer: Option<Arc<dyn WireObserver>>,
}

/// Observes one exchange with a server.
pub trait WireObserver: fmt::Debug + Send + Sync {
    /// Returns true to receive bodies and headers; otherwise only skipped events are reported. Default: true.
    fn wants_bodies(&self) -> bool {
        true
    }

    /// Called with an event of the answer that is not JSON and was skipped.
    fn skipped(&self, _data: &str) {}

    /// Called with the body of the request before it is sent; `Some` replaces it.
    fn request(&self, payload: Value) -> Pin<Box<dyn Future<Output = Option<Value>> + Send + '_>>;

    /// Called with the head of the answer: status, and headers with lower-case names.
    fn response(&self, status: u16, headers: Vec<(String, String)>) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
}

impl Request {
    /// Returns the message of an answer that has not begun.
    #[must_use]
    pub fn empty_answer(&self) -> AssistantMessage {
        AssistantMessage {
            api: self.model.api.clone(),
            provider: self.model.provider.clone(),
            model: self.model.id.clone(),
            timestamp: self.timestamp,
            ..AssistantMessage::default()
        }
    }

    /// Returns the messages of the conversation.
    pub fn conversation(&self) -> impl DoubleEndedIterator<Item = &LlmMessage> + Clone {
        self.messages.iter().map(|message| &**message)
    }

    /// Returns the length of all texts of the system prompt and the conversation, in bytes of UTF-8.
    #[must_use]
    pub fn text_bytes(&self) -> usize {
        let blocks = |blocks: &[Block]| -> usize {
            blocks.iter().map(|block| if let Block::Text(text) = block { text.text.len() } else { 0 }).sum()
        };
        let messages = self.conversation().map(|message| match message {
            LlmMessage::User(message) => match &message.content {
                Content::Text(text) => text.len(),
                Content::Blocks(list) => blocks(list),
            },
            LlmMessage::Assistant(message) => blocks(&message.content),
            LlmMessage::ToolResult(message) => blocks(&message.content),
        });
        messages.chain(self.system.iter().map(|part| part.text.len())).sum()
    }
}

/// A part of the system prompt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PromptPart {
    /// The text.
    pub text: String,
}

impl<T: Into<String>> From<T> for PromptPart {
    fn from(text: T) -> PromptPart {
        PromptPart { text: text.into() }
    }
}

/// A tool that the model may call.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolDef {
    /// The name: letters, digits, `_` and `-`, at most 64.
    pub name: String,
    /// The description for the model.
    pub description: String,
    /// The JSON Schema of the arguments; its keys keep their order on the wire.
    pub parameters: Value,
    /// How the model learns about it.
    pub loading: ToolLoading,
}

/// How a model learns about a tool. Only [`ToolLoading::Always`] is valid for a model that does not [load
/// tools](Model::loads_tools).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ToolLoading {
    /// Listed in every request.
    #[default]
    Always,
    /// Searches other tools, which its results contain as `tool_reference` blocks.
    Search,
    /// Known from the first result that refers to it.
    Deferred,
}

/// Whether the model may or must call tools.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ToolChoice {
    /// The model decides.
    #[default]
    Auto,
    /// No tools.
    None,
    /// At least one tool.
    Required,
    /// This tool.
    Tool(String),
}

/// How long the server should cache the common prefix of requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CacheRetention {
    /// Not at all.
    None,
    /// Minutes.
    #[default]
    Short,
    /// An hour or a day, at a higher price.
    Long,
}

/// How a request is authenticated.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Auth {
    /// No key: a local server.
    #[default]
    None,
    /// The key in the protocol's usual header.
    ApiKey(Secret),
    /// `Authorization: Bearer`, for tokens of a login and servers that require it.
    Bearer(Secret),
}

impl Auth {
    /// Returns the key; `None` without one.
    #[must_use]
    pub fn secret(&self) -> Option<&Secret> {
        match self {
            Auth::None => None,
            Auth::ApiKey(secret) | Auth::Bearer(secret) => Some(secret),
        }
    }
}

/// A value that no log and no error contains: `Debug` writes `***`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a value.
    pub fn new(value: impl Into<String>) -> Secret {
        Secret(value.into())
    }

    /// Returns the value, for the wire only.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}
