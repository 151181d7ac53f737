//! The one way to ask a model.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::event::EventStream;
use crate::message::LlmMessage;
use crate::model::{Model, ThinkingLevel};

/// Somebody who answers requests over one wire protocol.
pub trait Provider: Send + Sync {
    /// The protocol: `anthropic-messages`, `openai-completions`, `openai-responses`,
    /// `google-generative-ai`, `scripted`, or an extension's own.
    fn api(&self) -> &str;

    /// Asks the model. Never fails: a failure is the stream's last event. Nothing is sent before the
    /// stream is polled; dropping it or cancelling `cancel` closes the connection. A request is sent
    /// once: trying again is the caller's decision.
    ///
    /// Call it inside a Tokio runtime with time and, for a provider that connects, I/O.
    fn stream(&self, request: Request, cancel: CancellationToken) -> EventStream;
}

/// A request to a model. Two equal requests are sent as equal bytes.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// The model and where it answers.
    pub model: Model,
    /// The key.
    pub auth: Auth,
    /// The system prompt in parts; a cache mark goes on the last.
    pub system: Vec<PromptPart>,
    /// The conversation. Every tool call has its result directly behind the message that holds it.
    /// Pictures that the model cannot read, thoughts of another model, and ids that the server would
    /// refuse are replaced while the request is written.
    /// Shared, so that the request of the next turn copies none of them.
    pub messages: Vec<Arc<LlmMessage>>,
    /// The tools on offer, in order.
    pub tools: Vec<ToolDef>,
    /// The rule by which the model calls tools.
    pub tool_choice: ToolChoice,
    /// The amount of thinking; clamped to the levels that the model knows.
    pub thinking: ThinkingLevel,
    /// Tokens of thought per level, in place of the protocol's defaults.
    pub thinking_budgets: Vec<(ThinkingLevel, u64)>,
    /// Tokens of the answer at most. None: the model's `max_tokens`, at most 32,000.
    pub max_tokens: Option<u64>,
    /// 0 to 2; None leaves it to the server.
    pub temperature: Option<f32>,
    /// Names the conversation to the server's cache.
    pub session_id: Option<String>,
    /// The time for which the server should remember the common start of requests.
    pub cache: CacheRetention,
    /// The lane of a script that answers: `compact`, `title`, `handoff`, a subagent's name or
    /// `<name>#<unique id>`. None: the main session. Only the scripted provider looks at it.
    pub lane: Option<String>,
    /// More headers, in order. They beat the model's.
    pub headers: Vec<(String, String)>,
    /// The time that goes on the answer, in milliseconds since the epoch.
    pub timestamp: i64,
    /// Looks at what goes over the wire. Only providers that connect ask it.
    pub observer: Option<Arc<dyn WireObserver>>,
}

/// Looks at one exchange with a server.
pub trait WireObserver: fmt::Debug + Send + Sync {
    /// Returns true if it wants bodies and heads; else it only hears of skipped events. Default: true.
    fn wants_bodies(&self) -> bool {
        true
    }

    /// An event of the answer, which is given here, was no JSON and is left out.
    fn skipped(&self, _data: &str) {}

    /// The body of the request, before it leaves; `Some`: this one leaves in its place.
    fn request(&self, payload: Value) -> Pin<Box<dyn Future<Output = Option<Value>> + Send + '_>>;

    /// The head of the answer: status, and headers with names in lower case.
    fn response(&self, status: u16, headers: Vec<(String, String)>) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
}

impl Request {
    /// The conversation, message by message.
    pub fn conversation(&self) -> impl DoubleEndedIterator<Item = &LlmMessage> + Clone {
        self.messages.iter().map(|message| &**message)
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
    /// Letters, digits, `_` and `-`, at most 64.
    pub name: String,
    /// A description of the tool, for the model.
    pub description: String,
    /// JSON Schema of the arguments; its keys keep their order on the wire.
    pub parameters: Value,
    /// The way in which the model comes to know it.
    pub loading: Loading,
}

/// The way in which a model comes to know a tool. Only [`Loading::Always`] for a model that does not
/// [load tools](Model::loads_tools).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Loading {
    /// It stands in front of the conversation.
    #[default]
    Always,
    /// It finds others, which its results name by blocks `tool_reference`.
    Search,
    /// It is known from the result on that names it.
    Deferred,
}

/// The rule by which the model calls tools.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ToolChoice {
    /// The model decides.
    #[default]
    Auto,
    /// No tool.
    None,
    /// At least one tool.
    Required,
    /// This tool.
    Tool(String),
}

/// The time for which the server should remember the common start of requests.
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

/// The way in which a request identifies its sender.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Auth {
    /// No key: a local server.
    #[default]
    None,
    /// The protocol's usual header.
    ApiKey(Secret),
    /// `Authorization: Bearer`, for tokens of a login and servers that ask for it.
    Bearer(Secret),
}

impl Auth {
    /// The key, if there is one.
    #[must_use]
    pub fn secret(&self) -> Option<&Secret> {
        match self {
            Auth::None => None,
            Auth::ApiKey(secret) | Auth::Bearer(secret) => Some(secret),
        }
    }
}

/// A value that no log and no error shows: `Debug` writes `***`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a value.
    pub fn new(value: impl Into<String>) -> Secret {
        Secret(value.into())
    }

    /// The value itself, for the wire only.
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
