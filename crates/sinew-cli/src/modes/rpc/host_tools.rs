//! Tools that the client runs.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use sinew_llm::message::Block;
use sinew_tools::tool::{Boxed, Call, Tool, ToolError, ToolOutput, Updates};
use tokio::sync::{Notify, oneshot};

use super::frames::FrameSender;
use super::waiting::WaitingCalls;

/// The maximum number of tools of a client.
const MOST: usize = 200;
/// The maximum number of characters in a name, which providers limit.
const NAME: usize = 64;

/// The description of a tool in `set_host_tools`.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct ToolDescription {
    name: String,
    label: Option<String>,
    description: String,
    parameters: Value,
}

/// The tool calls that the client has not answered yet.
pub(super) struct Calls(WaitingCalls<PendingCall>);

struct PendingCall {
    updates: Updates,
    result: oneshot::Sender<Result<ToolOutput, ToolError>>,
}

impl Calls {
    pub(super) fn new(out: FrameSender) -> Calls {
        let cancel = |id: &str, call: &str| json!({"type": "host_tool_cancel", "id": id, "targetId": call});
        Calls(WaitingCalls::new(out, "host", cancel))
    }

    /// Handles `host_tool_update`; unknown ids are ignored.
    pub(super) fn update(&self, mut fields: Map<String, Value>) {
        let Some(Value::String(id)) = fields.remove("id") else { return };
        let partial = output(fields.remove("partialResult").unwrap_or_default(), false);
        self.0.look(&id, |waiting| waiting.updates.send(partial));
    }

    /// Handles `host_tool_result`; unknown ids are ignored.
    pub(super) fn result(&self, mut fields: Map<String, Value>) {
        let Some(Value::String(id)) = fields.remove("id") else { return };
        let Some(waiting) = self.0.take(&id) else { return };
        let is_error = fields.get("isError").and_then(Value::as_bool).unwrap_or_default();
        // The receiver may have been dropped.
        let _ = waiting.result.send(Ok(output(fields.remove("result").unwrap_or_default(), is_error)));
    }

    /// Fails all pending and future calls, because no more answers will arrive.
    pub(super) fn close(&self) {
        for waiting in self.0.close() {
            let _ = waiting.result.send(Err(gone()));
        }
    }
}

fn gone() -> ToolError {
    ToolError::Failed("The client that runs this tool has disconnected.".into())
}

/// Converts the result of a client: `{content: [...], details?}`, a text, or any other value, which is shown as JSON.
fn output(result: Value, is_error: bool) -> ToolOutput {
    #[derive(Deserialize)]
    struct ClientOutput {
        content: Vec<Block>,
        details: Option<Value>,
    }
    match result {
        Value::Null => ToolOutput { is_error, ..ToolOutput::default() },
        Value::String(text) => ToolOutput { is_error, ..ToolOutput::text(text) },
        other => match ClientOutput::deserialize(&other) {
            // Models only accept texts and images from a tool.
            Ok(ClientOutput { content, details })
                if content.iter().all(|block| matches!(block, Block::Text(_) | Block::Image(_))) =>
            {
                ToolOutput { content, details, is_error, ..ToolOutput::default() }
            }
            _ => ToolOutput { is_error, ..ToolOutput::text(other.to_string()) },
        },
    }
}

/// Creates the tools that the client describes. `taken` contains reserved names.
///
/// # Errors
/// Returns an error if a name is reserved, duplicate or invalid for providers, or if the parameters are not a schema of
/// an object.
pub(super) fn tools(
    described: Vec<ToolDescription>,
    taken: &[String],
    calls: &Arc<Calls>,
) -> Result<Vec<Arc<dyn Tool>>, String> {
    if described.len() > MOST {
        return Err(format!("set_host_tools: too many tools ({}); at most {MOST}", described.len()));
    }
    let mut made: Vec<Arc<dyn Tool>> = Vec::with_capacity(described.len());
    for ToolDescription { name, label, description, parameters } in described {
        let letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
        if name.is_empty() || name.len() > NAME || !name.chars().all(letter) {
            return Err(format!(
                "set_host_tools: {name:?} is not a valid name: use 1 to {NAME} letters, digits, _ and -"
            ));
        }
        if taken.contains(&name) {
            return Err(format!("set_host_tools: {name} is the name of a built-in tool; choose another one"));
        }
        if made.iter().any(|tool| tool.name() == name) {
            return Err(format!("set_host_tools: {name} occurs twice"));
        }
        if parameters.get("type").and_then(Value::as_str) != Some("object")
            || parameters.get("properties").is_some_and(|properties| !properties.is_object())
        {
            return Err(format!("set_host_tools: {name}: parameters must be a JSON Schema of an object"));
        }
        let label = label.unwrap_or_else(|| name.clone());
        made.push(Arc::new(HostTool { name, label, description, parameters, calls: Arc::clone(calls) }));
    }
    Ok(made)
}

/// A tool that the client runs.
struct HostTool {
    name: String,
    label: String,
    description: String,
    parameters: Value,
    calls: Arc<Calls>,
}

impl Tool for HostTool {
    fn name(&self) -> &str {
        &self.name
    }

    fn label(&self) -> &str {
        &self.label
    }

    fn description(&self) -> &str {
        &self.description
    }

    fn parameters(&self) -> Value {
        self.parameters.clone()
    }

    fn execute(&self, call: Call) -> Boxed<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let calls = &self.calls.0;
            let (send, result) = oneshot::channel();
            let called = calls.register(PendingCall { updates: call.updates, result: send }).ok_or_else(gone)?;
            let ended = Arc::new(Notify::new());
            let bell = Arc::clone(&ended);
            let _hook = call.cancel.on_cancel(move || bell.notify_one());
            let asked = async {
                let frame = json!({
                    "type": "host_tool_call",
                    "id": called.id,
                    "toolCallId": call.id,
                    "toolName": self.name,
                    "arguments": call.arguments,
                });
                calls.send(&frame).await;
                result.await.unwrap_or_else(|_| Err(gone()))
            };
            tokio::select! {
                result = asked => result,
                () = ended.notified() => Err(ToolError::Aborted),
            }
        })
    }
}
