//! The trait of tools: a name, a schema, and an implementation that receives validated arguments.

use std::any::Any;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

use serde_json::Value;
use sinew::base::CancelToken;
use sinew_llm::message::Block;

use crate::semantics::Semantics;

/// A boxed future, as trait objects return it.
pub type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A tool that a model can call.
///
/// Built-in tools and extension tools implement the same trait.
pub trait Tool: Send + Sync {
    /// Returns the name, unique among the tools of a session.
    fn name(&self) -> &str;

    /// Returns the displayed name.
    fn label(&self) -> &str {
        self.name()
    }

    /// Returns the description for the model: one or two sentences.
    fn description(&self) -> &str;

    /// Returns the JSON Schema of the arguments: an object with `additionalProperties: false`.
    fn parameters(&self) -> Value;

    /// Returns lines for the system prompt that explain when to use the tool.
    fn guidelines(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns whether other calls of the turn may run concurrently.
    fn concurrency(&self) -> Concurrency {
        Concurrency::Shared
    }

    /// Returns the flags that the agent loop and the modes use.
    fn flags(&self) -> ToolFlags {
        ToolFlags::default()
    }

    /// Returns the description of its calls. Default: unknown.
    fn semantics(&self) -> Semantics {
        Semantics::UNKNOWN
    }

    /// Returns one line about what a call is going to do; `None` if nothing is known yet. The arguments may still be
    /// streaming, so any JSON is possible.
    fn intent(&self, _partial: &Value) -> Option<String> {
        None
    }

    /// Returns true if [`Tool::reject_early`] is implemented.
    fn can_reject_early(&self) -> bool {
        false
    }

    /// Returns the reason why a call cannot succeed, from the arguments that have finished streaming ([`finished`]);
    /// `None` otherwise. The answer is then aborted and the reason becomes the result of the call. Must be fast.
    fn reject_early(&self, _whole: &Value) -> Option<String> {
        None
    }

    /// Repairs common mistakes of models (alternative names of keys, numbers as strings) before validation.
    fn prepare(&self, arguments: Value) -> Value {
        arguments
    }

    /// Runs the call. The arguments match the schema. A failure is a text for the model and never ends a run.
    fn execute(&self, call: Call) -> Boxed<'_, Result<ToolOutput, ToolError>>;
}

/// Returns the values of streaming arguments that can no longer change: all but the last in each object and list.
#[must_use]
pub fn finished(partial: &Value) -> Value {
    let last = |value: &Value| (value.is_object() || value.is_array()).then(|| finished(value));
    match partial {
        Value::Object(fields) => {
            let mut fields = fields.clone();
            if let Some((key, value)) = fields.iter().next_back().map(|(key, value)| (key.clone(), last(value))) {
                match value {
                    Some(value) => fields.insert(key, value),
                    None => fields.shift_remove(&key),
                };
            }
            Value::Object(fields)
        }
        Value::Array(list) => {
            let (rest, end) = list.split_at(list.len().saturating_sub(1));
            Value::Array(rest.iter().cloned().chain(end.iter().filter_map(last)).collect())
        }
        _ => Value::Null,
    }
}

/// Whether a call may run concurrently with others of its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Concurrency {
    /// Runs concurrently with other shared calls.
    #[default]
    Shared,
    /// Runs alone, after all earlier calls.
    Exclusive,
}

/// Flags of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ToolFlags {
    /// The tool is not listed; a model can call it only if it knows the name.
    pub hidden: bool,
    /// A steering message or an abort does not interrupt it: it finishes its write.
    pub non_abortable: bool,
    /// A steering message never interrupts it, whatever the settings say; an abort does.
    pub ignores_steering: bool,
    /// Inactive until the user enables it.
    pub default_inactive: bool,
    /// Its definition may be sent later than the others.
    pub deferrable: bool,
}

/// One call of a tool.
pub struct Call {
    /// The id of the call in the conversation.
    pub id: String,
    /// The repaired and validated arguments.
    pub arguments: Value,
    /// The working directory of the session.
    pub cwd: PathBuf,
    /// The id of the session.
    pub session: String,
    /// Cancelled when the call should end.
    pub cancel: CancelToken,
    /// Receives partial results.
    pub updates: Updates,
}

/// The channel for partial results; the agent loop merges updates within 100 ms.
#[derive(Clone)]
pub struct Updates {
    send: Option<Arc<dyn Fn(ToolOutput) + Send + Sync>>,
}

impl Updates {
    /// Creates a channel that calls `send`.
    pub fn new(send: impl Fn(ToolOutput) + Send + Sync + 'static) -> Updates {
        Updates { send: Some(Arc::new(send)) }
    }

    /// Creates a channel that discards updates.
    #[must_use]
    pub fn none() -> Updates {
        Updates { send: None }
    }

    /// Sends a partial result.
    pub fn send(&self, partial: ToolOutput) {
        if let Some(send) = &self.send {
            send(partial);
        }
    }
}

/// The result of a call.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolOutput {
    /// Texts and images for the model.
    pub content: Vec<Block>,
    /// Data for the user interface; models do not see it. `None` without any.
    pub details: Option<Value>,
    /// True if the content describes an error.
    pub is_error: bool,
    /// True if the run ends with this result, because the user decided so. Queued messages are still sent.
    pub ends_run: bool,
}

impl ToolOutput {
    /// Creates a text result.
    pub fn text(text: impl Into<String>) -> ToolOutput {
        ToolOutput { content: vec![Block::text(text)], ..ToolOutput::default() }
    }

    /// Creates an error result.
    pub fn error(text: impl Into<String>) -> ToolOutput {
        ToolOutput { is_error: true, ..ToolOutput::text(text) }
    }

    /// Adds data for the user interface.
    #[must_use]
    pub fn with_details(mut self, details: Value) -> ToolOutput {
        self.details = Some(details);
        self
    }
}

/// The reason why a call has no output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolError {
    /// The error message for the model.
    Failed(String),
    /// The call was cancelled.
    Aborted,
}

impl From<sinew::base::Error> for ToolError {
    fn from(error: sinew::base::Error) -> ToolError {
        match error.code() {
            sinew::base::ErrorCode::Aborted => ToolError::Aborted,
            _ => ToolError::Failed(error.message().to_string()),
        }
    }
}

/// Waits until `cancel` is cancelled.
pub async fn cancelled(cancel: &CancelToken) {
    let bell = Arc::new(tokio::sync::Notify::new());
    let ring = Arc::clone(&bell);
    let _hook = cancel.on_cancel(move || ring.notify_one());
    bell.notified().await;
}

/// Returns the message of a panic.
#[must_use]
pub fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_string());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".into())
}
