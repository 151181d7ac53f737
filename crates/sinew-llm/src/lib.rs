//! Messages, providers and models: everything between the agent's loop and a language model.
//!
//! [`message`] holds what a conversation is made of, in the shape of a session file. [`provider`] is the
//! one way to ask a model; it answers with [`event`]s, the same for every provider. [`error`] says what
//! went wrong and whether it is worth another try. [`model`] describes a model as data.
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
pub mod wire;

pub use error::{ErrorInfo, ErrorKind};
pub use event::{EventStream, Partial, StreamEvent};
pub use message::{AgentMessage, AssistantMessage, Block, LlmMessage, StopReason, ToolCall, Usage};
pub use model::{Model, ThinkingLevel};
pub use provider::{Auth, CacheRetention, PromptPart, Provider, Request, ToolChoice, ToolDef};
