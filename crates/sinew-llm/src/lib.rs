//! Messages, providers and models: everything between the agent loop and a language model.
//!
//! | module | contents |
//! |---|---|
//! | [`message`] | the messages of a conversation, in the format of a session file |
//! | [`provider`] | the interface to models: [`Request`] in, [`EventStream`] out |
//! | [`event`] | the events of an answer, the same for every provider |
//! | [`error`] | the failure of a request, whether it is retryable, and how long to wait |
//! | [`model`], [`models`] | a model as data; the built-in table, `models.json`, discovery, selection |
//! | [`credentials`] | the key of a request; `auth.json` |
//! | [`wire`] | the protocols of Anthropic, OpenAI (two) and Google |
//! | [`scripted`] | a provider that replays a file |
//! | [`http`], [`sse`], [`partial_json`] | the layers below the protocols |
//! | [`fetch`] | fetching pages for tools |
//!
//! ```
//! use sinew_llm::models::Registry;
//! use sinew_llm::{Request, ThinkingLevel, wire};
//!
//! let registry = Registry::builtin(&|_variable| None);
//! let model = registry.find("anthropic", "claude-opus-5").expect("the table has it");
//! let request = Request { model, thinking: ThinkingLevel::High, ..Request::default() };
//! let body = wire::request_body(&request).expect("the protocol is known");
//! assert!(String::from_utf8_lossy(&body).contains("\"effort\":\"high\""));
//! ```
//!
//! The crate reads no environment variables and prints nothing: the caller provides keys, proxies and the current time.
//! Limits, such as the size of an answer, of an event or of an error's body, are constants next to the code that
//! enforces them.

mod assembly;
pub mod credentials;
pub mod error;
pub mod event;
pub mod fetch;
pub mod http;
pub mod message;
pub mod model;
pub mod models;
pub mod partial_json;
mod property_names;
pub mod provider;
pub mod scripted;
pub mod sse;
mod stable_hash;
mod surrogate;
pub mod wire;

pub use error::{ErrorInfo, ErrorKind};
pub use event::{EventStream, PartialAnswer, StreamEvent};
pub use message::{AgentMessage, AssistantMessage, Block, LlmMessage, StopReason, ToolCall, Usage};
pub use model::{Model, ThinkingLevel};
pub use provider::{Auth, CacheRetention, PromptPart, Provider, Request, ToolChoice, ToolDef};
