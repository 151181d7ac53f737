//! Serves tools of the agent over the protocol, with the same texts and limits.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};
use sinew_llm::message::{Block, text_of};
use sinew_mcp::BoxFuture;
use sinew_mcp::server::{ServedCall, ServedOutput, ServedTool};
use sinew_tools::schema::validate;
use sinew_tools::semantics::Subject;
use sinew_tools::tool::{Call, Concurrency, Tool, ToolError, ToolOutput, Updates};
use tokio::sync::RwLock;

use super::roots::Roots;

/// Calls that change something run alone; the others run at the same time.
pub(super) type Gate = Arc<RwLock<()>>;

struct RootedTool {
    tool: Arc<dyn Tool>,
    roots: Roots,
    gate: Gate,
    calls: AtomicU64,
}

/// Serves a tool for files below `roots`.
pub(super) fn tool(tool: Arc<dyn Tool>, roots: Roots, gate: Gate) -> Arc<dyn ServedTool> {
    Arc::new(RootedTool { tool, roots, gate, calls: AtomicU64::new(1) })
}

impl ServedTool for RootedTool {
    fn name(&self) -> &str {
        self.tool.name()
    }

    fn description(&self) -> &str {
        self.tool.description()
    }

    fn input_schema(&self) -> Value {
        self.tool.parameters()
    }

    fn read_only(&self) -> bool {
        self.tool.semantics().effects.changes_nothing()
    }

    fn call(&self, call: ServedCall) -> BoxFuture<'_, ServedOutput> {
        Box::pin(async move {
            let arguments = self.tool.prepare(Value::Object(call.arguments));
            let faults = validate(&self.tool.parameters(), &arguments);
            if !faults.is_empty() {
                let lines: Vec<String> = faults.iter().map(|fault| format!("  {fault}")).collect();
                return ServedOutput::error(format!(
                    "Validation failed for tool \"{}\":\n{}",
                    self.tool.name(),
                    lines.join("\n")
                ));
            }
            if let Err(refusal) = self.check_paths(&arguments) {
                return ServedOutput::error(refusal);
            }
            let job = Call {
                id: format!("call-{}", self.calls.fetch_add(1, Ordering::Relaxed)),
                arguments,
                cwd: self.roots.first(),
                session: "mcp".into(),
                cancel: call.cancel,
                updates: Updates::none(),
            };
            let result = match self.tool.concurrency() {
                Concurrency::Shared => {
                    let _beside = self.gate.read().await;
                    self.tool.execute(job).await
                }
                Concurrency::Exclusive => {
                    let _alone = self.gate.write().await;
                    self.tool.execute(job).await
                }
            };
            match result {
                Ok(output) => served(&output),
                Err(ToolError::Failed(text)) => ServedOutput::error(text),
                Err(ToolError::Aborted) => ServedOutput::error("Operation aborted"),
            }
        })
    }
}

impl RootedTool {
    /// Checks the paths that a call names: a single one, or a list.
    fn check_paths(&self, arguments: &Value) -> Result<(), String> {
        (self.tool.semantics().subjects)(arguments).iter().try_for_each(|subject| match subject {
            Subject::Path { path, .. } | Subject::OtherPath(path) => self.roots.check_named(path),
            Subject::Command { .. } | Subject::Url(_) => Ok(()),
        })
    }
}

fn served(output: &ToolOutput) -> ServedOutput {
    let pictures = output.content.iter().filter_map(|block| match block {
        Block::Image(image) => Some(json!({"type": "image", "data": image.data, "mimeType": image.mime_type})),
        _ => None,
    });
    ServedOutput {
        text: text_of(&output.content),
        content: pictures.collect(),
        structured: None,
        is_error: output.is_error,
    }
}
