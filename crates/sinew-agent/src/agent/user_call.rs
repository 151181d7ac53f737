//! Calls of tools that the user makes, and no model.

use sinew_llm::message::ToolCall;
use sinew_tools::tool::ToolOutput;
use tokio_util::sync::CancellationToken;

use super::session::AgentSession;
use crate::core::{CallPath, call_alone};

impl AgentSession {
    /// Calls a tool on the path that the calls of models take: mending, schema, hooks, permissions, run, hooks. It is told as
    /// events, may run beside a run, and is no part of the conversation. `cancel` ends it.
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
