//! The server, in both eras: on a pair of pipes, and over HTTP.
//!
//! | module | contents |
//! |---|---|
//! | `service` | the methods and their answers, for every transport |
//! | `pipes` | concurrent calls on one pair of pipes, which carry only protocol messages |
//! | [`http`] | requests over HTTP, and the access checks |
//!
//! The caller provides each tool as a [`ServedTool`]. Requests since 2026-07-28 are self-contained; on pipes, an older
//! client is served after the handshake.

pub mod http;
mod pipes;
mod service;

use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use sinew_base::CancelToken;
use sinew_jsonrpc::{Limits, RpcError, message};
use tokio::sync::mpsc;

use crate::core::Progress;
use crate::host::BoxFuture;

pub use self::pipes::serve;
pub use self::service::Service;

/// A tool that the server offers.
pub trait ServedTool: Send + Sync + 'static {
    /// Returns the name, unique among the tools of a server.
    fn name(&self) -> &str;

    /// Returns the description for a model.
    fn description(&self) -> &str;

    /// Returns the JSON Schema of the arguments, an object.
    fn input_schema(&self) -> Value;

    /// Returns the JSON Schema of [`ServedOutput::structured`]; `None` if results may lack it.
    fn output_schema(&self) -> Option<Value> {
        None
    }

    /// Returns true if the tool changes nothing. The default is true.
    fn read_only(&self) -> bool {
        true
    }

    /// Returns the capabilities that a client must have for a call, such as `sampling`: other clients are rejected
    /// (2026-07-28). None by default.
    fn needs(&self) -> &[&'static str] {
        &[]
    }

    /// Runs the tool. A failure is a result with [`ServedOutput::is_error`]. Long work must run on another task or
    /// thread and check [`ServedCall::cancel`].
    fn call(&self, call: ServedCall) -> BoxFuture<'_, ServedOutput>;
}

/// A call of a tool.
pub struct ServedCall {
    /// The arguments that the client sent, unchecked.
    pub arguments: Map<String, Value>,
    /// Set if the client cancels the call or disconnects.
    pub cancel: CancelToken,
    /// Sends progress reports.
    pub progress: ProgressReporter,
}

/// The result of a tool.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ServedOutput {
    /// The text for the model.
    pub text: String,
    /// Further blocks after the text, in the protocol's format: images, sounds, resources.
    pub content: Vec<Value>,
    /// The result as a value that matches [`ServedTool::output_schema`]; `None` if there is none.
    pub structured: Option<Value>,
    /// True if the tool failed; the text describes why.
    pub is_error: bool,
}

impl ServedOutput {
    /// Creates a failure with a text for the model.
    pub fn error(text: impl Into<String>) -> ServedOutput {
        ServedOutput { text: text.into(), is_error: true, ..ServedOutput::default() }
    }
}

/// Methods that a server answers besides those of its tools: resources, prompts, completions.
pub trait ServedMethods: Send + Sync + 'static {
    /// Returns the capabilities that declare the methods, besides `tools`.
    fn capabilities(&self) -> Map<String, Value>;

    /// Answers a method; `None` if the method is unknown.
    fn answer(&self, method: &str, params: &Map<String, Value>) -> Option<Result<Value, RpcError>>;
}

/// Reports the progress of a call to the client. A report is dropped if it does not increase the progress, or if the
/// queue is full.
#[derive(Clone)]
pub struct ProgressReporter {
    token: Option<Value>,
    outbox: mpsc::Sender<Vec<u8>>,
    last: Arc<Mutex<f64>>,
}

impl ProgressReporter {
    /// Reports the progress of the call.
    pub fn report(&self, progress: &Progress) {
        let Some(token) = &self.token else { return };
        let mut last = self.last.lock();
        // Also false for NaN.
        if progress.progress > *last {
            *last = progress.progress;
            let mut params = json!({"progressToken": token, "progress": progress.progress});
            if let Some(total) = progress.total {
                params["total"] = total.into();
            }
            if let Some(message) = &progress.message {
                params["message"] = message.as_str().into();
            }
            let _ = self.outbox.try_send(message::encode_notification("notifications/progress", Some(&params)));
        }
    }
}

/// The name and version of the server, and its options.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// The name, such as `sinew`.
    pub name: String,
    /// The version, such as `0.1.0`.
    pub version: String,
    /// Instructions for the model that uses the tools; `None` for no instructions.
    pub instructions: Option<String>,
    /// Limits of messages and concurrent calls.
    pub limits: Limits,
}

impl Default for ServerOptions {
    fn default() -> ServerOptions {
        ServerOptions {
            name: "sinew".to_string(),
            version: env!("CARGO_PKG_VERSION").to_string(),
            instructions: None,
            limits: Limits::default(),
        }
    }
}
