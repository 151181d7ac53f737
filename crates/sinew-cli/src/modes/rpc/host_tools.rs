//! Tools that the client runs.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use sinew_llm::message::Block;
use sinew_tools::tool::{Boxed, Call, Tool, ToolError, ToolOutput, Updates};
use tokio::sync::{Notify, oneshot};

use super::frames::Out;
use super::waiting::WaitingCalls;

/// Tools that a client may bring at most.
const MOST: usize = 200;
/// Characters of a name, as providers take them.
const NAME: usize = 64;

/// A tool as `set_host_tools` describes it.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct ToolDescription {
    name: String,
    label: Option<String>,
    description: String,
    parameters: Value,
}

/// The calls of tools that the client has not answered yet.
pub(super) struct Calls(WaitingCalls<Waiting>);

struct Waiting {
    updates: Updates,
    result: oneshot::Sender<Result<ToolOutput, ToolError>>,
}

impl Calls {
    pub(super) fn new(out: Out) -> Calls {
        let cancel = |id: &str, call: &str| json!({"type": "host_tool_cancel", "id": id, "targetId": call});
        Calls(WaitingCalls::new(out, "host", cancel))
    }

    /// `host_tool_update`; an id that nobody waits for is left aside.
    pub(super) fn update(&self, mut fields: Map<String, Value>) {
        let Some(Value::String(id)) = fields.remove("id") else { return };
        let partial = output(fields.remove("partialResult").unwrap_or_default(), false);
        self.0.look(&id, |waiting| waiting.updates.send(partial));
    }

    /// `host_tool_result`; an id that nobody waits for is left aside.
    pub(super) fn result(&self, mut fields: Map<String, Value>) {
        let Some(Value::String(id)) = fields.remove("id") else { return };
        let Some(waiting) = self.0.take(&id) else { return };
        let is_error = fields.get("isError").and_then(Value::as_bool).unwrap_or_default();
        // Who called may have gone meanwhile.
        let _ = waiting.result.send(Ok(output(fields.remove("result").unwrap_or_default(), is_error)));
    }

    /// Nobody will answer any more: what waits fails, and so does what would be asked.
    pub(super) fn close(&self) {
        for waiting in self.0.close() {
            let _ = waiting.result.send(Err(gone()));
        }
    }
}

fn gone() -> ToolError {
    ToolError::Failed("The client that runs this tool is gone.".into())
}

/// A result as clients write it: `{content: [...], details?}`, a text, or anything else, which is shown as JSON.
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
            // A model reads texts and pictures of a tool, and nothing else.
            Ok(ClientOutput { content, details })
                if content.iter().all(|block| matches!(block, Block::Text(_) | Block::Image(_))) =>
            {
                ToolOutput { content, details, is_error, ..ToolOutput::default() }
            }
            _ => ToolOutput { is_error, ..ToolOutput::text(other.to_string()) },
        },
    }
}

/// Makes tools of what the client describes. `taken` are names that it may not use.
///
/// # Errors
/// A name is taken, given twice or none that providers accept; parameters are no schema of an object.
pub(super) fn tools(
    described: Vec<ToolDescription>,
    taken: &[String],
    calls: &Arc<Calls>,
) -> Result<Vec<Arc<dyn Tool>>, String> {
    if described.len() > MOST {
        return Err(format!("set_host_tools: {} tools are too many; at most {MOST}", described.len()));
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
            return Err(format!("set_host_tools: {name} is given twice"));
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
            let called = calls.register(Waiting { updates: call.updates, result: send }).ok_or_else(gone)?;
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
