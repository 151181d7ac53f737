//! The half that lends tools, in both eras: on a pair of pipes, and over HTTP.
//!
//! | module | holds |
//! |---|---|
//! | `service` | which method has which answer, whatever carries it |
//! | `pipes` | many calls at a time on one pair of pipes, nothing but the protocol written |
//! | [`http`] | one request, one answer; who may ask at all |
//!
//! The caller brings each tool as a [`ServedTool`]; these modules know no tool. Requests since 2026-07-28 stand
//! for themselves; on pipes a client from before is served once it has shaken hands.

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

/// A tool that is lent.
pub trait ServedTool: Send + Sync + 'static {
    /// Unique among the tools of a server.
    fn name(&self) -> &str;

    /// Its description, for a model.
    fn description(&self) -> &str;

    /// JSON Schema of its arguments, an object.
    fn input_schema(&self) -> Value;

    /// JSON Schema of [`ServedOutput::structured`], where every result has some.
    fn output_schema(&self) -> Option<Value> {
        None
    }

    /// Returns true if it changes nothing. Default true.
    fn read_only(&self) -> bool {
        true
    }

    /// The capabilities that a client must have for a call, as `sampling`: others are refused (2026-07-28). Default none.
    fn needs(&self) -> &[&'static str] {
        &[]
    }

    /// Does it. A failure is a result with [`ServedOutput::is_error`]. Long work runs elsewhere than on the task of the
    /// call and looks at [`ServedCall::cancel`].
    fn call(&self, call: ServedCall) -> BoxFuture<'_, ServedOutput>;
}

/// A call of a lent tool.
pub struct ServedCall {
    /// As the client sent them, unchecked.
    pub arguments: Map<String, Value>,
    /// Set when the client waits no longer, or is gone.
    pub cancel: CancelToken,
    /// Takes reports of progress.
    pub progress: ProgressReporter,
}

/// The result of a lent tool.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ServedOutput {
    /// For the model.
    pub text: String,
    /// Further blocks behind the text, in the protocol's shape: pictures, sounds, resources.
    pub content: Vec<Value>,
    /// The same as a value, in the shape of [`ServedTool::output_schema`].
    pub structured: Option<Value>,
    /// The text says what went wrong.
    pub is_error: bool,
}

impl ServedOutput {
    /// A failure in words for the model.
    pub fn error(text: impl Into<String>) -> ServedOutput {
        ServedOutput { text: text.into(), is_error: true, ..ServedOutput::default() }
    }
}

/// Methods that a server answers beside those of its tools: resources, prompts, completions.
pub trait ServedMethods: Send + Sync + 'static {
    /// The capabilities by which they are declared, beside `tools`.
    fn capabilities(&self) -> Map<String, Value>;

    /// Answers a method; None where it is not one of these.
    fn answer(&self, method: &str, params: &Map<String, Value>) -> Option<Result<Value, RpcError>>;
}

/// Tells a client how far a call is. A report that is not further than the one before, or that finds the queue full, is
/// dropped.
#[derive(Clone)]
pub struct ProgressReporter {
    token: Option<Value>,
    outbox: mpsc::Sender<Vec<u8>>,
    last: Arc<Mutex<f64>>,
}

impl ProgressReporter {
    /// Tells that the call is at `progress`.
    pub fn report(&self, progress: &Progress) {
        let Some(token) = &self.token else { return };
        let mut last = self.last.lock();
        // False for what is no number, too.
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
    /// `sinew`.
    pub name: String,
    /// `0.1.0`.
    pub version: String,
    /// Guidance for the model that uses the tools.
    pub instructions: Option<String>,
    /// Limits of messages and of calls at a time.
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
