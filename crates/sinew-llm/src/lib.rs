//! Messages, providers and models: everything between the agent's loop and a language model.
//!
//! | module | holds |
//! |---|---|
//! | [`message`] | what a conversation is made of, in the shape of a session file |
//! | [`provider`] | the one way to ask a model: [`Request`] in, [`EventStream`] out |
//! | [`event`] | what a provider tells while it answers, the same for every provider |
//! | [`error`] | what went wrong, whether another try makes sense, and how long to wait |
//! | [`model`], [`models`] | a model as data; the table of all, `models.json`, discovery, selection |
//! | [`credentials`] | which key goes with a request; `auth.json` |
//! | [`wire`] | the protocols of Anthropic, OpenAI (two) and Google |
//! | [`scripted`] | a provider that plays a file |
//! | [`http`], [`sse`], [`partial_json`] | what the protocols stand on |
//! | [`fetch`] | a page for a tool |
//!
//! The crate reads no environment variable and prints nothing: keys, proxies and the time of day are
//! values that the caller gives.

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
pub mod provider;
pub mod scripted;
pub mod sse;
mod stable_hash;
pub mod wire;

pub use error::{ErrorInfo, ErrorKind};
pub use event::{EventStream, Partial, StreamEvent};
pub use message::{AgentMessage, AssistantMessage, Block, LlmMessage, StopReason, ToolCall, Usage};
pub use model::{Model, ThinkingLevel};
pub use provider::{Auth, CacheRetention, PromptPart, Provider, Request, ToolChoice, ToolDef};
