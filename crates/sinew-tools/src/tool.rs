//! The trait of tools: a name, a schema, and the work on arguments that fit the schema.

use std::any::Any;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

use serde_json::Value;
use sinew::base::CancelToken;
use sinew_llm::message::Block;

use crate::semantics::Semantics;

/// A future that owns what it needs, as a trait object can return it.
pub type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Something that a model can ask for.
///
/// Built-in tools and those of extensions implement the same trait; there is no second way in.
pub trait Tool: Send + Sync {
    /// Unique among the tools of a session.
    fn name(&self) -> &str;

    /// The name for people.
    fn label(&self) -> &str {
        self.name()
    }

    /// Returns its description for the model: one or two sentences.
    fn description(&self) -> &str;

    /// JSON Schema of its arguments: an object with `additionalProperties: false`.
    fn parameters(&self) -> Value;

    /// Lines for the system prompt: when to use it and when not.
    fn guidelines(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns whether other calls of the turn may run beside it.
    fn concurrency(&self) -> Concurrency {
        Concurrency::Shared
    }

    /// Facts that the loop and the modes act on.
    fn flags(&self) -> ToolFlags {
        ToolFlags::default()
    }

    /// What its calls act on, what they can change and how they are shown. Default: nothing is known of it.
    fn semantics(&self) -> Semantics {
        Semantics::UNKNOWN
    }

    /// One line that says what a call is about to do, from arguments that may still be streaming: any JSON at all.
    fn intent(&self, _partial: &Value) -> Option<String> {
        None
    }

    /// Returns true if [`Tool::reject_early`] is worth asking.
    fn can_reject_early(&self) -> bool {
        false
    }

    /// Returns the reason why a call can only fail, from those of its arguments that are whole while the others still
    /// stream
    /// ([`finished`]). The answer ends there, and the call is answered with this. It must be quick.
    fn reject_early(&self, _whole: &Value) -> Option<String> {
        None
    }

    /// Mends what models often get wrong (other names of keys, numbers as strings) before the schema is checked.
    fn prepare(&self, arguments: Value) -> Value {
        arguments
    }

    /// Does it. The arguments fit the schema. A failure is a text for the model, never the end of a run.
    fn execute(&self, call: Call) -> Boxed<'_, Result<ToolOutput, ToolError>>;
}

/// The values of arguments that still stream which can no longer change: all but the last, in each object and list.
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

/// The permission of a call to run beside others of its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Concurrency {
    /// At the same time as other shared calls.
    #[default]
    Shared,
    /// After all before it, and alone.
    Exclusive,
}

/// Facts about a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ToolFlags {
    /// Not listed anywhere; only a model that was told of it can call it.
    pub hidden: bool,
    /// A steering message or an abort does not cut it short: it finishes its write.
    pub non_abortable: bool,
    /// Off until somebody switches it on.
    pub default_inactive: bool,
    /// Its definition may be sent later than the others.
    pub deferrable: bool,
}

/// One call of a tool.
pub struct Call {
    /// Names the call in the conversation.
    pub id: String,
    /// The arguments of the model, mended and checked.
    pub arguments: Value,
    /// The folder in which the session works.
    pub cwd: PathBuf,
    /// The id of the session.
    pub session: String,
    /// Set when the call is to end.
    pub cancel: CancelToken,
    /// Takes what the call has so far.
    pub updates: Updates,
}

/// The channel of a call's progress; the loop merges what comes faster than one in 100 ms.
#[derive(Clone)]
pub struct Updates {
    send: Option<Arc<dyn Fn(ToolOutput) + Send + Sync>>,
}

impl Updates {
    /// Reports to `send`.
    pub fn new(send: impl Fn(ToolOutput) + Send + Sync + 'static) -> Updates {
        Updates { send: Some(Arc::new(send)) }
    }

    /// Reports to nobody.
    #[must_use]
    pub fn none() -> Updates {
        Updates { send: None }
    }

    /// Hands over what the call has so far.
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
    /// Facts for the user interface; no model sees them.
    pub details: Option<Value>,
    /// The content says what went wrong.
    pub is_error: bool,
    /// The run ends with this result: the user has decided that nothing follows. Messages that wait are still sent.
    pub ends_run: bool,
}

impl ToolOutput {
    /// A text.
    pub fn text(text: impl Into<String>) -> ToolOutput {
        ToolOutput { content: vec![Block::text(text)], ..ToolOutput::default() }
    }

    /// A text that says what went wrong.
    pub fn error(text: impl Into<String>) -> ToolOutput {
        ToolOutput { is_error: true, ..ToolOutput::text(text) }
    }

    /// The same with facts for the user interface.
    #[must_use]
    pub fn with_details(mut self, details: Value) -> ToolOutput {
        self.details = Some(details);
        self
    }
}

/// The reason why a call has no output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolError {
    /// The fault, for the model.
    Failed(String),
    /// The call was ended from outside.
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

/// Resolves when somebody wants the end.
pub async fn cancelled(cancel: &CancelToken) {
    let bell = Arc::new(tokio::sync::Notify::new());
    let ring = Arc::clone(&bell);
    let _hook = cancel.on_cancel(move || ring.notify_one());
    bell.notified().await;
}

/// The words of a panic.
#[must_use]
pub fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_string());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".into())
}
