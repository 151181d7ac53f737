//! Tool calls of the user.

use sinew_llm::message::ToolCall;
use sinew_tools::tool::ToolOutput;
use tokio_util::sync::CancellationToken;

use super::session::AgentSession;
use crate::core::{CallPath, call_alone};

impl AgentSession {
    /// Calls a tool with the same steps as a call of the model: repair, validation, hooks, permissions, run, hooks. The
    /// call emits events, may run during a run, and is not part of the conversation. `cancel` aborts it.
    pub async fn call_tool(&self, call: &ToolCall, cancel: &CancellationToken) -> ToolOutput {
        let sink = self.event_bus.until(cancel);
        let path = CallPath {
            tools: &|| self.tools(),
            extensions: &self.extensions,
            sink: &sink,
            context: &self.context,
            cancel,
        };
        call_alone(&path, call).await
    }
}
